"""Possible sums of node features of a skeleton, compared with all graphs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bogrape import GraphSpace
from bogrape.constraints import CycleRange, DegreeRange, LabelCount, NumberOfEdges
from bogrape.encoding import Structure, structures
from bogrape.molecules import MolecularWeight, molecule_space
from bogrape.propose.exact.skeletons.node_sums import NodeSums


def structure_of(space: GraphSpace, n: int) -> Structure:
    return structures([space.shape(n)], space.connected, space.rules)[0]


def degrees_of(graph, most: int) -> tuple[int, ...]:
    return tuple(np.bincount(graph.adjacency.sum(axis=0), minlength=most + 1)[1:].tolist())


def sums_of(graph, n_labels: int) -> tuple[int, ...]:
    labels = np.bincount(graph.labels, minlength=n_labels)
    return (*labels.tolist(), *graph.features.sum(axis=0).tolist())


SPACES = {
    "qm7": molecule_space("qm7", 4),
    "qm9": molecule_space("qm9", 4),
    "weight": molecule_space(["C", "N", "O"], 4, [MolecularWeight(maximum=60)]),
    "ports": GraphSpace(
        5,
        labels=["hub", "leaf"],
        rules=[DegreeRange(maximum=3), DegreeRange(maximum=1, label="leaf"), LabelCount("hub", 2)],
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_all_graphs_have_sums_that_are_listed(name):
    space = SPACES[name]
    node_sums = NodeSums.of(structure_of(space, space.n_max))
    listed: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for graph in space.enumerate():
        degrees = degrees_of(graph, node_sums.most_degree)
        if degrees not in listed:
            listed[degrees] = {tuple(row) for row in node_sums.sums(degrees).tolist()}
        assert sums_of(graph, space.n_labels) in listed[degrees]
        assert graph.n_edges - graph.n_nodes + 1 in node_sums.n_cycles()


def test_sums_are_those_of_all_choices_of_kinds():
    space = molecule_space("qm9", 4)
    node_sums = NodeSums.of(structure_of(space, 4))
    degrees = (2, 1, 1, 0)
    by_degree = {d: [k for k in node_sums.kinds if k.degree == d] for d in (1, 2, 3)}
    expected = set()
    for kinds in product(by_degree[1], by_degree[1], by_degree[2], by_degree[3]):
        labels = np.bincount([kind.label for kind in kinds], minlength=4)
        ends = np.sum([kind.ends for kind in kinds], axis=0)
        most = labels[0] >= 1 and labels[1] <= 2 and labels[2] <= 2 and labels[3] <= 3
        if most and not (ends % 2).any() and ends[1] <= 4 and ends[2] <= 4:
            features = np.sum([kind.features for kind in kinds], axis=0)
            expected.add((*labels.tolist(), *features.tolist()))
    assert {tuple(row) for row in node_sums.sums(degrees).tolist()} == expected


@pytest.mark.parametrize("elements", ["qm7", "qm9", ["C", "Si", "P", "Br"]])
def test_atoms_of_random_molecules_are_of_the_kinds_listed_by_valence(elements):
    space = molecule_space(elements, 9)
    node_sums = NodeSums.of(structure_of(space, 9))
    kinds = {(kind.label, kind.features, kind.ends) for kind in node_sums.kinds}
    for graph in space.sample(100, seed=0):
        for v in range(graph.n_nodes):
            ends = np.bincount(graph.edge_labels[v], minlength=4)[1:4]
            found = int(graph.labels[v]), tuple(graph.features[v].tolist()), tuple(ends.tolist())
            assert found in kinds


def test_limits_on_edges_limit_the_cycles():
    ports = DegreeRange(maximum=4)
    for rule, expected in (
        (CycleRange(1, 3), range(1, 4)),
        (NumberOfEdges(9, 11), range(2, 5)),
        (LabelCount(0, 1), range(8)),
    ):
        space = GraphSpace(8, labels=2, rules=[ports, rule])
        if expected == range(8):
            expected = range(16 - 8 + 2)
        assert NodeSums.of(structure_of(space, 8)).n_cycles() == expected


def test_free_features_have_no_sums():
    space = GraphSpace(5, labels=2, features=2, rules=[DegreeRange(maximum=3)])
    assert NodeSums.of(structure_of(space, 5)) is None
