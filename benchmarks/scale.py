"""Many observations, large spaces and large batches: time, memory and quality.

    python -m benchmarks.scale [--kinds ask subset space batch] [--out docs/results]

- *ask*: two asks of a study with 1,000 or 10,000 observations, with the peak memory of the process.
- *subset*: errors of a model fitted to 1,000 of 2,000 observations, and of one fitted to all of
  them, for 1,000 graphs that neither has seen.
- *space*: a proposal in a space of 50 or 100 nodes, and random sampling for the same time.
- *batch*: a hundred graphs at once, and a hundred random ones.

Every case runs in a process of its own. Cases that are already in the results are skipped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Proposal, Study, propose
from bogrape.batch import Batch
from bogrape.gp import STUDY_OBSERVATIONS
from bogrape.propose.criterion import Criterion

from .checkout import ROOT
from .many_observations import measure, observations, space_of_study
from .markdown_tables import markdown
from .records import Record, appending, key, provenance
from .speed import random_graphs

FILE = "scale.jsonl"
ASK_LIMIT, SPACE_LIMIT, BATCH_LIMIT = 5.0, 10.0, 10.0  # seconds
_N_OBSERVATIONS, _N_BATCH, _N_HELD_OUT = 60, 100, 1000
_SAMPLED = 10  # random graphs at a time


def ask(kernel: Any, n: int) -> Record:
    """Two asks after n observations."""
    study = Study(space_of_study(), kernel=kernel, time_limit=ASK_LIMIT)
    study.add_all(observations(n))
    found = measure(study)
    latest = study.trials[-1].certificate
    return {
        **found,
        "n_used": latest["n_used"],
        "fit_seconds": study.trials[n].certificate["fit_seconds"],
    }


def subset(kernel: Any, n: int) -> Record:
    """Errors for unseen graphs of a model fitted to some observations, and of one fitted to all."""
    graphs, y = zip(*observations(n + _N_HELD_OUT), strict=True)
    unseen, truth = list(graphs[n:]), np.array(y[n:])
    low = truth <= np.quantile(truth, 0.1)
    out: Record = {}
    for name, most in (("some", STUDY_OBSERVATIONS), ("all", None)):
        began = time.process_time()
        gp = GraphGP(kernel, "fit", space=space_of_study(), most_observations=most)
        mean, std = gp.fit(graphs[:n], y[:n]).predict(unseen)
        noise = gp.hyperparameters["noise"] * gp.posterior.model.y_scale**2
        inside = np.abs(mean - truth) <= 1.96 * np.sqrt(std**2 + noise)
        out[name] = {
            "n_used": len(gp.used),
            "rmse": math.sqrt(float(((mean - truth) ** 2).mean())),
            "rmse_of_best": math.sqrt(float(((mean - truth)[low] ** 2).mean())),
            "inside": float(inside.mean()),
            "cpu_seconds": time.process_time() - began,
        }
    out["spread"] = float(truth.std())
    return out


def _value(graph: Graph) -> float:
    mean_distance = graph.distances().mean()
    return float(
        graph.n_edges / graph.n_nodes + np.cos(graph.labels).mean() + np.sin(mean_distance)
    )


def _fitted(kernel: Any, space: GraphSpace) -> tuple[GraphGP, list[Graph]]:
    rng = np.random.default_rng(0)
    n = space.n_max
    graphs = [
        Graph(graph.adjacency, rng.integers(0, space.n_labels, n))
        for graph in random_graphs(_N_OBSERVATIONS, n)
    ]
    gp = GraphGP(kernel, "fit", space=space)
    return gp.fit(graphs, [_value(graph) for graph in graphs]), graphs


def in_space(kernel: Any, n: int, labels: int) -> Record:
    """One proposal, and the best of the random graphs drawn in the same time."""
    space = GraphSpace(n, labels=labels)
    gp, graphs = _fitted(kernel, space)
    acquisition = EI() if kernel == "rbf" else LCB(1.0)
    small = GraphSpace(4)
    propose(small, GraphGP("ssp").fit(small.sample(3), [0.0, 1.0, 2.0]))  # late imports
    began = time.monotonic()
    found = propose(space, gp, acquisition, time_limit=SPACE_LIMIT, exclude=graphs)
    assert isinstance(found, Proposal)
    seconds = time.monotonic() - began
    objective = Criterion(space, gp.posterior, acquisition)
    best, n_random, until = math.inf, 0, time.monotonic() + SPACE_LIMIT
    while time.monotonic() < until:
        batch = Batch.of(space.sample(_SAMPLED, seed=n_random))
        best, n_random = min(best, float(objective.of_batch(batch).min())), n_random + _SAMPLED
    return {
        "limit": SPACE_LIMIT,
        "seconds": seconds,
        "status": found.status,
        "n_evaluations": found.n_evaluations,
        "value": objective.of_graph(found.graph),  # standardised; minus log EI
        "random": best,
        "n_random": n_random,
    }


def batch(kernel: Any, n: int, labels: int) -> Record:
    """A hundred graphs at once."""
    space = GraphSpace(n, labels=labels)
    study = Study(space, kernel=kernel, n_initial=4, time_limit=BATCH_LIMIT)
    study.add_all((graph, _value(graph)) for graph in _fitted("ssp", space)[1])
    study.ask(time_limit=1.0)  # late imports, and the fit
    began = time.monotonic()
    trials = list(study.ask(_N_BATCH, progress=False))  # type: ignore[arg-type]
    seconds = time.monotonic() - began
    values = [_value(trial.graph) for trial in trials]
    random = [_value(graph) for graph in space.sample(_N_BATCH, seed=99)]
    return {
        "limit": BATCH_LIMIT,
        "seconds": seconds,
        "n_different": len({space.identity(trial.graph) for trial in trials}),
        "mean": float(np.mean(values)),
        "random": float(np.mean(random)),
        "observed": min(t.value for t in study.trials if t.value is not None),
    }


CASES: dict[str, dict[str, Callable[[], Record]]] = {
    "ask": {
        f"{kernel}, {n} observations": partial(ask, kernel, n)
        for kernel in ("ssp", "sp", "esp", "rbf")
        for n in (1000, 10_000)
    },
    "subset": {
        f"{kernel}, 2000 observations": partial(subset, kernel, 2000) for kernel in ("esp", "rbf")
    },
    "space": {
        f"{kernel}, {n} nodes, {labels} labels": partial(in_space, kernel, n, labels)
        for kernel in ("rbf", "sp")
        for n in (50, 100)
        for labels in (5, 20)
    },
    "batch": {
        f"{kernel}, {n} nodes, {labels} labels": partial(batch, kernel, n, labels)
        for kernel, n, labels in (("rbf", 10, 5), ("sp", 10, 5), ("rbf", 50, 5))
    },
}


def observations_table(records: Sequence[Record]) -> str:
    """Time and memory of asks."""
    rows = [
        [
            r["problem"],
            f"{r['n_used']:,}",
            f"{r['fit_seconds']:.1f}",
            f"{r['first']:.1f}",
            f"{r['second']:.1f}",
            f"{r['peak_mb']:.0f}",
        ]
        for r in records
        if r["method"] == "ask"
    ]
    header = ["study", "used", "fit (s)", "first ask (s)", "next ask (s)", "peak memory (MB)"]
    return markdown(header, rows)


def subset_table(records: Sequence[Record]) -> str:
    """Errors of models fitted to some and to all observations."""
    rows = [
        [
            r["problem"],
            f"{part['n_used']:,}",
            f"{part['rmse']:.3f}",
            f"{part['rmse_of_best']:.3f}",
            f"{100 * part['inside']:.0f} %",
            f"{part['cpu_seconds']:.0f}",
        ]
        for r in records
        if r["method"] == "subset"
        for part in (r["some"], r["all"])
    ]
    header = ["model", "used", "RMSE", "RMSE of the best tenth", "inside 95 %", "CPU seconds"]
    return markdown(header, rows)


def space_table(records: Sequence[Record]) -> str:
    """Proposals in large spaces compared with random sampling."""
    rows = [
        [
            r["problem"],
            f"{r['seconds'] - r['limit']:+.1f}",
            r["status"],
            f"{r['n_evaluations']:,}",
            f"{r['value']:.3g}",
            f"{r['random']:.3g}",
            f"{r['n_random']:,}",
        ]
        for r in records
        if r["method"] == "space"
    ]
    header = ["space", "seconds over the limit", "status", "graphs evaluated", "value"]
    return markdown([*header, "best of random graphs", "random graphs"], rows)


def batch_table(records: Sequence[Record]) -> str:
    """Large batches."""
    rows = [
        [
            r["problem"],
            f"{r['seconds'] - r['limit']:+.1f}",
            str(r["n_different"]),
            f"{r['mean']:.2f}",
            f"{r['random']:.2f}",
            f"{r['observed']:.2f}",
        ]
        for r in records
        if r["method"] == "batch"
    ]
    header = ["study", "seconds over the limit", "different graphs", "mean value"]
    return markdown([*header, "of random graphs", "best observed"], rows)


def main() -> None:
    """Run the cases missing from the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        kind, name = given.case
        print(json.dumps(CASES[kind][name]()))
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with appending(given.out / FILE) as file:
        done = {key(record) for record in file.records}
        for kind in given.kinds:
            for name in CASES[kind]:
                head: Record = {"problem": name, "method": kind, "seed": 0}
                if key(head) in done:
                    continue
                command = [sys.executable, "-m", __spec__.name, "--case", kind, name]
                said = subprocess.run(
                    command,
                    cwd=ROOT,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                file.append({**head, **json.loads(said.stdout.splitlines()[-1]), **provenance()})
                print(kind, name, said.stdout.splitlines()[-1][:200], flush=True)


if __name__ == "__main__":
    main()
