"""Baselines that are not the paper's: what they see, how they move, and what failures cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import replication
from benchmarks.experiments.grid import first_reached
from benchmarks.fragments import folded, fragments, min_max
from benchmarks.neighbours import brought_inside, neighbours
from benchmarks.optimisers import get_optimiser
from benchmarks.optimisers.fragment_models import tanimoto
from benchmarks.optimisers.tpe import categories, graph_of
from bogrape import Graph, GraphSpace
from bogrape.constraints import CycleRange, DegreeRange
from bogrape.errors import EvaluationFailed
from bogrape.molecules import molecule_space
from bogrape.problems import Problem
from bogrape.problems.distribution_grid import LINES, grid_space

TREES = GraphSpace(7, labels=3, rules=[CycleRange(0, 0), DegreeRange(maximum=3)])
MOLECULES = molecule_space("qm9", n_atoms=7)
DIRECTED = GraphSpace(5, labels=("a", "b"), directed=True, acyclic=True)


def test_the_kernel_is_minimum_over_maximum_of_counts() -> None:
    rng = np.random.default_rng(0)
    counts = [
        {
            int(k): int(v)
            for k, v in zip(rng.choice(9, 4, False), rng.integers(1, 5, 4), strict=True)
        }
        for _ in range(6)
    ]
    for i, left in enumerate(counts):
        for j, right in enumerate(counts):
            names = left.keys() | right.keys()
            low = sum(min(left.get(k, 0), right.get(k, 0)) for k in names)
            high = sum(max(left.get(k, 0), right.get(k, 0)) for k in names)
            assert min_max(counts, counts)[i, j] == pytest.approx(low / high)
    assert folded(counts).sum() == sum(sum(own.values()) for own in counts)


@pytest.mark.parametrize("space", [TREES, MOLECULES, DIRECTED])
def test_fragments_do_not_depend_on_numbering_or_on_the_other_graphs(space: GraphSpace) -> None:
    graphs = space.sample(6, seed=0)
    together = fragments(space, graphs)
    turned = [graph.permuted(range(graph.n_nodes)[::-1]) for graph in graphs]
    assert [fragments(space, [space.named(graph)])[0] for graph in turned] == together


def test_the_process_interpolates_its_observations() -> None:
    graphs = MOLECULES.sample(15, seed=1, distinct=True)
    values = np.random.default_rng(0).normal(size=15)
    seen = fragments(MOLECULES, graphs)
    predict, acquisition = tanimoto(seen, values, np.random.default_rng(0))
    mean, std = predict(seen)
    np.testing.assert_allclose(mean, values, atol=0.02)
    assert (std < 0.02 * values.std() + 0.02).all()
    assert 0.01 <= acquisition.kappa <= 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("space", [TREES, MOLECULES, DIRECTED, grid_space()])
def test_neighbours_are_in_the_space_and_near(space: GraphSpace) -> None:
    parents = space.sample(2, seed=0)
    found = neighbours(space, parents, 20, np.random.default_rng(1))
    assert found
    for graph in found:
        assert space.contains(graph)
        near = min(int((graph.adjacency ^ parent.adjacency).sum()) for parent in parents)
        assert near <= 4  # an edge or two, counted from both ends


def test_in_a_grid_of_given_lines_every_neighbour_exchanges_two_lines() -> None:
    space, lines = grid_space(), {tuple(sorted(line)) for line in LINES}
    (tree,) = space.sample(1, seed=3)
    for graph in neighbours(space, [tree], 30, np.random.default_rng(0)):
        changed = np.argwhere(np.triu(graph.adjacency ^ tree.adjacency))
        assert {(int(u), int(v)) for u, v in changed} <= lines
        assert len(changed) in (0, 2)


@pytest.mark.parametrize("space", [TREES, MOLECULES, DIRECTED])
def test_a_graph_is_recovered_from_its_parameters(space: GraphSpace) -> None:
    for graph in space.sample(5, seed=4):
        again = graph_of(space, categories(space, graph))
        np.testing.assert_array_equal(again.adjacency, graph.adjacency)
        np.testing.assert_array_equal(again.labels, graph.labels)
        assert brought_inside(space, again, np.random.default_rng(0)) == graph


def test_a_graph_outside_the_space_is_brought_inside() -> None:
    full = Graph(~np.eye(7, dtype=bool), labels=[0, 1, 2, 0, 1, 2, 0])
    found = brought_inside(TREES, full, np.random.default_rng(0))
    assert found is not None
    assert TREES.contains(found)


@pytest.mark.parametrize("name", ["reg-evol", "graph-ga", "tanimoto-gp", "forest", "tpe"])
def test_baselines_choose_new_molecules_and_the_seed_decides_which(name: str) -> None:
    for package in {"graph-ga": ["mol_ga"], "tpe": ["optuna"], "forest": ["sklearn", "mol_ga"]}.get(
        name, ["mol_ga"]
    ):
        pytest.importorskip(package)
    graphs = MOLECULES.sample(8, seed=0, distinct=True)
    values = [float(graph.n_edges) for graph in graphs]
    optimiser = get_optimiser(name, MOLECULES)
    first, second = (optimiser.next(graphs, values, seed=3, time_limit=9.0) for _ in range(2))
    assert MOLECULES.contains(first.graph)
    assert MOLECULES.identity(first.graph) not in set(map(MOLECULES.identity, graphs))
    assert first.graph == second.graph


def test_evolution_forgets_the_old_and_mutates_the_best_of_the_young() -> None:
    graphs = TREES.sample(25, seed=0, distinct=True)
    values = [-100.0] * 5 + [1.0] * 19 + [0.0]  # the best five are too old
    child = get_optimiser("reg-evol", TREES).next(graphs, values, seed=0, time_limit=1.0).graph
    young = [int((child.adjacency ^ graph.adjacency).sum()) for graph in graphs[5:]]
    assert min(young) <= 4


def test_a_failed_evaluation_counts_as_the_worst_value_and_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def objective(graph: Graph) -> float:
        if graph.n_edges > 7:
            raise EvaluationFailed("too many edges")
        return float(graph.n_edges)

    space = GraphSpace(6)

    def fake(name: str, seed: int) -> Problem:
        return Problem(name=name, space=space, objective=objective, seed=seed)

    monkeypatch.setattr(replication, "get_problem", fake)
    record: dict[str, Any] = replication.replicate("fake", "random", 1, n_initial=8, n_iterations=8)
    assert record["failed"]
    worst = max(v for i, v in enumerate(record["values"]) if i not in record["failed"])
    for i, (value, edges) in enumerate(zip(record["values"], record["n_edges"], strict=True)):
        assert (i in record["failed"]) == (edges > 7)
        assert value == (worst if edges > 7 else edges)


def test_the_first_evaluation_at_the_published_optimum_is_counted_from_one() -> None:
    assert first_reached([5.3, np.log(139.56), np.log(139.551), np.log(139.551)]) == 2
    assert first_reached([5.3, 4.95]) is None
