"""Values of objectives and their noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np

from ..errors import InvalidInputError


@final
@dataclass(frozen=True)
class Measurement:
    """A value with its noise variance; an objective may return one.

    Attributes:
        value: the number to be optimised; of several properties, the numbers by name.
        noise: its variance, in units of the value squared; ``None`` if it is unknown. Of several
            properties, the variances by name.
    """

    value: Any
    noise: Any = None


def as_value(value: Any) -> float:
    """The value as a finite float; anything else raises an error with a reason for the trial."""
    if value is None:
        raise InvalidInputError(
            "the objective must give a finite number, got None; is a return missing?"
        )
    number = _plain(value)
    if isinstance(value, Mapping):
        raise InvalidInputError(
            f"the objective must give a finite number, got the values of {len(value)} properties; "
            "for several properties, create the study with a goal for each, e.g. "
            "properties={'qed': 'maximize', 'sa': 'minimize'}"
        )
    if number is None:
        shown = repr(value)
        raise InvalidInputError(
            f"the objective must give a finite number, got {type(value).__name__} "
            f"{shown if len(shown) <= 80 else shown[:80] + '…'}"
        )
    if not math.isfinite(number):
        raise InvalidInputError(
            f"the objective must give a finite number, got {number}; report a failed evaluation "
            "with fail, or by raising an exception"
        )
    return number


def as_noise(noise: Any) -> float | None:
    """A variance as a finite float >= 0; ``None`` for NaN and None, which stand for unknown."""
    if noise is None:
        return None
    number = _plain(noise)
    if number is None or not 0 <= number < math.inf:
        if number is not None and math.isnan(number):
            return None
        raise InvalidInputError(
            "noise must be the variance of the value, a finite number >= 0 (the square of the "
            f"standard deviation, in the same units), or None if it is unknown; got {noise!r:.80}"
        )
    return number


def _plain(value: Any) -> float | None:
    """The value as a float, also of a numpy or torch scalar; ``None`` if it is not a number."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf
