"""How many pairs of labels can be within s steps of each other, on skeletons with equal degrees.

A node sees some nodes within s steps. The n_a nodes with label a see no more than those n_a that
see most, among the nodes whose degree label a can have. So there are no more pairs of labels a and
b within s steps, and, counting what nodes do not see, no more beyond. With s = 1 these are edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....arrays import BoolArray, IntArray


class PathRanges:
    """Ranges that hold for all placements of labels on all of some skeletons."""

    def __init__(self, distances: IntArray, allowed: BoolArray) -> None:
        """Count what nodes see.

        Args:
            distances: between the nodes of each skeleton, (S, n, n).
            allowed: which nodes can have each label, (L, n).
        """
        self.n_nodes = distances.shape[1]
        seen = [(distances <= s).sum(axis=2) - 1 for s in range(1, self.n_nodes)]  # not itself
        within = np.array(seen)
        beyond = self.n_nodes - 1 - within
        self._within = [_most(within[:, :, mask]) for mask in allowed]
        self._beyond = [_most(beyond[:, :, mask]) for mask in allowed]

    def within(
        self, composition: Sequence[int], types: Sequence[tuple[int, int]]
    ) -> tuple[IntArray, IntArray]:
        """The fewest and the most pairs within s = 1, 2, .. steps, (n - 1, types)."""
        low = np.zeros((self.n_nodes - 1, len(types)), dtype=np.int64)
        high = np.zeros_like(low)
        for t, (a, b) in enumerate(types):
            number = composition[a] * (composition[b] - (a == b)) // (1 + (a == b))
            high[:, t] = np.minimum(number, _joined(self._within, composition, a, b))
            low[:, t] = number - np.minimum(number, _joined(self._beyond, composition, a, b))
        return low, high


def _most(seen: IntArray) -> IntArray:
    """Largest sum of what 0, 1, 2, .. nodes see, over all skeletons, (n - 1, number + 1)."""
    ordered = -np.sort(-seen, axis=2)
    sums = np.zeros((len(seen), seen.shape[2] + 1), dtype=np.int64)
    sums[:, 1:] = ordered.cumsum(axis=2).max(axis=1)
    return sums


def _joined(most: Sequence[IntArray], composition: Sequence[int], a: int, b: int) -> IntArray:
    """Most pairs of labels a and b such that each sees the other."""
    first, second = (
        most[label][:, min(composition[label], most[label].shape[1] - 1)] for label in (a, b)
    )
    return np.asarray(first // 2 if a == b else np.minimum(first, second))
