"""Ranges narrowed by inequalities keep every integer point that satisfies these."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from bogrape.propose.exact.bounds.lines_below import Box
from bogrape.propose.exact.bounds.propagation import Propagation


@st.composite
def programs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Box]:
    n, rows = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    weights = st.lists(st.integers(-3, 3), min_size=n, max_size=n)
    matrix = np.array([draw(weights) for _ in range(rows)], dtype=float).reshape(rows, n)
    most = np.array([float(draw(st.integers(-8, 12))) for _ in range(rows)])
    low = np.array([float(draw(st.integers(0, 3))) for _ in range(n)])
    high = low + np.array([float(draw(st.integers(0, 4))) for _ in range(n)])
    return matrix, most, Box(low, high)


@given(programs())
@settings(max_examples=300, deadline=None)
def test_nothing_that_obeys_the_inequalities_is_lost(
    program: tuple[np.ndarray, np.ndarray, Box],
) -> None:
    matrix, most, box = program
    found = Propagation(csr_array(matrix), most)(box)
    ranges = [range(int(low), int(high) + 1) for low, high in zip(box.low, box.high, strict=True)]
    points = np.array(list(product(*ranges)), dtype=float)
    obeying = points[(points @ matrix.T <= most).all(axis=1)]
    if found is None:
        assert not len(obeying)
        return
    assert ((found.low <= obeying) & (obeying <= found.high)).all()
    assert (box.low <= found.low).all()
    assert (found.high <= box.high).all()


def test_one_inequality_narrows_ranges_as_far_as_it_implies() -> None:
    """``2x + y <= 7`` bounds each variable, given the smallest value of the other."""
    found = Propagation(csr_array(np.array([[2.0, 1.0]])), np.array([7.0]))(
        Box(np.array([1.0, 2.0]), np.array([9.0, 9.0]))
    )
    assert found is not None
    assert found.high.tolist() == [2.0, 5.0]
    below = Propagation(csr_array(np.array([[-1.0, -1.0]])), np.array([-7.0]))(
        Box(np.array([0.0, 0.0]), np.array([4.0, 5.0]))
    )
    assert below is not None
    assert below.low.tolist() == [2.0, 3.0]
    nothing = Propagation(csr_array(np.array([[1.0, 1.0]])), np.array([1.0]))
    assert nothing(Box(np.array([1.0, 1.0]), np.array([2.0, 2.0]))) is None
