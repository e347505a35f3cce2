"""Hypothesis strategies for small graphs, datasets and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from bogrape.graph import Graph

# -- graphs and datasets ----------------------------------------------------------------------


@st.composite
def graphs(
    draw: st.DrawFn,
    *,
    n_nodes: int | tuple[int, int] = (1, 7),
    n_labels: int = 3,
    n_features: int | None = 0,
    directed: bool | None = None,
    edge_labels: bool | None = False,
) -> Graph:
    """Any graph, connected or not; ``None`` leaves the choice to Hypothesis."""
    low, high = (n_nodes, n_nodes) if isinstance(n_nodes, int) else n_nodes
    n = draw(st.integers(low, high))
    is_directed = draw(st.booleans()) if directed is None else directed
    bonded = draw(st.booleans()) if edge_labels is None else edge_labels
    width = draw(st.integers(0, 2)) if n_features is None else n_features
    cells = [(u, v) for u in range(n) for v in range(n) if (u != v if is_directed else u < v)]
    bonds = draw(_lists(st.integers(0, 2 if bonded else 1), len(cells)))
    matrix = np.zeros((n, n), dtype=int)
    for (u, v), bond in zip(cells, bonds, strict=True):
        matrix[u, v] = bond
        if not is_directed:
            matrix[v, u] = bond
    return Graph(
        matrix > 0,
        draw(_lists(st.integers(0, n_labels - 1), n)),
        np.reshape(draw(_lists(st.integers(0, 1), n * width)), (n, width)).astype(bool),
        is_directed,
        edge_labels=matrix if bonded else None,
    )


def any_graphs(n_nodes: int | tuple[int, int] = (1, 7)) -> st.SearchStrategy[Graph]:
    """Graphs of every kind: directed or not, with or without features and edge labels."""
    return graphs(n_nodes=n_nodes, n_features=None, directed=None, edge_labels=None)


@st.composite
def relabelled(draw: st.DrawFn, graph: Graph) -> Graph:
    """The same graph with its nodes renumbered."""
    return graph.permuted(draw(st.permutations(range(graph.n_nodes))))


@st.composite
def graph_lists(
    draw: st.DrawFn, *, min_size: int = 1, max_size: int = 6, **options: Any
) -> list[Graph]:
    """Graphs of one dataset: all directed or none, one number of features, any sizes."""
    options.setdefault("directed", draw(st.booleans()))
    options.setdefault("n_features", draw(st.integers(0, 2)))
    return draw(st.lists(graphs(**options), min_size=min_size, max_size=max_size))


@st.composite
def datasets(
    draw: st.DrawFn, *, min_size: int = 2, max_size: int = 8, **options: Any
) -> tuple[list[Graph], list[float]]:
    """Observed graphs, repeats allowed, and their finite values, ties allowed."""
    observed = draw(graph_lists(min_size=min_size, max_size=max_size, **options))
    values = st.floats(-100, 100, allow_nan=False) | st.sampled_from([-1.0, 0.0, 1.0])
    return observed, draw(_lists(values, len(observed)))


def _lists(elements: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, min_size=size, max_size=size)


# -- rules and spaces -------------------------------------------------------------------------


@st.composite
def rules(
    draw: st.DrawFn,
    *,
    n_nodes: int = 6,
    n_labels: int = 3,
    n_features: int = 0,
    directed: bool = False,
) -> Any:
    """Any rule that has a meaning in such a space, satisfiable or not."""
    from bogrape import constraints as c

    nodes, labels = st.integers(0, n_nodes - 1), st.integers(0, n_labels - 1)
    weights = st.integers(-3, 3) | st.sampled_from([0.1, 0.2, -0.5, 1.25])
    pairs = st.lists(nodes, min_size=2, max_size=2, unique=True).map(tuple)
    sorted_pairs = pairs.map(lambda pair: tuple(sorted(pair)))

    def bounds(top: int) -> dict[str, Any]:
        low = draw(st.integers(0, top))
        return {"minimum": low, "maximum": draw(st.none() | st.integers(low, top + 1))}

    def degree() -> Any:
        where = {"node": draw(st.none() | nodes), "label": draw(st.none() | labels)}
        arrow = st.sampled_from([None, "in", "out"]) if directed else st.none()
        return c.DegreeRange(**bounds(n_nodes - 1), **where, direction=draw(arrow))

    def linear() -> Any:
        features = st.tuples(nodes, st.integers(0, max(n_features - 1, 0)))
        low, high = sorted([draw(weights), draw(weights)])
        return c.LinearRule(
            edges=draw(st.dictionaries(pairs, weights, min_size=1, max_size=3)),
            labels=draw(st.dictionaries(st.tuples(nodes, labels), weights, max_size=3)),
            features=draw(st.dictionaries(features, weights, max_size=2 if n_features else 0)),
            minimum=draw(st.sampled_from([None, low])),
            maximum=high,
        )

    def subgraph() -> Any:
        return c.RequiredSubgraph(
            draw(st.lists(pairs, min_size=1, max_size=3)),
            draw(st.dictionaries(nodes, labels, max_size=2)),
            draw(st.booleans()),
        )

    def near() -> Any:
        size = st.integers(1, n_nodes)
        kind = {"n_labels": n_labels, "n_features": n_features, "directed": directed}
        graph = draw(graphs(n_nodes=draw(size), **kind))
        return c.EditDistance(graph, draw(st.integers(0, 5)), draw(st.booleans()))

    makers = {
        "EditDistance": near,
        "NumberOfEdges": lambda: c.NumberOfEdges(**bounds(n_nodes * (n_nodes - 1) // 2)),
        "DegreeRange": degree,
        "LabelCount": lambda: c.LabelCount(draw(labels), **bounds(n_nodes)),
        "FixedLabel": lambda: c.FixedLabel(draw(nodes), draw(labels)),
        "RequiredEdge": lambda: c.RequiredEdge(*draw(pairs)),
        "ForbiddenEdge": lambda: c.ForbiddenEdge(*draw(pairs)),
        "ForbiddenAdjacency": lambda: c.ForbiddenAdjacency(draw(labels), draw(labels)),
        "RequiredSubgraph": subgraph,
        "DiameterRange": lambda: c.DiameterRange(**bounds(n_nodes)),
        "CycleRange": lambda: c.CycleRange(**bounds(4)),
        "Acyclic": c.Acyclic,
        "LinearRule": linear,
        "TotalCost": lambda: c.TotalCost(
            draw(st.dictionaries(sorted_pairs, st.sampled_from([0, 1, 2.5, 0.1]), min_size=1)),
            draw(st.sampled_from([0, 0.3, 2.6, 5])),
            otherwise=draw(st.sampled_from([0, 1, 0.2])),
        ),
        "TwoConnected": lambda: c.TwoConnected(draw(st.sampled_from(["node", "edge"]))),
        "DisjointPaths": lambda: c.DisjointPaths(*draw(pairs), draw(st.integers(1, 3))),
        "MaximumDistance": lambda: c.MaximumDistance(*draw(pairs), draw(st.integers(1, 4))),
    }
    if directed:
        del makers["CycleRange"], makers["TwoConnected"]
    return makers[draw(st.sampled_from(sorted(makers)))]()
