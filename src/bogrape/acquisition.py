r"""Acquisition functions on the posterior mean and standard deviation; all are minimised.

* ``LCB(kappa)``: :math:`\mu - \kappa\sigma` with :math:`\kappa = \sqrt{\beta_t}`. The paper's three
  schedules are ``LCB(1.0)`` (its default), ``LCB(1.96)`` and ``LCB.growing(t)`` with
  :math:`\kappa_t = 3\sqrt{\tfrac12 \log(2(t+1))}`.
* ``EI()``: minus the expected improvement below the best observed value. It may
  underflow, so proposers compare its logarithm, `EI.log`.

Any function of ``(mean, std, best)`` can be used (``docs/extending/own-acquisition.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from .arrays import FloatArray
from .errors import InvalidInputError

_ROUNDING = 1e-9  # relative to the largest value: smaller steps in the wrong direction are ignored
_SURE = 40.0  # deviations: beyond, the improvement equals the gain to the last digit
_FAR = 100.0  # deviations: beyond, four terms of a series are more exact than a difference


class Acquisition(Protocol):
    """The criterion that a proposer minimises.

    The value of a graph must depend on its own mean and deviation alone. An acquisition function
    may have an attribute ``monotone = True`` to declare that its value never falls when the mean
    rises and never rises when the deviation rises; `is_monotone` reads it.
    """

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        """Value of each candidate, given the best observed objective value.

        A value may be infinite, which excludes the graph, but never NaN.
        """


def is_monotone(acquisition: Acquisition) -> bool:
    """True if it declares that it is smallest at the lowest mean and largest deviation."""
    return getattr(acquisition, "monotone", False) is True


def checked_values(
    acquisition: Acquisition, mean: FloatArray, std: FloatArray, best: float
) -> FloatArray:
    """Values of a custom acquisition function: one per graph, none NaN or ``-inf``."""
    with np.errstate(all="ignore"):  # infinite values are allowed; anything else is checked below
        found = acquisition(mean, std, best)
    name = name_of(acquisition)
    try:
        out = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"acquisition {name}: expected an array of numbers, got {type(found).__name__}"
        ) from None
    if out.shape != mean.shape:
        raise InvalidInputError(
            f"acquisition {name}: expected one value per graph, shape {mean.shape}, got shape "
            f"{out.shape}"
        )
    wrong = np.flatnonzero(np.isnan(out) | (out == -np.inf))
    if wrong.size:
        i = wrong[0]
        raise InvalidInputError(
            f"acquisition {name}: expected a number, got {out[i]} for mean {mean[i]:.6g}, std "
            f"{std[i]:.6g} and best {best:.6g}"
        )
    return out


def check_monotone(
    acquisition: Acquisition, means: FloatArray, stds: FloatArray, best: float
) -> None:
    """Raise if an acquisition declared monotone is not monotone on the grid of these values."""
    mean, std = np.meshgrid(np.unique(means), np.unique(stds), indexing="ij")
    values = checked_values(acquisition, mean.ravel(), std.ravel(), best).reshape(mean.shape)
    finite = np.where(np.isinf(values), np.finfo(float).max / 4, values)
    room = _ROUNDING * float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    for axis, falls, words in (
        (0, -1.0, "its value falls from {0:.6g} to {1:.6g} when the mean rises"),
        (1, 1.0, "its value rises from {0:.6g} to {1:.6g} when the deviation rises"),
    ):
        steps = falls * np.diff(finite, axis=axis)
        if steps.size and steps.max() > room:
            i, j = np.unravel_index(steps.argmax(), steps.shape)
            after = (i + 1, j) if axis == 0 else (i, j + 1)
            raise InvalidInputError(
                f"acquisition {name_of(acquisition)} declares monotone = True, but "
                f"{words.format(values[i, j], values[after])} (mean {mean[after]:.6g}, std "
                f"{std[after]:.6g}, best {best:.6g}); remove the declaration"
            )


def name_of(acquisition: Acquisition) -> str:
    """Name of an acquisition function in messages."""
    return getattr(acquisition, "__name__", None) or type(acquisition).__name__


def _is_finite(value: object) -> bool:
    """True for a finite number within the range of floats."""
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
    monotone: ClassVar[bool] = True

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
    """Minus the expected improvement below ``best - xi``; without uncertainty, minus the gain.

    >>> EI()(np.array([40.0]), np.array([1.0]), best=0.0)
    array([-0.])
    >>> EI().log(np.array([40.0]), np.array([1.0]), best=0.0).round(3)
    array([-808.299])
    """

    xi: float = 0.0
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not _is_finite(self.xi):
            raise InvalidInputError(f"xi must be a finite number, got {self.xi!r:.100}")

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        gain, u = self._gain(mean, std, best)
        with np.errstate(over="ignore"):  # on overflow, the improvement is the gain
            uncertain = np.exp(self.log(mean, std, best))
        certain = (std <= 0) | (u > _SURE)
        return np.asarray(-np.where(certain, np.maximum(gain, 0.0), uncertain))

    def log(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        """Logarithm of the expected improvement, accurate even where that underflows.

        It is minus infinity for a point without uncertainty that is not better.
        """
        gain, u = self._gain(mean, std, best)
        with np.errstate(divide="ignore"):
            certain = np.log(np.maximum(gain, 0.0))
            uncertain = np.log(std) + log_h(np.minimum(u, _SURE))
        return np.asarray(np.where((std <= 0) | (u > _SURE), certain, uncertain))

    def _gain(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray]:
        """The improvement of the mean, and the same in standard deviations."""
        gain = best - self.xi - mean
        with np.errstate(over="ignore"):  # infinite for almost certain points, as it should be
            return gain, gain / np.where(std > 0, std, 1.0)


def log_h(u: FloatArray) -> FloatArray:
    r"""Logarithm of :math:`h(u) = \varphi(u) + u \Phi(u)`; EI is :math:`\sigma h(gain / \sigma)`.

    With m Mills' ratio, :math:`h(-u) = \varphi(u)(1 - u\, m(u))`. Far out, where that difference
    loses its digits, :math:`1 - u\, m(u) \approx u^{-2} - 3 u^{-4} + 15 u^{-6} - 105 u^{-8}`
    (after Ament, Daulton, Eriksson, Balandat and Bakshy, "Unexpected improvements to expected
    improvement for Bayesian optimization", 2023).
    """
    from scipy.special import erfcx, ndtr  # late: keeps `import bogrape` quick

    near = np.maximum(u, -1.0)
    density = np.exp(-0.5 * near * near) / math.sqrt(2.0 * math.pi)
    of_near = np.log(density + near * ndtr(near))
    away = np.clip(-u, 1.0, _FAR)
    of_away = np.log1p(-away * math.sqrt(0.5 * math.pi) * erfcx(away / math.sqrt(2.0)))
    far = np.maximum(-u, _FAR)
    tail = (far**-2.0) * (-3.0 + far**-2.0 * (15.0 - 105.0 * far**-2.0))
    of_far = np.log1p(tail) - 2.0 * np.log(far)
    with np.errstate(over="ignore"):  # beyond 1e154 deviations the logarithm itself is too large
        beside = -0.5 * u * u - 0.5 * math.log(2.0 * math.pi)
    return np.asarray(np.where(u > -1.0, of_near, beside + np.where(u > -_FAR, of_away, of_far)))
