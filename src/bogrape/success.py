r"""Probability that a graph can be evaluated: a classifier over the counts the model uses.

A latent function :math:`f = m + g`, with g a Gaussian process with the study's kernel, decides by
:math:`P(\text{success}) = 1 / (1 + e^{-f})`. Its posterior is approximated by a Gaussian at the
mode (Laplace; Rasmussen and Williams, 2006, section 3.4). With W the curvatures
:math:`\pi_i (1 - \pi_i)` of the likelihood at the mode :math:`\hat f`, and :math:`\nabla_i` its
slopes, that Gaussian is the posterior of a regression on :math:`\hat f + W^{-1}\nabla` with noise
:math:`W^{-1}`: every part of the package that accepts a posterior accepts this one. The probability
of a graph is

.. math:: P = \frac{1}{1 + \exp(-\mu / \sqrt{1 + \pi\sigma^2 / 8})}

(MacKay, 1992). The amplitude of g, the mean m and hyperparameters of the kernel's own have the
largest product of Laplace's evidence and a prior. A regression on the outcomes as numbers gives the
starting point, and fixes hyperparameters of kernels without gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from .arrays import BoolArray, FloatArray
from .counts import Counts, count
from .errors import InvalidInputError
from .gp import GraphGP
from .graph import Graph
from .joint_fitting import MOST_FITTED
from .kernel_checks import checked_gradients
from .kernels import Kernel, LogNormal
from .laplace import Mode
from .posterior import FittedModel, Posterior, posterior_of
from .subset import representative

_DEVIATION = (math.log(3.0), 1.0)  # log of the deviation of f: mean and deviation of its prior
_MEAN = (0.0, 1.5)  # of f
_RANGES = ((math.log(0.2), math.log(30.0)), (-6.0, 6.0))
_CALIBRATION = np.array([1.5, 1.0])  # deviations of the priors of shift and slope
_CALIBRATED = ((-5.0, 2.0), (0.5, 4.0))
_MOST_ODDS = 20.0
_FLAT = LogNormal(0.0, math.inf)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SuccessModel:
    """The probability that an evaluation succeeds, learnt from successes and failures.

    Attributes:
        posterior: posterior of the latent function, positive if success is more probable.
        n_succeeded, n_failed: numbers of outcomes it was fitted to.
        shift, slope: recalibration of the log odds, see `recalibrated`.
    """

    posterior: Posterior
    n_succeeded: int
    n_failed: int
    shift: float = 0.0
    slope: float = 1.0

    @classmethod
    def fit(
        cls, graphs: Sequence[Graph], succeeded: ArrayLike, model: GraphGP | None = None
    ) -> SuccessModel:
        """Fit a model to these outcomes, which must be of both kinds.

        Args:
            graphs: the graphs that were evaluated.
            succeeded: whether each evaluation gave a value.
            model: an unfitted `GraphGP` with the kernel to take; by default ``"rbf"``.
        """
        outcomes = _checked(graphs, succeeded)
        regression = GraphGP("rbf", noise="fit", restarts=2) if model is None else model
        regression.fit(graphs, np.where(outcomes, 1.0, -1.0))
        outcomes = outcomes[regression.used]
        start = regression.posterior.model
        some = representative(start.counts, np.where(outcomes, 0.0, 1.0), MOST_FITTED)
        with threadpool_limits(1):
            few = replace(start, counts=start.counts.rows(some))
            kernel, log_deviation, mean = _fitted(few, outcomes[some])
            latent = scaled(replace(start, kernel=kernel), math.exp(2.0 * log_deviation))
            mode = Mode.of(latent.cross(latent.counts), outcomes, mean)
            posterior = posterior_of(as_regression(latent, mode, mean))
        n_succeeded = int(outcomes.sum())
        n_failed = len(outcomes) - n_succeeded
        return cls(posterior=posterior, n_succeeded=n_succeeded, n_failed=n_failed)

    @property
    def labelled(self) -> bool:
        """True if it needs the labels at the ends of paths."""
        return self.posterior.model.kernel.labelled

    @property
    def edge_labelled(self) -> bool:
        """True if it needs the labels of edges."""
        return self.posterior.model.kernel.edge_labelled

    def recalibrated(self, odds: ArrayLike, succeeded: ArrayLike) -> SuccessModel:
        """The model with its log odds ``z`` replaced by ``shift + slope * z``.

        Platt scaling (1999) with priors around the identity, fitted to the outcomes of graphs whose
        log odds had been predicted. Proposals are chosen for high predictions, so their
        probability of success is often overestimated.
        """
        from scipy.optimize import minimize

        z, good = np.asarray(odds, dtype=float), np.asarray(succeeded, dtype=bool)
        sign = np.where(good, 1.0, -1.0)
        z = np.clip(z, -_MOST_ODDS, _MOST_ODDS)

        def loss(theta: FloatArray) -> float:
            off = (theta - np.array([0.0, 1.0])) / _CALIBRATION
            fit = np.logaddexp(0.0, -sign * (theta[0] + theta[1] * z)).sum()
            return float(fit + 0.5 * off @ off)

        found = minimize(loss, np.array([0.0, 1.0]), method="L-BFGS-B", bounds=_CALIBRATED)
        return replace(self, shift=float(found.x[0]), slope=float(found.x[1]))

    def log_odds(self, counts: Counts) -> FloatArray:
        """Log odds of success, before they are recalibrated."""
        return log_odds(*self.posterior.mean_std(counts))

    def log_probability(self, counts: Counts) -> FloatArray:
        """Logarithm of the probability that each graph can be evaluated."""
        return log_logistic(self.shift + self.slope * self.log_odds(counts))

    def probability(self, graphs: Sequence[Graph]) -> FloatArray:
        """The probability that each graph can be evaluated."""
        with threadpool_limits(1):
            return np.asarray(np.exp(self.log_probability(self.counts(graphs))))

    def counts(self, graphs: Sequence[Graph]) -> Counts:
        """The counts of graphs that the model uses."""
        return count(graphs, None, pairs=self.labelled, edges=self.edge_labelled)


def log_odds(mean: FloatArray, std: FloatArray) -> FloatArray:
    """Log odds of the mean of ``1 / (1 + exp(-f))`` for Gaussian f, by MacKay's approximation."""
    return np.asarray(mean / np.sqrt(1.0 + math.pi / 8.0 * std**2))


