"""Integer counts of shortest paths and features: all that kernels use of a graph.

Notation (``docs/notation.md``):

===========  ====================  ==============================================================
``D_s``      ``Counts.lengths``    ordered pairs ``(u, v)``, ``u = v`` included, at distance s
``P_{sab}``  ``Counts.pairs``      the same, split by the labels a of u and b of v
``N_m``      ``Counts.features``   sum of feature m over the nodes; the first L are the labels
``E_{kab}``  ``Counts.edges``      pairs ``(u, v)`` joined by an edge labelled k, by labels a and b
``n``        ``Counts.sizes``      number of nodes
===========  ====================  ==============================================================

Pairs without a path are never counted. Distances of a whole batch of graphs are computed together
by a breadth-first search on bit sets: row ``u`` of a graph is one machine word whose bit ``v``
says "v is within s steps of u", and a step ORs the rows of u's neighbours, for all graphs at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import BoolArray, IntArray
from .errors import InvalidInputError
from .graph import Graph

MOST_EDGE_LABELS = 100  # the largest edge label whose edges are counted
# Enough graphs at a time to amortise numpy's call overhead, few enough to stay in the cache.
_CHUNK_CELLS = 400_000


@dataclass(frozen=True)
class Counts:
    """Counts of a batch of B graphs; the input of every kernel.

    S is one more than the longest length that occurs in the batch; beyond it all counts are zero.
    """

    sizes: IntArray  # (B,)
    lengths: IntArray  # (B, S): D_s for s = 0..S-1
    pairs: IntArray | None  # (B, S, L, L): P_sab, or None if not requested
    features: IntArray  # (B, L + F): N_m
    n_labels: int
    # (B, K + 1, L, L): E_kab, edges without labels at k = 0; or None if not requested
    edges: IntArray | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_extra(self) -> int:
        """Number of features beyond the labels."""
        return int(self.features.shape[1]) - self.n_labels

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """Cache of results derived from these counts; it is not pickled."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "memo"}

    def emptied(self) -> Counts:
        """Counts of zero graphs, of the same kind."""
        return self.rows(np.zeros(0, dtype=np.int64))

    def rows(self, index: IntArray) -> Counts:
        """The counts of some of the graphs."""
        return replace(
            self,
            sizes=self.sizes[index],
            lengths=self.lengths[index],
            pairs=None if self.pairs is None else self.pairs[index],
            features=self.features[index],
            edges=None if self.edges is None else self.edges[index],
        )

    def with_labels(self, n_labels: int) -> Counts:
        """The same counts with ``features`` padded or cut to exactly ``n_labels`` labels."""
        if n_labels == self.n_labels:
            return self
        shared = min(n_labels, self.n_labels)
        extra = self.features[:, self.n_labels :]
        features = np.zeros((len(self), n_labels + extra.shape[1]), dtype=np.int64)
        features[:, :shared] = self.features[:, :shared]
        features[:, n_labels:] = extra
        return replace(self, features=features, n_labels=n_labels)

    @property
    def n_edge_labels(self) -> int:
        """The largest edge label in the counts; 0 if edges were not counted."""
        return 0 if self.edges is None else int(self.edges.shape[1]) - 1

    def padded(self, n_lengths: int, n_labels: int, n_edge_labels: int = 0) -> Counts:
        """The same counts, padded with zeros to at least this many lengths and labels."""
        more = max(0, n_lengths - self.lengths.shape[1])
        labels = max(0, n_labels - self.n_labels)
        edge_labels = 0 if self.edges is None else max(0, n_edge_labels - self.n_edge_labels)
        if not more and not labels and not edge_labels:
            return self

        def wide(counted: IntArray | None, longer: int) -> IntArray | None:
            room = ((0, 0), (0, longer), (0, labels), (0, labels))
            return None if counted is None else np.pad(counted, room)

        return replace(
            self.with_labels(self.n_labels + labels),
            lengths=np.pad(self.lengths, ((0, 0), (0, more))),
            pairs=wide(self.pairs, more),
            edges=wide(self.edges, edge_labels),
        )


