"""Rules about how well nodes are connected: two-connected, disjoint paths, distance of two nodes.

The public door is `bogrape.constraints`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray
from ..batch import Batch
from ..graph import Graph
from .flows import MOST_NODES_FOR_CUTS, Demand, cut_rows, residual
from .parts import NamedPair
from .rows import Aux, Row, Shape, never, within
from .rule import Excess, Rule


class _ByDemands(Rule):
    """A rule that asks for disjoint paths: by cuts in small graphs, else by flows."""

    def demands(self, n: int) -> Iterator[Demand]:
        """The paths it asks for in a graph with n nodes."""
        raise NotImplementedError

    def decides_helpers(self, shape: Shape) -> bool:
        """Cuts need no helpers; a flow can be had in several ways."""
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
    networkx, one node alone is not two-connected; two nodes joined by an edge are by nodes, but not
    by edges.
    """

    kind: Literal["node", "edge"] = "node"

    def __post_init__(self) -> None:
        if self.kind not in ("node", "edge"):
            self.refuse("kind 'node' or 'edge'", repr(self.kind), "kind='node'")

    def direction_needed(self) -> bool | None:
        """Undirected only; of directed graphs ask ``connected="strong"``."""
        return False

    def excess(self, batch: Batch) -> Excess:
        """Nodes cut off by a failure, summed over the failures; 1 for a single node."""
        self._check_direction(batch.directed)
        if batch.n_nodes == 1:
            return np.ones(len(batch))
        if batch.n_nodes == 2 and self.kind == "node":
            return np.asarray(~batch.adjacency[:, 0, 1], dtype=float)
        failed = _without_nodes(batch) if self.kind == "node" else _without_edges(batch)
        return _cut_off(*failed)

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

        By nodes this leaves open whether node 0 itself is an articulation point: so the others must
        be connected without it.
        """
        apart = self.kind == "node"
        for v in range(1, n):
            yield Demand(f"{self.name}.to[{v}]", 0, v, 2, apart=apart)
        for v in range(2, n) if apart else ():
            yield Demand(f"{self.name}.around[{v}]", 1, v, 1, without=0)


@dataclass(frozen=True, repr=False)
class DisjointPaths(NamedPair, _ByDemands):
    """At least ``minimum`` paths from u to v share no edge (no arc when directed).

    So many edges can fail, less one, and u still reaches v.
    """

    minimum: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("minimum")
        if self.minimum < 1:
            self.refuse("minimum >= 1", repr(self.minimum), "minimum=2")

    def excess(self, batch: Batch) -> Excess:
        """Paths that are missing; all of them when a node is missing."""
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
        """The one it is about."""
        yield Demand(self.name, int(self.u), int(self.v), self.minimum)


@dataclass(frozen=True, repr=False)
class MaximumDistance(NamedPair):
    """A path with at most ``maximum`` edges leads from u to v."""

    maximum: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("maximum")
        if self.maximum < 1:
            self.refuse("maximum >= 1", repr(self.maximum), "maximum=1 for neighbours")

    def excess(self, batch: Batch) -> Excess:
        """Steps too far; without a path, or a node, as if it took one for every node."""
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


def _without_nodes(batch: Batch) -> tuple[BoolArray, BoolArray, BoolArray]:
    """The graphs without each node in turn: adjacency, where to start, which nodes to reach."""
    n = batch.n_nodes
    alive = ~np.eye(n, dtype=bool)
    adjacency = batch.adjacency[:, None] & alive[:, :, None] & alive[:, None, :]
    start = np.zeros((n, n), dtype=bool)
    start[:, 0] = True
    start[0, :2] = [False, True]
    return adjacency, np.broadcast_to(start, adjacency.shape[:3]), alive


def _without_edges(batch: Batch) -> tuple[BoolArray, BoolArray, BoolArray]:
    """The graphs without the edge from each node but 0 to the first one nearer to node 0.

    No other edge can be a bridge: the last edge of some shortest path from node 0 is removed for
    every node.
    """
    n = batch.n_nodes
    away = batch.distances[:, 0]
    nearer = batch.adjacency & (away[:, None, :] < away[:, :, None])
    first = nearer & (np.cumsum(nearer, axis=2) == 1)  # [b, v, u]: u is the one nearer for v
    cut = first[:, :, None, :] & np.eye(n, dtype=bool)[:, :, None]
    cut |= cut.transpose(0, 1, 3, 2)
    start = np.zeros(cut.shape[:3], dtype=bool)
    start[:, :, 0] = True
    return batch.adjacency[:, None] & ~cut, start, np.ones((n, n), dtype=bool)


def _cut_off(adjacency: BoolArray, start: BoolArray, alive: BoolArray) -> Excess:
    """Nodes not reached from the start, summed over the failures, ``(B,)``.

    Sets of nodes are kept as bits: this is the inner loop of every search under the rule.
    """
    rows = np.packbits(adjacency, axis=-1)
    reached = np.packbits(start, axis=-1)
    n = adjacency.shape[-1]
    while True:
        before = reached.copy()
        for v in range(n):
            here = _bit(reached, v)
            reached = reached | (rows[:, :, v] * here[..., None])
        if (reached == before).all():
            break
    there = np.unpackbits(reached, axis=-1, count=n).astype(bool)
    return np.asarray((alive & ~there).sum(axis=(1, 2)), dtype=float)


def _bit(sets: NDArray[np.uint8], v: int) -> NDArray[np.uint8]:
    return (sets[..., v // 8] >> (7 - v % 8)) & 1
