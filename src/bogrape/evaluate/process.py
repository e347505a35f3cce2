"""One killable process per evaluation, with limits on time and memory.

The graph reaches the process by fork, or pickled by `multiprocessing` where processes are spawned;
the outcome comes back as JSON through a pipe. The process leads a group of its own, so that
all its child processes end with it. On Linux there is a supervisor between the two, which ends the
evaluation and all its descendants however this process ends.

The workers of proofs (`bogrape.propose.jobs`) are different: they are reused, do not inherit the
memory of this process, and run only code of this package. An objective may be anything: it gets
this process's memory by fork, may start programs, and has a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, final

from ..errors import InvalidInputError
from ..graph import Graph
from .evaluator import check_limit, check_parallel
from .outcome import Objective, Outcome, evaluate
from .supervisor import adopt_orphans, die_with_parent, supervise

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_GRACE = 0.5  # seconds a process may take to end after it has answered
_ENDING = 2.0  # seconds a supervisor may take to kill what it supervises
_SUPERVISED = sys.platform == "linux"  # elsewhere a process must not fork after it has started
_STARTED = b"started"  # the first message of an evaluating process


@dataclass
class _Running:
    number: int
    process: Any  # multiprocessing's process classes have no common public base
    pipe: Connection
    deadline: float | None
    submitted: float
    is_started: bool = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.submitted


class _Sent:
    """Wrapper that pickles an objective for a spawned process and unpickles as the objective.

    It is pickled by reference if that process can import it. Objects defined in a notebook or
    within a function cannot be imported and are pickled by value.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective

    def __call__(self, graph: Graph) -> Any:
        return self._objective(graph)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        main = sys.modules["__main__"]
        if hasattr(main, "__file__") or main.__spec__ is not None:  # multiprocessing imports it
            with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
                return pickle.loads, (pickle.dumps(self._objective),)
        import cloudpickle

        return pickle.loads, (cloudpickle.dumps(self._objective),)


@final
class ProcessEvaluator:
    """Runs each evaluation in a process of its own.

    Args:
        objective: function of a graph.
        n_parallel: evaluations at the same time.
        time_limit: seconds after which an evaluation is killed; ``None`` for no limit.
        memory_limit: bytes an evaluation may use beyond those of the process at its start (Linux
            and most other Unix systems); ``None`` for no limit.
        start_method: ``fork`` (any objective; not on Windows), ``spawn`` or ``forkserver`` (the
            objective must be importable, or code and plain data that can be sent, as in a
            notebook). By default ``fork`` on Linux, else ``spawn``.
    """

    def __init__(
        self,
        objective: Objective,
        n_parallel: int = 1,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        start_method: Literal["fork", "spawn", "forkserver"] | None = None,
    ) -> None:
        import multiprocessing  # late: keeps `import bogrape` quick

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
        self._sent = objective if chosen == "fork" else _Sent(objective)
        self._running: list[_Running] = []
        self._refused: list[tuple[int, Outcome]] = []

    def submit(self, number: int, graph: Graph) -> None:
        """Start a process for the graph."""
        receiver, sender = self._context.Pipe(duplex=False)
        text = graph.to_json(names=True)
        process: Any = self._context.Process(  # type: ignore[attr-defined]
            target=_work,
            args=(sender, self._sent, text, self._memory_limit, os.getpid()),
            daemon=False,
        )
        try:
            process.start()
        except Exception as error:  # too many processes, no memory, or cannot be pickled
            receiver.close()
            reason = f"no process could be started: {type(error).__name__}: {error}"
            self._refused.append((number, Outcome("not started", reason=reason[:500])))
            return
        finally:
            sender.close()  # now the pipe ends when the process does
        now, limit = time.monotonic(), self._time_limit
        deadline = None if limit is None else now + limit
        self._running.append(_Running(number, process, receiver, deadline, now))

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Finished evaluations; those over their time limit are killed."""
        from multiprocessing.connection import wait

        until = None if timeout is None else time.monotonic() + timeout
        finished, self._refused = self._refused, []
        while self._running and not finished:
            moments = [r.deadline for r in self._running if r.deadline is not None]
            moments += [] if until is None else [until]
            pause = max(0.0, min(moments) - time.monotonic()) if moments else None
            ready = wait([r.pipe for r in self._running], pause)
            now = time.monotonic()
            for running in list(self._running):
                outcome = None
                if running.pipe in ready:
                    outcome = self._read(running)
                elif running.deadline is not None and now >= running.deadline:
                    reason = f"not finished after {self._time_limit:g} s, so it was killed"
                    outcome = Outcome("time limit", reason=reason, seconds=running.seconds)
                    self._end(running)
                if outcome is not None:
                    finished.append((running.number, outcome))
            if until is not None and now >= until:
                break
        return finished

    def _read(self, running: _Running) -> Outcome | None:
        """The answer, or an outcome derived from how the process ended; ``None`` while it runs."""
        try:
            message: bytes | None = running.pipe.recv_bytes()
        except (EOFError, OSError):
            message = None
        if message == _STARTED:
            running.is_started = True
            return None
        seconds = running.seconds
        running.process.join(_GRACE)
        code = running.process.exitcode
        self._end(running)
        if message is not None:
            return Outcome.from_json(message.decode(errors="replace"))
        if not running.is_started:
            reason = f"the process ended with exit code {code} before it called the objective"
            return Outcome("not started", reason=reason)
        if code is None or code >= 0:
            reason = f"the process ended with exit code {code} and no value"
            return Outcome("exit", reason=reason, seconds=seconds)
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        reason = f"the process was ended by {name}{hint}"
        return Outcome("killed", reason=reason, seconds=seconds)

    def _end(self, running: _Running) -> None:
        """Kill the process and its child processes, and remove it."""
        self._running.remove(running)
        pid = running.process.pid
        if running.is_started and _SUPERVISED and running.process.exitcode is None:
            running.process.terminate()  # the supervisor then kills what it supervises
            running.process.join(_ENDING)
        if hasattr(os, "killpg") and pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            running.process.kill()  # in case it died before it led a group
        running.process.join()
        running.process.close()
        running.pipe.close()

    def close(self) -> None:
        """Kill all running evaluations."""
        for running in list(self._running):
            self._end(running)


def _work(
    pipe: Connection, objective: Objective, graph: str, memory_limit: float | None, parent: int
) -> None:
    """Main function of a started process: on Linux it supervises a child, which evaluates."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that Ctrl-C at the terminal reaches only the parent
    if _SUPERVISED:
        adopt_orphans()
        child = os.fork()
        if child != 0:
            pipe.close()
            supervise(child, parent)
        die_with_parent()
    _evaluate(pipe, objective, graph, memory_limit)


def _evaluate(
    pipe: Connection, objective: Objective, graph: str, memory_limit: float | None
) -> NoReturn:
    try:
        if memory_limit is not None:
            _limit_memory(memory_limit)
        arrived = Graph.from_json(graph)
        pipe.send_bytes(_STARTED)
        outcome = evaluate(objective, arrived)
    except KeyboardInterrupt:
        outcome = Outcome("exception", reason="KeyboardInterrupt in the objective")
    with contextlib.suppress(OSError):
        pipe.send_bytes(outcome.to_json().encode())
        pipe.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # no exit handlers: they belong to the parent process


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
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)  # a limit above the system's cannot be set
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
