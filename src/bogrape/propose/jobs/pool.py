"""Solves run in processes of their own, so that any of them can be stopped at any moment.

A worker runs `main` below: it reads tasks from its standard input and writes answers to its
standard output. (It is not a `multiprocessing` process: those import the user's script again, which
surprises scripts without a main guard.) Workers are kept between calls, since starting one takes
half a second. One that misses its deadline is killed; all end with the
process that started them, however that ends, because their standard input closes.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Protocol

from ...machine import limit_memory, n_cores
from . import child


class Job(Protocol):
    """What a worker can be asked to do."""

    time_limit: float  # seconds

    def solve(self) -> Any:
        """The answer; runs in the worker."""


_HEADER = struct.Struct("<Q")
_LOOK_EVERY = 0.2  # seconds between two looks at whether to stop
_GRACE = 0.7  # seconds a worker may take beyond its limit before it is killed
_START = 20.0  # seconds a new worker may take to get going: on a busy machine, a few


class _Worker:
    """A running worker process."""

    def __init__(self) -> None:
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(threads, "1")}
        self._process = subprocess.Popen(
            child.command("bogrape.propose.jobs.pool"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C is for the parent, which then ends its workers
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._owner = os.getpid()
        self.index = -1
        self.due = 0.0
        self.is_new = True  # nothing is known of it yet: it may still be starting

    @property
    def alive(self) -> bool:
        """Whether the process still runs, and is ours (not a forked parent's)."""
        return self._owner == os.getpid() and self._process.poll() is None

    def start(
        self, index: int, job: Job, answers: queue.Queue[tuple[_Worker, Any]], deadline: float
    ) -> None:
        """Hand over a job; ``(self, answer)`` is put on the queue when it is done.

        The answer is ``None`` if the process dies instead. A new worker is given time to start, up
        to the deadline of all jobs: one that is killed for it helps no one, nor does the next.
        """
        due = time.monotonic() + job.time_limit
        if self.is_new:
            due = max(due, min(due + _START, deadline))
        self.index, self.due = index, due + _GRACE

        def wait() -> None:  # in a thread: pipes cannot be waited for in any other portable way
            try:
                _write(self._process.stdin, job)
                answer = _read(self._process.stdout)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                answer = None
            answers.put((self, answer))

        threading.Thread(target=wait, daemon=True).start()

    def kill(self) -> None:
        """End the process at once."""
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]


_idle: list[_Worker] = []


def shut_down() -> None:
    """End all idle workers."""
    while _idle:
        _idle.pop().kill()


atexit.register(shut_down)


def solve_all(
    jobs: Sequence[Job], deadline: float, stop: Callable[[], bool] = lambda: False
) -> Iterator[tuple[int, Any]]:
    """Do jobs side by side; yields ``(index, answer)`` as they come, each index once.

    The answer is ``None`` for a job whose worker died or missed the deadline, for jobs whose turn
    did not come, and for all that are under way once ``stop`` says so. An exception raised by a job
    is raised here.
    """
    waiting = list(range(len(jobs)))[::-1]
    limit = min(n_cores(), len(jobs))
    answers: queue.Queue[tuple[_Worker, Any]] = queue.Queue()
    busy: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < limit:
                index, left = waiting.pop(), deadline - time.monotonic()
                if left <= 0 or stop():
                    yield index, None
                    continue
                job = copy(jobs[index])
                job.time_limit = min(job.time_limit, left)
                worker = _ready_worker()
                busy.append(worker)
                worker.start(index, job, answers, deadline)
            if busy:
                worker, answer = _next_answer(busy, answers, stop)
                busy.remove(worker)
                if answer is None:
                    worker.kill()
                else:
                    worker.is_new = False
                    _idle.append(worker)
                if isinstance(answer, BaseException):
                    raise answer
                yield worker.index, answer
    finally:  # Ctrl-C, an error, or a caller that stops listening: leave nothing behind
        for worker in busy:
            worker.kill()


def _ready_worker() -> _Worker:
    while _idle:
        worker = _idle.pop()
        if worker.alive:
            return worker
        worker.kill()  # it died while idle: close what was left open to it
    return _Worker()


def _next_answer(
    busy: list[_Worker], answers: queue.Queue[tuple[_Worker, Any]], stop: Callable[[], bool]
) -> tuple[_Worker, Any]:
    """The first answer, or ``None`` for the first worker that is overdue or told to stop."""
    while True:
        first_due = min(busy, key=lambda worker: worker.due)
        left = first_due.due - time.monotonic()
        try:
            worker, answer = answers.get(timeout=max(0.0, min(left, _LOOK_EVERY)))
        except queue.Empty:
            if left <= _LOOK_EVERY or stop():
                return first_due, None
            continue
        if worker in busy:  # else one that was killed for being late
            return worker, answer


def _write(stream: Any, item: object) -> None:
    data = pickle.dumps(item)
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def _read(stream: Any) -> Any:
    (length,) = _HEADER.unpack(_exactly(stream, _HEADER.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: Any, size: int) -> bytes:
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> None:
    """Answer tasks until standard input closes."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to standard error, not between the answers
    limit_memory()
    tasks: queue.Queue[Job] = queue.Queue()

    def listen() -> None:
        while True:
            try:
                tasks.put(_read(stdin))
            except (EOFError, MemoryError):
                os._exit(0)  # the parent is gone, even if a solve is under way; or the task too big

    threading.Thread(target=listen, daemon=True).start()
    while True:
        task = tasks.get()
        try:
            result: object = task.solve()
        except MemoryError:  # as if the process had died of it: another one takes over
            result = None
        except Exception as error:  # handed to the parent, which raises it
            result = error
        _write(stdout, result)