def log_logistic(odds: FloatArray) -> FloatArray:
    """Logarithm of ``1 / (1 + exp(-odds))``."""
    with np.errstate(under="ignore"):
        return np.asarray(-np.logaddexp(0.0, -odds))


def _fitted(start: FittedModel, outcomes: BoolArray) -> tuple[Kernel, float, float]:
    """The kernel, the log of the deviation of f and its mean, of largest posterior density."""
    from scipy.optimize import minimize

    # its amplitudes are those of the regression up to a factor, which the deviation stands for
    gradients = checked_gradients(start.kernel, start.counts)
    own = [] if gradients is None else list(start.kernel.hyperparameters())
    ranges = [*_RANGES, *(np.log(start.kernel.hyperparameters()[name]) for name in own)]
    usual = start.kernel.priors()
    priors = [LogNormal(*_DEVIATION), LogNormal(*_MEAN), *(usual.get(n, _FLAT) for n in own)]
    centre = np.array([prior.mean for prior in priors])
    weight = np.array([prior.deviation**-2 for prior in priors])

    def model_at(theta: FloatArray) -> FittedModel:
        values = dict(zip(own, np.exp(theta[2:]).tolist(), strict=True))
        kernel = start.kernel.with_hyperparameters(values) if own else start.kernel
        return scaled(replace(start, kernel=kernel), math.exp(2.0 * theta[0]))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        model = model_at(theta)
        covariance = model.cross(model.counts)
        mode = Mode.of(covariance, outcomes, float(theta[1]))
        by = [2.0 * covariance]
        if own:
            known = checked_gradients(model.kernel, model.counts)
            assert known is not None
            by += [model.alpha * known[name] for name in own]
        slopes, by_mean = mode.evidence_slopes(covariance, by, outcomes)
        off = theta - centre
        slope = weight * off - np.array([slopes[0], by_mean, *slopes[1:]])
        return float(0.5 * (weight * off) @ off) - mode.log_evidence, slope

    share = (outcomes.sum() + 0.5) / (len(outcomes) + 1.0)
    present = [math.log(getattr(start.kernel, name)) for name in own]
    begin = np.array([_DEVIATION[0], math.log(share / (1.0 - share)), *present])
    found = minimize(
        loss, begin, jac=True, method="L-BFGS-B", bounds=ranges, options={"maxiter": 40}
    )
    kernel = model_at(found.x).kernel
    return kernel, float(found.x[0]), float(found.x[1])


def scaled(model: FittedModel, variance: float) -> FittedModel:
    """The model with amplitudes scaled to a given mean prior variance at the observations."""
    factor = variance / float(np.mean(model.diagonal(model.counts)))
    return replace(model, alpha=factor * model.alpha, beta=factor * model.beta)


def as_regression(latent: FittedModel, mode: Mode, mean: float) -> FittedModel:
    """The Gaussian at the mode, as the regression that Newton's method ends with."""
    return replace(
        latent,
        noise=0.0,
        y=mode.above + mode.slopes / mode.curvatures,
        y_mean=mean,
        y_scale=1.0,
        to_beat=None,
        smoothed=None,
        own_noise=1.0 / mode.curvatures,
    )


def _checked(graphs: Sequence[Graph], succeeded: ArrayLike) -> BoolArray:
    outcomes = np.asarray(succeeded)
    if outcomes.shape != (len(graphs),) or outcomes.dtype != np.bool_:
        raise InvalidInputError(
            f"expected True or False for each of {len(graphs)} graphs, got an array of shape "
            f"{outcomes.shape} of {outcomes.dtype}"
        )
    if outcomes.all() or not outcomes.any():
        raise InvalidInputError(
            "expected evaluations that succeeded and some that failed, got only "
            f"{'successes' if outcomes.all() else 'failures'}; there is nothing to tell apart yet"
        )
    return outcomes
