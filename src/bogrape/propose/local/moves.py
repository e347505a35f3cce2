"""Neighbourhoods for the searches: small changes to many graphs at once.

A `MoveTable` lists every elementary change to a graph of one shape: flip an edge, move an end of an
edge, reverse an arc, change a label, swap two labels, flip a feature, change an edge label. If only
some pairs of nodes can have an edge, as in a power grid, moves use only these pairs, and an edge
can also move to any other of them: there, few trees differ in one end of an edge only. Most such
exchanges keep the graph connected (`bogrape.propose.local.cycle_exchange`). `apply` performs one
row of the table on each graph of a batch, and sets the attributes that a rule derives
(`Rule.derive`). Moves may leave the space; the caller filters.

The sampler, which walks towards a space at random and needs no numbered list of all moves, has its
own random changes (`bogrape.space.moves`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arrays import BoolArray, FloatArray, IntArray
from ...batch import Batch
from ...constraints import Edge
from ...space import GraphSpace
from .cycle_exchange import exchange_on_cycle

FLIP, REWIRE, REVERSE, RELABEL, SWAP, FEATURE, EDGE_LABEL, EXCHANGE, ON_CYCLE = range(9)
_DRAWN = 10  # rows per row that is to change its graph
_MOST_EXCHANGES = 20_000  # rows; with more places for edges there are enough other moves


@dataclass(frozen=True)
class MoveTable:
    """Rows ``(kind, a, b, c, d)``; the meaning of a, b, c, d depends on the kind."""

    rows: IntArray
    weights: FloatArray  # probability of each row when not all are tried
    space: GraphSpace
    n_nodes: int

    @property
    def n_edge_labels(self) -> int:
        """Number of edge labels of the space."""
        return self.space.n_edge_labels

    @classmethod
    def of(cls, space: GraphSpace, n: int) -> MoveTable:
        """All moves on graphs of the space with n nodes."""
        possible, some_impossible = places(space, n)
        pairs = np.argwhere(possible if space.directed else np.triu(possible))
        swaps = np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1))
        triples = _triples(n)
        if some_impossible:
            a, b, c = triples.T
            triples = triples[possible[a, b] & possible[a, c]]
        blocks = [(FLIP, pairs, 1.0), (REWIRE, triples, 0.5)]
        if some_impossible and len(pairs) ** 2 <= _MOST_EXCHANGES:
            blocks.append((EXCHANGE, _exchanges(pairs), 1.0))
        if some_impossible and not space.directed:
            blocks.append((ON_CYCLE, pairs, 3.0))
        if space.directed:
            blocks.append((REVERSE, pairs, 0.5))
        if space.n_labels > 1 and not space.fixed_labels:
            blocks.append((RELABEL, _grid(n, space.n_labels), 1.0))
            blocks.append((SWAP, swaps, 0.5))
        if space.n_features and not any(rule.derives_features for rule in space.rules):
            blocks.append((FEATURE, _grid(n, space.n_features), 1.0))
        if space.n_edge_labels > 1:
            edges = np.repeat(pairs, space.n_edge_labels, axis=0)
            kinds = np.tile(np.arange(1, space.n_edge_labels + 1), len(pairs))
            blocks.append((EDGE_LABEL, np.column_stack([edges, kinds]), 1.0))
        rows, weights = [], []
        for kind, arguments, share in blocks:
            if not len(arguments):
                continue
            block = np.zeros((len(arguments), 5), dtype=np.int64)
            block[:, 0] = kind
            block[:, 1 : 1 + arguments.shape[1]] = arguments
            rows.append(block)
            weights.append(np.full(len(block), share / len(block)))
        if not rows:
            return cls(np.zeros((0, 5), np.int64), np.zeros(0), space, n)
        total = np.concatenate(weights)
        return cls(np.concatenate(rows), total / total.sum(), space, n)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _cumulative(self) -> FloatArray:
        total = np.cumsum(self.weights)
        return np.asarray(total / total[-1])

    def draw(self, k: int, rng: np.random.Generator) -> IntArray:
        """k random rows by weight, like ``rng.choice``, but the weights are summed only once."""
        return np.asarray(self._cumulative.searchsorted(rng.random(k), side="right"))

    def draw_changes(self, batch: Batch, each: int, rng: np.random.Generator) -> IntArray:
        """``each`` random rows for every graph of the batch that change it, as far as found.

        In sparse graphs most rows are about edges that are not there.
        """
        owner = np.repeat(np.arange(len(batch)), _DRAWN * each)
        index = self.draw(len(owner), rng)
        changes = self._changes(batch, owner, index).reshape(len(batch), -1)
        first = np.argsort(~changes, axis=1, kind="stable")[:, :each]
        return np.take_along_axis(index.reshape(changes.shape), first, axis=1).ravel()

    def _changes(self, batch: Batch, owner: IntArray, index: IntArray) -> BoolArray:
        """False for rows that leave the graph of their owner unchanged, as far as quickly seen."""
        kind, a, b, c, _ = self.rows[index].T
        out = np.ones(len(index), dtype=bool)
        i = np.flatnonzero(kind == REWIRE)
        out[i] = batch.adjacency[owner[i], a[i], b[i]] & ~batch.adjacency[owner[i], a[i], c[i]]
        i = np.flatnonzero(kind == RELABEL)
        out[i] = batch.labels[owner[i], a[i]] != b[i]
        i = np.flatnonzero(kind == SWAP)
        out[i] = batch.labels[owner[i], a[i]] != batch.labels[owner[i], b[i]]
        i = np.flatnonzero(kind == EDGE_LABEL)
        if batch.edge_labels is not None:
            label = batch.edge_labels[owner[i], a[i], b[i]]
            out[i] = (label > 0) & (label != c[i])
        return out

    def apply(
        self,
        batch: Batch,
        index: IntArray,
        rng: np.random.Generator,
        owner: IntArray | None = None,
        deadline: float = math.inf,
    ) -> Batch:
        """Change graph i of the batch, or graph ``owner[i]``, by row ``index[i]`` of the table.

        Returns a new batch. Rows that do not apply (no such edge) leave their graph unchanged.
        After the deadline, derived attributes are set in the first graphs only.
        """
        copy = batch.select(np.arange(len(batch)) if owner is None else owner)
        adjacency, labels, features = copy.adjacency, copy.labels, copy.features
        edge_labels = copy.edge_labels
        kind, a, b, c, d = self.rows[index].T

        def put(i: IntArray, u: IntArray, v: IntArray, value: BoolArray) -> None:
            adjacency[i, u, v] = value
            if not batch.directed:
                adjacency[i, v, u] = value
            if edge_labels is not None:
                label = np.where(value, rng.integers(1, self.n_edge_labels + 1, len(i)), 0)
                edge_labels[i, u, v] = label
                if not batch.directed:
                    edge_labels[i, v, u] = label

        i = np.flatnonzero(kind == FLIP)
        put(i, a[i], b[i], ~adjacency[i, a[i], b[i]])

        i = np.flatnonzero(kind == REWIRE)  # edge a-b becomes a-c
        i = i[adjacency[i, a[i], b[i]] & ~adjacency[i, a[i], c[i]]]
        put(i, a[i], b[i], np.zeros(len(i), dtype=bool))
        put(i, a[i], c[i], np.ones(len(i), dtype=bool))

        i = np.flatnonzero(kind == EXCHANGE)  # remove edge a-b, add edge c-d
        i = i[adjacency[i, a[i], b[i]] & ~adjacency[i, c[i], d[i]]]
        put(i, a[i], b[i], np.zeros(len(i), dtype=bool))
        put(i, c[i], d[i], np.ones(len(i), dtype=bool))

        i = np.flatnonzero(kind == ON_CYCLE)
        if len(i):
            gone, come = self._on_cycles(batch, i if owner is None else owner[i], index[i], rng)
            moved = (gone != come).any(axis=1)
            i, gone, come = i[moved], gone[moved], come[moved]
            put(i, gone[:, 0], gone[:, 1], np.zeros(len(i), dtype=bool))
            put(i, come[:, 0], come[:, 1], np.ones(len(i), dtype=bool))

        i = np.flatnonzero(kind == REVERSE)
        i = i[adjacency[i, a[i], b[i]] & ~adjacency[i, b[i], a[i]]]
        put(i, a[i], b[i], np.zeros(len(i), dtype=bool))
        put(i, b[i], a[i], np.ones(len(i), dtype=bool))

        i = np.flatnonzero(kind == RELABEL)
        labels[i, a[i]] = b[i]

        i = np.flatnonzero(kind == SWAP)
        labels[i, a[i]], labels[i, b[i]] = labels[i, b[i]], labels[i, a[i]]

        i = np.flatnonzero(kind == FEATURE)
        features[i, a[i], b[i]] ^= True

        if edge_labels is not None:
            i = np.flatnonzero(kind == EDGE_LABEL)
            i = i[adjacency[i, a[i], b[i]]]
            edge_labels[i, a[i], b[i]] = c[i]
            if not batch.directed:
                edge_labels[i, b[i], a[i]] = c[i]
        changed = Batch(adjacency, labels, features, edge_labels, batch.directed)
        return self.space.derived(changed, deadline=deadline)

    def _on_cycles(
        self, batch: Batch, graph: IntArray, index: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Removed and added edges, ``(K, 2)`` each; equal where there is no exchange."""
        every = self.rows[self.rows[:, 0] == ON_CYCLE, 1:3]
        gone = self.rows[index, 1:3].copy()
        come = gone.copy()
        for k, g in enumerate(graph):
            found = exchange_on_cycle(
                gone[k].copy(), every, batch.adjacency[g], batch.distances[g], rng
            )
            if found is not None:
                gone[k], come[k] = found
        return gone, come


