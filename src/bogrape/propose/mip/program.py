"""`Program`: named variables and named rows, written by encodings and read by solvers.

A program has three kinds of rows:

* linear:       ``low <= a'x <= high``
* quadratic:    ``low <= a'x + x'Qx <= high``
* exponential:  ``y = exp(x)``

and a linear objective that is minimised. It holds plain numbers only (no solver handle, no
graph), so it can be checked (`Program.violations`), written to a file (`write_program`) and sent to
another process. Adapters translate it; see `bogrape.propose.mip.scip` and
`bogrape.propose.mip.gurobi`.

>>> program = Program()
>>> x, y = program.binary("x"), program.continuous("y", 0, 3)
>>> program.row("cover", x + 2 * y, ">=", 2)
>>> program.minimise(3 * x + y)
>>> program.violations({"x": 1, "y": 0.25})
[Violation(row='cover', amount=0.5)]
>>> program.value({"x": 0, "y": 1})
1.0
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, NamedTuple

from ...errors import InvalidInputError
from .linear import Linear, Number, as_linear

Kind = Literal["binary", "integer", "continuous"]
Sense = Literal["<=", ">=", "=="]
Point = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Variable:
    """A named variable within bounds."""

    name: str
    low: float
    high: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class Row:
    """``low <= sum c_i x_i + sum q_ij x_i x_j <= high``."""

    name: str
    terms: tuple[tuple[int, float], ...]
    _: KW_ONLY
    low: float
    high: float
    quadratic: tuple[tuple[int, int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ExpRow:
    """``x_result = exp(x_argument)``."""

    name: str
    result: int
    argument: int


class Violation(NamedTuple):
    """A row, bound or integrality that a point violates, and by how much."""

    row: str
    amount: float


class Size(NamedTuple):
    """Size of a program, as counted by solver licences."""

    n_variables: int
    n_rows: int
    n_quadratic: int
    n_exponential: int


@dataclass
class Program:
    """Variables, rows and an objective to minimise, all by name."""

    variables: list[Variable] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    exponentials: list[ExpRow] = field(default_factory=list)
    objective: Linear = field(default_factory=Linear)
    _definitions: list[tuple[int, Linear | int]] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)

    # -- building -----------------------------------------------------------------------------

    def binary(self, name: str) -> Linear:
        """A new 0/1 variable."""
        return self._variable(Variable(name, 0.0, 1.0, "binary"))

    def integer(self, name: str, low: float, high: float) -> Linear:
        """A new integer variable."""
        return self._variable(Variable(name, float(low), float(high), "integer"))

    def continuous(self, name: str, low: float = -math.inf, high: float = math.inf) -> Linear:
        """A new real variable."""
        return self._variable(Variable(name, float(low), float(high), "continuous"))

    def _variable(self, variable: Variable) -> Linear:
        self._claim(variable.name)
        self.variables.append(variable)
        return Linear({len(self.variables) - 1: 1.0})

    def _claim(self, name: str) -> None:
        if name in self._names:
            raise InvalidInputError(f"expected different names, got {name!r} twice; try another")
        self._names.add(name)

    def row(
        self,
        name: str,
        left: Linear | Number,
        sense: Sense,
        right: Linear | Number,
        products: Iterable[tuple[float, Linear, Linear]] = (),
    ) -> None:
        """Add ``left + sum c x y  sense  right``; the products ``(c, x, y)`` are of variables.

        A row without variables is left out if it is true and kept if it is false: then the program
        has no solution, and `contradictions` names the row.
        """
        moved = as_linear(left) - right
        quadratic = tuple((x.index, y.index, c) for c, x, y in products if c)
        bound = -moved.constant + 0.0  # no minus zero
        low, high = (bound if sense != "<=" else -math.inf), (bound if sense != ">=" else math.inf)
        if not moved.terms and not quadratic and low <= 1e-9 and high >= -1e-9:
            return
        self._claim(name)
        terms = tuple(moved.terms.items())
        self.rows.append(Row(name, terms, low=low, high=high, quadratic=quadratic))

    def define(self, name: str, row: str, meaning: Linear, low: float, high: float) -> Linear:
        """A new real variable equal to a linear term, by a row of the given name."""
        variable = self.continuous(name, low, high)
        self.row(row, variable, "==", meaning)
        self._definitions.append((variable.index, meaning))
        return variable

    def exponential(self, name: str, row: str, argument: Linear, low: float, high: float) -> Linear:
        """A new real variable ``exp(argument)``; the argument is a single variable."""
        variable = self.continuous(name, low, high)
        self._claim(row)
        self.exponentials.append(ExpRow(row, variable.index, argument.index))
        self._definitions.append((variable.index, argument.index))
        return variable

    def minimise(self, objective: Linear) -> None:
        """Set the objective."""
        self.objective = objective

    # -- queries ------------------------------------------------------------------------------

    @property
    def size(self) -> Size:
        """Numbers of variables and rows."""
        quadratic = sum(1 for row in self.rows if row.quadratic)
        return Size(len(self.variables), len(self.rows), quadratic, len(self.exponentials))

    def contradictions(self) -> list[str]:
        """Rows without variables that are false, and variables whose bounds cross."""
        empty = [r.name for r in self.rows if not r.terms and not r.quadratic]
        return empty + [v.name for v in self.variables if v.low > v.high]

    def value(self, point: Point) -> float:
        """The objective at a point."""
        return self.evaluate(self.objective, point)

    def evaluate(self, linear: Linear, point: Point) -> float:
        """A linear term at a point."""
        parts = (c * point[self.variables[i].name] for i, c in linear.terms.items())
        return math.fsum((linear.constant, *parts))

    def completed(self, point: Point) -> dict[str, float]:
        """The point completed with every defined variable that can be computed."""
        out = dict(point)
        for target, meaning in self._definitions:
            name = self.variables[target].name
            needed = [meaning] if isinstance(meaning, int) else meaning.terms
            if name in out or any(self.variables[i].name not in out for i in needed):
                continue
            if isinstance(meaning, int):
                out[name] = math.exp(out[self.variables[meaning].name])
            else:
                out[name] = self.evaluate(meaning, out)
        return out

    def vector(self, point: Point) -> list[float]:
        """The values of a point in the order of the variables."""
        missing = [v.name for v in self.variables if v.name not in point]
        if missing:
            raise InvalidInputError(
                f"expected a value for each of {len(self.variables)} variables, got none for "
                f"{', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}"
            )
        return [float(point[v.name]) for v in self.variables]

    def violations(self, point: Point, tolerance: float = 1e-6) -> list[Violation]:
        """Rows that the point violates by more than the tolerance; no solver is involved."""
        x = self.vector(point)
        out = []
        for value, variable in zip(x, self.variables, strict=True):
            off = max(variable.low - value, value - variable.high)
            if variable.kind != "continuous":
                off = max(off, abs(value - round(value)))
            if not off <= tolerance:  # also true for NaN
                out.append(Violation(variable.name, off))
        for row in self.rows:
            products = (c * x[i] * x[j] for i, j, c in row.quadratic)
            value = math.fsum((*(c * x[i] for i, c in row.terms), *products))
            off = max(row.low - value, value - row.high)
            if not off <= tolerance:
                out.append(Violation(row.name, off))
        for exp in self.exponentials:
            off = abs(x[exp.result] - math.exp(x[exp.argument]))
            if not off <= tolerance:
                out.append(Violation(exp.name, off))
        return out
