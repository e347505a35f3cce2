"""Graphs to and from sparse matrices of scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidGraphError
from ..graph import Graph
from .given import own_graph


def to_sparse(graph: Graph) -> Any:
    """The adjacency as a ``scipy.sparse.csr_array`` of edge labels, or of ones.

    Labels and features of nodes are not included; see ``graph.labels`` and ``graph.features``.
    """
    from scipy.sparse import csr_array

    graph = own_graph(graph)
    cells = graph.adjacency if graph.edge_labels is None else graph.edge_labels
    return csr_array(cells.astype(np.int64))


def from_sparse(
    matrix: Any,
    labels: ArrayLike | None = None,
    features: ArrayLike | None = None,
    directed: bool = False,
    *,
    edge_labels: bool = False,
) -> Graph:
    """A graph from a sparse matrix in any format.

    Args:
        matrix: square; an entry that is not zero is an edge.
        labels, features, directed: as for `Graph`.
        edge_labels: whether the entries are edge labels; otherwise they must all be 1.
    """
    from scipy.sparse import csr_array, issparse

    if not issparse(matrix):
        raise InvalidGraphError(
            f"expected a sparse matrix of scipy, got {type(matrix).__name__}; "
            "for a dense one use Graph(adjacency)"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidGraphError(f"expected a square matrix, got shape {matrix.shape}")
    cells = csr_array(matrix).toarray()
    whole = np.zeros(cells.shape, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        whole[:] = cells
    if not np.array_equal(whole, cells) or (whole < 0).any():
        raise InvalidGraphError("expected entries that are whole numbers >= 0")
    if not edge_labels and (whole > 1).any():
        raise InvalidGraphError(
            f"the entry {whole.max()} would be lost: expected entries that are 0 or 1; "
            "edge_labels=True reads them as edge labels"
        )
    return Graph(whole > 0, labels, features, directed, edge_labels=whole if edge_labels else None)
