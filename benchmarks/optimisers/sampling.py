"""Baselines that draw random graphs: ``random``, ``rw-rand``, ``wl-rand`` and the like.

On molecules the space draws feasible ones only, which is what the paper uses Limeade for.
``rw-rand`` and ``wl-rand`` are the paper's, without the feature term. ``rw-features-rand`` and
``wl-features-rand`` have it, and are stronger where labels matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bogrape.errors import SamplingError, SearchSpaceExhausted
from bogrape.graph import Graph
from bogrape.space import GraphSpace

from ..surrogates import get_surrogate
from . import Choice, Settings, register


def fresh_graphs(space: GraphSpace, k: int, seed: int, seen: Sequence[Graph]) -> list[Graph]:
    """k random graphs, or all that are left; no two isomorphic, none isomorphic to a seen one.

    Raises:
        SearchSpaceExhausted: if there are none.
    """
    excluded = frozenset(map(space.identity, seen))
    try:
        return space.sample(k, seed=seed, distinct=True, exclude=excluded)
    except SamplingError:
        # either few graphs are left, or the sampler rarely finds new ones: list them all
        every = space.enumerate(limit=len(excluded) + 50 * k)
    left = [graph for graph in every if space.identity(graph) not in excluded]
    if not left:
        raise SearchSpaceExhausted(
            f"all {len(every)} graphs of the space have been observed; widen the space, or stop"
        )
    order = np.random.default_rng(seed).permutation(len(left))[:k]
    return [left[int(i)] for i in order]


@dataclass(frozen=True)
class RandomOptimiser:
    """A random graph that has not been observed."""

    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],  # noqa: ARG002
        *,
        seed: int,
        time_limit: float,  # noqa: ARG002
    ) -> Choice:
        """One new graph of the space."""
        return Choice(graph=fresh_graphs(self.settings.space, 1, seed, graphs)[0])


@dataclass(frozen=True)
class BestOfRandom:
    """The graph with the best lower confidence bound among a few random ones."""

    surrogate: str
    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,  # noqa: ARG002
    ) -> Choice:
        """Fit, draw ``n_candidates`` new graphs, choose."""
        space = self.settings.space
        fitted = get_surrogate(self.surrogate, space.n_labels).fit(graphs, values)
        candidates = fresh_graphs(space, self.settings.n_candidates, seed, graphs)
        acquisition = self.settings.acquisition(len(graphs))
        scores = acquisition(*fitted.latent(candidates), min(values))
        best = int(np.argmin(scores))
        return Choice(graph=candidates[best], value=float(scores[best]), status="heuristic")


register("random")(RandomOptimiser)
for _kernel in ("rw", "wl"):
    register(f"{_kernel}-rand")(partial(BestOfRandom, _kernel))
    register(f"{_kernel}-features-rand")(partial(BestOfRandom, f"{_kernel}*"))
