"""Markdown tables of results: one row per method, one column per problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bogrape.arrays import FloatArray

from .records import Record
from .statistics import (
    Runs,
    Scale,
    common,
    compare_runs,
    group,
    is_bogrape,
    methods_of,
    problems_of,
    scales,
    shares,
)

Grid = Mapping[tuple[str, str], Runs]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    joined = [" | ".join(line) for line in lines]
    return "\n".join(
        f"|{line.replace(' ', '')}|" if i == 1 else f"| {line} |" for i, line in enumerate(joined)
    )


def short_number(value: float) -> str:
    """Four significant digits, three from 1e5 on; 0 for rounding errors."""
    if abs(value) < 1e-12:
        return "0"
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.2e}"


def mean_and_half(values: Sequence[float] | FloatArray) -> str:
    """Mean ± 0.5 standard deviation, as in the paper."""
    half = 0.5 * float(np.std(values))
    return f"{short_number(float(np.mean(values)))} ± {half if half > 1e-12 else 0:.2g}"


def optimiser_tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:
    """All tables about optimisers: results, comparisons, cost, and every seed."""
    every = group(records)
    runs = common(every)
    if not runs:
        return "No replication has been run with all methods yet."
    scale = scales(records, references)
    parts = [
        "Best value after all evaluations, mean ± 0.5 standard deviation (smaller is better; the "
        "best mean in bold), over the replications that all methods of a problem have. Methods "
        "with far fewer replications than others are left out.",
        finals_table(runs, scale),
    ]
    if any(shares(run, scale) is not None for run in runs.values()):
        parts += [
            "Share of the way from what random sampling reaches on average (0 %) to the best value "
            "known (100 %), mean over the same replications.",
            shares_table(runs, scale),
        ]
        further = further_shares(every, runs, scale)
        if further:
            parts += [
                "The same for methods with more or fewer replications, over all that they have.",
                further,
            ]
    parts += [
        "Area under the curve: best value so far, averaged over the proposals.",
        _table(runs, lambda run: run.area),
    ]
    comparisons = comparison_table({key: run for key, run in every.items() if key in runs})
    if comparisons:
        parts += [
            "Paired comparison over replications: wins–ties–losses and p of Wilcoxon's signed-rank "
            "test, for the final value / for the area.",
            comparisons,
        ]
    parts += ["Cost and certificates of the proposals.", cost_table(every)]
    parts += [f"<details><summary>Every seed</summary>\n\n{seeds_table(every)}\n\n</details>"]
    return "\n\n".join(parts)


def finals_table(runs: Grid, scale: Mapping[tuple[str, int], Scale]) -> str:
    """Final values; the last row has the best known value, averaged over the same seeds."""
    table = _table(runs, lambda run: run.final)
    known = []
    for problem in problems_of(runs):
        seeds = next(run.seeds for key, run in runs.items() if key[0] == problem)
        found = [scale.get((problem, seed)) for seed in seeds]
        best = [item.best for item in found if item is not None]
        known.append(short_number(float(np.mean(best))) if len(best) == len(seeds) else "-")
    return table + "\n| *best known* | " + " | ".join(known) + " |"


def _table(runs: Grid, measure: Callable[[Runs], FloatArray]) -> str:
    """Mean ± 0.5 standard deviation of a measure; the smallest mean is in bold."""
    problems, methods = problems_of(runs), methods_of(runs)
    best = {
        problem: min(float(measure(run).mean()) for key, run in runs.items() if key[0] == problem)
        for problem in problems
    }
    rows = []
    for method in methods:
        row = [method]
        for problem in problems:
            run = runs.get((problem, method))
            cell = "-" if run is None else mean_and_half(measure(run))
            bold = run is not None and float(measure(run).mean()) <= best[problem] + 1e-9
            row.append(f"**{cell}**" if bold else cell)
        rows.append(row)
    counted = [
        str(len(next(run.seeds for key, run in runs.items() if key[0] == problem)))
        for problem in problems
    ]
    return markdown(["method", *problems], [*rows, ["*replications*", *counted]])


def shares_table(runs: Grid, scale: Mapping[tuple[str, int], Scale]) -> str:
    """Share of the way in percent, and its mean over the problems that have one."""
    problems = [
        problem
        for problem in problems_of(runs)
        if any(shares(run, scale) is not None for key, run in runs.items() if key[0] == problem)
    ]
    rows = []
    for method in methods_of(runs):
        cells: list[float | None] = []
        for problem in problems:
            run = runs.get((problem, method))
            share = None if run is None else shares(run, scale)
            cells.append(None if share is None else 100 * float(share.mean()))
        known = [cell for cell in cells if cell is not None]
        overall = f"{np.mean(known):.0f}" if len(known) == len(problems) else "-"
        rows.append([method, *("-" if c is None else f"{c:.0f}" for c in cells), overall])
    return markdown(["method, %", *problems, "mean"], rows)


def further_shares(every: Grid, runs: Grid, scale: Mapping[tuple[str, int], Scale]) -> str:
    """Shares over all replications, for methods of which `shares_table` has only some or none."""
    rows = []
    for (problem, method), run in every.items():
        shared = runs.get((problem, method))
        share = shares(run, scale)
        counted = shared is not None and len(shared.seeds) == len(run.seeds)
        if share is not None and not counted and len(run.seeds) > 1:
            rows.append([problem, method, str(len(run.seeds)), f"{100 * float(share.mean()):.1f}"])
    return markdown(["problem", "method", "replications", "share, %"], rows) if rows else ""


def comparison_table(runs: Grid) -> str:
    """Each variant of BoGrape against each baseline."""
    methods = methods_of(runs)
    baselines = [method for method in methods if not is_bogrape(method)]
    rows = []
    for problem in problems_of(runs):
        for method in filter(is_bogrape, methods):
            if (problem, method) not in runs:
                continue
            row = [problem, method]
            for baseline in baselines:
                other = runs.get((problem, baseline))
                found = other and compare_runs(runs[problem, method], other)
                row.append(" / ".join(map(str, found)) if found else "-")
            rows.append(row)
    return markdown(["problem", "method", *baselines], rows) if rows and baselines else ""


def cost_table(runs: Grid) -> str:
    """Seconds per proposal, and how many were proved optimal."""
    rows = []
    for (problem, method), run in runs.items():
        status = [item for row in run.column("status") for item in row]
        proved = "-"
        if any(item in ("optimal", "time_limit") for item in status):
            proved = f"{100 * status.count('optimal') / len(status):.0f} %"
        budgets = dict.fromkeys(map(_budget, run.records))
        rows.append(
            [
                problem,
                method,
                ", ".join(budgets),
                f"{np.median(run.seconds):.2f}",
                f"{run.seconds.max():.1f}",
                f"{run.seconds.sum(axis=1).mean():.0f}",
                proved,
            ]
        )
    header = ["problem", "method", "budget", "median (s)", "worst (s)", "run (s)", "proved"]
    return markdown(header, rows)


def _budget(record: Record) -> str:
    """Limits of a proposal: evaluations of a local search, or seconds for a proof."""
    if "n_evaluations" in record:
        return f"{record['n_evaluations']:,} evaluations"
    is_proof = any(status != "heuristic" for status in record.get("status", ()))
    return f"{record['time_limit']:g} s" if is_proof else "-"


def seeds_table(runs: Grid) -> str:
    """Final value of every replication."""
    seeds = sorted({seed for run in runs.values() for seed in run.seeds})
    rows = []
    for (problem, method), run in runs.items():
        final = dict(zip(run.seeds, run.final, strict=True))
        cells = [short_number(float(final[seed])) if seed in final else "-" for seed in seeds]
        rows.append([problem, method, *cells])
    return markdown(["problem", "method", *(f"seed {seed}" for seed in seeds)], rows)
