"""What experiments that compare optimisers have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...report.draw import new_figure
from ..records import Record
from ..replication import replicate
from . import Plan, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def budget(plan: Plan, method: str) -> dict[str, Any]:  # noqa: ARG001
    """The budget of a plan, the same for every method."""
    return {
        "n_initial": plan.n_initial,
        "n_iterations": plan.n_iterations,
        "time_limit": plan.time_limit,
    }


def run_optimiser(task: Task) -> dict[str, Any]:
    """A replication of the optimiser that the method names."""
    return replicate(task.problem, task.method, task.seed, **task.settings)


def curves_tables(records: Sequence[Record]) -> str:
    """Mean of the best value and half its standard deviation, a row a problem and method."""
    lines = ["| problem | method | replications | best value |", "|---|---|---|---|"]
    groups: dict[tuple[str, str], list[float]] = {}
    for record in records:
        groups.setdefault((record["problem"], record["method"]), []).append(min(record["values"]))
    for (problem, method), finals in groups.items():
        mean, half = np.mean(finals), 0.5 * np.std(finals)
        lines.append(f"| {problem} | {method} | {len(finals)} | {mean:.4f} ± {half:.4f} |")
    return "\n".join(lines)


def curves_figure(records: Sequence[Record]) -> Figure:
    """Mean of the best value so far, one panel a problem."""
    problems = list(dict.fromkeys(record["problem"] for record in records))
    figure = new_figure(4.0 * len(problems), 3.2)
    for axes, problem in zip(
        figure.subplots(1, len(problems), squeeze=False)[0], problems, strict=True
    ):
        chosen = [record for record in records if record["problem"] == problem]
        for method in dict.fromkeys(record["method"] for record in chosen):
            runs = [record["values"] for record in chosen if record["method"] == method]
            axes.plot(np.minimum.accumulate(runs, axis=1).mean(axis=0), label=method)
        axes.set_title(problem)
        axes.legend()
    return figure
