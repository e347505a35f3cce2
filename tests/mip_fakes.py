"""Solvers that misbehave, for the tests of the runner; each is run in a child process."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from bogrape.propose.mip.solution import Failure, Found, Solution, SolverFailed


def solve(program: Any, _limits: Any, _start: Any, report: Any) -> Solution:
    """Misbehave in the way that the name of the program's first variable says."""
    what = program.variables[0].name
    if what == "print":
        print("garbage on standard output", flush=True)
        os.write(1, b"more of it")
        return Solution("optimal", bound=1.0, found=(Found(1.0, (1.0,)),))
    if what == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        report.tell(Found(3.0, (0.0,)))
        report.tell(Found(2.0, (1.0,)))
        report.tell(-7.0)
        time.sleep(3600)
    if what == "segfault":
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "oom-killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "memory":
        raise MemoryError
    if what == "exit":
        os._exit(3)
    if what in ("missing", "licence", "size"):
        raise SolverFailed(Failure(what, f"it is {what}"))  # type: ignore[arg-type]
    raise RuntimeError("no idea what to do")
