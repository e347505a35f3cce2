"""``reg-evol``: regularised evolution (Real et al. 2019), common in architecture search.

The population is the last 20 graphs that were evaluated, so that the old ones die; the best of 5
random members has a child, one move away from it (`benchmarks.neighbours`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bogrape.graph import Graph

from ..neighbours import neighbours
from . import Choice, Settings, register
from .sampling import fresh_graphs

_POPULATION = 20
_TOURNAMENT = 5
_CHILDREN = 20  # of which the first new one is taken
_PARENTS = 5  # that are tried, if all children of one are known


@dataclass(frozen=True)
class RegularisedEvolution:
    """A child of a good graph that is not too old."""

    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,  # noqa: ARG002
    ) -> Choice:
        """Tournament, mutation."""
        space, rng = self.settings.space, np.random.default_rng(seed)
        known = set(map(space.identity, graphs))
        alive = np.arange(len(graphs))[-_POPULATION:]
        for _ in range(_PARENTS):
            if not len(alive):
                break
            rivals = rng.choice(alive, min(_TOURNAMENT, len(alive)), replace=False)
            parent = graphs[int(min(rivals, key=lambda i: values[i]))]
            for child in neighbours(space, [parent], _CHILDREN, rng):
                if space.identity(child) not in known:
                    return Choice(graph=child)
        return Choice(graph=fresh_graphs(space, 1, seed, graphs)[0])


register("reg-evol")(RegularisedEvolution)
