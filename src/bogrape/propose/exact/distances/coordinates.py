"""The integer counts that describe a graph of one size, and their order.

SSP and ESSP see how many pairs of nodes are at each distance, SP and ESP how many with each pair of
labels, and all of them how many nodes have each label and feature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NewType

import numpy as np
from numpy.typing import NDArray

from ....arrays import IntArray
from ....constraints import Shape
from ....graph import Graph

Distance = NewType("Distance", int)  # s, from 1 on: the pairs of nodes at distance s
Attribute = NewType("Attribute", int)  # m, from 0 on: the nodes with feature m, labels first
Position = NewType("Position", int)  # i, from 0 on: the i-th count of some `Coordinates`


class LabelledDistance(NamedTuple):
    """The pairs of nodes at distance s with labels a and b, ``a <= b`` unless directed."""

    s: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """The integer counts that decide the posterior, in a fixed order.

    ``paths`` holds ``(s,)`` or ``(s, a, b)``: pairs of nodes at distance s (with labels a and b).
    Pairs are unordered, with ``a <= b``, unless the graph is directed. ``nodes`` holds indices of
    node features (labels first). With a ``composition`` the number of nodes of each label is given,
    so ``nodes`` holds only the other features.
    """

    shape: Shape
    paths: tuple[tuple[int, ...], ...]
    nodes: tuple[int, ...]
    composition: tuple[int, ...] | None
    longest: int

    @classmethod
    def of(
        cls,
        shape: Shape,
        *,
        labelled: bool,
        longest: int,
        composition: tuple[int, ...] | None = None,
    ) -> Coordinates:
        """Coordinates for graphs of one shape whose longest shortest path has ``longest`` edges."""
        labels = [a for a in range(shape.n_labels) if composition is None or composition[a]]
        types = [(a, b) for a in labels for b in labels if shape.directed or a <= b]
        if composition is not None and not labelled:
            types = []
        lengths = range(1, longest + 1)
        paths: tuple[tuple[int, ...], ...] = tuple((s,) for s in lengths)
        if labelled:
            paths = tuple((s, a, b) for a, b in types for s in lengths)
        first = 0 if composition is None else shape.n_labels
        nodes = tuple(range(first, shape.n_labels + shape.n_features))
        return cls(shape=shape, paths=paths, nodes=nodes, composition=composition, longest=longest)

    def __len__(self) -> int:
        return len(self.paths) + len(self.nodes)

    @property
    def labelled(self) -> bool:
        """True if pairs are distinguished by the labels of their ends."""
        return bool(self.paths) and len(self.paths[0]) == 3

    @cached_property
    def at_distance(self) -> Mapping[Distance, list[Position]]:
        """Positions of the counts of pairs at each distance; other distances do not occur."""
        out: dict[Distance, list[Position]] = {}
        for i, path in enumerate(self.paths):
            out.setdefault(Distance(path[0]), []).append(Position(i))
        return out

    @cached_property
    def at_labelled_distance(self) -> Mapping[LabelledDistance, Position]:
        """Positions of the counts of pairs at each distance and with each pair of labels."""
        if not self.labelled:
            return {}
        return {LabelledDistance(*path): Position(i) for i, path in enumerate(self.paths)}

    @cached_property
    def at_attribute(self) -> Mapping[Attribute, Position]:
        """Positions of the counts of nodes with each label and feature."""
        return {Attribute(m): Position(len(self.paths) + j) for j, m in enumerate(self.nodes)}

    def upper(self) -> IntArray:
        """Upper bounds of the counts."""
        n = self.shape.n_nodes
        out = [self.n_pairs(*path[1:]) for path in self.paths]
        return np.array(out + [n] * len(self.nodes), dtype=np.int64)

    def largest(self, functions: NDArray[Any]) -> NDArray[Any]:
        """Upper bounds of ``|f (x, 1)|`` over all counts x, for each row f of an array.

        No count exceeds its own upper bound. Moreover, the counts of paths together are at most the
        number of pairs of nodes, and those of labels at most the number of nodes.
        """
        size, upper = np.abs(np.atleast_2d(functions)), self.upper()
        n_paths, n = len(self.paths), self.shape.n_nodes
        n_labels = sum(m < self.shape.n_labels for m in self.nodes)
        parts = (slice(n_paths), slice(n_paths, n_paths + n_labels))
        out = size[:, n_paths + n_labels : -1] @ upper[n_paths + n_labels :] + size[:, -1]
        for part, shared in zip(parts, (self.n_pairs(), n), strict=True):
            together = size[:, part].max(axis=1, initial=0) * shared
            out = out + np.minimum(size[:, part] @ upper[part], together)
        return np.asarray(out)

    def n_pairs(self, *types: int) -> int:
        """Number of pairs of nodes (with these labels, if there is a composition)."""
        n, directed = self.shape.n_nodes, self.shape.directed
        if self.composition is None or not types:
            return n * (n - 1) // (1 if directed else 2)
        a, b = types
        if a != b:
            return self.composition[a] * self.composition[b]
        return self.composition[a] * (self.composition[a] - 1) // (1 if directed else 2)

    def histogram(self, counts: Sequence[int]) -> IntArray:
        """The numbers of pairs at the distances ``1, .., longest``, whatever their labels."""
        out = np.zeros(self.longest, dtype=np.int64)
        for s, positions in self.at_distance.items():
            out[s - 1] = sum(counts[i] for i in positions)
        return out

    def values(self, graph: Graph) -> tuple[int, ...]:
        """The counts of a graph."""
        distance = graph.distances()
        u, v = np.nonzero(~np.eye(graph.n_nodes, dtype=bool))
        if not graph.directed:
            u, v = u[u < v], v[u < v]
        lengths, a, b = distance[u, v], graph.labels[u], graph.labels[v]
        if not graph.directed:
            a, b = np.minimum(a, b), np.maximum(a, b)
        of_pairs = (lengths, a, b) if self.labelled else (lengths,)
        found = Counter(zip(*(column.tolist() for column in of_pairs), strict=True))
        out = [found[path] for path in self.paths]
        sums = [int((graph.labels == k).sum()) for k in range(self.shape.n_labels)]
        sums += [int(total) for total in graph.features.sum(axis=0)]
        return (*out, *(sums[m] for m in self.nodes))
