"""Jobs side by side in workers, any of which can be stopped at any moment.

Workers are kept between calls, since starting one takes half a second. One that misses its deadline
is killed; all end with the process that started them.

A job whose worker dies in the midst of it has no answer, and the others go on: the system may well
have ended the worker for the memory it took. A worker that cannot start, load its job or send its
answer is another matter: the next one would fare no better, so the cause is raised at once.
"""

from __future__ import annotations

import atexit
import logging
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from ...machine import n_cores
from .worker import Death, Inbox, Job, Report, Solve, Worker, broken, cannot_start

logger = logging.getLogger(__name__)

_LOOK_EVERY = 0.2  # seconds between two looks at whether to stop
_SHORT = 0.02  # seconds a short job may take
_GRACE = 0.7  # seconds a worker may take beyond its limit before it is killed
_START = 20.0  # seconds a new worker may take to get going: on a busy machine, a few


@dataclass
class _Running:
    """A job in the hands of a worker."""

    worker: Worker
    index: int
    time_limit: float
    deadline: float  # of all jobs
    due: float = 0.0

    def begin(self, job: Job, inbox: Inbox) -> None:
        """Hand the job over.

        A new worker is given time to start, up to the deadline of all jobs: one that is killed for
        it helps no one, nor does the next.
        """
        allowed = self.time_limit + (0.0 if self.worker.has_begun else _START)
        self._set_due(allowed)
        self.worker.begin(Solve(job), inbox)

    def note_begun(self) -> None:
        """The worker has loaded the job: now its time runs."""
        self._set_due(self.time_limit)

    def _set_due(self, seconds: float) -> None:
        self.due = min(time.monotonic() + seconds, self.deadline) + _GRACE


_idle: list[Worker] = []
_has_started = False  # some worker of this process, so that they can


def shut_down() -> None:
    """End all idle workers."""
    while _idle:
        _idle.pop().kill()


atexit.register(shut_down)


def solve_all(
    jobs: Sequence[Job],
    deadline: float,
    stop: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Any]]:
    """Do jobs side by side; yields ``(index, answer)`` as they come, each index once.

    While workers are busy, ``meanwhile`` is called again and again, to do something useful in this
    process for a fraction of a second; it tells whether there was anything to do.

    The answer is ``None`` for a job whose worker died or missed the deadline, for jobs whose turn
    did not come, and for all that are under way once ``stop`` says so. An exception raised by a job
    is raised here.

    Raises:
        WorkerError: a worker cannot start, cannot load its job, or cannot send its answer.
    """
    waiting = list(range(len(jobs)))[::-1]
    limit = min(n_cores(), len(jobs))
    inbox: Inbox = queue.Queue()
    busy: dict[Worker, _Running] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < limit:
                index, left = waiting.pop(), deadline - time.monotonic()
                if left <= 0 or stop():
                    yield index, None
                    continue
                job = copy(jobs[index])
                job.time_limit = min(job.time_limit, left)
                running = _Running(_ready_worker(), index, job.time_limit, deadline)
                busy[running.worker] = running
                running.begin(job, inbox)
            if busy:
                worker, report = _next_end(busy, inbox, stop, meanwhile)
                index = busy.pop(worker).index
                yield index, _answer(worker, report)
    finally:  # Ctrl-C, an error, or a caller that stops listening: leave nothing behind
        for worker in busy:
            worker.kill()


def _ready_worker() -> Worker:
    while _idle:
        worker = _idle.pop()
        if worker.alive:
            return worker
        worker.kill()  # it died while idle: close what was left open to it
    return Worker(limit_memory=True, echo=True)


def _next_end(
    busy: dict[Worker, _Running],
    inbox: Inbox,
    stop: Callable[[], bool],
    meanwhile: Callable[[], bool],
) -> tuple[Worker, Report | None]:
    """The first job that ends; ``None`` for the first that is overdue or told to stop."""
    global _has_started
    patience = _SHORT  # first of all: to keep workers busy with short jobs matters more
    while True:
        first = min(busy.values(), key=lambda running: running.due)
        left = first.due - time.monotonic()
        try:
            worker, report = inbox.get(timeout=max(0.0, min(left, patience)))
        except queue.Empty:
            if left <= patience or stop():
                return first.worker, None
            patience = 0.0 if meanwhile() else _LOOK_EVERY
            continue
        if worker not in busy:  # one that was killed for being late
            continue
        if report.kind == "begun":
            _has_started = True
            busy[worker].note_begun()
        elif report.kind != "told":
            return worker, report


def _answer(worker: Worker, report: Report | None) -> Any:
    """Answer of a finished job; workers that can continue are kept."""
    if report is not None and report.kind in ("done", "raised", "out of memory"):
        _idle.append(worker)
        if report.kind == "raised":
            raise report.item
        return report.item
    worker.kill()
    if report is None:
        return None
    if report.kind == "broken":
        raise broken(report.item)
    death: Death = report.item
    if not worker.has_begun and not (_has_started and death.by_signal):
        raise cannot_start(death)
    logger.warning("a worker process died (%s); its job has no answer", death)
    return None
