"""Remainders of the exponential series, compared with fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from bogrape.propose.exact.bounds.exponential_series import exponential_beyond


@pytest.mark.parametrize("m", [2, 3])
def test_the_remainder_of_the_exponential_series_loses_no_digits(m: int) -> None:
    t = np.array([-30.0, -1.5, -1.0, -1e-3, 0.0, 1e-5, 0.3, 1.0, 2.0, 30.0])
    expected = []
    for v in t:
        terms = [Fraction(float(v)) ** k / math.factorial(k) for k in range(m, 200)]
        expected.append(float(sum(terms)))
    np.testing.assert_allclose(exponential_beyond(t, m), expected, rtol=1e-11, atol=0)
