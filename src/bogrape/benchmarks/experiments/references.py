"""The two ends of the scale for each problem: what random sampling reaches, and the best known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..problems import get_problem
from ..records import Record
from ..reference import best_known
from ..statistics import expected_best
from ..tables import markdown, short_number
from . import Experiment, Plan, Task, register

N_EVALUATIONS = 60  # what random sampling is given: the paper's 10 + 50
_SAMPLE = 100  # times as many random graphs, to tell its mean result well
_EFFORT = 300_000  # evaluations of the objective by the long search, for each 50 iterations

PAPER = Plan(
    problems=(
        *(f"{network}-{n}" for n in (10, 20) for network in ("gcn", "gat", "sage")),
        *(f"{data}-{n}" for n in (10, 15, 20, 25, 30) for data in ("qm7", "qm9")),
    ),
    methods=("long-search",),
    replications=10,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:  # noqa: ARG001
    """Evaluations of random sampling, and of the search in proportion to them."""
    return {
        "n_random": plan.n_initial + plan.n_iterations,
        "n_search": _EFFORT * plan.n_iterations // 50,
    }


def run(task: Task) -> dict[str, Any]:
    """Search for the best value; draw many random graphs for what random sampling reaches."""
    problem = get_problem(task.problem, task.seed)
    best = best_known(problem, n_evaluations=task.settings["n_search"])
    n = task.settings["n_random"]
    drawn = problem.space.sample(_SAMPLE * n, seed=task.seed)
    values = np.array([problem.objective(graph) for graph in drawn])
    other = get_problem(task.problem, task.seed + 1)
    return {
        "best": best.value,
        "how": best.how,
        "n_evaluations": best.n_evaluations,
        "n_edges": best.graph.n_edges,
        "random": expected_best(values, n),
        "random_mean": float(values.mean()),
        "random_std": float(values.std()),
        # whether another seed is another function, or only another initial design
        "seeded": any(other.objective(graph) != problem.objective(graph) for graph in drawn[:5]),
    }


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """A row a problem: means over its seeds."""
    rows = []
    for problem in dict.fromkeys(record["problem"] for record in records):
        own = [record for record in records if record["problem"] == problem]
        rows.append(
            [
                problem,
                str(len(own)) if own[0]["seeded"] else "one function",
                *(
                    short_number(float(np.mean([record[name] for record in own])))
                    for name in ("random_mean", "random", "best")
                ),
                f"{np.mean([record['n_edges'] for record in own]):.1f}",
                ", ".join(sorted({record["how"] for record in own})),
            ]
        )
    header = [
        *("problem", "seeds", "mean of a random graph", "random sampling reaches"),
        *("best known", "edges of the best", "found by"),
    ]
    return markdown(header, rows)


register(
    Experiment(
        name="references",
        title="the best value known of every problem, and what random sampling reaches",
        source="not in the paper",
        plan=PAPER,
        short=replace(PAPER, problems=PAPER.problems[:3], replications=3),
        quick=Plan(("gcn-10",), PAPER.methods, 2, 3, 2),
        settings=settings,
        run=run,
        tables=tables,
        figure=None,
    )
)
