"""Custom surrogates: searched, proved by listing, and refused if their predictions are invalid."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, constraints, propose
from bogrape.batch import Batch
from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.propose.exact.proof import whole_space
from bogrape.propose.graph_criterion import GraphCriterion
from bogrape.surrogate import FittedSurrogate, PathShares, RegressorSurrogate, unfitted
from exhaustive import dataset
from own_parts import (
    Constant,
    Neighbours,
    Optimist,
    ProbabilityOfImprovement,
    assert_best_of_all,
    uncertain_middle,
)

SMALL = {
    "labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((2, 5)),
    "rules": GraphSpace(5, labels=2, rules=[constraints.NumberOfEdges(0, 6)]),
    "features": GraphSpace(3, labels=2, features=1),
    "directed": GraphSpace(3, labels=2, directed=True),
}


def fitted(space: GraphSpace, seed: int = 0, surrogate: Any = None) -> FittedSurrogate:
    graphs, y = dataset(space, "random", seed)
    return FittedSurrogate.fit(surrogate or Neighbours(), graphs, y)


@pytest.mark.parametrize(
    "acquisition", [LCB(1.0), EI(), Optimist(), uncertain_middle, ProbabilityOfImprovement()]
)
@pytest.mark.parametrize("name", SMALL)
def test_in_a_small_space_the_best_of_all_graphs_is_found_and_proved(
    name: str, acquisition: Any
) -> None:
    model = fitted(SMALL[name], 2)
    best = assert_best_of_all(SMALL[name], model, acquisition)
    assert best.method == "listing"
    assert_best_of_all(SMALL[name], model, acquisition, exclude=[best.graph])


def test_in_a_large_space_the_answer_is_a_heuristic_without_a_bound() -> None:
    space = GraphSpace(12, labels=3)
    proposal = propose(space, fitted(space), time_limit=4)
    assert (proposal.status, proposal.bound, proposal.gap) == ("heuristic", -math.inf, math.inf)
    assert space.contains(proposal.graph)


def test_search_finds_the_optimum_that_listing_proves() -> None:
    space = GraphSpace(5, labels=2)
    model = fitted(space, 4)
    exact = propose(space, model, time_limit=30)
    found = propose(space, model, method="search", time_limit=30)
    assert found.status == "heuristic"
    assert found.value == pytest.approx(exact.value, abs=1e-9)


def test_the_mip_is_refused() -> None:
    space = GraphSpace(4)
    with pytest.raises(
        UnsupportedError,
        match="surrogate of your own, several properties, or probabilities of success",
    ):
        propose(space, fitted(space), method="mip")


# -- predictions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda graphs: np.zeros(len(graphs)), "two arrays, mean and standard deviation"),
        (
            lambda graphs: (np.zeros(len(graphs)), np.zeros((len(graphs), 1))),
            r"one number per graph, shape \(\d+,\), got shape \(\d+, 1\)",
        ),
        (
            lambda graphs: (np.full(len(graphs), np.nan), np.ones(len(graphs))),
            "finite numbers, got nan",
        ),
        (
            lambda graphs: (np.zeros(len(graphs)), np.full(len(graphs), np.inf)),
            "finite numbers, got inf",
        ),
        (
            lambda graphs: (np.zeros(len(graphs)), np.full(len(graphs), -0.25)),
            "standard deviations >= 0, got -0.25",
        ),
        (lambda graphs: (["a"] * len(graphs), ["b"] * len(graphs)), "arrays of numbers, got list"),
    ],
)
def test_invalid_predictions_are_refused(answer: Any, message: str) -> None:
    space = GraphSpace(4)
    with pytest.raises(InvalidInputError, match=rf"surrogate Constant: expected .*{message}"):
        propose(space, fitted(space, surrogate=Constant(answer)))


def test_a_surrogate_that_depends_on_the_numbering_of_nodes_is_refused() -> None:
    def first_degree(graphs: Sequence[Graph]) -> Any:
        return np.array([g.adjacency[0].sum() for g in graphs]), np.ones(len(graphs))

    space = GraphSpace(5)
    for method in ("auto", "search"):
        with pytest.raises(InvalidInputError, match="numbering of a graph's nodes"):
            propose(space, fitted(space, surrogate=Constant(first_degree)), method=method)  # type: ignore[call-overload]


def test_a_surrogate_may_distinguish_nodes_that_have_names() -> None:
    def first_degree(graphs: Sequence[Graph]) -> Any:
        return np.array([g.adjacency[0].sum() for g in graphs]), np.ones(len(graphs))

    space = GraphSpace(nodes=["a", "b", "c", "d"])
    proposal = propose(space, fitted(space, surrogate=Constant(first_degree)), time_limit=20)
    assert proposal.status == "optimal"
    assert proposal.graph.adjacency[0].sum() == 1


def test_a_surrogate_with_changing_predictions_is_refused() -> None:
    rng = np.random.default_rng(0)

    def noise(graphs: Sequence[Graph]) -> Any:
        return rng.normal(size=len(graphs)), np.ones(len(graphs))

    space = GraphSpace(5)
    with pytest.raises(InvalidInputError, match="depend neither on earlier calls"):
        propose(space, fitted(space, surrogate=Constant(noise)))


def test_the_surrogate_predicts_many_graphs_at_a_time_all_of_them_in_the_space() -> None:
    space = GraphSpace(8, labels=2, rules=[constraints.NumberOfEdges(0, 9)])
    asked: list[list[Graph]] = []

    def watch(graphs: Sequence[Graph]) -> Any:
        asked.append(list(graphs))
        edges = np.array([graph.n_edges for graph in graphs], dtype=float)
        return edges, np.ones(len(graphs))

    model = FittedSurrogate(Constant(watch), *map(tuple, _data(space)))  # type: ignore[arg-type]
    propose(space, model, method="search", time_limit=20)
    graphs = [graph for part in asked for graph in part]
    assert space.contains_each(graphs).all()
    assert len(graphs) / len(asked) > 20
    numbered = {graph.to_json() for graph in graphs}
    assert len(numbered) > 0.9 * len(graphs)  # hardly any is predicted twice


def _data(space: GraphSpace) -> tuple[list[Graph], list[float]]:
    graphs = space.sample(6, seed=1)
    return graphs, [float(graph.n_edges) for graph in graphs]


def test_a_slow_surrogate_keeps_the_time_limit() -> None:
    space = GraphSpace(10, labels=2)

    def slow(graphs: Sequence[Graph]) -> Any:
        time.sleep(0.005 * len(graphs))
        return np.array([g.n_edges for g in graphs]), np.ones(len(graphs))

    model = FittedSurrogate(Constant(slow), *map(tuple, _data(space)))  # type: ignore[arg-type]
    began = time.monotonic()
    proposal = propose(space, model, time_limit=2)
    assert time.monotonic() - began < 6
    assert proposal.status == "heuristic"


def test_values_in_parts_equal_values_at_once() -> None:
    space = GraphSpace(6, labels=2, rules=[constraints.NumberOfEdges(0, 8)])
    model = fitted(space, 3)
    batch = Batch.of(GraphSpace(6, labels=2).sample(300, seed=5))
    values, joined = GraphCriterion(space=space, model=model, acquisition=LCB(1.0)).evaluate(batch)
    inside = space.excess(batch) == 0
    assert inside.any()
    assert not inside.all()
    assert np.isinf(values[~inside]).all()
    one_by_one = GraphCriterion(space=space, model=model, acquisition=LCB(1.0))
    expected = [one_by_one.of_graph(batch.graph(int(i))) for i in np.flatnonzero(inside)]
    np.testing.assert_allclose(values[inside], expected, rtol=1e-12)
    assert (joined == 36).all()


# -- observations ---------------------------------------------------------------------------------


def test_batches_fit_the_surrogate_again_with_believed_values() -> None:
    space = GraphSpace(5, labels=2)
    model = fitted(space, 1)
    found = propose(space, model, n=3, time_limit=30)
    assert isinstance(found, list)
    assert len({p.graph.canonical_key() for p in found}) == 3
    mean, _ = model.predict([found[0].graph])
    believed = FittedSurrogate.fit(
        Neighbours(), [*model.graphs, found[0].graph], [*model.y, mean[0]]
    )
    second = propose(space, believed, exclude=[found[0].graph], time_limit=30)
    assert second.value == pytest.approx(found[1].value, abs=1e-9)
    pending = propose(space, model, pending=[found[0].graph], time_limit=30)
    assert pending.value == pytest.approx(found[1].value, abs=1e-9)
    assert len(model.graphs) == len(model.y)  # the model itself is unchanged


def test_a_bare_surrogate_is_enough_for_one_graph_with_lcb() -> None:
    space = GraphSpace(5, labels=2)
    model = fitted(space, 1)
    proposal = propose(space, model.surrogate, LCB(0.5), time_limit=30)
    expected = propose(space, model, LCB(0.5), time_limit=30)
    assert proposal.status == "optimal"
    assert proposal.value == pytest.approx(expected.value, abs=1e-6)
    for options in ({"n": 2}, {"acquisition": EI()}, {"pending": [proposal.graph]}):
        with pytest.raises(InvalidInputError, match=r"FittedSurrogate\.fit"):
            propose(space, model.surrogate, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("thing", [None, 3, Neighbours, object()])
def test_a_value_that_is_not_a_surrogate_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidInputError, match="expected a fitted GraphGP, its posterior, or"):
        propose(GraphSpace(4), thing)


def test_a_posterior_of_your_own_is_refused_with_a_remedy() -> None:
    class Mine:
        def believe(self, graphs: Any) -> Any:  # noqa: ARG002
            return self

    with pytest.raises(InvalidInputError, match=r"predict\(graphs\) -> \(mean, std\), got Mine"):
        propose(GraphSpace(4), Mine())  # type: ignore[call-overload]


def test_fitting_does_not_change_the_given_surrogate() -> None:
    original = Neighbours(k=2)
    graphs, y = dataset(GraphSpace(4), "random", 0)
    model = FittedSurrogate.fit(original, graphs, y)
    assert original._rows is None
    assert isinstance(unfitted(Neighbours), Neighbours)
    assert isinstance(unfitted(lambda: Neighbours(1)), Neighbours)
    assert model.name == "Neighbours"
    for wrong in (3, list, lambda: 3):
        with pytest.raises(InvalidInputError, match="expected a surrogate"):
            FittedSurrogate.fit(wrong, graphs, y)  # type: ignore[arg-type]


def test_a_gaussian_process_is_a_surrogate_too() -> None:
    """Used through `predict` alone, it gives the same proposals."""
    space = GraphSpace(5, labels=2)
    graphs, y = dataset(space, "random", 3)
    gp = GraphGP("sp", n_labels=2).fit(graphs, y)
    exact = propose(space, gp, time_limit=30)
    model = FittedSurrogate(gp, tuple(graphs), y)
    listed = propose(space, model, time_limit=30)
    assert listed.status == exact.status == "optimal"
    assert listed.value == pytest.approx(exact.value, abs=1e-6)


# -- scikit-learn ---------------------------------------------------------------------------------


def test_path_shares_have_one_width_and_lose_no_pairs() -> None:
    space = GraphSpace((3, 8), labels=2)
    rows = PathShares(3, 2)(space.sample(50, seed=0))
    assert rows.shape == (50, 3 * 4 + 2)
    np.testing.assert_allclose(rows[:, :12].sum(axis=1), 1.0)


def test_regressors_of_scikit_learn_without_a_deviation_are_refused() -> None:
    pytest.importorskip("sklearn")
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    space = GraphSpace(4, labels=2)
    graphs, y = dataset(space, "random", 1)
    shares = PathShares(4, 2)
    for regressor in (
        RandomForestRegressor(20, random_state=0),
        GaussianProcessRegressor(alpha=1e-3),
        make_pipeline(StandardScaler(), RandomForestRegressor(20, random_state=0)),
    ):
        model = FittedSurrogate.fit(RegressorSurrogate(regressor, shares), graphs, y)
        mean, std = model.predict(graphs)
        fresh = unfitted(RegressorSurrogate(regressor, shares))
        fresh.fit(graphs, y)
        np.testing.assert_allclose(mean, fresh.regressor.predict(shares(graphs)))  # type: ignore[attr-defined]
        assert std.max() > 0
        assert_best_of_all(space, model, LCB(1.0))
    for regressor in (GradientBoostingRegressor(), LinearRegression()):
        with pytest.raises(UnsupportedError, match="gives no standard deviation"):
            propose(space, FittedSurrogate.fit(RegressorSurrogate(regressor, shares), graphs, y))


def test_the_result_of_the_search_survives_a_listing_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = GraphSpace(5, labels=2)
    model = fitted(space, 4)
    exact = propose(space, model, time_limit=30)

    def in_vain(objective: Any, request: Any, until: float) -> None:  # noqa: ARG001
        time.sleep(max(0.0, request.deadline - time.monotonic()))

    monkeypatch.setattr(whole_space, "_best_of_all", in_vain)
    proposal = propose(space, model, time_limit=3)
    assert proposal.status == "heuristic"
    assert proposal.value == pytest.approx(exact.value, abs=1e-9)
