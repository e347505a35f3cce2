"""The model of success compared with scikit-learn's classifier, and a rule it must learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import Kernel

from bogrape import GraphGP, GraphSpace
from bogrape.counts import count
from bogrape.errors import InvalidInputError
from bogrape.laplace import Mode
from bogrape.success import SuccessModel, as_regression, log_logistic, log_odds

SPACE = GraphSpace(6, labels=2)


class Known(Kernel):  # type: ignore[misc]
    """A covariance that is given as a matrix; points are row numbers."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        rows = X[:, 0].astype(int)
        columns = rows if Y is None else Y[:, 0].astype(int)
        found = self.matrix[np.ix_(rows, columns)]
        return (found, np.zeros((*found.shape, 0))) if eval_gradient else found

    def diag(self, X: Any) -> Any:
        return np.diag(self.matrix)[X[:, 0].astype(int)]

    def is_stationary(self) -> bool:
        return False


def outcomes_of(n: int, seed: int) -> tuple[list[Any], Any]:
    """Graphs, and True for those that obey a structural rule: no edge joins two labels 1."""
    graphs = SPACE.sample(n, seed=seed, distinct=True)
    alone = [not (g.adjacency[np.ix_(g.labels == 1, g.labels == 1)]).any() for g in graphs]
    return graphs, np.array(alone)


@pytest.mark.parametrize("kernel", ["rbf", "ssp", "sp", "esp"])
def test_latent_posterior_is_that_of_scikit_learn(kernel: Any) -> None:
    graphs, good = outcomes_of(60, 3)
    model = SuccessModel.fit(graphs[:40], good[:40], GraphGP(kernel, noise="fit", space=SPACE))
    latent = model.posterior.model
    counts = count(graphs, 2, pairs=True, edges=latent.kernel.edge_labelled)
    # the whole covariance, by making every graph an observation
    covariance = _all_against_all(latent, counts)
    oracle = GaussianProcessClassifier(Known(covariance), optimizer=None)
    rows = np.arange(len(graphs), dtype=float)[:, None]
    if abs(latent.y_mean) > 1e-12:  # scikit-learn has no mean: compare ours without it
        model = _without_mean(model, good[:40])
    oracle.fit(rows[:40], good[:40])
    mean, std = model.posterior.mean_std(counts)
    estimator = oracle.base_estimator_
    their_mean, their_variance = _latent_of(estimator, rows)
    assert np.allclose(mean, their_mean, atol=1e-6)
    assert np.allclose(std**2, their_variance, atol=1e-6)
    theirs = oracle.predict_proba(rows)[:, 1]
    assert np.abs(np.exp(model.log_probability(counts)) - theirs).max() < 0.02


def _all_against_all(latent: Any, counts: Any) -> Any:
    from dataclasses import replace

    return replace(latent, counts=counts).cross(counts)


def _without_mean(model: SuccessModel, good: Any) -> SuccessModel:

    from bogrape.posterior import posterior_of

    latent = model.posterior.model
    mode = Mode.of(latent.cross(latent.counts), good, 0.0)
    plain = as_regression(latent, mode, 0.0)
    return SuccessModel(posterior=posterior_of(plain), n_succeeded=0, n_failed=0)


def _latent_of(estimator: Any, rows: Any) -> tuple[Any, Any]:
    """Algorithm 3.2 of Rasmussen and Williams, from the attributes of scikit-learn's estimator."""
    from scipy.linalg import solve

    k = estimator.kernel_(estimator.X_train_, rows)
    mean = k.T @ (estimator.y_train_ - estimator.pi_)
    v = solve(estimator.L_, estimator.W_sr_[:, None] * k)
    return mean, estimator.kernel_.diag(rows) - np.einsum("ij,ij->j", v, v)


@given(st.floats(-30, 30), st.floats(0, 8))
def test_probability_is_near_the_integral(mean: float, std: float) -> None:
    ours = float(np.exp(log_logistic(log_odds(np.array([mean]), np.array([std]))))[0])
    if std == 0:
        assert ours == pytest.approx(expit(mean), rel=1e-9, abs=1e-300)
        return
    exact, _ = quad(lambda z: expit(mean + std * z) * norm.pdf(z), -9, 9, limit=200)
    assert abs(ours - exact) < 0.021
    assert (ours > 0.5) == (mean > 0) or abs(mean) < 1e-6


