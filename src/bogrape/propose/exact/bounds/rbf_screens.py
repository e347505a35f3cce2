r"""Quick tests of many graphs, given upper bounds on their values of the kernel ``rbf``.

All that is known of a graph is an upper bound on each of its kernel values :math:`k_i` with the
observations. With :math:`\mu = w^\top k`, :math:`w = K^{-1} y`, the mean is at least the sum of the
negative terms at these bounds. And since the variance is at most
:math:`\alpha - 2 c^\top k + c^\top K c` for any c,

.. math:: \mu - \kappa\sigma \ge \Bigl(w + \frac\kappa\tau c\Bigr)^{\!\top} k
          - \frac\kappa{2\tau} (\alpha + c^\top K c + \tau^2)

for any c and :math:`\tau > 0`: a graph that is near observations with low values has a small
deviation, too. For EI, the LCB of a chord is used (`ei_chords`). These bounds are sharp if
observations are far from one another; if the kernel is smooth, the terms of the mean cancel, and
hardly anything is ruled out. See `rbf_expansion` for bounds in that case.

If kernel values are known, mean and variance are bounded by two products of matrices.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ....acquisition import EI, LCB
from ....arrays import BoolArray, FloatArray, IntArray
from ....posterior import FunctionPosterior
from .ei_chords import largest_mean, whole_range
from .rbf_factors import RbfFactors

_EPSILON = float(np.finfo(float).eps)
_TINY = 1e-80  # more than is lost when factors underflow
_TOWARDS = 0.8  # c is best for kernel values of this share of the largest ones
_LEAST = 1e-2  # of the amplitude: the least square of tau
_AT_ONCE = 20_000
_ROUNDING = 1e-9  # relative, of a limit


class RbfScreens:
    """Tests whether graphs may have a value below a limit, by bounds on their kernel values."""

    def __init__(self, factors: RbfFactors, value: float) -> None:
        criterion = factors.criterion
        posterior = criterion.posterior
        assert isinstance(posterior, FunctionPosterior)
        self.factors, self.value = factors, value
        self.alpha = posterior.model.alpha
        self.weights = posterior.weights
        self._factor = posterior.factor
        self._std = math.sqrt(self.alpha)
        acquisition = criterion.standard_acquisition
        if isinstance(acquisition, EI):
            goal = criterion.observed.standard_best - acquisition.xi
            chord = whole_range(goal, value, criterion.largest_deviation)
            self.kappa, self.limit = chord.kappa, chord.limit(value)
        else:
            assert isinstance(acquisition, LCB)
            self.kappa, self.limit = acquisition.kappa, value

    @cached_property
    def negative(self) -> FloatArray:
        """The weights that lower the mean."""
        return np.asarray(np.minimum(self.weights, 0.0))

    @cached_property
    def _inverse(self) -> FloatArray:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self._factor, True), np.eye(len(self._factor))))

    @cached_property
    def relative(self) -> float:
        """Relative rounding error of kernel values, and of sums over the observations."""
        return math.expm1(self.factors.rounded) + (len(self.weights) + 10) * _EPSILON

    @cached_property
    def _lost_mean(self) -> float:
        return float(np.abs(self.weights).sum()) * (self.alpha * self.relative + _TINY)

    @cached_property
    def _lost_variance(self) -> float:
        """Upper bound on the rounding error of variances when graphs are evaluated."""
        lost = 8 * _EPSILON * len(self._factor) * float(np.linalg.cond(self._factor))
        return self.alpha * lost

    @cached_property
    def _mean_limit(self) -> float:
        """Graphs below the limit have means below this, whatever their deviations."""
        if not math.isfinite(self.value):
            return self.value
        acquisition = self.factors.criterion.standard_acquisition
        if isinstance(acquisition, EI):
            goal = self.factors.criterion.observed.standard_best - acquisition.xi
            limit = float(largest_mean(goal, self.value, np.array([self._std]))[0])
        else:
            limit = self.value + self.kappa * self._std
        return limit + _ROUNDING * (1.0 + abs(limit) + abs(self.value))

    def of_means(self, means: FloatArray) -> BoolArray:
        """Mask of graphs that may be below the limit, given lower bounds on their means."""
        return np.asarray(means < self._mean_limit + self._lost_mean)

    def of_largest(self, largest: FloatArray) -> BoolArray:
        """Mask of graphs that may be below the limit if kernel values are at most these, (B, T)."""
        out = self.of_means(largest @ self.negative)
        places = np.flatnonzero(out)
        for start in range(0, len(places), _AT_ONCE):
            some = places[start : start + _AT_ONCE]
            out[some] = self._by_lines(largest[some])
        return out

    def _by_lines(self, largest: FloatArray) -> BoolArray:
        towards = largest * (_TOWARDS * (self.weights < 0))
        c, constant, lost = self.predictors(towards)
        rest = self.alpha - np.einsum("ij,ij->i", c, towards)
        tau = np.sqrt(np.maximum(rest, _LEAST * self.alpha))
        slopes = self.weights + (self.kappa / tau)[:, None] * c
        least = np.einsum("ij,ij->i", np.minimum(slopes, 0.0), largest)
        most = (self.alpha + constant + tau**2) / (2.0 * tau)
        bounds = least - self.kappa * (most + lost / tau) - self._lost_mean
        return np.asarray(bounds < self.limit)

    def predictors(self, towards: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For each row, the best c, what it adds to the variance, and the rounding error."""
        c = towards @ self._inverse
        through = c @ self._factor
        constant = np.einsum("ij,ij->i", through, through)
        lost = np.abs(c).sum(axis=1) * (2.0 * self.alpha * self.relative + _TINY)
        lost += constant * len(c[0]) * 4.0 * _EPSILON + self._lost_variance
        return c, constant, lost

    def of_products(self, left: FloatArray, right: FloatArray) -> tuple[IntArray, IntArray]:
        """Graphs that may be below the limit, if their kernel values are products of factors.

        Args:
            left: factors of the rows, (B, T).
            right: factors of the columns, with the amplitude, (Q, T).

        Returns:
            Indices of their rows and columns.
        """
        none = np.zeros(0, dtype=np.int64)
        rows = np.flatnonzero(self.of_means(left @ (self.negative * right.max(axis=0))))
        if not len(rows):
            return none, none
        means = left[rows] @ (self.weights * right).T
        i, j = np.nonzero(self.of_means(means))
        if not len(i):
            return none, none
        rows_left, i = np.unique(i, return_inverse=True)
        columns, j = np.unique(j, return_inverse=True)
        left, right = left[rows[rows_left]], right[columns]
        c, constant, lost = self.predictors(right * left.mean(axis=0))
        variances = left @ (-2.0 * c * right).T + (self.alpha + constant + lost)
        np.clip(variances, 0.0, self.alpha + self._lost_variance, out=variances)
        mean = means[rows_left[i], columns[j]] - self._lost_mean
        values = self.factors.criterion.of_prediction(mean, np.sqrt(variances[i, j]))
        keep = values < self.value
        return rows[rows_left[i[keep]]], columns[j[keep]]
