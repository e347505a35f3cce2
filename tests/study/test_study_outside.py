"""Observations from outside the space train the model, are marked, and are never proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Study, propose
from bogrape.constraints import LabelCount, NumberOfEdges
from bogrape.errors import InvalidInputError, NotInSpaceError, ObservationsError, StudyError
from exhaustive import everything

from oracles import feature_matrix, kernel_matrix, textbook_posterior

SPACE = GraphSpace(5, labels=2, rules=[NumberOfEdges(maximum=6), LabelCount(1, maximum=2)])
ANYWHERE = GraphSpace((2, 8), labels=2, connected=False)


def value_of(graph: Graph) -> float:
    return float(graph.n_edges - 2 * graph.labels.sum())


def observations(n: int, seed: int) -> list[tuple[Graph, float]]:
    return [(graph, value_of(graph)) for graph in ANYWHERE.sample(n, seed=seed, distinct=True)]


def test_observations_outside_the_space_are_kept_with_the_rules_they_break() -> None:
    study = Study(SPACE)
    added = study.add_all(observations(12, seed=0))
    assert [t.outside == () for t in added] == [SPACE.contains(t.graph) for t in added]
    assert any(t.outside for t in added)
    assert all(t.outside == tuple(SPACE.violations(t.graph)) for t in added)
    assert len(study.dataset.graphs) == 12


def test_observations_outside_the_space_survive_in_a_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    first = Study(SPACE, url).add_all(observations(12, seed=0))
    again = Study.load(url).trials
    assert list(again) == list(first)
    assert [t.outside for t in again] == [t.outside for t in first]


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()])
def test_proposals_are_exact_with_observations_of_all_sizes(
    kernel: str, acquisition: LCB | EI
) -> None:
    """The exact answer equals brute force, even if observed graphs are larger than the space's."""
    graphs, y = zip(*observations(14, seed=3), strict=True)
    space = GraphSpace((3, 4), labels=2)
    gp = GraphGP(kernel, noise=1e-3).fit(list(graphs), list(y))  # type: ignore[arg-type]
    found = propose(space, gp, acquisition, method="exact", exclude=graphs, time_limit=60)
    taken = {graph.canonical_key() for graph in graphs}
    left = [graph for graph in everything(space) if graph.canonical_key() not in taken]
    mean, std = gp.predict(left)
    values = acquisition(mean, std, min(y))
    assert found.status == "optimal"
    assert found.value == pytest.approx(values.min(), abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 15))
