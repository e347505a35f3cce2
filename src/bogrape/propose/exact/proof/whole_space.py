"""Proof by evaluating every graph, for surrogates, kernels and acquisitions without other bounds.

The beginning of a local search measures how long one value takes. If all graphs of the space can
be evaluated in the remaining time, they are, and the best is the optimum. Otherwise local search
continues, and its best graph is returned, with the bound of a monotone acquisition, or without any
(``heuristic``).

Everything runs in this process, so your own classes need not be sent to another one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from ....batch import Batch
from ....encoding import Structure, structures
from ....errors import EngineError
from ...criterion import AnyCriterion, Criterion
from ...graph_criterion import GraphCriterion
from ...local.search import FirstSearch, break_tie, find_any
from ...proposal import Proposal, Request, Status
from ...values import RECOMPUTED, Elite, room
from .all_graphs import TooManyGraphs, all_graphs, log_graphs
from .nothing_left import explain_nothing_left
from .piece import slack

_FIRST_EVALUATIONS = 5_000  # of local search, to measure how long one value takes
_SHARE = 0.7  # of the remaining time, for evaluating every graph
MOST_LISTED = 5_000_000  # graphs, by a rough estimate
_AT_ONCE = 4096  # graphs evaluated together, as calls of surrogates are slow
_RENUMBERED = 16  # graphs per structure whose nodes are renumbered, as a check


def prove_by_listing(objective: AnyCriterion, request: Request, search: FirstSearch) -> Proposal:
    """The best graph of the space that is not excluded, proved if all can be evaluated."""
    elite = search.elite
    if _can_be_listed(objective, 0.0, request):
        while elite.n_evaluations < _FIRST_EVALUATIONS and search.step():
            pass
        each = search.seconds / max(1, elite.n_evaluations)
        every = None
        if _can_be_listed(objective, each, request):
            left = request.deadline - time.monotonic()
            every = _best_of_all(objective, request, request.deadline - (1 - _SHARE) * left)
        if every is not None:
            return _optimal(objective, request, elite, every)
    while search.step():
        pass
    request.report("search", objective.units.value(elite.value), -math.inf, 0)
    if not elite.ties:
        find_any(objective, elite, request)
    if not elite.ties:
        raise request.too_late()
    graph = break_tie(elite.ties, request.exclude, request.seed, request.deadline)
    value = objective.of_graph(graph)
    bound = -math.inf
    if isinstance(objective, Criterion):
        bound = objective.weakest_bound()
        objective.refuse_false_bound(bound, value)
    status: Status = "heuristic" if bound == -math.inf else "time_limit"
    return objective.proposal(
        graph,
        value,
        bound=min(bound, value),
        status=status,
        seconds=request.seconds,
        method="search" if status == "heuristic" else "search+bound",
        n_evaluations=elite.n_evaluations,
    )


def _optimal(objective: AnyCriterion, request: Request, elite: Elite, every: Elite) -> Proposal:
    """The proposal once every graph has been evaluated."""
    if not every.ties and not elite.ties:
        raise explain_nothing_left(objective.space, request)
    if elite.value < every.value - room(RECOMPUTED, every.value):
        units = objective.units
        raise EngineError(
            f"the best value of all graphs is {units.value(every.value):.17g}, but local search "
            f"has found {units.value(elite.value):.17g}; please report this"
        )
    graph = break_tie(every.ties, request.exclude, request.seed, request.deadline)
    value = objective.of_graph(graph)
    return objective.proposal(
        graph,
        value,
        bound=min(every.value, value) - slack(every.value),
        status="optimal",
        seconds=request.seconds,
        method="listing",
        n_evaluations=elite.n_evaluations + every.n_evaluations,
    )


def _structures(objective: AnyCriterion) -> list[Structure]:
    space = objective.space
    return list(structures([space.shape(n) for n in space.sizes], space.connected, space.rules))


def _can_be_listed(objective: AnyCriterion, each: float, request: Request) -> bool:
    """True if, by a rough estimate, all graphs can be evaluated in the remaining time."""
    logs = [log_graphs(structure) for structure in _structures(objective)]
    if max(logs) > math.log(MOST_LISTED):
        return False
    left = _SHARE * (request.deadline - time.monotonic())
    return sum(map(math.exp, logs)) < min(MOST_LISTED, left / max(each, 1e-7))


def _best_of_all(objective: AnyCriterion, request: Request, until: float) -> Elite | None:
    """The best of all graphs of the space that are not excluded; ``None`` if time runs out."""
    space = objective.space
    every = Elite(request.excluded, identify=space.identity)
    plain = objective.unweighted
    try:
        for structure in _structures(objective):
            n_renumbered = 0
            for batch in _large(all_graphs(structure, until)):
                inside = batch.select(space.excess(batch) == 0)
                if not len(inside):
                    continue
                if request.late:
                    return None
                values, joined = objective.evaluate(inside, until)
                if (joined == 0).any():
                    return None
                if isinstance(plain, GraphCriterion) and n_renumbered < _RENUMBERED:
                    some = range(min(len(inside), _RENUMBERED - n_renumbered))
                    plain.check_numbering([inside.graph(i) for i in some], request.seed)
                    n_renumbered += len(some)
                every.n_evaluations += len(inside)
                every.offer(inside, values)
    except TooManyGraphs:
        return None
    return every


def _large(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same graphs in larger batches."""
    waiting: list[Batch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _AT_ONCE:
            yield waiting[0].joined(*waiting[1:])
            waiting = []
    if waiting:
        yield waiting[0].joined(*waiting[1:])
