"""Observed values and their noise: checked, and in standardised units.

Standardised values are the observed ones minus their mean, over their standard deviation.
Everything the package computes from observations it computes from the standardised ones, so that
the objective may be measured in any unit and from any zero. That is as exact as floating point
allows: values are scaled by a power of two first (nothing overflows, nothing is rounded), then
taken relative to one of them (which loses nothing where they lie close together, far from zero),
and averaged by `math.fsum`. The units then affect only the last few digits; standardised
values are rounded to 40 binary places, far below all noise, which mostly removes these, too.

The variance of an observation is the noise of the model, which all share (what the kernel cannot
explain, and measurements of unknown accuracy), plus its own, if it is known from the measurement.
So a model with ``noise="fit"`` estimates the noise beyond the known variances, and the covariance
``K = K_XX + diag(v)`` is never nearer to singular than the noise of the model makes it. Values
whose noise is known have less weight, the larger it is: one that may be off by a thousand must not
determine the origin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray
from .counts import n_given
from .errors import InvalidInputError
from .graph import Graph

_PLACES = 40  # binary, of a standardised value
_LEAST_TO_CLIP = 5  # values
_LEAST_WEIGHT = 1e-12
# Largest variance in standardised units: such an observation has no influence, and larger numbers
# only lose digits.
_MOST_NOISE = 1e12


def checked_observations(graphs: Sequence[Graph], y: ArrayLike) -> FloatArray:
    """The values as an array, checked: one finite value per graph, and at least two."""
    try:
        values = np.array(y, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"y must be numbers, one per graph: {error}") from None
    if values.ndim != 1 or len(values) != n_given(graphs):
        raise InvalidInputError(
            f"expected one value per graph, got {n_given(graphs)} graphs "
            f"and y of shape {values.shape}"
        )
    if len(values) < 2:
        raise InvalidInputError(f"expected at least two observations, got {len(values)}")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidInputError(
            f"y must be finite, but y[{bad[0]}] is {values[bad[0]]}; leave failed evaluations out"
        )
    return values


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Standardised:
    """Values ``mean + scale * y``; where all are equal, ``y`` is zero and ``scale`` is one."""

    y: FloatArray
    mean: float
    scale: float
    clipped: tuple[int, ...] = ()  # positions of far values that were replaced
    capped: tuple[int, ...] = ()  # positions of bad values that the cap replaced


def standardise(
    values: FloatArray,
    clip: float | None = None,
    noise: FloatArray | None = None,
    cap: float | None = None,
) -> Standardised:
    """Finite values in standardised units; far ones (``clip``) and bad ones (``cap``) are replaced.

    With ``noise``, variances of the values, mean and deviation are weighted (`_weights`).
    """
    clipped: tuple[int, ...] = ()
    capped: tuple[int, ...] = ()
    if clip is not None:
        values, clipped = _clipped(values, clip)
    if cap is not None:
        values, capped = _capped(values, cap)
    exponent = math.frexp(float(np.abs(values).max()))[1]
    scaled = np.ldexp(values, -exponent)  # none is larger than one
    start = float(scaled[0])
    apart = scaled - start
    weights = np.ones(len(values))
    if noise is not None:
        with np.errstate(over="ignore"):
            weights = _weights(apart, np.ldexp(noise, -2 * exponent))
    total = math.fsum(weights)
    middle = math.fsum(weights * apart) / total
    mean = math.ldexp(start + middle, exponent)
    if values.min() == values.max():
        none = np.zeros(len(values))
        return Standardised(y=none, mean=mean, scale=1.0, clipped=clipped, capped=capped)
    centred = apart - middle
    deviation = math.sqrt(math.fsum(weights * centred**2) / total)
    y = np.round(np.ldexp(centred / deviation, _PLACES))
    # not zero, even if the values differ by less than floats can represent
    scale = max(math.ldexp(deviation, exponent), math.ulp(0.0))
    return Standardised(
        y=np.ldexp(y, -_PLACES), mean=mean, scale=scale, clipped=clipped, capped=capped
    )


def _weights(values: FloatArray, noise: FloatArray) -> FloatArray:
    """``1 / (s + noise)``, relative to the largest, with s the typical squared distance of values.

    Values with equal noise have equal weights, whatever the noise.
    """
    distance = np.abs(values - _lower_median(values))
    if not distance.any():
        return np.ones(len(values))
    typical = _lower_median(distance[distance > 0])
    share = np.minimum(noise / typical / typical, 1e300)  # not its square, which may be zero
    weights = (1.0 + share.min()) / (1.0 + share)
    return np.asarray(np.maximum(weights, _LEAST_WEIGHT))


def _clipped(values: FloatArray, clip: float) -> tuple[FloatArray, tuple[int, ...]]:
    """Replace far values by the nearest that is not far (*winsorise*); also their positions.

    A value is far if its distance from the median is more than ``clip`` times the typical one: the
    median of those that are not zero. Nearly half of the values may lie anywhere. Among
    very few values no outlier can be identified.
    """
    if len(values) < _LEAST_TO_CLIP:
        return values, ()
    with np.errstate(over="ignore"):  # an infinite distance is a large one
        distance = np.abs(values - _lower_median(values))
    if not distance.any():
        return values, ()
    far = distance > clip * _lower_median(distance[distance > 0])
    kept = values[~far]
    return np.clip(values, kept.min(), kept.max()), tuple(map(int, np.flatnonzero(far)))


def _capped(values: FloatArray, cap: float) -> tuple[FloatArray, tuple[int, ...]]:
    """Bad (large) values replaced by the cap: the median plus ``cap`` times the typical distance.

    Values are minimised, so how bad the bad ones are is irrelevant; but one that is far worse than
    all others would determine the origin and the scale. Good values are not changed.
    """
    if len(values) < _LEAST_TO_CLIP:
        return values, ()
    median = _lower_median(values)
    with np.errstate(over="ignore"):  # an infinite distance is a large one
        distance = np.abs(values - median)
        if not distance.any():
            return values, ()
        limit = median + cap * _lower_median(distance[distance > 0])
    bad = values > limit
    return np.where(bad, limit, values), tuple(map(int, np.flatnonzero(bad)))


def _lower_median(values: FloatArray) -> float:
    """The middle value, or the smaller of two."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def standardised_noise(noise: FloatArray, scale: float) -> FloatArray:
    """Variances in units of the squared standard deviation of the observations."""
    with np.errstate(over="ignore"):  # twice, since the square of the scale may overflow
        return np.minimum(noise / scale / scale, _MOST_NOISE)


def evened(variances: FloatArray) -> tuple[float, FloatArray]:
    """The smallest variance v, and factors of rows that make all of them equal to it.

    With ``r_i = sqrt(v / v_i)``, ``diag(r) K diag(r) = diag(r) K_XX diag(r) + v I``: scaled rows of
    features and scaled observations follow the formulas for equal noise.
    """
    least = float(variances.min())
    return least, np.sqrt(least / variances)
