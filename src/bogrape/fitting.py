"""Hyperparameters by maximal marginal likelihood, times a prior where there is one.

Fitted noise has a prior, and so have the hyperparameters of kernels that offer them; the others are
the most likely ones in their range. All are fitted by their logarithms, from several starting
points.

Amplitudes and noise are cheap: one decomposition serves all of them (`likelihood.Spectrum`). A
kernel with hyperparameters of its own changes its matrix at every step, in ``O(T^3)``, so they are
fitted first, together with amplitudes and noise, to no more than `MOST_FITTED` observations. So is
the noise if observations have noise of their own besides (`noise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .errors import FitError, InvalidInputError
from .kernel_checks import check_gram, checked_cross, checked_gradients
from .kernels import FEATURE_AMPLITUDE_BOUNDS, RBF, Kernel, LogNormal, node_features
from .likelihood import Spectrum, likelihood_of
from .noise import evened
from .subset import representative

Loss = Callable[[FloatArray], tuple[float, FloatArray]]
Matrices = Callable[[Kernel], tuple[FloatArray, Mapping[str, FloatArray] | None]]

MOST_FITTED = 300  # observations that hyperparameters of a kernel's own are fitted to
# of the variance of the observations: measurements that are mostly noise are not what this is for
NOISE_BOUNDS = (1e-6, 0.5)
NOISE_PRIOR = LogNormal(math.log(1e-3), 2.5)
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
    start: Mapping[str, float] = field(default_factory=dict)  # values to begin with, too
    own_noise: FloatArray | None = None  # known variances, which add to the noise

    def fit(self) -> Fit:
        """The hyperparameters of the largest posterior density."""
        noise_differs = self.own_noise is not None and "noise" in self.free
        joint = _joint_fit(self) if self.kernel.hyperparameters() or noise_differs else None
        kernel = self.kernel if joint is None else joint.kernel
        check_gram(kernel, self.counts)
        if joint is not None and len(self.y) <= MOST_FITTED:
            return joint
        if joint is not None and noise_differs:
            return replace(self, known={**self.known, "noise": joint.noise})._amplitudes(kernel)
        return self._amplitudes(kernel)

    def _amplitudes(self, kernel: Kernel) -> Fit:
        """Amplitudes and noise, for a kernel as it is."""
        noise, factors, shared = self.known["noise"], None, {}
        if self.own_noise is not None:
            assert noise is not None  # `fit` has found it
            shared["noise"], factors = evened(noise + self.own_noise)
        spectrum = Spectrum.of(
            kernel, self.counts, self.y, feature_kernel=self.feature_kernel, factors=factors
        )
        penalty = self.penalty(self.free)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = spectrum.log_likelihood(**{**self.values_at(theta), **shared})
            less, slope = penalty(theta)
            return less - value, slope - gradient[[name in self.free for name in self.known]]

        theta, least = _smallest(loss, self.logs, _grid_starts(self.logs, loss, self))
        log_likelihood = penalty(theta)[0] - least
        return Fit(kernel=kernel, **self.values_at(theta), log_likelihood=log_likelihood)

    @cached_property
    def free(self) -> list[str]:
        """Names of the amplitudes and the noise, as far as they are to be fitted."""
        return [name for name, value in self.known.items() if value is None]

    @cached_property
    def logs(self) -> FloatArray:
        """Logarithms of their bounds, one row each."""
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
        """The priors there are."""
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


def _joint_fit(problem: Problem) -> Fit:
    """The kernel's hyperparameters, if it has any, amplitudes and noise together."""
    kernel, free = problem.kernel, problem.free
    some = representative(problem.counts, problem.y, MOST_FITTED)
    counts, y = problem.counts.rows(some), problem.y[some]
    own_noise = np.zeros(len(y)) if problem.own_noise is None else problem.own_noise[some]
    own, n_free = list(kernel.hyperparameters()), len(free)
    check_gram(kernel, counts)  # before its values at many other points say less clearly why
    own_logs = np.log([kernel.hyperparameters()[n] for n in own]).reshape(-1, 2)
    logs = np.concatenate([problem.logs, own_logs])
    nodes = np.zeros((len(y), 0))
    if problem.feature_kernel:
        nodes = node_features(counts, counts.features.shape[1])
    of_nodes = nodes @ nodes.T
    is_free = [name in free for name in problem.known]
    matrices, penalty = _matrices(kernel, counts), problem.penalty([*free, *own])

    def at(theta: FloatArray) -> Kernel:
        values = np.exp(theta[n_free:]).tolist()
        return kernel.with_hyperparameters(dict(zip(own, values, strict=True)))

    def likelihood(theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and derivatives, without those by the kernel's own if it offers no gradients."""
        values = problem.values_at(theta[:n_free])
        gram, gradients = matrices(at(theta))
        alpha, beta, noise = values["alpha"], values["beta"], values["noise"]
        parts = [alpha * gram, beta * of_nodes, noise * np.eye(len(y))]
        known = [] if gradients is None else [alpha * gradients[name] for name in own]
        by = [part for part, wanted in zip(parts, is_free, strict=True) if wanted]
        return likelihood_of(sum(parts, np.diag(own_noise)), [*by, *known], y)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, slope = likelihood(theta)
            rest = range(len(slope), len(logs))  # the kernel offers no gradients
            steps = [theta + _STEP * (np.arange(len(logs)) == i) for i in rest]
            ahead = [likelihood(step)[0] for step in steps]
        except FitError:
            return _HOPELESS, np.zeros(len(logs))
        differences = [(there - value) / _STEP for there in ahead]
        less, more_slope = penalty(theta)
        return less - value, more_slope - np.concatenate([slope, differences])

    starts = _joint_starts(problem, own, logs, loss) if own else _grid_starts(logs, loss, problem)
    theta, least = _smallest(loss, logs, starts)
    fitted = at(theta)
    if not isinstance(fitted, type(kernel)):
        raise InvalidInputError(
            f"kernel {kernel.name!r}: expected with_hyperparameters to return a kernel of the same "
            f"class, got {type(fitted).__name__}"
        )
    values = problem.values_at(theta[:n_free])
    return Fit(kernel=fitted, **values, log_likelihood=penalty(theta)[0] - least)


def _matrices(kernel: Kernel, counts: Counts) -> Matrices:
    """Kernel matrix and gradients at other hyperparameters; what these share is computed once."""
    if not isinstance(kernel, RBF):
        return lambda here: (
            checked_cross(here, counts, counts),
            checked_gradients(here, counts),
        )
    squares = kernel.squares(counts, counts)

    def of(here: Kernel) -> tuple[FloatArray, Mapping[str, FloatArray]]:
        assert isinstance(here, RBF)
        values = here.of_squares(squares)
        return values, here.gradients_of_squares(values, squares)

    return of


def _joint_starts(
    problem: Problem, own: Sequence[str], logs: FloatArray, loss: Loss
) -> list[FloatArray]:
    """The usual values, those of the last fit, and good ones among random points.

    Where all that is fitted has a prior, the first two are enough.
    """
    names = [*problem.free, *own]
    usual = {name: prior.mean for name, prior in problem.priors.items()}
    present = {name: math.log(getattr(problem.kernel, name)) for name in own}
    starts = [np.array([{**usual, **present}.get(name, 0.0) for name in names])]
    last = [problem.start.get(name) for name in names]
    if all(isinstance(value, (int, float)) and 1e-300 < value < 1e300 for value in last):
        starts.append(np.log(np.array(last, dtype=float)))
    starts = [np.clip(start, logs[:, 0], logs[:, 1]) for start in starts][: problem.restarts]
    if all(name in problem.priors for name in own):
        return starts
    rng = np.random.default_rng(problem.seed)
    drawn = rng.uniform(logs[:, 0], logs[:, 1], (_RANDOM_EACH * problem.restarts, len(logs)))
    order = np.argsort([loss(point)[0] for point in drawn], kind="stable")
    return [*starts, *drawn[order[: problem.restarts - len(starts)]]]
