r"""LCB with the kernel ``rbf`` is above a quadratic function in a box, and that one above lines.

Let :math:`\zeta` be the scaled cells less those in the middle of a box (`rbf_cells` beside), so
that :math:`q = |\zeta|^2` is the sum of weighted squares, at most :math:`R^2` in the box. With
:math:`\tau_i` the i-th observation there,

.. math:: k_i(x) = e^{-q/2} \kappa_i, \qquad
          \kappa_i = \beta_i e^{\tau_i \cdot \zeta}
          = \beta_i (1 + \tau_i \cdot \zeta + E_2(\tau_i \cdot \zeta)) , \qquad
          E_m(t) = \sum_{k \ge m} t^k / k! .

*Remainders.* :math:`E_m(a \cdot b)` is a kernel: the inner product of the powers of a and of b from
the m-th on. So for any weights :math:`\omega`, by the inequality of Cauchy and Schwarz,

.. math:: \Bigl|\sum_i \omega_i E_m(\tau_i \cdot \zeta)\Bigr|
          \le \sqrt{\omega^\top E_m(G) \omega} \sqrt{E_m(q)}, \qquad
          G_{ij} = \tau_i \cdot \tau_j .

Weights of observations that are alike are large and of both signs. Their sum matters little here.

*Mean.* It is :math:`e^{-q/2}(p + r)`, with p of degree two and r a remainder, m = 3.

*Variance.* It is at most :math:`\alpha - 2 c^\top k + c^\top K c` for any c, which may depend on x.
With :math:`c = e^{-q/2}(c_0 + D\zeta)` that is :math:`\alpha - e^{-q}(A + r)`, where A is of degree
two and r is the remainder of ``c_0`` (m = 3) and that of ``D`` (m = 2, times :math:`\zeta`). At the
best c_0 and D, those of the prediction in the middle and of its derivative, A is what the variance
really does, up to degree two.

Observations far from the box have no part in that: the mean loses what they can be at most, and
their ``c`` is nothing.

*Together.* As :math:`\sigma \le (\sigma^2 + \tau^2) / 2\tau`, and as p and A have largest values in
the box that tell what :math:`e^{-q/2}` and :math:`e^{-q}` take from them, LCB is above

.. math:: Q(\zeta) = Q_0 + Q_1 \cdot \zeta + \tfrac12 \zeta^\top M \zeta ;

remainders, divided by q, grow with q, so that they are at most q times what they are at
:math:`R^2`. With :math:`-\mu` the smallest eigenvalue of M, Q is above the tangents of the convex
function :math:`Q + \mu q / 2`, less :math:`\mu R^2 / 2`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray
from ....posterior import FunctionPosterior
from .rbf_cells import RbfCells

_ROUNDING = 64 * float(np.finfo(float).eps)  # relative, of the sums a line is made of
_LEAST_VARIANCE = 1e-9  # of the prior's: where lines may touch
_FAR = 12.0  # observations farther from the middle, in length scales, are as good as not there
WIDEST = 4.0  # the largest R^2 of interest: beyond it, remainders are


@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""``base + slope . zeta + zeta' bend zeta / 2``."""

    base: float
    slope: FloatArray
    bend: FloatArray

    def __call__(self, zeta: FloatArray) -> float:
        return self.base + float(self.slope @ zeta + zeta @ self.bend @ zeta / 2)

    def most(self, reach: FloatArray) -> float:
        r"""At least its largest value where :math:`|\zeta_j|` is at most ``reach_j``."""
        square = float(reach @ reach)
        rise = min(float(np.abs(self.slope) @ reach), math.sqrt(square * (self.slope @ self.slope)))
        return self.base + rise + float(np.linalg.norm(self.bend)) * square / 2


