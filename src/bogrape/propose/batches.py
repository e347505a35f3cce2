"""Many graphs in little time: a few searches, each of which yields several graphs.

With a hundred graphs to propose, a separate search for each would have a tenth of a second. Here
every search keeps the best graphs that it meets, and several of them are taken one by one: always
the one with the best value, given that those taken before were observed at their means (they are
*believed*). The next search believes all graphs taken so far.

Evaluating all kept graphs again after each choice would take longer than the search. But believing
a graph hardly ever makes another one more attractive, so an old value is almost a bound: only the
graphs with the best values are evaluated again, until the best value is an up-to-date one (lazy
greedy choice; Minoux, 1978). Nothing is proved about these graphs.
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

_SEARCHES = 6  # per batch, if time allows
_LEAST_SECONDS = 0.5  # per search
_SEARCH_SHARE = 0.6  # share of the time of a search; the rest is for choosing
_LAST_SECONDS = 0.7  # for random graphs, after the deadline
_KEPT = 20  # per round of a search
_MOST_KEPT = 2000
_AGAIN = 16  # graphs evaluated again at a time


@dataclass
class Pool(Elite):
    """An elite that also keeps the best graphs of every round."""

    kept: dict[bytes, tuple[float, Graph]] = field(default_factory=dict, repr=False)

    def offer(self, batch: Batch, values: FloatArray) -> None:
        """Offer the graphs of a batch; infinite values mark those outside the space."""
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
        criterion_of: returns the criterion of a model, to be minimised.
        believe: returns a model with some graphs observed at their means.
        model: believes the graphs under evaluation already.
        request: the graphs that must not be proposed, and those where searches start.
        n: number of proposals.
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
    """Random graphs, which take a moment, since the searches found too few."""
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
    except SearchSpaceExhausted:  # the next call raises this again
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
    new = np.zeros(len(values), dtype=bool)  # True for values under the current model
    refused = set(pool.excluded)
    out: list[Proposal] = []
    # a custom surrogate would be fitted again for each graph, which may take any time
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
