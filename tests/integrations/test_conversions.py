"""Graphs converted to other libraries and back are equal to the original."""

from __future__ import annotations

from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import Graph
from bogrape.errors import InvalidGraphError, InvalidInputError
from bogrape.integrations.igraph import from_igraph, to_igraph
from bogrape.integrations.sparse import from_sparse, to_sparse

from strategies import any_graphs

NAMES = ("C", "N", "O")


@settings(max_examples=60)
@given(any_graphs(), st.booleans())
def test_igraph_and_back(graph: Graph, named: bool) -> None:
    graph = graph.with_names(NAMES if named else None)
    there = to_igraph(graph)
    assert (there.vcount(), there.ecount()) == (graph.n_nodes, graph.n_edges)
    again = from_igraph(there)
    assert (again, again.label_names) == (graph, graph.label_names)


@settings(max_examples=30)
@given(any_graphs(), st.booleans())
def test_networkx_and_back(graph: Graph, named: bool) -> None:
    graph = graph.with_names(NAMES if named else None)
    again = Graph.from_networkx(graph.to_networkx())
    assert (again, again.label_names) == (graph, graph.label_names)


@settings(max_examples=60)
@given(any_graphs(), st.sampled_from(["csr", "csc", "coo", "lil"]))
def test_sparse_and_back(graph: Graph, form: str) -> None:
    matrix = to_sparse(graph).asformat(form)
    labelled = graph.edge_labels is not None
    assert matrix.sum() == (graph.edge_labels if labelled else graph.adjacency).sum()
    again = from_sparse(matrix, graph.labels, graph.features, graph.directed, edge_labels=labelled)
    assert again == graph


def test_igraph_computes_the_same_distances() -> None:
    graph = Graph(np.eye(5, k=1) + np.eye(5, k=-1), labels=[0, 1, 2, 1, 0])
    assert np.array_equal(to_igraph(graph).distances(), graph.distances())


def test_attributes_that_would_be_lost_are_refused() -> None:
    ring = igraph.Graph.Ring(4)
    ring.vs["name"] = ["a", "b", "c", "d"]
    with pytest.raises(InvalidGraphError, match="'name' would be lost"):
        from_igraph(ring)
    assert from_igraph(ring, ignore=["name"]).n_edges == 4
    ring.es["bond"] = [1, 2, 1, 2]
    labels = from_igraph(ring, ignore=["name"], edge_label="bond").edge_labels
    assert labels is not None
    assert labels.max() == 2
    with pytest.raises(InvalidGraphError, match=r"try graph\.simplify\(\)"):
        from_igraph(igraph.Graph(2, [(0, 1), (0, 1)]))
    with pytest.raises(InvalidGraphError, match=r"expected an igraph\.Graph"):
        from_igraph([[0, 1], [1, 0]])


def test_weights_of_sparse_matrices_are_not_dropped() -> None:
    matrix = scipy.sparse.csr_array([[0, 3], [3, 0]])
    with pytest.raises(InvalidGraphError, match="the entry 3 would be lost"):
        from_sparse(matrix)
    assert from_sparse(matrix, edge_labels=True).edge_labels.tolist() == [[0, 3], [3, 0]]
    for bad in ([[0, 0.5], [0.5, 0]], [[0, -1], [-1, 0]], [[0, np.nan], [np.nan, 0]]):
        with pytest.raises(InvalidGraphError, match="whole numbers >= 0"):
            from_sparse(scipy.sparse.csr_array(bad))
    with pytest.raises(InvalidGraphError, match="symmetric"):
        from_sparse(scipy.sparse.csr_array([[0, 1], [0, 0]]))
    assert from_sparse(scipy.sparse.csr_array([[0, 1], [0, 0]]), directed=True).n_edges == 1
    with pytest.raises(InvalidGraphError, match="expected a square matrix"):
        from_sparse(scipy.sparse.csr_array([[0, 1]]))
    with pytest.raises(InvalidGraphError, match="expected a sparse matrix"):
        from_sparse([[0, 1], [1, 0]])


@pytest.mark.parametrize("convert", [to_igraph, to_sparse])
def test_graphs_of_other_libraries_are_refused_with_the_way_to_convert_them(convert: Any) -> None:
    with pytest.raises(InvalidInputError, match="convert networkx graphs with"):
        convert(nx.path_graph(3))
