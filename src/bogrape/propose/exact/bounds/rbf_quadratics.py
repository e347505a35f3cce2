r"""Quadratic functions below LCB with the kernel ``rbf`` in a box, and lines below these.

Let :math:`\zeta` be the scaled cells (`rbf_cells`) minus those in the middle of a box, so that
:math:`q = |\zeta|^2` is the sum of weighted squares, at most :math:`R^2` in the box. With
:math:`\tau_i` the i-th observation in these coordinates,

.. math:: k_i(x) = e^{-q/2} \kappa_i, \qquad
          \kappa_i = \beta_i e^{\tau_i \cdot \zeta}
          = \beta_i (1 + \tau_i \cdot \zeta + E_2(\tau_i \cdot \zeta)) , \qquad
          E_m(t) = \sum_{k \ge m} t^k / k! .

*Remainders.* :math:`E_m(a \cdot b)` is a kernel: the inner product of the powers of a and of b from
the m-th on. So for any weights :math:`\omega`, by the Cauchy-Schwarz inequality,

.. math:: \Bigl|\sum_i \omega_i E_m(\tau_i \cdot \zeta)\Bigr|
          \le \sqrt{\omega^\top E_m(G) \omega} \sqrt{E_m(q)}, \qquad
          G_{ij} = \tau_i \cdot \tau_j .

Similar observations have large weights of both signs, which nearly cancel in this bound.

*Mean.* It is :math:`e^{-q/2}(p + r)`, with p of degree two and r a remainder, m = 3.

*Variance.* It is at most :math:`\alpha - 2 c^\top k + c^\top K c` for any c, which may depend on x.
With :math:`c = e^{-q/2}(c_0 + D\zeta)` that is :math:`\alpha - e^{-q}(A + r)`, where A is of degree
two and r is the remainder of ``c_0`` (m = 3) and that of ``D`` (m = 2, times :math:`\zeta`). At the
best c_0 and D, those of the prediction in the middle and of its derivative, this agrees with the
variance up to degree two, apart from r.

Observations far from the box are left out of this: the most they can contribute is subtracted from
the mean, and their ``c`` is zero.

*Together.* As :math:`\sigma \le (\sigma^2 + \tau^2) / 2\tau`, and as the largest values of p and A
in the box bound what the factors :math:`e^{-q/2}` and :math:`e^{-q}` take from them, LCB is above

.. math:: Q(\zeta) = Q_0 + Q_1 \cdot \zeta + \tfrac12 \zeta^\top M \zeta ;

bounds on remainders grow with q, so those at :math:`q = R^2` are subtracted in :math:`Q_0`. With
:math:`-\mu` the smallest eigenvalue of M, Q is above the tangents of the convex function
:math:`Q + \mu q / 2`, minus :math:`\mu R^2 / 2`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray
from ....posterior import FunctionPosterior
from .rbf_cells import RbfCells

_ROUNDING = 64 * float(np.finfo(float).eps)  # relative, of the sums a line is made of
_LEAST_VARIANCE = 1e-9  # relative to the prior's: the smallest variance where lines touch
_FAR = 12.0  # observations farther from the middle than this, in length scales, hardly matter
_ROOM = 1e-9
_PARTS = (0.0, 0.5)  # shares of the best linear prediction to try
_SMALL = 0.1  # with smaller remainders and boxes, all of it is best
WIDEST = 4.0  # the largest R^2 of interest: beyond it, remainders are too large


@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""``base + slope . p + p' bend p / 2`` with ``p = axes' zeta``.

    The axes span the observations, which are fewer than the cells: matrices are smaller there.
    """

    base: float
    slope: FloatArray
    bend: FloatArray
    axes: FloatArray

    def __call__(self, zeta: FloatArray) -> float:
        p = zeta @ self.axes
        return self.base + float(self.slope @ p + p @ self.bend @ p / 2)

    def plus(self, share: float, other: Quadratic) -> Quadratic:
        """This one and a share of another, over the same axes."""
        return Quadratic(
            self.base + share * other.base,
            self.slope + share * other.slope,
            self.bend + share * other.bend,
            self.axes,
        )

    def most(self, reach: FloatArray) -> float:
        r"""Upper bound on its values where :math:`|\zeta_j|` is at most ``reach_j``."""
        square = float(reach @ reach)
        slope = self.axes @ self.slope
        rise = min(float(np.abs(slope) @ reach), math.sqrt(square * (slope @ slope)))
        return self.base + rise + float(np.linalg.norm(self.bend)) * square / 2


@dataclass(frozen=True)
class _Asked:
    """The LCB that a line has to be below, and where."""

    kappa: float
    value: float  # where LCB is below this
    most_std: float  # and the deviation is at most this


