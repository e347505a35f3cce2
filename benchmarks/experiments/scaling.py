"""Time per proposal against the numbers of nodes N and of observations T (not in the paper).

Problems are named ``N-T``: connected graphs with N nodes and 5 labels, T random ones of which are
observed, with the values of a random GCN. One proposal each: its time, and its gap if not proved.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bogrape.errors import InvalidInputError
from bogrape.problems.gnn import gnn_problem
from bogrape.report.draw import new_figure

from ..figures import clean, legend_below, look
from ..markdown_tables import markdown
from ..optimisers import get_optimiser
from ..records import Record
from . import Experiment, Plan, Task, register

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = Plan(
    problems=tuple(f"{n}-{t}" for n in (6, 8, 10, 12, 15, 20, 30) for t in (10, 30, 60)),
    methods=("ssp", "essp", "sp", "esp"),
    replications=3,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:  # noqa: ARG001
    """The time limit of the proposal."""
    return {"time_limit": plan.time_limit}


def run(task: Task) -> dict[str, Any]:
    """One proposal, timed."""
    n, t = sizes(task.problem)
    problem = gnn_problem(task.seed, convolution="gcn", n_nodes=n)
    graphs = problem.space.sample(t, seed=task.seed)
    values = [problem.objective(graph) for graph in graphs]
    limit = task.settings["time_limit"]
    optimiser = get_optimiser(task.method, problem.space)
    start = time.perf_counter()
    choice = optimiser.next(graphs, values, seed=task.seed, time_limit=limit)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "status": choice.status, "standard_gap": choice.gap}


def sizes(problem: str) -> tuple[int, int]:
    """Nodes and observations of a problem named ``N-T``."""
    parts = problem.split("-")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise InvalidInputError(f"expected nodes and observations such as 10-30, got {problem!r}")
    return int(parts[0]), int(parts[1])


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """Median seconds, share proved and median gap of the others.

    Records made before gaps were in standard deviations have gaps relative to the value, as
    "relative_gap". Neither value nor scale was recorded then, so these gaps cannot be converted
    and are left out.
    """
    problems = sorted({record["problem"] for record in records}, key=sizes)
    methods = list(dict.fromkeys(record["method"] for record in records))
    rows = []
    for problem in problems:
        row = [*map(str, sizes(problem))]
        for method in methods:
            own = [r for r in records if (r["problem"], r["method"]) == (problem, method)]
            if not own:
                row.append("-")
                continue
            open_ = [r.get("standard_gap") for r in own if r["status"] != "optimal"]
            gaps = [gap for gap in open_ if gap is not None]
            cell = f"{np.median([r['seconds'] for r in own]):.1f} s, "
            cell += f"{sum(r['status'] == 'optimal' for r in own)}/{len(own)}"
            if gaps:
                cell += f", {float(np.median(gaps)):.3g} sd"
            row.append(cell)
        rows.append(row)
    limits = ", ".join(sorted({f"{record['time_limit']:g}" for record in records}))
    words = (
        f"Median seconds per proposal (limit {limits} s), how many were proved optimal, and the "
        "median gap of the others in standard deviations (sd) of the observed values, where it was "
        "recorded."
    )
    return f"{words}\n\n{markdown(['N', 'T', *methods], rows)}"


def figure(records: Sequence[Record], references: Sequence[Record] = ()) -> Figure:  # noqa: ARG001
    """Seconds by number of nodes, one panel per number of observations."""
    observed = sorted({sizes(record["problem"])[1] for record in records})
    drawn = new_figure(3.4 * len(observed), 3.3)
    panels = drawn.subplots(1, len(observed), squeeze=False, sharey=True)[0]
    handles: dict[str, Any] = {}
    for axes, t in zip(panels, observed, strict=True):
        clean(axes)
        for method in dict.fromkeys(record["method"] for record in records):
            own = [r for r in records if r["method"] == method and sizes(r["problem"])[1] == t]
            at = sorted({sizes(record["problem"])[0] for record in own})
            middle = [
                float(np.median([r["seconds"] for r in own if sizes(r["problem"])[0] == n]))
                for n in at
            ]
            (handles[method],) = axes.plot(at, middle, marker="o", markersize=4, **look(method))
            for record in own:
                if record["status"] == "optimal":
                    continue
                n = sizes(record["problem"])[0]
                axes.plot([n], [record["seconds"]], "x", markersize=5, color=look(method)["color"])
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted({sizes(record["problem"])[0] for record in records}))
        axes.set_title(f"{t} observations (× not proved)", fontsize=10)
        axes.set_xlabel("nodes", fontsize=9)
    panels[0].set_ylabel("seconds", fontsize=9)
    legend_below(drawn, handles, len(handles))
    return drawn


register(
    Experiment(
        name="scaling",
        title="one proposal as the number of nodes and of observations grows",
        source="not in the paper (its appendix discusses it)",
        plan=PAPER,
        short=replace(PAPER, replications=1, time_limit=10.0),
        quick=Plan(problems=("5-4", "6-4"), methods=("ssp", "sp"), replications=1, time_limit=1.0),
        settings=settings,
        run=run,
        tables=tables,
        figure=figure,
    )
)
