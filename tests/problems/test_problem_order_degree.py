"""Order and degree: distances against networkx, optima against brute force, the proof's error."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from benchmarks.order_degree import brooms, largest_error, prove
from bogrape import Graph, GraphGP, GraphSpace
from bogrape.batch import Batch
from bogrape.problems import get_problem
from bogrape.problems.order_degree import SMALLEST_SUMS, average_distance, moore_bound


def test_the_objective_is_networkx_s_average_shortest_path_length() -> None:
    problem = get_problem("order-degree-9-3")
    for graph in problem.space.sample(20, seed=0):
        tree = graph.to_networkx()
        assert problem.objective(graph) == pytest.approx(nx.average_shortest_path_length(tree))
        assert max(dict(tree.degree).values()) <= 3


@pytest.mark.parametrize(
    "n", [4, 5, 6, 7, *(pytest.param(n, marks=pytest.mark.deep) for n in (8, 9))]
)
def test_the_smallest_sums_are_those_of_brute_force(n: int) -> None:
    problem = get_problem(f"order-degree-{n}-3")
    best = min(problem.objective(graph) for graph in problem.space.enumerate())
    assert problem.optimum == pytest.approx(best)
    assert round(best * n * (n - 1) / 2) == SMALLEST_SUMS[n]


def test_graphs_that_reach_moores_bound_cannot_be_beaten() -> None:
    petersen = Graph(nx.to_numpy_array(nx.petersen_graph(), dtype=bool))
    assert average_distance(Batch.of([petersen]))[0] == pytest.approx(moore_bound(10, 3))
    for n, total in SMALLEST_SUMS.items():
        assert total >= round(moore_bound(n, 3) * n * (n - 1) / 2)


@pytest.mark.deep
def test_no_cubic_graph_with_twelve_nodes_is_better_than_the_optimum() -> None:
    problem = get_problem("order-degree-12-3")
    space = GraphSpace(12, rules=(*problem.space.rules, *_cubic()))
    graphs = space.enumerate()
    assert len(graphs) == 85  # connected cubic graphs, A002851
    assert min(map(problem.objective, graphs)) == pytest.approx(problem.optimum)


def _cubic() -> tuple:
    from bogrape.constraints import DegreeRange

    return (DegreeRange(3, 3),)


def test_a_proof_ends_with_the_optimum_and_a_bound_above_the_next_smaller_sum() -> None:
    record = prove(5, 3, 60.0)
    assert record["proved"]
    assert record["sum"] == SMALLEST_SUMS[5]
    assert record["sum"] - 1 < record["bound"] <= record["sum"] + 1e-9
    graph = Graph.from_json(record["graph"])
    assert get_problem("order-degree-5-3").space.contains(graph)


def test_the_mean_differs_from_the_average_distance_by_no_more_than_claimed() -> None:
    n = 7
    known = [*brooms(n), *GraphSpace(n).sample(10, seed=1)]
    for noise in (1e-9, 1e-4):  # with more noise the mean errs more, and more is claimed
        gp = GraphGP("ssp", noise).fit(known, average_distance(Batch.of(known)))
        others = GraphSpace(n).sample(200, seed=2)
        mean = gp.predict(others)[0]
        off = np.abs(mean - average_distance(Batch.of(others))).max()
        claimed = largest_error(gp, n)
        assert 0 < off <= claimed
    assert claimed > 1e-6
