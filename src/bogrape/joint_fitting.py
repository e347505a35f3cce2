"""Joint fit of a kernel's own hyperparameters with amplitudes and noise.

They change the kernel matrix at every step, in ``O(T^3)``, so they are fitted to at most
`MOST_FITTED` observations; if there are more, amplitudes and noise are then fitted to all of them.
The same holds for noise besides known variances, but then only amplitudes are fitted to all.
Hyperparameters with a prior maximise the posterior density, the others the likelihood in their
range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .errors import FitError, InvalidInputError
from .fitting import HOPELESS, Fit, Loss, Problem, grid_starts, smallest
from .kernel_checks import check_gram, checked_cross, checked_gradients
from .kernels import RBF, Kernel, is_built_in, node_features
from .posterior import cholesky
from .subset import representative

Matrices = Callable[[Kernel], tuple[FloatArray, Mapping[str, FloatArray] | None]]

MOST_FITTED = 300  # most observations to fit a kernel's own hyperparameters to
_RANDOM_EACH = 8  # random points tried for each starting point
_STEP = 1e-5  # of finite differences, in logarithms


def fit_jointly(problem: Problem) -> Fit:
    """The kernel's hyperparameters, if any, amplitudes and noise of largest posterior density."""
    joint = _to_some(problem)
    if len(problem.y) > MOST_FITTED:
        if problem.own_noise is not None:
            problem = replace(problem, known={**problem.known, "noise": joint.noise})
        return problem.fit(joint.kernel)
    if not is_built_in(joint.kernel):
        check_gram(joint.kernel, problem.counts)
    return joint


def _to_some(problem: Problem) -> Fit:
    """All of them together, fitted to no more than `MOST_FITTED` observations."""
    kernel, free = problem.kernel, problem.free
    some = representative(problem.counts, problem.y, MOST_FITTED)
    counts, y = problem.counts.rows(some), problem.y[some]
    own_noise = np.zeros(len(y)) if problem.own_noise is None else problem.own_noise[some]
    own, n_free = list(kernel.hyperparameters()), len(free)
    if not is_built_in(kernel):
        check_gram(kernel, counts)  # check it first, for a clearer error than during the fit
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
        """Value and derivatives; without gradients, none by the kernel's own hyperparameters."""
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
            return HOPELESS, np.zeros(len(logs))
        differences = [(there - value) / _STEP for there in ahead]
        less, more_slope = penalty(theta)
        return less - value, more_slope - np.concatenate([slope, differences])

    starts = _starts(problem, own, logs, loss) if own else grid_starts(logs, loss, problem)
    theta, least = smallest(loss, logs, starts)
    fitted = at(theta)
    if not isinstance(fitted, type(kernel)):
        raise InvalidInputError(
            f"kernel {kernel.name!r}: expected with_hyperparameters to return a kernel of the same "
            f"class, got {type(fitted).__name__}"
        )
    values = problem.values_at(theta[:n_free])
    return Fit(kernel=fitted, **values, log_likelihood=penalty(theta)[0] - least)


def _matrices(kernel: Kernel, counts: Counts) -> Matrices:
    """Function for kernel matrix and gradients; shared parts are computed once."""
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


def _starts(problem: Problem, own: Sequence[str], logs: FloatArray, loss: Loss) -> list[FloatArray]:
    """Starting points: default values, those of the last fit, and the best of random points.

    If everything to fit has a prior, the first two are enough.
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


def log_likelihood(
    theta: FloatArray, matrices: list[FloatArray], constant: FloatArray, y: FloatArray
) -> tuple[float, FloatArray]:
    """The log marginal likelihood of ``K = constant + sum_i e^{theta_i} K_i``, by each theta."""
    scaled = [math.exp(t) * matrix for t, matrix in zip(theta, matrices, strict=True)]
    return likelihood_of(constant + sum(scaled, np.zeros_like(constant)), scaled, y)


def likelihood_of(
    covariance: FloatArray, derivatives: Sequence[FloatArray], y: FloatArray
) -> tuple[float, FloatArray]:
    """The log marginal likelihood of a covariance, and its derivatives by the parameters."""
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
