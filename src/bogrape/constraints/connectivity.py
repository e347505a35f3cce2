"""Rules on connectivity: two-connected graphs, disjoint paths, distance of two nodes.

Import them from `bogrape.constraints`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray
from ..batch import Batch
from ..domain import GRAPHS, Nouns
from ..graph import Graph
from .edges_and_labels import NamedPair
from .flows import MOST_NODES_FOR_CUTS, Demand, cut_rows, residual
from .rows import Aux, Row, Shape, never, within
from .rule import Excess, Rule
from .words import amount


class _ByDemands(Rule):
    """A rule that requires disjoint paths, encoded by cuts in small graphs, else by flows."""

    def demands(self, n: int) -> Iterator[Demand]:
        """The disjoint paths required in a graph with n nodes."""
        raise NotImplementedError

    def decides_helpers(self, shape: Shape) -> bool:
        """True for cuts, which need no helpers; False for flows, which are not unique."""
        return shape.n_nodes <= MOST_NODES_FOR_CUTS

    def helpers(self, graph: Graph) -> dict[Aux, bool]:
        """A flow for every demand."""
        out: dict[Aux, bool] = {}
        if graph.n_nodes > MOST_NODES_FOR_CUTS:
            for demand in self.demands(graph.n_nodes):
                out |= demand.helpers(graph.adjacency)
        return out


@dataclass(frozen=True, repr=False)
class TwoConnected(_ByDemands):
    """The graph stays connected when any one node (``kind="node"``) or edge (``"edge"``) fails.

    Connected without an articulation point, or without a bridge; undirected graphs only. As in
    networkx, one node alone is not two-connected; two nodes joined by an edge are two-connected by
    nodes, but not by edges.
    """

    kind: Literal["node", "edge"] = "node"

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in ("node", "edge"):
            self.refuse("kind 'node' or 'edge'", repr(self.kind), "kind='node'")

    def direction_needed(self) -> bool | None:
        """False: undirected only. For directed graphs use ``connected="strong"``."""
        return False

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        part = nouns.node if self.kind == "node" else nouns.edge
        return f"Every {nouns.graph} stays connected if any one {part} fails."

    def excess(self, batch: Batch) -> Excess:
        """Nodes cut off by a failure, summed over the failures; 1 for a single node."""
        self._check_direction(batch.directed)
        if batch.n_nodes == 1:
            return np.ones(len(batch))
        if batch.n_nodes == 2 and self.kind == "node":
            return np.asarray(~batch.adjacency[:, 0, 1], dtype=float)
        if self.kind == "node":
            return _cut_off_without_nodes(batch)
        return _cut_off_without_edges(batch)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For every node v and set S of other nodes, an edge leaves S in the graph without v.

        ``kind="edge"``: two edges leave every set of nodes. Larger graphs: `demands` as flows.
        """
        self._check_direction(shape.directed)
        n = shape.n_nodes
        if n == 1 or (n == 2 and self.kind == "edge"):
            yield never(f"two-connected by {self.kind}s")
        elif n > MOST_NODES_FOR_CUTS:
            for demand in self.demands(n):
                yield from demand.flow_rows(shape)
        elif self.kind == "edge":
            yield from cut_rows(shape, 2, 0)
        elif n == 2:
            yield from cut_rows(shape, 1, 0)
        else:
            for v in range(n):
                yield from cut_rows(shape, 1, int(v == 0), without=v)

    def demands(self, n: int) -> Iterator[Demand]:
        """Two disjoint paths from node 0 to every other.

        With ``kind="node"`` node 0 itself could still be an articulation point, so the other nodes
        must also be connected without it.
        """
        apart = self.kind == "node"
        for v in range(1, n):
            yield Demand(name=f"{self.name}.to[{v}]", source=0, sink=v, k=2, apart=apart)
        for v in range(2, n) if apart else ():
            yield Demand(name=f"{self.name}.around[{v}]", source=1, sink=v, k=1, without=0)


