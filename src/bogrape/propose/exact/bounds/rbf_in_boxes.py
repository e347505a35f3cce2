r"""Lines below sums of Gaussian kernels in a box, by expansions around its middle.

LCB with the kernel ``rbf`` is at least such a sum plus a constant (`rbf_lines`),

.. math:: F(x) = \sum_i v_i e^{-u_i(x) / 2} .

Let :math:`\zeta` be the scaled cells (`rbf_cells`) minus those in the middle of a box, so that
:math:`q = |\zeta|^2` is the sum of weighted squares, at most :math:`R^2` in the box. With
:math:`\tau_i` the i-th observation in these coordinates,

.. math:: v_i e^{-u_i / 2} = e^{-q/2} \omega_i e^{\tau_i \cdot \zeta}
          = e^{-q/2} \omega_i \bigl(1 + \tau_i \cdot \zeta + (\tau_i \cdot \zeta)^2 / 2
          + E_3(\tau_i \cdot \zeta)\bigr) , \qquad
          E_m(t) = \sum_{k \ge m} t^k / k! ,

so F is :math:`e^{-q/2}(p + r)` with p of degree two and r a remainder.

*Remainder.* :math:`E_m(a \cdot b)` is a kernel: the inner product of the powers of a and of b from
the m-th on. So for any weights :math:`\omega`, by the Cauchy-Schwarz inequality,

.. math:: \Bigl|\sum_i \omega_i E_m(\tau_i \cdot \zeta)\Bigr|
          \le \sqrt{\omega^\top E_m(G) \omega} \sqrt{E_m(q)}, \qquad
          G_{ij} = \tau_i \cdot \tau_j .

Similar observations have large weights of both signs, which nearly cancel in this bound. It grows
with q, so its value at :math:`q = R^2` is subtracted. Observations far from the box are left out of
the sum: the most they can contribute is subtracted, too.

*Factor.* If p is at most b, then :math:`e^{-q/2} p \ge p - b q / 2`. A line need hold only where
LCB is below some value, and there F, and with it p, is bounded from above.

*Line.* What remains is :math:`p - b q / 2` minus a constant, a quadratic function with second
derivatives M. With :math:`-\mu` the smallest eigenvalue of M it is above the tangents of the convex
function with :math:`\mu q / 2` added, minus :math:`\mu R^2 / 2`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray
from .exponential_series import exponential_beyond
from .rbf_cells import RbfCells

_ROUNDING = 64 * float(np.finfo(float).eps)  # relative, of the sums a line is made of
_FAR = 12.0  # observations farther from the middle than this, in length scales, hardly matter
_ROOM = 1e-9
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

    def most(self, reach: FloatArray) -> float:
        r"""Upper bound on its values where :math:`|\zeta_j|` is at most ``reach_j``."""
        square = float(reach @ reach)
        slope = self.axes @ self.slope
        rise = min(float(np.abs(slope) @ reach), math.sqrt(square * (slope @ slope)))
        return self.base + rise + float(np.linalg.norm(self.bend)) * square / 2


@dataclass(frozen=True, eq=False)
class Expansion:
    """F in a box up to degree two, without the factor ``exp(-q / 2)``."""

    polynomial: Quadratic  # p, minus what rounding may have added
    off: float  # upper bound on the size of the remainder
    off_far: float  # and on what distant observations contribute to F


class SumsInBox:
    """Sums of Gaussian kernels in one box: expansions around its middle, for any weights."""

    def __init__(
        self, cells: RbfCells, low: FloatArray, high: FloatArray, weights: FloatArray
    ) -> None:
        """Units are chosen so that remainders of sums with weights like these are small."""
        self._scale = np.sqrt(cells.weights)
        self._middle = (low + high) / 2
        self.reach = self._scale * (high - low) / 2
        self.square = float(self.reach @ self.reach)
        tau = self._scale * (cells.targets - self._middle)
        away = np.sqrt((tau**2).sum(axis=1))
        self._is_near = away <= _FAR
        nearest = np.maximum(away - math.sqrt(self.square), 0.0)
        self._far = np.where(self._is_near, 0.0, np.exp(-0.5 * (cells.apart + nearest**2)))
        tau = np.where(self._is_near[:, None], tau, 0.0)
        self._factors = np.where(self._is_near, np.exp(-0.5 * (cells.apart + away**2)), 0.0)
        even, square = self._evened(tau, weights * self._factors)
        self._third = exponential_beyond(even, 3)
        self._of_three = math.sqrt(exponential_beyond(np.array(square), 3))
        self._axes, self._tau = _spanned(tau)
        self._size = (1 + away * math.sqrt(self.square)) ** 2  # of quadratics in zeta

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

    def of(self, weights: FloatArray) -> Expansion:
        """The expansion of the sum with some weights ``v``."""
        omega, tau = weights * self._factors, self._tau
        rounding = _ROUNDING * float(np.abs(omega) @ self._size)
        polynomial = Quadratic(
            float(omega.sum()) - rounding, omega @ tau, (tau.T * omega) @ tau, self._axes
        )
        off = _norm(omega, self._third) * self._of_three
        return Expansion(polynomial, off, float(np.abs(weights) @ self._far))

    def line(
        self, weights: FloatArray, cells: FloatArray, most: float = math.inf
    ) -> tuple[float, FloatArray]:
        """Base and slope of a line that is close to the sum with some weights at the given cells.

        It is below the sum wherever the sum is at most ``most``; elsewhere it need not be.
        """
        zeta = self._scale * (cells - self._middle)
        expansion = self.of(weights)
        of_polynomial = expansion.polynomial.most(self.reach)
        if most < math.inf:
            of_sum = most + expansion.off_far
            if of_sum > 0:
                of_sum *= math.exp(self.square / 2)
            of_polynomial = min(of_polynomial, of_sum + expansion.off + _ROOM)
        if of_polynomial < 0 < self.square:
            of_polynomial *= -math.expm1(-self.square / 2) / (self.square / 2) * (1 - 1e-12)
        pull, paid = self._convex(expansion.polynomial.bend, of_polynomial, zeta)
        base = expansion.polynomial.base - expansion.off - expansion.off_far
        base -= float(zeta @ pull) / 2 + paid
        slope = (self._axes @ expansion.polynomial.slope + pull) * self._scale
        return base - float(slope @ self._middle), slope

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
