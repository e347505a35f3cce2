"""Noise variances that differ from one observation to the next.

The variance of an observation is the noise of the model, which all share (what the kernel cannot
explain, and measurements of unknown accuracy), plus its own, if it is known from the measurement.
So a model with ``noise="fit"`` finds what there is beyond the known variances, and the covariance
``K = K_XX + diag(v)`` is never nearer to singular than the noise of the model makes it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray
from .errors import InvalidInputError

# In standardised units: such an observation has no say left, and larger numbers only cost digits.
_MOST = 1e12


def checked_noise(noise: ArrayLike | None, n: int) -> FloatArray | None:
    """Known variances, with zero for unknown ones (None or NaN); ``None`` if all are unknown."""
    if noise is None:
        return None
    try:
        values = np.array(noise, dtype=float)  # makes NaN of None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"noise must be variances, one per graph: {error}") from None
    if values.shape != (n,):
        raise InvalidInputError(
            f"expected one noise variance per graph, got {n} graphs and noise of shape "
            f"{values.shape}; one variance for all observations is GraphGP(noise=...), in units of "
            "the standardised ones"
        )
    bad = np.flatnonzero((values < 0) | np.isinf(values))
    if bad.size:
        raise InvalidInputError(
            f"noise must be variances >= 0, and NaN or None where they are unknown, but "
            f"noise[{bad[0]}] is {values[bad[0]]}"
        )
    known = np.where(np.isnan(values), 0.0, values)
    return known if known.any() else None


def standardised_noise(noise: FloatArray, scale: float) -> FloatArray:
    """Variances in units of the squared standard deviation of the observations."""
    with np.errstate(over="ignore"):  # twice, since the square of the scale may overflow
        return np.minimum(noise / scale / scale, _MOST)


def evened(variances: FloatArray) -> tuple[float, FloatArray]:
    """The smallest variance v, and factors of rows that make all of them equal to it.

    With ``r_i = sqrt(v / v_i)``, ``diag(r) K diag(r) = diag(r) K_XX diag(r) + v I``: scaled rows of
    features and scaled observations follow the formulas for equal noise.
    """
    least = float(variances.min())
    return least, np.sqrt(least / variances)
