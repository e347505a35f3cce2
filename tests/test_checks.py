"""Checks of numbers: all numeric types are accepted, and errors help."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape.checks import is_number, is_whole, positive, seconds, shown, whole
from bogrape.errors import InvalidInputError, InvalidSpaceError

NO_INTEGERS: list[Any] = [True, np.bool_(True), 2.0, np.float64(2), "2", None, Fraction(2), [2]]
NO_NUMBERS: list[Any] = [True, np.bool_(False), "2", None, math.nan, 10**400, 1j, [2.0]]


@given(st.integers(0, 2**62))
def test_integers_of_numpy_are_accepted_and_become_those_of_python(value: int) -> None:
    for given_as in (value, np.int64(value), np.uint64(value)):
        found = whole(given_as, "k", 0)
        assert type(found) is int
        assert found == value


@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_values_that_are_not_integers_are_refused(value: Any) -> None:
    assert not is_whole(value)
    with pytest.raises(InvalidInputError, match=r"^expected k to be an integer >= 0, got "):
        whole(value, "k", 0)


def test_integers_out_of_range_are_refused_with_the_error_of_the_caller() -> None:
    with pytest.raises(InvalidSpaceError, match="expected k to be an integer >= 3, got 2"):
        whole(2, "k", 3, InvalidSpaceError)
    with pytest.raises(InvalidInputError, match="expected k to be at most 5, got 6; try a smaller"):
        whole(6, "k", 3, most=5)
    assert whole(5, "k", 5, most=5) == 5


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: shown(value)[:20])
def test_values_that_are_not_numbers_are_refused(value: Any) -> None:
    assert not is_number(value)
    with pytest.raises(InvalidInputError, match=r"^expected x to be a finite number > 0, got "):
        positive(value, "x")


@given(st.floats(allow_nan=False))
def test_exactly_the_numbers_above_zero_are_positive(value: float) -> None:
    for given_as in (value, np.float64(value)):
        if value > 0 and value < math.inf:
            assert positive(given_as, "x") == value
        else:
            with pytest.raises(InvalidInputError, match="finite number > 0"):
                positive(given_as, "x")
    assert positive(math.inf, "x", finite=False) == math.inf


def test_a_duration_may_be_infinite_or_too_long_for_a_float() -> None:
    assert seconds(0.5, "t") == 0.5
    assert seconds(math.inf, "t") == seconds(10**400, "t") == math.inf
    for wrong in (0, -1.0, math.nan, True, "5", None, -(10**400)):
        with pytest.raises(InvalidInputError, match="expected t to be a number of seconds > 0"):
            seconds(wrong, "t")


def test_any_value_is_shown_at_readable_length() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown("a") == "'a'"
    assert len(shown("a" * 10_000)) == 200
    assert shown(Hostile()) == "a Hostile"
    assert shown(10**5000) == "a int"
