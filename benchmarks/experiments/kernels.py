r"""Accuracy of Gaussian processes: RMSE and MNLL of every kernel, by size of molecules.

The paper's two tables: 20 random molecules of N atoms to train on, 100 to test on, values by the
network trained on QM7. With predictions :math:`m_i` and deviations :math:`s_i` of observations,

* RMSE :math:`= \sqrt{\overline{(y_i - m_i)^2}}`,
* MNLL :math:`= \overline{\tfrac12 \log 2\pi s_i^2 + (y_i - m_i)^2 / 2 s_i^2}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bogrape.arrays import FloatArray
from bogrape.problems import get_problem
from bogrape.report.draw import new_figure

from ..figures import clean
from ..markdown_tables import markdown
from ..records import Record
from ..surrogates import get_surrogate
from . import Experiment, Plan, Task, register

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ALONE = ("rw", "sm", "wl", "wloa")
_OURS = ("ssp", "sp", "essp", "esp")
KERNELS = (*_ALONE, *(f"{k}-" for k in _OURS), *_OURS, *(f"{k}*" for k in _ALONE))

# The paper's tables, without their deviations, for N = 10, 15, 20, 25, 30.
PAPER_RMSE = {
    "rw": (1.151, 1.456, 0.819, 1.255, 1.815),
    "sm": (1.301, 1.693, 1.398, 1.678, 2.816),
    "wl": (1.185, 1.475, 0.682, 0.934, 1.389),
    "wloa": (1.256, 1.612, 0.682, 1.002, 1.492),
    "ssp": (0.710, 1.810, 0.682, 0.638, 1.122),
    "sp": (0.709, 0.785, 0.354, 0.540, 1.073),
    "essp": (0.619, 0.928, 0.436, 0.766, 1.862),
    "esp": (0.539, 0.790, 0.341, 0.757, 1.574),
    "rw*": (0.826, 0.984, 0.520, 0.523, 0.995),
    "sm*": (0.519, 0.765, 0.290, 0.593, 1.278),
    "wl*": (0.498, 0.723, 0.278, 0.562, 1.006),
    "wloa*": (0.545, 0.866, 0.289, 0.608, 1.049),
}
PAPER_MNLL = {
    "sm": (15690.0, 793.7, 438.8, 3382.0, 36430.0),
    "wl": (15690.0, 521.1, 304.2, 2944.0, 19790.0),
    "wloa": (15690.0, 521.2, 304.3, 2946.0, 19790.0),
    "ssp": (15920.0, 7210.0, 1788.0, 1447.0, 13840.0),
    "sp": (276.7, 24.32, 56.37, 1090.0, 12860.0),
    "essp": (53.09, 530.3, 40.08, 38.82, 327.4),
    "esp": (4.962, 1.877, 0.658, 2.597, 248.2),
    "sm*": (2.863, 2.974, 0.845, 9.611, 1438.0),
    "wl*": (2.572, 2.764, 0.477, 3.782, 702.6),
    "wloa*": (3.623, 2.737, 0.309, 3.987, 725.0),
}
PAPER = Plan(
    problems=tuple(f"qm7-{n}" for n in (10, 15, 20, 25, 30)),
    methods=KERNELS,
    replications=100,
    n_initial=20,
    n_iterations=100,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:  # noqa: ARG001
    """Numbers of graphs to train and to test on."""
    return {"n_train": plan.n_initial, "n_test": plan.n_iterations}


def run(task: Task) -> dict[str, Any]:
    """Fit one kernel to one sample and test it; all kernels of a replication share the sample."""
    problem = get_problem(task.problem, task.seed)
    n = task.settings["n_train"]
    graphs = problem.space.sample(n + task.settings["n_test"], seed=task.seed)
    values = np.array([problem.objective(graph) for graph in graphs])
    surrogate = get_surrogate(task.method, problem.space.n_labels).fit(graphs[:n], values[:n])
    mean, std = surrogate.predict(graphs[n:])
    return scores(values[n:], mean, std)


def scores(y: FloatArray, mean: FloatArray, std: FloatArray) -> dict[str, float]:
    """RMSE, MNLL, and the standard deviation of the true values, to compare the RMSE with."""
    error = (y - mean) ** 2
    return {
        "rmse": float(np.sqrt(error.mean())),
        "mnll": float(np.mean(0.5 * np.log(2 * np.pi * std**2) + error / (2 * std**2))),
        "spread": float(y.std()),
    }


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """RMSE and MNLL, next to the paper's."""
    problems = list(dict.fromkeys(record["problem"] for record in records))
    number = Counter((record["problem"], record["method"]) for record in records)
    most = {
        problem: max(n for key, n in number.items() if key[0] == problem) for problem in problems
    }
    fewer = [f"{k[1]} on {k[0]} {n}" for k, n in number.items() if n < most[k[0]]]
    spread = ", ".join(
        f"{problem} {np.mean([r['spread'] for r in records if r['problem'] == problem]):.2g}"
        for problem in problems
    )
    parts = [
        "Replications: "
        + ", ".join(f"{problem} {n}" for problem, n in most.items())
        + (f" (fewer: {', '.join(fewer)})" if fewer else "").replace("*", "\\*")
        + ". Cells are mean (standard deviation) over them; after the slash, the paper's mean. "
        "A star adds the feature term to a kernel of the literature; ssp, sp, essp and esp "
        "include it, and a minus removes it.",
        f"RMSE. Standard deviation of the true values: {spread}.",
        _table(records, problems, "rmse", PAPER_RMSE),
        "MNLL, median over replications instead of the mean, which a single overconfident fit "
        "dominates; in brackets the mean.",
        _table(records, problems, "mnll", PAPER_MNLL),
    ]
    return "\n\n".join(parts)


