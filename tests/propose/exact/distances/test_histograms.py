"""Known inequalities on pairs at each distance hold for all graphs, and the lists are exact."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape.counts import distances_batch
from bogrape.propose.exact.distances import histograms
from bogrape.propose.exact.distances.histograms import Fact, known_facts
from bogrape.propose.local.chains import brooms
from exhaustive import classes


def _histograms(adjacency: np.ndarray) -> dict[int, np.ndarray]:
    """By diameter: ``h_1 .. h_d`` of connected graphs ``(B, n, n)``."""
    n = adjacency.shape[1]
    distance = distances_batch(adjacency)
    counts = np.stack([(distance == s).sum(axis=(1, 2)) // 2 for s in range(1, n)], axis=1)
    longest = distance.max(axis=(1, 2))
    assert longest.max() < n, "not connected"
    return {int(d): counts[longest == d][:, : int(d)] for d in np.unique(longest)}


def assert_conditions_hold(adjacency: np.ndarray) -> None:
    n = adjacency.shape[1]
    for diameter, found in _histograms(adjacency).items():
        padded = np.pad(found, ((0, 0), (0, n - 1 - diameter)))
        facts = known_facts(n, diameter)
        for known in [
            *histograms.inequalities(n, diameter, facts),
            *histograms.inequalities_of_all(n),
        ]:
            total = sum(weight * padded[:, s - 1] for s, weight in known.weights.items())
            assert (known.low <= total).all(), (n, diameter, known.name)
            assert (total <= known.high).all(), (n, diameter, known.name)


@pytest.mark.parametrize("n", range(2, 8))
def test_the_conditions_hold_for_every_connected_graph(n: int) -> None:
    assert_conditions_hold(np.stack([graph.adjacency for graph in classes(n)]))


@pytest.mark.parametrize("n", [2, 5, 10])
def test_no_graph_has_more_pairs_far_apart_than_a_path(n: int) -> None:
    (found,) = _histograms(nx.to_numpy_array(nx.path_graph(n))[None] > 0).values()
    for s in range(1, n):
        assert histograms.most_far_of_all(n, s) == found[0, s - 1 :].sum()


def _one_node_more(adjacency: np.ndarray) -> np.ndarray:
    """All connected graphs with one more node, since some node of each can be removed."""
    n_graphs, n, _ = adjacency.shape
    choices = np.array(list(product((False, True), repeat=n))[1:])
    out = np.zeros((n_graphs, len(choices), n + 1, n + 1), dtype=bool)
    out[:, :, :n, :n] = adjacency[:, None]
    out[:, :, n, :n] = out[:, :, :n, n] = choices
    return out.reshape(-1, n + 1, n + 1)


def test_the_conditions_hold_for_every_connected_graph_on_eight_nodes() -> None:
    assert_conditions_hold(_one_node_more(np.stack([graph.adjacency for graph in classes(7)])))


@pytest.mark.parametrize("n", [9, 12, 13, 14, 15, 16, 20, 30])
def test_the_conditions_hold_for_large_graphs_of_every_kind(n: int) -> None:
    rng = np.random.default_rng(n)
    found = []
    for _ in range(300):
        g = nx.random_labeled_tree(n, seed=int(rng.integers(2**31)))
        if rng.random() < 0.5:  # long ones: a path with short branches
            g = nx.path_graph(int(rng.integers(n // 2, n)))
            for v in range(len(g), n):
                g.add_edge(v, int(rng.integers(v)))
        matrix = nx.to_numpy_array(g) > 0
        extra = rng.random((n, n)) < rng.choice([0.0, 0.01, 0.05, 0.2, 0.6])
        matrix = matrix | extra | extra.T
        np.fill_diagonal(matrix, False)
        found.append(matrix)
    cliques = [nx.lollipop_graph(n - k, k) for k in range(1, n - 2)]
    cliques += [nx.barbell_graph(k, n - 2 * k) for k in range(3, n // 2)]
    cliques += [nx.cycle_graph(n), nx.star_graph(n - 1), nx.wheel_graph(n), nx.path_graph(n)]
    gathered = [matrix for d in range(2, n - 1) for matrix in brooms(n, d)]
    assert_conditions_hold(
        np.stack([*found, *(nx.to_numpy_array(g) > 0 for g in cliques), *gathered])
    )


@pytest.mark.parametrize("n", range(2, 8))
def test_histograms_are_exactly_what_the_inequalities_describe(n: int) -> None:
    n_pairs = n * (n - 1) // 2
    for diameter in range(1, n):
        known = list(histograms.inequalities(n, diameter))
        expected = [
            h
            for h in _ways(n_pairs, diameter)
            if all(
                k.low <= sum(weight * h[s - 1] for s, weight in k.weights.items()) <= k.high
                for k in known
            )
        ]
        assert _table(n, diameter).tolist() == sorted(map(list, expected))
        assert histograms.possible_histograms(n, diameter, limit=max(1, len(expected)) - 1) is None


def _ways(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write a number as an ordered sum of numbers >= 1."""
    if parts == 1:
        return [(total,)] if total >= 1 else []
    return [(k, *rest) for k in range(1, total) for rest in _ways(total - k, parts - 1)]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(4, 7),
    st.lists(st.tuples(st.lists(st.integers(-3, 3), min_size=6, max_size=6), st.integers(-20, 40))),
)
def test_facts_leave_exactly_the_histograms_that_satisfy_them(
    n: int, drawn: list[tuple[list[int], int]]
) -> None:
    for diameter in range(2, n):
        facts = [Fact(tuple(weights[:diameter]), high) for weights, high in drawn]
        every = _table(n, diameter)
        keep = np.ones(len(every), dtype=bool)
        for fact in facts:
            keep &= every @ np.array(fact.weights) <= fact.high
        found = histograms.possible_histograms(n, diameter, facts)
        assert found is not None
        assert found.tolist() == every[keep].tolist()


def _table(n: int, diameter: int) -> np.ndarray:
    found = histograms.possible_histograms(n, diameter)
    assert found is not None
    return found


@pytest.mark.parametrize("directed", [False, True])
def test_general_histograms_include_every_graph_connected_or_not(directed: bool) -> None:
    n = 4 if directed else 5
    n_pairs = n * (n - 1) // (1 if directed else 2)
    table = histograms.general_histograms(n_pairs, n - 1, 10**6)
    assert table is not None
    listed = set(map(tuple, table.tolist()))
    assert len(listed) == len(table)
    every = classes(n, directed=directed, connected=False)
    distance = distances_batch(np.stack([graph.adjacency for graph in every]))
    for matrix in distance:
        h = [int((matrix == s).sum()) // (1 if directed else 2) for s in range(1, n)]
        assert tuple(h) in listed
    assert histograms.general_histograms(n_pairs, n - 1, 10) is None
