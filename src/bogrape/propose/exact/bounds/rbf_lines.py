r"""Lines below LCB with the kernel ``rbf``, over the counts of a piece with a composition.

For any vector c and any :math:`\tau > 0` the variance is at most
:math:`\alpha - 2 c^\top k(x) + c^\top K c` and :math:`\sigma \le (\sigma^2 + \tau^2) / 2\tau`, so

.. math:: LCB(x) \ge F(x) - \frac{\kappa}{2\tau} (\alpha + c^\top K c + \tau^2), \qquad
          F(x) = \sum_i v_i e^{-u_i(x) / 2}, \quad
          v = \alpha \Bigl(K^{-1} y + \frac{\kappa}{\tau} c\Bigr) .

The exponents are sums of squares over cells (`rbf_cells`), with the same quadratic part for all
observations. The best c at a point is that of the prediction there. It is kept constant, so that
mean and variance are a single sum F, and several points give several lines.

F has a line below it by *chords and tangents*: an exponential is above its tangent, and below its
chord over the range of its exponent; the sign of ``v_i`` decides which one is used. The result is
linear plus a multiple of the sum of squares. A positive multiple is dropped; in a negative one the
sum is replaced by its secant in the box, which is above it.

Observations close together have large weights of both signs, and chords lose a little for each of
them. Expansions around the middle of the box do not (`rbf_in_boxes`), but chords are better in
wide boxes, where kernels fall to almost zero. The line that is higher at the point is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import cast

import numpy as np

from ....arrays import FloatArray, IntArray
from ....kernels import RBF
from ....posterior import FunctionPosterior
from ..distances.coordinates import Coordinates
from ..distances.variables import Variables
from .lines_below import Box, Line, quick_bound
from .rbf_cells import RbfCells
from .rbf_in_boxes import WIDEST, SumsInBox

_ROOM = 1e-9  # for rounding in terms that do not depend on the counts
_LOST = 1e-9  # relative, of sums over observations whose terms may cancel
_ROUNDING = 64 * float(np.finfo(float).eps)  # relative, of the sums a line is made of
_TINY = 1e-11  # terms of a line that cannot exceed this are dropped
_AT_ONCE = 1000  # compositions
_LEAST_VARIANCE = 1e-9  # relative to the prior's: the smallest variance where lines touch
_LOSS = 0.5  # of the variance that a box adds, in the choice of tau


@dataclass(frozen=True, eq=False, kw_only=True)
class At:
    """A point where a line touches, with the prediction there."""

    coordinates: Coordinates
    x: FloatArray
    cells: FloatArray
    exponents: FloatArray  # u there
    c: FloatArray  # coefficients of the prediction
    known: float  # what the observations take off the prior variance, c . k
    square: float  # c' K c


@dataclass(frozen=True, eq=False)
class _Sum:
    """The sum F for some point and tau; LCB is at least F plus ``beside``."""

    weights: FloatArray  # v
    beside: float


@dataclass(frozen=True, eq=False)
class _Around:
    """Ranges of the cells in a box relative to those at a point; q sums weighted squares."""

    low: FloatArray
    high: FloatArray
    weights: FloatArray

    @property
    def most(self) -> float:
        """The largest q."""
        return float(self.weights @ np.maximum(self.low**2, self.high**2))

    @property
    def width(self) -> float:
        """The largest sum of weighted squares relative to the middle of the box."""
        return float(self.weights @ (self.high - self.low) ** 2) / 4

    def line(self, base: float, slope: FloatArray, squares: float) -> tuple[float, FloatArray]:
        """A line below ``base + slope . delta - squares * q``; q is not negative."""
        if squares <= 0:
            return base, slope
        share = squares * self.weights
        return base + float(share @ (self.low * self.high)), slope - share * (self.low + self.high)


def rbf_variables(coordinates: Coordinates) -> Variables:
    """Variables of programs for the kernel: pairs within s steps, which are what it compares."""
    return Variables(coordinates, within=True)


class RbfLcbOverCounts:
    """LCB with the kernel ``rbf`` over the counts of a piece with a composition."""

    in_the_middle = True

    def __init__(
        self,
        posterior: FunctionPosterior,
        coordinates: Coordinates,
        kappa: float,
        *,
        connected: bool,
        most_far: Sequence[float] = (),
    ) -> None:
        from scipy.linalg import solve_triangular

        self.coordinates = coordinates
        self.variables = rbf_variables(coordinates)
        self._kappa = kappa
        self._connected = connected
        self._cells = RbfCells.of(
            posterior.model, self.variables, connected=connected, most_far=most_far
        )
        self._posterior = posterior
        self._alpha = posterior.model.alpha
        self._weights = posterior.weights
        self._factor = posterior.factor
        # inverse of the factor; lines hold for any c, so it need not be exact
        self._inverse = solve_triangular(
            posterior.factor, np.eye(len(posterior.factor)), lower=True
        )
        self._moved: dict[int, tuple[At, At]] = {}
        self._most_std = math.inf
        self._expansions: list[tuple[Box, SumsInBox]] = []  # the last ones, with their box

    def of(self, kappa: float, most_std: float) -> RbfLcbOverCounts:
        """LCB with another kappa, for graphs whose deviation is at most ``most_std``."""
        out = copy(self)
        out._kappa, out._most_std, out._moved = kappa, most_std, {}
        return out

    def most_std(self) -> float:
        """An upper bound on the deviation, by a few lines."""
        out = copy(self)
        out._weights = np.zeros(len(self._weights))
        out._kappa, out._most_std, out._moved, out._expansions = 1.0, math.inf, {}, []
        return min(max(0.0, -out.quick_bound()), math.sqrt(self._alpha))

    def lowest_mean(self) -> Line:
        """A line whose slope is the gradient of the mean in the middle of all ranges."""
        cells = self._cells
        box = Box(np.zeros(len(self.coordinates)), self.coordinates.upper().astype(float))
        low, high = cells.ranges(box)
        away = cells.targets - (low + high) / 2
        values = np.exp(-0.5 * (cells.apart + away**2 @ cells.weights))
        slope = (self._weights * values) @ away * cells.weights
        return Line(self._alpha * slope @ cells.rows, 0.0)

    def touching(self, x: FloatArray, box: Box) -> At:  # noqa: ARG002
        exponents = self._cells.exponents(x)
        k = self._alpha * np.exp(-0.5 * exponents)
        c = self._inverse.T @ (self._inverse @ k)
        spread = self._factor.T @ c
        return At(
            coordinates=self.coordinates,
            x=x,
            cells=self._cells.rows @ x,
            exponents=exponents,
            c=c,
            known=float(c @ k),
            square=float(spread @ spread),
        )

    def below(self, tangent: At, box: Box, value: float = math.inf) -> Line:
        tangent = self._here(tangent, box)
        around = self._around(tangent.cells, box)
        sums = self._sums(tangent, around)
        lines = [self._by_chords(tangent, around, total) for total in sums]
        if around.width <= WIDEST:
            lines += [self._by_expansion(tangent, total, box, value) for total in sums]
        base, slope = max(lines, key=lambda line: line[0])
        offset = base - float(slope @ tangent.cells) - _ROOM
        cost = slope @ self._cells.rows
        # coefficients this small can make solvers cycle
        tiny = np.abs(cost) * box.high < _TINY
        return Line(np.where(tiny, 0.0, cost), offset - _TINY * float(tiny.sum()))

    def _sums(self, at: At, around: _Around) -> list[_Sum]:
        """The sums F for lines in the box around a point, of which one may be best.

        A line loses about as much as if the variance were larger by a part of what it rises by
        from the middle of the box to its corners, so tau is larger than the deviation. If that is
        more than the deviation can be, the prediction may be of no use, and c = 0 is tried, too.
        """
        variance = self._alpha - 2 * at.known + at.square + _LOSS * at.known * around.width
        most = min(self._alpha, self._most_std**2)
        tau = math.sqrt(max(min(variance, most), _LEAST_VARIANCE * self._alpha))
        share = self._kappa / (2 * tau)
        rounding = _ROUNDING * self._alpha * (1 + float(np.abs(at.c).sum())) ** 2
        predicted = _Sum(
            self._alpha * (self._weights + 2 * share * at.c),
            -share * (self._alpha + at.square + tau**2 + rounding),
        )
        if variance < most:
            return [predicted]
        return [predicted, _Sum(self._alpha * self._weights, -self._kappa * math.sqrt(most))]

    def terms(self, x: FloatArray) -> FloatArray:
        cells = self._cells
        at, targets = x @ cells.rows.T, cells.targets * cells.weights
        squares = at**2 @ cells.weights
        exponents = squares[:, None] - 2 * at @ targets.T + (targets * cells.targets).sum(axis=1)
        return np.asarray(exponents + cells.apart)

    def values(self, terms: FloatArray) -> FloatArray:
        k = self._alpha * np.exp(-0.5 * np.maximum(terms, 0.0))
        variance = self._alpha - ((k @ self._inverse.T) ** 2).sum(axis=1)
        rounding = _LOST * (np.abs(k) @ np.abs(self._weights))
        std = np.sqrt(np.maximum(variance, 0.0) + _LOST * self._alpha)
        return np.asarray(k @ self._weights - rounding - self._kappa * std)

    def off(self, x: FloatArray, box: Box) -> FloatArray:  # noqa: ARG002
        """Weighted squared widths of the ranges: remainders do not vanish at their ends."""
        matter = self._cells.weights @ np.abs(self._cells.rows)
        return np.asarray(matter * (box.high - box.low) ** 2)

    def quick_bound(self, value: float = math.inf) -> float:
        """A bound over all counts by a few lines; it only matters up to ``value``."""
        return quick_bound(self, value, connected=self._connected)

    def _here(self, tangent: At, box: Box) -> At:
        """The tangent at the same counts, recomputed if it was found for another diameter."""
        if tangent.coordinates is self.coordinates:
            return tangent
        if id(tangent) not in self._moved:
            there = dict(zip(tangent.coordinates.paths, tangent.x, strict=False))
            x = np.array([there.get(path, 0.0) for path in self.coordinates.paths])
            x = np.append(x, tangent.x[len(there) :])
            self._moved[id(tangent)] = tangent, self.touching(np.clip(x, box.low, box.high), box)
        return self._moved[id(tangent)][1]

    def _around(self, at: FloatArray, box: Box) -> _Around:
        low, high = self._cells.ranges(box)
        return _Around(low - at, high - at, self._cells.weights)

    def _by_expansion(
        self, at: At, total: _Sum, box: Box, value: float = math.inf
    ) -> tuple[float, FloatArray]:
        """A line below LCB by an expansion, over the cells relative to those at a point."""
        line = self._in(box).line(total.weights, at.cells, value - total.beside)
        return line[0] + total.beside + float(line[1] @ at.cells), line[1]

    def _in(self, box: Box) -> SumsInBox:
        if not (self._expansions and self._expansions[0][0] is box):
            low, high = self._cells.ranges(box)
            weights = self._alpha * self._weights
            made = SumsInBox(self._cells, low, high, weights)
            self._expansions[:] = [(box, made)]  # used for all kappas
        return self._expansions[0][1]

    def _by_chords(self, at: At, around: _Around, total: _Sum) -> tuple[float, FloatArray]:
        """A line below LCB by chords and tangents, over the same differences."""
        cells = self._cells
        away = cells.targets - at.cells
        outside = np.maximum(np.maximum(around.low - away, away - around.high), 0.0)
        farthest = np.maximum(np.abs(around.low - away), np.abs(around.high - away))
        low = cells.apart + outside**2 @ cells.weights
        high = cells.apart + farthest**2 @ cells.weights
        most = around.most
        touch = np.clip(at.exponents, low, high)
        is_tangent = total.weights > 0
        start = np.where(is_tangent, touch, low)
        value = np.exp(-0.5 * start)
        slopes = np.where(is_tangent, -0.5 * value, _chord_slopes(low, high))
        terms = total.weights * slopes
        base = float(total.weights @ value + terms @ (at.exponents - start))
        size = np.abs(total.weights) @ value + 2 * np.abs(terms) @ (at.exponents + start + most)
        slope = -2 * (terms @ away) * cells.weights
        base += total.beside - _ROUNDING * float(size)
        return around.line(base, slope, -float(terms.sum()))


def _chord_slopes(low: FloatArray, high: FloatArray) -> FloatArray:
    """Slopes of lines through ``exp(-u / 2)`` at both ends of ranges, with room for rounding."""
    width = np.maximum(high - low, 1e-9)
    return np.asarray(np.exp(-0.5 * low) * np.expm1(-0.5 * width) / width * (1 - 1e-12))


def rbf_composition_bounds(
    posterior: FunctionPosterior, table: IntArray, kappa: float
) -> FloatArray:
    r"""Lower bounds on LCB, one per composition (row of the table).

    Given the labels, ``k(x, x_i)`` is a constant times the kernel of the other groups. So the mean
    is a function in the Hilbert space of that kernel, and no value is larger than its norm.
    """
    fitted = posterior.model
    kernel = cast("RBF", fitted.kernel)
    squares = kernel.squares(fitted.counts, fitted.counts)
    others = [weight * squares[g] for g, weight in kernel.weights.items() if g != "labels"]
    alike = np.exp(-0.5 * np.sum(others, axis=0))
    n_labels = max(table.shape[1], fitted.counts.n_labels)
    ours, theirs = np.zeros((len(table), n_labels)), np.zeros((len(fitted.y), n_labels))
    ours[:, : table.shape[1]] = table / table.sum(axis=1, keepdims=True) ** 2
    observed = fitted.counts.features[:, : fitted.counts.n_labels]
    theirs[:, : fitted.counts.n_labels] = observed / fitted.counts.sizes[:, None] ** 2
    out = []
    for some in np.array_split(ours, max(1, len(ours) // _AT_ONCE)):
        apart = ((some[:, None] - theirs) ** 2).sum(axis=2)
        near = posterior.weights * np.exp(-0.5 * kernel.weights["labels"] * apart)
        room = _ROUNDING * np.abs(near).sum(axis=1) ** 2
        out.append(np.sqrt(np.maximum(((near @ alike) * near).sum(axis=1), 0.0) + room))
    norms = np.concatenate(out)
    bounds = -fitted.alpha * norms - kappa * math.sqrt(fitted.alpha)
    return np.asarray(bounds - _ROOM * (1.0 + np.abs(bounds)))
