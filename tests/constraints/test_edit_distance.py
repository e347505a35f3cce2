"""`EditDistance`: the same as networkx's graph edit distance, up to isomorphism."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np
import pytest

from bogrape import Graph, GraphSpace
from bogrape.batch import Batch
from bogrape.constraints import EditDistance, RequiredEdge, rule_from_dict
from bogrape.errors import InvalidSpaceError

from oracles import networkx_graph

LABELLED = GraphSpace(4, labels=2)
BONDED = GraphSpace(4, edge_labels=2)
ARCS = GraphSpace(3, labels=2, directed=True)
BITS = GraphSpace(3, features=2)
LOOSE = GraphSpace((2, 4), connected=False)


def distance(left: Graph, right: Graph) -> float:
    """Edits between graphs of one size by networkx, which looks for the best numbering itself."""
    impossible = 1e6

    def differs(a: dict[str, Any], b: dict[str, Any]) -> float:
        return float(a["mark"] != b["mark"])

    def nodes_differ(a: dict[str, Any], b: dict[str, Any]) -> float:
        (label, bits), (other, their_bits) = a["mark"], b["mark"]
        return float(label != other) + sum(x != y for x, y in zip(bits, their_bits, strict=True))

    found = nx.graph_edit_distance(
        networkx_graph(left),
        networkx_graph(right),
        node_subst_cost=nodes_differ,
        node_del_cost=lambda _: impossible,
        node_ins_cost=lambda _: impossible,
        edge_subst_cost=differs,
    )
    return float(found)


@pytest.mark.parametrize("space", [LABELLED, BONDED, ARCS, BITS, LOOSE], ids=GraphSpace.describe)
def test_graphs_within_some_edits_are_those_networkx_finds(space: GraphSpace) -> None:
    everything = space.enumerate()
    given = everything[len(everything) // 3].permuted(
        range(everything[len(everything) // 3].n_nodes)
    )
    truth = {
        graph.canonical_key(): distance(given, graph)
        for graph in everything
        if graph.n_nodes == given.n_nodes
    }
    for maximum in (0, 1, 3):
        near = space.with_rules([EditDistance(given, maximum)])
        found = {graph.canonical_key() for graph in near.enumerate()}
        assert found == {key for key, edits in truth.items() if edits <= maximum}


def test_a_rule_that_names_nodes_shares_the_numbering() -> None:
    path = Graph(nx.to_numpy_array(nx.path_graph(4)))  # 0-1-2-3
    near = GraphSpace(4, rules=[EditDistance(path, 1), RequiredEdge(0, 3)])
    (ring,) = near.enumerate()
    assert sorted(ring.adjacency.sum(axis=1)) == [2, 2, 2, 2]


def test_in_a_space_with_names_nodes_are_compared_by_name() -> None:
    space = GraphSpace(nodes=["a", "b", "c"])
    path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    near = space.with_rules([EditDistance(path, 1)])
    assert {tuple(graph.edges()) for graph in near.enumerate()} == {
        ((0, 1), (1, 2)),
        ((0, 1), (0, 2), (1, 2)),
    }


def test_features_that_follow_from_the_rest_need_not_count() -> None:
    given = Graph([[0, 1], [1, 0]], features=[[1], [0]])
    space = GraphSpace(2, features=1)
    assert space.with_rules([EditDistance(given, 0)]).count() == 1
    assert space.with_rules([EditDistance(given, 0, count_features=False)]).count() == 3


def test_labels_are_matched_by_name_if_the_graph_has_names() -> None:
    given = GraphSpace(2, labels=("O", "C")).named(Graph([[0, 1], [1, 0]], labels=[0, 1]))
    space = GraphSpace(2, labels=("C", "N", "O"), rules=[EditDistance(given, 0)])
    (found,) = space.enumerate()
    assert [("C", "N", "O")[k] for k in sorted(found.labels)] == ["C", "O"]
    again = GraphSpace.from_json(space.to_json())
    assert again == space
    stored = json.loads(json.dumps(EditDistance(given, 0).to_dict()))
    assert space.with_rules([rule_from_dict(stored)]) == space


def test_graphs_of_other_sizes_are_excluded_and_a_space_without_this_size_is_refused() -> None:
    path = Graph(nx.to_numpy_array(nx.path_graph(4)))
    assert {
        graph.n_nodes for graph in GraphSpace((3, 6), rules=[EditDistance(path, 9)]).sample(9)
    } == {4}
    with pytest.raises(
        InvalidSpaceError, match=r"hold together with 5\.\.6 nodes, got EditDistance"
    ):
        GraphSpace((5, 6), rules=[EditDistance(path, 1)])
    with pytest.raises(InvalidSpaceError, match="at most 3 nodes"):
        GraphSpace(3, rules=[EditDistance(path, 1)])


def test_samples_near_a_graph_are_drawn_by_editing_it() -> None:
    given = GraphSpace(30, labels=3, edge_labels=2, features=2, directed=True).sample(1, seed=3)[0]
    space = GraphSpace(30, labels=3, edge_labels=2, features=2, directed=True)
    rule = EditDistance(given, 4)
    found = space.with_rules([rule]).sample(50, seed=1, distinct=True)
    edits = rule.edits(Batch.of(found))
    assert set(edits) >= {1, 2, 3, 4}
    assert edits.max() <= 4
    assert any((graph.labels != given.labels).any() for graph in found)
    assert any((graph.features != given.features).any() for graph in found)
    assert any((graph.adjacency != given.adjacency).any() for graph in found)
    assert any(
        (np.asarray(graph.edge_labels) != given.edge_labels)[
            graph.adjacency & given.adjacency
        ].any()
        for graph in found
    )
