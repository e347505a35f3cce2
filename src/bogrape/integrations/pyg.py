"""Graphs to and from PyTorch Geometric, one by one and in batches.

Needs PyTorch Geometric: ``pip install 'bogrape[pyg]'``. In a ``Data``, ``x`` holds one column per
label (one of them 1) and one per feature, ``edge_index`` both directions of undirected edges, and
``edge_attr`` one column per edge label. Data that only a `Graph` needs (the number of
labels, the direction, names) are kept in ``n_labels``, ``directed`` and ``bogrape_names``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import BoolArray, IntArray
from ..errors import InvalidGraphError
from ..graph import Graph
from ..graph_readers import NAMES
from .given import own_graph
from .missing import missing

try:
    import torch
    from torch_geometric.data import Batch, Data
except ImportError:
    raise missing("this module", "PyTorch Geometric", "pyg") from None

_READ = {"x", "edge_index", "edge_attr", "num_nodes", "n_labels", "directed", NAMES, "y"}


def to_pyg(
    graph: Graph,
    y: float | None = None,
    *,
    n_labels: int | None = None,
    n_edge_labels: int | None = None,
) -> Any:
    """A ``Data`` that `from_pyg` reads back as an equal graph.

    Args:
        graph: any graph.
        y: the value of the graph, for training; it is not read back.
        n_labels: number of columns of ``x`` for labels; by default the number that the graph needs.
        n_edge_labels: number of columns of ``edge_attr``, likewise.
    """
    graph = own_graph(graph)
    labels = _columns(n_labels, int(graph.labels.max()) + 1, "n_labels")
    one_hot = np.eye(labels)[graph.labels]
    x = np.concatenate([one_hot, graph.features], axis=1)
    u, v = np.nonzero(graph.adjacency)
    data = Data(
        x=torch.from_numpy(x).float(),
        edge_index=torch.from_numpy(np.stack([u, v]).astype(np.int64)),
        n_labels=labels,
        directed=graph.directed,
    )
    if graph.edge_labels is not None:
        kinds = _columns(n_edge_labels, max(1, int(graph.edge_labels.max())), "n_edge_labels")
        data.edge_attr = torch.from_numpy(np.eye(kinds)[graph.edge_labels[u, v] - 1]).float()
    names = {"label_names": graph.label_names, "domain": graph.domain}
    known = {name: value for name, value in names.items() if value is not None}
    data[NAMES] = json.dumps(known)
    if y is not None:
        data.y = torch.tensor([float(y)])
    return data


def from_pyg(
    data: Any,
    *,
    n_labels: int | None = None,
    directed: bool | None = None,
    ignore: Sequence[str] = (),
) -> Graph:
    """Read a ``Data``; nothing but ``y`` is left out unless you say so.

    Args:
        data: ``edge_index``, and optionally ``x`` (columns of labels, then of features, all 0 or
            1) and ``edge_attr`` (columns of edge labels, or one column of integers from 1).
        n_labels: number of columns of ``x`` that are labels; by default as `to_pyg` stored it.
        directed: whether edges have a direction; by default as `to_pyg` stored it, or whether some
            edge exists in one direction only.
        ignore: further attributes to leave out, which a `Graph` cannot store.
    """
    if not isinstance(data, Data):
        raise InvalidGraphError(f"expected a Data of PyTorch Geometric, got {type(data).__name__}")
    lost = sorted(set(data.keys()) - _READ - set(ignore))
    if lost:
        raise InvalidGraphError(
            f"attribute {lost[0]!r} would be lost: a Graph cannot store it; "
            f"ignore=[{lost[0]!r}] leaves it out"
        )
    n = data.num_nodes
    if n is None or data.edge_index is None:
        raise InvalidGraphError("expected a Data with edge_index, and x or num_nodes")
    u, v = data.edge_index.detach().cpu().numpy()
    if len(set(zip(u.tolist(), v.tolist(), strict=True))) < len(u):
        raise InvalidGraphError(
            "expected at most one edge per pair of nodes, got multiple ones; try "
            "torch_geometric.utils.coalesce"
        )
    if len(u) and max(u.max(), v.max()) >= n:
        raise InvalidGraphError(f"edge_index names node {max(u.max(), v.max())}, of {n} nodes")
    if directed is None:
        noted = data.get("directed")
        directed = data.is_directed() if noted is None else bool(noted)
    adjacency = np.zeros((n, n), dtype=bool)
    adjacency[u, v] = True
    labels, features = _of_nodes(data, n_labels)
    edge_labels = None
    if data.edge_attr is not None:
        edge_labels = np.zeros((n, n), dtype=np.int64)
        edge_labels[u, v] = _of_edges(data.edge_attr.detach().cpu().numpy(), len(u))
    made = Graph(adjacency, labels, features, directed, edge_labels=edge_labels)
    names = json.loads(data.get(NAMES) or "{}")
    return made.with_names(names.get("label_names"), names.get("domain"))


def to_pyg_batch(
    graphs: Sequence[Graph],
    y: Sequence[float] | None = None,
    *,
    n_labels: int | None = None,
    n_edge_labels: int | None = None,
) -> Any:
    """A ``Batch`` of graphs, with the same number of columns for all of them; see `to_pyg`."""
    graphs = [own_graph(graph) for graph in graphs]
    if n_labels is None:
        n_labels = max((int(graph.labels.max()) + 1 for graph in graphs), default=1)
    if n_edge_labels is None:
        found = [int(g.edge_labels.max()) for g in graphs if g.edge_labels is not None]
        n_edge_labels = max([1, *found])
    values: Sequence[float | None] = [None] * len(graphs) if y is None else list(y)
    return Batch.from_data_list(
        [
            to_pyg(graph, value, n_labels=n_labels, n_edge_labels=n_edge_labels)
            for graph, value in zip(graphs, values, strict=True)
        ]
    )


def from_pyg_batch(
    batch: Any,
    *,
    n_labels: int | None = None,
    directed: bool | None = None,
    ignore: Sequence[str] = (),
) -> list[Graph]:
    """The graphs of a ``Batch``, each read as `from_pyg` reads it."""
    if not isinstance(batch, Batch):
        raise InvalidGraphError(
            f"expected a Batch of PyTorch Geometric, got {type(batch).__name__}"
        )
    return [
        from_pyg(data, n_labels=n_labels, directed=directed, ignore=ignore)
        for data in batch.to_data_list()
    ]


def _columns(wanted: int | None, needed: int, what: str) -> int:
    if wanted is None:
        return needed
    if wanted < needed:
        raise InvalidGraphError(f"{what} must be at least {needed} for this graph, got {wanted}")
    return int(wanted)


def _of_nodes(data: Any, n_labels: int | None) -> tuple[IntArray | None, BoolArray | None]:
    """Labels and features of the nodes."""
    if data.x is None:
        return None, None
    if n_labels is None:
        noted = data.get("n_labels")
        if noted is None:
            raise InvalidGraphError(
                "expected n_labels, the number of columns of x that are labels; the others are "
                "features"
            )
        n_labels = int(noted)
    x = data.x.detach().cpu().numpy()
    if x.ndim != 2 or not np.isin(x, (0, 1)).all():
        raise InvalidGraphError(
            "expected x to hold one column per label and feature, all 0 or 1; a Graph "
            "cannot store other numbers"
        )
    one_hot = x[:, :n_labels]
    if n_labels and not (one_hot.sum(axis=1) == 1).all():
        raise InvalidGraphError(
            f"expected one of the first {n_labels} columns of x to be 1 in each row: the label"
        )
    labels = one_hot.argmax(axis=1) if n_labels else None
    return labels, x[:, n_labels:].astype(bool)


def _of_edges(attributes: Any, n: int) -> IntArray:
    """Edge labels from 1, given as columns or as numbers."""
    if (attributes.ndim == 2 and attributes.shape[1] > 1) or _is_one_hot(attributes):
        if not _is_one_hot(attributes):
            raise InvalidGraphError("expected one column of edge_attr to be 1 for each edge")
        return np.asarray(attributes.argmax(axis=1) + 1)
    numbers = attributes.reshape(n)
    whole = np.rint(numbers).astype(np.int64)
    if not np.array_equal(whole, numbers):
        raise InvalidGraphError("expected edge_attr to hold whole numbers from 1: edge labels")
    return np.asarray(whole)


def _is_one_hot(attributes: Any) -> bool:
    return bool(
        attributes.ndim == 2
        and np.isin(attributes, (0, 1)).all()
        and (attributes.sum(axis=1) == 1).all()
    )
