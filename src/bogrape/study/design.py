"""Graphs to evaluate before a Gaussian process can be fitted.

The initial design fills the space as the kernel sees it: from a fixed random pool it takes the
graph whose counts are farthest from those of all graphs in the study. The next graph depends only
on the seed and the trials present, so an interrupted design continues unchanged.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..counts import count
from ..errors import SamplingError, SearchSpaceExhausted
from ..graph import Graph
from ..kernels import Kernel, get_kernel, node_features, path_features
from ..space import GraphSpace
from ..subset import squared_distances

_POOL = 20  # candidates for each initial graph
_POOL_RANGE = (100, 1000)
_PART_NUMBERS = 4_000_000  # coordinates processed at a time

logger = logging.getLogger(__name__)


@final
class Design:
    """A seeded pool of graphs and a rule for the next one."""

    def __init__(
        self,
        space: GraphSpace,
        kernel: str | Kernel,
        n_initial: int,
        seed: int,
        deadline: float = math.inf,
    ) -> None:
        self._space = space
        self._kernel = get_kernel(kernel)
        size = int(np.clip(_POOL * n_initial, *_POOL_RANGE))
        try:
            graphs = space.sample(size, seed=_seed(seed, 0), deadline=deadline)
        except SamplingError as error:
            if not error.graphs:
                raise
            graphs = list(error.graphs)
            logger.warning(
                "the initial design was chosen from %d graphs instead of %d, because sampling this "
                "space is slow; try a larger time_limit",
                len(graphs),
                size,
            )
        pool = {space.identity(graph): graph for graph in graphs}
        self._pool = list(pool.values())
        self._index = {key: i for i, key in enumerate(pool)}
        self._points = self._coordinates(self._pool)
        self._nearest = np.full(len(pool), np.inf)  # squared distance to the graphs seen so far
        self._n_met = 0

    def next(self, present: Sequence[Graph], rank: int = 0) -> Graph | None:
        """The graph of the pool farthest from all present ones; ``None`` if all are present.

        With ``rank`` > 0 the second, third, ... farthest instead. From call to call ``present`` may
        only grow at its end, as the trials of a study do.
        """
        self._meet(present[self._n_met :])
        left = np.flatnonzero(self._nearest >= 0)
        if not left.size:
            return None
        # Distances tie often; a rounded comparison keeps the choice the same on every machine.
        order = np.argsort(-np.round(self._nearest[left], 12), kind="stable")
        return self._pool[int(left[order[min(rank, left.size - 1)]])]

    def _meet(self, fresh: Sequence[Graph]) -> None:
        for part in self._parts(len(fresh)):
            points = self._coordinates(fresh[part])
            for mine in self._parts(len(self._points)):
                distances = squared_distances(self._points[mine], points).min(axis=1)
                self._nearest[mine] = np.minimum(self._nearest[mine], distances)
        met = [self._index[key] for g in fresh if (key := self._space.identity(g)) in self._index]
        self._nearest[met] = -1.0  # and stays negative: no distance is smaller
        self._n_met += len(fresh)

    def _coordinates(self, graphs: Sequence[Graph]) -> NDArray[np.float64]:
        """Kernel features of each graph, up to the longest possible path."""
        return np.concatenate(
            [self._coordinates_of(graphs[part]) for part in self._parts(len(graphs))]
        )

    def _parts(self, n_graphs: int) -> list[slice]:
        """Slices of some graphs whose coordinates, and copies of them, fit in memory."""
        n_coordinates = self._space.n_max * (
            self._space.n_labels**2 if self._kernel.labelled else 1
        )
        step = max(1, _PART_NUMBERS // n_coordinates)
        return [slice(start, start + step) for start in range(0, n_graphs, step)]

    def _coordinates_of(self, graphs: Sequence[Graph]) -> NDArray[np.float64]:
        space, labelled = self._space, self._kernel.labelled
        counts = count(graphs, space.n_labels, pairs=labelled)
        paths = path_features(counts, labelled=labelled)[:, : space.n_max]
        room = [(0, 0), (0, space.n_max - paths.shape[1]), *[(0, 0)] * (paths.ndim - 2)]
        paths = np.pad(paths, room).reshape(len(graphs), -1)
        return np.concatenate([paths, node_features(counts, counts.features.shape[1])], axis=1)


def random_graph(
    space: GraphSpace, seed: int, taken: Collection[str], deadline: float = math.inf
) -> Graph:
    """A random graph of the space whose identity is not taken."""
    try:
        return space.sample(1, seed=_seed(seed, 1), exclude=taken, deadline=deadline)[0]
    except SamplingError as error:
        if error.out_of_time:
            raise
        raise SearchSpaceExhausted(
            f"found no new random graph: {len(taken)} different ones were tried before, so the "
            "space is exhausted, or nearly so; widen it"
        ) from None


def _seed(seed: int, stream: int) -> int:
    return int(np.random.default_rng([seed, stream]).integers(2**31))
