"""Disjoint paths: counting them, and rows that require a number of them.

By Menger's theorem, k edge-disjoint paths lead from s to t exactly when every set of nodes that
holds s and not t is left by at least k edges, and exactly when a flow of k units does. For small
graphs the first is encoded, one row per *cut*, without helpers; for larger ones, which have too
many cuts, the second, a *flow* with one helper per arc.

A flow is not unique: `Demand.helpers` finds one for a given graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from ..arrays import BoolArray, IntArray
from .rows import Aux, Row, Shape, Terms, edge, total

MOST_NODES_FOR_CUTS = 8


@dataclass(frozen=True, kw_only=True)
class Demand:
    """k paths from ``source`` to ``sink`` that share no edge.

    ``apart``: they share no inner node either. ``without``: none of them passes this node.
    """

    name: str
    source: int
    sink: int
    k: int
    apart: bool = False
    without: int | None = None

    def flow_rows(self, shape: Shape) -> Iterator[Row]:
        """Rows of a flow of k units along edges: inflow equals outflow except at the two ends."""
        nodes = [v for v in range(shape.n_nodes) if v != self.without]
        arcs = {(u, v): self._arc(u, v) for u, v in permutations(nodes, 2)}
        if shape.directed:
            for (u, v), arc in arcs.items():
                yield Row(f"{arc.name} is an arc", ((arc, 1), (edge(u, v, True), -1)), high=0)
        else:
            for u, v in combinations(nodes, 2):
                one_way = total((arcs[u, v], arcs[v, u]))
                name = f"{arcs[u, v].name} is an edge, used one way"
                yield Row(name, (*one_way, (edge(u, v, False), -1)), high=0)
        for v in nodes:
            others = [u for u in nodes if u != v]
            leaving = total(arcs[v, u] for u in others)
            entering = total(arcs[u, v] for u in others)
            net: Terms = (*leaving, *((arc, -1) for arc, _ in entering))
            units = self.k * ((v == self.source) - (v == self.sink))
            yield Row(f"{self.name}: flow out of {v}", net, units, units)
            if self.apart and v not in (self.source, self.sink):
                yield Row(f"{self.name}: one path through {v}", entering, high=1)

    def helpers(self, adjacency: BoolArray) -> dict[Aux, bool]:
        """Values of the helpers that satisfy the rows for this graph, if it has the paths."""
        matrix = adjacency.astype(np.int64)
        if self.without is not None:
            matrix[self.without] = matrix[:, self.without] = 0
        flow = self._flow(matrix)
        nodes = [v for v in range(len(matrix)) if v != self.without]
        return {self._arc(u, v): bool(flow[u, v] > 0) for u, v in permutations(nodes, 2)}

    def _flow(self, matrix: IntArray) -> IntArray:
        if not self.apart:
            left, _ = residual(matrix[None], self.source, self.sink, self.k)
            return np.asarray(np.maximum(matrix - left[0], 0))
        # every node becomes an entrance and an exit, joined with the capacity of the node
        n = len(matrix)
        split = np.zeros((2 * n, 2 * n), dtype=np.int64)
        split[n:, :n] = matrix
        split[np.arange(n), n + np.arange(n)] = 1
        for end in (self.source, self.sink):
            split[end, n + end] = self.k
        left, _ = residual(split[None], n + self.source, self.sink, self.k)
        passed = np.maximum(split - left[0], 0)[n:, :n]
        return np.asarray(np.maximum(passed - passed.T, 0))

    def _arc(self, u: int, v: int) -> Aux:
        return Aux(f"{self.name}.flow[{u},{v}]")


def cut_rows(
    shape: Shape, k: int, source: int, sink: int | None = None, without: int | None = None
) -> Iterator[Row]:
    """At least k edges leave every set of nodes with ``source`` and, if given, without ``sink``.

    ``without``: in the graph without this node.
    """
    nodes = [v for v in range(shape.n_nodes) if v != without]
    free = [v for v in nodes if v not in (source, sink)]
    removed = "" if without is None else f" without node {without}"
    for size in range(len(free) + 1):
        for some in combinations(free, size):
            inside = sorted((source, *some))
            outside = [v for v in nodes if v not in inside]
            if outside:
                leaving = total(edge(u, v, shape.directed) for u in inside for v in outside)
                yield Row(f"edges leaving {inside}{removed}>={k}", leaving, low=k)


def residual(capacity: IntArray, source: int, sink: int, most: int) -> tuple[IntArray, IntArray]:
    """Ford–Fulkerson for a batch: residual capacities and the value of the flow.

    Args:
        capacity: ``(B, n, n)``.
        source, sink: the ends.
        most: value of the flow at which to stop.
    """
    left = capacity.copy()
    value = np.zeros(len(left), dtype=np.int64)
    for _ in range(most):
        before = _predecessors(left > 0, source)
        found = np.flatnonzero(before[:, sink] >= 0)
        if not found.size:
            break
        value[found] += 1
        spot = np.full(len(found), sink)
        active = found
        while active.size:
            previous = before[active, spot]
            left[active, previous, spot] -= 1
            left[active, spot, previous] += 1
            going = previous != source
            active, spot = active[going], previous[going]
    return left, value


def _predecessors(steps: BoolArray, source: int) -> IntArray:
    """For each node the one before it on a shortest path from the source, ``(B, n)``; -1: none."""
    n_graphs, n, _ = steps.shape
    before = np.full((n_graphs, n), -1, dtype=np.int64)
    reached: BoolArray = np.zeros((n_graphs, n), dtype=bool)
    reached[:, source] = True
    frontier: BoolArray = reached.copy()
    while frontier.any():
        ways = steps & frontier[:, :, None] & ~reached[:, None, :]
        fresh: BoolArray = np.asarray(ways.any(axis=1))
        before = np.where(fresh, ways.argmax(axis=1), before)
        reached |= fresh
        frontier = fresh
    return before
