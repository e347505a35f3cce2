"""One killable process for each evaluation, with limits on time and memory.

The graph reaches the process by fork, or pickled by `multiprocessing` where processes are spawned;
the outcome comes back as JSON through a pipe. The process leads a group of its own, so that
whatever it starts is ended with it; on Linux it also ends when this process does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from ..errors import InvalidInputError
from ..graph import Graph
from .evaluator import check_limit, check_parallel
from .outcome import Objective, Outcome, evaluate
from .parent import die_with_parent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_GRACE = 0.5  # seconds a finished process may take to end after it has answered


@dataclass
class _Running:
    number: int
    process: Any  # multiprocessing's process classes have no common public base
    pipe: Connection
    deadline: float | None


@final
class ProcessEvaluator:
    """Runs each evaluation in a process of its own.

    Args:
        objective: function of a graph.
        n_parallel: evaluations at the same time.
        time_limit: seconds before an evaluation is killed; ``None`` for no limit.
        memory_limit: bytes an evaluation may take beyond what the process has at its start (Linux
            and most other Unix systems); ``None`` for no limit.
        start_method: ``fork`` (any objective; not on Windows), ``spawn`` or ``forkserver`` (the
            objective must be importable). By default ``fork`` on Linux, else ``spawn``.
    """

    def __init__(
        self,
        objective: Objective,
        n_parallel: int = 1,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        start_method: Literal["fork", "spawn", "forkserver"] | None = None,
    ) -> None:
        import multiprocessing  # late: `import bogrape` need not pay for it

        self._objective = objective
        self.n_parallel = check_parallel(n_parallel)
        self._time_limit = check_limit(time_limit, "time_limit")
        self._memory_limit = check_limit(memory_limit, "memory_limit")
        chosen = start_method or ("fork" if sys.platform == "linux" else "spawn")
        if chosen not in multiprocessing.get_all_start_methods():
            raise InvalidInputError(
                f"start_method must be one of {multiprocessing.get_all_start_methods()}, "
                f"got {start_method!r}"
            )
        self._context = multiprocessing.get_context(chosen)
        self._running: list[_Running] = []

    def submit(self, number: int, graph: Graph) -> None:
        """Start a process for the graph."""
        receiver, sender = self._context.Pipe(duplex=False)
        process: Any = self._context.Process(  # type: ignore[attr-defined]
            target=_work,
            args=(sender, self._objective, graph.to_json(), self._memory_limit, os.getpid()),
            daemon=False,
        )
        process.start()
        sender.close()  # now the pipe ends when the process does
        limit = self._time_limit
        deadline = None if limit is None else time.monotonic() + limit
        self._running.append(_Running(number, process, receiver, deadline))

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Finished evaluations; those over their time are killed."""
        from multiprocessing.connection import wait

        until = None if timeout is None else time.monotonic() + timeout
        while self._running:
            moments = [r.deadline for r in self._running if r.deadline is not None]
            moments += [] if until is None else [until]
            pause = max(0.0, min(moments) - time.monotonic()) if moments else None
            ready = wait([r.pipe for r in self._running], pause)
            now = time.monotonic()
            finished = []
            for running in list(self._running):
                if running.pipe in ready:
                    finished.append((running.number, self._collect(running)))
                elif running.deadline is not None and now >= running.deadline:
                    self._end(running)
                    reason = f"not finished after {self._time_limit:g} s, so it was killed"
                    finished.append((running.number, Outcome("time limit", reason=reason)))
            if finished or (until is not None and now >= until):
                return finished
        return []

    def _collect(self, running: _Running) -> Outcome:
        """The answer, or what the way the process ended tells."""
        try:
            text: str | None = running.pipe.recv_bytes().decode()
        except (EOFError, OSError, UnicodeDecodeError):
            text = None
        running.process.join(_GRACE)
        code = running.process.exitcode
        self._end(running)
        if text is not None:
            return Outcome.from_json(text)
        if code is None or code >= 0:
            return Outcome("exit", reason=f"the process ended with exit code {code} and no value")
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return Outcome("killed", reason=f"the process was ended by {name}{hint}")

    def _end(self, running: _Running) -> None:
        """Kill the process and all it has started, and forget it."""
        self._running.remove(running)
        pid = running.process.pid
        if hasattr(os, "killpg") and pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            running.process.kill()  # in case it died before it led a group
        running.process.join()
        running.process.close()
        running.pipe.close()

    def close(self) -> None:
        """Kill what is running."""
        for running in list(self._running):
            self._end(running)


def _work(
    pipe: Connection, objective: Objective, graph: str, memory_limit: float | None, parent: int
) -> None:
    """The life of an evaluating process."""
    _settle(parent)
    try:
        if memory_limit is not None:
            _limit_memory(memory_limit)
        outcome = evaluate(objective, Graph.from_json(graph))
    except KeyboardInterrupt:
        outcome = Outcome("exception", reason="KeyboardInterrupt in the objective")
    with contextlib.suppress(OSError):
        pipe.send_bytes(outcome.to_json().encode())
        pipe.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # no exit handlers: they belong to the process we were copied from


def _settle(parent: int) -> None:
    """Lead a group of processes, and die with the parent."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C at the terminal reaches the parent only, which decides
    die_with_parent()
    if sys.platform == "linux" and os.getppid() != parent:  # it died before that
        os._exit(1)


def _limit_memory(limit: float) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    present = 0
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        present = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = present + int(limit)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
