"""Random small changes of a batch of graphs, used to walk towards and inside a space.

The sampler needs a few neighbours of every graph, drawn at random for a whole batch at once. The
search needs all neighbours, numbered, so that each is tried once; it has its own table,
`bogrape.propose.local.moves`.
"""

from __future__ import annotations

import numpy as np

from ..arrays import BoolArray, IntArray
from ..batch import Batch
from ..constraints import Shape
from .construct import draw_edge_labels


def variants(
    batch: Batch,
    shape: Shape,
    tries: int,
    rng: np.random.Generator,
    *,
    labels_fixed: bool = False,
    relabel_edges: bool = False,
) -> Batch:
    """``tries`` random neighbours of every graph, in the order of the graphs.

    A neighbour differs by one or two moves: an edge added or removed, an edge moved, a node
    relabelled, two labels exchanged, a feature flipped. New edges get random labels; with
    ``relabel_edges`` a third of the neighbours also have one edge drawn with another label.
    """
    adjacency = np.repeat(batch.adjacency, tries, axis=0)
    labels = np.repeat(batch.labels, tries, axis=0)
    features = np.repeat(batch.features, tries, axis=0)
    for share in (1.0, 0.3):
        kind = rng.integers(5, size=len(labels))
        kind[rng.random(len(labels)) >= share] = -1
        if labels_fixed or shape.n_labels == 1:
            kind[(kind >= 2) & (kind <= 3)] = 0
        kind[(kind == 4) & (shape.n_features == 0)] = 1
        if shape.n_nodes > 1:
            _toggle(adjacency, np.flatnonzero(kind == 0), shape, rng)
            _shift(adjacency, np.flatnonzero(kind == 1), shape, rng)
        _relabel(labels, np.flatnonzero(kind == 2), shape, rng)
        _exchange(labels, np.flatnonzero(kind == 3), rng)
        _flip(features, np.flatnonzero(kind == 4), rng)
    edge_labels = draw_edge_labels(adjacency, shape, rng)
    if edge_labels is not None and batch.edge_labels is not None:
        old = np.repeat(batch.edge_labels, tries, axis=0)
        redrawn = np.zeros_like(adjacency)
        if relabel_edges:
            some = np.flatnonzero(rng.random(len(adjacency)) < 1 / 3)
            redrawn[some] = _one_of(adjacency[some], shape, rng)
        edge_labels = np.where(adjacency & (old > 0) & ~redrawn, old, edge_labels)
    return Batch(adjacency, labels, features, edge_labels, batch.directed)


def _set(adjacency: BoolArray, index: IntArray, u: IntArray, v: IntArray, shape: Shape) -> None:
    """Flip the entries (u, v), and (v, u) too unless directed."""
    adjacency[index, u, v] ^= True
    if not shape.directed:
        adjacency[index, v, u] ^= True


def _toggle(adjacency: BoolArray, index: IntArray, shape: Shape, rng: np.random.Generator) -> None:
    """Add or remove an edge at a random place."""
    u = rng.integers(shape.n_nodes, size=len(index))
    v = (u + rng.integers(1, shape.n_nodes, size=len(index))) % shape.n_nodes
    _set(adjacency, index, u, v, shape)


def _shift(adjacency: BoolArray, index: IntArray, shape: Shape, rng: np.random.Generator) -> None:
    """Remove one random edge and add another; if only one of these is possible, do that."""
    n = shape.n_nodes
    keys = rng.random((len(index), n, n))
    places = ~np.eye(n, dtype=bool) if shape.directed else np.triu(np.ones((n, n), dtype=bool), 1)
    before = adjacency[index]
    for there in (before & places, ~before & places):
        flat = (keys * there).reshape(len(index), n * n).argmax(axis=1)
        some = there.any(axis=(1, 2))
        _set(adjacency, index[some], flat[some] // n, flat[some] % n, shape)


def _one_of(edges: BoolArray, shape: Shape, rng: np.random.Generator) -> BoolArray:
    """One random edge of every graph that has one."""
    keys = rng.random(edges.shape) * edges
    if not shape.directed:
        keys = np.triu(keys) + np.triu(keys).transpose(0, 2, 1)
    return np.asarray((keys > 0) & (keys == keys.max(axis=(1, 2), keepdims=True)))


def _relabel(labels: IntArray, index: IntArray, shape: Shape, rng: np.random.Generator) -> None:
    node = rng.integers(shape.n_nodes, size=len(index))
    labels[index, node] = rng.integers(shape.n_labels, size=len(index))


def _exchange(labels: IntArray, index: IntArray, rng: np.random.Generator) -> None:
    u, v = rng.integers(labels.shape[1], size=(2, len(index)))
    labels[index, u], labels[index, v] = labels[index, v], labels[index, u]


def _flip(features: BoolArray, index: IntArray, rng: np.random.Generator) -> None:
    _, n, n_features = features.shape
    if n_features:
        node = rng.integers(n, size=len(index))
        features[index, node, rng.integers(n_features, size=len(index))] ^= True