def places(space: GraphSpace, n: int) -> tuple[BoolArray, bool]:
    """Pairs of nodes that may have an edge, as far as known, and True if some may not."""
    possible = ~np.eye(n, dtype=bool)
    for atom, value in space.known(n).value.items():
        if isinstance(atom, Edge) and not value:
            possible[atom.u, atom.v] = False
            if not space.directed:
                possible[atom.v, atom.u] = False
    return possible, bool(possible.sum() < n * (n - 1))


def _exchanges(pairs: IntArray) -> IntArray:
    """All moves of an edge to another place that shares no node with its own."""
    i, j = np.divmod(np.arange(len(pairs) ** 2), max(1, len(pairs)))
    both = np.column_stack([pairs[i], pairs[j]])
    apart = (both[:, :2, None] != both[:, None, 2:]).all(axis=(1, 2))
    return np.asarray(both[apart])


def _triples(n: int) -> NDArray[np.integer]:
    """All triples of different nodes, in order: a million of them for 100 nodes."""
    number = np.arange(n * (n - 1) * (n - 2), dtype=np.int32)
    a, rest = np.divmod(number, max(1, (n - 1) * (n - 2)))
    b, c = np.divmod(rest, max(1, n - 2))
    b += b >= a  # the b-th node besides a
    c += c >= np.minimum(a, b)
    c += c >= np.maximum(a, b)
    return np.column_stack([a, b, c])


def _grid(rows: int, columns: int) -> IntArray:
    return np.stack(
        np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1
    ).reshape(-1, 2)
