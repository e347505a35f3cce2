"""Linear inequalities over the counts of a graph, ``low <= sum_k weight_k x_k <= high``.

There are four kinds of counts, distinguished by the type of their keys:

* `Distance` s: pairs of nodes at distance s, from 1 on;
* `LabelledDistance` (s, a, b): those of them whose ends have the labels a and b;
* `Attribute` m: nodes with feature m, labels first;
* `Position` i: the i-th count, from 0 on, in the `Coordinates` of a piece.

Solvers use positions only. The other keys are converted here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ....arrays import IntArray
from .coordinates import Attribute, Coordinates, Distance, LabelledDistance, Position

Key = TypeVar("Key", Distance, LabelledDistance, Attribute, Position)


@dataclass(frozen=True, slots=True)
class Inequality(Generic[Key]):
    """``low <= sum_k weights[k] x_k <= high``; keys that are missing have weight zero."""

    name: str
    weights: Mapping[Key, int]
    low: float = -math.inf
    high: float = math.inf

    def holds(self, counts: Mapping[Key, int]) -> bool:
        """True if the counts satisfy the inequality; counts that are missing are zero."""
        total = sum(weight * counts.get(key, 0) for key, weight in self.weights.items())
        return self.low <= total <= self.high

    def one_sided(self) -> Iterator[Inequality[Key]]:
        """Equivalent inequalities with an upper limit only: none, one or two."""
        if self.high < math.inf:
            yield Inequality(self.name, self.weights, high=self.high)
        if self.low > -math.inf:
            negated = {key: -weight for key, weight in self.weights.items()}
            yield Inequality(self.name, negated, high=-float(self.low))

    def dense(self, keys: Iterable[Key]) -> IntArray:
        """The weights of these counts, in this order."""
        return np.array([self.weights.get(key, 0) for key in keys], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AtMost:
    """Inequalities ``weights @ x <= most`` over whole numbers x, one row per inequality."""

    weights: IntArray
    most: IntArray

    def __iter__(self) -> Iterator[tuple[IntArray, int]]:
        yield from zip(self.weights, self.most.tolist(), strict=True)

    @classmethod
    def of(cls, inequalities: Iterable[Inequality[Key]], keys: Sequence[Key]) -> AtMost:
        """All of the inequalities, over the counts with these keys in this order."""
        sides = [side for inequality in inequalities for side in inequality.one_sided()]
        weights = [side.dense(keys) for side in sides]
        most = [math.floor(side.high) for side in sides]
        return cls(
            np.array(weights, dtype=np.int64).reshape(len(sides), len(keys)),
            np.array(most, dtype=np.int64),
        )


def distances(longest: int) -> list[Distance]:
    """The distances ``1, .., longest``."""
    return [Distance(s) for s in range(1, longest + 1)]


def over_histogram(
    name: str, weights: Sequence[int], low: float = -math.inf, high: float = math.inf
) -> Inequality[Distance]:
    """``low <= weights[0] h_1 + weights[1] h_2 + .. <= high`` for a histogram h."""
    keys = distances(len(weights))
    return Inequality(name, dict(zip(keys, weights, strict=True)), low, high)


def distances_by_position(
    inequality: Inequality[Distance], coordinates: Coordinates
) -> Inequality[Position]:
    """Convert an inequality by distance to positions; it counts pairs with any labels alike."""
    at = coordinates.at_distance
    weights = {i: weight for s, weight in inequality.weights.items() for i in at.get(s, ())}
    return Inequality(inequality.name, weights, inequality.low, inequality.high)


def labelled_by_position(
    inequality: Inequality[LabelledDistance], coordinates: Coordinates
) -> Inequality[Position]:
    """Convert an inequality by distance and labels to positions.

    For coordinates without labels, it is read as one about graphs whose nodes have the same label.
    """
    at = coordinates.at_labelled_distance
    if coordinates.paths and not coordinates.labelled:
        labels = {label for key in inequality.weights for label in (key.a, key.b)}
        if len(labels) > 1:
            raise ValueError(
                f"expected {inequality.name} to speak of one label, because the counts do not "
                f"distinguish labels, got {sorted(labels)}; try coordinates with labels"
            )
        places = coordinates.at_distance.items()
        at = {LabelledDistance(s, a, a): i for a in labels for s, (i,) in places}
    weights = {
        at[key]: weight for key, weight in inequality.weights.items() if weight and key in at
    }
    return Inequality(inequality.name, weights, inequality.low, inequality.high)


def attributes_by_position(
    inequality: Inequality[Attribute], coordinates: Coordinates
) -> Inequality[Position]:
    """Convert an inequality on numbers of nodes to positions; a composition fixes the labels."""
    weights = {i: inequality.weights.get(m, 0) for m, i in coordinates.at_attribute.items()}
    composition = enumerate(coordinates.composition or ())
    settled = sum(inequality.weights.get(Attribute(a), 0) * number for a, number in composition)
    return Inequality(inequality.name, weights, inequality.low - settled, inequality.high - settled)
