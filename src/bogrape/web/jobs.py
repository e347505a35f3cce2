"""Jobs of the server, and the worker processes that run them.

A proof takes seconds to minutes on all cores. It runs in a process of its own, so that the server
can answer meanwhile and the proof can be stopped: *enough* takes what was found, *cancel* kills
the process. When the server dies, the pipe to the process closes, and it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, final

from ..errors import BoGrapeError, WorkerError
from ..propose.jobs.worker import command
from .errors import TooBusy

State = Literal["waiting", "running", "done", "failed", "cancelled"]
_MOST_WAITING = 200
_MOST_KEPT = 50  # finished jobs, so that their results can be fetched later
_GRACE = 5.0  # seconds a process may exceed its limit


class Cancelled(BoGrapeError):
    """The job was cancelled."""


class JobFailed(BoGrapeError):
    """The job ended with an error; ``kind`` is the name of its class."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


@final
@dataclass(eq=False, kw_only=True)
class Job:
    """A long computation, and its progress."""

    task: dict[str, Any]
    study: str = ""
    by: str | None = None
    request: str | None = None
    limit: float = 60.0  # seconds after which its process is killed
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "waiting"
    found: int = 0
    words: str = ""
    began: float | None = None
    ended: float | None = None
    trials: list[int] = field(default_factory=list)
    error: str = ""
    future: Future[dict[str, Any]] = field(default_factory=Future)

    @property
    def is_over(self) -> bool:
        """True if the job has ended in any way."""
        return self.state in ("done", "failed", "cancelled")

    def data(self) -> dict[str, Any]:
        """The job as plain data."""
        until = time.monotonic() if self.ended is None else self.ended
        return {
            "id": self.id,
            "study": self.study,
            "state": self.state,
            "n": self.task.get("n"),
            "found": self.found,
            "words": self.words,
            "by": self.by,
            "seconds": 0.0 if self.began is None else round(until - self.began, 1),
            "trials": self.trials,
            "error": self.error or None,
        }


@final
class _Process:
    """One process of `bogrape.web.worker`, started when first needed and kept."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def do(self, job: Job, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Run a job; ``tell`` receives its progress."""
        with self._lock:
            if job.state == "cancelled":
                raise Cancelled("cancelled")
            process = self._started()
        timer = threading.Timer(job.limit, process.kill)
        timer.daemon = True
        timer.start()
        late = time.monotonic() + job.limit
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(OSError):  # reading will report it
                process.stdin.write(json.dumps({**job.task, "id": job.id}) + "\n")
                process.stdin.flush()
            for text in process.stdout:
                message = json.loads(text)
                if message["kind"] == "progress":
                    tell(message["data"])
                elif message["kind"] == "done":
                    return dict(message["data"])
                else:
                    raise JobFailed(message["data"]["error"], message["data"]["class"])
        finally:
            timer.cancel()
        self.kill()
        if job.is_over:  # cancelled meanwhile
            raise Cancelled("cancelled")
        if time.monotonic() >= late:
            raise JobFailed(f"no answer within {job.limit:.0f} s", "SamplingError")
        raise WorkerError("the worker process died; try again")

    def enough(self, job: Job) -> None:
        """Stop a job and keep what it has found."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(json.dumps({"enough": job.id}) + "\n")
                self._process.stdin.flush()

    def kill(self) -> None:
        """End the process at once; the next task starts another."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                for pipe in (self._process.stdin, self._process.stdout):
                    if pipe is not None:
                        with contextlib.suppress(OSError):
                            pipe.close()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            try:
                self._process = subprocess.Popen(
                    command("bogrape.web.worker"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    env={**os.environ, **threads},
                    start_new_session=True,  # Ctrl-C reaches only the server, which then ends it
                )
            except OSError as error:
                raise WorkerError(f"the worker process cannot be started: {error}") from error
        return self._process


@final
class Jobs:
    """A queue of jobs and the processes that run them.

    Args:
        n_processes: how many jobs run at the same time.
        changed: called whenever the progress of a job changes.
        most: jobs that may wait or run.
    """

    def __init__(
        self, n_processes: int, changed: Callable[[Job], None], most: int = _MOST_WAITING
    ) -> None:
        self._changed = changed
        self._most = most
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._running: dict[str, _Process] = {}
        self._processes = [_Process() for _ in range(n_processes)]
        for process in self._processes:
            threading.Thread(target=self._work, args=(process,), daemon=True).start()

    def submit(self, job: Job) -> Job:
        """Start a job; a request that already has one gets that job."""
        with self._lock:
            if job.request is not None:
                for known in self._jobs.values():
                    if (known.study, known.request) == (job.study, job.request) and known.state in (
                        "waiting",
                        "running",
                    ):
                        return known
            if sum(not known.is_over for known in self._jobs.values()) >= self._most:
                raise TooBusy(f"{self._most} requests are already waiting; try again in a minute")
            self._jobs[job.id] = job
            over = [known.id for known in self._jobs.values() if known.is_over]
            for old in over[: max(0, len(over) - _MOST_KEPT)]:
                del self._jobs[old]
        self._queue.put(job)
        self._changed(job)
        return job

    def find(self, number: str) -> Job | None:
        """The job with this id, or ``None`` if it is no longer known."""
        return self._jobs.get(number)

    def of(self, study: str) -> list[Job]:
        """The jobs of a study, latest first."""
        with self._lock:
            return [job for job in reversed(self._jobs.values()) if job.study == study]

    def enough(self, job: Job) -> None:
        """Stop the job and keep what it has found so far."""
        with self._lock:
            process = self._running.get(job.id)
        if process is not None:
            process.enough(job)

    def cancel(self, job: Job) -> None:
        """End the job; the process that runs it is killed."""
        with self._lock:
            if job.is_over:
                return
            job.state = "cancelled"
            process = self._running.get(job.id)
        if process is not None:
            process.kill()
        self._changed(job)

    def close(self) -> None:
        """End all jobs and processes."""
        for job in list(self._jobs.values()):
            if not job.is_over:
                job.state = "cancelled"
        for _ in self._processes:
            self._queue.put(None)
        for process in self._processes:
            process.kill()

    def _work(self, process: _Process) -> None:
        while (job := self._queue.get()) is not None:
            with self._lock:
                if job.state == "waiting":
                    job.state, job.began = "running", time.monotonic()
                    self._running[job.id] = process
            if job.state == "running":
                self._changed(job)
            try:
                self._finish(job, process.do(job, partial(self._tell, job)))
            except BaseException as error:
                self._fail(job, error)
            finally:
                with self._lock:
                    self._running.pop(job.id, None)
            self._changed(job)

    def _tell(self, job: Job, data: dict[str, Any]) -> None:
        job.found, job.words = data["found"], data["words"]
        self._changed(job)

    def _finish(self, job: Job, result: dict[str, Any]) -> None:
        job.trials = result.get("trials", [])
        job.found, job.words = len(job.trials), ""
        job.ended, job.state = time.monotonic(), "done"
        job.future.set_result(result)

    def _fail(self, job: Job, error: BaseException) -> None:
        job.ended, job.words = time.monotonic(), ""
        if job.state == "cancelled":
            error = Cancelled("cancelled")
        else:
            job.state, job.error = "failed", str(error)
        job.future.set_exception(error)
