"""`Linear`: a weighted sum of variables plus a number; rows then read as in the paper."""

from __future__ import annotations

from collections.abc import Iterable

Number = int | float


class Linear:
    """``constant + sum_i terms[i] * variable_i``; variables are positions in their `Program`."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[int, float] | None = None, constant: Number = 0.0) -> None:
        self.terms = {} if terms is None else terms
        self.constant = float(constant)

    def __add__(self, other: Linear | Number) -> Linear:
        return total((self, other))

    __radd__ = __add__

    def __neg__(self) -> Linear:
        return self * -1.0

    def __sub__(self, other: Linear | Number) -> Linear:
        return total((self, -other))

    def __rsub__(self, other: Linear | Number) -> Linear:
        return total((other, -self))

    def __mul__(self, factor: Number) -> Linear:
        if not factor:
            return Linear()
        return Linear({i: factor * c for i, c in self.terms.items()}, factor * self.constant)

    __rmul__ = __mul__

    @property
    def index(self) -> int:
        """Position of the variable, if this is exactly one variable; an error otherwise."""
        if self.constant == 0.0 and len(self.terms) == 1:
            ((i, c),) = self.terms.items()
            if c == 1.0:
                return i
        raise ValueError(f"expected a single variable, got {self.terms} + {self.constant}")

    @property
    def is_constant(self) -> bool:
        """True if it contains no variable."""
        return not self.terms


def total(parts: Iterable[Linear | Number]) -> Linear:
    """The sum of linear terms and numbers."""
    terms: dict[int, float] = {}
    constant = 0.0
    for part in parts:
        if isinstance(part, Linear):
            for i, c in part.terms.items():
                terms[i] = terms.get(i, 0.0) + c
            constant += part.constant
        else:
            constant += part
    return Linear({i: c for i, c in terms.items() if c != 0.0}, constant)


def as_linear(value: Linear | Number) -> Linear:
    """A number as a linear term; a linear term unchanged."""
    return value if isinstance(value, Linear) else Linear(None, value)
