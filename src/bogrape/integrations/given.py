"""Checks of the arguments of conversions."""

from __future__ import annotations

from ..errors import InvalidInputError
from ..graph import Graph


def own_graph(graph: object) -> Graph:
    """Return the graph; for other objects, raise an error that says how to convert them."""
    if not isinstance(graph, Graph):
        kind = f"{type(graph).__module__}.{type(graph).__qualname__}"
        raise InvalidInputError(
            f"expected a bogrape Graph, got {kind}; convert networkx graphs with "
            "Graph.from_networkx"
        )
    return graph
