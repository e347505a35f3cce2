r"""Leave-one-out predictions of a Gaussian process for its own observations.

Leave-one-out predictions at fixed hyperparameters have a closed form (Rasmussen and Williams, 2006,
eqs. 5.10 to 5.12). With ``K`` the covariance of the observations ``y``, noise included,

.. math:: \mu_i = y_i - [K^{-1}y]_i / [K^{-1}]_{ii}, \qquad \sigma_i^2 = 1/[K^{-1}]_{ii},
          \qquad \log p_i = -\tfrac12\log(2\pi\sigma_i^2) - (y_i-\mu_i)^2 / 2\sigma_i^2 .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from threadpoolctl import threadpool_limits

from .arrays import FloatArray
from .kernels import is_linear
from .observed_values import evened, standardise
from .posterior import FittedModel, WeightPosterior

_INTERVAL = 1.96  # standard deviations on either side that hold 95 % of a normal distribution
_CHANCE = 0.01  # significance level of the tests for knowledge and calibration
_HONEST = 0.85  # share inside the 95 % intervals below which they count as too narrow
_ROUNDING = 1e-12  # in standardised units
FEWEST = 5  # observations needed for any statement


@final
class Inverse:
    r"""The inverse covariance of the observations of a fitted model, noise included.

    By the eigenvectors of the T×T matrix or, where a linear kernel has d < T coordinates, by the
    d nonzero ones, from the decomposition ``z = U diag(s) V'`` of the rows,

    .. math:: K^{-1} = \tfrac1v \bigl(I - U\, \tfrac{s^2}{s^2+v}\, U^\top\bigr) ,

    in memory proportional to T, not to its square.
    """

    def __init__(self, model: FittedModel) -> None:
        noise, factors = evened(model.variances)
        rows = WeightPosterior(model).features(model.counts) if is_linear(model.kernel) else None
        with threadpool_limits(1):
            if rows is None or rows.shape[1] >= len(rows):
                scaled = model.cross(model.counts) * np.outer(factors, factors)
                values, vectors = np.linalg.eigh(scaled)
                self._beyond = np.zeros(len(factors))
                self._inverse = 1.0 / (np.maximum(values, 0.0) + noise)
            else:
                vectors, s, _ = np.linalg.svd(rows * factors[:, None], full_matrices=False)
                self._beyond = factors**2 / noise
                self._inverse = -(s**2) / ((s**2 + noise) * noise)
        self._vectors = factors[:, None] * vectors
        self.model = model

    @property
    def diagonal(self) -> FloatArray:
        """``[K^-1]_ii``."""
        return np.asarray(self._beyond + self._vectors**2 @ self._inverse)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        """``K^-1`` times a vector, or each column of a matrix."""
        along = self._vectors.T @ right
        within = self._vectors @ (self._inverse * along.T).T
        return np.asarray((self._beyond * right.T).T + within)


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut:
    """Predictions of each observation from all others, noise included.

    Kept in standardised units, in which nothing overflows; ``observed``, ``mean``, ``std`` and the
    errors are in the user's. Values that the model clips or caps are clipped or
    capped here too.
    """

    y: FloatArray
    mu: FloatArray
    sigma: FloatArray
    location: float = 0.0  # the user's value is sign * (location + scale * y)
    scale: float = 1.0
    sign: float = 1.0

    @classmethod
    def of(cls, inverse: Inverse, sign: float = 1.0) -> LeaveOneOut:
        """Predictions by the closed form; the sign turns values to be minimised into the user's."""
        model = inverse.model
        diagonal = inverse.diagonal
        mu = model.y - (inverse @ model.y) / diagonal
        return cls(
            y=model.y,
            mu=mu,
            sigma=1.0 / np.sqrt(diagonal),
            location=model.y_mean,
            scale=model.y_scale,
            sign=sign,
        )

    @classmethod
    def of_predictions(
        cls, values: FloatArray, mean: FloatArray, std: FloatArray, sign: float
    ) -> LeaveOneOut:
        """From predictions made before the values were known, in the user's units."""
        standard = standardise(sign * values)
        mu, sigma = (sign * mean - standard.mean) / standard.scale, std / standard.scale
        sigma = np.maximum(sigma, _ROUNDING)
        return cls(
            y=standard.y,
            mu=mu,
            sigma=sigma,
            location=standard.mean,
            scale=standard.scale,
            sign=sign,
        )

    def _in_units(self, standard: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            values = self.sign * (self.location + self.scale * standard)
        largest = np.finfo(float).max
        return np.clip(values, -largest, largest)

    @property
    def observed(self) -> FloatArray:
        """The values of the objective."""
        return self._in_units(self.y)

    @property
    def mean(self) -> FloatArray:
        """Their predictions."""
        return self._in_units(self.mu)

    @property
    def std(self) -> FloatArray:
        """Standard deviations of the predictions."""
        with np.errstate(over="ignore"):
            return np.minimum(self.scale * self.sigma, np.finfo(float).max)

    @property
    def _z(self) -> FloatArray:
        return (self.y - self.mu) / self.sigma

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return self.scale * float(np.sqrt(np.mean((self.mu - self.y) ** 2)))

    @property
    def error(self) -> float:
        """Mean absolute error."""
        return self.scale * float(np.abs(self.mu - self.y).mean())

    @property
    def error_of_the_mean(self) -> float:
        """Mean absolute error of predicting the mean of the observations for every graph."""
        return self.scale * float(np.abs(self.y.mean() - self.y).mean())

    @property
    def beats_the_mean(self) -> bool:
        """True if the squared error is smaller than that of predicting the mean."""
        return float(np.mean((self.mu - self.y) ** 2)) < float(np.var(self.y))

    @property
    def density(self) -> float:
        """Mean log predictive density; larger is better."""
        logs = -np.log(self.sigma) - 0.5 * math.log(2 * math.pi) - 0.5 * self._z**2
        return float(np.mean(logs)) - math.log(self.scale)

    @property
    def inside(self) -> float:
        """Share of the observations inside their 95 % intervals."""
        off = np.abs(self.mu - self.y)
        return float((off <= _INTERVAL * self.sigma + _ROUNDING).mean())

    @property
    def correlation(self) -> float:
        """Correlation of predicted and observed; not a number where one of them is constant."""
        if len(self.mu) < 3 or self.mu.std() < _ROUNDING or self.y.std() < _ROUNDING:
            return float("nan")
        return float(np.corrcoef(self.mu, self.y)[0, 1])

    @property
    def widening(self) -> float:
        """Factor by which errors exceed what the standard deviations promise; at least 1."""
        return max(1.0, float(np.sqrt(np.mean(self._z**2))))

    @property
    def knows_something(self) -> bool:
        """True if predictions are significantly better than the mean.

        They are if their squared error is smaller than that of the mean, and if their correlation
        with the observed values is positive by a one-sided t-test.
        """
        n, r = len(self.mu), self.correlation
        if n < FEWEST or not math.isfinite(r) or not self.beats_the_mean:
            return False
        from scipy.special import stdtr

        if r >= 1.0:
            return True
        return bool(stdtr(n - 2, -r * math.sqrt((n - 2) / (1 - r * r))) < _CHANCE)

    @property
    def too_narrow(self) -> bool:
        """True if too few observations lie inside their 95 % intervals to be due to chance."""
        from scipy.special import bdtr

        n = len(self.mu)
        if n < FEWEST or self.inside >= _HONEST:
            return False
        return bool(bdtr(round(self.inside * n), n, 0.95) < _CHANCE)
