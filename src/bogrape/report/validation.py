r"""How well a Gaussian process predicts graphs it has not seen, and which settings do better.

Leave-one-out predictions at fixed hyperparameters have a closed form (Rasmussen and Williams, 2006,
eqs. 5.10 to 5.12). With ``K`` the covariance of the observations ``y``, noise included,

.. math:: \mu_i = y_i - [K^{-1}y]_i / [K^{-1}]_{ii}, \qquad \sigma_i^2 = 1/[K^{-1}]_{ii},
          \qquad \log p_i = -\tfrac12\log(2\pi\sigma_i^2) - (y_i-\mu_i)^2 / 2\sigma_i^2 .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from threadpoolctl import threadpool_limits

from ..arrays import FloatArray
from ..errors import BoGrapeError
from ..graph import Graph
from ..kernels import KERNELS, Kernel, get_kernel, is_published
from ..observed_values import evened, standardise
from ..posterior import FittedModel
from ..study import StudySettings

_INTERVAL = 1.96  # standard deviations on either side that hold 95 % of a normal distribution
_CHANCE = 0.01  # how often luck alone may look like knowledge, or like bad calibration
_HONEST = 0.85  # share inside the 95 % intervals below which they are called too narrow
_ALIKE = 0.05  # mean log densities that differ by less are taken for equally good
_ROUNDING = 1e-12  # in standardised units
_FEWEST = 5  # observations below which nothing is said


@final
class Inverse:
    """The inverse covariance of the observations of a fitted model, noise included."""

    def __init__(self, model: FittedModel) -> None:
        noise, factors = evened(model.variances)
        with threadpool_limits(1):
            scaled = model.cross(model.counts) * np.outer(factors, factors)
            values, vectors = np.linalg.eigh(scaled)
        self._vectors = factors[:, None] * vectors
        self._inverse = 1.0 / (np.maximum(values, 0.0) + noise)
        self.model = model

    @property
    def diagonal(self) -> FloatArray:
        """``[K^-1]_ii``."""
        return np.asarray(self._vectors**2 @ self._inverse)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        """``K^-1`` times a vector."""
        return np.asarray(self._vectors @ (self._inverse * (self._vectors.T @ right)))


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut:
    """Each observation as predicted from all others, noise included.

    Kept in standardised units, in which nothing overflows; ``observed``, ``mean``, ``std`` and the
    errors are in the user's. An observation that the model sees clipped appears so here too.
    """

    y: FloatArray
    mu: FloatArray
    sigma: FloatArray
    location: float = 0.0  # the user's value is sign * (location + scale * y)
    scale: float = 1.0
    sign: float = 1.0

    @classmethod
    def of(cls, inverse: Inverse, sign: float = 1.0) -> LeaveOneOut:
        """The closed form; the sign turns values to be minimised into the user's."""
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
        """From predictions that were made before the values were known, in the user's units."""
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
        """Whether the squared error is smaller than that of predicting the mean."""
        return float(np.mean((self.mu - self.y) ** 2)) < float(np.var(self.y))

    @property
    def density(self) -> float:
        """Mean log predictive density; the larger the better."""
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
        """Whether predictions beat the mean, by more than chance explains.

        They do if their squared error is smaller than that of the mean, and if their correlation
        with the observed values is positive by a one-sided t-test.
        """
        n, r = len(self.mu), self.correlation
        if n < _FEWEST or not math.isfinite(r) or not self.beats_the_mean:
            return False
        from scipy.special import stdtr

        if r >= 1.0:
            return True
        return bool(stdtr(n - 2, -r * math.sqrt((n - 2) / (1 - r * r))) < _CHANCE)

    @property
    def too_narrow(self) -> bool:
        """Whether fewer observations lie inside their 95 % intervals than chance explains."""
        from scipy.special import bdtr

        n = len(self.mu)
        if n < _FEWEST or self.inside >= _HONEST:
            return False
        return bool(bdtr(round(self.inside * n), n, 0.95) < _CHANCE)


@dataclass(frozen=True)
class Score:
    """Settings of a Gaussian process, and how it predicts left-out observations with them."""

    kernel: str  # its name
    noise: float | Literal["fit"]
    left_out: LeaveOneOut
    present: bool  # whether these are the settings of the study


def scores(
    graphs: Sequence[Graph],
    y: FloatArray,
    settings: StudySettings,
    known_noise: Sequence[float] | None = None,
) -> list[Score]:
    """The present settings first, then fitted noise and the other kernels."""
    present, noise = get_kernel(settings.kernel), settings.noise
    others: list[Kernel] = list(KERNELS.values())
    if settings.space.n_labels == 1:  # SP is SSP then, and ESP is ESSP
        labelled = is_published(present) and present.labelled
        others = [kernel for kernel in others if kernel.labelled == labelled]
    others = [kernel for kernel in (*others, get_kernel("rbf")) if kernel != present]
    out = []
    for kernel in (present, *others):
        for chosen in dict.fromkeys((noise, "fit")):
            gp = settings.new_model(
                kernel=kernel,
                noise=chosen,
                alpha=settings.alpha if kernel is present else None,  # it belongs to one kernel
                beta=None if kernel.includes_features else settings.beta,
                restarts=min(3, settings.restarts),
                most_observations=None,
            )
            try:
                gp.fit(graphs, y, noise=known_noise)
            except BoGrapeError:  # these settings do not work for these data
                continue
            found = LeaveOneOut.of(Inverse(gp.posterior.model), settings.sign)
            is_present = kernel is present and chosen == noise
            out.append(Score(kernel.name, chosen, found, is_present))
    return out


def best_remedy(found: Sequence[Score]) -> Score | None:
    """The settings to be recommended instead of the present ones, if there are any.

    Only settings with honest intervals count; among them those that know something, where there
    are any; among these the largest predictive density, and where several come close to it, the
    one with the present kernel.
    """
    honest = [score for score in found if not score.left_out.too_narrow]
    pool = [score for score in honest if score.left_out.knows_something] or honest
    if not pool:
        return None
    top = max(score.left_out.density for score in pool)
    close = [score for score in pool if score.left_out.density > top - _ALIKE]
    kernel = next((score.kernel for score in found if score.present), None)
    best = max(
        close, key=lambda score: (score.present, score.kernel == kernel, score.left_out.density)
    )
    return None if best.present else best
