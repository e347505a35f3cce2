"""NAS-Bench-Graph: the rank of the best architecture after 100 evaluations (not in the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..figures import optimiser_curves
from ..markdown_tables import cost_table, markdown, mean_and_half, seeds_table
from ..records import Record
from ..statistics import Runs, group, is_bogrape, methods_of, problems_of
from . import Experiment, Plan, Task, register
from ._optimiser_runs import exploration, run_optimiser

DATA_SETS = (
    *("cora", "citeseer", "pubmed", "cs", "physics", "photo", "computers", "arxiv", "proteins"),
)
PLAN = Plan(
    problems=tuple(f"nas-{name}" for name in DATA_SETS),
    methods=(
        *("random", "reg-evol", "tpe", "tanimoto-gp", "forest"),
        *("rbf", "rbf-cap", "sp-cap", "rbf-dag"),
    ),
    replications=10,
    n_initial=10,
    n_iterations=90,
    search="weak",
)


def run(task: Task) -> dict[str, Any]:
    """Run a replication; adds the rank of its best architecture in the table."""
    from bogrape.problems.nas_bench_graph import rank

    found = run_optimiser(task)
    data_set = task.problem.removeprefix("nas-")
    return {**found, "rank": rank(data_set, min(found["values"]))}


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """Median ranks, means of the performance, and every seed."""
    runs = group(records)
    parts = [
        "Rank of the best architecture found among all that were trained: median over seeds, and "
        "in brackets the best and the worst (1 is the optimum; the smallest median in bold).",
        ranks_table(runs),
        "Best test performance found, mean ± 0.5 standard deviation.",
        performance_table(runs),
        "Cost of the proposals.",
        cost_table(runs),
        f"<details><summary>Every seed</summary>\n\n{seeds_table(runs)}\n\n</details>",
    ]
    return "\n\n".join(parts)


def ranks(run: Runs) -> list[int]:
    """The rank of each replication."""
    return [int(record["rank"]) for record in run.records]


def ranks_table(runs: dict[tuple[str, str], Runs]) -> str:
    """One row per data set, one column per method."""
    methods = methods_of(runs)
    rows = []
    for problem in problems_of(runs):
        own = {
            method: ranks(runs[problem, method]) for method in methods if (problem, method) in runs
        }
        best = min(float(np.median(found)) for found in own.values())
        row = [problem.removeprefix("nas-")]
        for method in methods:
            if method not in own:
                row.append("-")
                continue
            median = float(np.median(own[method]))
            cell = f"{median:g} ({min(own[method])}–{max(own[method])})"
            row.append(f"**{cell}**" if median <= best else cell)
        counted = {len(found) for found in own.values()}
        row.append("–".join(str(n) for n in sorted({min(counted), max(counted)})))
        rows.append(row)
    return markdown(["data set", *methods, "seeds"], rows)


def performance_table(runs: dict[tuple[str, str], Runs]) -> str:
    """The same for the test performance; larger is better."""
    methods = methods_of(runs)
    rows = []
    for problem in problems_of(runs):
        row = [problem.removeprefix("nas-")]
        for method in methods:
            run = runs.get((problem, method))
            row.append("-" if run is None else mean_and_half(-run.final))
        rows.append(row)
    return markdown(["data set", *methods], rows)


def in_top_three(records: Sequence[Record], method: str = "rbf") -> int:
    """Number of data sets on which the median rank of a method is 3 or less."""
    assert is_bogrape(method)
    runs = group(records)
    return sum(
        float(np.median(ranks(run))) <= 3 for (_, name), run in runs.items() if name == method
    )


register(
    Experiment(
        name="nas",
        title="best architecture of NAS-Bench-Graph after 100 evaluations",
        source="not in the paper",
        plan=PLAN,
        short=replace(PLAN, problems=PLAN.problems[:3], replications=3),
        quick=Plan(
            problems=("nas-proteins",),
            methods=("random", "reg-evol", "tpe", "tanimoto-gp", "forest", "rbf", "rbf-dag"),
            replications=1,
            n_initial=4,
            n_iterations=1,
            search="weak",
        ),
        settings=exploration,
        run=run,
        tables=tables,
        figure=optimiser_curves,
    )
)
