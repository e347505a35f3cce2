"""The kernel ``rbf`` and its fit: scikit-learn, finite differences and symmetries."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from bogrape import GraphGP, GraphSpace
from bogrape.counts import count
from bogrape.errors import InvalidInputError, SamplingError
from bogrape.fitting import Problem
from bogrape.gp import scaled_to_space
from bogrape.graph import Graph
from bogrape.groups import divisors, group_counts
from bogrape.joint_fitting import MOST_FITTED, fit_jointly
from bogrape.kernels import RBF, get_kernel
from bogrape.posterior import FunctionPosterior

from strategies import datasets, graph_lists, relabelled

SPACE = GraphSpace(6, labels=3, features=1, edge_labels=2)
LENGTHS = {"labels": 0.7, "within_1": 1.3, "within_2": 0.9, "within_3": 2.0, "farther": 1.6}
LENGTHS |= {"features": 0.5, "edge_labels": 1.1}


def problem(n: int = 25, space: GraphSpace = SPACE, seed: int = 0) -> tuple[list[Graph], Any]:
    """Random graphs of a space and a smooth function of them, with a little noise."""
    graphs, rng = space.sample(n, seed=seed), np.random.default_rng(seed)
    values = [g.n_edges - 2.0 * g.labels.mean() + math.sin(g.n_edges) for g in graphs]
    return graphs, np.array(values) + 0.05 * rng.normal(size=n)


def scaled(graphs: list[Graph], **options: Any) -> RBF:
    given = {f"length_{group}": length for group, length in LENGTHS.items()}
    return RBF(**{**given, **options}).scaled_to(count(graphs, edges=True))


def vectors(graphs: list[Graph], kernel: RBF) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Explicit coordinates of each graph, the length scale and the group of each coordinate."""
    counts = count(graphs, edges=True)
    rows, lengths, groups = [], [], []
    for group, scale in kernel.scales:
        part = group_counts(counts, [group])[group] / divisors(counts, group)[:, None]
        rows.append(part / math.sqrt(scale))
        lengths += [kernel.lengths[group]] * part.shape[1]
        groups += [group] * part.shape[1]
    return np.concatenate(rows, axis=1), np.array(lengths), groups


def sklearn_process(gp: GraphGP, X: np.ndarray, lengths: np.ndarray) -> Any:
    """scikit-learn's Gaussian process with the same hyperparameters, not fitted yet."""
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    found = gp.hyperparameters
    kernel = kernels.ConstantKernel(found["alpha"]) * kernels.RBF(lengths)
    return GaussianProcessRegressor(
        kernel, alpha=found["noise"], optimizer=None, normalize_y=True
    ).fit(X[: len(gp.posterior.model.y)], gp.posterior.model.y)


# -- values -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(graph_lists(n_nodes=(1, 6), min_size=2, max_size=6, edge_labels=None))
def test_values_are_those_of_scikit_learn_on_explicit_vectors(graphs: list[Graph]) -> None:
    from sklearn.gaussian_process import kernels

    kernel, counts = scaled(graphs), count(graphs, edges=True)
    X, lengths, _ = vectors(graphs, kernel)
    np.testing.assert_allclose(kernel.cross(counts, counts), kernels.RBF(lengths)(X), atol=1e-12)
    assert (kernel.diagonal(counts) == 1.0).all()
    assert (np.diag(kernel.cross(counts, counts)) == 1.0).all()


def test_predictions_and_likelihood_are_those_of_scikit_learn() -> None:
    graphs, values = problem(40)
    gp = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs[:25], values[:25])
    kernel = gp.posterior.model.kernel
    assert isinstance(kernel, RBF)
    assert set(kernel.groups) == set(LENGTHS)
    X, lengths, _ = vectors(graphs, kernel)
    process = sklearn_process(gp, X, lengths)
    mean, std = process.predict(X, return_std=True)
    model = gp.posterior.model
    np.testing.assert_allclose(gp.predict(graphs), model.in_units(mean, std), rtol=1e-7)
    assert gp.log_likelihood == pytest.approx(process.log_marginal_likelihood(), abs=1e-8)


def test_gradients_are_those_of_scikit_learn_summed_over_each_group() -> None:
    from sklearn.gaussian_process import kernels

    graphs, _ = problem(12)
    kernel, counts = scaled(graphs), count(graphs, edges=True)
    X, lengths, groups = vectors(graphs, kernel)
    _, slopes = kernels.RBF(lengths)(X, eval_gradient=True)
    found = kernel.gradients(counts)
    assert list(found) == list(kernel.hyperparameters())
    for group in kernel.groups:
        expected = slopes[:, :, np.array(groups) == group].sum(axis=2)
        np.testing.assert_allclose(found[f"length_{group}"], expected, atol=1e-12)


