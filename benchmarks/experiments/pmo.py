"""The tasks of PMO with small molecules, scored as PMO does (not in the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..figures import optimiser_curves
from ..markdown_tables import cost_table, markdown, mean_and_half, optimiser_tables
from ..records import Record
from ..statistics import group, methods_of, problems_of
from . import Experiment, Plan, Task, register
from ._optimiser_runs import exploration, run_optimiser

METHODS = ("random", "reg-evol", "graph-ga", "tanimoto-gp", "forest", "rbf")
# molecules of at most 20 heavy atoms
SMALL = ("median1", "isomers_c7h8n2o2", "isomers_c9h10n2o2pf2cl", "albuterol_similarity")
PLAN = Plan(
    problems=tuple(f"pmo-{task}" for task in SMALL),
    methods=METHODS,
    replications=3,
    n_initial=100,
    n_iterations=900,
    search="local",
)


def run(task: Task) -> dict[str, Any]:
    """Run a replication; adds PMO's area under the curve of the ten best scores."""
    from bogrape.molecules.guacamol import top_auc

    found = run_optimiser(task)
    scores = [-value for value in found["values"]]
    every = 100 if len(scores) >= 1000 else 10
    return {**found, "top_10_auc": top_auc(scores, len(scores), every=every)}


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:
    """The area first, then the usual tables."""
    runs = group(records)
    methods = methods_of(runs)
    rows = []
    for problem in problems_of(runs):
        found = {
            m: [r["top_10_auc"] for r in runs[problem, m].records]
            for m in methods
            if (problem, m) in runs
        }
        best = max(sum(auc) / len(auc) for auc in found.values())
        row = [problem.removeprefix("pmo-")]
        for method in methods:
            auc = found.get(method)
            cell = "-" if auc is None else mean_and_half(auc)
            bold = auc is not None and sum(auc) / len(auc) >= best
            row.append(f"**{cell}**" if bold else cell)
        rows.append(row)
    evaluations = sorted({len(record["values"]) for record in records})
    return "\n\n".join(
        [
            f"Area under the mean of the ten best scores, over "
            f"{' or '.join(map(str, evaluations))} evaluations, mean ± 0.5 standard deviation "
            "(larger is better).",
            markdown(["task", *methods], rows),
            optimiser_tables(records, references) if len(evaluations) == 1 else cost_table(runs),
        ]
    )


register(
    Experiment(
        name="pmo",
        title="tasks of PMO with molecules of at most 20 heavy atoms",
        source="not in the paper",
        plan=PLAN,
        short=replace(PLAN, n_initial=10, n_iterations=90, search="weak"),
        quick=Plan(
            problems=("pmo-median1",),
            methods=METHODS,
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