def _table(
    records: Sequence[Record],
    problems: Sequence[str],
    score: str,
    paper: Mapping[str, tuple[float, ...]],
) -> str:
    rows = []
    for method in sorted({record["method"] for record in records}, key=KERNELS.index):
        row = [method.replace("*", "\\*")]
        for problem in problems:
            found = [
                record[score]
                for record in records
                if (record["problem"], record["method"]) == (problem, method)
            ]
            if not found:
                row.append("-")
                continue
            if score == "rmse":
                cell = f"{np.mean(found):.3f} ({np.std(found):.2f})"
            else:
                cell = f"{np.median(found):.2f} ({np.mean(found):.3g})"
            if method in paper and problem in PAPER.problems:
                cell += f" / {paper[method][PAPER.problems.index(problem)]:g}"
            row.append(cell)
        rows.append(row)
    return markdown(["kernel", *problems], rows)


def figure(records: Sequence[Record], references: Sequence[Record] = ()) -> Figure:  # noqa: ARG001
    """RMSE over replications, one violin per kernel and one panel per size, with quartiles."""
    problems = list(dict.fromkeys(record["problem"] for record in records))
    methods = sorted({record["method"] for record in records}, key=KERNELS.index)
    drawn = new_figure(2.6 * len(problems) + 0.8, 0.26 * len(methods) + 1.1)
    panels = drawn.subplots(1, len(problems), squeeze=False, sharey=True)[0]
    at = np.arange(len(methods))[::-1]
    for axes, problem in zip(panels, problems, strict=True):
        clean(axes)
        for y, method in zip(at, methods, strict=True):
            found = [
                record["rmse"]
                for record in records
                if (record["problem"], record["method"]) == (problem, method)
            ]
            if not found:
                continue
            colour = "#0072B2" if method in _OURS else "#8C8C8C"
            if method.endswith(("*", "-")):
                colour = "#CC79A7" if method.endswith("*") else "#56B4E9"
            if len(set(found)) > 2:
                body = axes.violinplot(found, [y], orientation="horizontal", showextrema=False)
                for part in body["bodies"]:
                    part.set_facecolor(colour)
                    part.set_alpha(0.45)
            low, middle, high = np.quantile(found, [0.25, 0.5, 0.75])
            axes.plot([low, high], [y, y], color=colour, linewidth=2.4)
            axes.plot([middle], [y], "o", color="#1F2937", markersize=3.5)
        axes.set_title(problem, fontsize=10)
        axes.set_xlabel("RMSE", fontsize=9)
        axes.set_xlim(left=0)
    panels[0].set_yticks(at, methods)
    panels[0].tick_params(axis="y", labelsize=9, colors="#1F2937")
    return drawn


register(
    Experiment(
        name="kernels",
        title="RMSE and MNLL of Gaussian processes with every kernel, N = 10..30",
        source="Tables 3 and 4, Figure 8 (appendix)",
        plan=PAPER,
        short=replace(PAPER, replications=10),
        quick=Plan(
            problems=("qm7-10",),
            methods=("wl", "wl*", "ssp"),
            replications=1,
            n_initial=8,
            n_iterations=10,
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=figure,
    )
)
