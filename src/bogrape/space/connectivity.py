"""Connectivity of a whole batch at once."""

from __future__ import annotations

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..batch import Batch


def unreached(batch: Batch, *, strong: bool) -> FloatArray:
    """How many nodes node 0 is not connected with, ``(B,)``; 0 exactly for connected graphs.

    Arcs count in both directions; with ``strong``, nodes not reached from node 0 and nodes that do
    not reach it are counted.
    """
    steps = batch.adjacency
    if not batch.directed:
        return _beyond(steps)
    if not strong:
        return _beyond(steps | steps.transpose(0, 2, 1))
    return _beyond(steps) + _beyond(steps.transpose(0, 2, 1))


def _beyond(steps: BoolArray) -> FloatArray:
    """Number of nodes that no path joins node 0 to."""
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
