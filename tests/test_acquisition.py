"""Acquisition functions compared with their definitions."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from bogrape.acquisition import EI, LCB
from bogrape.errors import InvalidInputError

import oracles

means, deviations = st.floats(-5, 5), st.floats(0.01, 5)


def value(acquisition: Any, mean: float, std: float, best: float = 0.0) -> float:
    return float(acquisition(np.array([mean]), np.array([std]), best)[0])


@given(means, deviations, st.floats(0, 4))
def test_lcb_is_the_mean_less_kappa_deviations(mean: float, std: float, kappa: float) -> None:
    assert value(LCB(kappa), mean, std) == pytest.approx(mean - kappa * std)


def test_lcb_has_the_three_schedules_of_the_paper() -> None:
    assert LCB() == LCB(1.0)
    assert LCB(1.96).kappa == 1.96
    for t in (0, 1, 10, 1000):
        assert LCB.growing(t).kappa == pytest.approx(3 * math.sqrt(0.5 * math.log(2 * (t + 1))))
    assert LCB.growing(0).kappa < LCB.growing(1).kappa < LCB.growing(2).kappa


@given(means, deviations, means, st.floats(0, 1))
def test_ei_is_minus_the_integral_of_the_improvement(
    mean: float, std: float, best: float, xi: float
) -> None:
    goal = best - xi
    integral, _ = quad(
        lambda u: max(goal - (mean + std * u), 0.0) * norm.pdf(u),
        -12,
        min(12.0, max(-12.0, (goal - mean) / std)),
        epsabs=1e-12,
    )
    assert value(EI(xi), mean, std, best) == pytest.approx(-integral, rel=1e-6, abs=1e-9)


@given(means, st.just(0.0) | st.floats(1e-300, 1e3), means)
def test_ei_is_finite_and_never_positive(mean: float, std: float, best: float) -> None:
    found = value(EI(), mean, std, best)
    assert math.isfinite(found)
    assert found <= 0
    assert found <= -max(best - mean, 0.0) * (1 - 1e-12)


def test_ei_of_a_certain_point_is_its_plain_improvement() -> None:
    assert value(EI(), mean=1.0, std=0.0, best=3.0) == -2.0
    assert value(EI(), mean=3.0, std=0.0, best=1.0) == 0.0


def test_ei_of_hopeless_points_is_tiny_and_still_ordered() -> None:
    far = [value(EI(), mean, 1.0) for mean in (5.0, 10.0, 20.0, 30.0)]
    assert far == sorted(far)
    assert all(-1e-6 < found < 0 for found in far)


FAR = [sign * 10.0**power for sign in (-1, 1) for power in np.arange(-3, 8.01, 0.25)]


@pytest.mark.parametrize("gain", [0.0, *FAR])
def test_log_ei_is_right_to_ten_digits_however_hopeless_the_point(gain: float) -> None:
    for std in (1e-9, 0.37, 1.0, 250.0):
        expected = oracles.log_expected_improvement(-gain * std, std, 0.0)
        found = float(EI().log(np.array([-gain * std]), np.array([std]), 0.0)[0])
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


@given(st.floats(-45, 45), st.floats(-12, 3), st.floats(-3, 3))
def test_log_ei_agrees_with_hundreds_of_digits(gain: float, power: float, xi: float) -> None:
    std = 10.0**power
    mean = -gain * std - xi
    expected = oracles.log_expected_improvement(mean, std, -xi)
    found = float(EI(xi).log(np.array([mean]), np.array([std]), 0.0)[0])
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)
    if expected > -700:
        assert value(EI(xi), mean, std) == pytest.approx(-math.exp(expected), rel=1e-10)


@given(st.floats(-1e8, 45), st.floats(1e-12, 1e-3))
def test_log_ei_increases_with_the_gain_even_where_branches_meet(gain: float, step: float) -> None:
    here = np.array([gain, -1.0, -100.0, 40.0])
    found = EI().log(-here, np.ones(4), 0.0)
    higher = EI().log(-(here + step * np.maximum(1.0, abs(here))), np.ones(4), 0.0)
    assert (higher >= found - 1e-12 * abs(found)).all()
    if step > 1e-6:
        assert (higher > found).all()


def test_log_ei_of_a_certain_point_is_that_of_its_gain() -> None:
    mean, std = np.array([1.0, 3.0, 4.0]), np.zeros(3)
    assert EI().log(mean, std, 3.0).tolist() == [math.log(2.0), -math.inf, -math.inf]


def test_acquisitions_accept_whole_batches() -> None:
    mean, std = np.zeros((3,)), np.ones((3,))
    assert LCB()(mean, std, 0.0).shape == EI()(mean, std, 0.0).shape == (3,)


@pytest.mark.parametrize("kappa", [-1.0, math.nan, math.inf, "1", None])
def test_an_impossible_kappa_is_refused(kappa: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"finite number >= 0, got {kappa!r}"):
        LCB(kappa)


@pytest.mark.parametrize("xi", [math.nan, math.inf, "1", None])
def test_an_impossible_xi_is_refused(xi: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"finite number, got {xi!r}"):
        EI(xi)


@pytest.mark.parametrize("step", [-1, 1.5, None])
def test_an_impossible_step_is_refused(step: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"integer >= 0, got {step!r}"):
        LCB.growing(step)


@pytest.mark.parametrize(("frozen", "name"), [(LCB(), "kappa"), (EI(), "xi")])
def test_acquisitions_are_immutable(frozen: Any, name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(frozen, name, 2.0)
