"""Ablation of the time limit of a proposal, with the remaining gaps (Figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bogrape.arrays import FloatArray
from bogrape.observed_values import standardise
from bogrape.report.draw import new_figure

from ..figures import clean, draw_curves, legend_below, look
from ..markdown_tables import markdown, optimiser_tables
from ..records import Record
from ..statistics import Runs, common, group, methods_of, problems_of
from . import Experiment, Plan, register
from ._optimiser_runs import run_optimiser, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KERNELS = ("ssp", "sp", "essp", "esp")
PAPER = Plan(
    problems=("qm7-10",),
    methods=tuple(f"{kernel}:{limit}" for kernel in _KERNELS for limit in (60, 600, 1200)),
    replications=10,
)
SHORT = replace(
    PAPER,
    methods=tuple(f"{kernel}:{limit}" for kernel in _KERNELS for limit in (0.5, 2, 8)),
    replications=2,
    n_iterations=20,
)


def gaps(runs: Runs) -> FloatArray:
    """The gap of every proposal (`Proposal.gap`); infinite where there is no bound.

    Gaps are in standard deviations of the values observed until then. Records made before gaps had
    this unit contain no gaps, but everything needed to compute them.
    """
    return np.array([gap for record in runs.records for gap in _gaps(record)])


def _gaps(record: Record) -> list[float]:
    if "standard_gap" in record:
        return [np.inf if gap is None else gap for gap in record["standard_gap"]]
    found = []
    columns = (record["status"], record["acquisition"], record["bound"])
    for t, (status, value, bound) in enumerate(zip(*columns, strict=True)):
        scale = standardise(np.array(record["values"][: record["n_initial"] + t])).scale
        gap = np.inf if bound is None else max(0.0, value - bound) / scale
        found.append(0.0 if status == "optimal" else gap)
    return found


def gap_table(records: Sequence[Record]) -> str:
    """Gaps over all proposals of a method: mean as in the paper, and median."""
    rows = []
    for (problem, method), runs in group(records).items():
        found = gaps(runs)
        status = [item for row in runs.column("status") for item in row]
        rows.append(
            [
                problem,
                *method.split(":"),
                f"{found.mean():.3g}" if len(found) else "-",
                f"{float(np.median(found)):.3g}" if len(found) else "-",
                f"{100 * status.count('optimal') / len(status):.0f} %" if status else "-",
            ]
        )
    header = ["problem", "kernel", "limit (s)", "mean gap (sd)", "median gap (sd)", "proved"]
    return markdown(header, rows)


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:
    """The gap at each limit, then the results of the optimisation."""
    words = (
        "Gap between value and bound over all proposals, in standard deviations (sd) of the values "
        "observed until then."
    )
    return f"{words}\n\n{gap_table(records)}\n\n{optimiser_tables(records, references)}"


def figure(records: Sequence[Record], references: Sequence[Record] = ()) -> Figure:  # noqa: ARG001
    """One panel per kernel, one curve per limit; the last panel has the median gap by limit."""
    runs = common(group(records))
    problem = problems_of(runs)[0]
    kernels = list(dict.fromkeys(method.split(":")[0] for method in methods_of(runs)))
    drawn = new_figure(2.9 * (len(kernels) + 1), 3.4)
    *panels, last = drawn.subplots(1, len(kernels) + 1, squeeze=False)[0]
    handles = {}
    for axes, kernel in zip(panels, kernels, strict=True):
        clean(axes)
        own = {
            (problem, method): run
            for (where, method), run in runs.items()
            if where == problem and method.split(":")[0] == kernel
        }
        order = sorted(own, key=lambda pair: float(pair[1].split(":")[1]))
        styles = {
            pair[1]: {**look(kernel), "linestyle": dash, "linewidth": width}
            for pair, dash, width in zip(
                order, [(0, (1, 1)), (0, (4, 2)), "-"], (1.2, 1.6, 2.2), strict=False
            )
        }
        draw_curves(axes, {pair: own[pair] for pair in order if pair[1] in styles}, styles)
        axes.set_title(f"{kernel}: " + ", ".join(m.split(":")[1] for _, m in order) + " s")
        axes.title.set_fontsize(10)
        axes.set_xlabel("proposal", fontsize=9)
        limits = [float(method.split(":")[1]) for _, method in order]
        middle = [float(np.median(gaps(own[pair]))) for pair in order]
        (handles[kernel],) = last.plot(limits, middle, marker="o", **look(kernel))
    clean(last)
    last.set_xscale("log")
    every = sorted({float(method.split(":")[1]) for _, method in runs})
    last.set_xticks(every, [f"{limit:g}" for limit in every], minor=False)
    last.set_xticks([], minor=True)
    last.set_yscale("symlog", linthresh=0.1)
    last.set_ylim(bottom=0)  # a gap of zero is a proof
    last.yaxis.set_major_formatter("{x:g}")
    last.set_title("median gap (sd) by limit", fontsize=10)
    last.set_xlabel("limit (s)", fontsize=9)
    panels[0].set_ylabel(f"best value so far, {problem}", fontsize=9)
    legend_below(drawn, handles, 4)
    return drawn


register(
    Experiment(
        name="limits",
        title="time limit of a proposal: results and gaps on QM7, N = 10",
        source="Figures 5 and 6 (appendix)",
        plan=PAPER,
        short=SHORT,
        quick=Plan(
            problems=("qm7-10",),
            methods=("ssp:0.2", "ssp:0.4"),
            replications=1,
            n_initial=3,
            n_iterations=1,
        ),
        settings=seconds,
        run=run_optimiser,
        tables=tables,
        figure=figure,
    )
)
