"""`GraphGP` compared with scikit-learn, the textbook formulas and its other form."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bogrape.counts import count
from bogrape.errors import FitError, InvalidInputError
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.joint_fitting import log_likelihood
from bogrape.kernels import KERNELS, feature_cross
from bogrape.posterior import FunctionPosterior, WeightPosterior, cholesky

import oracles
from strategies import datasets, graph_lists

names = pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp"])
EDGE, PATH = Graph([[0, 1], [1, 0]]), Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
Dataset = tuple[list[Graph], list[float]]


def problem(k: int = 20, n: int = 8, seed: int = 0, directed: bool = False) -> tuple[Any, Any]:
    """Random graphs of mixed sizes, and a smooth function of them with a little noise."""
    rng = np.random.default_rng(seed)
    graphs, values = [], []
    for _ in range(k):
        size = int(rng.integers(max(2, n - 3), n + 1))
        matrix = rng.random((size, size)) < rng.uniform(0.15, 0.6)
        matrix = np.triu(matrix, 1) if not directed else matrix & ~np.eye(size, dtype=bool)
        labels = rng.integers(0, 3, size)
        graph = Graph(
            matrix if directed else matrix | matrix.T, labels, rng.random((size, 2)) < 0.4, directed
        )
        distances = graph.distances()
        far = distances[np.isfinite(distances)].mean()
        graphs.append(graph)
        values.append(5 + 3 * far - labels.mean() + 0.3 * rng.normal())
    return graphs, np.array(values)


def fitted(graphs: Any, values: Any, name: str = "ssp", **options: Any) -> GraphGP:
    return GraphGP(name, **options).fit(graphs, values)


def naive_predictions(gp: GraphGP, data: Any, values: Any, queries: Any) -> Any:
    """Mean and deviation from kernel matrices of quadruple sums."""
    name, parameters = gp.kernel.name, gp.hyperparameters
    n_labels = gp.posterior.model.counts.n_labels

    def k(left: Any, right: Any) -> np.ndarray:
        return parameters["alpha"] * oracles.kernel_matrix(left, right, name) + parameters[
            "beta"
        ] * oracles.feature_matrix(left, right, n_labels)

    own = np.array([k([query], [query])[0, 0] for query in queries])
    return oracles.textbook_posterior(
        k(data, data), k(queries, data), own, parameters["noise"], values
    )


# -- compared with scikit-learn ---------------------------------------------------------------


@names
@pytest.mark.parametrize("directed", [False, True])
def test_mean_and_deviation_equal_those_of_scikit_learn(name: str, directed: bool) -> None:
    graphs, values = problem(30, directed=directed)
    gp = fitted(graphs[:20], values[:20], name, noise=0.01, alpha=0.7, beta=2.5)
    counts = count(graphs)
    parts = {
        "alpha": KERNELS[name].cross(counts, counts),
        "beta": feature_cross(counts, counts, counts.features.shape[1]),
    }
    rows = np.arange(30)[:, None]
    theirs = oracles.sklearn_process(
        parts,
        {"alpha": 0.7, "beta": 2.5},
        {"alpha": (1e-2, 1e2), "beta": (1e-2, 1e2)},
        alpha=0.01,
        optimizer=None,
    ).fit(rows[:20], values[:20])
    mean, std = theirs.predict(rows, return_std=True)
    found_mean, found_std = gp.predict(graphs)
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found_std, std, rtol=0, atol=1e-8)
    likelihood = theirs.log_marginal_likelihood(theirs.kernel_.theta)
    assert gp.log_likelihood == pytest.approx(likelihood, abs=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@names
@pytest.mark.parametrize("noise", [1e-6, 1e-2])
@pytest.mark.parametrize("seed", range(4))
def test_the_fitted_likelihood_is_never_worse_than_scikit_learns(
    name: str, seed: int, noise: float
) -> None:
    graphs, values = problem(8 + 6 * seed, seed=seed)
    if seed == 3:
        values = np.random.default_rng(3).normal(size=len(values))  # nothing to learn
    gp = fitted(graphs, values, name, noise=noise)
    counts = count(graphs)
    theirs = oracles.sklearn_process(
        {
            "alpha": KERNELS[name].cross(counts, counts),
            "beta": feature_cross(counts, counts, counts.features.shape[1]),
        },
        {"alpha": 1.0, "beta": 1.0},
        {"alpha": KERNELS[name].amplitude_bounds, "beta": (1e-2, 1e2)},
        alpha=noise,
        n_restarts_optimizer=5,
        random_state=seed,
    ).fit(np.arange(len(graphs))[:, None], values)
    best = theirs.log_marginal_likelihood_value_
    # relative: tiny noise makes K nearly singular and the likelihood of size a million
    assert gp.log_likelihood >= best - 1e-6 - 1e-8 * abs(best)


# -- the likelihood ---------------------------------------------------------------------------


@names
@settings(max_examples=30)
@given(datasets(), st.floats(-4, 4), st.floats(-4, 4), st.floats(-4, 0))
def test_the_gradient_equals_finite_differences(
    name: str, dataset: Dataset, a: float, b: float, c: float
) -> None:
    counts, y = count(dataset[0]), np.array(dataset[1])
    y = (y - y.mean()) / max(y.std(), 1e-3)
    m = counts.features.shape[1]
    matrices = [
        KERNELS[name].cross(counts, counts),
        feature_cross(counts, counts, m),
        np.eye(len(y)),
    ]
    theta, constant = np.array([a, b, c]), 1e-3 * np.eye(len(y))
    _, gradient = log_likelihood(theta, matrices, constant, y)
    for i, step in enumerate(1e-4 * np.eye(3)):
        up, _ = log_likelihood(theta + step, matrices, constant, y)
        down, _ = log_likelihood(theta - step, matrices, constant, y)
        assert gradient[i] == pytest.approx((up - down) / 2e-4, rel=1e-4, abs=1e-4)


@names
@pytest.mark.parametrize("noise", [1e-6, "fit"])
def test_no_point_of_the_box_is_likelier_than_the_fitted_one(name: str, noise: Any) -> None:
    graphs, values = problem(15, seed=3)
    gp = fitted(graphs, values, name, noise=noise)
    rng = np.random.default_rng(0)
    low, high = gp.kernel.amplitude_bounds
    for _ in range(60):
        fixed = {
            "alpha": np.exp(rng.uniform(np.log(low), np.log(high))),
            "beta": np.exp(rng.uniform(np.log(1e-2), np.log(1e2))),
            "noise": np.exp(rng.uniform(np.log(1e-6), 0)) if noise == "fit" else noise,
        }
        assert gp.log_likelihood >= fitted(graphs, values, name, **fixed).log_likelihood


@names
def test_fitted_values_stay_in_their_boxes(name: str) -> None:
    for seed in range(4):
        gp = fitted(*problem(12, seed=seed), name, noise="fit")
        boxes = {"alpha": gp.kernel.amplitude_bounds, "beta": (1e-2, 1e2), "noise": (1e-6, 0.5)}
        for key, (low, high) in boxes.items():  # up to the rounding of logarithms
            assert low * (1 - 1e-14) <= gp.hyperparameters[key] <= high * (1 + 1e-14)


def test_fitted_noise_is_large_for_noise_and_small_for_a_clean_function() -> None:
    graphs, _ = problem(40, seed=1)
    rng = np.random.default_rng(1)
    clean = [g.labels.mean() for g in graphs]
    assert fitted(graphs, rng.normal(size=40), noise="fit").hyperparameters["noise"] > 0.1
    assert fitted(graphs, clean, noise="fit").hyperparameters["noise"] < 1e-3


@pytest.mark.parametrize("name", ["ssp", "esp", "rbf"])
def test_with_fitted_noise_the_value_to_beat_is_the_lowest_mean_and_not_the_lowest_value(
    name: str,
) -> None:
    graphs, y = problem(30)
    y = y + np.random.default_rng(1).normal(0.0, y.std(), len(y))
    to_beat = np.arange(len(y)) % 3 > 0
    gp = GraphGP(name, noise="fit").fit(graphs, y, to_beat=to_beat)
    means = gp.predict(graphs, return_std=False)
    assert gp.posterior.model.best == pytest.approx(means[to_beat].min())
    assert gp.posterior.model.best != pytest.approx(y[to_beat].min(), rel=1e-4)
    exact = GraphGP(name).fit(graphs, y, to_beat=to_beat)
    assert exact.posterior.model.best == pytest.approx(y[to_beat].min())

    others, _ = problem(5, seed=5)
    believed = gp.posterior.believe(others)
    there = gp.predict(others, return_std=False).min()
    assert believed.model.best == pytest.approx(min(means[to_beat].min(), there))


def test_fixed_amplitudes_are_kept() -> None:
    graphs, values = problem()
    both = fitted(graphs, values, alpha=2.0, beta=3.0).hyperparameters
    assert both == {"alpha": 2.0, "beta": 3.0, "noise": 1e-6}
    assert fitted(graphs, values, beta=3.0).hyperparameters["beta"] == 3.0


def test_equal_seeds_give_equal_fits() -> None:
    graphs, values = problem()
    first, second = (fitted(graphs, values, "essp", seed=4) for _ in range(2))
    assert first.hyperparameters == second.hyperparameters


# -- the posterior ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ssp", "sp"])
@pytest.mark.parametrize("feature_kernel", [True, False])
@settings(max_examples=25)
@given(st.data())
def test_weight_space_equals_function_space(
    name: str, feature_kernel: bool, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"directed": data.draw(st.booleans()), "n_features": 1}
    # queries are larger and have labels the data lack, and the other way round
    graphs, values = data.draw(datasets(n_nodes=(1, 5), n_labels=2, **options))
    queries = data.draw(graph_lists(n_nodes=(1, 6), n_labels=3, **options))
    gp = fitted(graphs, values, name, noise=1e-3, feature_kernel=feature_kernel)
    weights = gp.posterior
    assert isinstance(weights, WeightPosterior)
    counts = count(queries, pairs=gp.kernel.labelled)
    mean, std = weights.mean_std(counts)
    other_mean, other_std = FunctionPosterior(weights.model).mean_std(counts)
    scale = weights.model.y_scale
    np.testing.assert_allclose(mean, other_mean, rtol=1e-9, atol=1e-8 * scale)
    np.testing.assert_allclose(std**2, other_std**2, rtol=1e-7, atol=1e-9 * scale**2)


@names
@settings(max_examples=30)
@given(st.data())
def test_predictions_equal_naive_kernel_matrices_even_for_unseen_labels_and_lengths(
    name: str, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"directed": data.draw(st.booleans()), "n_features": 1}
    graphs, values = data.draw(datasets(n_nodes=(1, 4), n_labels=2, max_size=5, **options))
    queries = data.draw(graph_lists(n_nodes=(1, 6), n_labels=4, max_size=3, **options))
    gp = fitted(graphs, values, name, noise=1e-2)
    mean, std = gp.predict(queries)
    expected_mean, expected_std = naive_predictions(gp, graphs, values, queries)
    scale = gp.posterior.model.y_scale
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9, atol=1e-8 * scale)
    np.testing.assert_allclose(std**2, expected_std**2, rtol=1e-7, atol=1e-9 * scale**2)


@names
def test_the_number_of_labels_can_be_given_beyond_the_data(name: str) -> None:
    graphs, values = problem(10)
    gp = fitted(graphs, values, name, n_labels=7, noise=1e-2)
    assert gp.posterior.model.counts.n_labels == 7
    np.testing.assert_allclose(
        gp.predict(graphs), naive_predictions(gp, graphs, values, graphs), atol=1e-8
    )


@names
@settings(max_examples=30)
@given(data=st.data())
def test_any_dataset_gives_finite_means_and_deviations(name: str, data: st.DataObject) -> None:
    graphs, values = data.draw(datasets(directed=False, n_features=0))
    queries = data.draw(graph_lists(directed=False, n_features=0))
    for noise in (1e-6, "fit"):
        mean, std = fitted(graphs, values, name, noise=noise).predict(queries + graphs)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std >= 0).all()


@names
@pytest.mark.parametrize("constant", [0.0, 3.7, -1e9, 1e-12])
def test_an_all_equal_dataset_predicts_that_value(name: str, constant: float) -> None:
    graphs, _ = problem(12)
    mean, std = fitted(graphs[:6], [constant] * 6, name).predict(graphs)
    np.testing.assert_allclose(mean, constant, rtol=1e-9)
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    assert std[6:].max() > 0


@names
def test_two_observations_are_enough(name: str) -> None:
    gp = fitted([EDGE, PATH], [1.0, 2.0], name)
    mean, std = gp.predict([EDGE, PATH])
    np.testing.assert_allclose(mean, [1.0, 2.0], atol=0.05)
    assert (std < 0.05).all()


@names
def test_a_graph_observed_twice_is_predicted_between_its_values(name: str) -> None:
    gp = fitted([PATH, PATH, EDGE, PATH], [1.0, 2.0, 5.0, 1.5], name)
    mean, std = gp.predict([PATH])
    assert mean[0] == pytest.approx(1.5, abs=0.05)
    assert 0 <= std[0] < 0.1


@names
@pytest.mark.parametrize(("factor", "shift"), [(1e-14, 0.0), (1e12, 0.0), (-3.0, 100.0)])
def test_predictions_follow_the_units_of_the_objective(
    name: str, factor: float, shift: float
) -> None:
    graphs, values = problem(14)
    values = values - values.mean()
    mean, std = fitted(graphs[:10], values[:10], name, alpha=1.0, beta=1.0).predict(graphs)
    other = fitted(graphs[:10], factor * values[:10] + shift, name, alpha=1.0, beta=1.0)
    other_mean, other_std = other.predict(graphs)
    tolerance = 1e-6 * abs(factor)
    np.testing.assert_allclose(other_mean, factor * mean + shift, rtol=1e-6, atol=tolerance)
    np.testing.assert_allclose(other_std, abs(factor) * std, rtol=1e-6, atol=tolerance)


def test_observations_are_interpolated_and_nearly_certain() -> None:
    graphs, _ = problem(25, seed=2)
    values = [float(g.labels.mean()) for g in graphs]
    mean, std = fitted(graphs[:20], values[:20]).predict(graphs)
    np.testing.assert_allclose(mean, values, atol=0.05)
    assert std[:20].max() < 0.01


def test_without_the_feature_kernel_labels_do_not_matter_to_ssp() -> None:
    graphs, values = problem(10)
    gp = fitted(graphs, values, feature_kernel=False)
    bare = [Graph(g.adjacency, None, g.features) for g in graphs]
    assert gp.hyperparameters["beta"] == 0.0
    np.testing.assert_allclose(gp.predict(graphs), gp.predict(bare), rtol=1e-12)


def test_means_alone_can_be_requested() -> None:
    graphs, values = problem(10)
    gp = fitted(graphs, values)
    assert np.array_equal(gp.predict(graphs, return_std=False), gp.predict(graphs)[0])


@names
@settings(max_examples=25)
@given(data=st.data())
def test_believing_a_mean_keeps_means_and_lowers_deviations(name: str, data: st.DataObject) -> None:
    options: dict[str, Any] = {"directed": False, "n_features": 1}
    graphs, values = data.draw(datasets(n_nodes=(1, 5), n_labels=2, **options))
    queries = data.draw(graph_lists(min_size=2, n_nodes=(1, 6), n_labels=3, **options))
    assume(np.std(values) > 1e-3)
    before = fitted(graphs, values, name, noise=1e-3).posterior
    after = before.believe(queries[:1])
    counts = count(queries, pairs=before.model.kernel.labelled)
    (mean, std), (new_mean, new_std) = before.mean_std(counts), after.mean_std(counts)
    scale = before.model.y_scale
    np.testing.assert_allclose(new_mean, mean, rtol=1e-7, atol=1e-6 * scale)
    assert (new_std <= std + 1e-6 * scale).all()
    assert new_std[0] <= math.sqrt(1e-3) * scale * (1 + 1e-6)


@pytest.mark.parametrize("own_noise", [False, True])
@pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp", "rbf"])
@settings(max_examples=10)
@given(data=st.data())
def test_adding_believed_graphs_equals_a_posterior_from_scratch(
    name: str, own_noise: bool, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"directed": False, "n_features": 1}
    graphs, values = data.draw(datasets(n_nodes=(1, 5), n_labels=2, **options))
    added = data.draw(graph_lists(min_size=2, n_nodes=(1, 7), n_labels=3, **options))
    assume(np.std(values) > 1e-3)
    noise = np.full(len(values), 1e-2 * np.var(values)) if own_noise else None
    gp = GraphGP(name, noise=1e-3, restarts=1).fit(graphs, values, noise=noise)  # type: ignore[arg-type]
    believed = gp.posterior
    for graph in added:  # one after another: each may have longer paths, or a label more
        believed = believed.believe([graph])
    from_scratch = type(believed)(believed.model)
    kernel = believed.model.kernel
    counts = count([*graphs, *added], pairs=kernel.labelled, edges=kernel.edge_labelled)
    np.testing.assert_allclose(
        believed.standard_mean_std(counts),
        from_scratch.standard_mean_std(counts),
        rtol=1e-6,
        atol=1e-6,
    )


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graphs", "values", "message"),
    [
        ([EDGE], [1.0], "at least two observations, got 1"),
        ([], [], "at least two observations, got 0"),
        ([EDGE, PATH], [1.0], r"one value per graph, got 2 graphs and y of shape \(1,\)"),
        ([EDGE, PATH], [[1.0], [2.0]], r"one value per graph, got .* shape \(2, 1\)"),
        ([EDGE, PATH], 1.0, r"one value per graph, got .* shape \(\)"),
        ([EDGE, PATH], [1.0, math.nan], r"finite, but y\[1\] is nan; leave failed"),
        ([EDGE, PATH], [math.inf, 1.0], r"finite, but y\[0\] is inf"),
        ([EDGE, PATH], [1.0, -math.inf], r"finite, but y\[1\] is -inf"),
        ([EDGE, PATH], ["low", "high"], "y must be numbers"),
        ([EDGE, PATH], [1.0, None], r"y must be numbers|finite"),
        ([EDGE, PATH], None, r"y must be numbers|shape"),
        ([EDGE, "path"], [1.0, 2.0], "Graph objects, got builtins.str"),
        (EDGE, [1.0, 2.0], "a list of graphs, got one Graph"),
        ([EDGE, Graph([[0]], directed=True)], [1.0, 2.0], "all be directed or all undirected"),
    ],
)
def test_data_that_cannot_be_fitted_are_refused_and_leave_the_old_fit(
    graphs: Any, values: Any, message: str
) -> None:
    gp = fitted([EDGE, PATH], [1.0, 2.0])
    before = gp.predict([EDGE, PATH])
    with pytest.raises(InvalidInputError, match=message):
        gp.fit(graphs, values)
    assert np.array_equal(gp.predict([EDGE, PATH]), before)


def test_a_label_beyond_the_given_number_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="labels must be below 2, got label 2"):
        GraphGP(n_labels=2).fit([EDGE, Graph([[0]], [2])], [1.0, 2.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "matern"}, "unknown kernel 'matern'; choose one of ssp, sp, essp, esp"),
        (
            {"noise": 0},
            "expected noise, a variance, 'fit' or 'robust', to be a finite number > 0, got 0",
        ),
        ({"noise": -1.0}, "got -1.0"),
        ({"noise": math.nan}, "got nan"),
        ({"noise": math.inf}, "got inf"),
        ({"noise": "auto"}, "got 'auto'"),
        ({"noise": None}, "got None"),
        ({"alpha": 0.0}, "expected alpha to be a finite number > 0, got 0.0"),
        ({"alpha": "one"}, "expected alpha to be a finite number > 0, got 'one'"),
        ({"beta": math.nan}, "expected beta to be a finite number > 0, got nan"),
        ({"restarts": 0}, "expected restarts to be an integer >= 1, got 0"),
        ({"restarts": 1.5}, "got 1.5"),
        ({"n_labels": 0}, "expected n_labels to be an integer >= 1, got 0"),
        ({"n_labels": 2.5}, "expected n_labels to be an integer >= 1, got 2.5"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GraphGP(**options)


def test_an_unfitted_process_says_so() -> None:
    for ask in (
        lambda gp: gp.predict([EDGE]),
        lambda gp: gp.posterior,
        lambda gp: gp.log_likelihood,
    ):
        with pytest.raises(FitError, match=r"no data yet; call fit\(graphs, y\) first"):
            ask(GraphGP())


def test_queries_unlike_the_data_are_refused() -> None:
    gp = fitted([EDGE, PATH], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"with 0 features .* got 1"):
        gp.predict([Graph([[0]], features=[[1]])])
    with pytest.raises(
        InvalidInputError, match="undirected graphs like the fitted ones, got directed"
    ):
        gp.predict([Graph([[0]], directed=True)])
    with pytest.raises(InvalidInputError, match="at least one graph, got none"):
        gp.predict([])
    with pytest.raises(InvalidInputError, match="a list of graphs, got one Graph"):
        gp.predict(EDGE)  # type: ignore[arg-type]


def test_exponential_kernels_have_no_weight_space() -> None:
    posterior = fitted([EDGE, PATH], [1.0, 2.0], "essp").posterior
    assert isinstance(posterior, FunctionPosterior)
    with pytest.raises(InvalidInputError, match="'essp' has no finite feature vector"):
        WeightPosterior(posterior.model)


def test_jitter_is_logged_when_needed_and_only_then(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "bogrape.posterior"):
        cholesky(np.eye(3))
        assert not caplog.records
        cholesky(np.ones((3, 3)) - 1e-12 * np.eye(3))
    assert "needed a jitter of 1e-10" in caplog.text


def test_a_covariance_beyond_repair_is_an_error() -> None:
    with pytest.raises(FitError, match="not positive definite even with jitter"):
        cholesky(np.diag([1.0, -1.0]))
