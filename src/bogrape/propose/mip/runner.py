"""Solve a `Program` in a process of its own, which can always be stopped.

Solvers overshoot their time limits, hold on to Ctrl-C, crash and run out of memory. So each solve
runs in a child process under a hard deadline. Solutions and bounds reach the parent as they are
found: when the child has to be killed at the deadline, what it found until then is the answer.
The child ends by itself when the parent dies, since its standard input closes.

This is no `multiprocessing`: that would import the user's main module again in the child.
"""

from __future__ import annotations

import math
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import IO

from ...errors import SolverError
from ..jobs.child import command
from .program import Program
from .solution import Failure, Found, Limits, Solution
from .worker import read_message, write_message

ADAPTERS = {"scip": "bogrape.propose.mip.scip", "gurobi": "bogrape.propose.mip.gurobi"}
_GRACE = 0.5  # seconds a solver may overshoot its own limit before it is killed
_POLL = 0.2  # seconds between looks at the clock, and at Ctrl-C caught by another thread

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
    """Solve in a child process within ``limits.seconds``; what was found by then is returned.

    Raises:
        SolverError: the solver or its licence is missing, the program exceeds the licence, memory
            ran out, or the process crashed.
    """
    began = time.monotonic()
    deadline = began + limits.seconds
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            command("bogrape.propose.mip.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the parent to handle
        )
        try:
            job = (adapter or ADAPTERS[solver], program, limits, start, time.time())
            answer = _converse(child, job, deadline)
        finally:
            child.kill()
            code = child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    _close(pipe)
        if isinstance(answer, Solution):
            return replace(answer, seconds=time.monotonic() - began)
        if answer is None:
            answer = _crash(code, log)
    raise SolverError(f"{solver}: {answer.message}; {_REMEDY[answer.kind]}", kind=answer.kind)


def _converse(
    child: subprocess.Popen[bytes], job: object, deadline: float
) -> Solution | Failure | None:
    """Send the job and gather what comes; None when the child ended without an answer."""
    inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
    threading.Thread(target=_talk, args=(child, job, inbox), daemon=True).start()
    bound, found = -math.inf, list[Found]()
    while True:
        left = deadline + _GRACE - time.monotonic()
        try:
            message = inbox.get(timeout=min(max(0.0, left), _POLL))
        except queue.Empty:
            if left > 0:
                continue
            best = tuple(sorted(found, key=lambda f: f.objective))
            return Solution("time_limit", bound, best)
        if isinstance(message, Found):
            found.append(message)
        elif isinstance(message, float):
            bound = max(bound, message)
        elif isinstance(message, (Solution, Failure)):
            return message
        else:
            return None


def _talk(child: subprocess.Popen[bytes], job: object, inbox: queue.SimpleQueue[object]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        write_message(child.stdin, job)
        while True:
            inbox.put(read_message(child.stdout))
    except Exception:  # the child is gone, or sent what nobody can read
        child.poll()
        inbox.put(None)


def _crash(code: int, log: IO[bytes]) -> Failure:
    log.seek(0)
    tail = log.read()[-500:].decode(errors="replace").strip()
    if code == -signal.SIGKILL:
        return Failure("memory", "the solver's process was killed, most likely for want of memory")
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    return Failure("failed", f"the solver's process crashed ({name}{': ' if tail else ''}{tail})")


def _close(pipe: IO[bytes]) -> None:
    with suppress(OSError):
        pipe.close()
