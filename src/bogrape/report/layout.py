"""Layout of a graph: a position in the plane for each node.

* an acyclic directed graph is drawn in layers, arcs pointing down;
* a connected part is drawn so that distances on paper resemble distances in the graph (Kamada and
  Kawai), or on a circle if nearly all possible edges exist;
* the parts of a disconnected graph are placed in rows.
"""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np

from ..arrays import FloatArray, IntArray
from ..graph import Graph

_DENSE = 0.75  # share of the possible edges beyond which a circle is the clearest picture
_SWEEPS = 4


def is_layered(graph: Graph) -> bool:
    """True if the graph is drawn in layers: directed, acyclic and with at least one arc."""
    return graph.directed and graph.n_edges > 0 and nx.is_directed_acyclic_graph(_networkx(graph))


def positions(graph: Graph) -> FloatArray:
    """Coordinates (n, 2); neighbouring nodes are about one unit apart, y points up."""
    if is_layered(graph):
        return _layers(graph)
    return _in_rows([_component(graph, nodes) for nodes in _components(graph)], graph.n_nodes)


def layer_numbers(graph: Graph) -> IntArray:
    """Layer of each node of an acyclic graph: length of the longest path to it from a source."""
    layer = np.zeros(graph.n_nodes, dtype=np.int64)
    for number, nodes in enumerate(nx.topological_generations(_networkx(graph))):
        layer[list(nodes)] = number
    return layer


def _layers(graph: Graph) -> FloatArray:
    """Layers from top to bottom, each ordered by positions of neighbours to reduce crossings."""
    layer = layer_numbers(graph)
    near = graph.adjacency | graph.adjacency.T
    x = np.zeros(graph.n_nodes)
    rows = [np.flatnonzero(layer == number) for number in range(int(layer.max()) + 1)]
    for row in rows:
        x[row] = _centred(len(row))
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            pull = [x[near[v]].mean() if near[v].any() else x[v] for v in row]
            x[row[np.argsort(pull, kind="stable")]] = _centred(len(row))
    return np.column_stack([1.5 * x, -layer.astype(float)])


def _centred(n: int) -> FloatArray:
    return np.arange(n, dtype=np.float64) - (n - 1) / 2.0


def _components(graph: Graph) -> list[list[int]]:
    parts = nx.connected_components(_networkx(graph).to_undirected())
    return sorted((sorted(part) for part in parts), key=lambda part: (-len(part), part))


def _component(graph: Graph, nodes: list[int]) -> tuple[list[int], FloatArray]:
    n = len(nodes)
    if n == 1:
        return nodes, np.zeros((1, 2))
    part = nx.Graph()  # rebuilt, because a view keeps the node order of the whole graph
    part.add_nodes_from(nodes)
    part.add_edges_from((u, v) for u, v in graph.edges() if u in part and v in part)
    dense = n > 3 and part.number_of_edges() >= _DENSE * n * (n - 1) / 2
    place = nx.circular_layout(part) if dense else nx.kamada_kawai_layout(part)
    xy = np.array([place[v] for v in nodes])
    steps = [np.linalg.norm(place[u] - place[v]) for u, v in part.edges]
    return nodes, _flat(xy) / max(float(np.median(steps)), 1e-9)


def _flat(xy: FloatArray) -> FloatArray:
    """Rotate points so that the longest extent is horizontal, as pages are wider than high."""
    xy = xy - xy.mean(axis=0)
    axes = np.linalg.svd(xy, full_matrices=False)[2]
    return np.asarray(xy @ axes.T)


def _in_rows(parts: list[tuple[list[int], FloatArray]], n_nodes: int) -> FloatArray:
    """Place parts from left to right, in rows that together form about a square."""
    out = np.zeros((n_nodes, 2))
    boxes = [np.ptp(xy, axis=0) + 1.0 for _, xy in parts]
    page = max(
        max(box[0] for box in boxes), 1.3 * math.sqrt(sum(float(b[0] * b[1]) for b in boxes))
    )
    x = y = height = 0.0
    for (nodes, xy), (width, rise) in zip(parts, boxes, strict=True):
        if x > 0 and x + width > page:
            x, y, height = 0.0, y - height, 0.0
        out[nodes] = xy - xy.min(axis=0) + np.array([x, y - rise])
        x, height = x + width, max(height, float(rise))
    return out


def _networkx(graph: Graph) -> Any:
    return graph.to_networkx()
