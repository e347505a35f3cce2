"""Graphs to and from igraph: nothing is lost, and nothing is dropped silently."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import InvalidGraphError
from ..graph import Graph
from ..graph_readers import NAMES
from .given import own_graph


def to_igraph(graph: Graph) -> Any:
    """An ``igraph.Graph`` that `from_igraph` reads back as an equal graph.

    Vertices have an attribute ``label``, and ``features`` where there are any; edges with labels
    have ``label``.
    """
    import igraph

    graph = own_graph(graph)
    out = igraph.Graph(graph.n_nodes, graph.edges(), directed=graph.directed)
    out.vs["label"] = graph.labels.tolist()
    if graph.n_features:
        out.vs["features"] = [tuple(row) for row in graph.features.astype(int).tolist()]
    if graph.edge_labels is not None:
        out["edge_labels"] = True  # distinguishes it from an unlabelled graph if there are no edges
        out.es["label"] = [int(graph.edge_labels[edge]) for edge in graph.edges()]
    names = {"label_names": graph.label_names, "domain": graph.domain}
    if known := {name: value for name, value in names.items() if value is not None}:
        out[NAMES] = json.dumps(known)
    return out


def from_igraph(graph: Any, *, ignore: Sequence[str] = (), edge_label: str | None = None) -> Graph:
    """Read an ``igraph.Graph``, by the rules of `Graph.from_networkx`.

    Args:
        graph: without loops and multiple edges.
        ignore: attributes of vertices or edges to leave out, such as ``name``.
        edge_label: the edge attribute to read as edge labels, instead of ``label``.
    """
    import igraph
    import networkx as nx

    if not isinstance(graph, igraph.Graph):
        raise InvalidGraphError(f"expected an igraph.Graph, got {type(graph).__name__}")
    if graph.has_multiple():
        raise InvalidGraphError(
            "expected at most one edge per pair of vertices, got multiple ones; try "
            "graph.simplify()"
        )
    out: Any = nx.DiGraph() if graph.is_directed() else nx.Graph()
    for attribute in ("edge_labels", NAMES):
        if attribute in graph.attributes():
            out.graph[attribute] = graph[attribute]
    for vertex in graph.vs:
        out.add_node(vertex.index, **_known(vertex.attributes()))
    for edge in graph.es:
        out.add_edge(edge.source, edge.target, **_known(edge.attributes()))
    return Graph.from_networkx(out, ignore=ignore, edge_label=edge_label)


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that are set; igraph returns None for the others."""
    return {name: value for name, value in attributes.items() if value is not None}
