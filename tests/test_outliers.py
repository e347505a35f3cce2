"""Suspicious observations are named, and hardly any others; without any, the fit is unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import GraphGP, GraphSpace
from bogrape.counts import distances_batch
from bogrape.outliers import far_values, suspicious_values

SPACE = GraphSpace(7, labels=2)
GRAPHS = SPACE.sample(60, seed=4, distinct=True)
VALUES = np.array(
    [g.n_edges - 2.0 * g.labels.sum() + distances_batch(g.adjacency[None]).mean() for g in GRAPHS]
)


def noisy(n: int, seed: int, wrong: dict[int, float]) -> Any:
    values = VALUES[:n] + 0.2 * np.random.default_rng(seed).normal(size=n)
    for i, error in wrong.items():
        values[i] += error
    return values


def fitted(values: Any, noise: Any = "robust") -> GraphGP:
    model = GraphGP("rbf", noise=noise, space=SPACE, restarts=2)
    return model.fit(GRAPHS[: len(values)], values)


@pytest.mark.parametrize("wrong", [{5: 30.0}, {5: -30.0}, {3: 25.0, 11: -40.0}, {0: 1e6}])
def test_gross_errors_are_named_and_do_no_harm(wrong: dict[int, float]) -> None:
    model = fitted(noisy(24, 1, wrong))
    assert set(wrong) <= set(model.suspicious)
    assert len(model.suspicious) <= len(wrong) + 1
    test = GRAPHS[24:]
    off = np.sqrt(np.mean((model.predict(test)[0] - VALUES[24:]) ** 2))
    usual = np.sqrt(
        np.mean((fitted(noisy(24, 1, wrong), "fit").predict(test)[0] - VALUES[24:]) ** 2)
    )
    clean = np.sqrt(np.mean((fitted(noisy(24, 1, {}), "fit").predict(test)[0] - VALUES[24:]) ** 2))
    assert off < 2.0 * clean
    assert off < usual


def test_without_gross_errors_hardly_any_value_is_named_and_nothing_changes() -> None:
    n_named = 0
    for seed in range(5):
        values = noisy(24, seed, {})
        model = fitted(values)
        n_named += len(model.suspicious)
        if not model.suspicious:
            plain = fitted(values, "fit")
            assert np.array_equal(model.predict(GRAPHS)[0], plain.predict(GRAPHS)[0])
    assert n_named <= 2  # of 120


def test_the_rule_is_leave_one_out_as_documented() -> None:
    values = noisy(20, 3, {7: 12.0})
    model = fitted(values, "fit").posterior.model
    extra = np.zeros(20)
    extra[7] = 0.5
    with_noise = replace(model, own_noise=extra)
    covariance = with_noise.covariance()
    expected = np.zeros(20)
    for i in range(20):  # leave each one out, in plain algebra
        rest = np.arange(20) != i
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, i])
        error = abs(model.y[i] - weights @ model.y[rest])
        variance = covariance[i, i] - extra[i] - weights @ covariance[rest, i]
        expected[i] = error**2 if error > 4 * np.sqrt(variance) else 0.0
    assert np.allclose(suspicious_values(with_noise, extra), expected, rtol=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_far_values_follow_the_units_and_are_at_most_a_fifth(values: list[float]) -> None:
    y = np.round(np.array(values), 3)
    found = far_values(y)
    assert (found > 0).sum() <= 0.2 * len(y)
    assert (found[np.abs(y - np.median(y)) == 0] == 0).all()
    assert np.allclose(far_values(2.0 * y), 4.0 * found)


def test_few_observations_are_never_suspected() -> None:
    assert fitted(np.array([0.0, 1.0, 2.0, 1e6])).suspicious == ()
