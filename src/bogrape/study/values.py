"""What counts as a value of an objective."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InvalidInputError


def as_value(value: Any) -> float:
    """The value as a finite float; anything else is refused with a reason fit for a trial."""
    if value is None:
        raise InvalidInputError(
            "the objective must give a finite number, got None; is a return missing?"
        )
    number = _plain(value)
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


def _plain(value: Any) -> float | None:
    """The number, also out of a numpy or torch scalar; ``None`` for whatever is not one."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf
