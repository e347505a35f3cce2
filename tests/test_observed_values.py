"""Standardised observations against exact fractions, and what is clipped."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bogrape import GraphGP, GraphSpace, Study
from bogrape.gp import STUDY_CLIP
from bogrape.observed_values import standardise

from oracles import exact_standardisation

floats = st.floats(allow_nan=False, allow_infinity=False)
ordinary = st.lists(st.integers(-(2**30), 2**30).map(lambda k: k / 2**20), min_size=2, max_size=20)


@given(st.lists(floats, min_size=2, max_size=20))
def test_all_finite_values_are_standardised_to_the_last_digits(values: list[float]) -> None:
    found = standardise(np.array(values))
    y, mean, scale = exact_standardisation(values)
    assert np.isfinite(found.y).all()
    np.testing.assert_allclose(found.y, y, rtol=1e-9, atol=1e-9)
    assert math.isclose(found.mean, mean, rel_tol=1e-12, abs_tol=1e-12 * scale)
    assert math.isclose(found.scale, scale, rel_tol=1e-9, abs_tol=math.ulp(0.0))
    assert (found.y == 0).all() == (min(values) == max(values))


@given(ordinary, st.integers(-1000, 900))
def test_scaling_by_a_power_of_two_changes_no_bit(values: list[float], power: int) -> None:
    base, other = standardise(np.array(values)), standardise(np.ldexp(values, power))
    assert (base.y == other.y).all()
    assert other.mean == math.ldexp(base.mean, power)
    assume(base.scale != 1.0)
    assert other.scale == math.ldexp(base.scale, power)


@pytest.mark.parametrize("factor", [1e-15, 1e-6, 0.1, 3.0, 1e9, 1e15])
def test_other_factors_leave_nearly_every_bit(factor: float) -> None:
    rng = np.random.default_rng(0)
    same = [
        (standardise(y).y == standardise(factor * y).y).all()
        for y in (rng.normal(size=20) for _ in range(200))
    ]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize("offset", [1e3, -1e6, 1e9])
def test_an_offset_costs_no_more_than_the_values_themselves_lose(offset: float) -> None:
    y = np.random.default_rng(1).normal(size=20)
    found = standardise(y + offset)
    np.testing.assert_allclose(found.y, standardise(y).y, atol=8 * math.ulp(offset))
    np.testing.assert_allclose(found.y, exact_standardisation(y + offset)[0], atol=1e-11)


def test_values_that_differ_in_the_last_digit_are_not_all_equal() -> None:
    found = standardise(np.array([1.0, 1.0, 1.0 + 2**-52, 1.0 - 2**-53]))
    assert found.scale < 1e-15
    assert len(set(found.y)) == 3
    assert standardise(np.array([0.1, 0.1, 0.1])).scale == 1.0


# -- clipping -------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-400, 400), min_size=5, max_size=20),
    st.floats(1e6, 1.7e308) | st.floats(-1.7e308, -1e6),
    st.integers(0, 4),
)
def test_a_slip_counts_as_the_nearest_other_value(
    others: list[int], slip: float, where: int
) -> None:
    values = np.array(others, dtype=float)
    nearest = values.max() if slip > 0 else values.min()
    found = standardise(np.insert(values, where, slip), clip=STUDY_CLIP)
    if values.min() == values.max():  # nothing is known of how far apart values lie
        assert found.clipped == ()
        return
    assert found.clipped == (where,)
    assert (found.y == standardise(np.insert(values, where, nearest)).y).all()
    assert standardise(values, clip=STUDY_CLIP).clipped == ()


@given(ordinary, st.integers(-500, 500))
def test_clipping_does_not_depend_on_units(values: list[float], power: int) -> None:
    base, other = standardise(np.array(values), 3.0), standardise(np.ldexp(values, power), 3.0)
    assert base.clipped == other.clipped
    assert (base.y == other.y).all()


def test_few_values_or_half_of_them_are_no_slips() -> None:
    assert standardise(np.array([1.0, 2.0, 1e155]), clip=STUDY_CLIP).clipped == ()
    assert standardise(np.array([0.0, 1, 2, 3, 1e9, 2e9, 3e9, 4e9]), clip=STUDY_CLIP).clipped == ()
    assert standardise(np.array([0.0, 1, 2, 3, 4, 1e9]), clip=None).clipped == ()


def _correlation(slip: float | None, clip: float | None) -> float:
    """Between predictions and truth, of graphs that were not observed."""
    graphs = GraphSpace(7).sample(60, seed=1, distinct=True)
    truth = np.array([graph.distances().mean() for graph in graphs])
    y = truth[:30].copy()
    if slip is not None:
        y[5] = slip
    gp = GraphGP("ssp", clip=clip).fit(graphs[:30], y)
    predicted, _ = gp.predict(graphs[30:])
    return float(np.corrcoef(predicted / np.abs(predicted).max(), truth[30:])[0, 1])


@pytest.mark.parametrize("slip", [1e6, 1e155, -1e308])
def test_one_outlier_does_not_spoil_predictions_of_other_graphs(slip: float) -> None:
    assert _correlation(None, STUDY_CLIP) > 0.99
    assert _correlation(slip, STUDY_CLIP) > 0.9
    assert _correlation(slip, None) < 0.5  # what clipping is for


@pytest.mark.parametrize("value", [1e155, -1e155, 1e308, -1.7e308])
def test_a_study_goes_on_after_an_extreme_value_and_names_it(
    value: float, caplog: pytest.LogCaptureFixture
) -> None:
    study = Study(GraphSpace(5), n_initial=5, time_limit=10)
    told: list[Any] = []
    with caplog.at_level(logging.WARNING, "bogrape"):
        for i in range(8):
            trial = study.ask()
            study.tell(trial, value if i == 3 else float(trial.graph.n_edges))
            told.append(trial)
    words = [r.getMessage() for r in caplog.records if "correct" in r.getMessage()]
    assert len(words) == 1  # once, not at every ask
    assert f"{value:g}" in words[0]
    assert f"trial {told[3].id}" in words[0]
    assert study.trials[3].value == value  # what is stored is what was told
    proposed = [t for t in study.trials if t.origin == "proposal"]
    assert len(proposed) == 3
    assert all(math.isfinite(t.certificate["value"]) for t in proposed)
    assert all(t.certificate["status"] == "optimal" for t in proposed)