@dataclass(frozen=True, repr=False)
class DisjointPaths(NamedPair, _ByDemands):
    """At least ``minimum`` paths from u to v share no edge (no arc when directed).

    If fewer than ``minimum`` edges fail, u still reaches v.
    """

    minimum: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("minimum")
        if self.minimum < 1:
            self.refuse("minimum >= 1", repr(self.minimum), "minimum=2")

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        return f"At least {self.minimum} paths from {self.ends(nouns)} share no {nouns.edge}."

    def excess(self, batch: Batch) -> Excess:
        """Number of missing paths; all of them if a node is missing."""
        self._check_located()
        if max(self.u, self.v) >= batch.n_nodes:
            return np.full(len(batch), float(self.minimum))
        capacity = batch.adjacency.astype(np.int64)
        _, value = residual(capacity, self.u, self.v, self.minimum)
        return np.asarray(self.minimum - value, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum`` edges leave every set of nodes with u and without v; or a flow."""
        n = shape.n_nodes
        if max(self.u, self.v) >= n or self.minimum >= n:
            yield never(f"{self.minimum} disjoint paths from {self.u} to {self.v}")
        elif n <= MOST_NODES_FOR_CUTS:
            yield from cut_rows(shape, self.minimum, self.u, self.v)
        else:
            for demand in self.demands(n):
                yield from demand.flow_rows(shape)

    def demands(self, n: int) -> Iterator[Demand]:  # noqa: ARG002
        """The paths from u to v."""
        yield Demand(name=self.name, source=int(self.u), sink=int(self.v), k=self.minimum)


@dataclass(frozen=True, repr=False)
class MaximumDistance(NamedPair):
    """A path with at most ``maximum`` edges leads from u to v."""

    maximum: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("maximum")
        if self.maximum < 1:
            self.refuse("maximum >= 1", repr(self.maximum), "maximum=1 for neighbours")

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        n_edges = amount(0, self.maximum, nouns.edge, nouns.edges)
        return f"A path with {n_edges} leads from {self.ends(nouns)}."

    def excess(self, batch: Batch) -> Excess:
        """Excess of the distance over the maximum; a missing path or node counts as distance n."""
        self._check_located()
        n = batch.n_nodes
        most = min(self.maximum, n - 1)
        if max(self.u, self.v) >= n:
            return np.full(len(batch), float(n - most))
        return np.maximum(0.0, batch.distances[:, self.u, self.v] - most)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``w_uv^maximum >= 1``."""
        name = f"distance[{self.u},{self.v}]<={self.maximum}"
        if max(self.u, self.v) >= shape.n_nodes:
            yield never(name)
        else:
            near = within(self.u, self.v, self.maximum, shape)
            yield Row(name, ((near, 1),), low=1)


# -- failures, for a whole batch ----------------------------------------------------------------
# Sets of nodes are stored as bits of integers, since this is the inner loop of every search with
# this rule.

Sets = NDArray[np.unsignedinteger]


def _packed(sets: BoolArray) -> Sets:
    """Sets of nodes ``(..., n)`` as bits ``(..., words)``, in the same order in all sets."""
    n = sets.shape[-1]
    size = next((size for size in (1, 2, 4) if n <= 8 * size), 8)
    bits = np.packbits(sets, axis=-1)
    padding = [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % size)]
    return np.pad(bits, padding).view(f"u{size}")


def _cut_off_without_nodes(batch: Batch) -> Excess:
    """Nodes cut off by the failure of a node, summed over all nodes."""
    n = batch.n_nodes
    bits = _packed(np.eye(n, dtype=bool))
    start = np.repeat(bits[:1], n, axis=0)
    start[0] = bits[1]  # if node 0 fails
    return _cut_off(batch, start, lambda _: bits) - n  # the failed node itself does not count


def _cut_off_without_edges(batch: Batch) -> Excess:
    """Nodes cut off by the failure of an edge, summed over one edge per node.

    For each node but 0 the edge to its first neighbour nearer to node 0 fails: no other edge can
    be a bridge. For node 0 nothing fails.
    """
    n = batch.n_nodes
    away = batch.distances[:, 0]
    nearer = batch.adjacency & (away[:, None, :] < away[:, :, None])
    first = _packed(nearer & (np.cumsum(nearer, axis=2) == 1))
    bits = _packed(np.eye(n, dtype=bool))

    def failed(v: int) -> Sets:
        out = np.where((first & bits[v]).any(axis=-1, keepdims=True), bits, np.zeros_like(bits))
        out[:, v] = first[:, v]
        return out

    return _cut_off(batch, np.repeat(bits[:1], n, axis=0), failed)


def _cut_off(batch: Batch, start: Sets, failed: Callable[[int], Sets]) -> Excess:
    """Nodes not reached from the start, summed over n failures, ``(B,)``.

    Args:
        batch: the graphs.
        start: for each failure the node to start from, ``(n, words)``.
        failed: for a node v and each failure the neighbours that v has lost.
    """
    n = batch.n_nodes
    rows, bits = _packed(batch.adjacency), _packed(np.eye(n, dtype=bool))
    nothing = np.zeros_like(rows[:, None, 0])
    reached = np.repeat(start[None], len(batch), axis=0)
    while True:
        before = reached
        for v in range(n):
            here = (reached & bits[v]).any(axis=-1, keepdims=True)
            reached = reached | (np.where(here, rows[:, None, v], nothing) & ~failed(v))
        if (reached == before).all():
            there = np.unpackbits(reached.view(np.uint8), axis=-1)
            return np.asarray(n * n - there.sum(axis=(1, 2), dtype=float))
