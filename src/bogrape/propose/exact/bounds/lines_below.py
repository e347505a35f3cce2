r"""Lines below LCB as a function of counts, for the kernels with labels.

Let ``low <= x <= high`` be a box of counts. No two counts share a cell of the feature vector, so a
sum of squares has a *secant*,

.. math:: \sum_i D_i x_i^2 \le \sum_i D_i ((low_i + high_i) x_i - low_i high_i) .

*SP.* With ``z = C (x, 1)`` the variance is ``|z|^2 - |B z|^2`` (`posterior_over_counts`), and for
any vector b the *tangent* ``-|B z|^2 <= |b|^2 - 2 b' B z`` holds.

*ESP.* With ``t_i`` the SP kernel of x and the i-th observation, linear in the counts, and ``s``
that of x and itself, the mean is ``sum_i A_i exp(t_i)`` and a linear part of the attributes, and
the variance at most

.. math:: \alpha e^s + k_F(x, x) - 2 c^\top k(x) + c^\top K c, \qquad
          k_i(x) = \alpha e^{t_i} + k_F(x, x_i)

for any vector c. Every exponential is below its secant and above its tangent; the sign of its
coefficient decides which one is used. (The ``t_i`` hardly vary: ESP is almost linear.)

So :math:`\sigma^2 \le q(x)`, linear in x, :math:`\sigma \le (q(x) + \tau^2) / 2\tau` for any
:math:`\tau > 0`, and LCB is nowhere below a linear function of the counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....arrays import FloatArray
from ....posterior import FunctionPosterior
from ..distances.coordinates import Coordinates
from ..distances.variables import Variables
from .posterior_over_counts import (
    PosteriorOverCounts,
    cell_columns,
    observed_cells,
)

_ROOM = 1e-9  # for rounding in terms that do not depend on the counts
_LOST = 1e-9  # relative, of sums over observations whose terms may cancel
_ROUNDING = 64 * float(np.finfo(float).eps)  # relative, of the sums a line is made of


@dataclass(frozen=True, eq=False)
class Box:
    """Ranges of the counts."""

    low: FloatArray
    high: FloatArray

    def halves(self, i: int, at: float) -> tuple[Box, Box]:
        """The counts with ``x_i <= at`` and those with ``x_i >= at + 1``."""
        below, above = self.high.copy(), self.low.copy()
        below[i], above[i] = at, at + 1
        return Box(self.low, below), Box(above, self.high)


def around(boxes: Sequence[Box]) -> Box:
    """The smallest box that contains some boxes."""
    low = np.min([box.low for box in boxes], axis=0)
    return Box(low, np.max([box.high for box in boxes], axis=0))


@dataclass(frozen=True, eq=False)
class Line:
    """A linear function of the counts."""

    cost: FloatArray
    offset: float

    def __call__(self, x: NDArray[Any]) -> FloatArray:
        """The value at x, or at each row of x."""
        return np.asarray(x @ self.cost + self.offset)


class LcbOverCounts(Protocol):
    """LCB, standardised, over the counts of a piece."""

    coordinates: Coordinates
    variables: Variables  # of boxes, lines and points
    in_the_middle: bool  # ranges are halved in the middle; otherwise where lines are lowest

    def lowest_mean(self) -> Line:
        """A line with a direction in which the mean falls."""

    def touching(self, x: FloatArray, box: Box) -> Any:
        """Parameters of a line that is close to LCB at x."""

    def below(self, tangent: Any, box: Box, value: float = math.inf) -> Line:
        """A line that, wherever LCB is below ``value`` in a box, is not above LCB."""

    def terms(self, x: FloatArray) -> FloatArray:
        """What decides LCB, for each row of variables.

        Terms of a graph are sums over distances, except that they may also depend on all pairs
        within the longest distance.
        """

    def values(self, terms: FloatArray) -> FloatArray:
        """LCB for each row of terms, minus what rounding may have added."""

    def off(self, x: FloatArray, box: Box) -> FloatArray:
        """Gap between LCB and its best line at x, per count; zero where there is none."""


def quick_bound(
    lcb: LcbOverCounts, value: float = math.inf, n_lines: int = 3, *, connected: bool
) -> float:
    """A bound on LCB over all possible counts, by a few lines and without a linear program.

    It is of interest up to ``value`` only. If ``connected``, every pair of nodes has a distance.
    """
    coordinates, variables = lcb.coordinates, lcb.variables
    upper = variables.upper().astype(float)
    box, n_paths = Box(np.zeros(len(upper)), upper), len(coordinates.paths)
    counts = upper / 2
    counts[:n_paths] = upper[:n_paths] / max(1, coordinates.longest)
    bound = -math.inf
    for _ in range(n_lines):
        line = lcb.below(lcb.touching(variables.of_counts(counts), box), box, value)
        cost = variables.cost_of_counts(line.cost)
        lowest = _lowest(cost, box, coordinates, connected=connected)
        size = float(np.abs(line.cost) @ upper) + abs(line.offset)
        least = float(lowest @ cost) + line.offset
        bound = max(bound, least - _ROUNDING * len(upper) * size)
        if bound >= value:
            break
        counts = (counts + lowest) / 2
    return bound


def _lowest(cost: FloatArray, box: Box, coordinates: Coordinates, *, connected: bool) -> FloatArray:
    """Counts of least cost if all pairs of a type may be at any one distance, or at none."""
    out = np.where(cost < 0, box.high, 0.0)
    by_type: dict[tuple[int, ...], list[int]] = {}
    for i, path in enumerate(coordinates.paths):
        by_type.setdefault(path[1:], []).append(i)
    for members in by_type.values():
        best = members[int(np.argmin(cost[members]))]
        out[members] = 0.0
        if connected or cost[best] < 0:
            out[best] = box.high[best]
    return out


@dataclass(frozen=True, eq=False)
class _At:
    """Parameters of a line for SP: ``b`` and ``tau`` above."""

    b: FloatArray
    tau: float


class LinearLcbOverCounts:
    """LCB with a kernel that is linear in the counts."""

    in_the_middle = False

    def __init__(self, posterior: PosteriorOverCounts, kappa: float) -> None:
        self.coordinates = posterior.coordinates
        self.variables = Variables(posterior.coordinates)
        self._posterior = posterior
        self._kappa = kappa

    def lowest_mean(self) -> Line:
        return Line(self._posterior.w, 0.0)

    def touching(self, x: FloatArray, box: Box) -> _At:
        b = self._posterior.projected @ np.append(x, 1.0)
        variance = float(_secant(self._posterior.cells, box)(x)) - float(b @ b)
        return _At(b, math.sqrt(max(variance, 1e-9 * float(self._posterior.cells[-1]), 1e-300)))

    def below(self, tangent: _At, box: Box, value: float = math.inf) -> Line:  # noqa: ARG002
        posterior, b, tau = self._posterior, tangent.b, tangent.tau
        share = self._kappa / (2 * tau)
        squares = _secant(posterior.cells, box)
        beside = squares.offset - 2 * float(b @ posterior.projected[:, -1]) + float(b @ b) + tau**2
        cost = posterior.w - share * (squares.cost - 2 * b @ posterior.projected[:, :-1])
        return Line(cost, posterior.w0 - share * beside - self._kappa * posterior.slack - _ROOM)

    def terms(self, x: FloatArray) -> FloatArray:
        posterior = self._posterior
        z = np.column_stack([x, np.ones(len(x))])
        mean = np.append(posterior.w, posterior.w0)
        return np.column_stack(
            [z @ mean, np.abs(z) @ np.abs(mean), z**2 @ posterior.cells, z @ posterior.projected.T]
        )

    def values(self, terms: FloatArray) -> FloatArray:
        mean, size, squares, known = terms[:, 0], terms[:, 1], terms[:, 2], terms[:, 3:]
        variance = squares - (known**2).sum(axis=1)
        std = np.sqrt(np.maximum(variance, 0.0) + _LOST * squares) + self._posterior.slack
        return np.asarray(mean - _LOST * size - self._kappa * std)

    def off(self, x: FloatArray, box: Box) -> FloatArray:
        return self._posterior.cells[:-1] * _between(x, box)


@dataclass(frozen=True, eq=False)
class _AtExponents:
    """Parameters of a line for ESP: the ``t_i``, ``c`` and ``tau`` above."""

    t: FloatArray
    c: FloatArray
    tau: float


class ExponentialLcbOverCounts:
    """LCB with ESP, the exponential of a kernel that is linear in the counts."""

    in_the_middle = False

    def __init__(
        self,
        posterior: FunctionPosterior,
        coordinates: Coordinates,
        kappa: float,
        *,
        connected: bool,
    ) -> None:
        self.coordinates = coordinates
        self.variables = Variables(coordinates)
        self._kappa = kappa
        fitted = posterior.model
        paths, nodes = cell_columns(fitted, coordinates)
        seen_paths, seen_nodes = observed_cells(fitted, coordinates)
        self._alpha = fitted.alpha
        self._weights = posterior.weights
        self._factor = posterior.factor
        self._inner = seen_paths @ paths  # t = inner (x, 1)
        self._cells = (paths**2).sum(axis=0)  # s = cells . (x, 1)^2
        self._shared = seen_nodes @ nodes  # k_F(x, x_i) = shared (x, 1)
        self._nodes = (nodes**2).sum(axis=0)  # k_F(x, x) = nodes . (x, 1)^2
        self._ranges = _Ranges(coordinates, self._inner[:, :-1], connected=connected)
        self._largest = fitted.alpha * math.e + float(np.abs(self._nodes).sum())  # of all k

    def lowest_mean(self) -> Line:
        slope = self._weights @ (self._alpha * self._inner + self._shared)
        return Line(slope[:-1], 0.0)

    def touching(self, x: FloatArray, box: Box) -> _AtExponents:
        from scipy.linalg import cho_solve

        z = np.append(x, 1.0)
        t = self._inner @ z
        c = cho_solve((self._factor, True), self._alpha * np.exp(t) + self._shared @ z)
        variance = float(self._variance(_AtExponents(t, c, 1.0), box)(x))
        return _AtExponents(t, c, math.sqrt(max(variance, 1e-9 * self._alpha)))

    def below(
        self,
        tangent: _AtExponents,
        box: Box,
        value: float = math.inf,  # noqa: ARG002
    ) -> Line:
        share = self._kappa / (2 * tangent.tau)
        variance = self._variance(tangent, box)
        mean = self._exponentials(self._alpha * self._weights, tangent.t, box)
        linear = self._weights @ self._shared
        rounding = _ROUNDING * self._largest * float(np.abs(self._weights).sum())
        offset = mean.offset + float(linear[-1]) - share * (variance.offset + tangent.tau**2)
        cost = mean.cost + linear[:-1] - share * variance.cost
        return Line(cost, offset - rounding - _ROOM)

    def terms(self, x: FloatArray) -> FloatArray:
        z = np.column_stack([x, np.ones(len(x))])
        squares = z**2 @ np.column_stack([self._cells, self._nodes])
        return np.column_stack([squares, z @ self._inner.T, z @ self._shared.T])

    def values(self, terms: FloatArray) -> FloatArray:
        from scipy.linalg import solve_triangular

        n = len(self._weights)
        k = self._alpha * np.exp(terms[:, 2 : n + 2]) + terms[:, n + 2 :]
        prior = self._alpha * np.exp(terms[:, 0]) + terms[:, 1]
        v = solve_triangular(self._factor, k.T, lower=True, check_finite=False)
        variance = prior - (v**2).sum(axis=0)
        rounding = _LOST * (np.abs(k) @ np.abs(self._weights))
        std = np.sqrt(np.maximum(variance, 0.0) + _LOST * prior)
        return np.asarray(k @ self._weights - rounding - self._kappa * std)

    def off(self, x: FloatArray, box: Box) -> FloatArray:
        at = self.touching(x, box)
        share = self._kappa / (2 * at.tau)
        curvature = self._alpha * (np.abs(self._weights) + 2 * share * np.abs(at.c))
        by_t = curvature @ self._inner[:, :-1] ** 2 / 8
        by_s = share * (self._alpha * self._cells + self._nodes)[:-1]
        return np.asarray(by_t * (box.high - box.low) ** 2 + by_s * _between(x, box))

    def _variance(self, at: _AtExponents, box: Box) -> Line:
        """A line above the variance."""
        own = _secant(self._cells, box)
        low, high = _Ranges(self.coordinates, own.cost[None], connected=self._ranges.connected)(box)
        slope = float(_chord_slopes(low + own.offset, high + own.offset)[0])
        start = math.exp(float(low[0]) + own.offset) - slope * (float(low[0]) + own.offset)
        squares = _secant(self._nodes, box)
        known = self._exponentials(2 * self._alpha * at.c, at.t, box)
        shared = 2 * at.c @ self._shared
        spread = self._factor.T @ at.c
        size = self._largest * (1 + float(np.abs(at.c).sum())) ** 2
        offset = self._alpha * (slope * own.offset + start) + squares.offset
        offset += float(spread @ spread) - known.offset - float(shared[-1]) + _ROUNDING * size
        cost = self._alpha * slope * own.cost + squares.cost - known.cost - shared[:-1]
        return Line(cost, offset)

    def _exponentials(self, weights: FloatArray, t: FloatArray, box: Box) -> Line:
        """A line below ``sum_i weights_i exp(t_i)``."""
        low, high = self._ranges(box)
        low, high = low + self._inner[:, -1], high + self._inner[:, -1]
        at = np.clip(t, low, high)
        slope = np.where(weights > 0, np.exp(at), _chord_slopes(low, high))
        start = np.where(weights > 0, np.exp(at) * (1 - at), np.exp(low) - slope * low)
        combined = (weights * slope) @ self._inner
        return Line(combined[:-1], float(weights @ start) + float(combined[-1]))


class _Ranges:
    """Ranges of linear functions of the counts over a box.

    The pairs of a type are divided among the distances. If graphs need not be ``connected``, some
    pairs may have no distance.
    """

    def __init__(self, coordinates: Coordinates, costs: FloatArray, *, connected: bool) -> None:
        self.connected = connected
        self._costs = costs
        by_type: dict[tuple[int, ...], list[int]] = {}
        for i, path in enumerate(coordinates.paths):
            by_type.setdefault(path[1:], []).append(i)
        self._blocks = [
            (np.array(members), coordinates.n_pairs(*types)) for types, members in by_type.items()
        ]
        self._nodes = np.arange(len(coordinates.paths), len(coordinates))
        self._last: tuple[Box, tuple[FloatArray, FloatArray]] | None = None

    def __call__(self, box: Box) -> tuple[FloatArray, FloatArray]:
        """The least and the largest value of each function."""
        if self._last is None or self._last[0] is not box:
            self._last = box, (self._least(self._costs, box), -self._least(-self._costs, box))
        return self._last[1]

    def _least(self, functions: FloatArray, box: Box) -> FloatArray:
        apart = functions[:, self._nodes]
        out = np.minimum(apart * box.low[self._nodes], apart * box.high[self._nodes]).sum(axis=1)
        for members, total in self._blocks:
            costs, low, width = (
                functions[:, members],
                box.low[members],
                (box.high - box.low)[members],
            )
            spare = max(0.0, total - float(low.sum()))
            out = out + costs @ low
            if not self.connected:  # a pair without a path contributes nothing
                costs = np.column_stack([costs, np.zeros(len(costs))])
                width = np.append(width, spare)
            order = np.argsort(costs, axis=1)
            costs, width = np.take_along_axis(costs, order, axis=1), width[order]
            before = np.cumsum(width, axis=1) - width
            out = out + (costs * np.clip(spare - before, 0.0, width)).sum(axis=1)
        return np.asarray(out)


def _between(x: FloatArray, box: Box) -> FloatArray:
    """``(x - low) (high - x)``: the gap between a square and its secant, zero at the ends."""
    inside = np.minimum(x - box.low, box.high - x) > 1e-9
    return np.where(inside, (x - box.low) * (box.high - x), 0.0)


def _secant(cells: FloatArray, box: Box) -> Line:
    """A line above ``cells . (x, 1)^2``."""
    offset = float(cells[-1] - cells[:-1] @ (box.low * box.high))
    return Line(cells[:-1] * (box.low + box.high), offset)


def _chord_slopes(low: FloatArray, high: FloatArray) -> FloatArray:
    """Slopes of lines through ``exp`` at both ends of ranges, with room for rounding."""
    width = np.maximum(high - low, 1e-9)
    return np.asarray(np.exp(low) * np.expm1(width) / width * (1 + 1e-12))