def test_every_observation_is_used(seed: int, n: int) -> None:
    """The predictions are those of a plain Gaussian process over all observations."""
    study = Study(SPACE, kernel="sp", noise=1e-2)
    added = study.add_all(observations(n, seed))
    queries = SPACE.sample(4, seed=seed)
    mean, std = study.predict(queries)
    graphs, y = [t.graph for t in added], np.array([t.value for t in added])
    gp = GraphGP("sp", noise=1e-2, n_labels=2).fit(graphs, y)
    model = gp.posterior.model

    def kernel(left: list[Graph], right: list[Graph]) -> np.ndarray:
        paths, nodes = kernel_matrix(left, right, "sp"), feature_matrix(left, right, 2)
        return np.asarray(model.alpha * paths + model.beta * nodes)

    expected_mean, expected_std = textbook_posterior(
        kernel(graphs, graphs), kernel(queries, graphs), np.diag(kernel(queries, queries)), 1e-2, y
    )
    assert np.allclose(mean, expected_mean, rtol=1e-6, atol=1e-6)
    assert np.allclose(std, expected_std, rtol=1e-5, atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_proposed_graphs_are_always_in_the_space(seed: int) -> None:
    study = Study(SPACE, n_initial=3, method="search", time_limit=0.2, seed=seed)
    study.add_all(observations(6, seed))
    for trial in study.ask(3):  # type: ignore[union-attr]
        assert SPACE.contains(trial.graph)
        assert trial.outside == ()


def test_the_initial_design_continues_after_larger_graphs_were_added() -> None:
    study = Study(SPACE, n_initial=10)
    study.add_all(observations(4, seed=1))
    assert all(SPACE.contains(trial.graph) for trial in study.ask(6))  # type: ignore[union-attr]


def test_observations_outside_the_space_are_refused_on_request() -> None:
    study = Study(SPACE)
    inside = SPACE.sample(1)[0]
    large = GraphSpace(8, labels=2).sample(1)[0]
    with pytest.raises(ObservationsError, match=r"observation 1: .*number of nodes 5, got 8"):
        study.add_all([(inside, 1.0), (large, 2.0)], outside="refuse")
    with pytest.raises(NotInSpaceError, match="number of nodes"):
        study.add(large, 2.0, outside="refuse")
    with pytest.raises(InvalidInputError, match="'accept' or 'refuse'"):
        study.add_all([], outside="drop")  # type: ignore[arg-type]
    assert study.trials == ()


def test_all_invalid_observations_are_reported_at_once_and_none_is_added() -> None:
    study = Study(SPACE)
    fine = SPACE.sample(1)[0]
    path = [[0, 1], [1, 0]]
    with pytest.raises(ObservationsError) as caught:
        study.add_all(
            [
                (fine, 1.0),
                (fine, float("nan")),
                (Graph(path, labels=[0, 5]), 1.0),
                (Graph(path, directed=True), 1.0),
                (Graph(path, edge_labels=path), 1.0),
                "CCO",  # type: ignore[list-item]
            ]
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "5 of 6 observations cannot be used; none was added"
    assert [i for i, _ in caught.value.problems] == [1, 2, 3, 4, 5]
    expected = ["finite", "labels below 2", "directed=", "without", "its noise, got"]
    for line, words in zip(lines[1:], expected, strict=True):
        assert words in line
    assert study.trials == ()


# -- predictions ------------------------------------------------------------------------------


def test_a_prediction_needs_two_observations_and_readable_graphs() -> None:
    study = Study(SPACE)
    graph = SPACE.sample(1)[0]
    with pytest.raises(StudyError, match="needs two complete trials, and the study has 0"):
        study.predict([graph])
    study.add_all(observations(3, seed=0))
    with pytest.raises(InvalidInputError, match="got one Graph; put it in a list"):
        study.predict(graph)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="graph 1 cannot be read: expected node labels"):
        study.predict([graph, Graph([[0]], labels=[9])])


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_proposed_trial_stores_what_the_model_predicts(direction: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    settings: Any = {"n_initial": 2, "preset": "paper", "direction": direction, "time_limit": 5}
    study = Study(SPACE, url, **settings)
    study.add_all(observations(8, seed=5))
    mean, std = study.predict([graph := study.ask().graph])
    stored = Study.load(url).trials[-1]
    assert stored.graph == graph
    assert stored.predicted == pytest.approx((mean[0], std[0]))
    assert study.trials[0].predicted is None  # there was no model yet
    sign = -1.0 if direction == "maximize" else 1.0
    assert stored.certificate["value"] == pytest.approx(mean[0] - sign * std[0])  # LCB(1.0)


def test_predictions_of_a_batch_do_not_depend_on_its_other_members() -> None:
    study = Study(SPACE, n_initial=2, method="search", time_limit=2)
    study.add_all(observations(8, seed=5))
    batch = study.ask(3)
    mean, std = study.predict([trial.graph for trial in batch])  # type: ignore[union-attr]
    assert [t.predicted for t in batch] == [  # type: ignore[union-attr]
        pytest.approx(pair) for pair in zip(mean, std, strict=True)
    ]


# -- the best ---------------------------------------------------------------------------------


def test_the_best_is_in_the_space_if_any_observation_is() -> None:
    study = Study(SPACE)
    outside = study.add(GraphSpace(8, labels=2).sample(1)[0], -100.0)
    assert study.best == outside
    inside = study.add(SPACE.sample(1)[0], 5.0)
    assert study.best == inside


def test_improvement_is_measured_against_the_best_of_the_space() -> None:
    """An unreachable value far below would make every expected improvement vanish."""
    study = Study(SPACE, acquisition="ei", n_initial=2, time_limit=10, noise=1e-2)
    inside = [(graph, value_of(graph)) for graph in SPACE.sample(6, seed=2, distinct=True)]
    study.add_all([*inside, (GraphSpace(8, labels=2).sample(1)[0], -60.0)])
    trial = study.ask()
    mean, std = study.predict([trial.graph])
    expected = EI()(mean, std, min(value for _, value in inside))
    assert trial.certificate["value"] == pytest.approx(expected[0], rel=1e-6)
    left = [g for g in everything(SPACE) if g not in [graph for graph, _ in inside]]
    assert trial.certificate["status"] == "optimal"
    assert expected[0] <= EI()(*study.predict(left), min(v for _, v in inside)).min() + 1e-9
