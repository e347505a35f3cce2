"""Bounds on LCB over counts by one large linear program, where degrees are limited.

The program has thousands of hidden variables (`distances.views`, `distances.triples`) and takes
seconds, a thousand times as long as those of `linear_programs`. So it is solved for a single
direction of counts, and what it says there is one more inequality for the others. A bound is
computed from dual values and holds whatever their digits are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from ortools.linear_solver import pywraplp

from ....arrays import FloatArray
from ....encoding import Structure
from ..distances.coordinates import Coordinates, Position
from ..distances.inequality import Inequality
from ..distances.limited_degrees import sums_of
from ..distances.triples import Triples
from ..distances.views import Views
from .linear_programs import Lines
from .lines_below import LcbOverCounts

COARSE, FINE = 4, 8  # ranges of eccentricities
_FINE_SECONDS = 10.0
_ROUNDING = 1e-12  # relative, of the sums a bound is made of: some thousand terms each
_TOLD_AT_ONCE = 200  # rows
_BROKEN = 1e-5  # by how much a row is, if its weights have length one
_WORTH_IT = 0.001  # of the bound: what the last rows have to gain for more to be told
_LEAST_NODES, _MOST_DEGREE = 4, 6
_MOST_VARIABLES = 12_000
_LARGEST_WEIGHT = 10_000
_LINES_SECONDS, _LINES_SHARE = 10.0, 0.25  # for small programs, after the large one
_MOST_HALVED = 5_000  # boxes, in these


def has_views(structure: Structure, coordinates: Coordinates) -> bool:
    """True if there is a program for the counts of a piece."""
    if structure.diameter is None or coordinates.labelled or not coordinates.paths:
        return False
    sums = sums_of(structure)
    if sums is None or structure.shape.n_nodes < _LEAST_NODES:
        return False
    return 2 <= sums.most_degree <= _MOST_DEGREE


class ViewProgram:
    """Counts of a piece that hidden variables agree with.

    Of thousands of rows the solver is told those that its answers break, some hundreds at a time.
    """

    def __init__(
        self,
        structure: Structure,
        coordinates: Coordinates,
        known: Iterable[Inequality[Position]],
        most_ranges: int = FINE,
    ) -> None:
        sums = sums_of(structure)
        if sums is None:
            raise ValueError("expected rules that limit degrees; ask has_views first")
        views = Views(structure, sums, coordinates, most_ranges)
        triples = Triples(views)
        views.rows(known)
        triples.rows()
        self._n_counts = len(coordinates)
        self._rows = views.system.rows()
        matrix = self._rows.matrix
        squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
        self._lengths = np.sqrt(np.maximum(squares, 1.0))
        self._told: list[int] = []
        self._solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self._variables = [self._solver.NumVar(0.0, float(u), "") for u in self._rows.upper]
        self._sides: list[Any] = []
        self._settings = pywraplp.MPSolverParameters()
        self._settings.SetIntegerParam(self._settings.PRESOLVE, self._settings.PRESOLVE_OFF)
        self._tell(range(self._rows.n_equalities))

    @property
    def n_variables(self) -> int:
        """Counts and hidden variables."""
        return len(self._rows.upper)

    def cut(self, direction: FloatArray, seconds: float) -> Inequality[Position] | None:
        """A lower bound on a weighted sum of counts, in whole numbers near a direction.

        There is none if time runs out, and if no counts obey all rows: that is not proved.
        """
        until = time.monotonic() + seconds
        weights = np.rint(_LARGEST_WEIGHT * direction / max(np.abs(direction).max(), 1e-300))
        cost = np.zeros(self.n_variables)
        cost[: self._n_counts] = weights
        objective = self._solver.Objective()
        objective.SetMinimization()
        for variable, weight in zip(self._variables, cost / _LARGEST_WEIGHT, strict=True):
            objective.SetCoefficient(variable, float(weight))
        best = -math.inf
        while (left := until - time.monotonic()) > 0:
            self._solver.SetTimeLimit(max(1, int(1000 * left)))
            if self._solver.Solve(self._settings) != pywraplp.Solver.OPTIMAL:
                break
            dual = _LARGEST_WEIGHT * np.array([side.dual_value() for side in self._sides])
            before, best = best, max(best, self._by_duals(cost, dual))
            done = best - before <= _WORTH_IT * max(abs(best), 1.0)
            if done or not self._tell(self._broken()):
                break
        if best == -math.inf:
            return None
        of_counts = {Position(i): int(w) for i, w in enumerate(weights) if w}
        return Inequality("views", of_counts, low=math.ceil(best))

    def _broken(self) -> list[int]:
        """The rows that the last answer breaks most."""
        x = np.array([variable.solution_value() for variable in self._variables])
        excess = (self._rows.matrix @ x - self._rows.most) / self._lengths
        excess[self._told] = 0.0
        worst = np.argsort(-excess, kind="stable")[:_TOLD_AT_ONCE]
        return [int(i) for i in worst if excess[i] > _BROKEN]

    def _tell(self, new: Sequence[int]) -> bool:
        """Tell the solver of rows; whether there are any."""
        rows, matrix = self._rows, self._rows.matrix
        for i in new:
            low = float(rows.most[i]) if i < rows.n_equalities else -math.inf
            side = self._solver.Constraint(low, float(rows.most[i]))
            here = slice(matrix.indptr[i], matrix.indptr[i + 1])
            for j, weight in zip(matrix.indices[here], matrix.data[here], strict=True):
                side.SetCoefficient(self._variables[j], float(weight))
            self._sides.append(side)
        self._told += new
        return len(new) > 0

    def _by_duals(self, cost: FloatArray, dual: FloatArray) -> float:
        """What dual values of the told rows prove of the minimum.

        ``cost x = dual A x + (cost - dual A) x >= dual b + min (cost - dual A) x`` for any values,
        if those of inequalities are not above zero.
        """
        rows = self._rows
        told = np.array(self._told)
        dual = np.where(told < rows.n_equalities, dual, np.minimum(dual, 0.0))
        matrix, most = rows.matrix[told], rows.most[told]
        reduced = cost - matrix.T @ dual
        parts = np.concatenate([dual * most, np.minimum(reduced, 0.0) * rows.upper])
        # every reduced cost may be off by the rounding of its sum
        size = np.abs(parts).sum() + (np.abs(cost) + abs(matrix).T @ np.abs(dual)) @ rows.upper
        return float(parts.sum() - _ROUNDING * size)


def views_bound(
    structure: Structure,
    lcb: LcbOverCounts,
    known: Sequence[Inequality[Position]],
    value: float,
    seconds: float,
) -> float:
    """A bound on LCB over a piece, of interest up to a value; minus infinity if time runs out.

    The large program bounds the mean. That is one more inequality for small programs, which halve
    boxes of counts: in a single box, deviations would be several times as large.
    """
    until = time.monotonic() + seconds
    most_ranges = FINE if seconds >= _FINE_SECONDS else COARSE
    program = ViewProgram(structure, lcb.coordinates, known, most_ranges)
    of_lines = min(_LINES_SECONDS, _LINES_SHARE * seconds)
    left = until - time.monotonic() - of_lines
    if program.n_variables > _MOST_VARIABLES or left <= 0:
        return -math.inf
    cut = program.cut(lcb.lowest_mean().cost, left)
    if cut is None:
        return -math.inf
    lines = Lines(lcb, [*known, cut])
    return lines.branched(value, time.monotonic() + of_lines, _MOST_HALVED).bound
