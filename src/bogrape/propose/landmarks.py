"""Shapes that extreme acquisition values favour, as starting points of a search.

The variance of the linear kernels is largest where one path length dominates, and their mean is
smallest where many pairs are at a length of small weight: stars, paths, cycles, complete graphs,
and paths with the other nodes gathered at two places. They need not satisfy any rules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..space import GraphSpace

Matrix = NDArray[np.bool_]


def landmarks(space: GraphSpace, n: int) -> Batch | None:
    """Landmarks with n nodes, once per label; none where edges have directions or labels.

    Where the space fixes the labels of its nodes, once with those.
    """
    if n < 3 or space.directed or space.n_edge_labels:
        return None
    matrices = np.stack([*_classics(n), *(m for d in range(2, n - 1) for m in brooms(n, d))])
    n_copies = 1 if space.fixed_labels else space.n_labels
    labels = np.repeat(np.arange(n_copies), len(matrices))
    batch = Batch(
        np.tile(matrices, (n_copies, 1, 1)),
        np.repeat(labels[:, None], n, axis=1),
        np.zeros((len(labels), n, space.n_features), dtype=bool),
        None,
        False,
    )
    return space.derived(batch) if space.fixed_labels else batch


def _classics(n: int) -> list[Matrix]:
    nodes = np.arange(n)
    u, v = np.meshgrid(nodes, nodes, indexing="ij")
    half = n // 2
    shapes = [
        abs(u - v) == 1,
        (abs(u - v) == 1) | (abs(u - v) == n - 1),
        (u == 0) ^ (v == 0),
        u != v,
        ((u == 0) & (v < half)) | ((u == n - 1) & (v >= half)) | ((u == 0) & (v == n - 1)),
        (u < half) ^ (v < half),
    ]
    return [(shape | shape.T) & (u != v) for shape in shapes]


def brooms(n: int, diameter: int) -> list[Matrix]:
    """Paths with the other nodes gathered at two places: graphs with many pairs far apart.

    The other nodes are copies of a node of the path: joined to its neighbours, and perhaps to it
    and to each other.
    """
    spare = n - diameter - 1
    if spare < 0:
        return []
    places = {(0, diameter), (0, diameter // 2), (0, min(1, diameter)), (0, max(0, diameter - 1))}
    out = []
    for first, second in sorted(places):
        for k in sorted({spare, spare - spare // 3, spare - spare // 2}):
            for clique in (False, True):
                origin = np.r_[0 : diameter + 1, np.full(k, first), np.full(spare - k, second)]
                gap = abs(origin[:, None] - origin[None, :])
                matrix = (gap == 1) | ((gap == 0) & clique)
                np.fill_diagonal(matrix, False)
                out.append(matrix)
    return out
