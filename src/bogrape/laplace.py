r"""Laplace's approximation for binary outcomes: the mode, and the evidence with its slopes.

The latent values are ``f = m + g``, with g Gaussian of covariance K, and the probability of success
is :math:`1 / (1 + e^{-f})`. Algorithms 3.1 and 5.1 of Rasmussen and Williams (2006), with a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from .arrays import BoolArray, FloatArray
from .posterior import cholesky

_STEPS, _SMALL_STEP, _HALVINGS = 100, 1e-10, 20  # of Newton's method
_LEAST_CURVATURE = 1e-10


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Mode:
    """The most probable latent values of some outcomes.

    Attributes:
        above: their differences from the mean, ``f - m``.
        slopes: derivatives of the log likelihood there.
        curvatures: second derivatives of the log likelihood there, all negative.
        log_evidence: Laplace's approximation of the log probability of the outcomes.
        factor: lower Cholesky factor of ``I + W^1/2 K W^1/2``.
    """

    above: FloatArray
    slopes: FloatArray
    curvatures: FloatArray
    log_evidence: float
    factor: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray, outcomes: BoolArray, mean: float) -> Mode:
        """Find the mode by Newton's method, with steps halved if needed (algorithm 3.1).

        The log posterior is ``log p(y | m + K a) - a' K a / 2``, which is concave in a.
        """
        from scipy.linalg import cho_solve

        target = outcomes.astype(float)
        sign = np.where(outcomes, 1.0, -1.0)

        def density(a: FloatArray) -> tuple[float, FloatArray]:
            above = covariance @ a
            log_likelihood = -np.logaddexp(0.0, -sign * (mean + above)).sum()
            return float(log_likelihood - 0.5 * a @ above), above

        a = np.zeros(len(outcomes))
        value, above = density(a)
        for _ in range(_STEPS):
            slopes, curvatures, root, factor = _at(covariance, target, mean + above)
            b = curvatures * above + slopes
            step = b - root * cho_solve((factor, True), root * (covariance @ b)) - a
            share = 1.0
            found, there = density(a + step)
            for _ in range(_HALVINGS):
                if found >= value:
                    break
                share *= 0.5
                found, there = density(a + share * step)
            gain = found - value
            if gain < 0:
                break
            a, value, above = a + share * step, found, there
            if gain < _SMALL_STEP:
                break
        slopes, curvatures, _, factor = _at(covariance, target, mean + above)
        log_evidence = value - float(np.log(np.diag(factor)).sum())
        return cls(
            above=above,
            slopes=slopes,
            curvatures=curvatures,
            log_evidence=log_evidence,
            factor=factor,
        )

    def evidence_slopes(
        self, covariance: FloatArray, by: Sequence[FloatArray], outcomes: BoolArray
    ) -> tuple[FloatArray, float]:
        """Derivatives of the log evidence along those of the covariance, and by the mean."""
        from scipy.linalg import cho_solve, solve_triangular

        root = np.sqrt(self.curvatures)
        inverse = root[:, None] * cho_solve((self.factor, True), np.diag(root))  # (K + 1/W)^-1
        c = solve_triangular(self.factor, root[:, None] * covariance, lower=True)
        # of the curvature at the mode, by the latent value: W (2 pi - 1), up to its sign
        probability = outcomes.astype(float) - self.slopes
        third = self.curvatures * (2.0 * probability - 1.0)
        left = np.diag(covariance) - np.einsum("ij,ij->j", c, c)
        through_mode = 0.5 * left * third

        def moved(direction: FloatArray) -> FloatArray:
            return np.asarray(direction - covariance @ (inverse @ direction))

        slopes = [
            0.5 * float(self.slopes @ part @ self.slopes)
            - 0.5 * float(np.sum(inverse * part))
            + float(through_mode @ moved(part @ self.slopes))
            for part in by
        ]
        by_mean = float(self.slopes.sum() + through_mode @ moved(np.ones(len(outcomes))))
        return np.array(slopes), by_mean


def _at(
    covariance: FloatArray, target: FloatArray, latent: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Slopes, curvatures, their roots, and the Cholesky factor of ``I + W^1/2 K W^1/2``."""
    from scipy.special import expit

    probability = expit(latent)
    curvatures = np.maximum(probability * expit(-latent), _LEAST_CURVATURE)
    root = np.sqrt(curvatures)
    factor = cholesky(np.eye(len(target)) + root[:, None] * covariance * root)
    return target - probability, curvatures, root, factor
