"""Parallel chains of local search from landmarks, samples and known graphs.

In every round each chain tries a set of elementary moves (all of them when there are few), all
candidates of all chains are evaluated as one batch with the exact acquisition, and each chain takes
its best candidate if that is an improvement. A chain that is stuck restarts from a perturbed elite
graph or from a fresh sample. Candidates are compared first by their distance from the space
(`GraphSpace.excess`), then by value, so that a chain may start outside.

In large molecules, and other large graphs with labelled edges, a chain can only try a few of all
moves. There, moves are drawn from those that change something, and after a while the best chains
are *annealed*: the best of a few moves is also made if the value gets worse, by an amount that
shrinks in the course of the search (`bogrape.propose.local.cooling`).

Some chains start from *landmarks*, the shapes that extreme acquisition values favour. With linear
kernels, the variance is largest where one path length dominates, and the mean is smallest where
many pairs are at a distance of small weight: stars, paths, cycles, complete graphs, and paths with
the other nodes gathered at two places. They need not satisfy any rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from ...batch import Batch
from ...errors import SamplingError
from ...graph import Graph
from ...space import GraphSpace
from ..values import STEP, Elite, Searchable
from .cooling import Cooling
from .moves import MoveTable

# Few chains and small rounds let each chain take many steps. With the kernel rbf and EI, 50,000
# evaluations then find the best known value in most states of trajectories; with 24 chains and
# rounds of 4,000 in a third of them (benchmarks/local_search.py). Smaller rounds are overhead.
_CHAINS = 12
_CANDIDATES = 500
_MOST_EDGE_LABELS = 16_000_000  # per batch; graphs of 60 nodes still get all candidates
_ALL_TRIED = 1500  # cost of a round that tries all moves of small graphs: it is mostly overhead
_STUCK_AFTER = 6  # rounds without improvement before a chain restarts; each tries only some moves
_PENALTY = 1e300  # a unit of excess outweighs every acquisition value
_LANDMARK_SHARE = 0.5  # largest share of the time for choosing among the landmarks
# With many nodes there is time for few evaluations, and a move changes little of a graph. There,
# improving moves are also made together, and chains begin from the best of more random graphs.
_MANY_NODES = 40
_TOGETHER = (2, 4, 8, 16, 32)  # numbers of best moves of a round to make together
_FRESH_SHARE, _FRESH_EACH = 0.3, 20  # share of the time, and graphs per chosen one
# Large molecules have thousands of moves, half of which change nothing: local search gets stuck.
# So only moves that change something are drawn, and then chains are annealed (decision 038).
_SPARSE_NODES = 16  # with labelled edges
_LOCAL_SHARE = 0.3  # of the evaluations, before annealing
_ANNEALED_CHAINS = 8
_ANNEALED_EACH = 6  # moves of each chain in a round


class Chains:
    """Parallel chains over graphs of one size."""

    def __init__(
        self,
        objective: Searchable,
        n: int,
        rng: np.random.Generator,
        starts: Sequence[Graph],
        deadline: float,
    ) -> None:
        self._objective = objective
        self._rng = rng
        self._deadline = deadline
        self._moves = MoveTable.of(objective.space, n)
        space = objective.space
        self._cooling: Cooling | None = None
        self._spread = 1.0  # of the values of random graphs
        self._is_sparse = n >= _SPARSE_NODES and space.n_edge_labels > 0
        alike, marks = self._alike(starts), landmarks(space, n)
        n_seeds = min(_CHAINS // 3, len(alike)) + min(_CHAINS // 3, len(marks))
        # sampled first, since the others need not be in the space
        fresh = _sample(space, n, max(_CHAINS - n_seeds, _CHAINS // 3), rng, deadline)
        if n >= _MANY_NODES:
            fresh = self._best_fresh(fresh)
        seeds = [*self._best(alike), *self._best_of(marks)]
        self._current = Batch.of([*seeds, *fresh] or _anything(space, n))
        self._score = np.full(len(self._current), np.inf)
        self._stuck = np.zeros(len(self._current), dtype=np.int64)

    @property
    def _late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _alike(self, starts: Sequence[Graph]) -> list[Graph]:
        """The starts with the direction, features and labels of the space."""
        space = self._objective.space
        return [
            graph
            for graph in starts
            if graph.directed == space.directed
            and graph.n_features == space.n_features
            and (graph.edge_labels is None) == (space.n_edge_labels == 0)
            and graph.labels.max() < space.n_labels
        ]

    def _best(self, alike: Sequence[Graph]) -> list[Graph]:
        """The graphs with the best values."""
        if not alike or self._late:
            return []
        values, joined = self._objective.evaluate(Batch.of(alike), self._deadline)
        return [alike[i] for i in _smallest(values, joined)]

    def _best_fresh(self, fresh: Sequence[Graph]) -> list[Graph]:
        """The best of these and further random graphs, as many as were given."""
        space, now = self._objective.space, time.monotonic()
        until = now + _FRESH_SHARE * (self._deadline - now)
        n, n_more = self._moves.n_nodes, _FRESH_EACH * len(fresh)
        graphs = [*fresh, *_sample(space, n, n_more, self._rng, until)]
        if not graphs:
            return []
        values, _ = self._objective.evaluate(Batch.of(graphs), self._deadline)
        return [graphs[i] for i in np.argsort(values, kind="stable")[: len(fresh)]]

    def _best_of(self, marks: Landmarks) -> list[Graph]:
        """The best landmarks, of all or of as many as there is time for."""
        n, now = self._moves.n_nodes, time.monotonic()
        until = now + _LANDMARK_SHARE * (self._deadline - now)
        values, joined = np.full(len(marks), np.inf), np.zeros(len(marks), dtype=np.int64)
        step = self._objective.n_at_a_time(n)
        n_parts = -(-len(marks) // step)
        for first in range(n_parts):
            if time.monotonic() >= until:
                break
            some = np.arange(first, len(marks), n_parts)  # a mix of all kinds, not the first ones
            values[some], joined[some] = self._objective.evaluate(marks.batch(some), until)
        chosen = marks.batch(_smallest(values, joined))
        return [chosen.graph(i) for i in range(len(chosen))]

    def run(
        self, elite: Elite, budget: int, deadline: float, stop: Callable[[], bool]
    ) -> Iterator[float]:
        """Spend the budget; yields the best value after each round, excluded graphs included."""
        self._deadline = deadline
        self._score = self._evaluate(self._current, elite)
        used = len(self._current)
        inside = self._score[self._score < _PENALTY]
        self._spread = float(inside.std()) if len(inside) > 1 else 1.0
        yield float(self._score.min())
        while used < budget and len(self._moves) and not self._late and not stop():
            if self._is_sparse and self._cooling is None and used >= _LOCAL_SHARE * budget:
                self._begin_annealing(elite, budget - used)
            used += self._round(elite)
            yield float(self._score.min())

    def _evaluate(self, batch: Batch, elite: Elite) -> FloatArray:
        space = self._objective.space
        values, joined = self._objective.evaluate(batch, self._deadline)
        if space.connected is True and not space.directed and not space.rules:
            # only paths can be missing, and the counts say how many are
            excess = (batch.n_nodes**2 - joined).astype(float)
        else:
            excess = space.excess(batch, deadline=self._deadline)
        elite.n_evaluations += int(np.isfinite(values).sum())
        elite.offer(batch, np.where(excess == 0, values, np.inf))
        return np.where(excess == 0, values, _PENALTY * (1.0 + excess))

    def _round(self, elite: Elite) -> int:
        return self._local_round(elite) if self._cooling is None else self._annealed_round(elite)

    def _begin_annealing(self, elite: Elite, budget: int) -> None:
        """Go on from the best graph so far and the best chains."""
        best = np.argsort(self._score, kind="stable")[:_ANNEALED_CHAINS]
        self._current, self._score = self._current.select(best), self._score[best]
        known = next(iter(elite.ties.values()), None)
        if known is not None and known.n_nodes == self._current.n_nodes:
            worst = np.arange(len(best)) == len(best) - 1
            self._current = _where(worst, Batch.of([known] * len(best)), self._current)
            self._score[worst] = elite.value
        self._cooling = Cooling(budget, self._spread)

    def _annealed_round(self, elite: Elite) -> int:
        assert self._cooling is not None
        n_chains = len(self._current)
        each = min(_ANNEALED_EACH, len(self._moves), max(1, self._n_candidates // n_chains))
        moves = self._moves.draw_changes(self._current, each, self._rng)
        owner = np.repeat(np.arange(n_chains), each)
        candidates = self._moves.apply(self._current, moves, self._rng, owner, self._deadline)
        scores = self._evaluate(candidates, elite).reshape(n_chains, each)
        best = scores.argmin(axis=1)
        reached = scores[np.arange(n_chains), best]
        allowed = self._cooling.allowed(n_chains, len(owner), self._rng)
        # a penalty outweighs all that is allowed, so that chains do not leave the space
        made = reached <= self._score + allowed
        chosen = candidates.select(np.arange(n_chains) * each + best)
        self._current = _where(made, chosen, self._current)
        self._score = np.where(made, reached, self._score)
        return len(owner)

    def _local_round(self, elite: Elite) -> int:
        n_chains = len(self._current)
        per_chain = max(1, min(len(self._moves), self._n_candidates // n_chains))
        owner = np.repeat(np.arange(n_chains), per_chain)
        moves = self._draw(n_chains, per_chain)
        candidates = self._moves.apply(self._current, moves, self._rng, owner, self._deadline)
        scores = self._evaluate(candidates, elite).reshape(n_chains, per_chain)

        best = scores.argmin(axis=1)
        chosen = candidates.select(np.arange(n_chains) * per_chain + best)
        reached = scores[np.arange(n_chains), best]
        n_more = 0
        for together in self._made_together(moves.reshape(n_chains, per_chain), scores):
            values = self._evaluate(together, elite)
            chosen = _where(values < reached, together, chosen)
            reached = np.minimum(values, reached)
            n_more += n_chains
        gain = reached < self._score - STEP
        self._current = _where(gain, chosen, self._current)
        self._score = np.where(gain, reached, self._score)
        self._stuck = np.where(gain, 0, self._stuck + 1)
        stuck = np.flatnonzero(self._stuck >= _STUCK_AFTER)
        if stuck.size:
            self._restart(stuck, elite)
        used = len(owner) + n_more + stuck.size
        return max(_ALL_TRIED, used) if per_chain == len(self._moves) else used

    def _made_together(self, moves: IntArray, scores: FloatArray) -> Iterator[Batch]:
        """The chains after several of their improving moves at once, if graphs are large.

        Args:
            moves: moves of each chain, one row per chain.
            scores: the score that each of these moves leads to.
        """
        if self._current.n_nodes < _MANY_NODES:
            return
        order = np.argsort(scores, axis=1, kind="stable")[:, : _TOGETHER[-1]]
        improving = np.take_along_axis(scores, order, 1) < self._score[:, None] - STEP
        ordered, batch = np.take_along_axis(moves, order, 1), self._current
        for k in range(int(improving.sum(axis=1).max(initial=0))):
            moved = self._moves.apply(batch, ordered[:, k], self._rng)
            batch = _where(improving[:, k], moved, batch)
            if k + 1 in _TOGETHER and not self._late:
                yield batch

    @property
    def _n_candidates(self) -> int:
        """Number of candidates per round; fewer if their edge labels would take too much memory."""
        n, labelled = self._current.n_nodes, self._current.edge_labels is not None
        return min(_CANDIDATES, _MOST_EDGE_LABELS // n**2) if labelled else _CANDIDATES

    def _draw(self, n_chains: int, per_chain: int) -> IntArray:
        if per_chain == len(self._moves):
            return np.tile(np.arange(per_chain), n_chains)
        if self._is_sparse:
            return self._moves.draw_changes(self._current, per_chain, self._rng)
        return self._moves.draw(n_chains * per_chain, self._rng)

    def _restart(self, stuck: IntArray, elite: Elite) -> None:
        """Half the stuck chains restart from a perturbed good chain, half from a fresh sample."""
        rng = self._rng
        good = np.argsort(self._score)[: max(1, len(self._score) // 3)]
        parents = np.where(rng.random(stuck.size) < 0.5, rng.choice(good, stuck.size), stuck)
        fresh = self._current.select(parents)
        kicks = rng.integers(2, 3 + self._current.n_nodes // 2, stuck.size)
        for kick in range(int(kicks.max())):
            moved = self._moves.apply(fresh, self._moves.draw(stuck.size, rng), rng)
            fresh = _where(kicks > kick, moved, fresh)
        anew = np.flatnonzero(rng.random(stuck.size) < 0.25)
        if anew.size:
            space, deadline = self._objective.space, self._deadline
            sampled = _sample(space, fresh.n_nodes, anew.size, rng, deadline)
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


def _smallest(values: FloatArray, joined: IntArray) -> IntArray:
    """Positions of the smallest evaluated values, at most a third of the chains."""
    order = np.argsort(values, kind="stable")
    return order[joined[order] > 0][: _CHAINS // 3]


def _sample(
    space: GraphSpace, n: int, k: int, rng: np.random.Generator, deadline: float
) -> list[Graph]:
    try:
        return space.sample(k, seed=int(rng.integers(2**31)), n_nodes=n, deadline=deadline)
    except SamplingError as error:
        return list(error.graphs)  # those found in time


def _anything(space: GraphSpace, n: int) -> list[Graph]:
    """A start outside the space, used if sampling inside fails: the search repairs it."""
    edge_labels = np.zeros((n, n), dtype=np.int64) if space.n_edge_labels else None
    return [
        Graph(
            np.zeros((n, n)),
            np.zeros(n, dtype=int),
            np.zeros((n, space.n_features)),
            space.directed,
            edge_labels=edge_labels,
        )
    ]


def _where(mask: BoolArray, yes: Batch, no: Batch) -> Batch:
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


# -- landmarks ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks with n nodes, numbered; shapes are stored once for all labels.

    There is one for each shape and label, or one for each shape if the space fixes the labels of
    its nodes.
    """

    space: GraphSpace
    shapes: BoolArray  # (K, n, n)

    def __len__(self) -> int:
        return len(self.shapes) * (1 if self.space.fixed_labels else self.space.n_labels)

    def batch(self, index: IntArray) -> Batch:
        """The landmarks with these numbers."""
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
    """Landmarks with n nodes; none if edges have directions or labels."""
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
