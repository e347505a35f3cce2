"""Search, then proof, then re-check: the globally best graph with a certificate.

1. The first strategy that accepts the criterion is used for the whole proof (`proof.strategy`).
2. Local search supplies an incumbent; it continues during the proof if its time was too short
   (`propose.local.search`).
3. The space is divided into pieces: a size, a diameter if graphs are connected and undirected, and
   for the labelled kernels a composition (how many nodes have each label). Pieces whose bound
   does not beat the incumbent are settled at once (`proof.partition`).
   If degrees are limited, as in molecules, whole sizes are settled by their skeletons instead
   (`proof.by_skeletons`).
4. CP-SAT settles the others in parallel: in each it looks for a graph better than the incumbent
   (`proof.schedule`).
5. The bound is the smallest over all pieces; an improvement becomes the answer, and a last local
   search around it must not find anything better than what was proved.

The method is explained, with the reasons why each step is exact, in ``docs/exact-engine.md``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import numpy as np

from ....batch import Batch
from ....errors import EngineError, SamplingError
from ...criterion import AnyCriterion, Criterion
from ...local.search import FirstSearch, break_tie, search
from ...proposal import Proposal, Request
from ...values import Elite
from .by_skeletons import settle_by_skeletons
from .nothing_left import explain_nothing_left
from .partition import open_pieces
from .piece import Answer, slack
from .schedule import Rounds
from .strategies.exponential import ExponentialLabelledLCB, ExponentialLCB
from .strategies.histograms import Histograms
from .strategies.improvement import ExponentialLabelledEI, LinearLabelledEI, RbfEI
from .strategies.linear import LinearLabelledLCB, LinearLCB
from .strategies.own import OwnBoxes, OwnHistograms, OwnLabelledBoxes
from .strategies.rbf import RbfLCB
from .strategies.rbf_skeletons import RbfBySkeletons
from .strategy import Strategy
from .whole_space import prove_by_listing

_CHECKED = 8  # best graphs, on which declarations of the criterion are checked
_CHECK_SECONDS = 2.0  # for drawing others

STRATEGIES: tuple[type[Strategy], ...] = (  # the first that accepts a criterion is used
    LinearLCB,
    LinearLabelledLCB,
    ExponentialLCB,
    ExponentialLabelledLCB,
    RbfLCB,
    LinearLabelledEI,
    ExponentialLabelledEI,
    RbfEI,
    RbfBySkeletons,
    Histograms,
    OwnBoxes,
    OwnHistograms,
    OwnLabelledBoxes,
)


def propose_exact(
    criterion: AnyCriterion, request: Request, first: FirstSearch | None = None
) -> Proposal:
    """The best graph of the space that is not excluded, proved if time allows.

    ``first`` is a first search that may have begun already.
    """
    first = first or FirstSearch(criterion, request)
    strategy = choose(criterion)
    if strategy is None:
        return prove_by_listing(criterion, request, first)
    return prove(strategy, request, first)


def choose(criterion: AnyCriterion) -> Strategy | None:
    """The strategy for a criterion; ``None`` if only its values are known."""
    if not isinstance(criterion, Criterion):
        return None
    accepting = (strategy for strategy in STRATEGIES if strategy.accepts(criterion))
    chosen = next(accepting, None)
    return None if chosen is None else chosen(criterion)


def prove(strategy: Strategy, request: Request, first: FirstSearch) -> Proposal:
    """The best graph of the space that is not excluded, for a criterion with a strategy."""
    criterion = strategy.criterion
    elite = first.run()
    request.report("search", criterion.units.value(elite.value), -math.inf, 0)
    criterion.refuse_false_bound(criterion.weakest_bound(), elite.value)
    until = min(request.deadline, time.monotonic() + _CHECK_SECONDS)
    strategy.check(list(elite.ties.values())[:_CHECKED], request.seed, until)
    criterion = criterion.condensed()  # every job carries it to a worker
    strategy = type(strategy)(criterion)
    value = elite.value
    by_size: Mapping[int, Answer] = {}
    if criterion.space.rules:  # otherwise nothing limits the degrees
        by_size = settle_by_skeletons(strategy, value, request, first.step)
    if strategy.only_skeletons and set(by_size) != set(criterion.space.sizes):
        for answer in by_size.values():
            if answer.graph is not None:
                elite.offer(Batch.of([answer.graph]), np.array([answer.value]))
        return prove_by_listing(criterion, request, first)
    value = min([value, *(answer.value for answer in by_size.values())])
    to_settle = open_pieces(strategy, value, request.deadline, request.stop, first.step, by_size)
    rounds = Rounds(strategy, request, first, to_settle, by_size.values())
    rounds.check_what_search_found(value)
    answers, left = rounds.run()
    elite = rounds.elite
    improved = [a for a in answers if a.graph is not None and a.value < elite.value]
    method = "search+cp-sat"
    if improved:
        best = min(improved, key=lambda answer: answer.value)
        elite = _polished(criterion, request, elite, best)
        method = "cp-sat"
    bound = min((item.bound for item in left), default=math.inf)
    if not elite.ties:
        if left:
            raise SamplingError(
                "expected to find a graph of the space that is not excluded, got none in "
                f"{request.time_limit:g} s, with {len(left)} parts of the space still open; "
                "try a larger time_limit, or fewer rules",
                out_of_time=True,
            )
        raise explain_nothing_left(criterion.space, request)
    graph = break_tie(elite.ties, request.exclude, request.seed, request.deadline)
    proved_value = min((answer.value for answer in improved), default=math.inf)
    if not left and elite.value < proved_value - slack(proved_value) < math.inf:
        units = criterion.units
        raise EngineError(
            f"{units.value(proved_value):.17g} was proved optimal, but local search then found "
            f"{units.value(elite.value):.17g}; please report this"
        )
    proved = bound >= elite.value - slack(elite.value)
    value = criterion.of_graph(graph)
    if proved:
        # the deviation of an exponential kernel may differ a little between batches
        bound = min(elite.value, value) - slack(elite.value)
    return criterion.proposal(
        graph,
        value,
        bound=min(bound, value),
        status=strategy.claim(proved=proved, bound=bound),
        seconds=request.seconds,
        method=method,
        n_evaluations=elite.n_evaluations,
    )


def _polished(criterion: Criterion, request: Request, elite: Elite, best: Answer) -> Elite:
    """Search around an improvement for ties, or for better graphs while some pieces are open."""
    assert best.graph is not None
    key = criterion.space.identity(best.graph)
    if request.late:
        return Elite(
            request.excluded,
            best.value,
            {key: best.graph},
            elite.n_evaluations,
            criterion.space.identity,
        )
    around = search(
        criterion,
        excluded=request.excluded,
        n_evaluations=20_000,
        deadline=request.deadline,
        seed=request.seed,
        starts=[best.graph],
        stop=request.stop,
    )
    around.n_evaluations += elite.n_evaluations
    if around.value > best.value + around.tolerance or not around.ties:
        around.value, around.ties = best.value, {key: best.graph}
    return around