def count(
    graphs: Sequence[Graph],
    n_labels: int | None = None,
    *,
    pairs: bool = True,
    edges: bool = False,
) -> Counts:
    """Counts of a list of graphs, possibly of different sizes.

    Args:
        graphs: at least one; all directed or all undirected; with equal numbers of features.
        n_labels: L; by default one more than the largest label present.
        pairs: whether to split the counts by labels; needed by SP and ESP, but slower.
        edges: whether to also count edges by their labels; edges without labels have label 0.

    >>> path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> count([path]).lengths.tolist()
    [[3, 4, 2]]
    """
    if not n_given(graphs):
        raise InvalidInputError("expected at least one graph, got none")
    if not all(isinstance(graph, Graph) for graph in graphs):
        other = next(type(g) for g in graphs if not isinstance(g, Graph))
        raise InvalidInputError(
            f"expected bogrape Graph objects, got {other.__module__}.{other.__qualname__}; "
            "convert networkx graphs with Graph.from_networkx"
        )
    if len({(graph.directed, graph.n_features) for graph in graphs}) > 1:
        raise InvalidInputError(
            "graphs must all be directed or all undirected, with the same number of features; got "
            f"{sorted({(graph.directed, graph.n_features) for graph in graphs})} "
            "as (directed, number of features)"
        )
    top = max(int(graph.labels.max()) for graph in graphs) + 1
    if n_labels is not None and n_labels < top:
        raise InvalidInputError(f"labels must be below {n_labels}, got label {top - 1}")
    n_labels = top if n_labels is None else n_labels

    sizes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
    found = []
    for n in np.unique(sizes).tolist():
        chosen = [graph for graph in graphs if graph.n_nodes == n]
        found.append(
            count_batch(
                np.stack([graph.adjacency for graph in chosen]),
                np.stack([graph.labels for graph in chosen]),
                np.stack([graph.features for graph in chosen]),
                n_labels,
                pairs=pairs,
                edge_labels=np.stack([_edge_labels(graph) for graph in chosen]) if edges else None,
            )
        )
    order = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")
    return reduce(concatenate, found).rows(order)


def _edge_labels(graph: Graph) -> IntArray:
    """Edge labels as a matrix; zero if edges have none."""
    return np.zeros_like(graph.adjacency, int) if graph.edge_labels is None else graph.edge_labels


def n_given(graphs: object) -> int:
    """Length of a list of graphs; a single graph instead of a list is a common mistake."""
    if isinstance(graphs, Graph) or not isinstance(graphs, (Sequence, np.ndarray)):
        got = "one Graph; put it in a list" if isinstance(graphs, Graph) else type(graphs).__name__
        raise InvalidInputError(f"expected a list of graphs, got {got}")
    if isinstance(graphs, np.ndarray) and graphs.ndim != 1:
        raise InvalidInputError(f"expected a list of graphs, got an array of shape {graphs.shape}")
    return len(graphs)


def concatenate(first: Counts, second: Counts) -> Counts:
    """The counts of both batches, padded with zeros to a common number of labels and lengths."""
    parts = aligned(first, second)
    pairs = [part.pairs for part in parts if part.pairs is not None]
    edges = [part.edges for part in parts if part.edges is not None]
    return Counts(
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate(pairs) if len(pairs) == len(parts) else None,
        np.concatenate([part.features for part in parts]),
        parts[0].n_labels,
        np.concatenate(edges) if len(edges) == len(parts) else None,
    )


def aligned(left: Counts, right: Counts) -> tuple[Counts, Counts]:
    """The same counts, padded with zeros to equal numbers of lengths and labels.

    >>> edge, path = Graph([[0, 1], [1, 0]]), Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> [c.lengths.tolist() for c in aligned(count([edge]), count([path]))]
    [[[2, 2, 0]], [[3, 4, 2]]]
    """
    n_lengths = max(left.lengths.shape[1], right.lengths.shape[1])
    n_labels = max(left.n_labels, right.n_labels)
    n_edge_labels = max(left.n_edge_labels, right.n_edge_labels)
    shape = (n_lengths, n_labels, n_edge_labels)
    return left.padded(*shape), right.padded(*shape)


