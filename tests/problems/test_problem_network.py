"""Network design: latency, fragility and price by networkx, one graph at a time."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from bogrape import Graph
from bogrape.batch import Batch
from bogrape.problems import get_problem
from bogrape.problems.network import NetworkDesign, fragility


def latency_by_networkx(graph: Graph, delays: np.ndarray) -> float:
    """Arcs carry half the delays of their ends; those at the two ends of a path do not count."""
    net = graph.to_networkx()
    half = {v: delays[graph.labels[v]] / 2 for v in range(graph.n_nodes)}
    for u, v in net.edges:
        net.edges[u, v]["time"] = 1.0 + half[u] + half[v]
    times = dict(nx.all_pairs_dijkstra_path_length(net, weight="time"))
    pairs = list(combinations(range(graph.n_nodes), 2))
    return float(np.mean([times[u][v] - half[u] - half[v] for u, v in pairs]))


def fragility_by_networkx(graph: Graph) -> float:
    worst = 0.0
    for w in range(graph.n_nodes):
        net = graph.to_networkx()
        net.remove_node(w)
        pairs = list(combinations(net.nodes, 2))
        cut = sum(not nx.has_path(net, u, v) for u, v in pairs)
        worst = max(worst, cut / len(pairs))
    return worst


@pytest.mark.parametrize("name", ["network-10", "network-20"])
def test_values_equal_those_computed_with_networkx(name: str) -> None:
    problem = get_problem(name, seed=2)
    design = problem.objective
    assert isinstance(design, NetworkDesign)
    graphs = problem.space.sample(8, seed=0)
    for graph, value in zip(graphs, problem.values(Batch.of(graphs)), strict=True):
        expected = (
            latency_by_networkx(graph, design.delays)
            + 3.0 * fragility_by_networkx(graph)
            + float(np.mean([design.prices[label] for label in graph.labels]))
        )
        assert value == pytest.approx(expected, rel=1e-12)
        assert problem.objective(graph) == pytest.approx(value, rel=1e-12)


def test_a_star_breaks_with_its_centre_and_a_ring_does_not() -> None:
    star = Graph.from_networkx(nx.star_graph(5))
    ring = Graph.from_networkx(nx.cycle_graph(6))
    np.testing.assert_allclose(fragility(Batch.of([star, ring])), [1.0, 0.0])
    # path of 4: without an inner node, 2 of the 3 pairs are cut
    np.testing.assert_allclose(fragility(Batch.of([Graph.from_networkx(nx.path_graph(4))])), 2 / 3)


def test_networks_respect_the_budget_of_links_and_the_numbers_of_ports() -> None:
    problem = get_problem("network-10")
    for graph in problem.space.sample(20, seed=1):
        assert 9 <= graph.n_edges <= 15
        degrees = graph.adjacency.sum(axis=0)
        assert all(degrees[v] <= (6, 4, 3)[graph.labels[v]] for v in range(10))


def test_better_devices_are_faster_and_more_expensive_whatever_the_seed() -> None:
    for seed in range(5):
        design = NetworkDesign.random(seed)
        assert (np.diff(design.delays) > 0).all()
        assert (np.diff(design.prices) < 0).all()
