"""All connected graphs of a large diameter, each once, whatever the number of their edges.

With 10 nodes, 12 million graphs are connected, and three thousand of them have a diameter of six or
more. They are built from a path, one node at a time. Take a shortest path between two nodes at the
largest distance, and a spanning tree that contains it. If the tree has other nodes, one of them is
a leaf; without it the graph is connected, and no distance is smaller. If it has none, the graph is
a path, and without one of its ends a shorter path. So every graph but the shortest path extends a
graph with one node less whose diameter is large enough, too.
"""

from __future__ import annotations

import math
import time

import numpy as np

from ....arrays import BoolArray
from ....counts import distances_batch
from .canonical import NONE, Codes, Distances, adjacency_of, canonical_codes, distinct
from .store import Skeletons, counted

_CANDIDATES = 40_000  # graphs at a time
_SPARE = 4  # nodes minus the least diameter: with more there are too many graphs
# with fewer nodes most graphs have such a diameter, and with more it takes longer than a second
_SIZES = range(2 * _SPARE, 13)


def least_listed(n: int) -> int | None:
    """The least diameter of the listed graphs; ``None`` if none of this size are listed."""
    return n - _SPARE if n in _SIZES else None


def elongated(n: int, deadline: float = math.inf) -> Skeletons:
    """The graphs of this size with a diameter of at least `least_listed`.

    Raises `TimeoutError` if it is not finished by the deadline.
    """
    diameter = least_listed(n)
    if diameter is None:
        return counted(n, n - 1, NONE)
    if n not in _kept:
        _kept[n] = counted(n, n - 1, _codes(n, diameter, deadline))
    return _kept[n]


_kept: dict[int, Skeletons] = {}  # in the memory of this process


def _codes(n: int, diameter: int, deadline: float) -> Codes:
    path = np.eye(diameter + 1, k=1, dtype=bool)
    path |= path.T
    codes = canonical_codes(path[None], distances_batch(path[None]).astype(np.int8))
    for size in range(diameter + 2, n + 1):
        codes = _extended(codes, size, diameter, deadline)
    return codes


def _extended(parents: Codes, n: int, diameter: int, deadline: float) -> Codes:
    """All graphs that extend the parents by one node and have a large enough diameter."""
    chosen = (np.arange(1, 2 ** (n - 1))[:, None] >> np.arange(n - 1) & 1).astype(bool)
    each = max(1, _CANDIDATES // len(chosen))
    found = [NONE]
    for start in range(0, len(parents), each):
        if time.monotonic() > deadline:
            raise TimeoutError
        old = distances_batch(adjacency_of(parents[start : start + each], n - 1))
        distances = _joined(old.astype(np.int8), chosen)
        distances = distances[distances.max(axis=(1, 2)) >= diameter]
        found.append(distinct(canonical_codes(distances == 1, distances)))
    return distinct(np.concatenate(found))


def _joined(old: Distances, chosen: BoolArray) -> Distances:
    """Distances once a new node is joined to the chosen ones, for all graphs and all choices."""
    n = old.shape[1] + 1
    away = np.where(chosen[None, :, :, None], old[:, None], np.int8(n)).min(axis=2) + np.int8(1)
    out = np.zeros((*away.shape[:2], n, n), dtype=np.int8)
    through = away[:, :, :, None] + away[:, :, None, :]
    out[:, :, : n - 1, : n - 1] = np.minimum(old[:, None], through)
    out[:, :, n - 1, : n - 1] = out[:, :, : n - 1, n - 1] = away
    nodes = np.arange(n)
    out[:, :, nodes, nodes] = 0
    return out.reshape(-1, n, n)
