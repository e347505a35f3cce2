"""Hypothesis strategies: what a graph, a space or a dataset can be, in small."""

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
    """The same graph with its nodes renamed."""
    return graph.permuted(draw(st.permutations(range(graph.n_nodes))))


@st.composite
def graph_lists(
    draw: st.DrawFn, *, min_size: int = 1, max_size: int = 6, **options: Any
) -> list[Graph]:
    """Graphs that may stand in one dataset: one direction, one number of features, any sizes."""
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
