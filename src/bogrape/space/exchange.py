"""Spaces as JSON, and graphs to and from networkx by the names of nodes and labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import InvalidGraphError, InvalidSpaceError
from ..graph import Graph


def to_networkx(
    graph: Graph, nodes: Sequence[str] | None, label_names: Sequence[str] | None
) -> Any:
    """The graph with names for its nodes and labels."""
    import networkx as nx  # late: half the time of `import bogrape`

    out = graph.to_networkx()
    if label_names is not None:
        for _, data in out.nodes(data=True):
            data["label"] = label_names[data["label"]]
    return out if nodes is None else nx.relabel_nodes(out, dict(enumerate(nodes)))


def from_networkx(
    graph: Any,
    nodes: Sequence[str] | None,
    label_names: Sequence[str] | None,
    fixed: Sequence[str],
    ignore: Sequence[str],
    edge_label: str | None,
) -> Graph:
    """Read a networkx graph whose nodes may come in any order and whose labels have names."""
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        return Graph.from_networkx(graph)  # raises an error with the reason
    ordered = graph.__class__()
    ordered.graph.update(graph.graph)
    if nodes is not None:
        missing = [name for name in nodes if name not in graph]
        unknown = [name for name in graph if name not in set(nodes)]
        if missing or unknown:
            raise InvalidGraphError(
                f"expected a graph on the {len(nodes)} nodes of the space, got one "
                + " and ".join(
                    f"{what} {', '.join(map(repr, some[:5]))}{' ...' if len(some) > 5 else ''}"
                    for what, some in (("without", missing), ("with unknown", unknown))
                    if some
                )
                + "; add or rename these nodes"
            )
    for v in nodes if nodes is not None else graph:
        ordered.add_node(v, **graph.nodes[v])
    ordered.add_edges_from(graph.edges(data=True))
    if label_names is not None:
        _number_labels(ordered, label_names, fixed)
    return Graph.from_networkx(ordered, ignore=ignore, edge_label=edge_label)


def _number_labels(graph: Any, names: Sequence[str], fixed: Sequence[str]) -> None:
    """Replace names of labels by indices; fixed labels may be left out."""
    index = {name: i for i, name in enumerate(names)}
    for i, (node, data) in enumerate(graph.nodes(data=True)):
        label = data.get("label", fixed[i] if fixed else None)
        if isinstance(label, str):
            if label not in index:
                raise InvalidGraphError(
                    f"expected node {node!r} to have one of the labels {', '.join(names)}, "
                    f"got {label!r}"
                )
            data["label"] = index[label]


def read_space(text: str) -> dict[str, Any]:
    """Arguments of the space that a JSON text describes; the rules are still dicts."""
    try:
        data: Any = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidSpaceError(f"expected a space as JSON: {error}") from None
    known = {"n_nodes", "labels", "features", "directed", "connected", "rules"}
    known |= {"edge_labels", "nodes", "domain"}
    if not isinstance(data, dict) or not set(data) <= known:
        raise InvalidSpaceError(f"expected an object with {', '.join(sorted(known))}")
    if not isinstance(data.get("rules", []), list):
        raise InvalidSpaceError(f"expected rules to be a list, got {data['rules']!r}")
    return data
