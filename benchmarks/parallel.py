"""Tasks in parallel: each in a process of its own, or on a Dask cluster.

A process gets its share of the cores (inherited by all that it starts), so that tasks that run at
the same time do not slow each other down, and matrices are multiplied in one thread. A task that
fails yields a `Failure`; the others go on.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bogrape.errors import BoGrapeError, InvalidInputError, UnsupportedError
from bogrape.evaluate.supervisor import die_with_parent

from .experiments import Task, get_experiment
from .records import Record, provenance

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_CONNECT_SECONDS = 30.0


@dataclass(frozen=True)
class Failure:
    """A task that raised an exception, and which one."""

    task: Task
    reason: str
    refused: bool = False  # because of its input, such as an unknown name


Result = Record | Failure


def do(task: Task) -> Result:
    """Run a task here; an exception becomes a `Failure`."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):
            found = get_experiment(task.experiment).run(task)
    except Exception as error:
        where = "" if isinstance(error, BoGrapeError) else f"\n{traceback.format_exc()}"
        refused = isinstance(error, (InvalidInputError, UnsupportedError))
        return Failure(task, f"{type(error).__name__}: {error}{where}", refused)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {**task.record, **found, "finished": now, **provenance()}


def do_all(tasks: Sequence[Task], jobs: int = 1, dask: str | None = None) -> Iterator[Result]:
    """Results of all tasks, in the order in which they finish."""
    if jobs < 1:
        raise InvalidInputError(f"jobs must be at least 1, got {jobs}")
    return _on_dask(tasks, dask) if dask is not None else _in_processes(tasks, jobs)


# -- processes --------------------------------------------------------------------------------


def _in_processes(tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    from multiprocessing.connection import wait

    forked = sys.platform == "linux"
    context: Any = multiprocessing.get_context("fork" if forked else "spawn")
    if forked and len(tasks) > 1:
        _load_once()
    waiting = list(tasks)[::-1]
    free = list(range(jobs))[::-1]
    running: dict[Any, tuple[Task, int, Any]] = {}
    try:
        while waiting or running:
            while waiting and free:
                task, slot = waiting.pop(), free.pop()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_work, args=(sender, task, _share(slot, jobs), os.getpid())
                )
                process.start()
                sender.close()  # now the pipe ends when the process does
                running[receiver] = task, slot, process
            ready: list[Any] = wait(list(running))
            for pipe in ready:
                task, slot, process = running.pop(pipe)
                try:
                    result: Result = pipe.recv()
                except EOFError:
                    process.join()
                    result = Failure(task, f"its process ended with exit code {process.exitcode}")
                pipe.close()
                process.join()
                free.append(slot)
                yield result
    finally:  # Ctrl-C, or a caller that stops iterating
        for pipe, (_, _, process) in running.items():
            process.kill()
            process.join()
            pipe.close()


def _load_once() -> None:
    """Import the packages that tasks need, if installed, so that forked processes share them."""
    for name in ("benchmarks.optimisers", "bogrape.molecules", "grakel"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _share(slot: int, jobs: int) -> set[int]:
    """The cores of one job: disjoint shares, or one core each if jobs outnumber the cores."""
    if not hasattr(os, "sched_getaffinity"):
        return set()
    cores = sorted(os.sched_getaffinity(0))
    return set(cores[slot::jobs]) or {cores[slot % len(cores)]}


def _work(pipe: Connection, task: Task, cores: set[int], parent: int) -> None:
    die_with_parent()
    if sys.platform == "linux" and os.getppid() != parent:  # the parent has died already
        os._exit(1)
    if cores:
        os.sched_setaffinity(0, cores)
    with contextlib.suppress(KeyboardInterrupt):
        pipe.send(do(task))


# -- a cluster --------------------------------------------------------------------------------


def _on_dask(tasks: Sequence[Task], address: str) -> Iterator[Result]:
    try:
        import distributed
    except ImportError:
        raise UnsupportedError(
            "a Dask cluster needs the package distributed; try pip install 'bogrape[dask]'"
        ) from None
    connect: Any = distributed.Client  # untyped
    place = address.removeprefix("dask://")
    try:
        client: Any = connect(f"tcp://{place}", timeout=_CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise InvalidInputError(
            f"no Dask scheduler answers at {place!r}: {str(error)[:200]}"
        ) from None
    run: Callable[[Task], Result] = do
    with client:
        futures = {client.submit(run, task, pure=False): task for task in tasks}
        for future in distributed.as_completed(futures):  # type: ignore[no-untyped-call]
            reason = future.exception()
            lost = f"{type(reason).__name__}: {reason}"
            yield future.result() if reason is None else Failure(futures[future], lost)
