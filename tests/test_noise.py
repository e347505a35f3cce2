"""Noise of single observations: compared with scikit-learn, dense formulas and other forms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphGP, GraphSpace, propose
from bogrape.counts import count
from bogrape.errors import InvalidInputError
from bogrape.fitting import Spectrum
from bogrape.joint_fitting import MOST_FITTED, likelihood_of
from bogrape.kernels import KERNELS, feature_cross
from bogrape.left_out import Inverse, LeaveOneOut
from bogrape.observed_values import evened, standardise
from bogrape.posterior import FittedModel, FunctionPosterior, WeightPosterior, posterior_of
from exhaustive import assert_optimal, everything, true_values

import oracles

names = pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp"])
every = pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp", "rbf"])
BOTH_SIDES = pytest.mark.parametrize("n", [12, 120])  # fewer, and more, than SP has coordinates
SPACE = GraphSpace((4, 6), labels=2)


def observed(n: int, seed: int = 0) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Random graphs, values with noise, and its variances, which differ by a factor of 1000."""
    graphs = SPACE.sample(n, seed=seed)
    rng = np.random.default_rng(seed)
    noise = np.exp(rng.uniform(math.log(1e-3), 0.0, n))
    y = np.array([g.n_edges - 2.0 * g.labels.sum() for g in graphs])
    return graphs, y + np.sqrt(noise) * rng.normal(size=n), noise


def dense_posterior(model: FittedModel, queries: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation with plain solves, in the user's units."""
    assert model.own_noise is not None
    K = model.cross(model.counts) + np.diag(model.noise + model.own_noise)
    k = model.cross(queries)
    solved = np.linalg.solve(K, np.c_[model.y, k.T])
    variance = model.diagonal(queries) - np.einsum("ij,ji->i", k, solved[:, 1:])
    std = np.sqrt(np.maximum(variance, 0.0))
    return model.y_mean + model.y_scale * (k @ solved[:, 0]), model.y_scale * std


@every
@BOTH_SIDES
def test_predictions_equal_the_dense_formulas(name: str, n: int) -> None:
    graphs, y, noise = observed(n)
    gp = GraphGP(name, noise=0.01, restarts=1, n_labels=2).fit(graphs, y, noise=noise)
    queries = SPACE.sample(30, seed=9)
    mean, std = gp.predict(queries)
    counted = count(queries, 2, edges=name == "rbf")
    expected_mean, expected_std = dense_posterior(gp.posterior.model, counted)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(std, expected_std, rtol=1e-6, atol=1e-6)


@names
def test_predictions_equal_those_of_scikit_learn(name: str) -> None:
    graphs, y, noise = observed(15)
    gp = GraphGP(name, noise=1e-3, alpha=2.0, beta=0.5, n_labels=2).fit(graphs, y, noise=noise)
    model, queries = gp.posterior.model, SPACE.sample(10, seed=4)
    both = [*graphs, *queries]
    theirs = oracles.sklearn_process(
        {
            "alpha": oracles.kernel_matrix(both, both, name),
            "beta": oracles.feature_matrix(both, both, 2),
        },
        {"alpha": 2.0, "beta": 0.5},
        {"alpha": (1e-2, 1e2), "beta": (1e-2, 1e2)},
        alpha=1e-3 + noise / model.y_scale**2,
        optimizer=None,
    )
    theirs.normalize_y = False
    theirs.fit(np.arange(len(graphs))[:, None], (y - model.y_mean) / model.y_scale)
    rows = np.arange(len(graphs), len(both))[:, None]
    mean, std = theirs.predict(rows, return_std=True)
    ours = gp.predict(queries)
    np.testing.assert_allclose(ours[0], model.y_mean + model.y_scale * mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours[1], model.y_scale * std, rtol=1e-5, atol=1e-6)
    likelihood = theirs.log_marginal_likelihood_value_
    assert gp.log_likelihood == pytest.approx(likelihood, rel=1e-6, abs=1e-6)


@every
@settings(max_examples=10, deadline=None)
@given(st.integers(2, 5), st.floats(1e-3, 1.0), st.integers(0, 99))
def test_repeated_measurements_count_as_their_mean_with_a_share_of_the_noise(
    name: str, times: int, variance: float, seed: int
) -> None:
    """The noise that all observations share is averaged as well."""
    graphs, y, noise = observed(8, seed)
    gp = GraphGP(name, noise=1e-4, restarts=1, n_labels=2).fit(graphs, y, noise=noise)
    once = gp.posterior.model
    assert once.own_noise is not None
    repeats = np.concatenate([np.zeros(times, dtype=int), np.arange(1, 8)])
    scatter = np.random.default_rng(seed).normal(size=times)
    scatter -= scatter.mean()
    values, each = once.y[repeats].copy(), once.own_noise[repeats].copy()
    values[:times] += scatter
    each[:times] = variance
    many = replace(once, counts=once.counts.rows(repeats), y=values, own_noise=each)
    merged = once.own_noise.copy()
    merged[0] = (once.noise + variance) / times - once.noise
    queries = count(SPACE.sample(20, seed=seed + 1), 2, edges=name == "rbf")
    found = posterior_of(many).mean_std(queries)
    expected = posterior_of(replace(once, own_noise=merged)).mean_std(queries)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-6)


