"""Hyperparameters by maximal marginal likelihood, from several starting points.

Amplitudes and noise are cheap: one decomposition serves all of them (`likelihood.Spectrum`). A
kernel with hyperparameters of its own changes its matrix at every step, in ``O(T^3)``, so they are
fitted first, together with amplitudes and noise, to no more than `MOST_FITTED` observations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .errors import FitError, InvalidInputError
from .kernel_checks import check_gram, checked_cross, checked_gradients
from .kernels import FEATURE_AMPLITUDE_BOUNDS, Kernel, node_features
from .likelihood import Spectrum, likelihood_of
from .subset import representative

Loss = Callable[[FloatArray], tuple[float, FloatArray]]

MOST_FITTED = 300  # observations that hyperparameters of a kernel's own are fitted to
_NOISE_BOUNDS = (1e-8, 1.0)
_RANDOM_EACH = 8  # random points tried for each starting point
_STEP = 1e-5  # of finite differences, in logarithms
_HOPELESS = 1e25  # the loss where there is no likelihood


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
    """What is fitted: observations, a kernel, and the values that are known (else ``None``)."""

    kernel: Kernel
    counts: Counts
    y: FloatArray  # standardised
    known: Mapping[str, float | None]  # of alpha, beta and noise
    feature_kernel: bool
    restarts: int
    seed: int

    def fit(self) -> Fit:
        """The most likely hyperparameters."""
        kernel = self.kernel
        if kernel.hyperparameters():
            kernel = _fitted_kernel(self)
        check_gram(kernel, self.counts)
        spectrum = Spectrum.of(kernel, self.counts, self.y, feature_kernel=self.feature_kernel)
        free = self.free

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = spectrum.log_likelihood(**self.values_at(theta))
            return -value, -gradient[[name in free for name in self.known]]

        theta, least = _smallest(loss, self.logs, _grid_starts(self.logs, loss, self))
        return Fit(kernel=kernel, **self.values_at(theta), log_likelihood=-least)

    @property
    def free(self) -> list[str]:
        """Names of the values to fit."""
        return [name for name, value in self.known.items() if value is None]

    @property
    def logs(self) -> FloatArray:
        """Logarithms of their bounds, one row each."""
        bounds = {
            "alpha": self.kernel.amplitude_bounds,
            "beta": FEATURE_AMPLITUDE_BOUNDS,
            "noise": _NOISE_BOUNDS,
        }
        return np.log([bounds[name] for name in self.free]).reshape(-1, 2)

    def values_at(self, theta: FloatArray) -> dict[str, float]:
        """Alpha, beta and noise, given the logarithms of those to fit."""
        given = {name: value for name, value in self.known.items() if value is not None}
        return {**given, **dict(zip(self.free, np.exp(theta).tolist(), strict=True))}


def _smallest(loss: Loss, logs: FloatArray, starts: list[FloatArray]) -> tuple[FloatArray, float]:
    """Where the loss is smallest, and how small, by gradient descent from all starting points."""
    from scipy.optimize import minimize

    best, least = np.zeros(0), math.inf
    for start in starts:
        result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=logs)
        if math.isfinite(result.fun) and result.fun < least:
            best, least = np.clip(result.x, logs[:, 0], logs[:, 1]), float(result.fun)
    if not len(logs):
        least = loss(best)[0]
    if not least < _HOPELESS:
        raise FitError(
            "no hyperparameters give a finite likelihood; check the observations for extreme "
            "values, or raise noise"
        )
    return best, least


def _grid_starts(logs: FloatArray, loss: Loss, problem: Problem) -> list[FloatArray]:
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


# -- a kernel with hyperparameters of its own --------------------------------------------------


def _fitted_kernel(problem: Problem) -> Kernel:
    """The kernel at its most likely hyperparameters, with amplitudes and noise at theirs."""
    kernel, free = problem.kernel, problem.free
    some = representative(problem.counts, problem.y, MOST_FITTED)
    counts, y = problem.counts.rows(some), problem.y[some]
    names, n_free = list(kernel.hyperparameters()), len(free)
    check_gram(kernel, counts)  # before its values at many other points say less clearly why
    of_kernel = np.log([kernel.hyperparameters()[name] for name in names])
    logs = np.concatenate([problem.logs, of_kernel])
    nodes = np.zeros((len(y), 0))
    if problem.feature_kernel:
        nodes = node_features(counts, counts.features.shape[1])
    of_nodes = nodes @ nodes.T
    is_free = [name in free for name in problem.known]

    def at(theta: FloatArray) -> Kernel:
        values = np.exp(theta[n_free:]).tolist()
        return kernel.with_hyperparameters(dict(zip(names, values, strict=True)))

    def likelihood(theta: FloatArray, *, slopes: bool) -> tuple[float, FloatArray]:
        """Value and derivatives, without those by the kernel's own if it offers no gradients."""
        here, values = at(theta), problem.values_at(theta[:n_free])
        alpha, beta, noise = values["alpha"], values["beta"], values["noise"]
        parts = [
            alpha * checked_cross(here, counts, counts),
            beta * of_nodes,
            noise * np.eye(len(y)),
        ]
        gradients = checked_gradients(here, counts) if slopes else None
        known = [] if gradients is None else [alpha * gradients[name] for name in names]
        by = [part for part, wanted in zip(parts, is_free, strict=True) if wanted]
        return likelihood_of(sum(parts, np.zeros_like(of_nodes)), [*by, *known], y)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, slope = likelihood(theta, slopes=True)
            rest = range(len(slope), len(logs))  # the kernel offers no gradients
            steps = [theta + _STEP * (np.arange(len(logs)) == i) for i in rest]
            ahead = [likelihood(step, slopes=False)[0] for step in steps]
        except FitError:
            return _HOPELESS, np.zeros(len(logs))
        differences = [(there - value) / _STEP for there in ahead]
        return -value, -np.concatenate([slope, differences])

    rng = np.random.default_rng(problem.seed)
    present = np.log([getattr(kernel, name) for name in names])
    first = np.concatenate([np.zeros(n_free), present])
    drawn = rng.uniform(logs[:, 0], logs[:, 1], (_RANDOM_EACH * problem.restarts, len(logs)))
    order = np.argsort([loss(point)[0] for point in drawn], kind="stable")
    starts = [np.clip(first, logs[:, 0], logs[:, 1]), *drawn[order[: problem.restarts - 1]]]
    fitted = at(_smallest(loss, logs, starts)[0])
    if not isinstance(fitted, type(kernel)):
        raise InvalidInputError(
            f"kernel {kernel.name!r}: expected with_hyperparameters to return a kernel of the same "
            f"class, got {type(fitted).__name__}"
        )
    return fitted
