"""What one ``ask`` costs in a study that has thousands of observations.

    python -m benchmarks.many_observations [--kernels ssp esp] [--sizes 1000 10000]

The target is 10 s for an ask with a time limit of 5 s, at 10,000 observations. Every case runs in a
process of its own, whose largest memory is measured. Studies in memory have just been filled;
studies in SQLite were filled by another process, so their first ask reads all trials.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bogrape.graph import Graph
from bogrape.kernels import KERNELS as _KERNELS
from bogrape.space import GraphSpace
from bogrape.study import Study

from .checkout import ROOT

KERNELS: tuple[str, ...] = tuple(_KERNELS)
SIZES = (1000, 2000, 5000, 10_000)
STORAGES = ("memory", "SQLite")
TIME_LIMIT = 5.0  # seconds, of an ask
_GIVE_UP = 200.0  # seconds for two asks


def space_of_study() -> GraphSpace:
    """Ten nodes and five labels: too many graphs to prove much about in a few seconds."""
    return GraphSpace(n_nodes=10, labels=5)


def observations(n: int, seed: int = 0) -> Iterator[tuple[Graph, float]]:
    """Different graphs with made-up values: a trend, and what no kernel can explain."""
    rng = np.random.default_rng(seed)
    for graph in space_of_study().sample(n, seed=seed, distinct=True):
        trend = graph.n_edges / 10 + np.cos(graph.labels).sum()
        yield graph, float(trend + 0.3 * rng.normal())


def fill(url: str | None, kernel: Any, n: int) -> Study:
    """A study with n observations."""
    study = Study(space_of_study(), url, kernel=kernel, time_limit=TIME_LIMIT)
    study.add_all(observations(n))
    return study


def measure(study: Study) -> dict[str, float]:
    """Seconds of two asks with a tell in between, and the peak memory of the process in MB."""
    import resource  # not everywhere

    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        trial = study.ask(progress=False)
        seconds.append(time.perf_counter() - start)
        study.tell(trial, 0.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return {"first": seconds[0], "second": seconds[1], "peak_mb": peak / unit}


def _case(kernel: str, n: int, storage: str, give_up: float) -> dict[str, float] | None:
    """Measurements of one case in a process of its own; None if they take too long."""
    with tempfile.TemporaryDirectory() as directory:
        url = "" if storage == "memory" else f"sqlite:///{Path(directory) / 'study.db'}"
        if url:
            _child("fill", kernel, n, url, None)
        try:
            out: dict[str, float] = json.loads(_child("ask", kernel, n, url, give_up))
        except subprocess.TimeoutExpired:
            return None
        return out


def _child(task: str, kernel: str, n: int, url: str, timeout: float | None) -> str:
    command = [sys.executable, "-m", __spec__.name, "--task", task, kernel, str(n), url]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=timeout,
    )
    return done.stdout


def _run_task(task: str, kernel: str, n: int, url: str) -> None:
    if task == "fill":
        fill(url, kernel, n)
    else:
        print(json.dumps(measure(Study.load(url) if url else fill(None, kernel, n))))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", nargs="+", choices=KERNELS, default=KERNELS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--storages", nargs="+", choices=STORAGES, default=STORAGES)
    parser.add_argument("--give-up", type=float, default=_GIVE_UP, help="seconds for a case")
    parser.add_argument("--task", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task:
        task, kernel, n, url = options.task
        _run_task(task, kernel, int(n), url)
        return
    print(f"one ask with a time limit of {TIME_LIMIT:g} s (target 10 s): the first, and one after")
    print(f"  {'observations':>12}  {'kernel':<8}{'storage':<8}{'first':>9}{'next':>9}{'peak':>11}")
    for n in options.sizes:
        for kernel in options.kernels:
            for storage in options.storages:
                found = _case(kernel, n, storage, options.give_up)
                words = f"not within {options.give_up:g} s"
                if found is not None:
                    words = f"{found['first']:>7.1f} s{found['second']:>7.1f} s"
                    words += f"{found['peak_mb']:>8.0f} MB"
                print(f"  {n:>12}  {kernel:<8}{storage:<8}{words}", flush=True)


if __name__ == "__main__":
    main()