def count_batch(
    adjacency: BoolArray,
    labels: IntArray,
    features: BoolArray | None,
    n_labels: int,
    *,
    pairs: bool = True,
    edge_labels: IntArray | None = None,
    deadline: float = math.inf,
) -> Counts:
    """Counts of B graphs of one size, stacked as ``(B, n, n)``, ``(B, n)`` and ``(B, n, F)``.

    With ``edge_labels``, ``(B, n, n)``, edges are also counted by their labels.

    This is the hot loop of the package: nothing in it loops over graphs or pairs of nodes. After
    the deadline (a `time.monotonic` value) the remaining graphs are left out, but the first few
    are always counted.
    """
    n_graphs, n = labels.shape
    if labels.max(initial=0) >= n_labels:
        raise InvalidInputError(f"labels must be below {n_labels}, got label {labels.max()}")
    parts: list[slice] = []
    found: list[tuple[IntArray, IntArray | None]] = []
    for part in chunks(n_graphs, n):
        if parts and time.monotonic() >= deadline:
            n_graphs = part.start
            labels, features = labels[:n_graphs], None if features is None else features[:n_graphs]
            break
        parts.append(part)
        found.append(_count_chunk(adjacency[part], labels[part], n_labels, pairs))
    first = n_labels * np.arange(n_graphs)[:, None]
    sums = np.bincount((first + labels).ravel(), minlength=n_graphs * n_labels)
    sums = sums.reshape(n_graphs, n_labels)
    if features is not None and features.shape[2]:
        sums = np.concatenate([sums, features.sum(axis=1)], axis=1)
    n_lengths = max((some.shape[1] for some, _ in found), default=1)
    lengths = np.zeros((n_graphs, n_lengths), dtype=np.int64)
    shape = (n_graphs, n_lengths, n_labels, n_labels)
    by_label = np.zeros(shape, dtype=np.int64) if pairs else None
    for part, (some, some_by_label) in zip(parts, found, strict=True):
        lengths[part, : some.shape[1]] = some
        if by_label is not None:
            by_label[part, : some.shape[1]] = some_by_label
    by_edge_label = None
    if edge_labels is not None:
        by_edge_label = _count_edges(adjacency[:n_graphs], labels, edge_labels, n_labels)
    sizes = np.full(n_graphs, n, dtype=np.int64)
    return Counts(sizes, lengths, by_label, sums, n_labels, by_edge_label)


def _count_edges(
    adjacency: BoolArray, labels: IntArray, edge_labels: IntArray, n_labels: int
) -> IntArray:
    """``E`` as (B, K + 1, L, L), K being the largest edge label."""
    n = labels.shape[1]
    cells = np.flatnonzero(adjacency)  # far faster than three coordinates of each edge
    rows, graph = cells // n, cells // n**2
    of_edges = edge_labels.reshape(-1)[cells]
    largest = int(of_edges.max(initial=0))
    if largest > MOST_EDGE_LABELS:
        raise InvalidInputError(
            f"expected edge labels of at most {MOST_EDGE_LABELS}, got {largest}; number the kinds "
            "of edges 1, 2, ..."
        )
    shape = (len(labels), largest + 1, n_labels, n_labels)
    ends = labels.reshape(-1)[rows], labels.reshape(-1)[graph * n + cells % n]
    bins = np.ravel_multi_index((graph, of_edges, *ends), shape)
    return np.bincount(bins, minlength=math.prod(shape)).reshape(shape)


