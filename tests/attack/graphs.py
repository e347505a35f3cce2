"""All graphs of a size and their isomorphism classes: plain tuples, no numpy, no solver."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Kind:
    """Common properties of all graphs of a space, except their size."""

    directed: bool = False
    n_labels: int = 1
    n_features: int = 0
    n_edge_labels: int = 0

    def n_numbered(self, n: int) -> int:
        """Number of graphs on n numbered nodes."""
        pairs = n * (n - 1) // (1 if self.directed else 2)
        bonds = 1 + max(1, self.n_edge_labels)
        return bonds**pairs * (self.n_labels * 2**self.n_features) ** n


class Plain(NamedTuple):
    """A graph as a tuple; equal tuples are equal graphs, node by node."""

    bonds: Matrix  # 0 where there is no edge, else its label, or 1
    labels: tuple[int, ...]
    features: Matrix
    directed: bool

    @property
    def n(self) -> int:
        return len(self.labels)

    def edges(self) -> list[tuple[int, int]]:
        """All edges, each once; all arcs if directed."""
        nodes = range(self.n)
        pairs = itertools.permutations(nodes, 2) if self.directed else _pairs(self.n)
        return [(u, v) for u, v in pairs if self.bonds[u][v]]

    def renamed(self, order: tuple[int, ...]) -> Plain:
        """The graph whose node v is node ``order[v]`` of this one."""
        bonds, labels, features, directed = self
        return Plain(
            tuple(tuple([bonds[u][v] for v in order]) for u in order),
            tuple([labels[v] for v in order]),
            tuple([features[v] for v in order]),
            directed,
        )


@cache
def _pairs(n: int) -> tuple[tuple[int, int], ...]:
    return tuple(itertools.combinations(range(n), 2))


def of_bogrape(graph: Any) -> Plain:
    """Convert a graph of the package, entry by entry."""
    there = graph.adjacency if graph.edge_labels is None else graph.edge_labels
    return Plain(
        tuple(tuple(int(x) for x in row) for row in there),
        tuple(int(x) for x in graph.labels),
        tuple(tuple(int(x) for x in row) for row in graph.features),
        bool(graph.directed),
    )


def numbered(kind: Kind, n: int) -> Iterator[Plain]:
    """Every graph on n numbered nodes."""
    nodes = range(n)
    cells = list(itertools.permutations(nodes, 2) if kind.directed else _pairs(n))
    dresses = list(
        itertools.product(
            itertools.product(range(kind.n_labels), repeat=n),
            itertools.product(itertools.product((0, 1), repeat=kind.n_features), repeat=n),
        )
    )
    for choice in itertools.product(range(1 + max(1, kind.n_edge_labels)), repeat=len(cells)):
        rows = [[0] * n for _ in nodes]
        for (u, v), bond in zip(cells, choice, strict=True):
            rows[u][v] = bond
            if not kind.directed:
                rows[v][u] = bond
        bonds = tuple(tuple(row) for row in rows)
        for labels, features in dresses:
            yield Plain(bonds, labels, features, kind.directed)


class Classes(NamedTuple):
    """The graphs of one size, in classes of graphs that differ only in their numbering."""

    members: tuple[tuple[Plain, ...], ...]
    of: dict[Plain, int]  # the class of every numbered graph


@lru_cache(maxsize=24)
def classes(kind: Kind, n: int) -> Classes:
    """Classes of all graphs of one size, as orbits under all renumberings."""
    of: dict[Plain, int] = {}
    members: list[tuple[Plain, ...]] = []
    orders = list(itertools.permutations(range(n)))
    for graph in numbered(kind, n):
        if graph not in of:
            orbit = tuple(dict.fromkeys(graph.renamed(order) for order in orders))
            of.update(dict.fromkeys(orbit, len(members)))
            members.append(orbit)
    return Classes(tuple(members), of)


@lru_cache(maxsize=100_000)
def distances(bonds: Matrix) -> tuple[tuple[float, ...], ...]:
    """Lengths of shortest paths between ordered pairs; infinite without a path."""
    n = len(bonds)
    out = []
    for start in range(n):
        found: dict[int, float] = {start: 0}
        edge = [start]
        while edge:
            edge = [v for u in edge for v in range(n) if bonds[u][v] and v not in found]
            length = max(found.values()) + 1
            found.update(dict.fromkeys(edge, length))
            edge = list(dict.fromkeys(edge))
        out.append(tuple(found.get(v, math.inf) for v in range(n)))
    return tuple(out)
