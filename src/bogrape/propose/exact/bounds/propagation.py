"""Narrows ranges of whole numbers by linear inequalities.

In ``sum_j a_j x_j <= b``, a term ``a_j x_j`` is at most b minus the sum of all other terms at their
smallest. Whole numbers are rounded inwards. All inequalities are applied together, a few times;
there is no need to go on until nothing changes, as every step is valid by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import FloatArray, IntArray
from .lines_below import Box

_ROUNDS = 3
_ROOM = 1e-6  # weights, limits and ends of ranges are whole numbers: quotients lose far less


class Propagation:
    """Inequalities ``matrix @ x <= most`` over whole numbers, with whole weights."""

    def __init__(self, matrix: Any, most: FloatArray) -> None:
        """``matrix`` is sparse, with one row per inequality."""
        by_column = matrix.tocsc()
        by_column.sort_indices()
        self._up, self._down = matrix.maximum(0).tocsr(), (-matrix).maximum(0).tocsr()
        self._most = np.floor(most + _ROOM)
        columns = np.repeat(np.arange(matrix.shape[1]), np.diff(by_column.indptr))
        self._above = _Terms(by_column.data, by_column.indices, columns, by_column.data > 0)
        self._below = _Terms(by_column.data, by_column.indices, columns, by_column.data < 0)

    def __call__(self, box: Box) -> Box | None:
        """The box, narrowed by the inequalities; ``None`` if it is empty."""
        low, high = box.low, box.high
        for _ in range(_ROUNDS):
            spare = self._most - (self._up @ low - self._down @ high)
            if (spare < 0).any():
                return None
            narrowed_high, narrowed_low = high.copy(), low.copy()
            if (at := self._above).columns.size:
                most = np.floor(at.smallest(spare, low) + _ROOM)
                narrowed_high[at.columns] = np.minimum(high[at.columns], most)
            if (at := self._below).columns.size:
                least = np.ceil(-at.smallest(spare, -high) - _ROOM)
                narrowed_low[at.columns] = np.maximum(low[at.columns], least)
            if (narrowed_low > narrowed_high).any():
                return None
            done = (narrowed_high == high).all() and (narrowed_low == low).all()
            low, high = narrowed_low, narrowed_high
            if done:
                break
        return Box(low, high)


class _Terms:
    """The terms of one sign, ordered by their variable."""

    def __init__(
        self, weights: FloatArray, rows: IntArray, columns: IntArray, chosen: IntArray
    ) -> None:
        self._sizes = np.abs(weights[chosen])
        self._rows = rows[chosen]
        self.columns, self._starts = np.unique(columns[chosen], return_index=True)

    def smallest(self, spare: FloatArray, ends: FloatArray) -> FloatArray:
        """For each variable, one end of its range plus the largest step that all terms allow."""
        steps = np.minimum.reduceat(spare[self._rows] / self._sizes, self._starts)
        return np.asarray(ends[self.columns] + steps)
