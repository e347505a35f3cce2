"""Inequalities on labelled pairs hold for every labelled graph, and cut off counts of no graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest

from bogrape.propose.exact.distances.inequality import Inequality
from bogrape.propose.exact.distances.labelled_pairs import connections, triangles

FAMILIES: dict[str, Callable[[Mapping[int, int], int], Iterator[Inequality[Any]]]] = {
    "triangles": triangles,
    "connections": lambda sizes, d: connections(sizes, d, d),
    "connections, any diameter": lambda sizes, d: connections(sizes, d + 1, None),
}


def pair_counts(g: nx.Graph, labels: tuple[int, ...]) -> Counter[tuple[int, int, int]]:
    out: Counter[tuple[int, int, int]] = Counter()
    distance = dict(nx.all_pairs_shortest_path_length(g))
    for u, v in combinations(g, 2):
        a, b = sorted((labels[u], labels[v]))
        out[distance[u][v], a, b] += 1
    return out


def smallest_slack(family: str, g: nx.Graph, labels: tuple[int, ...]) -> float:
    sizes = Counter(labels)
    x = pair_counts(g, labels)
    longest = nx.diameter(g)
    return min(
        (
            sum(weight * x[key] for key, weight in known.weights.items()) - known.low
            for known in FAMILIES[family](sizes, longest)
        ),
        default=0,
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_inequalities_hold_for_every_labelled_graph(n: int, family: str) -> None:
    graphs = [g for g in nx.graph_atlas_g() if len(g) == n and nx.is_connected(g)]
    tight = 0
    for g, labels in product(graphs, product(range(3), repeat=n)):
        slack = smallest_slack(family, g, labels)
        assert slack >= 0, (list(g.edges), labels)
        tight += slack == 0 and nx.diameter(g) > 2
    assert n == 3 or tight  # at diameter 2 there are none


@pytest.mark.parametrize("family", FAMILIES)
def test_the_inequalities_hold_for_larger_graphs(family: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        n = int(rng.integers(6, 15))
        g = nx.random_labeled_tree(n, seed=int(rng.integers(2**31)))
        for _ in range(int(rng.integers(0, 4))):
            u, v = rng.choice(n, 2, replace=False)
            g.add_edge(int(u), int(v))
        assert smallest_slack(family, g, tuple(map(int, rng.integers(0, 4, n)))) >= 0


NO_GRAPHS = {
    # three nodes a, all adjacent to the only node b, and yet five steps apart
    "no metric": ("triangles", {0: 3, 1: 1}, {(1, 0, 1): 3, (5, 0, 0): 3}),
    # a triangle of a and an edge of b: as many edges as a tree has, but none in between
    "in two parts": ("connections", {0: 3, 1: 2}, {(1, 0, 0): 3, (1, 1, 1): 1, (2, 0, 1): 6}),
    # a triangle of a takes the edges that three nodes b would need
    "edges spent": ("connections", {0: 3, 1: 3}, {(1, 0, 0): 3, (1, 0, 1): 2, (2, 0, 1): 7}),
    # no node of label b is at distance 2 from another
    "nothing between": ("connections", {0: 3, 1: 1}, {(1, 0, 1): 1, (3, 0, 1): 2, (1, 0, 0): 3}),
}


@pytest.mark.parametrize("case", NO_GRAPHS)
def test_counts_of_no_graph_are_cut_off(case: str) -> None:
    family, sizes, x = NO_GRAPHS[case]
    longest = max(s for s, _, _ in x)
    broken = [
        known.name
        for known in FAMILIES[family](sizes, longest)
        if sum(weight * x.get(key, 0) for key, weight in known.weights.items()) < known.low
    ]
    assert broken
