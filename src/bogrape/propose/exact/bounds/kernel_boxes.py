r"""Bounds on an acquisition over boxes of counts, for your own kernel that bounds its values.

For all graphs of a box let :math:`l_i \le k(x, x_i) \le u_i` and :math:`k(x, x) \le d`
(`Kernel.box_bounds`, with amplitudes and the feature kernel). With the weights :math:`a = K^{-1}y`,

.. math:: \mu \ge \sum_i \min(a_i l_i, a_i u_i), \qquad
          \sigma^2 \le d - c^\top K^{-1} c + 2\, |K^{-1} c|^\top r ,

with c the middle of the ranges and r half their width: a convex function is above its tangents. And
since the feature vectors of x and of the counts m in the middle of the box are at most
:math:`\delta` apart, :math:`\delta^2 = d + k(m, m) - 2 \min_x k(x, m)`,
:math:`\mu \ge \mu(m) - |f| \delta` and :math:`\sigma \le \sigma(m) + \delta`, with :math:`|f|` the
norm of the mean. No graph need have the counts m, so the kernel must be positive semidefinite even
for counts of no graph. An acquisition that falls with the deviation and rises with the mean is
bounded by these two. Boxes that remain of interest are halved; for a box of one point the value
itself is computed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, FloatArray, IntArray
from ....counts import Counts
from ....kernel import BoxBounds
from ....kernel_checks import checked_box_bounds
from ....kernels import feature_cross, feature_diagonal
from ....posterior import FunctionPosterior
from ...criterion import Criterion
from ..distances.coordinates import Coordinates, Position
from ..distances.inequality import AtMost, Inequality

_AT_ONCE = 128  # boxes
_TOGETHER = 32  # boxes per call of the kernel, each compared with the middles of all of them
_MOST_BOXES = 50_000  # at a time
_ROUNDING = 64 * float(np.finfo(float).eps)
_PASSES = 3  # over the inequalities, to tighten boxes


@dataclass(frozen=True, eq=False)
class CountBoxes:
    """Boxes ``low <= x <= high`` of counts, one per row, each with a bound on the acquisition."""

    low: IntArray
    high: IntArray
    bound: FloatArray

    def __len__(self) -> int:
        return len(self.low)

    def select(self, keep: BoolArray | NDArray[np.intp] | slice) -> CountBoxes:
        """Some of the boxes."""
        return CountBoxes(self.low[keep], self.high[keep], self.bound[keep])

    def joined(self, *others: CountBoxes) -> CountBoxes:
        """These boxes and others."""
        every = (self, *others)
        return CountBoxes(
            *(np.concatenate([getattr(part, name) for part in every]) for name in _FIELDS)
        )

    def tightened(self, known: AtMost) -> CountBoxes:
        """The boxes, tightened by the known inequalities; empty ones are dropped."""
        low, high = self.low, self.high
        keep = np.ones(len(low), dtype=bool)
        for _ in range(_PASSES):
            before = low, high
            for weights, most in known:
                least = np.where(weights > 0, weights * low, weights * high).sum(axis=1)
                keep &= least <= most
                spare = np.maximum(most - least, 0)[:, None]
                size = np.maximum(abs(weights), 1)
                high = np.where(weights > 0, np.minimum(high, low + spare // size), high)
                low = np.where(weights < 0, np.maximum(low, high - spare // size), low)
            if np.array_equal(before[0], low) and np.array_equal(before[1], high):
                break
        keep &= (low <= high).all(axis=1)
        return CountBoxes(low[keep], high[keep], self.bound[keep])

    def halved(self, side: IntArray) -> CountBoxes:
        """Every box split in two across one side."""
        index = np.arange(len(self))
        cut = (self.low[index, side] + self.high[index, side]) // 2
        high, low = self.high.copy(), self.low.copy()
        high[index, side], low[index, side] = cut, cut + 1
        below = CountBoxes(self.low, high, self.bound)
        return below.joined(CountBoxes(low, self.high, self.bound))


_FIELDS = ("low", "high", "bound")


def counts_of(coordinates: Coordinates, x: IntArray, *, labelled: bool) -> Counts:
    """Counts as kernels see them, from rows of counts in the order of coordinates."""
    shape, size = coordinates.shape, len(x)
    n, n_labels, longest = shape.n_nodes, shape.n_labels, coordinates.longest
    features = np.zeros((size, n_labels + shape.n_features), dtype=np.int64)
    if coordinates.composition is not None:
        features[:, :n_labels] = coordinates.composition
    features[:, list(coordinates.nodes)] = x[:, len(coordinates.paths) :]
    ways = 1 if shape.directed else 2  # ordered pairs per pair in x
    if not coordinates.labelled:
        lengths = np.zeros((size, longest + 1), dtype=np.int64)
        lengths[:, 0] = n
        lengths[:, [s for (s,) in coordinates.paths]] = ways * x[:, : len(coordinates.paths)]
        pairs = lengths[:, :, None, None] if labelled and n_labels == 1 else None
        return Counts(np.full(size, n), lengths, pairs, features, n_labels)
    pairs = np.zeros((size, longest + 1, n_labels, n_labels), dtype=np.int64)
    labels = np.arange(n_labels)
    pairs[:, 0, labels, labels] = features[:, :n_labels]
    for i, (s, a, b) in enumerate(coordinates.paths):
        pairs[:, s, a, b] += x[:, i]
        if not shape.directed:
            pairs[:, s, b, a] += x[:, i]
    return Counts(np.full(size, n), pairs.sum(axis=(2, 3)), pairs, features, n_labels)


class KernelBoxes:
    """Boxes of the counts of a piece, bounded by a kernel that bounds its values."""

    def __init__(
        self,
        criterion: Criterion,
        coordinates: Coordinates,
        known: Iterable[Inequality[Position]],
    ) -> None:
        from scipy.linalg import cho_solve

        assert isinstance(criterion.posterior, FunctionPosterior)
        self._criterion = criterion
        self._posterior = criterion.posterior
        self._model = criterion.posterior.model
        self.coordinates = coordinates
        self._known = AtMost.of(known, [Position(i) for i in range(len(coordinates))])
        factor = self._posterior.factor
        self._inverse = cho_solve((factor, True), np.eye(len(factor)))
        self._norm = self._posterior.norm * (1 + 1e-3)

    def everything(self) -> CountBoxes:
        """One box for all counts, or none if it is empty."""
        high = self.coordinates.upper()[None].astype(np.int64)
        return CountBoxes(np.zeros_like(high), high, np.array([-math.inf])).tightened(self._known)

    def counts(self, x: IntArray) -> Counts:
        """Rows of counts as the kernel sees them."""
        return counts_of(self.coordinates, x, labelled=self._criterion.labelled)

    def bounds(self, boxes: CountBoxes) -> FloatArray:
        """A bound on the standardised acquisition in each box."""
        parts = [
            self._mean_std(boxes.select(slice(start, start + _TOGETHER)))
            for start in range(0, len(boxes), _TOGETHER)
        ]
        mean, std = np.hstack(parts) if parts else np.zeros((2, 0))
        values = self._criterion.of_prediction(mean, std)
        values = values - 1e-9 * (1.0 + np.abs(values))
        point = (boxes.low == boxes.high).all(axis=1)
        if point.any():
            values[point] = self._criterion.of_counts(self.counts(boxes.low[point]))
        return np.asarray(np.maximum(values, boxes.bound))

    def _ranges(self, low: Counts, high: Counts, others: Counts) -> BoxBounds:
        """Bounds on the covariances between boxes and other counts."""
        model = self._model
        found = checked_box_bounds(model.kernel, low, high, others)
        out = BoxBounds(*(model.alpha * part for part in vars(found).values()))
        if not model.beta:
            return out
        # the feature kernel is linear in the numbers of nodes, none of which is negative
        n_labels, n_features = others.n_labels, model.n_features
        lower, upper = low.with_labels(n_labels), high.with_labels(n_labels)
        return BoxBounds(
            out.lowest + model.beta * feature_cross(lower, others, n_features),
            out.largest + model.beta * feature_cross(upper, others, n_features),
            out.diagonal + model.beta * feature_diagonal(high, n_features),
        )

    def _mean_std(self, boxes: CountBoxes) -> FloatArray:
        """The lowest mean and the largest deviation in each box."""
        low, high = self.counts(boxes.low), self.counts(boxes.high)
        found = self._ranges(low, high, self._model.counts)
        least, most, own = found.lowest, found.largest, found.diagonal
        weights, middle, reach = self._posterior.weights, (least + most) / 2, (most - least) / 2
        mean = np.minimum(weights * least, weights * most).sum(axis=1)
        mean -= _ROUNDING * (np.maximum(np.abs(least), np.abs(most)) @ np.abs(weights))
        solved = middle @ self._inverse
        rounding = _ROUNDING * (np.abs(middle) @ np.abs(self._inverse) * np.abs(middle)).sum(axis=1)
        variance = own - (solved * middle).sum(axis=1) + 2 * (np.abs(solved) * reach).sum(axis=1)
        std = np.sqrt(np.clip(variance + rounding, 0.0, own))
        middles = self.counts((boxes.low + boxes.high) // 2)
        there, spread = self._posterior.standard_mean_std(middles)
        nearest = self._ranges(low, high, middles).lowest.diagonal()
        apart = np.sqrt(np.maximum(own + self._model.diagonal(middles) - 2 * nearest, 0.0))
        mean = np.maximum(mean, there - self._norm * apart)
        mean = np.maximum(mean, -self._norm * np.sqrt(own))
        return np.array([mean, np.minimum(std, spread + apart)])

    def of_interest(
        self, boxes: CountBoxes, value: float, n_most: int, deadline: float
    ) -> CountBoxes:
        """Parts of the given boxes with all counts whose acquisition may be below ``value``.

        Boxes with the smallest bounds are halved first, up to ``n_most`` of them.
        """
        done = boxes.select(slice(0))
        todo = boxes.select(boxes.bound < value)
        while len(todo):
            todo = todo.select(np.argsort(todo.bound, kind="stable"))
            if n_most <= 0 or len(todo) > _MOST_BOXES or time.monotonic() > deadline:
                break
            some, todo = todo.select(slice(_AT_ONCE)), todo.select(slice(_AT_ONCE, None))
            point = (some.low == some.high).all(axis=1)
            done, some = done.joined(some.select(point)), some.select(~point)
            if not len(some):
                continue
            n_most -= len(some)
            halves = some.halved(self._sides(some)).tightened(self._known)
            halves = CountBoxes(halves.low, halves.high, self.bounds(halves))
            todo = todo.joined(halves.select(halves.bound < value))
        return done.joined(todo)

    def _sides(self, boxes: CountBoxes) -> IntArray:
        """The side across which to halve each box: the one that raises the bound most.

        Judged by the bound of the box with that side shrunk to its middle; if no side raises it,
        the longest.
        """
        width = boxes.high - boxes.low
        box, side = np.nonzero(width)
        low, high, row = boxes.low[box], boxes.high[box], np.arange(len(box))
        low[row, side] = high[row, side] = (low[row, side] + high[row, side]) // 2
        gain = np.full(width.shape, -math.inf)
        gain[box, side] = self.bounds(CountBoxes(low, high, np.full(len(box), -math.inf)))
        gain -= boxes.bound[:, None]
        chosen = np.where(gain.max(axis=1) > 1e-12, gain.argmax(axis=1), width.argmax(axis=1))
        return np.asarray(chosen)
