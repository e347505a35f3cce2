"""Chords between EI and LCB, against EI itself on grids of means and deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape.acquisition import EI
from bogrape.propose.exact.bounds.ei_chords import Chord, chords, largest_mean, whole_range
from bogrape.propose.values import CERTAIN

goals = st.floats(-5, 5)
values = st.floats(-4, 60) | st.floats(60, 1e6)  # minus log EI
largest = st.floats(1e-3, 200)
counts = st.integers(1, 12)


def value_of(mean: np.ndarray, std: np.ndarray, goal: float) -> np.ndarray:
    """Minus log EI, where small deviations count as `CERTAIN`."""
    return -EI().log(mean, np.maximum(std, CERTAIN), goal)


def assert_no_graph_is_lost(some: Sequence[Chord], value: float, top: float) -> None:
    """Whatever is better than the value is below the limit of a chord for its deviation."""
    goal = some[0].goal
    std = np.concatenate([np.linspace(0.0, top, 200), [c.low for c in some], [0.5 * CERTAIN]])
    for below in (1e-9, 1e-3, 0.3):
        mean = largest_mean(goal, value, np.maximum(std, CERTAIN))
        mean = mean - below * (1e-3 + np.abs(goal - mean))
        better = value_of(mean, std, goal) < value
        assert better.any()
        told = np.zeros(len(std), dtype=bool)
        for chord in some:
            inside = (np.maximum(std, CERTAIN) >= chord.low) & (std <= chord.high)
            told |= inside & (mean - chord.kappa * std < chord.limit(value))
        assert told[better].all()


def assert_bound_holds(chord: Chord, lcb: float) -> None:
    """No graph in the range with at least this LCB has a value below the chord's."""
    std = np.linspace(0.0 if chord.low <= CERTAIN else chord.low, chord.high, 300)
    for above in (0.0, 1e-6, 1.0):
        found = value_of(lcb + above + chord.kappa * std, std, chord.goal)
        assert chord.value(lcb) <= found.min()


@given(goals, values, largest, counts)
def test_whatever_beats_a_value_is_below_a_chord(
    goal: float, value: float, top: float, n_most: int
) -> None:
    some = chords(goal, value, top, apart=1e-3 * top, n_most=n_most)
    assert len(some) <= n_most
    assert some[0].low == CERTAIN
    assert some[-1].high >= top
    assert all(a.high == b.low for a, b in pairwise(some))
    assert_no_graph_is_lost(some, value, top)


@given(goals, values, largest, counts, st.floats(-3, 3), st.floats(-1, 1))
def test_a_bound_on_lcb_gives_a_bound_on_ei(
    goal: float, value: float, top: float, n_most: int, more: float, to: float
) -> None:
    for chord in chords(goal, value, top, apart=1e-3 * top, n_most=n_most):
        assert_bound_holds(chord, chord.limit(value) + more)
        assert_bound_holds(chord, goal + to * top)


@given(goals, st.floats(-4, 60), st.floats(1e-2, 200), counts)
def test_limits_and_bounds_are_tight(goal: float, value: float, top: float, n_most: int) -> None:
    """A bound on LCB equal to the limit settles a chord, and the mean M attains the value."""
    some = chords(goal, value, top, apart=1e-3 * top, n_most=n_most)
    for chord in some:
        steep = chord.kappa * CERTAIN / chord.low if chord.low <= CERTAIN else 0.0
        settled = chord.value(chord.limit(value))
        assert value - 1e-6 * max(1.0, abs(value)) * (1 + 1e5 * steep) <= settled
        assert settled <= value + 1e-9 * max(1.0, abs(value))
    std = np.linspace(max(1e-3, 1e-3 * top), top, 50)
    found = value_of(largest_mean(goal, value, std), std, goal)
    np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9)


@given(goals, st.floats(-2, 60), st.floats(0.1, 10))
def test_more_chords_are_closer(goal: float, value: float, top: float) -> None:
    few = chords(goal, value, top, apart=0.0, n_most=2)
    many = chords(goal, value, top, apart=0.0, n_most=16)
    std = np.linspace(CERTAIN, top, 100)

    def highest(some: Sequence[Chord]) -> np.ndarray:
        lines = [chord.limit(value) + chord.kappa * std for chord in some]
        return np.max(lines, axis=0) - largest_mean(goal, value, std)

    assert highest(many).max() <= highest(few).max() + 1e-9
    assert highest(many).min() >= 0


def test_without_a_value_there_is_one_chord() -> None:
    (chord,) = chords(0.0, math.inf, 2.0, apart=0.01, n_most=8)
    assert chord == whole_range(0.0, math.inf, 2.0)
    assert (chord.limit(math.inf), chord.value(-math.inf)) == (math.inf, -math.inf)


# -- mutations: the checks above notice them ------------------------------------------------------


class _TooLow(Chord):
    def limit(self, value: float) -> float:
        return super().limit(value) - 1e-3


class _TooHigh(Chord):
    def value(self, lcb: float) -> float:
        return super().value(lcb) + 1e-3


class _OneEnd(Chord):
    """Considers only one end of its range."""

    def value(self, lcb: float) -> float:
        return Chord(self.goal, 0.999 * self.high, self.high, self.kappa).value(lcb)


def _as(kind: type[Chord], chord: Chord) -> Chord:
    return kind(chord.goal, chord.low, chord.high, chord.kappa)


@pytest.mark.parametrize("value", [-1.0, 2.0, 30.0])
def test_slightly_wrong_chords_are_caught(value: float) -> None:
    some = chords(-1.0, value, 1.0, apart=0.0, n_most=4)
    assert_no_graph_is_lost(some, value, 1.0)
    with pytest.raises(AssertionError):
        assert_no_graph_is_lost([_as(_TooLow, chord) for chord in some], value, 1.0)
    with pytest.raises(AssertionError):
        assert_no_graph_is_lost(some[:2] + some[3:], value, 1.0)
    assert_bound_holds(some[0], some[0].limit(value) + 0.5)
    with pytest.raises(AssertionError):
        assert_bound_holds(_as(_TooHigh, some[0]), some[0].limit(value))
    with pytest.raises(AssertionError):
        assert_bound_holds(_as(_OneEnd, some[0]), some[0].limit(value) - 0.5)
