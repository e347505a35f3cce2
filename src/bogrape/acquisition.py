r"""Acquisition functions on the posterior mean and standard deviation; all are minimised.

* ``LCB(kappa)``: :math:`\mu - \kappa\sigma` with :math:`\kappa = \sqrt{\beta_t}`. The paper's three
  schedules are ``LCB(1.0)`` (its default), ``LCB(1.96)`` and ``LCB.growing(t)`` with
  :math:`\kappa_t = 3\sqrt{\tfrac12 \log(2(t+1))}`.
* ``EI()``: minus the expected improvement below the best observed value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .arrays import FloatArray
from .errors import InvalidInputError


class Acquisition(Protocol):
    """What a proposer minimises."""

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        """Value of each candidate, given the best observed objective value."""


def _is_finite(value: object) -> bool:
    """Whether it is a number that arithmetic can be done with."""
    try:
        return isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


@dataclass(frozen=True)
class LCB:
    r"""Lower confidence bound :math:`\mu - \kappa\sigma`.

    >>> LCB(2.0)(np.array([1.0]), np.array([0.25]), best=0.0)
    array([0.5])
    """

    kappa: float = 1.0

    def __post_init__(self) -> None:
        if not _is_finite(self.kappa) or self.kappa < 0:
            raise InvalidInputError(
                f"kappa must be a finite number >= 0, got {self.kappa!r:.100}; "
                "0 is pure exploitation"
            )

    @classmethod
    def growing(cls, step: int) -> LCB:
        r"""The schedule :math:`\kappa_t = 3\sqrt{\tfrac12 \log(2(t+1))}` at step t = 0, 1, ..."""
        if not isinstance(step, int) or step < 0 or not _is_finite(step):
            raise InvalidInputError(f"step must be an integer >= 0, got {step!r:.100}")
        return cls(3.0 * math.sqrt(0.5 * math.log(2.0 * (step + 1))))

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:  # noqa: ARG002
        return mean - self.kappa * std


@dataclass(frozen=True)
class EI:
    """Minus the expected improvement below ``best - xi``; a certain point improves by its gain."""

    xi: float = 0.0

    def __post_init__(self) -> None:
        if not _is_finite(self.xi):
            raise InvalidInputError(f"xi must be a finite number, got {self.xi!r:.100}")

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        from scipy.special import ndtr  # late: keeps `import bogrape` quick

        gain = best - self.xi - mean
        safe = np.where(std > 0, std, 1.0)
        with np.errstate(over="ignore"):  # almost certain points: u is infinite, and that is fine
            u = gain / safe
            density = np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
        improvement = gain * ndtr(u) + safe * density
        # Deep in the tail the two terms cancel; the true value is positive and tiny.
        return np.asarray(-np.where(std > 0, np.maximum(improvement, 0.0), np.maximum(gain, 0.0)))
