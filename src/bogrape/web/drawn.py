"""Graphs drawn in the editor, and the data of a space that the editor needs."""

from __future__ import annotations

import json
from typing import Any

from ..batch import Batch
from ..errors import InvalidInputError
from ..graph import Graph
from ..report.picture import Look
from ..report.placement import place
from ..space import GraphSpace

_MOST_DRAWN = 200


def graph_of(text: str, space: GraphSpace) -> Graph:
    """The graph of a drawing: ``{"nodes": [label, ...], "edges": [[u, v, label], ...]}``."""
    try:
        data = json.loads(text)
        labels = [_whole(label) for label in data["nodes"]]
        edges = [[_whole(part) for part in edge] for edge in data["edges"]]
        triples = [(u, v, label) for u, v, label in edges]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidInputError("expected a drawing as lists of nodes and edges") from None
    if not 1 <= len(labels) <= _MOST_DRAWN:
        raise InvalidInputError(
            f"expected a drawing of 1 to {_MOST_DRAWN} {space.nouns.nodes}, got {len(labels)}"
        )
    plain: dict[str, Any] = {
        "n_nodes": len(labels),
        "directed": space.directed,
        "edges": [[u, v] for u, v, _ in triples],
        "labels": labels,
    }
    if space.n_features:
        plain["features"] = [[0] * space.n_features for _ in labels]
    if space.n_edge_labels:
        plain["edge_labels"] = [label for _, _, label in triples]
    graph = Graph.from_json(json.dumps(plain))
    odd = space.oddities(graph)
    if odd:
        raise InvalidInputError(f"the drawing cannot be used: expected {'; '.join(odd)}")
    # features that rules derive, such as hydrogens, follow from what was drawn
    return space.named(space.derived(Batch.of([graph])).graph(0))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def editor_data(space: GraphSpace, graph: Graph | None = None) -> dict[str, Any]:
    """Names, colours and limits for the editor, and the initial graph."""
    look = Look.of(space)
    names = [] if look.domain is None else list(look.domain.edge_label_names)
    n_kinds = space.n_edge_labels
    edges = [names[k] if k < len(names) else f"label {k + 1}" for k in range(n_kinds)]
    orders = {"single bond": 1, "double bond": 2, "triple bond": 3}
    data: dict[str, Any] = {
        "labels": [look.name(a) for a in range(space.n_labels)],
        "colours": [look.colour(a) for a in range(space.n_labels)],
        "edgeLabels": edges,
        "orders": [orders.get(name, 0) for name in edges],  # lines to draw; 0: write its number
        "directed": space.directed,
        "most": min(space.n_max, _MOST_DRAWN),
        "node": space.nouns.node,
        "edge": space.nouns.edge,
        "nodes": [],
        "edges": [],
    }
    if graph is not None and graph.n_nodes <= _MOST_DRAWN:
        xy = place(graph)
        data["nodes"] = [
            [int(label), float(x), float(y)]
            for label, (x, y) in zip(graph.labels.tolist(), xy, strict=True)
        ]
        kinds = graph.edge_labels
        data["edges"] = [[u, v, 0 if kinds is None else int(kinds[u, v])] for u, v in graph.edges()]
    return data
