"""The exponential series from some degree on, for bounds on what a polynomial leaves out."""

from __future__ import annotations

import math

import numpy as np

from ....arrays import FloatArray

_TERMS = 18


def exponential_beyond(t: FloatArray, m: int) -> FloatArray:
    """The sum of ``t^k / k!`` for k from m on, without cancellation where t is small."""
    small = np.clip(t, -1.0, 1.0)
    series = np.ones_like(small)
    for k in range(m + _TERMS, m, -1):
        series = 1.0 + series * small / k
    series = series * small**m / math.factorial(m)
    before = sum(t**k / math.factorial(k) for k in range(m))
    return np.asarray(np.where(np.abs(t) <= 1.0, series, np.exp(t) - before))
