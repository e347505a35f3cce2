"""`propose_mip`: the paper's program, solved by SCIP or Gurobi, with a certificate.

1. Local search finds a start. 2. The program is built (`bogrape.propose.mip.build`) and, in a
separate process, solved from that start. 3. Every solution is decoded, checked against the space
and the exclusions, and its value recomputed. 4. If the best of them is excluded, it is forbidden
and the program solved again; until then the bound of the first solve holds, since it covers more
graphs.

The solver's own value of its best solution is `Proposal.claimed`. With the published form it may
differ from the true value, since K⁻¹ amplifies the solver's tolerance. The answer is called optimal
only if the recomputed value meets the bound, both standardised, within ``1e-6`` plus ``kappa *
sqrt(tau * prior)``, the error of LCB that the tolerance τ of the variance row allows; if a larger
gap was requested, the status is ``time_limit``. If K⁻¹ is so large that the solver's sums mean
nothing, no bound is given: ``heuristic``.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import (
    BoGrapeError,
    InfeasibleSpaceError,
    InvalidInputError,
    SamplingError,
    SearchSpaceExhausted,
)
from ...graph import Graph
from ..criterion import Criterion
from ..local.search import break_tie, search
from ..proposal import Proposal, Request, Status
from ..values import RECOMPUTED, TIE, room
from .build import AcquisitionProgram, OutOfTime, refuse_checked_rules
from .export import write_program
from .options import MipOptions
from .posterior import encodable
from .runner import ADAPTERS, run
from .solution import Limits, Solution

logger = logging.getLogger(__name__)
_SEARCH_SHARE = 0.3  # of the time limit, at most, for the start
_DEFAULT_TOLERANCE = {"weight": 1e-8, "function": None}
_SOLVERS_OWN = 1e-6  # default feasibility tolerance of SCIP and Gurobi
_LARGEST_INVERSE = 5e4  # entry of K⁻¹ up to which bounds are trusted
_DECODE = 0.5  # seconds reserved for decoding after the solve


@dataclass
class _Best:
    """The best graph so far that may be proposed, and the solver's value of its best solution."""

    graph: Graph | None = None
    value: float = math.inf
    claimed: float | None = None

    def offer(self, graph: Graph, value: float) -> None:
        """Keep a graph if it is better by more than rounding."""
        if self.graph is None or value < self.value - room(TIE, value):
            self.graph, self.value = graph, value


def check_choices(solver: object, options: Any) -> tuple[str, MipOptions]:
    """Name of the solver, and all options; an error lists the possible ones."""
    name = "scip" if solver is None else str(solver).lower()
    if name not in ADAPTERS:
        raise InvalidInputError(
            f"unknown solver {solver!r:.100} for method 'mip'; choose one of {', '.join(ADAPTERS)}"
        )
    return name, MipOptions.of(options)


def propose_mip(objective: Criterion, request: Request) -> Proposal:
    """The graph with the smallest acquisition value, by the paper's mixed-integer program."""
    solver, options = check_choices(request.solver, request.options)
    encodable(objective.posterior.model.kernel)
    refuse_checked_rules(objective.space)
    best, n_evaluations = _start(objective, request, options)
    method = f"search+{solver}" if best.graph is not None else solver
    bound, finished, allowance = -math.inf, False, 0.0
    try:
        encoded = AcquisitionProgram(objective, options, request.deadline)
        if options.write is not None:
            write_program(encoded.program, options.write)
        tolerance = options.tolerance or _DEFAULT_TOLERANCE[encoded.form]
        allowance = objective.error_of_solver(tolerance or _SOLVERS_OWN)
        limits = Limits(
            gap=options.gap,
            threads=options.threads,
            memory=options.memory,
            tolerance=tolerance,
            pool=options.pool,
            seed=request.seed,
        )
        bound, finished = _solve(
            objective, request, encoded, best, solver=solver, limits=limits, allowance=allowance
        )
    except OutOfTime:
        logger.debug("no time to write the program down; the start is returned without a bound")
    if (finished or bound > -math.inf) and not _is_sound(objective, encoded.form):
        logger.warning("K⁻¹ is too large for a reliable bound by %s; the bound is left out", solver)
        bound, finished = -math.inf, False
    if best.graph is None:
        raise _nothing(objective, request, finished)
    status: Status = "heuristic"
    if bound > -math.inf:
        closed = bound >= best.value - _closeness(best.value, 0.0, allowance)
        status = "optimal" if finished and closed else "time_limit"
    return objective.proposal(
        best.graph,
        best.value,
        bound=min(bound, best.value),
        status=status,
        claimed=best.claimed,
        seconds=request.seconds,
        method=method,
        n_evaluations=n_evaluations,
    )


