"""Shapes that extreme acquisition values favour, as starting points of a search.

The variance of the linear kernels is largest where one path length dominates, and their mean is
smallest where many pairs are at a length of small weight: stars, paths, cycles, complete graphs,
and paths with the other nodes gathered at two places. They need not satisfy any rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, IntArray
from ...batch import Batch
from ...space import GraphSpace


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks with n nodes, numbered; stored once, however many labels there are.

    There is one for each shape and label, and for each shape only where the space fixes the labels
    of its nodes.
    """

    space: GraphSpace
    shapes: BoolArray  # (K, n, n)

    def __len__(self) -> int:
        return len(self.shapes) * (1 if self.space.fixed_labels else self.space.n_labels)

    def batch(self, index: IntArray) -> Batch:
        """The landmarks of these numbers."""
        label, shape = np.divmod(index, max(1, len(self.shapes)))
        n = self.shapes.shape[1]
        batch = Batch(
            self.shapes[shape],
            np.repeat(label[:, None], n, axis=1),
            np.zeros((len(index), n, self.space.n_features), dtype=bool),
            None,
            False,
        )
        return self.space.derived(batch) if self.space.fixed_labels else batch


def landmarks(space: GraphSpace, n: int) -> Landmarks:
    """Landmarks with n nodes; none where edges have directions or labels."""
    if n < 3 or space.directed or space.n_edge_labels:
        return Landmarks(space, np.zeros((0, n, n), dtype=bool))
    shapes = [*_classics(n), *(m for d in range(2, n - 1) for m in brooms(n, d))]
    return Landmarks(space, np.stack(shapes))


def _classics(n: int) -> list[BoolArray]:
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


def brooms(n: int, diameter: int) -> list[BoolArray]:
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