@every
def test_equal_variances_equal_a_noise_of_the_model(name: str) -> None:
    graphs, y, _ = observed(20)
    share = 0.03
    own = np.full(20, share * y.var())
    separate = GraphGP(name, noise=1e-4, restarts=2, n_labels=2).fit(graphs, y, noise=own)
    common = GraphGP(name, noise=1e-4 + share, restarts=2, n_labels=2).fit(graphs, y)
    queries = SPACE.sample(20, seed=3)
    for found, expected in zip(separate.predict(queries), common.predict(queries), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    assert separate.log_likelihood == pytest.approx(common.log_likelihood, rel=1e-9)


@every
@pytest.mark.parametrize("unknown", [math.nan, None, 0.0])
def test_unknown_noise_is_that_of_the_model(name: str, unknown: float | None) -> None:
    graphs, y, _ = observed(15)
    plain = GraphGP(name, noise=0.01, restarts=1).fit(graphs, y)
    told = GraphGP(name, noise=0.01, restarts=1).fit(graphs, y, noise=[unknown] * 15)
    queries = SPACE.sample(10, seed=3)
    assert np.array_equal(plain.predict(queries), told.predict(queries))
    half = [unknown if i % 2 else 0.5 for i in range(15)]
    gp = GraphGP(name, noise=0.01, restarts=1).fit(graphs, y, noise=half)
    variances = gp.posterior.model.variances
    assert (variances[1::2] == 0.01).all()
    assert (variances[::2] > 0.02).all()


@names
@BOTH_SIDES
@settings(max_examples=10, deadline=None)
@given(st.floats(-4.6, 4.6), st.floats(-4.6, 4.6), st.floats(-9, 0), st.integers(0, 99))
def test_the_likelihood_and_its_gradient_equal_the_dense_ones(
    name: str, n: int, a: float, b: float, c: float, seed: int
) -> None:
    graphs, y, own = observed(n, seed)
    y = (y - y.mean()) / y.std()
    counts, (alpha, beta, noise) = count(graphs, 2), np.exp([a, b, c])
    even, factors = evened(noise + own)
    spectrum = Spectrum.of(KERNELS[name], counts, y, factors=factors)
    value, gradient = spectrum.log_likelihood(alpha, beta, even)
    parts = [
        alpha * KERNELS[name].cross(counts, counts),
        beta * feature_cross(counts, counts, counts.features.shape[1]),
    ]
    expected, slope = likelihood_of(sum(parts) + np.diag(noise + own), parts, y)  # type: ignore[arg-type]
    assert value == pytest.approx(expected, rel=1e-8, abs=1e-8)
    room = 1e-8 * max(1.0, abs(expected))
    np.testing.assert_allclose(gradient[:2], slope, rtol=1e-7, atol=room)


@names
def test_noise_is_fitted_in_addition_to_the_known_variances(name: str) -> None:
    """The fitted values are at least as probable as others nearby."""
    graphs, y, own = observed(40)
    gp = GraphGP(name, noise="fit", n_labels=2).fit(graphs, y, noise=own)
    model = gp.posterior.model
    assert model.own_noise is not None

    def density(**changes: float) -> float:
        at = replace(model, **changes)  # type: ignore[arg-type]
        value, _ = likelihood_of(at.covariance(), [], at.y)
        return value - 0.5 * ((math.log(at.noise) - math.log(1e-3)) / 2.5) ** 2

    best = density()
    for factor in (0.8, 1.25):
        assert density(alpha=np.clip(model.alpha * factor, 1e-4, 1e4)) <= best + 1e-4
        assert density(noise=float(np.clip(model.noise * factor, 1e-6, 0.5))) <= best + 1e-4
    value, _ = likelihood_of(model.covariance(), [], model.y)
    assert gp.log_likelihood == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_all_observations_count_if_there_are_more_than_noise_is_fitted_to() -> None:
    n = MOST_FITTED + 40
    graphs, y, own = observed(n)
    gp = GraphGP("ssp", noise="fit", n_labels=2, restarts=1).fit(graphs, y, noise=own)
    assert len(gp.posterior.model.y) == n
    value, _ = likelihood_of(gp.posterior.model.covariance(), [], gp.posterior.model.y)
    assert gp.log_likelihood == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("name", ["ssp", "sp"])
def test_weight_space_and_function_space_agree(name: str) -> None:
    graphs, y, noise = observed(30)
    model = GraphGP(name, noise=1e-3, restarts=1).fit(graphs, y, noise=noise).posterior.model
    queries = count(SPACE.sample(20, seed=5), 2)
    one, other = (form(model).mean_std(queries) for form in (WeightPosterior, FunctionPosterior))
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    believed = [form(model).believe(graphs[:2]) for form in (WeightPosterior, FunctionPosterior)]
    assert believed[0].model.own_noise is not None
    assert (believed[0].model.own_noise[-2:] == 0).all()
    np.testing.assert_allclose(
        believed[0].mean_std(queries), believed[1].mean_std(queries), rtol=1e-5, atol=1e-5
    )


@every
@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()])
def test_proofs_hold_with_noise_of_single_observations(name: str, acquisition: Any) -> None:
    space = GraphSpace((2, 5), labels=2)
    rng = np.random.default_rng(1)
    graphs, y, noise = space.sample(8, seed=1), rng.normal(size=8), rng.uniform(0, 1, 8)
    noise[::2] = math.nan
    gp = GraphGP(name, noise=1e-4, n_labels=2, restarts=1).fit(graphs, y, noise=noise)
    plain = GraphGP(name, noise=1e-4, n_labels=2, restarts=1).fit(graphs, y)
    assert not np.allclose(gp.predict(graphs), plain.predict(graphs), atol=1e-3)
    assert_optimal(space, gp, acquisition)


