"""Inequalities over counts and over *hidden* variables, which say more of a graph than its counts.

A projection onto the counts alone would need far more inequalities. Hidden variables have keys of
any kind; the first variables are the counts of `Coordinates`, under their positions.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....arrays import FloatArray
from .coordinates import Position
from .inequality import Inequality

Term = tuple[Hashable, int]


@dataclass(frozen=True, eq=False)
class Rows:
    """``matrix @ x <= most``, for ``0 <= x <= upper``; the first of them are equalities."""

    matrix: Any  # sparse
    most: FloatArray
    upper: FloatArray
    n_equalities: int


class System:
    """Rows over variables that are known by their keys."""

    def __init__(self, upper_of_counts: Iterable[int]) -> None:
        self._upper = [float(top) for top in upper_of_counts]
        self._place: dict[Hashable, int] = {Position(i): i for i in range(len(self._upper))}
        self._equal: list[tuple[dict[int, int], int]] = []
        self._most: list[tuple[dict[int, int], int]] = []

    def __len__(self) -> int:
        return len(self._upper)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._place

    def variable(self, key: Hashable, upper: int) -> None:
        """A new hidden variable, from 0 to ``upper``."""
        if key in self._place:
            raise ValueError(f"expected new keys, got {key!r} twice")
        self._place[key] = len(self._upper)
        self._upper.append(float(upper))

    def equal(self, terms: Iterable[Term], total: int) -> None:
        """``sum of terms = total``."""
        self._equal.append((self._row(terms), total))

    def at_most(self, terms: Iterable[Term], most: int) -> None:
        """``sum of terms <= most``."""
        row = self._row(terms)
        if row or most < 0:  # without terms, nothing obeys the row
            self._most.append((row, most))

    def at_least(self, terms: Iterable[Term], least: int) -> None:
        """``sum of terms >= least``."""
        self.at_most(((key, -weight) for key, weight in terms), -least)

    def between(self, terms: Iterable[Term], low: float, high: float) -> None:
        """``low <= sum of terms <= high``, where finite."""
        listed = list(terms)
        if low == high:
            self.equal(listed, int(low))
            return
        if high < math.inf:
            self.at_most(listed, math.floor(high))
        if low > -math.inf:
            self.at_least(listed, math.ceil(low))

    def add(self, known: Iterable[Inequality[Position]]) -> None:
        """Inequalities over the counts."""
        for each in known:
            self.between(each.weights.items(), each.low, each.high)

    def rows(self) -> Rows:
        """All rows, equalities first."""
        from scipy.sparse import csr_array  # late: keeps `import bogrape` quick

        both = [*self._equal, *self._most]
        sizes = [len(row) for row, _ in both]
        owner = np.repeat(np.arange(len(both)), sizes)
        columns = [j for row, _ in both for j in row]
        entries = [float(weight) for row, _ in both for weight in row.values()]
        return Rows(
            matrix=csr_array((entries, (owner, columns)), shape=(len(both), len(self))),
            most=np.array([float(most) for _, most in both]),
            upper=np.array(self._upper),
            n_equalities=len(self._equal),
        )

    def vector(self, values: Mapping[Hashable, int]) -> FloatArray:
        """All variables in their order; those without a value are zero."""
        out = np.zeros(len(self))
        for key, value in values.items():
            out[self._place[key]] = value
        return out

    def _row(self, terms: Iterable[Term]) -> dict[int, int]:
        out: dict[int, int] = {}
        for key, weight in terms:
            place = self._place[key]
            out[place] = out.get(place, 0) + weight
        return {place: weight for place, weight in out.items() if weight}
