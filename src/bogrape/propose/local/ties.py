"""Which of several equally good graphs to propose.

The kernels see counts, and many graphs have equal counts, so exact ties are common. Of the graphs
tied for the best value take the one least like those already seen: the largest distance, in
labelled path counts and degrees, to the nearest of them. What is still tied is decided by the seed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import numpy as np

from ...arrays import FloatArray
from ...counts import count
from ...graph import Graph
from ..values import n_at_a_time

_AT_ONCE = 1000  # graphs seen that are compared with at a time


def break_tie(
    ties: Mapping[str, Graph], seen: Sequence[Graph], seed: int, deadline: float = math.inf
) -> Graph:
    """The tied graph least like the graphs already seen (keys are identities).

    Past the deadline (a `time.monotonic` value) only the first of those count.
    """
    keys = sorted(ties)
    order = np.random.default_rng(seed).permutation(len(keys))
    graphs = [ties[keys[i]] for i in order]
    if len(graphs) == 1 or not seen:
        return graphs[0]
    n = max(graph.n_nodes for graph in (*graphs, *seen))
    n_labels = 1 + max(int(graph.labels.max()) for graph in (*graphs, *seen))
    step = min(_AT_ONCE, n_at_a_time(n, n * n_labels**2))
    nearest = np.full(len(graphs), np.inf)
    for start in range(0, len(seen), step):
        if start and time.monotonic() >= deadline:
            break
        nearest = np.minimum(nearest, _distances(graphs, seen[start : start + step]))
    return graphs[int(np.argmax(np.round(nearest, 12)))]


def _distances(graphs: Sequence[Graph], seen: Sequence[Graph]) -> FloatArray:
    """How far each graph is from the nearest one seen."""
    described = _describe([*graphs, *seen])
    described = described[:, described.any(axis=0)]
    mine, theirs = described[: len(graphs)], described[len(graphs) :]
    return np.array([np.abs(theirs - row).sum(axis=1).min() for row in mine])


def _describe(graphs: Sequence[Graph]) -> FloatArray:
    """Shares of ordered pairs by distance and labels, and of nodes by degree."""
    counts = count(graphs, pairs=True)
    assert counts.pairs is not None
    paths = counts.pairs.reshape(len(graphs), -1) / counts.sizes[:, None] ** 2
    n = int(counts.sizes.max())
    degrees = np.zeros((len(graphs), 2 * n))
    for i, graph in enumerate(graphs):
        ends = graph.adjacency.sum(axis=0) + graph.adjacency.sum(axis=1)
        degrees[i] = np.bincount(ends, minlength=2 * n)[: 2 * n] / graph.n_nodes
    return np.hstack([paths, degrees])
