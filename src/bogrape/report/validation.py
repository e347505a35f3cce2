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
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..errors import BoGrapeError
from ..gp import GraphGP
from ..graph import Graph
from ..kernels import KERNELS, KernelName
from ..posterior import FittedModel

FloatArray = NDArray[np.float64]

_INTERVAL = 1.96  # standard deviations on either side that hold 95 % of a normal distribution
_CHANCE = 0.01  # how often luck alone may look like knowledge, or like bad calibration
_HONEST = 0.85  # share inside the 95 % intervals below which they are called too narrow
_ALIKE = 0.05  # mean log densities that differ by less are taken for equally good
_FEWEST = 5  # observations below which nothing is said


@final
class Inverse:
    """The inverse covariance of the observations of a fitted model, noise included."""

    def __init__(self, model: FittedModel) -> None:
        with threadpool_limits(1):
            values, self._vectors = np.linalg.eigh(model.cross(model.counts))
        self._inverse = 1.0 / (np.maximum(values, 0.0) + model.noise)
        self.model = model

    @property
    def diagonal(self) -> FloatArray:
        """``[K^-1]_ii``."""
        return np.asarray(self._vectors**2 @ self._inverse)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        """``K^-1`` times a vector."""
        return np.asarray(self._vectors @ (self._inverse * (self._vectors.T @ right)))


@dataclass(frozen=True)
class LeaveOneOut:
    """Each observation as predicted from all others, in the user's units, noise included."""

    observed: FloatArray
    mean: FloatArray
    std: FloatArray

    @classmethod
    def of(cls, inverse: Inverse, sign: float = 1.0) -> LeaveOneOut:
        """The closed form, times the sign that turns values to be minimised into the user's."""
        model = inverse.model
        diagonal = inverse.diagonal
        mean = model.y - (inverse @ model.y) / diagonal
        return cls(
            sign * (model.y_mean + model.y_scale * model.y),
            sign * (model.y_mean + model.y_scale * mean),
            model.y_scale / np.sqrt(diagonal),
        )

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.mean((self.mean - self.observed) ** 2)))

    @property
    def error(self) -> float:
        """Mean absolute error."""
        return float(np.abs(self.mean - self.observed).mean())

    @property
    def error_of_the_mean(self) -> float:
        """Mean absolute error of predicting the mean of the observations for every graph."""
        return float(np.abs(self.observed.mean() - self.observed).mean())

    @property
    def density(self) -> float:
        """Mean log predictive density; the larger the better."""
        z = (self.observed - self.mean) / self.std
        return float(np.mean(-0.5 * np.log(2 * np.pi * self.std**2) - 0.5 * z**2))

    @property
    def inside(self) -> float:
        """Share of the observations inside their 95 % intervals."""
        off = np.abs(self.mean - self.observed)
        return float((off <= _INTERVAL * self.std + 1e-12 * np.abs(self.observed)).mean())

    @property
    def correlation(self) -> float:
        """Correlation of predicted and observed; not a number where one of them is constant."""
        if len(self.mean) < 3 or _constant(self.mean) or _constant(self.observed):
            return float("nan")
        return float(np.corrcoef(self.mean, self.observed)[0, 1])

    @property
    def widening(self) -> float:
        """Factor by which errors exceed what the standard deviations promise; at least 1."""
        z = (self.observed - self.mean) / self.std
        return max(1.0, float(np.sqrt(np.mean(z**2))))

    @property
    def knows_something(self) -> bool:
        """Whether predictions beat the mean, by more than chance explains.

        They do if their squared error is smaller than that of the mean, and if their correlation
        with the observed values is positive by a one-sided t-test.
        """
        n, r = len(self.mean), self.correlation
        if n < _FEWEST or not math.isfinite(r):
            return False
        if self.rmse >= float(self.observed.std()):
            return False
        from scipy.special import stdtr

        if r >= 1.0:
            return True
        return bool(stdtr(n - 2, -r * math.sqrt((n - 2) / (1 - r * r))) < _CHANCE)

    @property
    def too_narrow(self) -> bool:
        """Whether fewer observations lie inside their 95 % intervals than chance explains."""
        from scipy.special import bdtr

        n = len(self.mean)
        if n < _FEWEST or self.inside >= _HONEST:
            return False
        return bool(bdtr(round(self.inside * n), n, 0.95) < _CHANCE)


def _constant(values: FloatArray) -> bool:
    return float(values.std()) <= 1e-12 * max(float(np.abs(values).max()), 1e-300)


@dataclass(frozen=True)
class Score:
    """Settings of a Gaussian process, and how it predicts left-out observations with them."""

    kernel: KernelName
    noise: float | Literal["fit"]
    left_out: LeaveOneOut
    present: bool  # whether these are the settings of the study


def scores(
    graphs: Sequence[Graph],
    y: FloatArray,
    *,
    kernel: KernelName,
    noise: float | Literal["fit"],
    n_labels: int,
    seed: int,
    sign: float,
) -> list[Score]:
    """The present settings first, then fitted noise and the other kernels."""
    names: list[KernelName] = [kernel, *(name for name in KERNELS if name != kernel)]
    if n_labels == 1:  # kernels with and without labels are the same then
        names = [k for k in names if k == kernel or KERNELS[k].labelled == KERNELS[kernel].labelled]
    out = []
    for name in names:
        for chosen in dict.fromkeys((noise, "fit")):
            gp = GraphGP(name, chosen, n_labels=n_labels, seed=seed, restarts=3)
            try:
                gp.fit(graphs, y)
            except BoGrapeError:  # these settings do not work for these data
                continue
            found = LeaveOneOut.of(Inverse(gp.posterior.model), sign)
            present = (name, chosen) == (kernel, noise)
            out.append(Score(name, chosen, found, present))
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
