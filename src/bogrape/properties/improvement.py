r"""Expected improvement of a Pareto front of two properties, and of a score that is sampled.

*Expected hypervolume improvement* (Emmerich, Giannakoglou and Naujoks, 2006), both coordinates
minimised and independent. Let :math:`(a_i, b_i)` be the front, sorted so that :math:`a` rises and
:math:`b` falls, and :math:`(r_1, r_2)` the reference. A point :math:`y` adds, strip by strip,

.. math:: \sum_{i=1}^{n+1} \bigl(a_i - \max(a_{i-1}, y_1)\bigr)_+ \,(b_{i-1} - y_2)_+ ,
          \qquad a_0 = -\infty,\ a_{n+1} = r_1,\ b_0 = r_2 .

With :math:`\psi_j(c) = E(c - Y_j)_+ = \sigma_j h((c - \mu_j)/\sigma_j)` the expectation is exactly

.. math:: \mathrm{EHVI} = \sum_{i=1}^{n+1}
          \bigl(\psi_1(a_i) - \psi_1(a_{i-1})\bigr)\,\psi_2(b_{i-1}) .

Far from the front it underflows, so its logarithm is computed.
"""

from __future__ import annotations

import math

import numpy as np

from ..acquisition import EI
from ..arrays import FloatArray

_SOFT = 1e-4  # smoothing of an improvement at zero, in units of scores


def log_hypervolume_improvement(
    mean: FloatArray, std: FloatArray, front: FloatArray, reference: FloatArray
) -> FloatArray:
    """Logarithm of the expected hypervolume improvement of each row of means and deviations.

    Args:
        mean, std: (n, 2); deviations are positive.
        front: (m, 2), points that do not dominate each other, all below the reference.
        reference: (2,).
    """
    front = front[np.argsort(front[:, 0], kind="stable")]
    right = np.append(front[:, 0], reference[0])  # a_1 .. a_n+1
    top = np.append(reference[1], front[:, 1])  # b_0 .. b_n
    first = _log_gain(right, mean[:, 0], std[:, 0])
    second = _log_gain(top, mean[:, 1], std[:, 1])
    before = np.concatenate([np.full((len(mean), 1), -np.inf), first[:, :-1]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.isneginf(first), 0.0, np.minimum(before - first, 0.0))
        strips = first + np.log(-np.expm1(ratio)) + second
    strips = np.where(np.isnan(strips), -np.inf, strips)
    return _log_sum(strips)


def _log_gain(edges: FloatArray, mean: FloatArray, std: FloatArray) -> FloatArray:
    """Logarithm of the expected gain below each edge, (n, edges)."""
    gains = [EI().log(mean, std, float(edge)) for edge in edges]
    return np.stack(gains, axis=1)


def log_soft_improvement(scores: FloatArray, best: float) -> FloatArray:
    """Logarithm of the mean improvement of sampled scores (n, samples) over the best one.

    Improvements are smoothed at zero by a ten-thousandth, so that graphs differ even if no
    sample improves: ``t log(1 + exp(x / t))`` instead of ``max(x, 0)``.
    """
    x = (scores - best) / _SOFT
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        soft = np.where(
            x > 30.0, np.log(np.maximum(x, 1.0)), np.log(np.log1p(np.exp(np.minimum(x, 30.0))))
        )
    soft = np.where(x < -30.0, x, soft)
    return _log_sum(soft) + math.log(_SOFT / scores.shape[1])


def _log_sum(logs: FloatArray) -> FloatArray:
    """``log(sum(exp(logs)))`` along rows."""
    top = logs.max(axis=1)
    safe = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(under="ignore", divide="ignore"):
        return np.asarray(safe + np.log(np.exp(logs - safe[:, None]).sum(axis=1)))


def normal_points(n: int, dimension: int) -> FloatArray:
    """Quasi-random standard normal points (n, dimension), the same for every graph.

    Multiples of the inverse powers of the root of ``x**(d+1) = x + 1`` (Roberts' sequence),
    mapped by the inverse of the normal distribution function.
    """
    from scipy.special import ndtri  # late: keeps `import bogrape` quick

    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    points = np.asarray(ndtri((0.5 + np.outer(np.arange(1, n + 1), steps)) % 1.0), dtype=float)
    points -= points.mean(axis=0)
    factor = np.linalg.cholesky(points.T @ points / n)  # so that their covariance is the identity
    return np.asarray(np.linalg.solve(factor, points.T).T)
