"""Mean result of random sampling: the zero of the scale (not in the paper).

The best of 60 random graphs differs from run to run. Its mean is computed from a hundred times as
many graphs (`benchmarks.statistics.expected_best`), for each problem and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bogrape.problems import get_problem

from ..markdown_tables import markdown, short_number
from ..records import Record
from ..statistics import expected_best
from . import Experiment, Plan, Task, register

_SAMPLE = 100  # times as many random graphs as one run has

PAPER = Plan(
    problems=(
        *(f"{network}-{n}" for n in (10, 20) for network in ("gcn", "gat", "sage")),
        *(f"{data}-{n}" for n in (10, 15, 20, 25, 30) for data in ("qm7", "qm9")),
    ),
    methods=("random",),
    replications=10,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:  # noqa: ARG001
    """Evaluations of one run of random sampling."""
    return {"n_evaluations": plan.n_initial + plan.n_iterations}


def run(task: Task) -> dict[str, Any]:
    """Draw many random graphs."""
    problem = get_problem(task.problem, task.seed)
    n = task.settings["n_evaluations"]
    drawn = problem.space.sample(_SAMPLE * n, seed=task.seed)
    values = np.array([problem.objective(graph) for graph in drawn])
    other = get_problem(task.problem, task.seed + 1)
    return {
        "random": expected_best(values, n),
        "random_mean": float(values.mean()),
        "random_std": float(values.std()),
        # False if another seed changes only the initial design, not the function
        "seeded": any(other.objective(graph) != problem.objective(graph) for graph in drawn[:5]),
    }


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:
    """One row per problem: means over its seeds, next to the best known values."""
    best = {(record["problem"], record["seed"]): record for record in references}
    rows = []
    for problem in dict.fromkeys(record["problem"] for record in records):
        own = [record for record in records if record["problem"] == problem]
        if not own[0]["seeded"]:
            own = own[:1]
        known = [best[key] for r in own if (key := (problem, r["seed"])) in best]
        complete = len(known) == len(own)
        rows.append(
            [
                problem,
                str(len(own)) if own[0]["seeded"] else "one function",
                *(
                    short_number(float(np.mean([record[name] for record in own])))
                    for name in ("random_mean", "random")
                ),
                short_number(float(np.mean([r["best"] for r in known]))) if complete else "-",
                ", ".join(sorted({r["how"] for r in known})) if complete else "-",
            ]
        )
    header = [
        *("problem", "networks", "mean of a random graph", "random sampling reaches"),
        *("best known", "found by"),
    ]
    return markdown(header, rows)


register(
    Experiment(
        name="random-sampling",
        title="mean result of random sampling on every problem",
        source="not in the paper",
        plan=PAPER,
        short=replace(PAPER, problems=PAPER.problems[:3], replications=3),
        quick=Plan(
            problems=("gcn-10",), methods=PAPER.methods, replications=2, n_initial=3, n_iterations=2
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=None,
    )
)
