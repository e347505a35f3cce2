"""Random graphs of a space: build, keep those that fit, repair the others.

1. `construct.build`, or a rule's own `draw`, makes a batch that respects the simple rules.
2. Graphs that the remaining rules reject are repaired by a short walk: each step takes the one of
   a few random moves with the least excess over all rules, for all graphs of the batch together.
3. If hardly any graph gets in this way, those found are walked further inside the space.

All budgets are counted in rounds and steps, so a seed decides the answer. A deadline only ends the
search early: the error carries whatever was found by then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..constraints import Rule, Shape
from ..errors import SamplingError
from ..graph import Graph
from .construct import OutOfTime, Recipe, build
from .moves import variants
from .propagation import Known

_ROUNDS = 60  # batches per size, at most
_PATIENCE = 12  # rounds without a new graph before giving up
_CHUNK = 1000  # graphs built at a time
_WALKERS = 128  # graphs repaired at a time
_STEPS = 40  # steps of a repair
_TRIES = 12  # random moves tried per step
_CHECK_SHARE = 0.25  # largest share of the time for checking the rules of all sizes
_SKEWS = (1.0, 3.0, 1 / 3)  # densities over the rounds: uniform, sparse, dense


class Sampled(Protocol):
    """The interface of a space that the sampler uses."""

    @property
    def rules(self) -> tuple[Rule, ...]: ...
    @property
    def connected(self) -> object: ...
    def shape(self, n: int) -> Shape: ...
    def known(self, n: int) -> Known: ...
    def excess(
        self, batch: Batch, *, deadline: float = ...
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]: ...
    def derived(self, batch: Batch) -> Batch: ...
    def identity(self, graph: Graph) -> str: ...


def sample(
    space: Sampled,
    k: int,
    seed: int,
    sizes: Sequence[int],
    *,
    distinct: bool,
    exclude: frozenset[str],
    deadline: float = math.inf,
) -> list[Graph]:
    """k graphs of the space with sizes drawn evenly from those where graphs are found."""
    rng = np.random.default_rng(seed)
    possible = _possible(space, sizes, deadline)
    draws: dict[int, _Draw] = {}
    out: list[Graph] = []
    while len(out) < k:
        alive = [n for n in possible if n not in draws or not draws[n].exhausted]
        if not alive:
            raise SamplingError(_shortage(len(out), k, sizes, distinct, exclude), len(out))
        wanted = rng.choice(alive, size=k - len(out))
        fresh: dict[int, list[Graph]] = {}
        for n in (n for n in alive if n in wanted):
            if time.monotonic() >= deadline:
                break
            if n not in draws:
                draws[n] = _Draw(space, n, rng, distinct, exclude, deadline)
            fresh[n] = draws[n].take(int((wanted == n).sum()))
        out += [fresh[int(n)].pop() for n in wanted if fresh.get(int(n))]
        if len(out) < k and time.monotonic() >= deadline:
            short = _shortage(len(out), k, sizes, distinct, exclude, late=True)
            raise SamplingError(short, len(out), out_of_time=True, graphs=out)
    return out


def _possible(space: Sampled, sizes: Sequence[int], deadline: float) -> list[int]:
    """The sizes at which no rules contradict each other, as far as time allows to check."""
    now = time.monotonic()
    until = now + _CHECK_SHARE * (deadline - now)
    return [n for n in sizes if time.monotonic() >= until or space.known(n).conflict is None]


def _shortage(
    found: int,
    k: int,
    sizes: Sequence[int],
    distinct: bool,
    exclude: frozenset[str],
    late: bool = False,
) -> str:
    span = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"
    kind = "different " if distinct else ""
    besides = f" besides the {len(exclude)} excluded ones" if exclude else ""
    if late:
        return (
            f"expected {k} {kind}graphs with {span} nodes{besides}, found {found} before the time "
            "was up; try a larger time limit, or looser rules"
        )
    remedy = "fewer graphs, distinct=False or a larger space" if distinct else "looser rules"
    return (
        f"expected {k} {kind}graphs with {span} nodes{besides}, found {found} within the budget; "
        f"try {remedy}, or propose(method='exact'), which proves whether there are any"
    )


class _Draw:
    """Graphs of one size, drawn on demand."""

    def __init__(
        self,
        space: Sampled,
        n: int,
        rng: np.random.Generator,
        distinct: bool,
        exclude: frozenset[str],
        deadline: float = math.inf,
    ) -> None:
        self.space, self.rng, self.distinct, self.deadline = space, rng, distinct, deadline
        self.shape = space.shape(n)
        known = space.known(n)
        self.recipe = Recipe(
            shape=self.shape,
            rules=space.rules,
            known=known,
            strong=space.connected == "strong",
            deadline=deadline,
        )
        self.seen = set(exclude)
        self.checked = distinct or bool(exclude)
        self.rounds = self.idle = 0
        self.found: Batch | None = None
        self.exhausted = known.conflict is not None

    @property
    def late(self) -> bool:
        """True if the time is up."""
        return time.monotonic() >= self.deadline

    def take(self, k: int) -> list[Graph]:
        """Up to k further graphs; fewer if the budget or the time runs out.

        The end of the budget sets ``exhausted``.
        """
        out: list[Graph] = []
        while len(out) < k and not self.exhausted and not self.late:
            try:
                fresh = self._accept(self._round(k - len(out)), k - len(out))
            except OutOfTime:
                break
            self.idle = 0 if fresh else self.idle + 1
            self.rounds += 0 if len(fresh) > _WALKERS // 4 else 1
            self.exhausted = self.idle >= _PATIENCE or self.rounds >= _ROUNDS
            out += fresh
        return out

    def _accept(self, batch: Batch, k: int) -> list[Graph]:
        out: list[Graph] = []
        for i in range(len(batch)):
            if len(out) == k:
                break
            graph = batch.graph(i)
            if self.checked:
                key = self.space.identity(graph)
                if key in self.seen:
                    continue
                if self.distinct:
                    self.seen.add(key)
            out.append(graph)
        return out

    def _round(self, missing: int) -> Batch:
        """Some graphs of the space: built, repaired, or reached by a walk from earlier ones."""
        number = self.rounds + self.idle
        size = min(_CHUNK, missing if number == 0 else max(2 * missing, 64))
        batch = self._built(size, _SKEWS[number % len(_SKEWS)])
        excess = self.space.excess(batch, deadline=self.deadline)
        good = batch.select(excess == 0)
        if len(good) < len(batch) // 8 + 1:
            lost = self.rng.permutation(np.flatnonzero(excess > 0))[: min(_WALKERS, 4 * missing)]
            good = _joined(good, self._repair(batch.select(lost)))
            if self.found is not None and len(good) < missing:
                good = _joined(good, self._wander(self.found))
        if len(good):
            self.found = good.select(slice(0, _WALKERS))
        return good

    def _built(self, size: int, skew: float) -> Batch:
        """Random graphs: from the first rule that can draw its own, else from the builder."""
        for rule in self.space.rules:
            drawn = rule.draw(self.space.rules, self.shape, size, self.rng)
            if drawn is not None:
                return drawn
        return self.space.derived(build(self.recipe, size, self.rng, skew))

    def _repair(self, batch: Batch) -> Batch:
        """The graphs that a walk downhill brings into the space."""
        done = batch.select(slice(0, 0))
        excess = self.space.excess(batch, deadline=self.deadline)
        for _ in range(_STEPS):
            if self.late:
                break
            batch, excess = self._step(batch, excess)
            done = _joined(done, batch.select(excess == 0))
            batch, excess = batch.select(excess > 0), excess[excess > 0]
            if not len(batch):
                break
        return done

    def _wander(self, batch: Batch) -> Batch:
        """Graphs reached from these by a walk that stays inside the space."""
        index = self.rng.integers(len(batch), size=_WALKERS)
        batch = batch.select(index)
        excess = np.zeros(len(batch))
        for _ in range(self.shape.n_nodes):
            if self.late:
                break
            batch, excess = self._step(batch, excess)
        return batch

    def _step(
        self, batch: Batch, excess: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> tuple[Batch, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """Move every graph to the best of some random neighbours, unless all are worse."""
        moved = variants(
            batch,
            self.shape,
            _TRIES,
            self.rng,
            labels_fixed=self.recipe.labels_fixed,
            relabel_edges=self.recipe.budget is not None,
        )
        options = self.space.derived(moved)
        values = self.space.excess(options, deadline=self.deadline).reshape(len(batch), _TRIES)
        best = values.argmin(axis=1)
        everyone = np.arange(len(batch))
        value = values[everyone, best]
        # an occasional step uphill to leave a dead end, but never out of the space
        moves = (value <= excess) | ((excess > 0) & (self.rng.random(len(batch)) < 0.03))
        chosen: IntArray = everyone * _TRIES + best
        both = _joined(batch, options.select(chosen))
        return both.select(everyone + len(batch) * moves), np.where(moves, value, excess)


def _joined(left: Batch, right: Batch) -> Batch:
    edge_labels = None
    if left.edge_labels is not None and right.edge_labels is not None:
        edge_labels = np.concatenate([left.edge_labels, right.edge_labels])
    return Batch(
        np.concatenate([left.adjacency, right.adjacency]),
        np.concatenate([left.labels, right.labels]),
        np.concatenate([left.features, right.features]),
        edge_labels,
        left.directed,
    )