@settings(max_examples=40)
@given(graph_lists(n_nodes=(1, 6), min_size=2, max_size=8, edge_labels=None))
def test_the_gram_matrix_is_symmetric_and_positive_semidefinite(graphs: list[Graph]) -> None:
    kernel, counts = scaled(graphs), count(graphs, edges=True)
    gram = kernel.cross(counts, counts)
    assert (gram == gram.T).all()
    assert np.linalg.eigvalsh(gram).min() > -1e-12 * len(graphs)
    assert 0 <= gram.min() <= gram.max() <= kernel.largest()


@given(st.data(), graph_lists(n_nodes=(1, 6), min_size=2, max_size=4, edge_labels=None))
def test_values_ignore_the_numbering_of_nodes(data: st.DataObject, graphs: list[Graph]) -> None:
    kernel = scaled(graphs)
    before = count(graphs, edges=True)
    after = count([data.draw(relabelled(g)) for g in graphs], edges=True)
    assert (kernel.cross(before, before) == kernel.cross(after, before)).all()


@given(st.data(), graph_lists(n_nodes=(1, 7), min_size=3, max_size=6, edge_labels=None))
def test_a_value_does_not_depend_on_the_batch(data: st.DataObject, graphs: list[Graph]) -> None:
    kernel, whole = scaled(graphs), count(graphs, edges=True)
    i = data.draw(st.integers(0, len(graphs) - 1))
    alone = kernel.cross(count([graphs[i]], edges=True), whole)
    assert (alone[0] == kernel.cross(whole, whole)[i]).all()


def test_bond_orders_distinguish_graphs() -> None:
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    single, double = Graph(path, edge_labels=path), Graph(path, edge_labels=2 * path)
    counts = count([single, double], edges=True)
    assert get_kernel("esp").cross(counts, counts)[0, 1] == get_kernel("esp").diagonal(counts)[0]
    assert scaled([single, double]).cross(counts, counts)[0, 1] < 0.9
    gp = GraphGP("rbf").fit([single, double], [1.0, 2.0])
    mean, _ = gp.predict([single, double])
    assert mean == pytest.approx([1.0, 2.0], abs=1e-3)


def test_direction_reachability_and_size_distinguish_graphs() -> None:
    chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    star = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    pieces = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    graphs = [Graph(matrix, directed=True) for matrix in (chain, star, pieces)]
    graphs.append(Graph([[0, 1], [0, 0]], directed=True))
    counts = count(graphs, edges=True)
    gram = scaled(graphs).cross(counts, counts)
    assert (gram[~np.eye(4, dtype=bool)] < 0.95).all()


def test_a_kernel_that_is_not_scaled_says_what_to_do() -> None:
    counts = count([Graph([[0]])], edges=True)
    with pytest.raises(InvalidInputError, match=r"RBF\(\)\.scaled_to\(count"):
        RBF().cross(counts, counts)


def test_the_kernel_is_found_by_its_name_which_is_reserved() -> None:
    from bogrape.kernels import register_kernel

    assert get_kernel("RBF") == RBF()
    with pytest.raises(InvalidInputError, match=r"the package's kernels.*rbf"):
        register_kernel(RBF())


# -- the fit ----------------------------------------------------------------------------------


def log_posterior(gp: GraphGP, values: dict[str, float]) -> float:
    """Log likelihood plus log priors, by scikit-learn and scipy."""
    model = gp.posterior.model
    kernel = model.kernel.with_hyperparameters(
        {name: values[name] for name in model.kernel.hyperparameters()}
    )
    covariance = values["alpha"] * kernel.cross(model.counts, model.counts)
    covariance += values["noise"] * np.eye(len(model.y))
    sign, log_det = np.linalg.slogdet(covariance)
    assert sign > 0
    quadratic = model.y @ np.linalg.solve(covariance, model.y)
    likelihood = -0.5 * (quadratic + log_det + len(model.y) * math.log(2 * math.pi))
    prior = norm.logpdf(math.log(values["alpha"]), 0.0, 1.0)
    prior += norm.logpdf(math.log(values["noise"]), math.log(1e-3), 2.5)
    for name in kernel.hyperparameters():
        prior += norm.logpdf(math.log(values[name]), 0.3, 1.0)
    return float(likelihood + prior)


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_a_maximum_of_the_posterior_density(seed: int) -> None:
    graphs, y = problem(20, seed=seed)
    gp = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, y)
    found = {name: value for name, value in gp.hyperparameters.items() if name != "beta"}
    top = log_posterior(gp, found)
    rng = np.random.default_rng(seed)
    for name in found:
        for factor in (0.98, 1.02, 0.5, 2.0):
            noise = {"noise": min(max(found["noise"] * factor, 1e-6), 0.5)}
            moved = {name: found[name] * factor} if name != "noise" else noise
            assert log_posterior(gp, {**found, **moved}) <= top + 1e-5
    for _ in range(50):  # points drawn from the priors
        drawn = {name: math.exp(rng.normal(0.3, 1.0)) for name in found}
        drawn["noise"] = min(max(math.exp(rng.normal(math.log(1e-3), 2.5)), 1e-6), 0.5)
        assert log_posterior(gp, drawn) <= top


