"""Standardised observations compared with exact fractions; clipping and capping."""

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
def test_other_factors_change_hardly_any_bit(factor: float) -> None:
    rng = np.random.default_rng(0)
    same = [
        (standardise(y).y == standardise(factor * y).y).all()
        for y in (rng.normal(size=20) for _ in range(200))
    ]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize("offset", [1e3, -1e6, 1e9])
def test_an_offset_costs_no_more_than_the_rounding_of_the_values(offset: float) -> None:
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
    if values.min() == values.max():  # the spread of the values is unknown
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


def test_few_values_or_half_of_them_are_not_slips() -> None:
    assert standardise(np.array([1.0, 2.0, 1e155]), clip=STUDY_CLIP).clipped == ()
    assert standardise(np.array([0.0, 1, 2, 3, 1e9, 2e9, 3e9, 4e9]), clip=STUDY_CLIP).clipped == ()
    assert standardise(np.array([0.0, 1, 2, 3, 4, 1e9]), clip=None).clipped == ()


def _correlation(slip: float | None, clip: float | None) -> float:
    """Correlation of predictions and truth, for graphs that were not observed."""
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
def test_a_study_continues_after_an_extreme_value_and_names_it(
    value: float, caplog: pytest.LogCaptureFixture
) -> None:
    study = Study(GraphSpace(5), n_initial=5, time_limit=30, n_evaluations=5_000)
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
    assert study.trials[3].value == value  # the stored value is not clipped
    proposed = [t for t in study.trials if t.origin == "proposal"]
    assert len(proposed) == 3
    assert all(math.isfinite(t.certificate["value"]) for t in proposed)
    assert all(t.certificate["status"] == "optimal" for t in proposed)


# -- capping --------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-1000, 1000), min_size=5, max_size=30), st.sampled_from([0.5, 1.0, 3.0])
)
def test_bad_values_count_as_the_cap_and_good_ones_are_unchanged(
    whole: list[int], cap: float
) -> None:
    values = np.array(whole, dtype=float)
    median = sorted(whole)[(len(whole) - 1) // 2]
    apart = sorted(abs(value - median) for value in whole if value != median)
    limit = median + cap * apart[(len(apart) - 1) // 2] if apart else math.inf
    found = standardise(values, cap=cap)
    assert found.capped == tuple(i for i, value in enumerate(whole) if value > limit)
    expected = standardise(np.array([min(value, limit) for value in whole]))
    assert (found.y == expected.y).all()
    assert (found.mean, found.scale) == (expected.mean, expected.scale)


def test_with_a_cap_a_long_tail_of_bad_values_does_not_hide_the_good_ones() -> None:
    space = GraphSpace(8, labels=2)
    graphs = space.sample(80, seed=3)
    y = np.array([float(graph.n_edges + 3 * graph.labels.sum()) for graph in graphs])
    tail = y > np.quantile(y, 0.8)
    told = np.where(tail, y + 1000.0 * np.random.default_rng(0).exponential(size=len(y)), y)
    errors = {}
    for cap in (None, 3.0):
        gp = GraphGP("rbf", "fit", space=space, cap=cap).fit(graphs[:40], told[:40])
        good = [i for i in range(40, 80) if not tail[i]]
        mean = gp.predict([graphs[i] for i in good], return_std=False)
        errors[cap] = np.abs(mean - y[good]).mean()
        assert (set(gp.capped) >= set(np.flatnonzero(tail[:40]))) == (cap is not None)
    assert errors[3.0] < 0.1 * errors[None]


def test_the_report_says_how_many_values_are_capped_and_where() -> None:
    from bogrape.report.survey import Survey
    from bogrape.report.words import certainty_in_words

    study = Study(GraphSpace(6), n_initial=2, cap=2.0, direction="maximize")
    for graph in study.settings.space.sample(12, seed=0, distinct=True):
        study.add(graph, -500.0 if graph.n_edges < 6 else float(graph.n_edges))
    survey = Survey(study)
    bad = [trial.id for trial in study.trials if trial.value == -500.0]
    assert bad
    assert [trial.id for trial in survey.capped] == bad
    assert -500 < survey.cap < 6
    assert any(f"{len(bad)} of 12 values" in line for line in certainty_in_words(survey))
