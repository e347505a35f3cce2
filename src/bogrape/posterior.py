r"""The posterior of a Gaussian process over graphs, in two equal forms.

Notation: ``y`` the T standardised observations, ``K = alpha K_G + beta K_F + noise I`` their
covariance, ``z(x)`` the finite feature vector of the linear kernels. If observations have known
noise, ``noise I`` becomes a diagonal matrix; scaling rows restores this form
(`observed_values.evened`).

.. math:: z(x) = (\sqrt\alpha\, D/n^2 \text{ or } \sqrt\alpha\, P/n^2,\; \sqrt{\beta/M}\, N/n).

*Function space* (any kernel):  :math:`\mu = k^\top K^{-1} y`,
:math:`\sigma^2 = k(x,x) - k^\top K^{-1} k`, by Cholesky.

*Weight space* (SSP and SP): with ``Z`` the stacked z and its thin SVD ``Z = U diag(s) V'``,

.. math:: \mu = w^\top z,\quad w = V \tfrac{s}{s^2+\text{noise}} U^\top y, \qquad
          \sigma^2 = \|z - VV^\top z\|^2
                     + \sum_k \tfrac{\text{noise}}{s_k^2+\text{noise}} (V_k^\top z)^2 .

Believed graphs update the decomposition: they add rows to the Cholesky factor in :math:`O(T^2)`
each, or to the triangle of Z in weight space.

Nothing in the second form is larger than one, and its size does not grow with T; with
``noise = 1e-6`` the first has entries near a million (``docs/decisions/002-weight-space.md``).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .arrays import BoolArray, FloatArray
from .counts import Counts, concatenate, count
from .errors import FitError, InvalidInputError
from .graph import Graph
from .kernel_checks import check_variance
from .kernels import (
    Kernel,
    cross_of,
    diagonal_of,
    feature_cross,
    feature_diagonal,
    is_built_in,
    is_linear,
    node_features,
)
from .observed_values import evened

logger = logging.getLogger(__name__)

_JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)


class Posterior(Protocol):
    """A fitted GP, ready to predict from counts, in the objective's own units."""

    @property
    def model(self) -> FittedModel:
        """Hyperparameters and data of the posterior."""

    def mean_std(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (of the noise-free function) of each graph."""

    def standard_mean_std(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation in standardised units, independent of the objective's units."""

    @property
    def norm(self) -> float:
        """Upper bound on the norm of the standardised mean in its Hilbert space (RKHS)."""

    def condensed(self) -> Posterior:
        """The posterior without data that predictions do not need: smaller, for other processes."""

    def believe(self, graphs: Sequence[Graph], *, to_beat: bool = True) -> Posterior:
        """The posterior after observing each graph at its present mean, amplitudes unchanged.

        Means do not change, and deviations shrink; the means count among the values to beat,
        unless ``to_beat`` is false.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedModel:
    """Hyperparameters and data from which a posterior is computed."""

    kernel: Kernel
    alpha: float
    beta: float  # 0 without the feature kernel
    noise: float  # variance that all observations share, in standardised units
    counts: Counts
    y: FloatArray  # standardised
    y_mean: float
    y_scale: float
    n_features: int  # M: number of labels plus further features, as fitted
    to_beat: BoolArray | None = None  # observations that count for `best`; None for all
    smoothed: FloatArray | None = None  # means of the observed graphs, if these count for `best`
    own_noise: FloatArray | None = None  # known variances, which add to `noise`; standardised

    @property
    def variances(self) -> FloatArray:
        """The noise variance of each observation, standardised."""
        shared = np.full(len(self.y), self.noise)
        return shared if self.own_noise is None else shared + self.own_noise

    def covariance(self) -> FloatArray:
        """``K``: covariance of the observations, noise included."""
        return self.cross(self.counts) + np.diag(self.variances)

    @property
    def standard_best(self) -> float:
        """The value to beat, standardised.

        The smallest of the observed values that count or, if there is noise, of the means of
        their graphs: a value that is low by chance could hardly ever be beaten.
        """
        values = self.y if self.smoothed is None else self.smoothed
        if self.to_beat is not None and self.to_beat.any():
            values = values[self.to_beat]
        return float(values.min())

    @property
    def best(self) -> float:
        """The value to beat, in the objective's own units."""
        return self.y_mean + self.y_scale * self.standard_best

    def in_units(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Standardised means and deviations in the objective's own units."""
        with np.errstate(over="ignore"):  # numbers beyond the largest float become infinite
            return self.y_mean + self.y_scale * mean, self.y_scale * std

    def cross(self, counts: Counts) -> FloatArray:
        """``k(x, X_i)`` for each query (rows) and observation (columns)."""
        out = self.alpha * cross_of(self.kernel, counts, self.counts)
        if self.beta:
            # Labels missing in the data are multiplied by zeros, so their columns can be left out.
            known = counts.with_labels(self.counts.n_labels)
            out = out + self.beta * feature_cross(known, self.counts, self.n_features)
        return out

    def diagonal(self, counts: Counts) -> FloatArray:
        """``k(x, x)`` for each query."""
        out = self.alpha * diagonal_of(self.kernel, counts)
        if self.beta:
            out = out + self.beta * feature_diagonal(counts, self.n_features)
        return out


def _believed(posterior: Posterior, graphs: Sequence[Graph], to_beat: bool) -> FittedModel:
    """The model with each graph appended as an observation of its present mean."""
    model = posterior.model
    n_labels = max(model.counts.n_labels, *(int(g.labels.max()) + 1 for g in graphs))
    kernel = model.kernel
    extra = count(graphs, n_labels, pairs=kernel.labelled, edges=kernel.edge_labelled)
    mean, _ = posterior.standard_mean_std(extra)
    counted = model.to_beat
    if counted is None and not to_beat:
        counted = np.ones(len(model.y), dtype=bool)
    return replace(
        model,
        counts=concatenate(model.counts, extra),
        y=np.concatenate([model.y, mean]),
        smoothed=None if model.smoothed is None else np.concatenate([model.smoothed, mean]),
        to_beat=None
        if counted is None
        else np.concatenate([counted, np.full(len(mean), to_beat, dtype=bool)]),
        # M belongs to the fitted model: labels met later must not rescale the feature kernel
        n_features=model.n_features,
        own_noise=None
        if model.own_noise is None
        else np.concatenate([model.own_noise, np.zeros(len(mean))]),
    )


class FunctionPosterior:
    """The posterior by Cholesky of K: any kernel."""

    def __init__(self, model: FittedModel) -> None:
        from scipy.linalg import cho_solve

        self._model = model
        self._factor = cholesky(model.covariance())
        self._weights = cho_solve((self._factor, True), model.y)

    @property
    def weights(self) -> FloatArray:
        """``K^-1 y``: the mean is ``k . weights``."""
        return np.asarray(self._weights)

    @property
    def factor(self) -> FloatArray:
        """The lower Cholesky factor of K, noise (and jitter, if needed) included."""
        return self._factor

    @property
    def model(self) -> FittedModel:
        """Hyperparameters and data."""
        return self._model

    def mean_std(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each graph, in the objective's own units."""
        return self._model.in_units(*self.standard_mean_std(counts))

    def standard_mean_std(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each graph, in standardised units."""
        from scipy.linalg import solve_triangular

        k = self._model.cross(counts)
        v = solve_triangular(self._factor, k.T, lower=True, check_finite=False)
        prior = self._model.diagonal(counts)
        variance = prior - np.einsum("ij,ij->j", v, v)
        if not is_built_in(self._model.kernel):
            check_variance(self._model.kernel, variance, prior)
        # The weights are near 1/noise, so the sum cancels: add up row by row, in an order that does
        # not depend on the number of rows, for a value that does not depend on the batch.
        mean = np.einsum("ij,j->i", k, self._weights)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    @property
    def norm(self) -> float:
        """Upper bound on the norm of the mean: ``a' K a`` with noise, ``a`` the weights."""
        return math.sqrt(max(0.0, float(self._model.y @ self._weights)))

    def condensed(self) -> FunctionPosterior:
        """This posterior itself, since every prediction needs all observations."""
        return self

    def believe(self, graphs: Sequence[Graph], *, to_beat: bool = True) -> FunctionPosterior:
        """The posterior after observing each graph at its present mean."""
        from scipy.linalg import cho_solve, solve_triangular

        model, n = _believed(self, graphs, to_beat), len(self._factor)
        added = np.arange(n, len(model.y))
        rows = model.cross(model.counts.rows(added))
        beside = solve_triangular(self._factor, rows[:, :n].T, lower=True, check_finite=False).T
        below = rows[:, n:] + np.diag(model.variances[added]) - beside @ beside.T
        try:
            below = np.linalg.cholesky(below)
        except np.linalg.LinAlgError:  # rounding: the same graph again, nearly without noise
            return FunctionPosterior(model)
        out = copy(self)
        out._model = model
        out._factor = np.block([[self._factor, np.zeros((n, len(added)))], [beside, below]])
        out._weights = cho_solve((out._factor, True), model.y)
        return out


class WeightPosterior:
    """The posterior as Bayesian linear regression on z: SSP and SP.

    Attributes:
        basis: ``V'``, orthonormal rows spanning the observed z.
        shrink: ``noise / (s^2 + noise)`` for each row: the share of prior variance left there.
        weights: ``w``, over the coordinates of `features`.
    """

    def __init__(self, model: FittedModel) -> None:
        if not is_linear(model.kernel):
            raise InvalidInputError(
                f"kernel {model.kernel.name!r} has no finite feature vector; "
                "weight space exists for ssp and sp"
            )
        self._model = model
        self._kernel = model.kernel
        self.path_shape: tuple[int, ...] = self._kernel.features(model.counts).shape[1:]
        noise, factors = evened(model.variances)
        self._noise = noise
        self._solve(self.features(model.counts) * factors[:, None], model.y * factors)

    def _solve(self, z: FloatArray, y: FloatArray) -> None:
        """Basis, shrinkage and weights, from rows that all have the same noise."""
        if len(z) > z.shape[1]:  # many observations: only their inner products matter
            triangle = triangular_factor(z, y)
            z, y = triangle[:-1, :-1], triangle[:-1, -1]
        self._rows, noise = (z, y), self._noise
        u, s, vt = np.linalg.svd(z, full_matrices=False)
        keep = s > s[0] * 1e-12 if s[0] > 0 else np.zeros(len(s), dtype=bool)
        u, s, vt = u[:, keep], s[keep], vt[keep]
        self.basis: FloatArray = vt
        self.shrink: FloatArray = noise / (s**2 + noise)
        self.weights: FloatArray = vt.T @ (s / (s**2 + noise) * (u.T @ y))

    @property
    def model(self) -> FittedModel:
        """Hyperparameters and data."""
        return self._model

    def features(self, counts: Counts) -> FloatArray:
        """Coordinates of z that occur in the data: path part flattened, then node features."""
        paths = self._kernel.features(counts)
        fitted = np.zeros((len(counts), *self.path_shape))
        known = zip(paths.shape[1:], self.path_shape, strict=True)
        common = tuple(slice(min(a, b)) for a, b in known)
        fitted[(slice(None), *common)] = paths[(slice(None), *common)]
        z = math.sqrt(self._model.alpha) * fitted.reshape(len(counts), -1)
        if not self._model.beta:
            return z
        nodes = node_features(
            counts.with_labels(self._model.counts.n_labels), self._model.n_features
        )
        return np.concatenate([z, math.sqrt(self._model.beta) * nodes], axis=1)

    def mean_std(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each graph, in the objective's own units."""
        return self._model.in_units(*self.standard_mean_std(counts))

    def standard_mean_std(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each graph, in standardised units."""
        z = self.features(counts)
        along = z @ self.basis.T
        beyond = z - along @ self.basis
        # Coordinates no observation has (longer paths, unseen labels) keep their prior variance.
        unseen = self._model.diagonal(counts) - np.einsum("ij,ij->i", z, z)
        variance = (
            np.einsum("ij,ij->i", beyond, beyond)
            + (along**2) @ self.shrink
            + np.where(unseen > 1e-14, unseen, 0.0)
        )
        return z @ self.weights, np.sqrt(np.maximum(variance, 0.0))

    @property
    def norm(self) -> float:
        """The norm of the mean: that of its weights."""
        return float(np.linalg.norm(self.weights))

    def condensed(self) -> WeightPosterior:
        """The weights and their covariance, without the observed graphs; nothing can be added."""
        out = copy(self)
        out._model = replace(self._model, counts=self._model.counts.emptied())
        out._rows = (np.zeros((0, 0)), np.zeros(0))
        return out

    def believe(self, graphs: Sequence[Graph], *, to_beat: bool = True) -> WeightPosterior:
        """The posterior after observing each graph at its present mean."""
        model, n = _believed(self, graphs, to_beat), len(self._model.y)
        if model.counts.n_labels > self._model.counts.n_labels:
            return WeightPosterior(model)  # new coordinates of several kinds: start again
        added = model.counts.rows(np.arange(n, len(model.y)))
        out = copy(self)
        out._model = model
        longest = zip(self.path_shape, self._kernel.features(added).shape[1:], strict=True)
        out.path_shape = tuple(max(pair) for pair in longest)
        factors = np.sqrt(self._noise / model.variances[n:])
        z, y = self._rows
        z = np.concatenate(
            [self._widened(z, out.path_shape), out.features(added) * factors[:, None]]
        )
        out._solve(z, np.concatenate([y, model.y[n:] * factors]))
        return out

    def _widened(self, z: FloatArray, path_shape: tuple[int, ...]) -> FloatArray:
        """Rows padded with zeros for longer paths."""
        n_paths = math.prod(self.path_shape)
        paths = np.zeros((len(z), *path_shape))
        here = tuple(slice(size) for size in self.path_shape)
        paths[(slice(None), *here)] = z[:, :n_paths].reshape(len(z), *self.path_shape)
        return np.concatenate([paths.reshape(len(z), -1), z[:, n_paths:]], axis=1)


def posterior_of(model: FittedModel) -> Posterior:
    """The posterior in weight space if possible, else in function space."""
    return WeightPosterior(model) if is_linear(model.kernel) else FunctionPosterior(model)


def triangular_factor(*columns: FloatArray) -> FloatArray:
    """``R`` with ``(columns) = Q R`` and orthonormal Q; it has the same inner products."""
    factor = np.linalg.qr(np.column_stack(columns), mode="r")
    return np.asarray(factor, dtype=np.float64)


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower Cholesky factor; jitter (a share of the diagonal) is added, and logged, if needed."""
    scale = float(np.mean(np.diag(matrix)))
    for jitter in _JITTERS:
        try:
            factor = np.linalg.cholesky(matrix + jitter * scale * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            continue
        if jitter:
            logger.debug("covariance needed a jitter of %.0e of its mean variance", jitter)
        return np.asarray(factor, dtype=np.float64)
    raise FitError(
        "the covariance of the observations is not positive definite even with jitter "
        f"{_JITTERS[-1]:.0e}; raise noise (now part of the diagonal, mean {scale:.3g})"
    )
