"""Layers around node 0, and the bounds they put on distances between other nodes.

Given the numbers ``(l_1, .., l_e)`` of nodes at each distance from node 0, nodes are numbered so
that ``0, .., e`` is a shortest path and the others follow layer by layer. Then nodes of one *class*
cannot be told apart: every node of the path is a class of its own, the rest of a layer is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Layering:
    """Classes of nodes: their layers and sizes, and how near and how far two nodes can be."""

    layer: IntArray
    size: IntArray
    near: IntArray
    far: IntArray
    of_node: IntArray  # the class of every node


@lru_cache(maxsize=1024)
def layering(layers: tuple[int, ...]) -> Layering:
    """The classes for given layers.

    Nodes in layers i <= j are at least ``j - i`` and at most ``i + j`` apart. If a layer is a
    single node, every shortest path from node 0 to a later layer passes it, and it is on the path:
    so a node of the path in or before that layer is exactly ``j - i`` from all nodes in or beyond
    it. Walks over nodes of the path bound the other distances.
    """
    sizes = np.array([1, *layers])
    path = np.arange(len(sizes))
    rest = path[sizes > 1]
    layer = np.concatenate([path, rest])
    size = np.concatenate([np.ones_like(path), sizes[rest] - 1])
    apart = abs(layer[:, None] - layer)
    single = path[sizes == 1]
    next_single = np.append(single, len(sizes))[np.searchsorted(single, path)]
    on_path = np.arange(len(layer)) < len(path)
    exact = on_path[:, None] & on_path
    exact |= on_path[:, None] & (next_single[layer][:, None] <= layer)
    way = np.where(exact | exact.T, apart, layer[:, None] + layer)
    for p in path:
        way = np.minimum(way, way[:, [p]] + way[[p], :])
    near = np.maximum(1, apart)
    of_node = np.concatenate([path, np.repeat(np.arange(len(path), len(layer)), size[len(path) :])])
    return Layering(layer=layer, size=size, near=near, far=np.maximum(way, near), of_node=of_node)