def test_the_derivatives_of_the_loss_agree_with_finite_differences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import bogrape.joint_fitting as joint_fitting

    seen: list[Any] = []

    def record(loss: Any, logs: Any, starts: Any) -> Any:
        seen.append((loss, logs))
        return starts[0], loss(starts[0])[0]

    monkeypatch.setattr(joint_fitting, "smallest", record)
    graphs, y = problem(15)
    GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, y)
    (loss, logs) = seen[0]
    assert len(logs) == 2 + len(LENGTHS)
    rng = np.random.default_rng(0)
    for _ in range(5):
        theta = rng.uniform(logs[:, 0] / 3, logs[:, 1] / 3)
        _, slope = loss(theta)
        step = 1e-5 * np.eye(len(theta))
        numeric = [(loss(theta + e)[0] - loss(theta - e)[0]) / 2e-5 for e in step]
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-5)


def test_fitted_noise_of_the_papers_kernels_has_a_prior_too() -> None:
    """Two observations say nothing about noise, so it stays near its prior."""
    graphs, _ = problem(2)
    for name in ("ssp", "esp"):
        gp = GraphGP(name, noise="fit", alpha=1.0, beta=1.0).fit([graphs[0]] * 2, [1.0, 1.0])
        assert 1e-6 < gp.hyperparameters["noise"] < 1e-3


def test_a_fit_can_begin_where_another_ended() -> None:
    graphs, y = problem(25)
    first = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs[:24], y[:24])
    cold = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, y)
    warm = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, y, start=first.hyperparameters)
    assert log_posterior(warm, warm.hyperparameters) >= (
        log_posterior(cold, cold.hyperparameters) - 1e-3
    )


NAMES = ["alpha", *(f"length_{group}" for group in LENGTHS)]


@pytest.mark.parametrize(
    "start",
    [
        {},
        {"alpha": 1.0},
        dict.fromkeys(NAMES, "long"),
        dict.fromkeys(NAMES, math.nan),
        dict.fromkeys(NAMES, -1.0),
        dict.fromkeys(NAMES, 10**400),
    ],
    ids=["empty", "of another kernel", "text", "nan", "negative", "huge"],
)
def test_an_invalid_start_is_ignored(start: dict[str, Any]) -> None:
    graphs, y = problem(10)
    plain = GraphGP("rbf", space=SPACE).fit(graphs, y)
    assert GraphGP("rbf", space=SPACE).fit(graphs, y, start=start).hyperparameters == (
        plain.hyperparameters
    )


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0.0), (-3.0, 1e4), (1e12, -5.0)])
def test_predictions_follow_the_units_of_the_objective(scale: float, shift: float) -> None:
    graphs, y = problem(20)
    one = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, y)
    other = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, scale * y + shift)
    for name, value in one.hyperparameters.items():
        assert other.hyperparameters[name] == pytest.approx(value, rel=1e-3)
    (mean, std), (there, its_std) = one.predict(graphs), other.predict(graphs)
    np.testing.assert_allclose(there, scale * mean + shift, rtol=1e-6, atol=1e-4 * abs(scale))
    np.testing.assert_allclose(its_std, abs(scale) * std, rtol=1e-2)


@settings(max_examples=25)
@given(datasets(n_nodes=(1, 5), max_size=6, edge_labels=None))
def test_any_observations_can_be_fitted(data: tuple[list[Graph], list[float]]) -> None:
    graphs, y = data
    gp = GraphGP("rbf", noise="fit").fit(graphs, y)
    mean, std = gp.predict(graphs)
    assert np.isfinite([mean, std]).all()
    assert gp.describe()


def test_scales_come_from_the_space_and_not_from_the_observations() -> None:
    graphs, y = problem(30)
    near = [graph for graph in graphs if graph.n_edges < 9]
    assert 2 <= len(near) < 30
    of_space = GraphGP("rbf", space=SPACE).fit(near, y[: len(near)]).posterior.model.kernel
    again = GraphGP("rbf", space=SPACE).fit(graphs, y).posterior.model.kernel
    alone = GraphGP("rbf").fit(near, y[: len(near)]).posterior.model.kernel
    assert isinstance(of_space, RBF)
    assert isinstance(again, RBF)
    assert isinstance(alone, RBF)
    assert of_space.scales == again.scales
    assert alone.scales == RBF().scaled_to(count(near, edges=True)).scales


