"""A network engineer's day: named switches, cable types, ports, a budget, and a better network."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

from bogrape import GraphSpace, Study
from bogrape.constraints import DegreeRange, RequiredEdge, TotalCost, TwoConnected
from bogrape.graph import Graph

KINDS = {
    **{f"core-{i}": "core" for i in (1, 2)},
    **{f"dist-{i}": "distribution" for i in (1, 2, 3, 4)},
    **{f"acc-{i}": "access" for i in range(1, 9)},
}
PORTS = {"core": 8, "distribution": 6, "access": 3}
COPPER, FIBRE = 1, 2
PRICES = {COPPER: 1.0, FIBRE: 2.5}  # per metre
CAPACITIES = {COPPER: 1.0, FIBRE: 4.0}
STAYING = [("core-1", "core-2"), ("core-1", "dist-1"), ("core-2", "dist-2"), ("dist-1", "acc-1")]
BUDGET = 1200.0

_places = np.random.default_rng(7).uniform(0, 100, (len(KINDS), 2))
METRES = {
    (a, b): round(float(np.hypot(*(_places[i] - _places[j]))), 1)
    for (i, a), (j, b) in itertools.combinations(enumerate(KINDS), 2)
}

SPACE = GraphSpace(
    nodes=list(KINDS),
    labels=KINDS,
    edge_labels=2,
    rules=[
        *(RequiredEdge(*cable) for cable in STAYING),
        *(DegreeRange(maximum=PORTS[kind], node=name) for name, kind in KINDS.items()),
        TwoConnected(),
        TotalCost(METRES, BUDGET, edge_labels=PRICES),
    ],
)


def network(graph: Graph) -> Any:
    """The network with named switches, built from the matrices of its graph."""
    g = nx.Graph()
    names = list(KINDS)
    g.add_nodes_from(names)
    for u, v in graph.edges():
        g.add_edge(names[u], names[v], cable=int(graph.edge_labels[u, v]))
    return g


def cost(g: Any) -> Fraction:
    return sum(
        (
            Fraction(str(METRES.get((u, v)) or METRES[v, u])) * Fraction(str(PRICES[cable]))
            for u, v, cable in g.edges(data="cable")
        ),
        Fraction(0),
    )


def assert_all_rules_hold(graph: Graph) -> None:
    g = network(graph)
    labels = [SPACE.label_names[label] for label in graph.labels]
    assert labels == list(KINDS.values())
    assert all(g.has_edge(*cable) for cable in STAYING)
    assert all(g.degree[name] <= PORTS[kind] for name, kind in KINDS.items())
    assert nx.is_biconnected(g)
    assert cost(g) <= BUDGET


def objective(graph: Graph) -> float:
    """Mean hops from access to core + share of the budget + load of the worst cable."""
    g = network(graph)
    access, core = ([v for v in g if KINDS[v] == kind] for kind in ("access", "core"))
    hops = np.mean([nx.shortest_path_length(g, a, c) for a in access for c in core])
    load = nx.edge_betweenness_centrality_subset(g, access, core)
    worst = max(load[e] / CAPACITIES[g.edges[e]["cable"]] for e in g.edges)
    return float(hops) + float(cost(g)) / BUDGET + worst / (len(access) * len(core))


def best_of_30_random_ones(seed: int) -> float:
    return min(objective(graph) for graph in SPACE.sample(30, seed=1000 + seed, distinct=True))


def assert_a_study_beats_random_networks(seed: int, time_limit: float) -> None:
    study = Study(
        SPACE, n_initial=8, seed=seed, kernel="sp", method="search", time_limit=time_limit
    )
    for _ in range(30):
        trial = study.ask()
        assert_all_rules_hold(trial.graph)
        study.tell(trial, objective(trial.graph))
    assert len({trial.graph for trial in study.trials}) == 30
    assert study.best.value < best_of_30_random_ones(seed)


def test_random_networks_obey_all_rules_and_differ() -> None:
    drawn = SPACE.sample(60, seed=4, distinct=True)
    for graph in drawn:
        assert_all_rules_hold(graph)
    assert len({graph.n_edges for graph in drawn}) > 4
    assert {int(k) for graph in drawn for k in np.unique(graph.edge_labels)} == {0, COPPER, FIBRE}


def test_random_networks_are_found_within_a_tight_budget() -> None:
    rules = [rule for rule in SPACE.rules if not isinstance(rule, TotalCost)]
    tight = SPACE.with_rules([*rules, TotalCost(METRES, 800, edge_labels=PRICES)])
    for graph in tight.sample(20, seed=1):
        assert_all_rules_hold(graph)
        assert cost(network(graph)) <= 800


def test_a_study_beats_the_best_of_30_random_networks() -> None:
    assert_a_study_beats_random_networks(0, time_limit=0.3)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
def test_a_study_beats_the_best_of_30_random_networks_in_ten_of_ten_seeds(seed: int) -> None:
    assert_a_study_beats_random_networks(seed, time_limit=1.0)
