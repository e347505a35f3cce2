"""Observed values in standardised units: minus their mean, over their standard deviation.

Everything the package computes from observations it computes from the standardised ones, so that
the objective may be measured in any unit and from any zero. That is as exact as floating point
allows: values are scaled by a power of two first (nothing overflows, nothing is rounded), then
taken relative to one of them (which loses nothing where they lie close together, far from zero),
and averaged by `math.fsum`. What is left of the units are a few last digits; the standardised
values are rounded to 40 binary places, beyond all noise, so that mostly not even these are left.

Values whose noise is known count the less, the larger it is: one that may be off by a thousand must
not decide where zero is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .arrays import FloatArray

_PLACES = 40  # binary, of a standardised value
_LEAST_TO_CLIP = 5  # values
_LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False)
class Standardised:
    """Values ``mean + scale * y``; where all are equal, ``y`` is zero and ``scale`` is one."""

    y: FloatArray
    mean: float
    scale: float
    clipped: tuple[int, ...] = ()  # which values lay too far out and were replaced


def standardise(
    values: FloatArray, clip: float | None = None, noise: FloatArray | None = None
) -> Standardised:
    """Finite values in standardised units; with ``clip``, far ones are replaced first.

    With ``noise``, variances of the values, mean and deviation are weighted (`_weights`).
    """
    clipped: tuple[int, ...] = ()
    if clip is not None:
        values, clipped = _clipped(values, clip)
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
        return Standardised(np.zeros(len(values)), mean, 1.0, clipped)
    centred = apart - middle
    deviation = math.sqrt(math.fsum(weights * centred**2) / total)
    y = np.round(np.ldexp(centred / deviation, _PLACES))
    # not zero, though values may differ by less than a number can say
    scale = max(math.ldexp(deviation, exponent), math.ulp(0.0))
    return Standardised(np.ldexp(y, -_PLACES), mean, scale, clipped)


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
    """Far values replaced by the nearest that is not far, and which they are (*winsorised*).

    A value is far if its distance from the median is more than ``clip`` times the typical one: the
    median of those that are not zero. Nearly half of the values may lie anywhere. Of very few
    values none can be told to be the odd one.
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


def _lower_median(values: FloatArray) -> float:
    """The middle value, or the smaller of two."""
    return float(np.sort(values)[(len(values) - 1) // 2])
