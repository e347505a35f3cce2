"""Checks of numbers that a caller gave.

Each returns the number in its normal form, or raises an error that says what was expected and what
came. Whoever has more to say, such as a rule with a remedy, asks `is_whole` or `is_number`.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from .errors import InvalidInputError


def is_whole(value: object) -> TypeGuard[Any]:
    """Whether it is an integer, of Python or of numpy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: object) -> TypeGuard[Any]:
    """Whether it is a real number that a float can hold, not NaN; True and False are none."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:  # an integer of too many digits
        return False


def whole(
    value: object,
    what: str,
    least: int,
    error: type[InvalidInputError] = InvalidInputError,
    most: int | None = None,
) -> int:
    """An integer of at least ``least``, and at most ``most``."""
    if not is_whole(value) or value < least:
        raise error(f"expected {what} to be an integer >= {least}, got {shown(value)}")
    if most is not None and value > most:
        raise error(f"expected {what} to be at most {most}, got {shown(value)}; try a smaller one")
    return int(value)


def positive(value: object, what: str, *, finite: bool = True) -> float:
    """A number above zero, which may be infinite unless ``finite``."""
    if not is_number(value) or not value > 0 or (finite and math.isinf(value)):
        kind = "finite number" if finite else "number"
        raise InvalidInputError(f"expected {what} to be a {kind} > 0, got {shown(value)}")
    return float(value)


def seconds(value: object, what: str) -> float:
    """A duration above zero; one beyond the range of floats is infinite."""
    if is_whole(value) and value > 0 and not is_number(value):
        return math.inf
    if not is_number(value) or not value > 0:
        raise InvalidInputError(
            f"expected {what} to be a number of seconds > 0, got {shown(value)}"
        )
    return float(value)


def shown(value: object) -> str:
    """The value for a message, cut to a length one can read."""
    try:
        text = repr(value)
    except Exception:  # of the caller's own class, or an integer of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:199] + "…"
