r"""The marginal likelihood of a Gaussian process over graphs, at many amplitudes for one price.

The covariance of the T observations is ``K = alpha K_G + beta Z_F Z_F' + noise I``: the kernel of
the graphs, which is expensive, and few node features. `Spectrum` finds an orthonormal basis Q in
which ``K_G`` is diagonal, once, on the cheaper side:

* *weight space*, for kernels that are inner products of d < T numbers: by an orthogonal reduction
  of the rows ``(z_G, z_F, y)``, in O(T d^2). Directions beyond them see nothing but noise.
* *function space* otherwise: by the eigenvectors of ``K_G``, in O(T^3).

Every evaluation then costs about as much as a regression on the node features. With ``b = alpha
lambda + noise`` the diagonal of ``B = alpha K_G + noise I``, ``W = sqrt(beta) B^{-1/2} Z_F`` and
its thin singular value decomposition ``W = P diag(s) O'``,

.. math:: K = B^{1/2} (I + W W^\top) B^{1/2}, \qquad
    (I + W W^\top)^{-1} = I - P\, \tfrac{s^2}{1+s^2} P^\top .

No inverse is formed and nothing is squared that rounding could spoil.

Observations with noise of their own are multiplied by factors that make all noise equal
(`noise.evened`). These depend on ``noise``, so then it must be given and cannot be fitted here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .kernel_checks import checked_cross
from .kernels import GraphKernel, Kernel, is_linear, node_features
from .posterior import cholesky, triangular_factor


@dataclass(frozen=True, eq=False, kw_only=True)
class Spectrum:
    """Observations in a basis Q that makes the kernel of the graphs diagonal.

    Build it with `Spectrum.of`. What lies outside the span of Q is the same for every amplitude:
    so many directions in which there is only noise, and the length of ``y`` there.
    """

    eigenvalues: FloatArray  # (r,): the diagonal of Q' K_G Q
    nodes: FloatArray  # (r, M): Q' Z_F
    y: FloatArray  # (r,): Q' y
    beyond: float  # |y - Q Q' y|^2
    n_observations: int  # T
    log_factors: float = 0.0  # sum of the logarithms of the factors of observations

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        counts: Counts,
        y: FloatArray,
        *,
        feature_kernel: bool = True,
        factors: FloatArray | None = None,
    ) -> Spectrum:
        """The spectrum of standardised observations; without ``feature_kernel``, Z_F is empty.

        With ``factors``, each observation is multiplied by its own; the likelihood is still that of
        the observations as they are.
        """
        rows = np.ones(len(y)) if factors is None else factors
        n_nodes = counts.features.shape[1]
        nodes = node_features(counts, n_nodes) if feature_kernel else np.zeros((len(y), 0))
        nodes, y, log_factors = nodes * rows[:, None], y * rows, float(np.log(rows).sum())
        paths = _different_columns(kernel, counts) if is_linear(kernel) else None
        if paths is not None and paths.shape[1] + nodes.shape[1] < len(y):
            return cls._in_weight_space(paths * rows[:, None], nodes, y, log_factors)
        gram = checked_cross(kernel, counts, counts) * np.outer(rows, rows)
        eigenvalues, basis = np.linalg.eigh(gram)
        # K_G has no negative eigenvalues: what there is of them is rounding
        return cls(
            eigenvalues=np.maximum(eigenvalues, 0.0),
            nodes=basis.T @ nodes,
            y=basis.T @ y,
            beyond=0.0,
            n_observations=len(y),
            log_factors=log_factors,
        )

    @classmethod
    def _in_weight_space(
        cls, paths: FloatArray, nodes: FloatArray, y: FloatArray, log_factors: float
    ) -> Spectrum:
        n_paths, n = paths.shape[1], paths.shape[1] + nodes.shape[1]
        triangle = triangular_factor(paths, nodes, y)
        left, singular, _ = np.linalg.svd(triangle[:n, :n_paths])
        eigenvalues = np.zeros(n)
        eigenvalues[:n_paths] = singular**2
        return cls(
            eigenvalues=eigenvalues,
            nodes=left.T @ triangle[:n, n_paths:n],
            y=left.T @ triangle[:n, n],
            beyond=float(triangle[n, n] ** 2),
            n_observations=len(y),
            log_factors=log_factors,
        )

    def log_likelihood(self, alpha: float, beta: float, noise: float) -> tuple[float, FloatArray]:
        r"""The log marginal likelihood, and its derivatives by the logarithms of all three.

        .. math:: L = -\tfrac12 y^\top K^{-1} y - \tfrac12 \log|K| - \tfrac T2 \log 2\pi,\quad
            \partial_i L = \tfrac12 \mathrm{tr}((a a^\top - K^{-1})\, K_i),\; a = K^{-1}y
        """
        n_beyond = self.n_observations - len(self.y)
        of_graphs = alpha * self.eigenvalues
        b = of_graphs + noise
        t = self.y / np.sqrt(b)  # B^{-1/2} y
        w = math.sqrt(beta) * self.nodes / np.sqrt(b)[:, None]
        p, s, _ = np.linalg.svd(w, full_matrices=False)
        along, shrink = p.T @ t, s**2 / (1.0 + s**2)
        # t' (I + W W')^{-1} t, as a sum of squares
        across = t - p @ along
        square = float(across @ across) + float(along**2 @ (1.0 / (1.0 + s**2)))
        fit = square + self.beyond / noise
        log_det = np.log(b).sum() + np.log1p(s**2).sum() + n_beyond * math.log(noise)
        value = -0.5 * (fit + log_det + self.n_observations * math.log(2.0 * math.pi))
        value += self.log_factors

        a = (t - p @ (shrink * along)) / np.sqrt(b)
        inverse = (1.0 - p**2 @ shrink) / b  # the diagonal of K^{-1} within Q
        by_alpha = of_graphs @ a**2 - of_graphs @ inverse
        by_beta = ((s / (1.0 + s**2)) ** 2) @ along**2 - shrink.sum()
        by_noise = noise * (a @ a - inverse.sum()) + self.beyond / noise - n_beyond
        return float(value), 0.5 * np.array([by_alpha, by_beta, by_noise])


def log_likelihood(
    theta: FloatArray, matrices: list[FloatArray], constant: FloatArray, y: FloatArray
) -> tuple[float, FloatArray]:
    """The same for any sum of kernels, ``K = constant + sum_i e^{theta_i} K_i``: O(T^3) a call."""
    scaled = [math.exp(t) * matrix for t, matrix in zip(theta, matrices, strict=True)]
    return likelihood_of(constant + sum(scaled, np.zeros_like(constant)), scaled, y)


def likelihood_of(
    covariance: FloatArray, derivatives: Sequence[FloatArray], y: FloatArray
) -> tuple[float, FloatArray]:
    """The log marginal likelihood of a covariance, and its derivatives along those of it."""
    from scipy.linalg import cho_solve

    factor = cholesky(covariance)
    a = cho_solve((factor, True), y)
    inverse = cho_solve((factor, True), np.eye(len(y)))
    value = (
        -0.5 * float(y @ a)
        - float(np.log(np.diag(factor)).sum())
        - 0.5 * len(y) * math.log(2.0 * math.pi)
    )
    outer = np.outer(a, a) - inverse
    return value, np.array([0.5 * float(np.sum(outer * part)) for part in derivatives])


def _different_columns(kernel: GraphKernel, counts: Counts) -> FloatArray:
    """The coordinates of a linear kernel that the data have, equal ones taken together."""
    z = kernel.features(counts)
    if z.ndim == 4 and np.array_equal(z, z.swapaxes(2, 3)):  # undirected: P_sab = P_sba
        first, second = np.triu_indices(z.shape[2])
        z = z[:, :, first, second] * np.where(first == second, 1.0, math.sqrt(2.0))
    z = z.reshape(len(z), -1)
    return np.asarray(z[:, z.any(axis=0)])
