"""Directions: weights on the numbers of pairs at each distance, whose weighted sum is bounded."""

from __future__ import annotations

import math
from collections.abc import Iterator

_COEFFICIENTS = (-3, -2, -1, 1, 2, 3)


def tail_directions(diameter: int) -> Iterator[tuple[int, ...]]:
    """Weights of the pairs at distance s or more, and of those at distance s; large s first."""
    for s in range(diameter, 1, -1):
        yield tuple(int(t >= s) for t in range(1, diameter + 1))
        if s < diameter:
            yield tuple(int(t == s) for t in range(1, diameter + 1))


def plain_directions(diameter: int) -> Iterator[tuple[int, ...]]:
    """Weights of the pairs at the distances s to t, for all ``2 <= s <= t``."""
    for first in range(1, diameter):
        for last in range(first + 1, diameter + 1):
            yield tuple(int(first <= i < last) for i in range(diameter))


def pair_directions(diameter: int) -> Iterator[tuple[int, ...]]:
    """Weight one at one distance and a small integer at another."""
    for i in range(diameter):
        for j in range(diameter):
            if i != j:
                for coefficient in _COEFFICIENTS:
                    weights = [0] * diameter
                    weights[i], weights[j] = 1, coefficient
                    if math.gcd(*weights) == 1:
                        yield tuple(weights)
