r"""`GramGP`: a Gaussian process on base Gram matrices, with amplitudes of maximal likelihood.

.. math:: K = \alpha K_G + \beta K_F + \sigma^2 I

The paper's training: :math:`\alpha, \beta \in [0.01, 100]`, noise :math:`10^{-6}` on standardised
values, maximal log marginal likelihood. L-BFGS-B starts from 1 as in the paper, and also from the
two best points of a coarse grid, so that no kernel suffers from a bad start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bogrape.arrays import FloatArray
from bogrape.errors import FitError, InvalidInputError
from bogrape.joint_fitting import log_likelihood
from bogrape.posterior import cholesky

BOUNDS = (1e-2, 1e2)
NOISE = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class GramGP:
    """Posterior given base Gram matrices and values; build it with `fit`.

    Attributes:
        amplitudes: one per base kernel.
        factor: lower Cholesky factor of K.
        weights: ``K^-1 y`` of the standardised values.
        mean, scale: of the values.
        log_likelihood: of the standardised values, at the amplitudes.
        noise: variance, of the standardised values.
    """

    amplitudes: FloatArray
    factor: FloatArray
    weights: FloatArray
    mean: float
    scale: float
    log_likelihood: float
    noise: float

    @classmethod
    def fit(cls, grams: Sequence[FloatArray], y: ArrayLike, noise: float = NOISE) -> GramGP:
        """Amplitudes of maximal likelihood for ``K = sum_i a_i grams[i] + noise I``."""
        from scipy.linalg import cho_solve

        values = np.asarray(y, dtype=float)
        if values.ndim != 1 or len(values) < 2 or any(g.shape != (len(values),) * 2 for g in grams):
            raise InvalidInputError(
                f"expected square Gram matrices as large as the number of values, at least 2, got "
                f"{[g.shape for g in grams]} and values of shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise InvalidInputError("expected finite values; leave failed evaluations out")
        mean, scale = float(values.mean()), float(values.std())
        if scale <= 1e-12 * abs(mean):
            scale = 1.0  # all equal: nothing to scale
        standard = (values - mean) / scale
        constant = noise * np.eye(len(values))
        theta, likelihood = _maximise(list(grams), constant, standard)
        amplitudes = np.exp(theta)
        K = constant + sum(a * gram for a, gram in zip(amplitudes, grams, strict=True))
        factor = cholesky(K)
        weights = cho_solve((factor, True), standard)
        return cls(
            amplitudes=amplitudes,
            factor=factor,
            weights=weights,
            mean=mean,
            scale=scale,
            log_likelihood=likelihood,
            noise=noise,
        )

    def mean_std(
        self, crosses: Sequence[FloatArray], diagonals: Sequence[FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the function itself (no noise), in units of the values.

        Args:
            crosses: for each base kernel, queries (rows) against observations (columns).
            diagonals: for each base kernel, each query with itself.
        """
        from scipy.linalg import solve_triangular

        K_xX = sum(a * cross for a, cross in zip(self.amplitudes, crosses, strict=True))
        k_xx = sum(a * own for a, own in zip(self.amplitudes, diagonals, strict=True))
        half = solve_triangular(self.factor, np.asarray(K_xX).T, lower=True)
        variance = np.maximum(k_xx - np.einsum("ij,ij->j", half, half), 0.0)
        mean = self.mean + self.scale * (K_xX @ self.weights)
        return np.asarray(mean), np.asarray(self.scale * np.sqrt(variance))


def _maximise(
    grams: list[FloatArray], constant: FloatArray, y: FloatArray
) -> tuple[FloatArray, float]:
    from scipy.optimize import minimize

    low, high = np.log(BOUNDS)
    bounds = [(low, high)] * len(grams)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = log_likelihood(theta, grams, constant, y)
        return -value, -gradient

    axes = [np.linspace(low, high, 5)] * len(grams)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(grams))
    order = np.argsort([loss(point)[0] for point in grid])
    best, lowest = np.zeros(len(grams)), math.inf
    for start in (np.zeros(len(grams)), *grid[order[:2]]):
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        if found.fun < lowest:
            best, lowest = np.clip(found.x, low, high), float(found.fun)
    if not math.isfinite(lowest):
        raise FitError("no amplitudes give a finite likelihood; check the Gram matrices and values")
    return best, -lowest
