"""Values of many graphs in bounded memory, and by a deadline.

The labelled counts of one graph with 100 nodes and 20 labels fill 320 kilobytes, and a posterior
makes several arrays of that size: large batches are evaluated part by part.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from ..arrays import FloatArray, IntArray
from ..batch import Batch
from ..counts import Counts
from ..space import GraphSpace

_MOST_BYTES = 128 * 2**20  # of the counts of one part; a handful of such arrays exist at once


class Searchable(Protocol):
    """What can be searched: a function of graphs, over a space."""

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""

    def n_at_a_time(self, n: int) -> int:
        """How many graphs with n nodes to evaluate at a time."""

    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """Value of each graph (smaller is better), and its number of ordered pairs that a path
        joins.

        For graphs that there was no time for, values are infinite and no pairs are counted, not
        even those of a node and itself. The first few graphs are always evaluated.
        """


class CountObjective(ABC):
    """A function of the counts of a graph, over a space: `Searchable` once these are given."""

    space: GraphSpace

    @property
    @abstractmethod
    def labelled(self) -> bool:
        """Whether values depend on the labels at the ends of paths."""

    @property
    def edge_labelled(self) -> bool:
        """Whether values depend on the labels of edges."""
        return False

    @abstractmethod
    def width(self, n: int) -> int:
        """How many numbers the counts of a graph with n nodes become on the way to its value."""

    @abstractmethod
    def of_counts(self, counts: Counts) -> FloatArray:
        """Value of each row of counts; smaller is better."""

    def n_at_a_time(self, n: int) -> int:
        """How many graphs with n nodes fit in memory."""
        return n_at_a_time(n, self.width(n))

    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """Value of each graph, and its number of ordered pairs that a path joins."""
        return evaluate(self, batch, deadline)


def n_at_a_time(n: int, width: int) -> int:
    """How many graphs with n nodes, and this many numbers for each, fit in memory."""
    return max(1, _MOST_BYTES // max(n * n, 8 * width))


def evaluate(
    objective: CountObjective, batch: Batch, deadline: float = math.inf
) -> tuple[FloatArray, IntArray]:
    """`Searchable.evaluate` of a function of counts, part by part."""
    n_labels = objective.space.n_labels
    values = np.full(len(batch), np.inf)
    joined = np.zeros(len(batch), dtype=np.int64)
    step = objective.n_at_a_time(batch.n_nodes)
    for start in range(0, len(batch), step):
        if start and time.monotonic() >= deadline:
            break
        part = batch if len(batch) <= step else batch.select(slice(start, start + step))
        counts = part.counts(
            n_labels,
            pairs=objective.labelled,
            edges=objective.edge_labelled,
            deadline=deadline,
        )
        done = slice(start, start + len(counts))
        values[done] = objective.of_counts(counts)
        joined[done] = counts.lengths.sum(axis=1)
    return values, joined
