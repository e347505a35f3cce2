"""Local search: its results, exclusions, and when it stops."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphSpace
from bogrape.batch import Batch
from bogrape.constraints import Acyclic, DegreeRange, LabelCount, NumberOfEdges, RequiredEdge
from bogrape.counts import Counts
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.local import chains
from bogrape.propose.local import search as module
from bogrape.propose.local.search import search
from bogrape.propose.values import CountObjective, Elite
from exhaustive import everything, fitted, true_values

from oracles import are_isomorphic, networkx_graph

PLENTY = 15_000  # evaluations, in spaces of at most a few hundred graphs
ROUND = 4_000 + 2 * 24  # upper bound on the evaluations of one round, with restarted chains
TIE = 1e-9  # in standard deviations of the observed values

SPACES = {
    "bare": GraphSpace(6),
    "sizes": GraphSpace((2, 5)),
    "labels": GraphSpace(4, labels=3),
    "features": GraphSpace(3, labels=2, features=1),
    "edge labels": GraphSpace(4, edge_labels=2),
    "directed": GraphSpace(4, directed=True),
    "strong": GraphSpace(4, directed=True, connected="strong"),
    "apart": GraphSpace(5, connected=False),
    "trees": GraphSpace(6, rules=[Acyclic()]),
    "rules": GraphSpace(
        5,
        labels=2,
        rules=[LabelCount(1, 1, 2), DegreeRange(maximum=3), NumberOfEdges(5), RequiredEdge(0, 4)],
    ),
}
KERNELS = ("ssp", "esp")


@dataclass(frozen=True)
class Wiener(CountObjective):
    """Distance of the Wiener index (sum of all distances) from a target; no kernel is involved."""

    space: GraphSpace
    target: int
    labelled: bool = False

    def width(self, n: int) -> int:
        return n

    def of_counts(self, counts: Counts) -> np.ndarray:
        total = counts.lengths @ np.arange(counts.lengths.shape[1]) / 2
        return np.abs(total - self.target)


def wiener(graph: Graph) -> int:
    return int(nx.wiener_index(networkx_graph(graph)))


# -- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SPACES)
def test_with_enough_evaluations_it_finds_the_optimum(name: str, kernel: str) -> None:
    space = SPACES[name]
    gp = fitted(space, kernel, seed=len(name))
    acquisition = EI() if kernel == "esp" else LCB(1.0)
    objective = Criterion(space, gp.posterior, acquisition)
    graphs = everything(space)
    truth = sorted(zip(true_values(gp, acquisition, graphs), range(len(graphs)), strict=True))
    taken: set[str] = set()
    for rank in (0, 2):
        taken.update(space.identity(graphs[i]) for _, i in truth[:rank])
        elite = search(objective, excluded=taken, n_evaluations=PLENTY, seed=rank)
        assert objective.units.value(elite.value) == pytest.approx(truth[rank][0], rel=1e-6)
        assert not taken & set(elite.ties)


@pytest.mark.parametrize("target", [15, 16, 20, 26, 35])
def test_any_function_of_counts_can_be_searched(target: int) -> None:
    """On six nodes the index is between 15, for the complete graph, and 35, for the path."""
    space = GraphSpace(6)
    elite = search(Wiener(space, target), n_evaluations=PLENTY)
    assert elite.value == 0
    assert elite.ties
    assert {wiener(graph) for graph in elite.ties.values()} == {target}


@pytest.mark.parametrize("name", SPACES)
def test_all_returned_graphs_are_in_the_space_and_really_tied(name: str) -> None:
    space = SPACES[name]
    gp = fitted(space, "ssp", seed=3)
    elite = search(Criterion(space, gp.posterior, LCB(1.0)), n_evaluations=PLENTY)
    graphs = list(elite.ties.values())
    assert all(map(space.contains, graphs))
    assert [space.identity(graph) for graph in graphs] == list(elite.ties)
    assert not any(are_isomorphic(a, b) for a, b in itertools.combinations(graphs, 2))
    values = true_values(gp, LCB(1.0), graphs)
    assert np.ptp(values) <= 2 * TIE * gp.posterior.model.y_scale * max(1, abs(elite.value))


def test_starts_are_evaluated() -> None:
    """With a budget for the starts only, the given one is found."""
    space = GraphSpace(9)
    objective = Wiener(space, 0)  # most edges are best: unlikely at random
    whole = Graph(~np.eye(9, dtype=bool))
    elite = search(objective, n_evaluations=1, starts=[whole])
    assert elite.value == 36
    assert list(elite.ties.values()) == [whole]


# -- exclusions ---------------------------------------------------------------------------------


@settings(max_examples=15)
@given(data=st.data(), name=st.sampled_from(sorted(SPACES)), seed=st.integers(0, 1000))
def test_an_excluded_graph_is_never_returned_in_any_numbering(
    data: st.DataObject, name: str, seed: int
) -> None:
    space = SPACES[name]
    objective = Criterion(space, fitted(space, "ssp", seed=seed % 5).posterior, LCB(1.0))
    graphs = everything(space)
    left = data.draw(st.sets(st.sampled_from(range(len(graphs))), max_size=3))
    taken = {space.identity(graph) for i, graph in enumerate(graphs) if i not in left}
    elite = search(objective, excluded=taken, n_evaluations=5_000, seed=seed)
    assert not taken & {space.identity(graph) for graph in elite.ties.values()}
    assert np.isfinite(elite.value) == bool(elite.ties)
    assert len(elite.ties) <= len(left)


def test_nothing_is_returned_if_everything_is_excluded() -> None:
    space = SPACES["bare"]
    taken = {graph.canonical_key() for graph in everything(space)}
    elite = search(Wiener(space, 20), excluded=taken, n_evaluations=PLENTY)
    assert not elite.ties
    assert elite.value == np.inf


# -- when it stops ------------------------------------------------------------------------------


def ticking(seconds: float) -> Iterator[float]:
    """A clock on which every reading takes a number of seconds."""
    return (time.monotonic() + seconds * i for i in itertools.count())


@pytest.mark.parametrize("name", ["bare", "sizes", "rules"])
def test_it_stops_at_the_deadline(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fake clock: 50 readings before the deadline, with a budget for a million rounds."""
    clock = ticking(2.0)
    for part in (module, chains):
        monkeypatch.setattr(part, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    space = SPACES[name]
    elite = search(
        Wiener(space, 12), n_evaluations=10**6 * ROUND, deadline=time.monotonic() + 100.0
    )
    assert elite.ties
    assert elite.n_evaluations <= 50 * ROUND


def test_past_the_deadline_it_evaluates_one_round_at_most() -> None:
    elite = search(Wiener(GraphSpace((5, 40)), 12), deadline=time.monotonic() - 1.0)
    assert elite.n_evaluations <= ROUND


@pytest.mark.parametrize("after", [0, 1, 7])
def test_it_stops_on_request(after: int) -> None:
    asked = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > after

    elite = search(Wiener(SPACES["sizes"], 12), n_evaluations=10**6 * ROUND, stop=stop)
    assert elite.ties
    assert len(asked) == after + 2  # a chain stops, then so does the search
    assert elite.n_evaluations <= (after + 1) * ROUND


@pytest.mark.parametrize("budget", [1, 5_000, 50_000])
@pytest.mark.parametrize("name", ["bare", "sizes", "trees"])
def test_the_budget_is_exceeded_by_at_most_a_round_per_size(name: str, budget: int) -> None:
    space = SPACES[name]
    elite = search(Wiener(space, 12), n_evaluations=budget)
    n_turns = 1 if len(space.sizes) == 1 else 2
    assert elite.n_evaluations <= budget + n_turns * len(space.sizes) * ROUND


# -- repeatability ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPACES)
def test_the_seed_decides_everything(name: str) -> None:
    space = SPACES[name]
    objective = Criterion(space, fitted(space, "sp", seed=1).posterior, LCB(1.0))

    def found(seed: int) -> tuple[Any, ...]:
        elite = search(objective, n_evaluations=6_000, seed=seed)
        return elite.value, list(elite.ties.items()), elite.n_evaluations

    assert found(4) == found(4)


def test_another_seed_finds_other_graphs() -> None:
    objective = Wiener(GraphSpace(8), 40)  # thousands of graphs have this sum
    ways = [set(search(objective, n_evaluations=5_000, seed=seed).ties) for seed in range(4)]
    assert len(set.union(*ways)) > max(map(len, ways))


# -- the elite ----------------------------------------------------------------------------------


def near_ties() -> st.SearchStrategy[float]:
    """Values that are often within a tolerance of each other, or just outside."""
    steps = st.integers(-4, 4).map(lambda k: 0.3 * k * TIE)  # never exactly one tolerance apart
    return st.builds(float.__add__, st.sampled_from([-1.0, 0.0, 2.0]), steps) | st.just(np.inf)


@st.composite
def offers(draw: st.DrawFn) -> tuple[list[float], set[int], list[list[int]]]:
    """A value for each of 21 graphs, the excluded ones, and groups that are offered together."""
    numbers = st.integers(0, 20)
    values = draw(st.lists(near_ties(), min_size=21, max_size=21))
    groups = st.lists(st.lists(numbers, min_size=1, max_size=8), min_size=1, max_size=4)
    return values, draw(st.sets(numbers, max_size=10)), draw(groups)


@given(case=offers(), rng=st.randoms(use_true_random=False))
def test_an_elite_holds_the_least_value_offered_and_its_ties_only(
    case: tuple[list[float], set[int], list[list[int]]], rng: Any
) -> None:
    values, excluded, groups = case
    graphs = [graph for graph in everything(SPACES["sizes"]) if graph.n_nodes == 5]
    elite = Elite({graphs[i].canonical_key() for i in excluded})
    for group in groups:
        batch = Batch.of([graphs[i].permuted(rng.sample(range(5), 5)) for i in group])
        elite.offer(batch, np.array([values[i] for i in group]))
    allowed = {i for group in groups for i in group if np.isfinite(values[i])} - excluded
    finite = {graphs[i].canonical_key(): values[i] for i in allowed}
    assert set(elite.ties) <= set(finite)
    assert bool(elite.ties) == bool(finite)
    if finite:
        near = TIE * max(1.0, abs(elite.value))
        assert elite.value in finite.values()
        assert min(finite.values()) >= elite.value - near
        assert all(abs(finite[key] - elite.value) <= near for key in elite.ties)
        assert all(graph.canonical_key() == key for key, graph in elite.ties.items())
