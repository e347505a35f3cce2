"""Layout of many graphs at once, for small pictures.

`layout.positions` is slow, and a report has thousands of graphs. Here graphs of one
size are placed together by *stress majorisation*: starting from classical scaling, each step solves

    minimise  sum_{u<v} d_uv^-2 (|x_u - x_v| - d_uv)^2

for the majorising quadratic: one matrix product per graph, because the weights stay the same.
Acyclic directed graphs are drawn in layers, nearly complete ones on a circle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..counts import distances_batch
from ..graph import Graph
from .draw import MOST_DRAWN
from .layout import is_layered, positions

_STEPS = 60
_DENSE = 0.75  # share of the possible edges beyond which a circle is the clearest picture
_CHUNK = 256


def place(graph: Graph) -> FloatArray:
    """Coordinates (n, 2) of one graph; neighbours are about one unit apart, y points up."""
    return place_all([graph])[0]


def place_all(graphs: Sequence[Graph]) -> list[FloatArray]:
    """Coordinates of each graph; zeros for graphs that are too large to draw."""
    out: list[FloatArray] = [np.zeros((graph.n_nodes, 2)) for graph in graphs]
    by_size: dict[int, list[int]] = defaultdict(list)
    for i, graph in enumerate(graphs):
        n = graph.n_nodes
        if n > MOST_DRAWN:
            continue
        near = graph.adjacency | graph.adjacency.T
        if graph.directed and is_layered(graph):
            out[i] = positions(graph)
        elif n > 3 and near.sum() >= _DENSE * n * (n - 1):
            angle = 2 * np.pi * np.arange(n) / n + np.pi / 2
            out[i] = np.stack([np.cos(angle), np.sin(angle)], axis=1) * n / 6.0
        elif n > 1:
            by_size[n].append(i)
    for members in by_size.values():
        for start in range(0, len(members), _CHUNK):
            chunk = members[start : start + _CHUNK]
            adjacency = np.stack([graphs[i].adjacency for i in chunk])
            for i, xy in zip(chunk, _stress(adjacency), strict=True):
                out[i] = xy
    return out


def _stress(adjacency: BoolArray) -> FloatArray:
    """Positions (B, n, 2) of graphs of one size."""
    near = adjacency | adjacency.transpose(0, 2, 1)
    n = near.shape[1]
    wanted = distances_batch(near).astype(float)
    wanted[wanted >= n] = 1.0 + np.sqrt(n)  # disconnected parts are placed a little apart
    eye = np.eye(n, dtype=bool)
    wanted[:, eye] = 1.0
    weight = wanted**-2.0
    weight[:, eye] = 0.0
    laplacian = -weight
    laplacian[:, eye] = weight.sum(axis=2)
    inverse = np.linalg.inv(laplacian + 1.0 / n) - 1.0 / n
    xy = _classical(np.where(eye, 0.0, wanted))
    for _ in range(_STEPS):
        there = np.linalg.norm(xy[:, :, None] - xy[:, None], axis=3)
        pull = -weight * wanted / np.maximum(there, 1e-9)
        pull[:, eye] = 0.0
        pull[:, eye] = -pull.sum(axis=2)
        xy = inverse @ (pull @ xy)
    xy = xy - xy.mean(axis=1, keepdims=True)
    # Rotated so that the longest extent is horizontal, as pages are wider than high.
    turn = np.linalg.svd(xy, full_matrices=False)[2]
    return np.asarray(xy @ turn.transpose(0, 2, 1))


def _classical(distance: FloatArray) -> FloatArray:
    """Classical scaling, with a fixed perturbation so that equivalent nodes do not coincide."""
    n = distance.shape[1]
    centre = np.eye(n) - 1.0 / n
    gram = -0.5 * centre @ distance**2 @ centre
    values, vectors = np.linalg.eigh(gram)
    xy = vectors[:, :, -2:] * np.sqrt(np.maximum(values[:, None, -2:], 1e-3))
    if xy.shape[2] < 2:
        xy = np.concatenate([xy, np.zeros_like(xy)], axis=2)
    nudge = np.random.default_rng(0).normal(scale=0.05, size=(n, 2))
    return np.asarray(xy + nudge)
