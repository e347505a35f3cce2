"""Which method found the best values on which problem: the table of ``docs/which-method.md``.

A row compares, over the seeds that all methods of a problem have, the mean final value of the
default (``rbf``), of the best baseline and of the best of all, and counts in how many seeds the
default ended at or below the best baseline. Values are minimised.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .markdown_tables import markdown, short_number
from .records import read
from .statistics import Runs, common, compare, group, is_bogrape

EXPERIMENTS = ("synthetic", "molecules", "nas", "grid", "xtb", "pmo")
DEFAULT = "rbf"


def table(out: Path) -> str:
    """One row per problem."""
    rows = [
        row for name in EXPERIMENTS for row in _rows(common(group(read(out / f"{name}.jsonl"))))
    ]
    if not rows:
        return "No results are kept yet."
    header = [
        *("problem", "seeds", "`rbf`", "best baseline", "`rbf` against it: wins–ties–losses"),
        *("best of all", "seconds per proposal of `rbf`"),
    ]
    return markdown(header, rows)


def _rows(runs: dict[tuple[str, str], Runs]) -> list[list[str]]:
    rows = []
    for problem in dict.fromkeys(problem for problem, _ in runs):
        own = {method: run for (name, method), run in runs.items() if name == problem}
        baselines = {m: run for m, run in own.items() if not is_bogrape(m)}
        if DEFAULT not in own or not baselines:
            continue
        default, (name, baseline) = own[DEFAULT], _best(baselines)
        found = compare(default.final, baseline.final)
        winner, best = _best(own)
        if _mean(best) == _mean(default):
            winner, best = DEFAULT, default
        rows.append(
            [
                problem,
                str(len(default.seeds)),
                _mean(default),
                f"{_mean(baseline)} (`{name}`)",
                f"{found.wins}–{found.ties}–{found.losses}",
                f"{_mean(best)} (`{winner}`)",
                f"{float(np.median(default.seconds)):.2g}",
            ]
        )
    return rows


def _best(runs: dict[str, Runs]) -> tuple[str, Runs]:
    return min(runs.items(), key=lambda item: float(item[1].final.mean()))


def _mean(run: Runs) -> str:
    return short_number(float(run.final.mean()))
