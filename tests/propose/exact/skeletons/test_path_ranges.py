"""Ranges of the numbers of pairs of labels within s steps, against all placements of labels."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations

import networkx as nx
import numpy as np
import pytest
from networkx.generators.atlas import graph_atlas_g

from bogrape.propose.exact.skeletons.path_ranges import PathRanges

TYPES = list(combinations_with_replacement(range(3), 2))


def skeletons_with(degrees):
    """Distances in all connected graphs with these ascending degrees, nodes in that order."""
    out = []
    for graph in graph_atlas_g():
        if sorted(d for _, d in graph.degree) == degrees and nx.is_connected(graph):
            order = sorted(graph, key=graph.degree)
            lengths = dict(nx.all_pairs_shortest_path_length(graph))
            out.append([[lengths[u][v] for v in order] for u in order])
    return np.array(out)


def counted(distances, labels):
    """Numbers of pairs within s = 1, 2, .. steps by the labels of their ends."""
    n = len(labels)
    out = np.zeros((n - 1, len(TYPES)), dtype=int)
    for u in range(n):
        for v in range(u):
            ends = tuple(sorted((labels[u], labels[v])))
            out[distances[u, v] - 1 :, TYPES.index(ends)] += 1
    return out


@pytest.mark.parametrize("degrees", [[1, 1, 2, 2, 2, 2], [1, 1, 1, 2, 2, 3], [2, 2, 2, 3, 3]])
@pytest.mark.parametrize("numbers", [(9, 0, 0), (3, 2, 1), (2, 2, 9), (3, 0, 9)])
def test_ranges_hold_for_all_placements_and_some_are_attained(degrees, numbers):
    n = len(degrees)
    rest = max(0, n - numbers[0] - numbers[1])
    composition = (min(n, numbers[0]), numbers[1], rest)
    composition = (n - composition[1] - composition[2], *composition[1:])
    labels = [0] * composition[0] + [1] * composition[1] + [2] * composition[2]
    # label 1 only has nodes of degree 1 or 2, label 2 all but those of degree 1
    allowed = np.array([[True] * n, [d <= 2 for d in degrees], [d >= 2 for d in degrees]])
    distances = skeletons_with(degrees)
    placed = [
        order
        for order in set(permutations(labels))
        if all(allowed[label, v] for v, label in enumerate(order))
    ]
    found = np.array([counted(matrix, order) for matrix in distances for order in placed])
    low, high = PathRanges(distances, allowed).within(composition, TYPES)
    assert (low <= found).all()
    assert (found <= high).all()
    assert (low[-1] == high[-1]).all()
    # the ranges of pairs with equal labels are exact if all nodes have one label
    if composition[0] == n:
        assert (low == found.min(axis=0)).all()
        assert (high == found.max(axis=0)).all()
    # others are met at one end at least: all nodes with a label may see most, or least
    assert (low == found.min(axis=0)).any()
    assert (high == found.max(axis=0)).mean() > 0.5


def test_labels_without_nodes_have_no_pairs():
    distances = skeletons_with([1, 1, 2, 2])
    ranges = PathRanges(distances, np.array([[True] * 4, [False] * 4, [True] * 4]))
    low, high = ranges.within((4, 0, 0), TYPES)
    assert not high[:, 1:].any()
    assert not low[:, 1:].any()
    assert high[:, 0].tolist() == [3, 5, 6]


def test_both_labels_limit_their_pairs():
    """In a star of three leaves, a leaf with label 1 is joined to the centre, and to it alone."""
    distances = skeletons_with([1, 1, 1, 3])
    allowed = np.array([[True] * 4, [True, True, True, False], [False, False, False, True]])
    low, high = PathRanges(distances, allowed).within((3, 1, 0), TYPES)
    leaf = TYPES.index((0, 1))
    assert (low[:, leaf].tolist(), high[:, leaf].tolist()) == ([1, 3, 3], [1, 3, 3])
    assert low[:, 0].tolist() == [0, 3, 3]
    assert high[:, 0].tolist() == [2, 3, 3]
    low, high = PathRanges(distances, allowed).within((0, 3, 1), TYPES)
    joined = TYPES.index((1, 2))
    assert (low[0, joined], high[0, joined]) == (3, 3)
    assert high[0, TYPES.index((1, 1))] == 1  # an odd number of ends is rounded down