@pytest.mark.parametrize("name", ["ssp", "essp"])
def test_the_program_of_the_paper_has_the_noise_of_each_observation(name: str) -> None:
    space = GraphSpace(4)
    graphs, y = space.sample(5, seed=2), np.random.default_rng(2).normal(size=5)
    noise = np.array([0.5, 0.02, math.nan, 0.1, 0.3])
    gp = GraphGP(name, noise=0.05, restarts=1).fit(graphs, y, noise=noise)
    for form in ("function", "weight") if name == "ssp" else ("function",):
        proposal = propose(space, gp, LCB(1.0), method="mip", options={"form": form}, time_limit=20)
        truth = true_values(gp, LCB(1.0), everything(space)).min()
        assert proposal.status == "optimal"
        assert proposal.value == pytest.approx(truth, abs=1e-5)


@every
def test_leave_one_out_equals_predicting_from_the_others(name: str) -> None:
    graphs, y, noise = observed(12)
    noise[3] = math.nan
    gp = GraphGP(name, noise=0.01, restarts=1, n_labels=2).fit(graphs, y, noise=noise)
    model, found = gp.posterior.model, LeaveOneOut.of(Inverse(gp.posterior.model))
    for i in range(12):
        rest = np.flatnonzero(np.arange(12) != i)
        others = replace(
            model,
            counts=model.counts.rows(rest),
            y=model.y[rest],
            own_noise=model.own_noise[rest],  # type: ignore[index]
        )
        mean, std = FunctionPosterior(others).mean_std(model.counts.rows(np.array([i])))
        own = model.variances[i] * model.y_scale**2
        assert found.mean[i] == pytest.approx(mean[0], rel=1e-6, abs=1e-6)
        assert found.std[i] == pytest.approx(math.sqrt(std[0] ** 2 + own), rel=1e-6)


