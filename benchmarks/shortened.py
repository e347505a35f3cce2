"""What is kept of each experiment, beside what was planned: the table of what was shortened.

One row per experiment of a page, also for those of which nothing is kept, so that nothing is
missing without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .experiments import Experiment, Plan, experiment_names, get_experiment
from .markdown_tables import markdown
from .records import Record, read

PAGE = "results.md"
_HEADER = (
    *("experiment", "replications", "complete pairs", "not run", "in addition", "proposals"),
    *("limit of a proposal", "planned limit", "load"),
)


def table(out: Path, page: str = PAGE) -> str:
    """One row per experiment that a page shows."""
    experiments = [get_experiment(name) for name in experiment_names()]
    return markdown(
        _HEADER,
        [
            row(experiment, read(out / f"{experiment.name}.jsonl"))
            for experiment in experiments
            if experiment.page == page
        ],
    )


def row(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Replications, pairs of a problem and a method, and limits: what is kept and what not."""
    plan = experiment.plan
    planned = [experiment.settings(plan, method) for method in plan.methods]
    counts: dict[tuple[str, str], int] = {}
    for record in records:
        key = record["problem"], record["method"]
        counts[key] = counts.get(key, 0) + 1
    pairs = [(problem, method) for problem in plan.problems for method in plan.methods]
    full = sum(counts.get(pair, 0) >= plan.replications for pair in pairs)
    made = sorted({record["n_iterations"] for record in records if "n_iterations" in record})
    return [
        experiment.name,
        f"{_range(counts.values())} of {plan.replications}",
        f"{full} of {len(pairs)}",
        _not_run(plan, counts),
        _names([method for method in _methods(counts) if method not in plan.methods]),
        f"{_range(made)} of {plan.n_iterations}" if made else "-",
        _limits(records),
        _limits(planned),
        _loads(records),
    ]


def _not_run(plan: Plan, counts: dict[tuple[str, str], int]) -> str:
    """Problems and methods without any record, and the number of other pairs without one."""
    if not counts:
        return "everything"
    had = {problem for problem, _ in counts}
    problems = [problem for problem in plan.problems if problem not in had]
    methods = [method for method in plan.methods if method not in _methods(counts)]
    others = sum(
        (problem, method) not in counts
        for problem in plan.problems
        for method in plan.methods
        if problem not in problems and method not in methods
    )
    parts = [_names(names) for names in (problems, methods) if names]
    if others:
        parts.append(f"{others} other pair{'s' * (others > 1)}")
    return "; ".join(parts) or "-"


def _methods(counts: dict[tuple[str, str], int]) -> list[str]:
    return list(dict.fromkeys(method for _, method in counts))


def _names(names: Sequence[str]) -> str:
    return ", ".join(name.replace("*", r"\*") for name in names) or "-"


def _limits(settings: Iterable[Mapping[str, Any]]) -> str:
    """Seconds for a proof, and evaluations of a local search, the smallest first."""
    seconds, evaluations = set(), set()
    for each in settings:
        if "n_evaluations" in each and "n_iterations" in each:
            evaluations.add(int(each["n_evaluations"]))
        elif "time_limit" in each:
            seconds.add(float(each["time_limit"]))
    texts = [f"{limit:g} s" for limit in sorted(seconds)]
    texts += [f"{number:,} evaluations" for number in sorted(evaluations)]
    return ", ".join(texts) or "-"


def _loads(records: Sequence[Record]) -> str:
    """Load averages of the machine, which old records do not have."""
    loads = [record["machine"]["load"] for record in records if "load" in record["machine"]]
    return _range(round(load) for load in loads) if loads else "-"


def _range(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    if len(found) < 2:
        return str(found[0]) if found else "none"
    return f"{found[0]} to {found[-1]}"
