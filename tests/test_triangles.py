"""Rows from the triangle inequality hold for every labelled graph, and cut off what is none."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from bogrape.propose.exact import triangles


def pair_counts(g: nx.Graph, labels: tuple[int, ...]) -> Counter[tuple[int, int, int]]:
    out: Counter[tuple[int, int, int]] = Counter()
    distance = dict(nx.all_pairs_shortest_path_length(g))
    for u, v in combinations(g, 2):
        a, b = sorted((labels[u], labels[v]))
        out[distance[u][v], a, b] += 1
    return out


def smallest_slack(g: nx.Graph, labels: tuple[int, ...]) -> int:
    sizes = Counter(labels)
    x = pair_counts(g, labels)
    longest = nx.diameter(g)
    return min(
        (
            sum(weight * x[key] for key, weight in weights.items()) - low
            for weights, low in triangles.rows(sizes, longest)
        ),
        default=0,
    )


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_rows_hold_for_every_labelled_graph(n: int) -> None:
    graphs = [g for g in nx.graph_atlas_g() if len(g) == n and nx.is_connected(g)]
    tight = 0
    for g, labels in product(graphs, product(range(3), repeat=n)):
        slack = smallest_slack(g, labels)
        assert slack >= 0, (list(g.edges), labels)
        tight += slack == 0 and nx.diameter(g) > 2
    assert n == 3 or tight  # at diameter 2 there is nothing to say


def test_the_rows_hold_for_larger_graphs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        n = int(rng.integers(6, 15))
        g = nx.random_labeled_tree(n, seed=int(rng.integers(2**31)))
        for _ in range(int(rng.integers(0, 4))):
            u, v = rng.choice(n, 2, replace=False)
            g.add_edge(int(u), int(v))
        assert smallest_slack(g, tuple(map(int, rng.integers(0, 4, n)))) >= 0


def test_counts_that_no_metric_has_are_cut_off() -> None:
    # three nodes a, all next to the one node b, and yet five steps apart from each other
    sizes = {0: 3, 1: 1}
    x = {(1, 0, 1): 3, (5, 0, 0): 3}
    broken = [
        weights
        for weights, low in triangles.rows(sizes, 5)
        if sum(weight * x.get(key, 0) for key, weight in weights.items()) < low
    ]
    assert broken