class RbfQuadratic:
    """Mean and variance in one box, up to degree two, and what is left of them."""

    def __init__(
        self,
        posterior: FunctionPosterior,
        cells: RbfCells,
        low: FloatArray,
        high: FloatArray,
        kappa: float,
    ) -> None:
        from scipy.linalg import cho_solve, eigvalsh

        self._kappa = kappa
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
        inner = tau @ tau.T
        beta = np.where(is_near, alpha * np.exp(-0.5 * (cells.apart + away**2)), 0.0)
        second, third = _exponential_beyond(inner, 2), _exponential_beyond(inner, 3)
        of_two = math.sqrt(_exponential_beyond(np.array(self.square), 2))
        of_three = math.sqrt(_exponential_beyond(np.array(self.square), 3))
        size = (1 + np.sqrt(inner.diagonal() * self.square)) ** 2  # of a degree two in zeta

        omega = posterior.weights * beta
        rounding = _ROUNDING * float(np.abs(omega) @ size)
        self.mean = Quadratic(float(omega.sum()) - rounding, omega @ tau, (tau.T * omega) @ tau)
        self._off_mean = _norm(omega, third) * of_three
        self._off_far = float(np.abs(posterior.weights[~is_near]) @ of_far)

        slopes = beta[:, None] * tau
        c0 = np.where(is_near, cho_solve((posterior.factor, True), beta), 0.0)
        d = np.where(is_near[:, None], cho_solve((posterior.factor, True), slopes), 0.0)
        spread, spreads = posterior.factor.T @ c0, posterior.factor.T @ d
        known = c0 * beta
        across = d.T @ slopes
        c_most = np.abs(c0) + np.abs(d) @ self.reach
        rounding = _ROUNDING * float(c_most @ (beta * size) + alpha * c_most.sum() ** 2)
        self.known = Quadratic(
            float(2 * known.sum() - spread @ spread) - rounding,
            2 * (c0 @ slopes + beta @ d - spread @ spreads),
            2 * (across + across.T - spreads.T @ spreads + (tau.T * known) @ tau),
        )
        moved = beta[:, None] * d
        of_slopes = moved.T @ second @ moved
        largest = 0.0
        if len(of_slopes):
            last = len(of_slopes) - 1
            largest = float(
                eigvalsh(of_slopes, subset_by_index=(last, last), check_finite=False)[0]
            )
            largest += (
                _ROUNDING * float((np.abs(moved).sum(axis=0) ** 2).sum()) * float(second.max())
            )
        self._off_known = 2 * _norm(known, third) * of_three
        self._off_known += 2 * math.sqrt(max(0.0, largest) * self.square) * of_two

    def line(self, cells: FloatArray) -> tuple[float, FloatArray]:
        """A line below LCB that comes near it where the cells are these: base and slope."""
        from scipy.linalg import eigvalsh

        zeta = self._scale * (cells - self._middle)
        q = float(zeta @ zeta)
        most_known = min(
            self.known.most(self.reach), self._alpha * math.exp(self.square) + self._off_known
        )
        # what the variance is here, and what the squares of the box add to it, all of which is paid
        variance = self._alpha - self.known(zeta) + max(q, self.square) * most_known
        variance += self._off_known
        tau = math.sqrt(min(max(variance, _LEAST_VARIANCE * self._alpha), self._alpha))
        share = self._kappa / (2 * tau)

        most_mean = self.mean.most(self.reach)
        if most_mean < 0 < self.square:
            most_mean *= -math.expm1(-self.square / 2) / (self.square / 2) * (1 - 1e-12)
        off = (self._off_mean + share * self._off_known) / max(self.square, 1e-300)
        base = self.mean.base - self._off_far + share * (self.known.base - self._alpha - tau**2)
        slope = self.mean.slope + share * self.known.slope
        bend = self.mean.bend + share * self.known.bend
        bend[np.diag_indices_from(bend)] -= most_mean + 2 * share * max(0.0, most_known) + 2 * off
        mu = 0.0
        if len(bend):
            least = float(eigvalsh(bend, subset_by_index=(0, 0), check_finite=False)[0])
            mu = max(0.0, -least + _ROUNDING * len(bend) * float(np.linalg.norm(bend)))
        pull = bend @ zeta + mu * zeta
        base -= float(zeta @ pull) / 2 + mu * self.square / 2
        slope = (slope + pull) * self._scale
        return base - float(slope @ self._middle), slope


def _norm(weights: FloatArray, kernel: FloatArray) -> float:
    """At least the root of ``weights' kernel weights``."""
    size = float(np.abs(weights).sum()) ** 2 * float(np.abs(kernel).max(initial=0.0))
    return math.sqrt(max(0.0, float(weights @ kernel @ weights)) + _ROUNDING * size)


def _exponential_beyond(t: FloatArray, m: int) -> FloatArray:
    """The sum of ``t^k / k!`` for k from m on, with no digits lost where t is small."""
    small = np.clip(t, -1.0, 1.0)
    series = np.ones_like(small)
    for k in range(m + 18, m, -1):
        series = 1.0 + series * small / k
    series = series * small**m / math.factorial(m)
    before = sum(t**k / math.factorial(k) for k in range(m))
    return np.asarray(np.where(np.abs(t) <= 1.0, series, np.exp(t) - before))
