"""SCIP: translate a `Program`, solve it, translate the answer back."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from .program import Program
from .solution import Failure, Found, Limits, Report, Solution, SolverFailed, Status

_KINDS = {"binary": "B", "integer": "I", "continuous": "C"}
_STATUS: dict[str, Status] = {
    "optimal": "optimal",
    "gaplimit": "gap_limit",
    "timelimit": "time_limit",
    "memlimit": "memory_limit",
    "infeasible": "infeasible",
    "inforunbd": "infeasible",  # every variable of the objective is bounded by rows
}
_BOUND_EVERY = 0.5  # seconds between two reports of the bound


def translate(program: Program) -> tuple[Any, list[Any]]:
    """The SCIP model of a program and its variables, in the same order."""
    try:
        import pyscipopt
    except ImportError as error:
        raise SolverFailed(Failure("missing", f"pyscipopt cannot be imported: {error}")) from None
    model = pyscipopt.Model("bogrape")
    model.hideOutput()
    x = [
        model.addVar(v.name, _KINDS[v.kind], lb=_bound(v.low), ub=_bound(v.high))
        for v in program.variables
    ]
    for row in program.rows:
        parts = [c * x[i] for i, c in row.terms] + [c * x[i] * x[j] for i, j, c in row.quadratic]
        body = pyscipopt.quicksum(parts) if parts else 0.0 * x[0]
        if row.low == row.high:
            model.addCons(body == row.low, row.name)
            continue
        if row.low > -math.inf:
            model.addCons(body >= row.low, row.name)
        if row.high < math.inf:
            model.addCons(body <= row.high, row.name)
    for exp in program.exponentials:
        model.addCons(pyscipopt.exp(x[exp.argument]) == x[exp.result], exp.name)
    terms = [c * x[i] for i, c in program.objective.terms.items()]
    objective = pyscipopt.quicksum(terms) if terms else 0.0
    model.setObjective(objective + program.objective.constant, "minimize")
    return model, x


def solve(
    program: Program,
    limits: Limits,
    start: Sequence[float] | None = None,
    report: Report | None = None,
) -> Solution:
    """Solve a program with SCIP; ``start`` is a feasible point."""
    if program.contradictions():
        return Solution("infeasible", bound=math.inf)
    began = time.monotonic()
    model, x = translate(program)
    model.setParam("limits/time", max(0.01, limits.seconds))
    model.setParam("limits/gap", limits.gap)
    model.setParam("limits/absgap", 1e-9)
    model.setParam("limits/maxorigsol", max(limits.pool, 10))
    model.setParam("limits/maxsol", max(limits.pool, 10))
    model.setParam("randomization/randomseedshift", limits.seed % 2**30)
    model.setParam("misc/catchctrlc", False)
    if limits.memory is not None:
        model.setParam("limits/memory", limits.memory)
    if limits.tolerance is not None:
        model.setParam("numerics/feastol", limits.tolerance)
        model.setParam("numerics/dualfeastol", min(limits.tolerance, 1e-7))
    if start is not None:
        _give(model, x, start)
    if report is not None:
        _listen(model, x, report)
    model.optimizeNogil()
    status = _STATUS.get(model.getStatus(), "stopped")
    found = sorted(
        (
            Found(model.getSolObjVal(s), tuple(float(model.getSolVal(s, v)) for v in x))
            for s in model.getSols()[: limits.pool]
        ),
        key=lambda f: f.objective,
    )
    bound = model.getDualbound() if status != "infeasible" else math.inf
    bound = -math.inf if bound <= -1e20 else float(bound)
    seconds = time.monotonic() - began
    n_nodes = int(model.getNTotalNodes())
    return Solution(status, bound=bound, found=tuple(found), seconds=seconds, n_nodes=n_nodes)


def write_cip(program: Program, path: str) -> None:
    """Write the program in SCIP's CIP format."""
    model, _ = translate(program)
    model.writeProblem(path, verbose=False)


def _bound(value: float) -> float | None:
    return None if math.isinf(value) else value


def _give(model: Any, x: list[Any], start: Sequence[float]) -> None:
    solution = model.createSol()
    for variable, value in zip(x, start, strict=True):
        model.setSolVal(solution, variable, value)
    model.addSol(solution)  # kept if SCIP finds it feasible


def _listen(model: Any, x: list[Any], report: Report) -> None:
    from pyscipopt import Eventhdlr
    from pyscipopt.scip import PY_SCIP_EVENTTYPE as SCIP_EVENTTYPE

    class Listener(Eventhdlr):
        """Reports every better solution, and from time to time the bound."""

        told = 0.0

        def eventinit(self) -> None:
            """Subscribe to the events."""
            self.model.catchEvent(SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexec(self, event: Any) -> None:
            """Pass an event on."""
            if event.getType() == SCIP_EVENTTYPE.BESTSOLFOUND:
                best = self.model.getBestSol()
                values = tuple(float(self.model.getSolVal(best, v)) for v in x)
                report.tell(Found(self.model.getSolObjVal(best), values))
            if time.monotonic() - self.told > _BOUND_EVERY:
                self.told = time.monotonic()
                bound = self.model.getDualbound()
                if -1e20 < bound < 1e20:
                    report.tell(float(bound))

    model.includeEventhdlr(Listener(), "report", "solutions and bounds")
