"""Boxes ``low <= h <= high`` of histograms with ``sum h`` given, each with a bound on LCB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, FloatArray, IntArray
from ..distances.histograms import extended
from ..distances.inequality import AtMost


@dataclass(frozen=True, eq=False)
class HistogramBoxes:
    """Boxes that hold all histograms of a piece below a value: one box per row, with bounds."""

    low: IntArray
    high: IntArray
    bound: FloatArray

    def __len__(self) -> int:
        return len(self.low)

    def select(self, keep: BoolArray | NDArray[np.intp] | slice) -> HistogramBoxes:
        """Some of the boxes."""
        return HistogramBoxes(self.low[keep], self.high[keep], self.bound[keep])

    def tightened(self, n_pairs: int, known: AtMost) -> HistogramBoxes:
        """The boxes, tightened by ``sum h = n_pairs`` and the known inequalities on h."""
        low, high = self.low, self.high
        ones = np.ones(low.shape[1], dtype=np.int64)
        keep = np.ones(len(low), dtype=bool)
        for weights, most in (*known, (ones, n_pairs), (-ones, -n_pairs)):
            least = np.where(weights > 0, weights * low, weights * high).sum(axis=1)
            room = np.maximum(most - least, 0)[:, None]
            keep &= least <= most
            size = np.maximum(abs(weights), 1)
            high = np.where(weights > 0, np.minimum(high, low + room // size), high)
            low = np.where(weights < 0, np.maximum(low, high - room // size), low)
        keep &= (low <= high).all(axis=1)
        keep &= (low.sum(axis=1) <= n_pairs) & (n_pairs <= high.sum(axis=1))
        return HistogramBoxes(low[keep], high[keep], self.bound[keep])

    def most_promising(self, n_pairs: int) -> tuple[int, ...]:
        """A histogram in the middle of the box with the smallest bound."""
        box = self.select(np.argsort(self.bound)[:1])
        return tuple(map(int, middles(box, n_pairs)[0]))

    def histograms(self, n_pairs: int, limit: int) -> IntArray | None:
        """All histograms in the boxes; ``None`` if there may be more than ``limit``."""
        found = np.arange(len(self))[:, None]  # the box, followed by the histogram
        left = np.full(len(self), n_pairs)
        rest_low = np.cumsum(self.low[:, ::-1], axis=1)[:, ::-1] - self.low
        rest_high = np.cumsum(self.high[:, ::-1], axis=1)[:, ::-1] - self.high
        for s in range(self.low.shape[1]):
            box = found[:, 0]
            low = np.maximum(self.low[box, s], left - rest_high[box, s])
            high = np.minimum(self.high[box, s], left - rest_low[box, s])
            if int(np.maximum(high - low + 1, 0).sum()) > limit:
                return None
            found, left = extended(found, left, low, high)
        return found[:, 1:]

    def least_weight(self, weights: Sequence[int], n_pairs: int) -> int:
        """Lower bound on ``weights . h`` over the boxes; very large if there are none."""
        w = np.array(weights)
        order = np.argsort(w)
        low, width = self.low[:, order], (self.high - self.low)[:, order]
        spare = n_pairs - low.sum(axis=1)
        before = np.cumsum(width, axis=1) - width
        taken = np.clip(spare[:, None] - before, 0, width)
        return int(((low + taken) @ w[order]).min(initial=10**15))


def middles(boxes: HistogramBoxes, n_pairs: int) -> IntArray:
    """Histograms near the middle of every box."""
    width = boxes.high - boxes.low
    spare = n_pairs - boxes.low.sum(axis=1)
    total = np.maximum(width.sum(axis=1), 1)
    out = boxes.low + width * spare[:, None] // total[:, None]
    missing = n_pairs - out.sum(axis=1)
    room = boxes.high - out
    before = np.cumsum(room, axis=1) - room
    return np.asarray(out + np.clip(missing[:, None] - before, 0, room))


def halves(boxes: HistogramBoxes) -> HistogramBoxes:
    """Every box split in two across its longest side."""
    side = np.argmax(boxes.high - boxes.low, axis=1)
    index = np.arange(len(boxes))
    cut = (boxes.low[index, side] + boxes.high[index, side]) // 2
    high, low = boxes.high.copy(), boxes.low.copy()
    high[index, side], low[index, side] = cut, cut + 1
    lower = HistogramBoxes(boxes.low, high, boxes.bound)
    upper = HistogramBoxes(low, boxes.high, boxes.bound)
    return joined([lower, upper])


def joined(parts: Sequence[HistogramBoxes]) -> HistogramBoxes:
    """All boxes together."""
    return HistogramBoxes(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.bound for part in parts]),
    )
