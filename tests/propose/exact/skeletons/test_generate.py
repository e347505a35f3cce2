"""Skeletons are all connected graphs of limited degree, each once; compared with other lists."""

from __future__ import annotations

import time
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.generators.atlas import graph_atlas_g

from bogrape.counts import distances_batch
from bogrape.propose.exact.skeletons.canonical import adjacency_of, canonical_codes
from bogrape.propose.exact.skeletons.store import Skeletons, most_cycles, skeletons_of

# connected graphs with all degrees at most 4 and 0, 1, .. independent cycles, listed by geng
GENG = {
    10: [75, 475, 1792, 4875, 10162, 16461],
    11: [159, 1231, 5533, 17978, 45282, 90111],
    12: [355, 3232, 16977, 64720, 192945, 460699],
}


def codes_of(*graphs: np.ndarray) -> list[tuple[int, ...]]:
    adjacency = np.stack(graphs).astype(bool)
    found = canonical_codes(adjacency, distances_batch(adjacency).astype(np.int8))
    return [tuple(map(int, code)) for code in found]


def everything(n: int, most_degree: int) -> Skeletons:
    return skeletons_of(n, most_degree, range(most_cycles(n, most_degree) + 1))


@pytest.mark.parametrize("n", [10, *(pytest.param(n, marks=pytest.mark.deep) for n in (11, 12))])
def test_there_are_as_many_skeletons_as_geng_lists(n):
    began = time.process_time()
    found = [len(skeletons_of(n, 4, range(c, c + 1))) for c in range(6)]
    assert found == GENG[n]
    assert time.process_time() - began < 60


@pytest.mark.parametrize("most_degree", [2, 3, 4, 6])
def test_skeletons_are_the_connected_graphs_of_the_atlas(most_degree):
    for n in range(2, 8):
        atlas = [g for g in graph_atlas_g() if len(g) == n and nx.is_connected(g)]
        atlas = [g for g in atlas if max(dict(g.degree).values()) <= most_degree]
        expected = codes_of(*(nx.to_numpy_array(g) for g in atlas))
        found = everything(n, most_degree)
        codes = [tuple(map(int, code)) for code in found.codes]
        assert len(set(expected)) == len(atlas)
        assert len(codes) == len(set(codes))
        assert set(codes) == set(expected)


def test_classes_of_all_numbered_graphs_are_the_skeletons():
    n, most_degree = 5, 3
    pairs = list(combinations(range(n), 2))
    classes = set()
    for bits in range(2 ** len(pairs)):
        adjacency = np.zeros((n, n), dtype=bool)
        for i, (u, v) in enumerate(pairs):
            adjacency[u, v] = adjacency[v, u] = bits >> i & 1
        distances = distances_batch(adjacency[None])[0]
        if distances.max() < n and adjacency.sum(axis=0).max() <= most_degree:
            forms = (adjacency[np.ix_(p, p)].tobytes() for p in map(list, permutations(range(n))))
            classes.add(min(forms))
    assert len(classes) == len(everything(n, most_degree))


@given(st.integers(2, 9), st.randoms(use_true_random=False))
def test_codes_are_equal_exactly_for_isomorphic_graphs(n, random):
    graph = nx.random_labeled_tree(n, seed=random.randrange(10**6))
    other = graph.copy()
    free = list(nx.non_edges(graph))
    random.shuffle(free)
    graph.add_edges_from(free[:2])
    other.add_edges_from(free[1:3])
    renamed = nx.relabel_nodes(graph, dict(zip(range(n), random.sample(range(n), n), strict=True)))
    arrays = [nx.to_numpy_array(g, nodelist=range(n)) for g in (graph, renamed, other)]
    first, second, third = codes_of(*arrays)
    assert first == second
    assert (first == third) == nx.is_isomorphic(graph, other)


def test_a_symmetric_graph_has_one_code_under_any_numbering():
    cube = nx.to_numpy_array(nx.hypercube_graph(3))
    rng = np.random.default_rng(0)
    some = [cube[np.ix_(p, p)] for p in (rng.permutation(8) for _ in range(20))]
    assert len(set(codes_of(*some))) == 1


def test_histograms_and_degrees_are_those_of_the_graphs():
    found = everything(6, 4)
    adjacency = adjacency_of(found.codes, 6)
    for i in range(0, len(found), 7):
        graph = nx.from_numpy_array(adjacency[i])
        lengths = [d for _, to in nx.all_pairs_shortest_path_length(graph) for d in to.values()]
        assert found.histograms[i].tolist() == [lengths.count(s) // 2 for s in range(1, 6)]
        degrees = list(dict(graph.degree).values())
        assert found.degrees[i].tolist() == [degrees.count(d) for d in range(1, 5)]


def test_a_deadline_stops_the_listing():
    with pytest.raises(TimeoutError):
        skeletons_of(13, 3, range(5), time.monotonic() - 1.0)
