"""Search, then proof, then re-check: the globally best graph with a certificate.

1. Local search supplies an incumbent.
2. The space is cut into pieces: a size, a diameter where graphs are connected and undirected, and
   for the labelled kernels a composition (how many nodes have each label). Pieces whose bound
   does not beat the incumbent are settled at once (`proof.partition`).
3. CP-SAT settles the others, side by side, each asked for a graph better than the incumbent
   (`proof.schedule`).
4. The bound is the smallest over all pieces; an improvement becomes the answer, and a last local
   search around it must not find anything better than what was proved.

The method is explained, with the reasons why each step is exact, in ``docs/exact-engine.md``.
"""

from __future__ import annotations

import math
import time
from typing import TypeGuard

from ....acquisition import EI, LCB
from ....errors import EngineError, SamplingError
from ....kernels import is_published
from ...criterion import AnyCriterion, Criterion
from ...local.search import Elite, find_any, search
from ...local.ties import break_tie
from ...proposal import Proposal, Status
from ...request import Request
from ..bounds.quick_bounds import norm_bound, refuse_false_bound
from .nothing_left import explain_nothing_left
from .partition import open_pieces
from .piece import Answer, slack
from .schedule import Rounds

_SEARCH_SHARE = 0.3  # of the time limit, at most, for the incumbent


def accepts(objective: AnyCriterion) -> TypeGuard[Criterion]:
    """Whether the engine has more to say than a look at every graph would.

    It knows LCB and EI with the paper's kernels, and tables of counts for every acquisition and
    every kernel that depends on no labels along paths.
    """
    if not isinstance(objective, Criterion):
        return False
    if not objective.labelled or objective.space.n_labels == 1:
        return True
    known = isinstance(objective.acquisition, (LCB, EI))
    return known and is_published(objective.posterior.model.kernel)


def propose_exact(objective: Criterion, request: Request) -> Proposal:
    """The best graph of the space that is not excluded, proved if time allows."""
    until = min(request.deadline, time.monotonic() + _SEARCH_SHARE * request.time_limit)
    elite = search(
        objective,
        excluded=request.excluded,
        n_evaluations=request.n_evaluations,
        deadline=until,
        seed=request.seed,
        starts=request.starts,
        stop=request.stop,
    )
    if not elite.ties and time.monotonic() >= until:
        find_any(objective, elite, request)
    request.report("search", objective.units.value(elite.value), -math.inf, 0)
    refuse_false_bound(objective, norm_bound(objective), elite.value)
    objective = objective.condensed()  # every task carries it to another process
    to_settle = open_pieces(objective, elite.value, request.deadline, request.stop)
    rounds = Rounds(objective, request, elite, to_settle)
    answers, left = rounds.run()
    elite = rounds.elite
    improved = [a for a in answers if a.graph is not None and a.value < elite.value]
    method = "search+cp-sat"
    if improved:
        best = min(improved, key=lambda answer: answer.value)
        elite = _polished(objective, request, elite, best)
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
        raise explain_nothing_left(objective.space, request)
    graph = break_tie(elite.ties, request.exclude, request.seed, request.deadline)
    proved_value = min((answer.value for answer in improved), default=math.inf)
    if not left and elite.value < proved_value - slack(proved_value) < math.inf:
        units = objective.units
        raise EngineError(
            f"{units.value(proved_value):.17g} was proved optimal, but local search then found "
            f"{units.value(elite.value):.17g}; please report this"
        )
    proved = bound >= elite.value - slack(elite.value)
    status: Status = "optimal" if proved else "time_limit"
    if bound == -math.inf:
        status = "heuristic"
    value = objective.of_graph(graph)
    if proved:
        # the deviation of an exponential kernel may differ a little between batches
        bound = min(elite.value, value) - slack(elite.value)
    return objective.proposal(
        graph,
        value,
        bound=min(bound, value),
        status=status,
        seconds=request.seconds,
        method=method,
        n_evaluations=elite.n_evaluations,
    )


def _polished(objective: Criterion, request: Request, elite: Elite, best: Answer) -> Elite:
    """Look around an improvement for ties (or better, while some pieces are open)."""
    assert best.graph is not None
    key = objective.space.identity(best.graph)
    if request.late:
        return Elite(
            request.excluded,
            best.value,
            {key: best.graph},
            elite.n_evaluations,
            objective.space.identity,
        )
    around = search(
        objective,
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
