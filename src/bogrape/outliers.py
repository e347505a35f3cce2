"""Suspicious observations: values that all others together contradict.

The rule of ``noise="robust"``: an observation is suspicious if it lies more than four standard
deviations from what the model predicts for it from all others (leave-one-out), noise included. A
suspicious one keeps its value but gets additional noise, the square of its error, so that it has
almost no influence. The model is then fitted again and all are judged again, since one bad value
increases the noise, which hides others. To avoid this in the first fit, values far from the median
count as suspicious there. At most a fifth of the observations are called suspicious.

This is relevance pursuit (Ament et al., 2024) with a fixed threshold: given the rest, this noise is
the most likely one (less the variance of the prediction).
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray
from .left_out import Inverse
from .posterior import FittedModel

ROUNDS = 6  # most fits
_THRESHOLD = 4.0  # standard deviations
_FAR = 6.0  # typical distances from the median: four deviations of normal values
_MOST = 0.2  # of the observations
_FEWEST = 5  # observations, below which none is suspected


def far_values(values: FloatArray) -> FloatArray:
    """Initial variances: squared distances from the median for values far from it, else zero."""
    off = np.abs(values - np.median(values))
    typical = float(np.median(off[off > 0])) if off.any() else 0.0
    return _of_the_worst(off, off / typical if typical > 0 else np.zeros(len(off)), _FAR)


def suspicious_values(model: FittedModel, extra: FloatArray) -> FloatArray:
    """Variances for suspicious observations of a fitted model, zero for others; standardised.

    ``extra`` holds those of the last fit, which are not counted when errors are judged.
    """
    inverse = Inverse(model)
    diagonal = inverse.diagonal
    error = np.abs(inverse @ model.y) / diagonal
    variance = np.maximum(1.0 / diagonal - extra, model.noise)
    return _of_the_worst(error, error / np.sqrt(variance), _THRESHOLD)


def _of_the_worst(error: FloatArray, relative: FloatArray, threshold: float) -> FloatArray:
    """Squared errors of those that are relatively large, at most a fifth; zero for the others."""
    out = np.zeros(len(error))
    if len(error) < _FEWEST:
        return out
    worst = np.argsort(-relative, kind="stable")[: int(_MOST * len(error))]
    worst = worst[relative[worst] > threshold]
    with np.errstate(over="ignore"):
        out[worst] = np.minimum(error[worst] ** 2, np.finfo(float).max)
    return out
