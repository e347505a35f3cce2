r"""Amplitudes and noise of a kernel by maximum likelihood, or by the product with their prior.

Their logarithms are optimised from several starting points; fitted noise has a prior. A single
decomposition serves all steps.

The covariance of the T observations is ``K = alpha K_G + beta Z_F Z_F' + noise I``: the kernel of
the graphs, which is expensive, and few node features. `Spectrum` finds an orthonormal basis Q in
which ``K_G`` is diagonal, once, on the cheaper side:

* *weight space*, for kernels that are inner products of d < T numbers: by an orthogonal reduction
  of the rows ``(z_G, z_F, y)``, in O(T d^2). The other directions contain only noise.
* *function space* otherwise: by the eigenvectors of ``K_G``, in O(T^3).

Every evaluation then costs about as much as a regression on the node features. With ``b = alpha
lambda + noise`` the diagonal of ``B = alpha K_G + noise I``, ``W = sqrt(beta) B^{-1/2} Z_F`` and
its thin singular value decomposition ``W = P diag(s) O'``,

.. math:: K = B^{1/2} (I + W W^\top) B^{1/2}, \qquad
    (I + W W^\top)^{-1} = I - P\, \tfrac{s^2}{1+s^2} P^\top .

No inverse is formed and nothing is squared where this would lose precision.

Observations with known noise are multiplied by factors that make all noise equal
(`observed_values.evened`). These depend on ``noise``, which must then be given and is not fitted
here.

Fits that change the matrix at every step (hyperparameters of the kernel itself, or noise besides
known variances) are in `bogrape.joint_fitting`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .errors import FitError
from .kernel_checks import check_gram
from .kernels import (
    FEATURE_AMPLITUDE_BOUNDS,
    GraphKernel,
    Kernel,
    LogNormal,
    cross_of,
    is_built_in,
    is_linear,
    node_features,
)
from .observed_values import evened
from .posterior import triangular_factor

Loss = Callable[[FloatArray], tuple[float, FloatArray]]

# of the variance of the observations: measurements that are mostly noise are not what this is for
NOISE_BOUNDS = (1e-6, 0.5)
NOISE_PRIOR = LogNormal(math.log(1e-3), 2.5)
HOPELESS = 1e25  # the loss if the likelihood is undefined


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Hyperparameters, and the log likelihood of the observations at them."""

    kernel: Kernel
    alpha: float
    beta: float
    noise: float
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A fitting problem: observations, a kernel, and known hyperparameters (``None``: to fit)."""

    kernel: Kernel
    counts: Counts
    y: FloatArray  # standardised
    known: Mapping[str, float | None]  # of alpha, beta and noise
    feature_kernel: bool
    restarts: int
    seed: int
    start: Mapping[str, float] = field(default_factory=dict)  # an additional starting point
    own_noise: FloatArray | None = None  # known variances, which add to the noise

    def fit(self, kernel: Kernel | None = None) -> Fit:
        """The amplitudes and the noise of largest posterior density.

        They are fitted for the problem's kernel, or for a given kernel that is already fitted.
        """
        kernel = self.kernel if kernel is None else kernel
        if not is_built_in(kernel):
            check_gram(kernel, self.counts)
        noise, factors, shared = self.known["noise"], None, {}
        if self.own_noise is not None:
            assert noise is not None  # see `needs_all_at_once`
            shared["noise"], factors = evened(noise + self.own_noise)
        spectrum = Spectrum.of(
            kernel, self.counts, self.y, feature_kernel=self.feature_kernel, factors=factors
        )
        penalty = self.penalty(self.free)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = spectrum.log_likelihood(**{**self.values_at(theta), **shared})
            less, slope = penalty(theta)
            return less - value, slope - gradient[[name in self.free for name in self.known]]

        theta, least = smallest(loss, self.logs, grid_starts(self.logs, loss, self))
        log_likelihood = penalty(theta)[0] - least
        return Fit(kernel=kernel, **self.values_at(theta), log_likelihood=log_likelihood)

    @property
    def needs_all_at_once(self) -> bool:
        """True if `bogrape.joint_fitting` is needed: every step needs a new decomposition."""
        noise_differs = self.own_noise is not None and self.known["noise"] is None
        return noise_differs or bool(self.kernel.hyperparameters())

    @cached_property
    def free(self) -> list[str]:
        """Names of the amplitudes and the noise that are to be fitted."""
        return [name for name, value in self.known.items() if value is None]

    @cached_property
    def logs(self) -> FloatArray:
        """Logarithms of the bounds of `free`, one row each."""
        bounds = {
            "alpha": self.kernel.amplitude_bounds,
            "beta": FEATURE_AMPLITUDE_BOUNDS,
            "noise": NOISE_BOUNDS,
        }
        return np.log([bounds[name] for name in self.free]).reshape(-1, 2)

    def values_at(self, theta: FloatArray) -> dict[str, float]:
        """Alpha, beta and noise, given the logarithms of those to fit."""
        given = {name: value for name, value in self.known.items() if value is not None}
        return {**given, **dict(zip(self.free, np.exp(theta).tolist(), strict=True))}

    @cached_property
    def priors(self) -> Mapping[str, LogNormal]:
        """The priors of amplitudes, noise and hyperparameters, by name."""
        return {**self.kernel.priors(), "noise": NOISE_PRIOR}

    def penalty(self, names: Sequence[str]) -> Loss:
        """Minus the log prior density of these logarithms, up to a constant."""
        flat = LogNormal(0.0, math.inf)
        priors = [self.priors.get(name, flat) for name in names]
        mean = np.array([prior.mean for prior in priors])
        weight = np.array([prior.deviation**-2 for prior in priors])

        def of(theta: FloatArray) -> tuple[float, FloatArray]:
            slope = weight * (theta - mean)
            return 0.5 * float(slope @ (theta - mean)), slope

        return of


def smallest(loss: Loss, logs: FloatArray, starts: list[FloatArray]) -> tuple[FloatArray, float]:
    """Minimum of the loss and its position, by gradient descent from all starting points."""
    from scipy.optimize import minimize

    best, least = np.zeros(0), math.inf
    for start in starts:
        result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=logs)
        if math.isfinite(result.fun) and result.fun < least:
            best, least = np.clip(result.x, logs[:, 0], logs[:, 1]), float(result.fun)
    if not len(logs):
        least = loss(best)[0]
    if not least < HOPELESS:
        raise FitError(
            "no hyperparameters give a finite likelihood; check the observations for extreme "
            "values, or raise noise"
        )
    return best, least


def grid_starts(logs: FloatArray, loss: Loss, problem: Problem) -> list[FloatArray]:
    """All ones as in the paper, the best points of a coarse grid, then random ones."""
    if not len(logs):
        return []
    rng = np.random.default_rng(problem.seed)
    axes = [np.linspace(low, high, 7)[1:-1] for low, high in logs]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(logs))
    order = np.argsort([loss(point)[0] for point in grid])
    starts = [np.clip(np.zeros(len(logs)), logs[:, 0], logs[:, 1]), *grid[order[:2]]]
    starts += [rng.uniform(logs[:, 0], logs[:, 1]) for _ in range(problem.restarts - 3)]
    return starts[: max(1, problem.restarts)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Spectrum:
    """Observations in a basis Q that makes the kernel of the graphs diagonal.

    Build it with `Spectrum.of`. The part outside the span of Q is the same for every amplitude:
    the number of directions with only noise, and the norm of ``y`` in them.
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
        the original observations.
        """
        rows = np.ones(len(y)) if factors is None else factors
        n_nodes = counts.features.shape[1]
        nodes = node_features(counts, n_nodes) if feature_kernel else np.zeros((len(y), 0))
        nodes, y, log_factors = nodes * rows[:, None], y * rows, float(np.log(rows).sum())
        paths = _different_columns(kernel, counts) if is_linear(kernel) else None
        if paths is not None and paths.shape[1] + nodes.shape[1] < len(y):
            return cls._in_weight_space(paths * rows[:, None], nodes, y, log_factors)
        gram = cross_of(kernel, counts, counts) * np.outer(rows, rows)
        eigenvalues, basis = np.linalg.eigh(gram)
        # K_G has no negative eigenvalues: any are rounding errors
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


def _different_columns(kernel: GraphKernel, counts: Counts) -> FloatArray:
    """The coordinates of a linear kernel that occur in the data, with equal ones merged."""
    z = kernel.features(counts)
    if z.ndim == 4 and np.array_equal(z, z.swapaxes(2, 3)):  # undirected: P_sab = P_sba
        first, second = np.triu_indices(z.shape[2])
        z = z[:, :, first, second] * np.where(first == second, 1.0, math.sqrt(2.0))
    z = z.reshape(len(z), -1)
    return np.asarray(z[:, z.any(axis=0)])