def _start(objective: Criterion, request: Request, options: MipOptions) -> tuple[_Best, int]:
    best = _Best()
    if not options.warm_start:
        return best, 0
    elite = search(
        objective,
        excluded=request.excluded,
        n_evaluations=options.warm_start,
        deadline=min(request.deadline, time.monotonic() + _SEARCH_SHARE * request.time_limit),
        seed=request.seed,
        starts=request.starts,
        stop=request.stop,
    )
    if elite.ties:
        graph = break_tie(elite.ties, request.exclude, request.seed, request.deadline)
        best.offer(graph, objective.of_graph(graph))
    return best, elite.n_evaluations


def _solve(
    objective: Criterion,
    request: Request,
    encoded: AcquisitionProgram,
    best: _Best,
    *,
    solver: str,
    limits: Limits,
    allowance: float,
) -> tuple[float, bool]:
    """Solve until the best solution may be proposed; returns a bound and True if finished."""
    program = encoded.program
    names = [variable.name for variable in program.variables]
    margin = _misfit(objective, encoded, best, request.deadline)
    bound = -math.inf
    forbidden: set[Graph] = set()
    while True:
        seconds = request.deadline - time.monotonic() - _DECODE
        if seconds <= 0.05:
            return bound, False
        start = None if best.graph is None else program.vector(encoded.start(best.graph))
        solution = run(program, replace(limits, seconds=seconds), start, solver)
        excluded: set[Graph] = set()
        if solution.found:
            best.claimed = solution.found[0].objective
        for found in solution.found:
            graph = encoded.decode(dict(zip(names, found.values, strict=True)))
            if not objective.space.contains(graph):
                continue  # violates the space within the solver's tolerance
            value = objective.of_graph(graph)
            if request.identify(graph) in request.excluded:
                excluded.add(graph)
            else:
                best.offer(graph, value)
        bound = max(bound, _bound(solution, best, margin))
        if solution.status not in ("optimal", "gap_limit", "infeasible"):
            return bound, False
        close = _closeness(best.value, limits.gap, allowance) if best.graph is not None else 0.0
        if bound >= best.value - close or not excluded - forbidden:
            return bound, True
        for graph in excluded:
            if graph not in forbidden:  # a copy of an earlier one may be forbidden already
                forbidden |= encoded.forbid(graph, f"excluded[{len(forbidden)}]")


def _closeness(value: float, gap: float, allowance: float) -> float:
    """Largest difference of value and bound at which the gap counts as closed."""
    return room(max(RECOMPUTED, gap), value) + allowance


def _bound(solution: Solution, best: _Best, margin: float) -> float:
    """Lower bound for all graphs that are not excluded; the best value if there are none."""
    return best.value if solution.status == "infeasible" else solution.bound - margin


def _misfit(
    objective: Criterion, encoded: AcquisitionProgram, best: _Best, deadline: float
) -> float:
    """Largest excess of the program over true values on known graphs, since K⁻¹ loses digits."""
    try:
        graphs = objective.space.sample(8, seed=0, deadline=deadline)
    except SamplingError as error:
        graphs = list(error.graphs)  # those found in time
    worst = 0.0
    for graph in ([best.graph] if best.graph is not None else []) + graphs:
        claim = encoded.program.value(encoded.lift(graph))
        worst = max(worst, claim - objective.of_graph(graph))
    return worst


def _is_sound(objective: Criterion, form: str) -> bool:
    """True if the numbers in the rows of the posterior are small enough for a solver.

    If graphs are observed twice, or are equal to the kernel, the published form has entries near
    ``1 / noise``. Then SCIP has been seen to miss the better of two graphs, whatever its tolerance,
    and to call a feasible program infeasible.
    """
    if form == "weight":
        return True
    covariance = objective.posterior.model.covariance()
    return bool(np.abs(np.linalg.inv(covariance)).max() <= _LARGEST_INVERSE)


def _nothing(objective: Criterion, request: Request, finished: bool) -> BoGrapeError:
    """Error that says why there is no graph to propose."""
    if finished and not request.excluded:
        rules = [rule.name for rule in objective.space.rules]
        return InfeasibleSpaceError(
            "no graph satisfies all rules of the space: "
            f"{objective.space.describe()}; try dropping or loosening one",
            rules,
        )
    if finished:
        return SearchSpaceExhausted(
            f"every graph of the space is among the {len(request.excluded)} excluded ones; "
            "widen the space"
        )
    return SamplingError(
        "expected to find a graph of the space that is not excluded, got none in "
        f"{request.seconds:.1f} s, and no proof that there is none; try a larger time_limit, "
        'method="exact", or fewer rules'
    )