def test_a_value_with_a_large_known_variance_has_no_influence() -> None:
    graphs, y, _ = observed(12)
    queries = SPACE.sample(20, seed=1)
    gp = GraphGP("ssp", noise=0.01, alpha=1.0, beta=1.0, n_labels=2)
    expected = gp.fit(graphs[:-1], y[:-1]).predict(queries)
    wild = np.append(y[:-1], 1e4)
    noise = np.append(np.full(11, math.nan), 1e12)
    found = gp.fit(graphs, wild, noise=noise).predict(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


def _far_from_underflow(least: float) -> st.SearchStrategy[float]:
    """Numbers up to a million that may be scaled by a power of two without a loss of bits."""
    return st.floats(least, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-100)


@given(
    st.lists(st.tuples(_far_from_underflow(-1e6), _far_from_underflow(0)), min_size=2, max_size=20),
    st.integers(-300, 300),
)
def test_noisy_values_are_standardised_whatever_their_unit(
    pairs: list[tuple[float, float]], power: int
) -> None:
    values, noise = map(np.array, zip(*pairs, strict=True))
    one = standardise(values, noise=noise)
    other = standardise(np.ldexp(values, power), noise=np.ldexp(noise, 2 * power))
    assert np.isfinite(one.y).all()
    assert one.scale > 0
    np.testing.assert_allclose(one.y, other.y, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.mean + one.scale * one.y, values, rtol=1e-6, atol=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.floats(0, 1e6))
def test_equal_noise_changes_no_bit_of_the_standardised_values(
    values: list[float], noise: float
) -> None:
    one = standardise(np.array(values))
    other = standardise(np.array(values), noise=np.full(len(values), noise))
    assert np.array_equal(one.y, other.y)
    assert (one.mean, one.scale) == (other.mean, other.scale)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ([0.1, 0.1], "one noise variance per graph"),
        (0.1, "one noise variance per graph"),
        ([0.1, -1.0, 0.1], r"noise\[1\] is -1"),
        ([0.1, 0.1, math.inf], r"noise\[2\] is inf"),
        (["a", "b", "c"], "noise must be variances"),
    ],
)
def test_values_that_are_not_variances_are_refused(noise: Any, message: str) -> None:
    graphs = SPACE.sample(3, seed=0)
    with pytest.raises(InvalidInputError, match=message):
        GraphGP().fit(graphs, [1.0, 2.0, 3.0], noise=noise)


def test_the_description_mentions_the_noise_that_was_given() -> None:
    graphs, y, noise = observed(10)
    noise[5:] = math.nan
    gp = GraphGP("ssp", restarts=1).fit(graphs, y, noise=noise)
    assert "5 of 10 observations have a noise of their own" in gp.describe()
