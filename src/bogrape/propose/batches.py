"""Many graphs in little time: a few searches, and the best graphs of each, one after another.

A search of its own for each of a hundred graphs would have a tenth of a second. Here every search
keeps the best graphs that it meets, and several are taken from them: always the one with the best
value once those taken before are believed. What was taken so far is believed in the next search.

To evaluate all that was kept again after each choice would take longer than the search. But what is
believed hardly ever makes another graph more attractive, so that an old value is a bound, nearly:
only graphs with the best values are evaluated again, until one that has been is the best of all
(lazy greedy choice; Minoux, 1978). Nothing is proved of these graphs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ..arrays import FloatArray
from ..batch import Batch
from ..errors import SamplingError, SearchSpaceExhausted
from ..graph import Graph
from ..surrogate import FittedSurrogate
from .criterion import AnyCriterion
from .local.search import search_steps
from .proposal import Proposal, Request
from .recheck import recheck
from .values import Elite

Model = TypeVar("Model")

_SEARCHES = 6  # for a batch, if there is time for that many
_LEAST_SECONDS = 0.5  # for each
_SEARCH_SHARE = 0.6  # of the time of each; the rest is for choosing
_LAST_SECONDS = 0.7  # beyond the deadline, for random graphs
_KEPT = 20  # graphs of one round of a search
_MOST_KEPT = 2000
_AGAIN = 16  # graphs to evaluate again at a time


@dataclass
class Pool(Elite):
    """An elite that also keeps the best graphs of every round."""

    kept: dict[bytes, tuple[float, Graph]] = field(default_factory=dict, repr=False)

    def offer(self, batch: Batch, values: FloatArray) -> None:
        """Take in the graphs of a batch; infinite values mark those outside the space."""
        super().offer(batch, values)
        n_kept = min(_KEPT, len(values) - 1)
        for i in np.argpartition(values, n_kept)[: n_kept + 1].tolist():
            raw = batch.raw(i)
            if math.isfinite(values[i]) and raw not in self.kept:
                self.kept[raw] = float(values[i]), batch.graph(i)
        if len(self.kept) > 2 * _MOST_KEPT:
            best = sorted(self.kept.items(), key=lambda item: item[1][0])
            self.kept = dict(best[:_MOST_KEPT])


def propose_many(
    criterion_of: Callable[[Model], AnyCriterion],
    believe: Callable[[Model, Sequence[Graph]], Model],
    model: Model,
    request: Request,
    n: int,
    deadline: float,
) -> list[Proposal]:
    """As many proposals as can be found by the deadline, ``n`` at most.

    Args:
        criterion_of: what to minimise, given a model.
        believe: the model after some graphs were observed at their means.
        model: in which graphs under evaluation are believed already.
        request: what must not be proposed, and where searches begin.
        n: how many.
        deadline: a `time.monotonic` value.
    """
    out: list[Proposal] = []
    taken = list(request.exclude)
    for turn in range(_SEARCHES):
        left, searches = deadline - time.monotonic(), _SEARCHES - turn
        if left <= 0 or request.stop():
            break
        searches = max(1, min(searches, int(left / _LEAST_SECONDS)))
        found = _some(
            criterion_of,
            believe,
            model,
            replace(
                request,
                exclude=taken,
                seed=request.seed + turn,
                starts=[*(proposal.graph for proposal in out[-8:]), *request.starts],
                started=time.monotonic(),
                time_limit=left / searches,
            ),
            math.ceil((n - len(out)) / searches),
        )
        model = believe(model, [proposal.graph for proposal in found]) if found else model
        out += found
        taken += [proposal.graph for proposal in found]
        if len(out) >= n:
            break
    if out and len(out) < n and time.monotonic() >= deadline and not request.stop():
        late = replace(request, exclude=taken, started=time.monotonic())
        out += _random(criterion_of(model), late, n - len(out))
    return out


def _random(objective: AnyCriterion, request: Request, n: int) -> list[Proposal]:
    """Random graphs, found in a moment: what was met in time was too little."""
    try:
        graphs = objective.space.sample(
            n,
            seed=request.seed,
            distinct=True,
            exclude=request.excluded,
            deadline=time.monotonic() + _LAST_SECONDS,
        )
    except SamplingError as error:
        graphs = list(error.graphs)
    except SearchSpaceExhausted:  # whoever asks for more learns of it
        graphs = []
    return [
        objective.proposal(
            graph, objective.of_graph(graph), seconds=request.seconds, method="sample"
        )
        for graph in graphs
    ]


def _some(
    criterion_of: Callable[[Model], AnyCriterion],
    believe: Callable[[Model, Sequence[Graph]], Model],
    model: Model,
    request: Request,
    n: int,
) -> list[Proposal]:
    """One search, and the best ``n`` of the graphs that it meets."""
    objective = criterion_of(model)
    pool = Pool(request.excluded, identify=request.identify)
    until = request.started + _SEARCH_SHARE * request.time_limit
    for _ in search_steps(
        objective,
        pool,
        n_evaluations=request.n_evaluations,
        deadline=until,
        begun_by=until,
        seed=request.seed,
        starts=request.starts,
        stop=request.stop,
    ):
        pass
    graphs = [graph for _, graph in pool.kept.values()]
    values = np.array([value for value, _ in pool.kept.values()])
    new = np.zeros(len(values), dtype=bool)  # whether a value is that of the present model
    refused = set(pool.excluded)
    out: list[Proposal] = []
    # another fit for each graph may take any time
    updates = not isinstance(model, FittedSurrogate)
    while len(out) < n and len(values) and np.isfinite(best := values.min()):
        i = int(values.argmin())
        if updates and not new[i] and not request.late:
            again = np.argsort(values, kind="stable")[:_AGAIN]
            again = again[np.isfinite(values[again]) & ~new[again]]
            alike = again[[graphs[j].n_nodes == graphs[i].n_nodes for j in again]]
            values[alike] = objective.of_batch(Batch.of([graphs[j] for j in alike]))
            new[alike] = True
            continue
        values[i] = np.inf
        key = request.identify(graphs[i])
        if key in refused:
            continue
        refused.add(key)
        proposal = objective.proposal(
            graphs[i],
            float(best) if new[i] else objective.of_graph(graphs[i]),
            seconds=request.seconds,
            method="search",
            n_evaluations=pool.n_evaluations,
        )
        recheck(proposal, objective, request, "search")
        out.append(proposal)
        if updates and not request.late and len(out) < n:
            model = believe(model, [proposal.graph])
            objective = criterion_of(model)
            new[:] = False
    return out
