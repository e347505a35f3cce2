"""Jobs on the workers of a Dask cluster.

A job is sent as the same bytes as to a process on this machine (`bogrape.propose.jobs.worker`), and
the Dask worker passes it on to such a process. So it is done by the same code, within the same
limits of time and memory; a failing job does not harm the Dask worker; and a Dask worker with
several threads does several jobs at a time.

When a Dask worker dies, Dask gives its jobs to others. A job for which that is too late, or that
has killed several workers, has no answer: the bound it was to improve stays as it was. The same
holds for all jobs that are running when the client is closed.

All workers must run exactly the same code of bogrape as this process, since answers count as
proofs.
"""

from __future__ import annotations

import hashlib
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from ...checks import shown
from ...dask_client import address_of, connected
from ...errors import InvalidInputError, WorkerError
from .pool import START, Pool, ProcessPool, using
from .worker import (
    AnyWorker,
    Death,
    Inbox,
    Report,
    Solve,
    Task,
    packed,
    packed_error,
    packed_task,
    returned,
    unpacked,
    words,
)

logger = logging.getLogger(__name__)

_LOOK_EVERY = 2.0  # seconds between two checks of the number of workers
_FETCH_SECONDS = 30.0  # for an answer that is ready
_PURPOSE = "a proof"


@cache
def code() -> str:
    """A hash of the source code of this package."""
    package = Path(__file__).parents[2]
    sources = sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts)
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


# -- on the Dask worker -------------------------------------------------------------------------


def do(data: bytes, name: str, wanted: str) -> bytes:
    """Do a packed job in a separate process; returns a packed `Report`."""
    from distributed import get_worker  # late: an extra

    try:
        if wanted != code():
            raise WorkerError(
                "expected Dask workers with the version of bogrape that asks for the proof, got "
                "another one; try to install the same version on all machines, and restart the "
                "workers"
            )
        job = unpacked(data).job
        deadline = time.monotonic() + job.time_limit + START
        there = get_worker()

        def is_unwanted() -> bool:  # cancelled, or without a client: Dask itself lets it run
            task = there.state.tasks.get(name)
            return task is None or task.state == "cancelled"

        ((_, answer),) = ProcessPool().solve_all([job], deadline, is_unwanted, lambda: False)
        return packed(("done", answer))
    except BaseException as error:
        return packed_error(error)


# -- here ---------------------------------------------------------------------------------------


@contextmanager
def working_on(client: Any) -> Iterator[None]:
    """Let a Dask client, or the cluster at ``dask://host:port``, do the jobs of this thread.

    A given client is left open.
    """
    found, own = connected(client, _PURPOSE)
    with found if own else nullcontext(), using(DaskPool(found)):
        yield


def check_client(client: Any) -> None:
    """Raise unless it is a client, or an address, as `working_on` takes; connects to nothing."""
    if address_of(client, _PURPOSE) is None:
        DaskPool(client)


class DaskPool(Pool):
    """The workers of a cluster: as many jobs at a time as they have threads."""

    def __init__(self, client: Any) -> None:
        from distributed import Client  # late: an extra

        if not isinstance(client, Client) or client.asynchronous:
            raise InvalidInputError(
                "expected client to be a distributed.Client that is not asynchronous, or "
                f"dask://host:port, got {shown(client)}"
            )
        if client.status != "running":
            raise InvalidInputError(
                f"expected client to be connected to a Dask cluster, but it is {client.status}; "
                "try a new one"
            )
        self._client: Any = client  # distributed has no types
        self._n_workers = 1
        self._looked = -_LOOK_EVERY
        self._said: set[str] = set()

    @property
    def is_open(self) -> bool:
        """True if the client can still hand out jobs."""
        if self._client.status == "running":
            return True
        self._say("the Dask client was closed: the proof ends with the bound it has reached")
        return False

    def n_workers(self) -> int:
        """Number of threads of all workers, at least one, so that a job waits for a worker."""
        if time.monotonic() - self._looked >= _LOOK_EVERY and self._client.status == "running":
            with suppress(Exception):  # it is being closed: `is_open` reports that
                found = sum(self._client.nthreads().values())
                if not found:
                    self._say("the Dask cluster has no workers yet; the proof waits for them")
                self._n_workers = max(1, found)
            self._looked = time.monotonic()
        return self._n_workers

    def worker(self) -> AnyWorker:
        """A place for one job."""
        return _Place(self._client)

    def extra_seconds(self, worker: AnyWorker, time_limit: float) -> float:  # noqa: ARG002
        """Seconds for starting a process there, and for doing the job again if the worker dies."""
        return START + time_limit

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            logger.warning("%s", text)


class _Place:
    """One job on the cluster."""

    has_begun = True  # a failure to start there is a separate error

    def __init__(self, client: Any) -> None:
        self._client = client
        self._name = f"bogrape-{uuid.uuid4().hex}"
        self._future: Any = None

    def begin(self, task: Task, inbox: Inbox) -> None:
        """Send a task; its only report says how it ended."""
        assert isinstance(task, Solve)
        data = packed_task(task)
        try:
            # pure=False: the same job must be done again, perhaps with another time limit
            self._future = self._client.submit(
                do, data, self._name, code(), pure=False, key=self._name
            )
            self._future.add_done_callback(lambda future: inbox.put((self, _report(future))))
        except Exception as error:  # the client is being closed
            inbox.put((self, Report("died", Death(None, f"Dask refused the job: {words(error)}"))))

    def kill(self) -> None:
        """End the job, whether it is waiting or running."""
        if self._future is not None and self._client.status == "running":
            with suppress(Exception):  # the client is being closed
                self._client.cancel([self._future])


def _report(future: Any) -> Report:
    """How a job ended."""
    from distributed import KilledWorker

    try:
        return Report(*returned(future.result(timeout=_FETCH_SECONDS)))
    except KilledWorker:
        return Report("died", Death(None, "every Dask worker that was given it died"))
    except (ImportError, AttributeError) as error:
        return Report("broken", f"Dask workers cannot import bogrape: {words(error)}")
    except Exception as error:  # cancelled, or lost with its worker
        return Report("died", Death(None, f"it was lost on the Dask cluster: {words(error)}"))
