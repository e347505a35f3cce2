"""The space decides which graphs are identical, for everything that must not repeat a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bogrape import Graph, GraphGP, GraphSpace, Study, propose
from bogrape.batch import Batch
from bogrape.constraints import Row, Rule, Shape
from bogrape.constraints.rule import Excess
from bogrape.errors import SamplingError, SearchSpaceExhausted, StudyError


@dataclass(frozen=True, repr=False)
class SameWhenEquallyDense(Rule):
    """Allows all graphs, and makes those with the same number of edges identical."""

    def excess(self, batch: Batch) -> Excess:
        return 0.0 * batch.labels.sum(axis=1)

    def rows(self, shape: Shape) -> Iterator[Row]:  # noqa: ARG002
        return iter(())

    def identify(self, graph: Graph) -> str:
        return f"{graph.n_nodes} nodes, {graph.n_edges} edges"


SPACE = GraphSpace(5, rules=[SameWhenEquallyDense()])
N_DIFFERENT = 7  # connected graphs with 5 nodes have 4 to 10 edges


def test_isomorphic_graphs_are_identical_unless_a_rule_says_otherwise() -> None:
    path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert GraphSpace(3).identity(path) == GraphSpace(3).identity(path.permuted([1, 0, 2]))
    assert GraphSpace(3).identity_version.startswith("igraph")


def test_enumeration_lists_every_identity_once() -> None:
    assert sorted(graph.n_edges for graph in SPACE.enumerate()) == [4, 5, 6, 7, 8, 9, 10]


def test_samples_are_distinct_by_identity() -> None:
    drawn = SPACE.sample(N_DIFFERENT, distinct=True)
    assert len({graph.n_edges for graph in drawn}) == N_DIFFERENT
    with pytest.raises(SamplingError, match="different graphs"):
        SPACE.sample(N_DIFFERENT + 1, distinct=True)


@pytest.mark.parametrize("method", ["search", "evolve"])
def test_a_proposal_is_not_identical_to_an_excluded_graph(method: str) -> None:
    graphs = SPACE.enumerate()
    seen = graphs[:6]
    found = propose(SPACE, _fitted(seen), method=method, exclude=seen, n_evaluations=2000)
    assert found.graph.n_edges == graphs[6].n_edges
    with pytest.raises(SearchSpaceExhausted):
        propose(SPACE, _fitted(graphs), method=method, exclude=graphs, n_evaluations=2000)


def _fitted(graphs: list[Graph]) -> GraphGP:
    return GraphGP("sp").fit(graphs, [float(graph.n_edges) for graph in graphs])


def test_a_study_never_hands_out_a_graph_identical_to_a_trial() -> None:
    study = Study(SPACE, n_initial=3, method="search", n_evaluations=2000)
    for _ in range(N_DIFFERENT):
        trial = study.ask()
        study.tell(trial, float(trial.graph.n_edges))
    assert sorted(trial.graph.n_edges for trial in study.trials) == [4, 5, 6, 7, 8, 9, 10]
    with pytest.raises(SearchSpaceExhausted):
        study.ask()
    with pytest.raises(StudyError, match="already in the study"):
        study.enqueue(SPACE.sample(1, seed=5)[0])


def test_repeats_of_one_identity_are_averaged_for_the_best() -> None:
    study = Study(SPACE)
    one, other = (
        g for g in GraphSpace(5).enumerate() if g.n_edges == 4 and g.distances().max() > 2
    )
    worse = next(g for g in GraphSpace(5).enumerate() if g.n_edges == 7)
    study.add_all([(one, 0.0), (worse, 0.4), (other, 1.0)])
    assert study.best.graph == worse


def test_an_old_database_with_twins_gets_keys_by_identity(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    plain = Study(GraphSpace(5), url, "old")
    for graph in (g for g in GraphSpace(5).enumerate() if g.n_edges < 7):
        plain.add(graph, 1.0)
    storage = plain.storage
    storage.use_keys("old", "igraph 0.1", SPACE.identity)  # as if SPACE had been its space
    keys = [SPACE.identity(trial.graph) for trial in plain.trials]
    assert storage.insert("old", [plain.trials[0]], keys[:1], distinct=True) is None
    fresh = next(g for g in GraphSpace(5).enumerate() if SPACE.identity(g) not in keys)
    draft = plain._ledger.draft(fresh, "queued")
    assert storage.insert("old", [draft], [SPACE.identity(fresh)], distinct=True) is not None
