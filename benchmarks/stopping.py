"""Validity of the regret bound, and the evaluations that stopping by it saves.

Runs over spaces small enough to list, so that the optimum is known. The objective is a random
weighted sum of edges, labels, distances and size, which the kernel SSP sees, and in every other run
also of triangles, which it does not see. After every evaluation past the initial design the bound
at 95 % is compared with the true regret of the graph that it refers to. A run "stops" when the
bound is at most 5 % of the range of the objective; the study nevertheless continues to the end of
its budget, to show what stopping would have cost.

Every run is made twice: with the values alone, and with the information that they are exact
(``noise=0``), which makes the bounds tighter. The graphs are the same.

    python -m benchmarks.stopping             # adds the runs that are missing to the results
    python -m benchmarks.stopping --summary   # the table of the documentation
"""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bogrape import Graph, GraphSpace, Study
from bogrape.counts import distances_batch

from .records import appending, commit, read

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "stopping.jsonl"
# Runs 60 to 179 were looked at while the bound was developed, and no run from 180 on.
RUNS = {"runs 0 to 59": range(60), "runs 180 to 299": range(180, 300)}
BUDGET = 16
INITIAL = 6
SHARE = 0.05  # of the range of the objective
ROUNDING = 1e-9  # of the same: values that are equal but for it
SPACES = (GraphSpace(6), GraphSpace(5, labels=2), GraphSpace((3, 5), labels=2))


def values_of(graphs: list[Graph], seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values of a random objective for all graphs."""
    weights = np.random.default_rng([seed, 7]).normal(size=5)
    weights[4] *= seed % 2
    seen = np.array(
        [
            [
                graph.n_edges,
                graph.labels.sum(),
                distances_batch(graph.adjacency[None]).mean(),
                graph.n_nodes,
                np.trace(np.linalg.matrix_power(graph.adjacency.astype(int), 3)) / 6,
            ]
            for graph in graphs
        ],
        dtype=float,
    )
    spread = seen.std(axis=0)
    return np.asarray((seen / np.where(spread > 0, spread, 1.0)) @ weights)


def run(seed: int, exact: bool) -> dict[str, Any]:
    """One run, with the bound after every evaluation; values may be told as exact."""
    space = SPACES[seed % len(SPACES)]
    graphs = space.enumerate()
    values = values_of(graphs, seed)
    value = {g.canonical_key(): float(v) for g, v in zip(graphs, values, strict=True)}
    low, high = float(values.min()), float(values.max())
    study = Study(
        space,
        kernel="ssp",
        n_initial=INITIAL,
        n_evaluations=500,
        restarts=1,
        time_limit=60,
        seed=seed,
    )
    steps: list[dict[str, Any]] = []
    stop: int | None = None
    while len(study.trials) < BUDGET:
        trial = study.ask(progress=False)
        study.tell(trial, value[trial.graph.canonical_key()], noise=0.0 if exact else None)
        n = len(study.trials)
        if n < INITIAL:
            continue
        found = study.regret_bound(0.95)
        regret = value[study.trials[found.trial].graph.canonical_key()] - low
        steps.append(
            {
                "n": n,
                "bound": found.value if math.isfinite(found.value) else None,
                "regret": regret,
                "holds": regret <= found.value + ROUNDING * (high - low),
                "status": found.status,
                "coverage": found.coverage,
                "calibrated": found.calibrated,
                "best": study.best.value,
            }
        )
        if stop is None and found.calibrated and found.value <= SHARE * (high - low):
            stop = n
    return {
        "run": seed,
        "exact": exact,
        "space": space.describe().replace("\n", "; "),
        "n_graphs": len(graphs),
        "optimum": low,
        "range": high - low,
        "stopped": stop,
        "steps": steps,
        "commit": commit(),
    }


def summary() -> str:
    """Summary of the runs, as lines of text."""
    found = read(RESULTS)
    kinds = {"all it depends on": (0,), "all but triangles": (1,), "either": (0, 1)}
    return "\n".join(
        _of_kind(
            f"{which}, {told}, kernel sees {name}",
            [
                one
                for one in found
                if one["run"] in numbers and one["exact"] is exact and one["run"] % 2 in rest
            ],
        )
        for which, numbers in RUNS.items()
        for told, exact in (("noise not told", False), ("told as exact", True))
        for name, rest in kinds.items()
    )


def _of_kind(title: str, runs: list[dict[str, Any]]) -> str:
    """Summary of some of the runs."""
    trusted = [step for found in runs for step in found["steps"] if step["calibrated"]]
    last = [found["steps"][-1] for found in runs if found["steps"][-1]["calibrated"]]
    ended = [found for found in runs if found["stopped"] is not None]
    at_stop = [
        next(step for step in found["steps"] if step["n"] == found["stopped"]) for found in ended
    ]
    pairs = list(zip(at_stop, ended, strict=True))
    equal = [found for step, found in pairs if step["best"] <= found["steps"][-1]["best"] + 1e-9]
    saved, of_equal = (sum(BUDGET - one["stopped"] for one in some) for some in (ended, equal))
    n_steps = sum(len(found["steps"]) for found in runs)
    lines = [
        f"{title}: {len(runs)} runs",
        f"  calibrated models: {len(trusted)} of {n_steps}",
        f"  their bounds that hold: {_share(sum(s['holds'] for s in trusted), len(trusted))}",
        f"  at the end of the budget: {_share(sum(s['holds'] for s in last), len(last))}",
        f"  where a run stops: {_share(sum(s['holds'] for s in at_stop), len(ended))}",
        f"  with the best value of the whole budget already: {_share(len(equal), len(ended))}",
        f"  evaluations saved: {_share(saved, BUDGET * len(runs))}",
        f"  by runs with that value: {_share(of_equal, BUDGET * len(runs))}",
    ]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    """A number of cases, also in per cent."""
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def main() -> None:
    """Run the missing seeds, unless only the summary is wanted, and print the summary."""
    if "--summary" not in sys.argv:
        with appending(RESULTS) as file:
            done = {(one["run"], one["exact"]) for one in file.records}
            for seed, exact in itertools.product(itertools.chain(*RUNS.values()), (False, True)):
                if (seed, exact) not in done:
                    file.append(run(seed, exact))
    print(summary())


if __name__ == "__main__":
    main()
