"""Goals, scores, fronts and hypervolumes, checked against definitions and brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape.errors import InvalidInputError
from bogrape.properties import (
    AtLeast,
    AtMost,
    Gaussian,
    Goals,
    Linear,
    MaxGaussian,
    Maximize,
    MinGaussian,
    Minimize,
    hypervolume,
    nondominated,
)
from bogrape.properties.goals import KINDS, as_goal
from bogrape.properties.improvement import (
    log_hypervolume_improvement,
    log_soft_improvement,
    normal_points,
)

points = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(0, 5), min_size=d, max_size=d), min_size=1, max_size=8)
)


@given(points)
def test_the_front_is_what_no_other_point_dominates(rows: list[list[int]]) -> None:
    def dominates(one: list[int], two: list[int]) -> bool:
        return all(a <= b for a, b in zip(one, two, strict=True)) and one != two

    expected = [not any(dominates(other, row) for other in rows) for row in rows]
    assert nondominated(rows).tolist() == expected


@given(points, st.integers(1, 6))
def test_the_hypervolume_is_the_number_of_dominated_cells(rows: list[list[int]], end: int) -> None:
    d = len(rows[0])
    cells = itertools.product(range(end), repeat=d)
    dominated = sum(
        any(all(a <= c for a, c in zip(row, cell, strict=True)) for row in rows) for cell in cells
    )
    assert hypervolume(rows, [end] * d) == dominated


@given(points)
def test_more_points_dominate_no_less(rows: list[list[int]]) -> None:
    reference = [6] * len(rows[0])
    volumes = [hypervolume(rows[:n], reference) for n in range(1, len(rows) + 1)]
    assert volumes == sorted(volumes)
    assert hypervolume(np.array(rows)[nondominated(rows)], reference) == volumes[-1]


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), max_size=6),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.floats(0.05, 2), st.floats(0.05, 2)),
)
def test_the_expected_improvement_of_a_front_is_an_integral(
    rows: list[tuple[float, float]], mean: tuple[float, float], std: tuple[float, float]
) -> None:
    """The mean gain over a grid of quantiles."""
    reference = np.array([2.5, 2.5])
    front = np.array(rows).reshape(-1, 2)
    front = np.unique(front[nondominated(front)], axis=0) if len(front) else front
    before = hypervolume(front, reference)
    grid = [_quantiles(m, s, 40) for m, s in zip(mean, std, strict=True)]
    gains = [
        hypervolume(np.vstack([front, [pair]]), reference) - before
        for pair in itertools.product(*grid)
    ]
    found = log_hypervolume_improvement(np.array([mean]), np.array([std]), front, reference)
    assert math.exp(found[0]) == pytest.approx(np.mean(gains), rel=0.05, abs=0.02)


def _quantiles(mean: float, std: float, n: int) -> np.ndarray:
    from scipy.stats import norm

    return np.asarray(norm.ppf((np.arange(n) + 0.5) / n, mean, std))


def test_the_logarithm_stays_finite_far_from_the_front() -> None:
    front, reference = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 2.0])
    far = np.array([[x, x] for x in (5.0, 20.0, 50.0, 100.0)])
    logs = log_hypervolume_improvement(far, np.full(far.shape, 0.1), front, reference)
    assert np.isfinite(logs).all()
    assert (np.diff(logs) < 0).all()
    assert logs[-1] < -1e5


def test_candidates_are_ordered_even_if_none_of_their_samples_improves() -> None:
    scores = np.array([[0.1, 0.2], [0.3, 0.1], [0.5, 0.6], [0.95, 0.2]])
    logs = log_soft_improvement(scores, 0.9)
    assert logs.argsort().tolist() == [0, 1, 2, 3]
    assert math.exp(logs[3]) == pytest.approx(0.025, abs=1e-4)
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_draws_have_the_moments_of_a_normal_distribution(dimension: int) -> None:
    drawn = normal_points(128, dimension)
    assert drawn.shape == (128, dimension)
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(drawn.T, bias=True), np.eye(dimension), atol=1e-9)
    np.testing.assert_allclose((drawn**4).mean(axis=0), 3, atol=0.4)


# -- goals ------------------------------------------------------------------------------------


def test_desirabilities_are_the_modifiers_of_guacamol() -> None:
    """The formulas of guacamol.score_modifier, written out independently."""
    x = np.linspace(-3, 9, 25)
    bell = np.exp(-0.5 * np.power((x - 2) / 1.5, 2.0))
    np.testing.assert_allclose(Gaussian(2, 1.5)(x), bell)
    np.testing.assert_allclose(MinGaussian(2, 1.5)(x), np.where(x < 2, 1, bell))
    np.testing.assert_allclose(MaxGaussian(2, 1.5)(x), np.where(x > 2, 1, bell))
    np.testing.assert_allclose(Linear(0, 4)(x), np.clip(np.minimum(x, 4) / 4, 0, None))
    clipped = np.clip(1 / (1 - 5) * (x - 1) + 1, 0, 1)  # from 0 at 5 to 1 at 1
    np.testing.assert_allclose(Linear(worst=5, best=1)(x), clipped)


@given(st.floats(-1e6, 1e6), st.sampled_from([Gaussian, MinGaussian, MaxGaussian]))
def test_desirabilities_run_from_0_to_1(value: float, kind: Any) -> None:
    assert 0 <= float(kind(1.0, 2.0)(np.array(value))) <= 1


def test_scores_are_weighted_means() -> None:
    goals = {"a": Linear(0, 1, weight=3), "b": Linear(0, 1)}
    assert Goals(goals, "mean").score({"a": 0.5, "b": 0.9}) == pytest.approx(0.6)
    assert Goals(goals, "geometric").score([0.5, 0.9]) == pytest.approx((0.5**3 * 0.9) ** (1 / 4))
    both = Goals({"a": Maximize(2.0), "b": Minimize()}, "sum")
    assert both.score({"a": 3.0, "b": 1.0}) == 5.0
    assert both.score({"a": 3.0}) is None
    assert Goals({"a": "maximize", "b": "minimize"}).score([1.0, 2.0]) is None


def test_a_front_is_in_the_users_units() -> None:
    goals = Goals({"a": "maximize", "b": "minimize"})
    rows = np.array([[3.0, 5.0], [2.0, 1.0], [1.0, 2.0]])
    assert goals.front(rows).tolist() == [True, True, False]
    assert goals.hypervolume(rows, [0.0, 6.0]) == 3 * 1 + 2 * 4
    a, b = goals.reference_point(rows)
    assert (a, b) == (pytest.approx(2.0 - 0.2), pytest.approx(5.0 + 0.4))
    given = Goals({"a": "maximize", "b": "minimize"}, reference={"b": 9, "a": 0})
    assert given.reference_point(rows).tolist() == [0, 9]


@pytest.mark.parametrize("name", KINDS)
def test_goals_are_read_back_from_plain_data(name: str) -> None:
    arguments = {"linear": (5.0, 1.0, 2.0), "maximize": (3.0,), "minimize": (1.0,)}
    arguments |= {"at_most": (0.5,), "at_least": (0.5,)}
    goal = KINDS[name](*arguments.get(name, (1.0, 2.0, 0.5)))
    assert as_goal(goal.to_dict(), "x") == goal
    assert goal.in_words()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Goals({"a": "maximize"}), "at least two properties"),
        (lambda: Goals("qed"), "at least two properties"),
        (lambda: Goals({"a": "maximize", "value": "minimize"}), "cannot be called 'value'"),
        (lambda: Goals({"a": "maximize", "1": "minimize"}), "begin with a letter"),
        (lambda: Goals({"a": "maximize", "b": "more"}), "expected 'maximize', 'minimize'"),
        (lambda: Goals({"a": "maximize", "b": {"goal": "linear"}}), "property 'b'"),
        (lambda: Goals({"a": "maximize", "b": Linear(0, 1)}), "takes desirabilities"),
        (lambda: Goals({"a": "maximize", "b": Linear(0, 1)}, "sum"), "maximised or minimised"),
        (lambda: Goals({"a": "maximize", "b": "minimize"}, "product"), "combine must be one of"),
        (lambda: Goals({"a": Maximize(2), "b": "minimize"}), "weights have no effect"),
        (lambda: Goals({"a": "maximize", "b": "minimize"}, None, {"a": 1}), "a number for each"),
        (
            lambda: Goals({"a": "maximize", "b": "minimize"}, "sum", {"a": 1, "b": 2}),
            "applies to combine='pareto' only",
        ),
        (lambda: Gaussian(1, 0), "std > 0"),
        (lambda: Gaussian(math.nan, 1), "finite number"),
        (lambda: Linear(1, 1), "that differ"),
        (lambda: Maximize(0), "weight > 0"),
        (lambda: Minimize(True), "finite number"),
        (lambda: hypervolume([[1, 2]], [1]), "2 finite coordinates"),
        (lambda: nondominated([1, 2]), "one row of numbers per point"),
    ],
)
def test_invalid_arguments_are_refused_with_the_reason(make: Any, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        make()


LIMITED = {"a": "minimize", "b": AtMost(2.0), "c": "maximize", "d": AtLeast(1.0)}


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=8))
def test_graphs_that_break_a_limit_are_neither_best_nor_on_the_front(
    rows: list[tuple[int, ...]],
) -> None:
    goals = Goals(LIMITED, "pareto")
    values = np.array(rows, dtype=float)
    kept = (values[:, 1] <= 2) & (values[:, 3] >= 1)
    assert goals.keeps_limits(values).tolist() == kept.tolist()
    expected = np.zeros(len(rows), dtype=bool)
    expected[kept] = nondominated(values[kept][:, [0, 2]] * [1, -1])
    assert goals.front(values).tolist() == expected.tolist()
    weighed = Goals(LIMITED, "sum")
    for row, good in zip(values, kept, strict=True):
        assert weighed.score(row) == ((row[2] - row[0]) if good else None)
    chosen = values[expected]
    volume = hypervolume(chosen[:, [0, 2]] * [1, -1], [5.0, 0.0])
    assert goals.hypervolume(chosen, [5.0, 2.0, 0.0, 1.0]) == pytest.approx(volume)


def test_limits_need_another_property_to_improve() -> None:
    goals = Goals({"y": "minimize", "tox": AtMost(0.3)})
    assert goals.combine == "sum"
    assert goals.in_words() == "The smallest y, with tox no more than 0.3"
    assert goals.without_limits.names == ("y",)
    with pytest.raises(InvalidInputError, match="limits only"):
        Goals({"y": AtLeast(1.0), "tox": AtMost(0.3)})
    with pytest.raises(InvalidInputError, match="beside limits"):
        Goals({"y": "minimize", "tox": AtMost(0.3)}, "pareto")


@given(st.floats(-5, 5), st.floats(0.01, 5), st.floats(-3, 3))
def test_the_probability_of_keeping_a_limit_is_that_of_scipy(
    mean: float, std: float, limit: float
) -> None:
    from scipy.stats import norm

    below = AtMost(limit).log_probability(np.array([mean]), np.array([std]))[0]
    above = AtLeast(limit).log_probability(np.array([mean]), np.array([std]))[0]
    assert below == pytest.approx(norm.logcdf(limit, mean, std))
    assert above == pytest.approx(norm.logsf(limit, mean, std))
