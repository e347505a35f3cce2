"""Restarted local search: the incumbent that the proof starts from.

Many chains descend at once. In every round each chain tries a set of elementary moves (all of them
when there are few), all candidates of all chains are evaluated as one batch with the exact
acquisition, and each chain takes its best candidate if that is an improvement. A chain that is
stuck restarts from a perturbed elite graph or from a fresh sample. Candidates are compared first by
how far they are from the space (`GraphSpace.excess`), then by value, so that a chain may start
outside.

The budget is a number of evaluations, so the answer depends on the seed and not on the machine; the
deadline only cuts off. Graphs that are the same as an excluded one are passed through but never
returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..counts import Counts
from ..errors import SamplingError
from ..graph import Graph
from ..space import GraphSpace
from .landmarks import landmarks
from .moves import MoveTable
from .units import STEP, TIE, room

_CHAINS = 24
_CANDIDATES = 4000  # a round's batch: large enough for numpy, small enough for the cache
_LEAST_ROUND = 1500  # what a round costs of the budget at least: small ones are all overhead
_STUCK_AFTER = 2  # rounds without improvement before a chain restarts
_PENALTY = 1e300  # a unit of excess outweighs every acquisition value
_TIES_KEPT = 32
_PASSED_KEPT = 50_000


class CountObjective(Protocol):
    """What can be searched: a function of the counts of a graph, over a space."""

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""

    @property
    def labelled(self) -> bool:
        """Whether values depend on the labels at the ends of paths."""

    def of_counts(self, counts: Counts) -> NDArray[np.float64]:
        """Value of each row of counts; smaller is better."""

    def of_batch(self, batch: Batch) -> NDArray[np.float64]:
        """Value of each graph of a batch."""


@dataclass
class Elite:
    """The best graphs seen so far that are not excluded, and their ties, by identity."""

    excluded: Collection[str]
    value: float = np.inf
    ties: dict[str, Graph] = field(default_factory=dict)
    n_evaluations: int = 0
    identify: Callable[[Graph], str] = Graph.canonical_key
    # excluded or known graphs as they were numbered: chains meet them again and again
    _passed: set[bytes] = field(default_factory=set, repr=False)

    @property
    def tolerance(self) -> float:
        """Values closer than this are one value."""
        return room(TIE, self.value) if np.isfinite(self.value) else 0.0

    def offer(self, batch: Batch, values: NDArray[np.float64]) -> None:
        """Take in the graphs of a batch; infinite values mark those outside the space."""
        room = 4 if len(self.ties) < _TIES_KEPT else 0  # ties are massive: a few a round suffice
        for i in np.argsort(values, kind="stable"):
            better = values[i] < self.value - self.tolerance
            if not np.isfinite(values[i]):
                return
            if not better and (not room or values[i] > self.value + self.tolerance):
                return
            room -= not better  # known and excluded ties count too: keys are slow
            if (raw := _raw(batch, int(i))) in self._passed:
                continue
            graph = batch.graph(int(i))
            key = self.identify(graph)
            if key in self.excluded or key in self.ties:
                if len(self._passed) < _PASSED_KEPT:
                    self._passed.add(raw)
                continue
            if better:
                self.value = float(values[i])
                self.ties = {key: graph}
            else:
                self.ties[key] = graph


def _raw(batch: Batch, i: int) -> bytes:
    """The bytes of the i-th graph as it is numbered; far cheaper than the graph."""
    bonds = b"" if batch.edge_labels is None else batch.edge_labels[i].tobytes()
    parts = batch.adjacency[i], batch.labels[i], batch.features[i]
    return b"".join(part.tobytes() for part in parts) + bonds


def search(
    objective: CountObjective,
    *,
    excluded: Collection[str] = (),
    n_evaluations: int = 300_000,
    deadline: float = np.inf,
    seed: int = 0,
    starts: Sequence[Graph] = (),
    stop: Callable[[], bool] = lambda: False,
) -> Elite:
    """Search all sizes of the space; the sizes that do best get a second helping.

    Args:
        objective: what to minimise, and over which space.
        excluded: identities that must not be returned.
        n_evaluations: acquisition values to compute in all.
        deadline: `time.monotonic` value at which to stop, whatever has been found.
        seed: fixes the answer unless the deadline cuts it short.
        starts: graphs to begin some chains from, e.g. the best observed ones.
        stop: asked in every round; once it says so, what has been found is returned.
    """
    elite = Elite(excluded, identify=objective.space.identity)
    sizes = list(objective.space.sizes)
    reached = dict.fromkeys(sizes, np.inf)
    shares = [n_evaluations] if len(sizes) == 1 else [n_evaluations // 2, n_evaluations // 2]
    for turn, budget in enumerate(shares):
        chosen = sorted(sizes, key=reached.__getitem__)[: len(sizes) if turn == 0 else 3]
        for n in chosen:
            rng = np.random.default_rng([seed, turn, n])
            chains = _Chains(objective, n, rng, [g for g in starts if g.n_nodes == n])
            best = chains.run(elite, budget // len(chosen), deadline, stop)
            reached[n] = min(reached[n], best)
            if time.monotonic() > deadline or stop():
                return elite
    return elite


class _Chains:
    """Parallel chains over graphs of one size."""

    def __init__(
        self, objective: CountObjective, n: int, rng: np.random.Generator, starts: Sequence[Graph]
    ) -> None:
        self._objective = objective
        self._rng = rng
        self._moves = MoveTable.of(objective.space, n)
        space = objective.space
        seeds = [*self._best(starts), *self._landmarks(n)]
        fresh = _sample(space, n, max(_CHAINS - len(seeds), _CHAINS // 3), rng)
        self._current = Batch.of([*seeds, *fresh] or _anything(space, n))
        self._score = np.full(len(self._current), np.inf)
        self._stuck = np.zeros(len(self._current), dtype=np.int64)

    def _best(self, starts: Sequence[Graph]) -> list[Graph]:
        """The most promising of the graphs that are of the space's kind."""
        space = self._objective.space
        alike = [
            graph
            for graph in starts
            if graph.directed == space.directed
            and graph.n_features == space.n_features
            and (graph.edge_labels is None) == (space.n_edge_labels == 0)
            and graph.labels.max() < space.n_labels
        ]
        if not alike:
            return []
        order = np.argsort(self._objective.of_batch(Batch.of(alike)), kind="stable")
        return [alike[i] for i in order[: _CHAINS // 3]]

    def _landmarks(self, n: int) -> list[Graph]:
        batch = landmarks(self._objective.space, n)
        if batch is None:
            return []
        order = np.argsort(self._objective.of_batch(batch), kind="stable")
        return [batch.graph(int(i)) for i in order[: _CHAINS // 3]]

    def run(self, elite: Elite, budget: int, deadline: float, stop: Callable[[], bool]) -> float:
        """Spend the budget; returns the best value seen at this size, excluded graphs included."""
        self._score = self._evaluate(self._current, elite)
        used, best = len(self._current), float(self._score.min())
        while used < budget and len(self._moves) and time.monotonic() < deadline and not stop():
            used += self._round(elite)
            best = min(best, float(self._score.min()))
        return best

    def _evaluate(self, batch: Batch, elite: Elite) -> NDArray[np.float64]:
        space = self._objective.space
        counts = batch.counts(space.n_labels, pairs=self._objective.labelled)
        values = self._objective.of_counts(counts)
        if space.connected is True and not space.directed and not space.rules:
            # nothing can be wrong but missing paths, and the counts tell how many are missing
            excess = (batch.n_nodes**2 - counts.lengths.sum(axis=1)).astype(float)
        else:
            excess = space.excess(batch)
        elite.n_evaluations += len(batch)
        elite.offer(batch, np.where(excess == 0, values, np.inf))
        return np.where(excess == 0, values, _PENALTY * (1.0 + excess))

    def _round(self, elite: Elite) -> int:
        n_chains = len(self._current)
        per_chain = max(1, min(len(self._moves), _CANDIDATES // n_chains))
        owner = np.repeat(np.arange(n_chains), per_chain)
        moves = self._draw(n_chains, per_chain)
        candidates = self._moves.apply(self._current.select(owner), moves, self._rng)
        scores = self._evaluate(candidates, elite).reshape(n_chains, per_chain)

        best = scores.argmin(axis=1)
        gain = scores[np.arange(n_chains), best] < self._score - STEP
        chosen = candidates.select(np.arange(n_chains) * per_chain + best)
        self._current = _where(gain, chosen, self._current)
        self._score = np.where(gain, scores[np.arange(n_chains), best], self._score)
        self._stuck = np.where(gain, 0, self._stuck + 1)
        stuck = np.flatnonzero(self._stuck >= _STUCK_AFTER)
        if stuck.size:
            self._restart(stuck, elite)
        return max(_LEAST_ROUND, len(owner) + stuck.size)

    def _draw(self, n_chains: int, per_chain: int) -> NDArray[np.int64]:
        if per_chain == len(self._moves):
            return np.tile(np.arange(per_chain), n_chains)
        return self._rng.choice(
            len(self._moves), size=n_chains * per_chain, p=self._moves.weights
        ).astype(np.int64)

    def _restart(self, stuck: NDArray[np.int64], elite: Elite) -> None:
        """Half the stuck chains restart from a perturbed good chain, half from a fresh sample."""
        rng = self._rng
        good = np.argsort(self._score)[: max(1, len(self._score) // 3)]
        parents = np.where(rng.random(stuck.size) < 0.5, rng.choice(good, stuck.size), stuck)
        fresh = self._current.select(parents)
        kicks = rng.integers(2, 3 + self._current.n_nodes // 2, stuck.size)
        for kick in range(int(kicks.max())):
            moved = self._moves.apply(
                fresh, rng.choice(len(self._moves), stuck.size, p=self._moves.weights), rng
            )
            fresh = _where(kicks > kick, moved, fresh)
        anew = np.flatnonzero(rng.random(stuck.size) < 0.25)
        if anew.size:
            sampled = _sample(self._objective.space, fresh.n_nodes, anew.size, rng)
            if sampled:
                mask = np.zeros(stuck.size, dtype=bool)
                mask[anew[: len(sampled)]] = True
                index = np.zeros(stuck.size, dtype=np.int64)
                index[mask] = np.arange(mask.sum())
                fresh = _where(mask, Batch.of(sampled).select(index), fresh)
        scores = self._evaluate(fresh, elite)
        everywhere = np.zeros(len(self._current), dtype=np.int64)
        everywhere[stuck] = np.arange(stuck.size)
        mask = np.zeros(len(self._current), dtype=bool)
        mask[stuck] = True
        self._current = _where(mask, fresh.select(everywhere), self._current)
        self._score[stuck] = scores
        self._stuck[stuck] = 0


def _sample(space: GraphSpace, n: int, k: int, rng: np.random.Generator) -> list[Graph]:
    try:
        return space.sample(k, seed=int(rng.integers(2**31)), n_nodes=n)
    except SamplingError:
        return []


def _anything(space: GraphSpace, n: int) -> list[Graph]:
    """A start outside the space, for when sampling inside it fails: the search repairs it."""
    bonds = np.zeros((n, n), dtype=np.int64) if space.n_edge_labels else None
    return [
        Graph(
            np.zeros((n, n)),
            np.zeros(n, dtype=int),
            np.zeros((n, space.n_features)),
            space.directed,
            edge_labels=bonds,
        )
    ]


def _where(mask: NDArray[np.bool_], yes: Batch, no: Batch) -> Batch:
    """Graph i of ``yes`` where the mask is set, else of ``no``."""
    wide = mask[:, None, None]
    return Batch(
        np.where(wide, yes.adjacency, no.adjacency),
        np.where(mask[:, None], yes.labels, no.labels),
        np.where(wide, yes.features, no.features),
        None
        if yes.edge_labels is None or no.edge_labels is None
        else np.where(wide, yes.edge_labels, no.edge_labels),
        yes.directed,
    )
