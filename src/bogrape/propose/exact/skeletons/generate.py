"""All connected graphs of limited degree and with few cycles, each once, size by size.

Every connected graph has a node without which it stays connected, so all graphs of one size can be
built from those with one node less. To build most of them only once, a graph is kept only if the
node that was added is the one that *would be removed*:

* a node of degree 1, if there is one, or else any node;
* of these, one with the largest distance to any other node (the graph stays connected without it:
  shortest paths end at a node of degree 1, or at one farthest from another, and do not go through);
* of these, one of the smallest colour (`canonical`), which does not depend on the numbering.

If nodes tie in all of this, a graph can still be built several times, so canonical codes are
compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from ....arrays import BoolArray, IntArray
from ....counts import distances_batch
from .canonical import (
    NONE,
    Codes,
    Distances,
    adjacency_of,
    canonical_codes,
    distinct,
    profiles,
    refined,
)

_CANDIDATES = 40_000  # graphs at a time


def skeletons(
    n: int,
    most_degree: int,
    n_cycles: int,
    parents: Mapping[int, Codes],
    deadline: float = math.inf,
) -> Codes:
    """The connected graphs with n nodes, bounded degrees and a given number of independent cycles.

    Args:
        n: number of nodes, 2 to `canonical.MOST_NODES`.
        most_degree: the largest degree a node may have.
        n_cycles: number of edges minus number of nodes plus one.
        parents: the graphs with one node less, by number of cycles; a missing number means none.
        deadline: a `time.monotonic` value; past it `TimeoutError` is raised.

    Returns:
        Canonical codes, each once.
    """
    found = [NONE]
    for degree in range(1, min(most_degree, n - 1) + 1):
        # colours distinguish degrees, so no graph is built with new nodes of two degrees
        of_parents = parents.get(n_cycles - degree + 1, NONE)
        children = [NONE]
        for part in _parts(len(of_parents), n, degree):
            if time.monotonic() > deadline:
                raise TimeoutError
            children.append(distinct(_children(of_parents[part], n, degree, most_degree)))
        found.append(distinct(np.concatenate(children)))
    return np.concatenate(found)


def _parts(n_parents: int, n: int, degree: int) -> Iterator[slice]:
    each = max(1, _CANDIDATES // math.comb(n - 1, degree))
    for start in range(0, n_parents, each):
        yield slice(start, start + each)


def _children(parents: Codes, n: int, degree: int, most_degree: int) -> Codes:
    """Codes of the graphs built from some parents by adding a last node of this degree."""
    adjacency = adjacency_of(parents, n - 1)
    ends = np.array(list(combinations(range(n - 1), degree)))
    chosen = np.zeros((len(ends), n - 1), dtype=bool)
    np.put_along_axis(chosen, ends, True, axis=1)
    degrees = adjacency.sum(axis=2)
    full = degrees >= most_degree
    possible = ~(full.astype(np.uint8) @ chosen.T.astype(np.uint8)).astype(bool)
    if degree > 1:  # the new node is kept only if it leaves no node of degree 1
        leaves = (degrees == 1).astype(np.uint8)
        possible &= leaves @ chosen.T.astype(np.uint8) == leaves.sum(axis=1)[:, None]
    rows, columns = np.nonzero(possible)
    old = distances_batch(adjacency).astype(np.int8)
    distances = _extended(old[rows], ends[columns])
    keep = _would_be_removed(distances, leaf=degree == 1)
    rows, columns, distances = rows[keep], columns[keep], distances[keep]
    return canonical_codes(distances == 1, distances)


def _extended(old: Distances, ends: IntArray) -> Distances:
    """Distances after a new last node is joined to these nodes."""
    n_graphs, n, _ = old.shape
    out = np.zeros((n_graphs, n + 1, n + 1), dtype=np.int8)
    new = old[np.arange(n_graphs), ends[:, 0]]
    for k in range(1, ends.shape[1]):
        new = np.minimum(new, old[np.arange(n_graphs), ends[:, k]])
    new = new + np.int8(1)
    out[:, :n, :n] = old
    if ends.shape[1] > 1:
        np.minimum(old, new[:, :, None] + new[:, None, :], out=out[:, :n, :n])
    out[:, n, :n] = out[:, :n, n] = new
    return out


def _would_be_removed(distances: Distances, *, leaf: bool) -> BoolArray:
    """True for graphs whose last node is one of those that would be removed first."""
    keep = np.arange(len(distances))
    farthest = distances.max(axis=2)
    rivals = np.ones(farthest.shape, dtype=bool)
    if leaf:
        rivals = (distances == 1).sum(axis=2) == 1
    at_most = np.where(rivals, farthest, 0)
    best = at_most[:, -1] == at_most.max(axis=1)
    keep, rivals, farthest = keep[best], rivals[best], farthest[best]
    rivals &= farthest == farthest[:, -1:]
    colours = profiles(distances[keep])
    for rounds in (0, 1, 1):
        colours = refined(colours, distances[keep], rounds)
        best = (~rivals | (colours >= colours[:, -1:])).all(axis=1)
        keep, rivals, colours = keep[best], rivals[best], colours[best]
        rivals &= colours == colours[:, -1:]
    out = np.zeros(len(distances), dtype=bool)
    out[keep] = True
    return out
