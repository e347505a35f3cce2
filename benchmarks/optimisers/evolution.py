"""``wl-evol``: a Weisfeiler–Lehman surrogate with its acquisition searched by mutation.

After NAS-BOWL (Ru et al. 2021). A step fits the surrogate, then evolves: the first pool holds 50
random graphs and 50 mutants of the 10 best observed ones; in each of 8 generations 50 mutants of
the 10 pool members with the lowest confidence bound join, and the 100 best stay. That is at most
500 acquisition values per step, 25 times those of ``wl-rand``.

A mutation is NAS-BOWL's: each pair of nodes is flipped with probability 1/n and each node gets
another label with probability 1/n; mutants outside the space are drawn again. (Where edges have
labels, a new edge gets a random one; features that follow from the graph are set by its rules.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bogrape.acquisition import LCB
from bogrape.batch import Batch
from bogrape.graph import Graph
from bogrape.space import GraphSpace

from ..surrogates import Surrogate, get_surrogate
from . import Choice, Settings, register
from .sampling import fresh_graphs

_RANDOM = 50
_MUTANTS = 50
_PARENTS = 10
_POOL = 100
_GENERATIONS = 8
_ATTEMPTS = 20  # rounds of mutants drawn at most, to fill a generation


@dataclass(frozen=True)
class Evolution:
    """The graph with the best lower confidence bound that mutation and selection find."""

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
        """Fit, evolve, choose."""
        space = self.settings.space
        rng = np.random.default_rng(seed)
        fitted = get_surrogate(self.surrogate, space.n_labels).fit(graphs, values)
        acquisition = self.settings.acquisition(len(graphs))
        pool = _Pool(fitted, acquisition, min(values), graphs, space.identity)

        best_observed = [graphs[i] for i in np.argsort(values, kind="stable")[:_PARENTS]]
        pool.add(fresh_graphs(space, _RANDOM, int(rng.integers(2**31)), graphs))
        pool.add(mutants(space, best_observed, _MUTANTS, rng))
        for _ in range(_GENERATIONS):
            pool.add(mutants(space, pool.graphs[:_PARENTS], _MUTANTS, rng))
        return Choice(graph=pool.graphs[0], value=float(pool.scores[0]), status="heuristic")


class _Pool:
    """The best candidates so far, best first; no two are isomorphic, and none to a seen graph."""

    def __init__(
        self,
        surrogate: Surrogate,
        acquisition: LCB,
        best: float,
        seen: Sequence[Graph],
        identify: Callable[[Graph], str],
    ) -> None:
        self._surrogate, self._acquisition, self._best = surrogate, acquisition, best
        self._identify = identify
        self._known = set(map(identify, seen))
        self.graphs: list[Graph] = []
        self.scores = np.zeros(0)

    def add(self, graphs: Sequence[Graph]) -> None:
        """Score the new ones among these graphs and keep the best of all."""
        fresh = []
        for graph in graphs:
            if (key := self._identify(graph)) not in self._known:
                self._known.add(key)
                fresh.append(graph)
        if not fresh:
            return
        found = self._acquisition(*self._surrogate.latent(fresh), self._best)
        scores, everything = np.concatenate([self.scores, found]), [*self.graphs, *fresh]
        order = np.argsort(scores, kind="stable")[:_POOL]
        self.graphs, self.scores = [everything[int(i)] for i in order], scores[order]


def mutants(
    space: GraphSpace, parents: Sequence[Graph], k: int, rng: np.random.Generator
) -> list[Graph]:
    """Up to k mutants of random parents, all in the space; fewer if mutation rarely stays in it."""
    out: list[Graph] = []
    for _ in range(_ATTEMPTS):
        chosen = [parents[int(i)] for i in rng.integers(len(parents), size=k)]
        for n in sorted({graph.n_nodes for graph in chosen}):
            batch = _mutated(space, Batch.of([g for g in chosen if g.n_nodes == n]), rng)
            out += [batch.graph(int(i)) for i in np.flatnonzero(space.excess(batch) == 0)]
        if len(out) >= k:
            break
    return out[:k]


def _mutated(space: GraphSpace, batch: Batch, rng: np.random.Generator) -> Batch:
    n = batch.n_nodes
    flip = rng.random(batch.adjacency.shape) < 1.0 / n
    flip &= ~np.eye(n, dtype=bool)
    bonds = batch.edge_labels
    drawn = rng.integers(1, max(1, space.n_edge_labels) + 1, flip.shape)
    if not batch.directed:
        flip = np.triu(flip) | np.triu(flip).swapaxes(1, 2)
        drawn = np.triu(drawn) + np.triu(drawn, 1).swapaxes(1, 2)
    adjacency = batch.adjacency ^ flip
    if bonds is not None:
        bonds = np.where(adjacency, np.where(flip, drawn, bonds), 0)
    relabel = rng.random(batch.labels.shape) < 1.0 / n
    shift = rng.integers(1, max(2, space.n_labels), batch.labels.shape)
    labels = np.where(relabel, (batch.labels + shift) % space.n_labels, batch.labels)
    return space.derived(Batch(adjacency, labels, batch.features.copy(), bonds, batch.directed))


register("wl-evol")(partial(Evolution, "wl"))
register("wl-features-evol")(partial(Evolution, "wl*"))