class RbfQuadratic:
    """Mean and variance in one box up to degree two, with bounds on the remainders."""

    def __init__(
        self,
        posterior: FunctionPosterior,
        cells: RbfCells,
        low: FloatArray,
        high: FloatArray,
        weights: FloatArray,
        inverse: FloatArray,
    ) -> None:
        """``weights`` are those of the mean; ``inverse`` approximates that of the factor of K."""
        self._alpha = alpha = posterior.model.alpha
        self._scale = np.sqrt(cells.weights)
        self._middle = (low + high) / 2
        self.reach = self._scale * (high - low) / 2
        self.square = float(self.reach @ self.reach)
        tau = self._scale * (cells.targets - self._middle)
        away = np.sqrt((tau**2).sum(axis=1))
        is_near = away <= _FAR
        nearest = np.maximum(away[~is_near] - math.sqrt(self.square), 0.0)
        of_far = alpha * np.exp(-0.5 * (cells.apart[~is_near] + nearest**2))
        tau = np.where(is_near[:, None], tau, 0.0)
        beta = np.where(is_near, alpha * np.exp(-0.5 * (cells.apart + away**2)), 0.0)
        omega = weights * beta
        even, square = self._evened(tau, omega)
        second, third = _exponential_beyond(even, 2), _exponential_beyond(even, 3)
        of_two = math.sqrt(_exponential_beyond(np.array(square), 2))
        of_three = math.sqrt(_exponential_beyond(np.array(square), 3))
        self._axes, tau = _spanned(tau)
        axes = self._axes
        size = (1 + away * math.sqrt(self.square)) ** 2  # of polynomials of degree two in zeta

        rounding = _ROUNDING * float(np.abs(omega) @ size)
        self.mean = Quadratic(
            float(omega.sum()) - rounding, omega @ tau, (tau.T * omega) @ tau, axes
        )
        self._off_mean = _norm(omega, third) * of_three
        self._off_far = float(np.abs(weights[~is_near]) @ of_far)

        slopes = beta[:, None] * tau
        c0 = np.where(is_near, inverse.T @ (inverse @ beta), 0.0)
        d = np.where(is_near[:, None], inverse.T @ (inverse @ slopes), 0.0)
        spread, spreads = posterior.factor.T @ c0, posterior.factor.T @ d
        known = c0 * beta
        across = d.T @ slopes
        c_most = np.abs(c0) + np.abs(d) @ (self.reach @ np.abs(axes))
        rounding = _ROUNDING * float(c_most @ (beta * size) + alpha * c_most.sum() ** 2)
        bend_of_known = (tau.T * known) @ tau
        self.linear = Quadratic(
            float(known.sum()) - rounding,
            c0 @ slopes + beta @ d,
            across + across.T + bend_of_known,
            axes,
        )
        self.known = Quadratic(
            float(2 * known.sum() - spread @ spread) - rounding,
            2 * (c0 @ slopes + beta @ d - spread @ spreads),
            2 * (across + across.T - spreads.T @ spreads + bend_of_known),
            axes,
        )
        moved = beta[:, None] * d
        of_slopes = moved.T @ second @ moved
        largest = 0.0
        if len(of_slopes):
            largest = float(np.linalg.eigvalsh(of_slopes)[-1])
            largest += (
                _ROUNDING * float((np.abs(moved).sum(axis=0) ** 2).sum()) * float(second.max())
            )
        self._off_known = 2 * _norm(known, third) * of_three
        self._off_known += 2 * math.sqrt(max(0.0, largest) * self.square) * of_two

    def _evened(self, tau: FloatArray, omega: FloatArray) -> tuple[FloatArray, float]:
        """Inner products of observations and the largest square in the box, for remainders.

        Both are in units, one per cell, in which ranges and observations are of similar size; this
        makes their product small.
        """
        plain = tau @ tau.T
        sizes = np.sqrt(omega**2 @ tau**2)
        sizes = np.maximum(sizes, 1e-3 * sizes.max(initial=0.0))
        reach = np.maximum(self.reach, 1e-3 * self.reach.max(initial=0.0))
        if not (sizes.max(initial=0.0) > 0 and reach.max(initial=0.0) > 0):
            return plain, self.square
        unit = reach / sizes  # square of the factor of each cell in the observations
        unit *= math.sqrt(float(sizes @ sizes) / float(reach @ reach))
        even, square = (tau * unit) @ tau.T, float((self.reach**2 / unit).sum()) * (1 + 1e-12)
        weights = np.abs(omega)
        before = float(weights @ plain.diagonal()) * self.square
        helps = float(weights @ even.diagonal()) * square < before
        # exponentials of larger numbers are of no use
        fits = max(square, float(np.abs(even).max())) < 2 * _FAR**2
        return (even, square) if helps and fits else (plain, self.square)

    def line(
        self, cells: FloatArray, kappa: float, value: float = math.inf, most_std: float = math.inf
    ) -> tuple[float, FloatArray]:
        """Base and slope of a line that is close to LCB at the given cells.

        It is below LCB wherever LCB is below ``value`` and the deviation is at most ``most_std``;
        elsewhere it need not be.
        """
        zeta = self._scale * (cells - self._middle)
        asked = _Asked(kappa, value, min(most_std, math.sqrt(self._alpha)))
        best = self._line(zeta, asked, 1.0)
        if kappa * self._off_known + self.square > _SMALL:
            # if the prediction is uncertain, a part of it may give a higher line
            others = [self._line(zeta, asked, part) for part in _PARTS]
            best = max([best, *others], key=lambda line: line[0] + float(line[1] @ zeta))
        base, slope = best[0], best[1] * self._scale
        return base - float(slope @ self._middle), slope

    def _line(self, zeta: FloatArray, asked: _Asked, part: float) -> tuple[float, FloatArray]:
        """As `line`, over scaled cells and with a part of the best linear prediction."""
        q = float(zeta @ zeta)
        known = self._part_known(part)
        off_known, most_known, share = 0.0, 0.0, 0.0
        beside = asked.kappa * asked.most_std
        if part:
            off_known = part * self._off_known
            most_known = min(
                known.most(self.reach), self._alpha * math.exp(self.square) + off_known
            )
            most_known = max(0.0, most_known)
            # the variance here, plus what its bound loses by the width of the box and remainders
            variance = self._alpha - known(zeta) + max(q, self.square) * most_known + off_known
            variance = min(variance, asked.most_std**2)
            tau = math.sqrt(max(variance, _LEAST_VARIANCE * self._alpha))
            share = asked.kappa / (2 * tau)
            beside = share * (self._alpha + tau**2)

        most_mean = min(self.mean.most(self.reach), self._most_mean(asked))
        if most_mean < 0 < self.square:
            most_mean *= -math.expm1(-self.square / 2) / (self.square / 2) * (1 - 1e-12)
        whole = self.mean.plus(share, known)
        base = whole.base - beside - self._off_far - self._off_mean - share * off_known
        # the same bend in all directions, in addition to that along the axes
        down = most_mean + 2 * share * most_known
        pull, paid = self._convex(whole.bend, down, zeta)
        return base - float(zeta @ pull) / 2 - paid, self._axes @ whole.slope + pull

    def _part_known(self, part: float) -> Quadratic:
        """Reduction of the variance by a part of the best linear prediction."""
        if part == 1.0:
            return self.known
        none = Quadratic(0.0, 0 * self.known.slope, 0 * self.known.bend, self._axes)
        return none.plus(part**2, self.known).plus(2 * part * (1 - part), self.linear)

    def _most_mean(self, asked: _Asked) -> float:
        """Upper bound on the polynomial of the mean where LCB is below a value."""
        most = asked.value + asked.kappa * asked.most_std + self._off_far
        if most > 0:
            most *= math.exp(self.square / 2)
        return most + self._off_mean + _ROOM

    def _convex(self, bend: FloatArray, down: float, zeta: FloatArray) -> tuple[FloatArray, float]:
        r"""Slope at zeta of a quadratic that was made convex, and the cost of that.

        ``bend`` along the axes, less ``down`` in all directions, gets ``even`` in all directions
        and some ``more`` in those that need it. As squares are largest at the ends of their ranges,
        that costs at most ``even R^2 / 2`` plus the sum of ``more_k w_k^2 / 2``, where :math:`w_k`
        is the largest :math:`|\zeta \cdot v_k|`.
        """
        if not len(self._scale):
            return np.zeros(0), 0.0
        values, vectors = np.linalg.eigh(bend)
        directions = self._axes @ vectors
        widths = np.minimum((self.reach @ np.abs(directions)) ** 2, self.square) * (1 + 1e-12)
        missing = down - values
        least = 0.0 if len(values) == len(self._scale) else max(0.0, down)
        choices = np.append(missing[missing > least], least)
        more = np.maximum(missing - choices[:, None], 0.0)
        cost = choices * self.square + more @ widths
        i = int(np.argmin(cost))
        size = float(np.linalg.norm(bend)) + abs(down)
        even = choices[i] + _ROUNDING * len(self._scale) * size
        along = zeta @ directions
        pull = directions @ ((values + more[i]) * along) + (even - down) * zeta
        return pull, float(even * self.square + more[i] @ widths) / 2


def _spanned(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal axes (as columns) that span some rows, and the rows in terms of them."""
    if len(rows) >= rows.shape[1]:
        return np.eye(rows.shape[1]), rows
    axes, coefficients = np.linalg.qr(rows.T)
    return axes, coefficients.T


def _norm(weights: FloatArray, kernel: FloatArray) -> float:
    """Upper bound on the square root of ``weights' kernel weights``."""
    size = float(np.abs(weights).sum()) ** 2 * float(np.abs(kernel).max(initial=0.0))
    return math.sqrt(max(0.0, float(weights @ kernel @ weights)) + _ROUNDING * size)


def _exponential_beyond(t: FloatArray, m: int) -> FloatArray:
    """The sum of ``t^k / k!`` for k from m on, without cancellation where t is small."""
    small = np.clip(t, -1.0, 1.0)
    series = np.ones_like(small)
    for k in range(m + 18, m, -1):
        series = 1.0 + series * small / k
    series = series * small**m / math.factorial(m)
    before = sum(t**k / math.factorial(k) for k in range(m))
    return np.asarray(np.where(np.abs(t) <= 1.0, series, np.exp(t) - before))