@given(st.integers(0, 2**16), st.integers(4, 12), st.floats(-3, 3), st.floats(0.1, 15))
def test_the_mode_satisfies_its_equation(seed: int, n: int, mean: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    covariance = scale * (root @ root.T / n + 1e-3 * np.eye(n))
    good = rng.random(n) < 0.5
    mode = Mode.of(covariance, good, mean)
    # at the mode, f - m = K slopes
    assert np.allclose(mode.above, covariance @ mode.slopes, atol=1e-4 * (1 + scale))


@given(st.integers(0, 2**16), st.integers(4, 10), st.floats(-1, 1), st.floats(-1, 2))
def test_slopes_of_the_evidence_agree_with_finite_differences(
    seed: int, n: int, mean: float, log_scale: float
) -> None:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, n, n))
    parts = [root @ root.T / n + 0.1 * np.eye(n) for root in roots]
    good = rng.random(n) < 0.5

    def evidence(theta: Any) -> Any:
        covariance = np.exp(theta[0]) * parts[0] + np.exp(theta[1]) * parts[1]
        return Mode.of(covariance, good, theta[2]), covariance

    theta = np.array([log_scale, -0.5, mean])
    mode, covariance = evidence(theta)
    by = [np.exp(theta[i]) * parts[i] for i in (0, 1)]
    slopes, by_mean = mode.evidence_slopes(covariance, by, good)
    for i, slope in enumerate((*slopes, by_mean)):
        step = 1e-4 * (np.arange(3) == i)
        ahead, behind = evidence(theta + step)[0], evidence(theta - step)[0]
        assert slope == pytest.approx((ahead.log_evidence - behind.log_evidence) / 2e-4, abs=1e-4)


def test_it_learns_a_hidden_rule_from_thirty_outcomes() -> None:
    right = []
    for seed in range(5):
        graphs, good = outcomes_of(230, seed)
        model = SuccessModel.fit(graphs[:30], good[:30], GraphGP("rbf", noise="fit", space=SPACE))
        found = model.probability(graphs[30:])
        right.append(float(((found > 0.5) == good[30:]).mean()))
        score = np.log(np.where(good[30:], found, 1 - found)).mean()
        share = good[:30].mean()
        plain = np.log(np.where(good[30:], share, 1 - share)).mean()
        assert score > plain  # better than the share of successes alone
    assert np.mean(right) > 0.85


def test_invalid_outcomes_are_refused() -> None:
    graphs, good = outcomes_of(6, 0)
    with pytest.raises(InvalidInputError, match="True or False for each of 6"):
        SuccessModel.fit(graphs, good[:5])
    with pytest.raises(InvalidInputError, match="True or False"):
        SuccessModel.fit(graphs, good.astype(float))
    with pytest.raises(InvalidInputError, match="only failures"):
        SuccessModel.fit(graphs, np.zeros(6, dtype=bool))


def test_recalibration_is_the_logistic_regression_of_outcomes() -> None:
    from sklearn.linear_model import LogisticRegression

    graphs, good = outcomes_of(30, 1)
    model = SuccessModel.fit(graphs, good, GraphGP("rbf", noise="fit", space=SPACE))
    nothing = model.recalibrated([], [])
    assert (nothing.shift, nothing.slope) == pytest.approx((0.0, 1.0))
    rng = np.random.default_rng(0)
    odds = rng.normal(size=4000)
    happened = rng.random(4000) < expit(-1.0 + 2.0 * odds)
    found = model.recalibrated(odds, happened)
    oracle = LogisticRegression(C=np.inf).fit(odds[:, None], happened)
    assert found.shift == pytest.approx(oracle.intercept_[0], abs=0.01)
    assert found.slope == pytest.approx(oracle.coef_[0, 0], abs=0.01)
    # graphs that fail although success was likely make success less likely
    before = model.probability(graphs)
    after = model.recalibrated([1.0] * 8, [False] * 8).probability(graphs)
    assert (after < before).all()
