"""Solve a `Program` in a separate process, which can always be stopped.

Solvers overshoot their time limits, block Ctrl-C, crash and run out of memory. So each solve runs
in its own worker under a hard deadline. Solutions and bounds reach this process as they are found:
if the worker has to be killed at the deadline, the best ones so far are the answer.
"""

from __future__ import annotations

import importlib
import math
import queue
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import SolverError
from ..jobs.worker import Death, Inbox, Tell, Worker, broken, cannot_start
from .program import Program
from .solution import Failure, Found, Limits, Report, Solution, SolverFailed

ADAPTERS = {"scip": "bogrape.propose.mip.scip", "gurobi": "bogrape.propose.mip.gurobi"}
_GRACE = 0.5  # seconds a solver may overshoot its own limit before it is killed
_POLL = 0.2  # seconds between checks of the clock, and for Ctrl-C caught by another thread

_REMEDY = {
    "missing": 'try pip install "bogrape[gurobi]" for Gurobi, or solver="scip"',
    "licence": 'install a licence (gurobi.com, free for academics), or try solver="scip"',
    "size": (
        "the licence that comes with gurobipy allows 2000 variables and 2000 rows, and 200 "
        "variables once a row is quadratic or exponential; try a full licence, a smaller space, or "
        'solver="scip"'
    ),
    "memory": "try a smaller space, fewer labels, or method='search'",
    "failed": "try another solver, another form, or write the program with options={'write': path}",
}


def run(
    program: Program,
    limits: Limits,
    start: Sequence[float] | None = None,
    solver: str = "scip",
    adapter: str | None = None,
) -> Solution:
    """Solve in a child process within ``limits.seconds``; returns the best found by then.

    Raises:
        SolverError: the solver or its licence is missing, the program exceeds the licence, memory
            ran out, or the process crashed.
        WorkerError: the process could not be started, or could not load the program.
    """
    began = time.monotonic()
    worker = Worker()
    try:
        task = _Solve(
            adapter=adapter or ADAPTERS[solver],
            program=program,
            limits=limits,
            start=start,
            sent=time.time(),
        )
        answer = _converse(worker, task, began + limits.seconds)
    finally:
        worker.kill()
    if isinstance(answer, Solution):
        return replace(answer, seconds=time.monotonic() - began)
    raise SolverError(f"{solver}: {answer.message}; {_REMEDY[answer.kind]}", kind=answer.kind)


@dataclass(frozen=True, kw_only=True)
class _Solve:
    """One solve, as the task of a worker."""

    adapter: str  # the module that calls the solver
    program: Program
    limits: Limits
    start: Sequence[float] | None
    sent: float  # `time.time` value: starting up counts towards the limit

    def __call__(self, tell: Tell) -> Solution | Failure:
        late = min(max(0.0, time.time() - self.sent), self.limits.seconds)
        limits = replace(self.limits, seconds=self.limits.seconds - late)
        try:
            module = importlib.import_module(self.adapter)
            solution: Solution = module.solve(self.program, limits, self.start, Report(tell))
        except SolverFailed as error:
            return error.failure
        except MemoryError:
            return Failure("memory", "the solver ran out of memory")
        except Exception as error:
            return Failure("failed", f"{type(error).__name__}: {error}")
        return solution


def _converse(worker: Worker, task: _Solve, deadline: float) -> Solution | Failure:
    """Hand over the task and collect reports, until the deadline at the latest."""
    inbox: Inbox = queue.Queue()
    worker.begin(task, inbox)
    bound, found = -math.inf, list[Found]()
    while True:
        left = deadline + _GRACE - time.monotonic()
        try:
            _, report = inbox.get(timeout=min(max(0.0, left), _POLL))
        except queue.Empty:
            if left > 0:
                continue
            best = tuple(sorted(found, key=lambda f: f.objective))
            return Solution("time_limit", bound=bound, found=best)
        match report.kind:
            case "told" if isinstance(report.item, Found):
                found.append(report.item)
            case "told":
                bound = max(bound, report.item)
            case "done":
                return report.item  # type: ignore[no-any-return]
            case "out of memory":
                return Failure("memory", "the program is larger than the memory")
            case "died" if worker.has_begun:
                return _crash(report.item)
            case "died":
                raise cannot_start(report.item)
            case "raised" | "broken":
                raise broken(str(report.item))


def _crash(death: Death) -> Failure:
    if death.code == -signal.SIGKILL:
        return Failure("memory", "the solver's process was killed, most likely for lack of memory")
    return Failure("failed", f"the solver's process crashed ({death})")
