"""Cost of asking and telling, without the proposal itself, in a study of 1000 trials.

    python -m benchmarks.study_overhead

The target is 20 ms for an ask and a tell together. A storage on disk waits for the disk twice (each
is a committed transaction), so the time of a flush of this disk is printed as well.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from bogrape.graph import Graph
from bogrape.space import GraphSpace
from bogrape.study import Study
from bogrape.study.planner import Plan, Planner

N_TRIALS = 1000
TARGET_MS = 20.0
_PAIRS = 50


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """Milliseconds of an ask and a tell together."""

    storage: str
    median: float
    worst: float
    open_ms: float  # to open the study again, all trials included
    open_trials: int


def measure(
    url: str | None, label: str, n_trials: int = N_TRIALS, n_pairs: int = _PAIRS
) -> Overhead:
    """Fill a study, then time pairs of ask and tell whose proposals cost nothing."""
    space = GraphSpace(n_nodes=10, labels=5)
    graphs = space.sample(n_trials + n_pairs, seed=0, distinct=True)
    study = Study(space, url)
    study.add_all((graph, float(i)) for i, graph in enumerate(graphs[:n_trials]))
    _ = study.trials
    times = []
    with _free_proposals(iter(graphs[n_trials:])):
        for i in range(n_pairs):
            start = time.perf_counter()
            study.tell(study.ask(), float(i))
            times.append(time.perf_counter() - start)
    start = time.perf_counter()
    again = study if url is None else Study.load(url)
    n_found = len(again.trials)
    seconds = time.perf_counter() - start
    return Overhead(
        storage=label,
        median=1e3 * float(np.median(times)),
        worst=1e3 * max(times),
        open_ms=1e3 * seconds,
        open_trials=n_found,
    )


def flush_ms(directory: Path, n: int = 20) -> float:
    """Median time to write a page and flush it to the disk."""
    times = []
    with (directory / "flush").open("wb") as file:
        for _ in range(n):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


@contextmanager
def _free_proposals(graphs: Iterator[Graph]) -> Iterator[None]:
    """Proposals that take no time, so that only study and storage are measured."""

    def next_plan(self: Planner, *_: object) -> Plan:  # noqa: ARG001
        return Plan(next(graphs), "proposal")

    with mock.patch.object(Planner, "next", next_plan):
        yield


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        flush = flush_ms(directory)
        results = [
            measure(None, "memory"),
            measure(f"sqlite:///{directory}/wal.db?journal=wal", "SQLite, write-ahead log"),
            measure(f"sqlite:///{directory}/delete.db?journal=delete", "SQLite, rollback journal"),
        ]
    print(f"ask + tell without the proposal, at {N_TRIALS} trials (target {TARGET_MS:.0f} ms)")
    print(f"  {'storage':<26}{'median':>10}{'worst':>10}{'reopen':>10}")
    for row in results:
        print(f"  {row.storage:<26}{row.median:>7.1f} ms{row.worst:>7.1f} ms{row.open_ms:>7.0f} ms")
    print(f"  one flush of this disk takes {flush:.1f} ms")


if __name__ == "__main__":
    main()
