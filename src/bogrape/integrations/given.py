"""What is given to conversions, checked."""

from __future__ import annotations

from ..errors import InvalidInputError
from ..graph import Graph


def own_graph(graph: object) -> Graph:
    """The graph, or an error that says how to get one."""
    if not isinstance(graph, Graph):
        kind = f"{type(graph).__module__}.{type(graph).__qualname__}"
        raise InvalidInputError(
            f"expected a bogrape Graph, got {kind}; convert networkx graphs with "
            "Graph.from_networkx"
        )
    return graph
