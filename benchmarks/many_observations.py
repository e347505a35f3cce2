"""Cost of one ``ask``, and of one fit, with thousands of observations.

    python -m benchmarks.many_observations [--kernels ssp esp] [--sizes 1000 10000]
    python -m benchmarks.many_observations --fits [--out docs/results/many-observations.jsonl]

With ``--fits`` single fits of `GraphGP` with fitted noise are timed, each in a process of its own
and in CPU seconds, and kept as JSON lines. Targets: some seconds for the linear kernels with 2,000
observations, 10 s for ``rbf`` with 1,000.

The target is 10 s for an ask with a time limit of 5 s, at 10,000 observations. Every case runs in a
process of its own, whose peak memory is measured. Studies in memory have just been filled; studies
in SQLite were filled by another process, so their first ask reads all trials.
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

from bogrape.gp import STUDY_OBSERVATIONS, GraphGP
from bogrape.graph import Graph
from bogrape.kernels import KERNELS as _KERNELS
from bogrape.kernels import RBF
from bogrape.space import GraphSpace
from bogrape.study import Study

from .checkout import ROOT
from .markdown_tables import markdown
from .records import Record, appending, key, provenance, read

KERNELS: tuple[str, ...] = (*_KERNELS, RBF.name)
SIZES = (1000, 2000, 5000, 10_000)
STORAGES = ("memory", "SQLite")
TIME_LIMIT = 5.0  # seconds, of an ask
FITS = {"ssp": (1000, 2000), "sp": (1000, 2000), "rbf": (60, 300, 1000)}  # observations
RESULTS = ROOT / "docs" / "results" / "many-observations.jsonl"
_GIVE_UP = 200.0  # seconds for two asks


def space_of_study() -> GraphSpace:
    """Ten nodes and five labels: too many graphs for a proof in a few seconds."""
    return GraphSpace(n_nodes=10, labels=5)


def observations(n: int, seed: int = 0) -> Iterator[tuple[Graph, float]]:
    """Different graphs with made-up values: a trend plus noise."""
    rng = np.random.default_rng(seed)
    for graph in space_of_study().sample(n, seed=seed, distinct=True):
        trend = graph.n_edges / 10 + np.cos(graph.labels).sum()
        yield graph, float(trend + 0.3 * rng.normal())


def fill(url: str | None, kernel: Any, n: int) -> Study:
    """A study with n observations."""
    study = Study(space_of_study(), url, preset="paper", kernel=kernel, time_limit=TIME_LIMIT)
    study.add_all(observations(n))
    return study


def measure(study: Study) -> dict[str, float]:
    """Seconds of two asks with a tell in between, and the peak memory of the process in MB."""
    import resource  # not on every platform

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


def fit_seconds(kernel: Any, n: int) -> dict[str, float]:
    """CPU seconds of a fit to n observations with fitted noise, as in studies."""
    graphs, y = zip(*observations(n), strict=True)
    space = space_of_study()
    few: Any = {"most_observations": STUDY_OBSERVATIONS, "space": space}
    GraphGP(kernel, "fit", **few).fit(graphs[:5], y[:5])  # so that imports are not timed
    began = time.process_time()
    gp = GraphGP(kernel, "fit", **few).fit(graphs, y)
    return {"cpu_seconds": round(time.process_time() - began, 3), "n_used": len(gp.used)}


def measure_fits(path: Path) -> str:
    """Measure the fits missing from the file; returns a table of all that it then contains."""
    with appending(path) as file:
        done = {key(record) for record in file.records}
        for kernel, sizes in FITS.items():
            for n in sizes:
                head: Record = {"problem": f"{n} observations", "method": kernel, "seed": 0}
                if key(head) not in done:
                    found = json.loads(_child("fit", kernel, n, "", None))
                    file.append({**head, **found, **provenance()})
    rows = [
        [r["method"], r["problem"], str(r["n_used"]), f"{r['cpu_seconds']:.2f}"] for r in read(path)
    ]
    return markdown(["kernel", "fitted to", "used", "CPU seconds"], rows)


def _run_task(task: str, kernel: str, n: int, url: str) -> None:
    if task == "fit":
        print(json.dumps(fit_seconds(kernel, n)))
    elif task == "fill":
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
    parser.add_argument("--fits", action="store_true", help="time fits instead of asks")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results of --fits")
    parser.add_argument("--task", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task:
        task, kernel, n, url = options.task
        _run_task(task, kernel, int(n), url)
        return
    if options.fits:
        print(measure_fits(options.out))
        return
    print(f"one ask with a time limit of {TIME_LIMIT:g} s (target 10 s): the first, and the next")
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
