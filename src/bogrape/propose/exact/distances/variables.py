"""The variables of linear programs: the counts themselves, or pairs *within* s steps instead.

Some kernels contain squares of the pairs within s steps. With one variable for each of these,
halving a range halves the term that matters; halving the range of the pairs at exactly s steps
would gain little. Both kinds are whole numbers and determine each other:
``within_s - within_(s-1)`` pairs are at distance s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....arrays import FloatArray, IntArray
from .coordinates import Coordinates, Position
from .inequality import Inequality


@dataclass(frozen=True)
class Variables:
    """One variable per count, in the same order; with ``within``, paths are summed up.

    Then the pairs with given labels within s steps take the place of those at distance s.
    """

    coordinates: Coordinates
    within: bool = False

    @cached_property
    def before(self) -> tuple[int, ...]:
        """For each variable, the index of the same pairs at one step less, or -1."""
        out = [-1] * len(self.coordinates)
        if not self.within:
            return tuple(out)
        last: dict[tuple[int, ...], int] = {}
        paths = self.coordinates.paths
        for i in sorted(range(len(paths)), key=lambda i: paths[i][0]):
            out[i] = last.get(paths[i][1:], -1)
            last[paths[i][1:]] = i
        return tuple(out)

    @cached_property
    def matrix(self) -> FloatArray:
        """The matrix that turns variables into counts."""
        out = np.eye(len(self.before))
        for i, j in enumerate(self.before):
            if j >= 0:
                out[i, j] = -1.0
        return out

    @cached_property
    def _members(self) -> tuple[tuple[Position, ...], ...]:
        """Positions of the counts that each variable sums up."""
        out: list[tuple[Position, ...]] = []
        for place in range(len(self.before)):
            chain, at = [], place
            while at >= 0:
                chain.append(Position(at))
                at = self.before[at]
            out.append(tuple(chain))
        return tuple(out)

    def of_counts(self, counts: FloatArray | IntArray) -> FloatArray:
        """The variables that correspond to some counts, or to each row of counts."""
        if not self.within:
            return np.asarray(counts, dtype=float)
        columns = [np.asarray(counts)[..., list(chain)].sum(axis=-1) for chain in self._members]
        return np.stack(columns, axis=-1).astype(float)

    def counts(self, values: FloatArray) -> FloatArray:
        """The counts that correspond to some values of the variables."""
        return values @ self.matrix.T if self.within else values

    def upper(self) -> IntArray:
        """Upper bounds: no sum of pairs is larger than all pairs of its type."""
        return self.coordinates.upper()

    def known(self, inequalities: Iterable[Inequality[Position]]) -> Iterator[Inequality[Position]]:
        """The inequalities in terms of the variables, and that no count is negative."""
        if not self.within:
            yield from inequalities
            return
        for i, j in enumerate(self.before):
            if j >= 0:
                yield Inequality(f"more[{i}]", {Position(j): 1, Position(i): -1}, high=0)
        for inequality in inequalities:
            weights: dict[Position, int] = {}
            for i, weight in inequality.weights.items():
                weights[i] = weights.get(i, 0) + weight
                if (j := self.before[i]) >= 0:
                    weights[Position(j)] = weights.get(Position(j), 0) - weight
            weights = {i: weight for i, weight in weights.items() if weight}
            yield Inequality(inequality.name, weights, inequality.low, inequality.high)

    def of_interest(self, low: FloatArray, high: FloatArray) -> list[Inequality[Position]]:
        """Ranges of the variables as inequalities over the counts."""
        ranges = zip(self._members, low, high, strict=True)
        return [
            Inequality(f"range[{i}]", dict.fromkeys(chain, 1), float(least), float(most))
            for i, (chain, least, most) in enumerate(ranges)
        ]

    def cost_of_counts(self, cost: FloatArray) -> FloatArray:
        """The cost of each count, from the costs of the variables."""
        if not self.within:
            return cost
        out = np.zeros(len(cost))
        for i, chain in enumerate(self._members):
            out[list(chain)] += cost[i]
        return out

    def expressions(self, counts: Sequence[Any]) -> list[Any]:
        """The variables as sums of a solver's expressions for the counts."""
        if not self.within:
            return list(counts)
        return [sum((counts[i] for i in chain[1:]), counts[chain[0]]) for chain in self._members]