def _count_chunk(
    adjacency: BoolArray, labels: IntArray, n_labels: int, pairs: bool
) -> tuple[IntArray, IntArray | None]:
    """``D`` as (B, S) and, on request, ``P`` as (B, S, L, L)."""
    n_graphs, n = labels.shape
    reached = list(_within(adjacency))
    totals = [np.bitwise_count(within).sum(axis=(0, 1), dtype=np.int64) for within in reached]
    lengths = np.diff(totals, axis=0, prepend=0).T
    if not pairs:
        return lengths, None
    # One bin for each graph, length and pair of labels; the last length is "no path".
    shape = (n_graphs, len(reached) + 1, n_labels, n_labels)
    bins = _distances(reached, n).astype(np.int64)
    bins *= n_labels**2
    bins += n_labels * labels[:, :, None]
    bins += (math.prod(shape[1:]) * np.arange(n_graphs)[:, None] + labels)[:, None, :]
    by_label = np.bincount(bins.ravel(), minlength=math.prod(shape)).reshape(shape)
    return lengths, by_label[:, :-1]


def distances_batch(adjacency: BoolArray) -> IntArray:
    """All distances of B graphs ``(B, n, n)``; the number of nodes stands for "no path"."""
    n_graphs, n, _ = adjacency.shape
    out = np.empty((n_graphs, n, n), dtype=np.int64)
    for part in chunks(n_graphs, n):
        reached = list(_within(adjacency[part]))
        found = _distances(reached, n)
        out[part] = np.where(found == len(reached), n, found)
    return out


def chunks(n_graphs: int, n: int) -> list[slice]:
    """Slices of a batch of graphs with n nodes, each processed at once."""
    chunk = max(1, _CHUNK_CELLS // (n * n))
    return [slice(start, start + chunk) for start in range(0, n_graphs, chunk)]


def _word(n: int) -> tuple[type[np.unsignedinteger], int]:
    """The smallest word that holds n bits (narrow words are faster), and how many are needed."""
    for kind, bits in ((np.uint8, 8), (np.uint16, 16), (np.uint32, 32)):
        if n <= bits:
            return kind, bits
    return np.uint64, 64


def _pack(rows: BoolArray) -> NDArray[np.unsignedinteger]:
    """Pack the last axis into words: ``(..., n)`` to ``(words, ...)``."""
    n = rows.shape[-1]
    kind, bits = _word(n)
    n_words = -(-n // bits)
    padded = np.zeros((*rows.shape[:-1], n_words * bits), dtype=bool)
    padded[..., :n] = rows
    packed = np.packbits(padded, axis=-1, bitorder="little").view(kind)
    return np.moveaxis(packed, -1, 0)


def _distances(reached: list[NDArray[np.unsignedinteger]], n: int) -> NDArray[np.unsignedinteger]:
    """Distances ``(B, n, n)`` from the bit sets of `_within`; n stands for "no path"."""
    n_words, _, n_graphs = reached[0].shape
    width = n_words * _word(n)[1]  # unpacking whole words and cutting is faster than the reverse
    out = np.full(n_graphs * n * width, len(reached), dtype=np.min_scalar_type(n))
    for within in reached:
        rows = np.ascontiguousarray(within.transpose(2, 1, 0))
        out -= np.unpackbits(rows.ravel().view(np.uint8), bitorder="little")
    return out.reshape(n_graphs, n, width)[:, :, :n]


def _within(adjacency: BoolArray) -> Iterator[NDArray[np.unsignedinteger]]:
    """For s = 0, 1, ... bit sets ``(words, n, B)`` of nodes within s steps, until complete."""
    n_graphs, n, _ = adjacency.shape
    kind, _ = _word(n)
    # steps[v, u, graph] is all ones where u -> v or u = v, so that AND selects row v for u
    steps = np.negative(np.ascontiguousarray(adjacency.transpose(2, 1, 0)).astype(kind))
    steps[np.arange(n), np.arange(n)] = np.iinfo(kind).max
    reached = np.repeat(_pack(np.eye(n, dtype=bool))[:, :, None], n_graphs, axis=2)
    everything = _pack(np.ones((1, n), dtype=bool))[:, :, None]
    while True:
        yield reached
        if (reached == everything).all():
            return
        grown = np.stack([np.bitwise_or.reduce(steps & word[:, None], axis=0) for word in reached])
        if (grown == reached).all():
            return
        reached = grown
