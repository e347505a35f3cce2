"""Kernels, counts and `GraphGP` as parts of scikit-learn, compared with its own results."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import issparse
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from bogrape import Graph, GraphGP, GraphSpace
from bogrape.counts import count
from bogrape.errors import FitError, InvalidInputError
from bogrape.integrations.sklearn import PathCounts, ShortestPathKernel
from bogrape.kernels import KERNELS, RBF, Kernel
from own_parts import Gaussian

from strategies import datasets

SPACE = GraphSpace((4, 6), labels=3, features=1)
GRAPHS = SPACE.sample(24, seed=1)
Y = np.array([g.n_edges + 0.5 * g.labels.sum() - g.features.sum() for g in GRAPHS], dtype=float)
TRAIN, TEST = GRAPHS[:16], GRAPHS[16:]
NAMES = ["ssp", "sp", "essp", "esp", "rbf"]


def own_kernel(name: str) -> str | Kernel:
    return Gaussian(0.4) if name == "gaussian" else name


# -- the kernel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, "gaussian"])
@pytest.mark.parametrize(("noise", "alpha"), [(1e-4, 1.3), (0.1, None)])
def test_predictions_are_those_of_graph_gp_at_equal_hyperparameters(
    name: str, noise: float, alpha: float | None
) -> None:
    """Given hyperparameters with little noise, or fitted ones with more."""
    ours = GraphGP(own_kernel(name), noise=noise, space=SPACE, restarts=1, alpha=alpha)
    ours.fit(TRAIN, Y[:16])
    model = ours.posterior.model
    values = [ours.hyperparameters[h] for h in model.kernel.hyperparameters()]
    kernel = ShortestPathKernel(
        own_kernel(name), model.alpha, model.beta, own=values or None, space=SPACE
    )
    theirs = GaussianProcessRegressor(kernel, alpha=noise, normalize_y=True, optimizer=None)
    theirs.fit(TRAIN, Y[:16])
    for part, other in zip(
        ours.predict(GRAPHS), theirs.predict(GRAPHS, return_std=True), strict=True
    ):
        np.testing.assert_allclose(part, other, rtol=0, atol=1e-8 * model.y_scale)
    likelihood = theirs.log_marginal_likelihood()
    if not model.kernel.priors():
        assert likelihood == pytest.approx(ours.log_likelihood, abs=1e-7)


@pytest.mark.parametrize("name", [*NAMES, "gaussian"])
def test_gradients_agree_with_finite_differences(name: str) -> None:
    kernel = ShortestPathKernel(own_kernel(name), 1.3, 0.7, space=SPACE)
    values, gradient = kernel(TRAIN, eval_gradient=True)
    assert gradient.shape == (16, 16, len(kernel.theta))
    assert len(kernel.bounds) == len(kernel.theta) > 0
    np.testing.assert_array_equal(values, kernel(TRAIN))
    np.testing.assert_allclose(kernel.diag(TRAIN), np.diag(values), rtol=1e-12)
    for i in range(len(kernel.theta)):
        step = 1e-5 * (np.arange(len(kernel.theta)) == i)
        there, back = (kernel.clone_with_theta(kernel.theta + s)(TRAIN) for s in (step, -step))
        np.testing.assert_allclose(gradient[:, :, i], (there - back) / 2e-5, atol=1e-8)


@settings(max_examples=25)
@given(datasets(n_nodes=(1, 5)))
def test_values_are_those_of_graph_gp_for_any_graphs(dataset: tuple[list[Graph], Any]) -> None:
    graphs, y = dataset
    kernel = ShortestPathKernel("sp", 2.0, 0.5, n_labels=3)
    gp = GraphGP("sp", n_labels=3, alpha=2.0, beta=0.5, noise=1e-3).fit(graphs, y)
    model = gp.posterior.model
    np.testing.assert_allclose(kernel(graphs), model.cross(model.counts), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(graphs), model.diagonal(model.counts), rtol=1e-12)


@pytest.mark.parametrize("name", ["sp", "rbf"])
def test_scikit_learn_fits_the_kernel(name: str) -> None:
    kernel = ShortestPathKernel(name, space=SPACE) + WhiteKernel(1e-2, (1e-4, 1.0))
    regressor = GaussianProcessRegressor(kernel, normalize_y=True)
    before = regressor.fit(TRAIN, Y[:16]).log_marginal_likelihood(kernel.theta)
    after = regressor.log_marginal_likelihood_value_
    assert after > before + 1.0
    assert regressor.score(TRAIN, Y[:16]) > 0.9
    assert regressor.predict(TEST[:1]).shape == (1,)


def test_the_gradient_of_the_likelihood_agrees_with_finite_differences() -> None:
    regressor = GaussianProcessRegressor(
        ShortestPathKernel("rbf", space=SPACE), alpha=1e-2, optimizer=None
    ).fit(TRAIN, Y[:16])
    theta = regressor.kernel_.theta
    _, gradient = regressor.log_marginal_likelihood(theta, eval_gradient=True)
    for i in range(len(theta)):
        step = 1e-5 * (np.arange(len(theta)) == i)
        there, back = (regressor.log_marginal_likelihood(theta + s) for s in (step, -step))
        assert gradient[i] == pytest.approx((there - back) / 2e-5, rel=1e-4, abs=1e-5)


def test_kernels_are_cloned_and_compared_with_all_their_parameters() -> None:
    kernel = ShortestPathKernel("rbf", 2.0, own=np.full(6, 1.5), space=SPACE, own_bounds="fixed")
    twin = clone(kernel)
    assert twin is not kernel
    np.testing.assert_array_equal(twin(TRAIN), kernel(TRAIN))
    assert len(kernel.theta) == 1  # alpha alone
    moved = kernel.clone_with_theta(np.log([3.0]))
    assert moved.alpha == pytest.approx(3.0)
    assert kernel.alpha == 2.0
    assert "rbf" in repr(kernel)
    assert not kernel.is_stationary()


def test_mistakes_are_explained() -> None:
    with pytest.raises(InvalidInputError, match="needs graphs to measure length scales"):
        ShortestPathKernel("rbf")(TRAIN)
    scaled = RBF().scaled_to(count(TRAIN, 3, edges=True))
    assert ShortestPathKernel(scaled, n_labels=3)(TRAIN).shape == (16, 16)
    with pytest.raises(InvalidInputError, match="labels must be below 1"):
        ShortestPathKernel("sp")(TRAIN)
    with pytest.raises(InvalidInputError, match="own must be one value for each of"):
        ShortestPathKernel("rbf", own=[1.0, 2.0], space=SPACE)(TRAIN)
    with pytest.raises(InvalidInputError, match="unknown kernel 'foo'"):
        ShortestPathKernel("foo")(TRAIN)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Y is None"):
        ShortestPathKernel("ssp", space=SPACE)(TRAIN, TEST, eval_gradient=True)


# -- counts as a transformer ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ssp", "sp"])
def test_inner_products_of_shares_are_the_linear_kernels(name: str) -> None:
    counts = PathCounts(labelled=name == "sp", nodes=False, shares=True)
    rows = counts.fit_transform(GRAPHS)
    expected = KERNELS[name].cross(count(GRAPHS, 3), count(GRAPHS, 3))  # type: ignore[index]
    np.testing.assert_allclose((rows @ rows.T).toarray(), expected, rtol=1e-12)


def test_names_of_columns_say_what_they_count() -> None:
    space = GraphSpace(4, labels=2, features=1, edge_labels=2)
    graphs = space.sample(5, seed=0)
    transformer = PathCounts(edges=True, sparse_output=False)
    rows = transformer.fit_transform(graphs)
    names = transformer.get_feature_names_out().tolist()
    assert rows.shape == (5, len(names))
    assert len(set(names)) == len(names)
    for graph, row in zip(graphs, rows, strict=True):
        at = dict(zip(names, row.tolist(), strict=True))
        distance, labels = graph.distances(), graph.labels
        apart = (distance == 2) & (labels[:, None] == 0) & (labels == 1)
        assert at["pairs 2 steps apart 0-1"] == apart.sum()
        assert at["nodes labelled 1"] == (labels == 1).sum()
        assert at["nodes with feature 0"] == graph.features.sum()
        double = (graph.edge_labels == 2) & (labels[:, None] == 1) & (labels == 1)
        assert at["edges labelled 2 1-1"] == double.sum()


@pytest.mark.parametrize("sparse", [True, False])
def test_rows_do_not_depend_on_the_other_rows(sparse: bool) -> None:
    transformer = PathCounts(sparse_output=sparse).fit(GRAPHS)
    whole = transformer.transform(GRAPHS)
    assert issparse(whole) == sparse
    dense = whole.toarray() if sparse else whole
    order = np.random.default_rng(0).permutation(len(GRAPHS))
    for index in (order, order[:3], order[:1]):
        part = pickle.loads(pickle.dumps(transformer)).transform([GRAPHS[i] for i in index])
        np.testing.assert_array_equal(part.toarray() if sparse else part, dense[index])
    again = transformer.fit(GRAPHS).transform(GRAPHS)
    np.testing.assert_array_equal(again.toarray() if sparse else again, dense)


def test_labels_and_distances_not_seen_in_the_fit_are_refused_or_ignored() -> None:
    path = Graph(np.eye(5, k=1) + np.eye(5, k=-1), labels=[0, 1, 2, 1, 0])
    edge = Graph([[0, 1], [1, 0]])
    transformer = PathCounts().fit([edge])
    with pytest.raises(InvalidInputError, match=r"expected labels 1, .* got 3"):
        transformer.transform([path])
    with pytest.raises(InvalidInputError, match=r"expected distances up to 1, .* got 4"):
        PathCounts(n_labels=3).fit([edge]).transform([path])
    row = PathCounts(handle_unknown="ignore", sparse_output=False).fit([edge]).transform([path])
    assert row.tolist() == [[2.0, 0.0, 2.0]]  # two nodes labelled 0, never next to each other
    with pytest.raises(InvalidInputError, match="features"):
        transformer.transform([Graph([[0]], features=[[1]])])
    with pytest.raises(NotFittedError):
        PathCounts().transform([edge])


def test_counts_can_be_the_first_step_of_a_pipeline() -> None:
    pipeline = make_pipeline(PathCounts(handle_unknown="ignore", n_labels=3), Ridge(1e-6))
    assert pipeline.fit(TRAIN, Y[:16]).score(TRAIN, Y[:16]) > 0.99


# -- the checks of scikit-learn -------------------------------------------------------------------
# `check_estimator` itself stops early if an estimator does not take matrices of numbers
# (``input_tags.two_d_array``), since all further checks pass some. Those that pass none are run
# one by one.

WITHOUT_DATA = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_mixin_order",
]


@pytest.mark.parametrize("estimator", [PathCounts(), GraphGP()], ids=lambda e: type(e).__name__)
def test_estimators_pass_the_checks_that_apply_to_them(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(estimator, on_skip=None)
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.parametrize("check", WITHOUT_DATA)
@pytest.mark.parametrize("estimator", [PathCounts(), GraphGP()], ids=lambda e: type(e).__name__)
def test_checks_that_need_no_matrix(estimator: Any, check: str) -> None:
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("check", ["check_set_params", "check_transformers_unfitted"])
def test_checks_of_transformers(check: str) -> None:
    getattr(estimator_checks, check)("PathCounts", PathCounts())


# -- GraphGP as an estimator ----------------------------------------------------------------------


def test_a_clone_predicts_the_same() -> None:
    gp = GraphGP("rbf", noise="fit", space=SPACE, restarts=1).fit(TRAIN, Y[:16])
    twin = clone(gp)
    with pytest.raises(FitError, match="no data yet"):
        twin.predict(TEST)
    np.testing.assert_array_equal(twin.fit(TRAIN, Y[:16]).predict(TEST), gp.predict(TEST))
    assert is_regressor(gp)


def test_parameters_are_read_and_set_like_those_of_other_estimators() -> None:
    kernel = RBF()
    gp = GraphGP(kernel, noise="fit", seed=3)
    assert gp.get_params()["kernel"] is kernel
    assert set(gp.get_params()) == set(GraphGP().get_params())
    assert gp.set_params(noise=1e-2, kernel="sp") is gp
    assert (gp.noise, gp.kernel.name, gp.seed) == (1e-2, "sp", 3)
    gp.fit(TRAIN, Y[:16])
    with pytest.raises(InvalidInputError, match="noise"):
        gp.set_params(seed=4, noise=-1.0)
    assert (gp.seed, gp.noise) == (3, 1e-2)
    assert gp.log_likelihood  # it is still fitted
    with pytest.raises(InvalidInputError, match="no parameter 'kernal'"):
        gp.set_params(kernal="sp")
    with pytest.raises(FitError):
        gp.set_params(seed=4).predict(TEST)


def test_the_score_is_that_of_scikit_learn() -> None:
    gp = GraphGP("sp", n_labels=3, noise=1e-2).fit(TRAIN, Y[:16])
    mean = gp.predict(TEST, return_std=False)
    weights = np.arange(1.0, 9.0)
    assert gp.score(TEST, Y[16:]) == pytest.approx(r2_score(Y[16:], mean))
    assert gp.score(TEST, Y[16:], weights) == pytest.approx(
        r2_score(Y[16:], mean, sample_weight=weights)
    )
    assert gp.score(TEST, np.ones(8)) == 0.0


def test_models_are_chosen_by_cross_validation() -> None:
    folds = KFold(3)
    gp = GraphGP("sp", n_labels=3, noise=1e-2, restarts=1)
    assert cross_val_score(gp, GRAPHS, Y, cv=folds).shape == (3,)
    search = GridSearchCV(gp, {"kernel": ["ssp", "sp"], "noise": [1e-2, 1e-1]}, cv=folds)
    search.fit(GRAPHS, Y)
    for chosen, mean in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        own = GraphGP(n_labels=3, restarts=1, **chosen)
        scores = [
            own.fit([GRAPHS[i] for i in train], Y[train]).score([GRAPHS[i] for i in test], Y[test])
            for train, test in folds.split(GRAPHS)
        ]
        assert mean == pytest.approx(np.mean(scores))
    assert search.best_estimator_.score(GRAPHS, Y) > 0.9
