"""`Batch`: many graphs of one size as stacked arrays, for fast code.

A `Graph` is checked, frozen and convenient; a `Batch` is a few numpy arrays with a leading axis
over graphs. Counts, rules and the searches work on batches, so that no code loops over graphs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .counts import Counts, count_batch, distances_batch
from .errors import InvalidInputError
from .graph import Graph


@dataclass(frozen=True, eq=False)
class Batch:
    """B graphs with n nodes each; callers guarantee the invariants that `Graph` checks."""

    adjacency: BoolArray  # (B, n, n)
    labels: IntArray  # (B, n)
    features: BoolArray  # (B, n, F)
    edge_labels: IntArray | None  # (B, n, n), 0 where there is no edge
    directed: bool

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Batch:
        """Stack graphs of one size and kind."""
        first = graphs[0]
        kinds = {(g.n_nodes, g.n_features, g.directed, g.edge_labels is None) for g in graphs}
        if len(kinds) > 1:
            raise InvalidInputError(
                "a batch needs graphs of one size and kind; got (n_nodes, n_features, directed, "
                f"without edge labels) = {sorted(kinds)}"
            )
        return cls(
            np.stack([g.adjacency for g in graphs]),
            np.stack([g.labels for g in graphs]),
            np.stack([g.features for g in graphs]),
            None if first.edge_labels is None else np.stack([g.edge_labels for g in graphs]),  # type: ignore[misc]
            first.directed,
        )

    def __len__(self) -> int:
        return len(self.adjacency)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of every graph."""
        return int(self.adjacency.shape[1])

    @cached_property
    def distances(self) -> IntArray:
        """Distances ``(B, n, n)``; ``n_nodes`` stands for "no path"."""
        return distances_batch(self.adjacency)

    def unreached(self, *, strong: bool) -> FloatArray:
        """Number of nodes not connected to node 0, ``(B,)``; 0 exactly for connected graphs.

        Arcs count in both directions; with ``strong``, nodes not reached from node 0 and nodes that
        do not reach it are counted.
        """
        steps = self.adjacency
        if not self.directed:
            return _beyond(steps)
        if not strong:
            return _beyond(steps | steps.transpose(0, 2, 1))
        return _beyond(steps) + _beyond(steps.transpose(0, 2, 1))

    def counts(
        self, n_labels: int, *, pairs: bool, edges: bool = False, deadline: float = math.inf
    ) -> Counts:
        """The counts that kernels use, for all graphs or for as many as the deadline allows."""
        edge_labels = None
        if edges:  # edges without labels have label 0
            edge_labels = (
                np.zeros(self.adjacency.shape, dtype=np.int64)
                if self.edge_labels is None
                else self.edge_labels
            )
        return count_batch(
            self.adjacency,
            self.labels,
            self.features,
            n_labels,
            pairs=pairs,
            edge_labels=edge_labels,
            deadline=deadline,
        )

    def select(self, index: IntArray | BoolArray | slice) -> Batch:
        """The graphs at ``index``, in that order."""
        return Batch(
            self.adjacency[index],
            self.labels[index],
            self.features[index],
            None if self.edge_labels is None else self.edge_labels[index],
            self.directed,
        )

    def joined(self, *others: Batch) -> Batch:
        """The graphs of this and other batches, which must all be of one size and kind."""
        parts = (self, *others)
        edge_labels = [part.edge_labels for part in parts if part.edge_labels is not None]
        return Batch(
            np.concatenate([part.adjacency for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.features for part in parts]),
            np.concatenate(edge_labels) if len(edge_labels) == len(parts) else None,
            self.directed,
        )

    def raw(self, i: int) -> bytes:
        """The bytes of the i-th graph with its numbering of nodes; far cheaper than the graph."""
        parts = [self.adjacency[i], self.labels[i], self.features[i]]
        if self.edge_labels is not None:
            parts.append(self.edge_labels[i])
        return b"".join(part.tobytes() for part in parts)

    def graph(self, i: int) -> Graph:
        """The i-th graph, checked and frozen."""
        return Graph(
            self.adjacency[i],
            self.labels[i],
            self.features[i],
            self.directed,
            edge_labels=None if self.edge_labels is None else self.edge_labels[i],
        )


def _beyond(steps: BoolArray) -> FloatArray:
    """Number of nodes that cannot be reached from node 0."""
    n_graphs, n, _ = steps.shape
    weights = steps.astype(np.float32)  # float32 products run through BLAS, and are exact here
    reached = np.zeros((n_graphs, 1, n), dtype=bool)
    reached[:, 0, 0] = True
    for _ in range(n - 1):
        grown = reached | (np.matmul(reached.astype(np.float32), weights) > 0)
        if (grown == reached).all():
            break
        reached = grown
    return np.asarray(n - reached.sum(axis=(1, 2)), dtype=float)
