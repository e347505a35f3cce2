"""Restarted local search: the method "search", and the source of incumbents for proofs.

The budget is a number of evaluations, so the answer depends on the seed and not on the machine,
unless the deadline stops it. Chains may pass through excluded graphs but never return them.
`bogrape.propose.local.chains` describes the chains.

`FirstSearch` comes before a proof, and continues during the proof if time is short. It evaluates
the same graphs as ``method="search"`` with the same seed and budget. If its share of the time is
too short for the budget, it continues while workers prove, so that a proposal with a proof is as
good as one without.

The kernels see counts, and many graphs have equal counts, so exact *ties* are common. Of the graphs
tied for the best value, the one least similar to known graphs is taken: the one with the largest
distance, in labelled path counts and degrees, to the nearest of them. The seed breaks further ties.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import final

import numpy as np

from ...arrays import FloatArray
from ...batch import Batch
from ...counts import count
from ...errors import InfeasibleSpaceError, SamplingError
from ...graph import Graph
from ..proposal import Request
from ..values import Elite, Searchable, n_at_a_time
from .chains import Chains

_LATE_SHARE = 0.3  # of the remaining time, for the start of chains that begin late
_LAST_SECONDS = 0.7  # beyond the deadline, to find any graph at all
_FIRST_SHARE = 0.3  # of the time limit, before a proof begins, if the search is saturated
_LARGEST_FIRST_SHARE = 0.9  # otherwise
_ENOUGH = 50_000  # evaluations after which better graphs are rarely found,
_RECENT = 0.5  # unless one was found in this last part of all evaluations
_AT_ONCE = 1000  # known graphs that ties are compared with at a time


def search(
    objective: Searchable,
    *,
    excluded: Collection[str] = (),
    n_evaluations: int = 300_000,
    deadline: float = np.inf,
    seed: int = 0,
    starts: Sequence[Graph] = (),
    stop: Callable[[], bool] = lambda: False,
) -> Elite:
    """Search all sizes of the space; the best sizes get a second share of the budget.

    Args:
        objective: the criterion to minimise, with its space.
        excluded: identities that must not be returned.
        n_evaluations: number of acquisition values to compute.
        deadline: `time.monotonic` value at which to stop.
        seed: decides the answer, unless the deadline ends the search early.
        starts: graphs to begin some chains from, e.g. the best observed ones.
        stop: called in every round; once it returns True, the search ends.
    """
    elite = Elite(excluded, identify=objective.space.identity)
    steps = search_steps(
        objective,
        elite,
        n_evaluations=n_evaluations,
        deadline=deadline,
        begun_by=deadline,
        seed=seed,
        starts=starts,
        stop=stop,
    )
    for _ in steps:
        pass
    return elite


def search_steps(
    objective: Searchable,
    elite: Elite,
    *,
    n_evaluations: int,
    deadline: float,
    begun_by: float,
    seed: int,
    starts: Sequence[Graph],
    stop: Callable[[], bool],
) -> Iterator[None]:
    """`search` in steps of a fraction of a second; graphs found are offered to the elite.

    Chains must have begun at ``begun_by``, or else after a third of the remaining time.
    """
    sizes = list(objective.space.sizes)
    reached = dict.fromkeys(sizes, np.inf)
    shares = [n_evaluations] if len(sizes) == 1 else [n_evaluations // 2, n_evaluations // 2]
    for turn, budget in enumerate(shares):
        chosen = sorted(sizes, key=reached.__getitem__)[: len(sizes) if turn == 0 else 3]
        for n in chosen:
            rng = np.random.default_rng([seed, turn, n])
            alike = [g for g in starts if g.n_nodes == n]
            now = time.monotonic()
            first = min(deadline, max(begun_by, now + _LATE_SHARE * (deadline - now)))
            chains = Chains(objective, n, rng, alike, first)
            for best in chains.run(elite, budget // len(chosen), deadline, stop):
                reached[n] = min(reached[n], best)
                yield
            if time.monotonic() > deadline or stop():
                return


def find_any(objective: Searchable, elite: Elite, request: Request) -> bool:
    """Offer a random graph, found at the last moment, to an elite that is empty at the deadline.

    Returns False if there was no time. If there was time and none was found, there may be none.
    """
    if request.stop():
        return False
    until = time.monotonic() + _LAST_SECONDS
    try:
        graphs = objective.space.sample(
            1, seed=request.seed, exclude=request.excluded, deadline=until
        )
    except InfeasibleSpaceError:
        return True  # the caller reports that with more detail
    except SamplingError as error:
        return not error.out_of_time
    batch = Batch.of(graphs)
    elite.n_evaluations += 1
    elite.offer(batch, objective.evaluate(batch)[0])
    return True


@final
class FirstSearch:
    """A running local search; the graphs found so far are in ``elite``."""

    def __init__(self, objective: Searchable, request: Request) -> None:
        self._objective, self._request = objective, request
        self._until = min(request.deadline, time.monotonic() + _FIRST_SHARE * request.time_limit)
        self.elite = Elite(request.excluded, identify=objective.space.identity)
        self.is_over = False
        self.seconds = 0.0  # spent so far
        self._improved_at = 0  # evaluations
        self._steps = search_steps(
            objective,
            self.elite,
            n_evaluations=request.n_evaluations,
            deadline=request.deadline,
            begun_by=self._until,
            seed=request.seed,
            starts=request.starts,
            stop=request.stop,
        )

    def begin(self) -> None:
        """Search for its share of the time."""
        while self.step() and time.monotonic() < self._until:
            pass

    def run(self) -> Elite:
        """Search for its share of the time, or longer if that is worthwhile."""
        request = self._request
        at_most = request.started + _LARGEST_FIRST_SHARE * request.time_limit
        while self.step():
            now = time.monotonic()
            if now >= at_most or (now >= self._until and self._is_saturated):
                break
        if not self.elite.ties and time.monotonic() >= self._until:
            find_any(self._objective, self.elite, self._request)
        return self.elite

    def step(self) -> bool:
        """Search for a fraction of a second; False once the budget or the time is spent."""
        before, began = self.elite.value, time.monotonic()
        if not self.is_over:
            self.is_over = next(self._steps, True) is True
        self.seconds += time.monotonic() - began
        if self.elite.value < before - self.elite.tolerance:
            self._improved_at = self.elite.n_evaluations
        return not self.is_over

    @property
    def _is_saturated(self) -> bool:
        n_evaluations = self.elite.n_evaluations
        return n_evaluations >= _ENOUGH and self._improved_at <= (1 - _RECENT) * n_evaluations


# -- ties ---------------------------------------------------------------------------------------


def break_tie(
    ties: Mapping[str, Graph], seen: Sequence[Graph], seed: int, deadline: float = math.inf
) -> Graph:
    """The tied graph least like the graphs seen (keys are identities).

    After the deadline (a `time.monotonic` value) only the first of the seen graphs count.
    """
    keys = sorted(ties)
    order = np.random.default_rng(seed).permutation(len(keys))
    graphs = [ties[keys[i]] for i in order]
    if len(graphs) == 1 or not seen:
        return graphs[0]
    n = max(graph.n_nodes for graph in (*graphs, *seen))
    n_labels = 1 + max(int(graph.labels.max()) for graph in (*graphs, *seen))
    step = min(_AT_ONCE, n_at_a_time(n, n * n_labels**2))
    nearest = np.full(len(graphs), np.inf)
    for start in range(0, len(seen), step):
        if start and time.monotonic() >= deadline:
            break
        nearest = np.minimum(nearest, _distances(graphs, seen[start : start + step]))
    return graphs[int(np.argmax(np.round(nearest, 12)))]


def _distances(graphs: Sequence[Graph], seen: Sequence[Graph]) -> FloatArray:
    """Distance of each graph to the nearest one seen."""
    described = _describe([*graphs, *seen])
    described = described[:, described.any(axis=0)]
    mine, theirs = described[: len(graphs)], described[len(graphs) :]
    return np.array([np.abs(theirs - row).sum(axis=1).min() for row in mine])


def _describe(graphs: Sequence[Graph]) -> FloatArray:
    """Shares of ordered pairs by distance and labels, and of nodes by degree."""
    counts = count(graphs, pairs=True)
    assert counts.pairs is not None
    paths = counts.pairs.reshape(len(graphs), -1) / counts.sizes[:, None] ** 2
    n = int(counts.sizes.max())
    degrees = np.zeros((len(graphs), 2 * n))
    for i, graph in enumerate(graphs):
        ends = graph.adjacency.sum(axis=0) + graph.adjacency.sum(axis=1)
        degrees[i] = np.bincount(ends, minlength=2 * n)[: 2 * n] / graph.n_nodes
    return np.hstack([paths, degrees])
