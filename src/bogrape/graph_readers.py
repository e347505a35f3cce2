"""Readers of networkx graphs and JSON, which return the parts of a `Graph`.

Nothing is dropped silently: anything that a `Graph` cannot store is refused. The arrays themselves
are checked when the graph is created (`bogrape.checks`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .arrays import IntArray
from .checks import LARGEST, MAX_NODES
from .errors import InvalidGraphError

NAMES = "bogrape_names"  # attribute of networkx graphs


class Fields(NamedTuple):
    """Parts of a graph as they were given."""

    adjacency: ArrayLike
    labels: ArrayLike | None
    features: ArrayLike | None
    directed: bool
    edge_labels: ArrayLike | None
    label_names: Sequence[str] | None = None
    domain: str | None = None


def read_networkx(graph: Any, ignore: Sequence[str], edge_label: str | None) -> Fields:
    """Read a networkx graph; see `Graph.from_networkx`."""
    import networkx as nx  # late: half the time of `import bogrape`

    if not isinstance(graph, nx.Graph):
        raise InvalidGraphError(
            f"expected a networkx graph, got {type(graph).__name__}; "
            "for a matrix use Graph(adjacency)"
        )
    if graph.is_multigraph():
        raise InvalidGraphError(
            "expected a graph with at most one edge between two nodes, got a networkx multigraph; "
            "convert it with nx.Graph(g) or nx.DiGraph(g)"
        )
    kind = "label" if edge_label is None else edge_label
    _refuse_lost_attributes(graph, kind, ignore)
    nodes = list(graph.nodes)
    return Fields(
        adjacency=nx.to_numpy_array(graph, nodelist=nodes, weight=None) if nodes else [],
        labels=_all_or_none([graph.nodes[v].get("label") for v in nodes], "node attribute 'label'"),
        features=_all_or_none(
            [graph.nodes[v].get("features") for v in nodes], "node attribute 'features'"
        ),
        directed=graph.is_directed(),
        edge_labels=_networkx_edge_labels(graph, nodes, kind, required=edge_label is not None),
        **_read_names(graph.graph.get(NAMES, "{}")),
    )


def _all_or_none(values: list[Any], what: str) -> list[Any] | None:
    missing = sum(value is None for value in values)
    if missing == len(values):
        return None
    if missing:
        raise InvalidGraphError(f"{what} must be given for all nodes or for none")
    return values


def _read_names(text: object) -> dict[str, Any]:
    """Read the names that `to_networkx` wrote."""
    try:
        names = json.loads(text)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError):
        names = None
    if not isinstance(names, dict) or not set(names) <= {"label_names", "domain"}:
        raise InvalidGraphError(
            f"graph attribute {NAMES!r} must be as Graph.to_networkx writes it, got {text!r:.100}"
        )
    return names


def _refuse_lost_attributes(graph: Any, edge_label: str, ignore: Sequence[str]) -> None:
    """Raise if an attribute that a `Graph` cannot store is neither read nor ignored."""
    if isinstance(ignore, str):
        raise InvalidGraphError(
            f"ignore must be a list of attributes, got {ignore!r}; try [{ignore!r}]"
        )
    weights = {weight for _, _, weight in graph.edges(data="weight")}
    known = {"label", "features", *ignore}
    lost = {key for _, data in graph.nodes(data=True) for key in data} - known
    where = "node"
    if not lost:
        known = {edge_label, *ignore, *(["weight"] if weights == {1} else [])}
        lost = {key for _, _, data in graph.edges(data=True) for key in data} - known
        where = "edge"
    if lost:
        name = min(lost, key=str)
        keep = f"edge_label={name!r} reads positive integers as edge labels"
        if where == "node":
            keep = "only 'label' (an integer) and 'features' (0/1 values) are read"
        raise InvalidGraphError(
            f"{where} attribute {name!r} would be lost: a Graph cannot store it; {keep}, "
            f"ignore=[{name!r}] leaves it out"
        )


def _networkx_edge_labels(
    graph: Any, nodes: list[Any], name: str, *, required: bool
) -> IntArray | None:
    edges = list(graph.edges(data=name))
    given = [label is not None for _, _, label in edges]
    if not edges and (graph.graph.get("edge_labels") or required):
        return np.zeros((len(nodes), len(nodes)), dtype=np.int64)
    if not any(given) and not required:
        return None
    if not all(given):
        raise InvalidGraphError(f"edge attribute {name!r} must be given for all edges or for none")
    index = {node: i for i, node in enumerate(nodes)}
    out = np.zeros((len(nodes), len(nodes)), dtype=np.int64)
    for u, v, label in edges:
        whole = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
        if not whole or not 1 <= label <= LARGEST:
            raise InvalidGraphError(
                f"edge attribute {name!r} must be an integer from 1 to {LARGEST}, got {label!r}"
            )
        out[index[u], index[v]] = label
        if not graph.is_directed():
            out[index[v], index[u]] = label
    return out


def read_json(text: str) -> Fields:
    """Read what `Graph.to_json` wrote."""
    try:
        data: Any = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidGraphError(f"expected a graph as JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidGraphError(f"expected a JSON object, got {type(data).__name__}")
    allowed = {"n_nodes", "directed", "edges", "labels", "features", "edge_labels"}
    allowed |= {"label_names", "domain"}
    unknown = set(data) - allowed
    if unknown or not {"n_nodes", "edges"} <= set(data):
        raise InvalidGraphError(
            "expected keys n_nodes and edges, optionally "
            f"{sorted(allowed - {'n_nodes', 'edges'})}; got {sorted(map(str, data))}"
        )
    n, edges, directed = data["n_nodes"], data["edges"], data.get("directed", False)
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MAX_NODES:
        raise InvalidGraphError(
            f"n_nodes must be an integer between 1 and {MAX_NODES}, got {n!r:.60}"
        )
    if not isinstance(edges, list) or not all(
        isinstance(e, list) and len(e) == 2 and all(type(v) is int and 0 <= v < n for v in e)
        for e in edges
    ):
        raise InvalidGraphError(f"edges must be a list of pairs of nodes 0..{n - 1}")
    if len({tuple(e) if directed else tuple(sorted(e)) for e in edges}) != len(edges):
        raise InvalidGraphError("edges must not repeat: parallel edges are not supported")
    edge_labels = data.get("edge_labels")
    if edge_labels is not None and (
        not isinstance(edge_labels, list) or len(edge_labels) != len(edges)
    ):
        raise InvalidGraphError(f"edge_labels must be a list of {len(edges)} integers")
    adjacency = np.zeros((n, n), dtype=np.int64)
    for (u, v), label in zip(edges, edge_labels or [1] * len(edges), strict=True):
        if type(label) is not int or not 1 <= label <= LARGEST:
            raise InvalidGraphError(
                f"edge_labels must be integers from 1 to {LARGEST}, got {label!r}"
            )
        adjacency[u, v] = label
        if not directed:
            adjacency[v, u] = label
    return Fields(
        adjacency=adjacency > 0,
        labels=data.get("labels"),
        features=data.get("features"),
        directed=directed,
        edge_labels=adjacency if edge_labels is not None else None,
        label_names=data.get("label_names"),
        domain=data.get("domain"),
    )
