"""Jobs side by side in workers, any of which can be stopped at any moment.

A `Pool` owns the workers. Those of `ProcessPool`, which is used unless `using` sets another pool,
are processes on this machine; those of `bogrape.propose.jobs.dask_pool` are places on a cluster.

Processes are kept between calls, since starting one takes half a second. One that misses its
deadline is killed; all end with the process that started them.

A job whose worker dies while doing it has no answer, and the others go on: the system may have
killed the worker because it used too much memory. If a worker cannot start, load its job or send
its answer, the next one would fail as well, so the cause is raised at once.
"""

from __future__ import annotations

import atexit
import logging
import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any

from ...machine import n_cores
from .worker import AnyWorker, Death, Inbox, Job, Report, Solve, Worker, broken, cannot_start

logger = logging.getLogger(__name__)

_LOOK_EVERY = 0.2  # seconds between two checks for a stop
_SHORT = 0.02  # seconds a short job may take
_GRACE = 0.7  # seconds a worker may take beyond its limit before it is killed
START = 20.0  # seconds a new worker may take to start; on a busy machine it takes a few


@dataclass
class _Running:
    """A job that a worker is doing."""

    worker: AnyWorker
    index: int
    time_limit: float
    deadline: float  # of all jobs
    due: float = 0.0

    def begin(self, job: Job, inbox: Inbox, extra: float) -> None:
        """Hand over the job; the worker may take ``extra`` seconds, up to the common deadline."""
        self._set_due(self.time_limit + extra)
        self.worker.begin(Solve(job), inbox)

    def note_begun(self) -> None:
        """Start the time limit, once the worker has loaded the job."""
        self._set_due(self.time_limit)

    def _set_due(self, seconds: float) -> None:
        self.due = min(time.monotonic() + seconds, self.deadline) + _GRACE


class Pool(ABC):
    """Workers that do jobs side by side."""

    @property
    def is_open(self) -> bool:
        """True if jobs can be handed out."""
        return True

    @abstractmethod
    def n_workers(self) -> int:
        """Number of jobs to do at the same time; at least one."""

    @abstractmethod
    def worker(self) -> AnyWorker:
        """An idle worker."""

    @abstractmethod
    def extra_seconds(self, worker: AnyWorker, time_limit: float) -> float:
        """Seconds a worker may take beyond the time limit of a job."""

    def keep(self, worker: AnyWorker) -> None:  # noqa: B027
        """Take back a worker that can do more jobs."""

    def solve_all(
        self,
        jobs: Sequence[Job],
        deadline: float,
        stop: Callable[[], bool],
        meanwhile: Callable[[], bool],
    ) -> Iterator[tuple[int, Any]]:
        """See `solve_all`."""
        waiting = list(range(len(jobs)))[::-1]
        inbox: Inbox = queue.Queue()
        busy: dict[AnyWorker, _Running] = {}
        try:
            while waiting or busy:
                limit = self.n_workers() if waiting else 0  # workers may join a cluster
                while waiting and len(busy) < limit:
                    index, left = waiting.pop(), deadline - time.monotonic()
                    if left <= 0 or stop() or not self.is_open:
                        yield index, None
                        continue
                    job = copy(jobs[index])
                    job.time_limit = min(job.time_limit, left)
                    running = _Running(self.worker(), index, job.time_limit, deadline)
                    busy[running.worker] = running
                    extra = self.extra_seconds(running.worker, job.time_limit)
                    running.begin(job, inbox, extra)
                if busy:
                    worker, report = _next_end(busy, inbox, stop, meanwhile)
                    index = busy.pop(worker).index
                    yield index, self._answer(worker, report)
        finally:  # Ctrl-C, an error, or a caller that stops listening: leave nothing behind
            for worker in busy:
                worker.kill()

    def _answer(self, worker: AnyWorker, report: Report | None) -> Any:
        """The answer that a job ended with; a worker that can do more jobs is kept."""
        if report is not None and report.kind in ("done", "raised", "out of memory"):
            self.keep(worker)
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


_idle: list[Worker] = []
_has_started = False  # True once a worker of this process has started, so that others can, too


class ProcessPool(Pool):
    """Processes on this machine, one per core; all pools of this kind share the idle ones."""

    def n_workers(self) -> int:
        """Number of cores this process may use."""
        return n_cores()

    def worker(self) -> AnyWorker:
        """An idle process, or a new one."""
        while _idle:
            try:
                worker = _idle.pop()
            except IndexError:  # another thread was quicker
                break
            if worker.alive:
                return worker
            worker.kill()  # it died while idle: close its pipes
        return Worker(limit_memory=True, echo=True)

    def keep(self, worker: AnyWorker) -> None:
        """Keep the worker for the next job."""
        assert isinstance(worker, Worker)
        _idle.append(worker)

    def extra_seconds(self, worker: AnyWorker, time_limit: float) -> float:  # noqa: ARG002
        """Seconds for starting a new worker: killing it early would only mean starting another."""
        return 0.0 if worker.has_begun else START


def shut_down() -> None:
    """End all idle workers."""
    while _idle:
        _idle.pop().kill()


atexit.register(shut_down)

_here = ProcessPool()
_in_use: ContextVar[Pool | None] = ContextVar("pool of the proposal under way", default=None)


@contextmanager
def using(pool: Pool) -> Iterator[None]:
    """Let this pool do the jobs of this thread."""
    token = _in_use.set(pool)
    try:
        yield
    finally:
        _in_use.reset(token)


def n_workers() -> int:
    """Number of jobs that are done at the same time."""
    return (_in_use.get() or _here).n_workers()


def solve_all(
    jobs: Sequence[Job],
    deadline: float,
    stop: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Any]]:
    """Do jobs side by side; yields ``(index, answer)`` as they come, each index once.

    While workers are busy, ``meanwhile`` is called repeatedly, to do something useful in this
    process for a fraction of a second; it returns True if there was anything to do.

    The answer is ``None`` for a job whose worker died or missed the deadline, for jobs that were
    not started in time, and for all unfinished ones once ``stop`` returns True. An exception raised
    by a job is raised here.

    Raises:
        WorkerError: a worker cannot start, cannot load its job, or cannot send its answer.
    """
    return (_in_use.get() or _here).solve_all(jobs, deadline, stop, meanwhile)


def _next_end(
    busy: dict[AnyWorker, _Running],
    inbox: Inbox,
    stop: Callable[[], bool],
    meanwhile: Callable[[], bool],
) -> tuple[AnyWorker, Report | None]:
    """The worker of the first job that ends, with its report; ``None`` if overdue or stopped."""
    global _has_started
    patience = _SHORT  # at first: keeping workers busy with short jobs comes before `meanwhile`
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