def test_without_enough_random_graphs_the_observed_ones_give_the_scales(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_slow(*_: object, **__: object) -> None:
        raise SamplingError("too slow", out_of_time=True, graphs=graphs[:3])

    graphs, y = problem(12)
    space = GraphSpace(6, labels=3, features=1, edge_labels=2, connected=False)
    monkeypatch.setattr(GraphSpace, "sample", too_slow)
    found = GraphGP("rbf", space=space).fit(graphs, y).posterior.model.kernel
    assert isinstance(found, RBF)
    assert found.scales == RBF().scaled_to(count(graphs, edges=True)).scales
    scaled_to_space.cache_clear()  # the cached scales are wrong for this space


def test_many_observations_fit_length_scales_to_a_part_and_predict_from_all() -> None:
    graphs, y = problem(MOST_FITTED + 60, GraphSpace(7, labels=2))
    gp = GraphGP("rbf", noise="fit").fit(graphs, y)
    model = gp.posterior.model
    assert len(model.y) == len(graphs)
    part = fit_jointly(
        Problem(
            kernel=RBF().scaled_to(count(graphs, edges=True)),
            counts=model.counts,
            y=model.y,
            known={"alpha": None, "beta": 0.0, "noise": None},
            feature_kernel=False,
            restarts=1,
            seed=0,
        )
    )
    assert part.kernel == model.kernel
    residual = gp.predict(graphs)[0] - y
    assert np.sqrt((residual**2).mean()) < 0.5 * y.std()


# -- errors, words, copies --------------------------------------------------------------------


def test_graphs_of_a_kind_the_kernel_was_not_scaled_to_are_refused() -> None:
    graphs, y = problem(6)
    plain, _ = problem(6, GraphSpace(6, labels=3))
    with pytest.raises(InvalidInputError, match="got graphs with features and edge labels"):
        GraphGP("rbf", space=GraphSpace(6, labels=3)).fit(graphs, y)
    featured = GraphSpace(6, labels=3, features=1)
    gp = GraphGP("rbf").fit(featured.sample(6), y)
    with pytest.raises(InvalidInputError, match="without edge labels like the fitted ones"):
        gp.predict(graphs)
    with pytest.raises(InvalidInputError, match="with 1 features"):
        gp.predict(plain)


def test_there_is_no_additional_feature_kernel() -> None:
    graphs, y = problem(8)
    assert GraphGP("rbf").fit(graphs, y).hyperparameters["beta"] == 0.0
    with pytest.raises(InvalidInputError, match="the kernel 'rbf', which has none"):
        GraphGP("rbf", beta=1.0)


def test_the_kernel_says_what_matters_most() -> None:
    counts = count(problem(5)[0], edges=True)
    kernel = RBF(length_within_2=0.3, length_edge_labels=0.6).scaled_to(counts)
    (said,) = kernel.in_words(3)
    assert said.startswith("Most important for the prediction: pairs of labels within 2 steps (")
    assert ", then labels of edges (" in said
    assert "pairs of nodes within 1 step (" in kernel.in_words(1)[0]
    assert sum(kernel.importance().values()) == pytest.approx(1.0)
    (equal,) = RBF().scaled_to(counts).in_words(3)
    assert equal.startswith("All of these matter about equally: ")


def test_a_fitted_process_describes_itself() -> None:
    space = GraphSpace(7, labels=2)
    graphs = space.sample(40, seed=3)
    gp = GraphGP("rbf", noise="fit", space=space).fit(graphs, [g.labels.mean() for g in graphs])
    assert gp.describe().startswith(
        "Most important for the prediction: numbers of nodes with each label ("
    )
    assert gp.describe().endswith(" of the observed values as noise.")
    assert GraphGP("ssp").fit(graphs, range(40)).describe().startswith("The kernel is ssp.")


def test_posteriors_are_copied_condensed_and_extended() -> None:
    graphs, y = problem(15)
    gp = GraphGP("rbf", noise="fit", space=SPACE).fit(graphs, y)
    posterior, queries = gp.posterior, count(SPACE.sample(9, seed=5), 3, edges=True)
    assert isinstance(posterior, FunctionPosterior)
    expected = posterior.mean_std(queries)
    for copied in (pickle.loads(pickle.dumps(posterior)), posterior.condensed()):
        np.testing.assert_array_equal(copied.mean_std(queries), expected)
    believed = posterior.believe(SPACE.sample(3, seed=5))
    mean, std = believed.mean_std(queries)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6)
    assert (std[:3] < expected[1][:3]).all()
