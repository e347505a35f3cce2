r"""Lower bounds on LCB with a smooth kernel ``rbf``, where some counts are only known by range.

For any vector c and any :math:`\tau > 0`, LCB is at least :math:`F + b` with

.. math:: F = \sum_i v_i k_i, \quad v = K^{-1} y + \frac\kappa\tau c, \quad
          b = - \frac\kappa{2\tau} (\alpha + c^\top K c + \tau^2)

(`rbf_lines`). Let the unknown counts be their middle plus :math:`\eta`, with
:math:`|\eta_u| \le \rho_u`. The scaled cells of the kernel are linear in them, so that

.. math:: k_i = \kappa_i\; e^{-q/2}\; e^{s}\; e^{\tau_i \cdot \eta}, \qquad
          s = p \cdot \eta, \qquad q \le Q,

where :math:`\kappa_i` is the value in the middle, q the squared length of the change of the cells,
and p (*pull*) the difference between the middle of one set of graphs and a common one, from which
all :math:`\tau_i` are measured: many sets are bounded at once, by products of matrices. With
:math:`\omega_i = v_i \kappa_i`, :math:`o = \sum_i \omega_i`, :math:`g = \sum_i \omega_i \tau_i`,

.. math:: \sum_i \omega_i e^{\tau_i \cdot \eta} = o + g \cdot \eta + r, \qquad
          |r| \le \sqrt{\omega^\top E_2(G) \omega} \sqrt{E_2(\rho \cdot \rho)}

by the Cauchy-Schwarz inequality (`rbf_in_boxes`, where the notation :math:`E_m` is from), for
products G and :math:`\rho \cdot \rho` in any units of the counts. As :math:`|s| \le S = |p| \cdot
\rho`, and as :math:`e^s \ge 1 + s`, the product with :math:`e^s` is at least

.. math:: o - |g + o\, p| \cdot \rho - (|g| \cdot \rho)(e^S - 1) - e^S |r| + \min(o, 0)\, E_2(S) ,

which is multiplied by :math:`e^{-Q/2}` if it is positive. Observations with similar weights of both
signs cancel in all of this, as they do in the prediction. So the bound is sharp if the kernel is
smooth, where bounds by the signs of terms (`rbf_screens`) are useless, and it is useless if cells
change by more than a length scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....arrays import BoolArray, FloatArray, IntArray
from .exponential_series import exponential_beyond
from .rbf_screens import RbfScreens

_ROUNDING = 64 * float(np.finfo(float).eps)  # relative, of sums over observations
_TINY = 1e-80  # more than is lost when kernel values underflow
SHARES = (0.4, 0.05, 2.0)  # of what the unknown counts add to the variance, in tau
_LEAST = 1e-6  # of the amplitude: the least square of tau
WIDEST = 1.0  # the largest Q of interest
_SMALL = 1e-3  # smaller ranges, relative to the largest, are treated like this one
_LARGEST = 100.0  # exponents beyond this are of no use
_AT_ONCE = 4_000


@dataclass(frozen=True, eq=False)
class Around:
    """What is not known of each set of graphs, one per row or, if there is one row, of all."""

    reach: FloatArray  # rho, (B, U)
    pull: FloatArray  # p, (B, U)
    square: FloatArray  # Q, (B,)

    def __getitem__(self, rows: IntArray) -> Around:
        if len(self.square) == 1:
            return self
        return Around(self.reach[rows], self.pull[rows], self.square[rows])

    def is_narrow(self, number: int) -> BoolArray:
        """Mask of the rows for which a bound is of use."""
        pulled = (np.abs(self.pull) * self.reach).sum(axis=1)
        return np.broadcast_to((self.square <= WIDEST) & (pulled <= WIDEST), (number,))


class Expansion:
    """Tests whether graphs whose unknown counts are in ranges may be below the limit."""

    def __init__(self, screens: RbfScreens, tau: FloatArray) -> None:
        """``tau`` has one row per observation and one column per unknown count."""
        self._screens, self._tau = screens, tau
        self._largest = np.abs(tau).max(axis=0, initial=0.0)

    def __call__(self, kernel: FloatArray, around: Around) -> BoolArray:
        """Mask of rows that may hold a graph below the limit, given kernel values in the middle."""
        out = np.ones(len(kernel), dtype=bool)
        for start in range(0, len(kernel), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            left = start + np.flatnonzero(around.is_narrow(len(kernel))[some])
            for share in SHARES:
                if len(left):
                    above = self.bounds(kernel[left], around[left], share) >= self._screens.limit
                    out[left[above]] = False
                    left = left[~above]
        return out

    def bounds(self, kernel: FloatArray, around: Around, share: float) -> FloatArray:
        """Lower bounds on LCB; ``share`` decides which tau is taken, and all are valid."""
        screens, alpha, kappa = self._screens, self._screens.alpha, self._screens.kappa
        c, constant, lost = screens.predictors(kernel)
        rest = np.maximum(alpha - np.einsum("ij,ij->i", c, kernel), 0.0)
        tau = np.sqrt(rest + alpha * (share * around.square + _LEAST))
        weights = screens.weights + (kappa / tau)[:, None] * c
        beside = -kappa / (2.0 * tau) * (alpha + constant + tau**2 + 2.0 * lost)
        return np.asarray(self._least(weights, kernel, around) + beside)

    def _least(self, weights: FloatArray, kernel: FloatArray, around: Around) -> FloatArray:
        """Lower bounds on F."""
        omega, reach = weights * kernel, around.reach
        middle, slope = omega.sum(axis=1), omega @ self._tau
        at_most = np.abs(slope)
        np.multiply(at_most, reach, out=at_most)
        rise = at_most.sum(axis=1)
        pulled = (np.abs(around.pull) * reach).sum(axis=1)
        both = slope + middle[:, None] * around.pull
        np.abs(both, out=both)
        np.multiply(both, reach, out=both)
        out = middle - both.sum(axis=1) - rise * np.expm1(pulled)
        out -= np.exp(pulled) * self._remainder(omega, reach)
        out += np.minimum(middle, 0.0) * exponential_beyond(pulled, 2)
        farthest = (self._largest * reach).sum(axis=1) + pulled
        rounding = self._screens.relative + _ROUNDING * len(self._tau)
        out -= np.abs(omega).sum(axis=1) * rounding * np.exp(np.minimum(farthest, _LARGEST))
        out -= _TINY * np.abs(weights).sum(axis=1)
        return np.asarray(np.where(out > 0, out * np.exp(-0.5 * around.square), out))

    def _remainder(self, omega: FloatArray, reach: FloatArray) -> FloatArray:
        """Upper bounds on \\|r\\|."""
        units, widths = self._units(omega, reach)
        inner = (self._tau * units) @ self._tau.T
        squares = (reach**2) @ widths
        if max(float(np.abs(inner).max(initial=0.0)), float(squares.max(initial=0.0))) > _LARGEST:
            return np.full(len(omega), np.inf)
        kernel = exponential_beyond(inner, 2)
        size = np.abs(omega).sum(axis=1) ** 2 * float(np.abs(kernel).max(initial=0.0))
        norms = np.einsum("ij,ij->i", omega @ kernel, omega)
        norms = np.sqrt(np.maximum(norms, 0.0) + _ROUNDING * size)
        return np.asarray(norms * np.sqrt(exponential_beyond(squares, 2)) * (1.0 + 1e-12))

    def _units(self, omega: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Squares of the units of the counts in products of observations, and their inverses.

        In these units, observations and ranges are of similar size: their product is small.
        """
        shares = np.abs(omega).mean(axis=0) ** 2
        sizes = np.sqrt(shares @ self._tau**2 / max(float(shares.sum()), _TINY))
        sizes = np.maximum(sizes, _SMALL * sizes.max(initial=0.0))
        typical = np.sqrt((reach**2).mean(axis=0))
        typical = np.maximum(typical, _SMALL * typical.max(initial=0.0))
        if not (sizes.max(initial=0.0) > 0 and typical.max(initial=0.0) > 0):
            return np.ones(len(sizes)), np.ones(len(sizes))
        units = typical / sizes
        return units, 1.0 / units
