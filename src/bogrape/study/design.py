"""Graphs for the time before a Gaussian process can be fitted.

The initial design fills the space as the kernel sees it: out of a fixed random pool it takes the
graph whose counts are farthest from those of every graph the study has already. What comes next
depends on the seed and on the trials present only, so an interrupted design goes on unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ..counts import count
from ..errors import SamplingError, SearchSpaceExhausted
from ..graph import Graph
from ..kernels import get_kernel, node_features
from ..space import GraphSpace

_POOL = 20  # candidates for each initial graph
_POOL_RANGE = (100, 1000)


class Design:
    """A seeded pool of graphs and a rule for the next one."""

    def __init__(self, space: GraphSpace, kernel: str, n_initial: int, seed: int) -> None:
        size = int(np.clip(_POOL * n_initial, *_POOL_RANGE))
        pool = space.sample(size, seed=_seed(seed, 0))
        self._pool = list({graph.canonical_key(): graph for graph in pool}.values())
        self._space = space
        self._kernel = kernel

    def next(self, present: Sequence[Graph]) -> Graph | None:
        """The graph of the pool farthest from all present ones; ``None`` if all are present."""
        taken = {graph.canonical_key() for graph in present}
        left = [graph for graph in self._pool if graph.canonical_key() not in taken]
        if not left:
            return None
        if not present:
            return left[0]
        points = self._points([*present, *left])
        old, new = points[: len(present)], points[len(present) :]
        squares = (new**2).sum(1)[:, None] + (old**2).sum(1)[None, :] - 2.0 * new @ old.T
        nearest = squares.min(axis=1)
        # Distances tie often; a rounded comparison keeps the choice the same on every machine.
        return left[int(np.argmax(np.round(nearest, 12)))]

    def _points(self, graphs: Sequence[Graph]) -> NDArray[np.float64]:
        kernel = get_kernel(self._kernel)
        counts = count(graphs, self._space.n_labels, pairs=kernel.labelled)
        paths = kernel.features(counts).reshape(len(graphs), -1)
        return np.concatenate([paths, node_features(counts, counts.features.shape[1])], axis=1)


def random_graph(space: GraphSpace, seed: int, taken: Collection[str]) -> Graph:
    """A random graph of the space that is not isomorphic to a taken one."""
    try:
        return space.sample(1, seed=_seed(seed, 1), exclude=taken)[0]
    except SamplingError:
        raise SearchSpaceExhausted(
            f"no random graph of the space is new: {len(taken)} different ones were tried before, "
            "so the space is used up, or nearly; widen it"
        ) from None


def _seed(seed: int, stream: int) -> int:
    return int(np.random.default_rng([seed, stream]).integers(2**31))
