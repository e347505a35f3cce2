"""The table of what was shortened: nothing that was planned is missing without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments import experiment_names, get_experiment
from benchmarks.shortened import row, table

GRID = get_experiment("grid")


def record(method: str, seed: int, **more: Any) -> dict[str, Any]:
    return {
        "experiment": "grid",
        "problem": "grid-33",
        "method": method,
        "seed": seed,
        "n_initial": 10,
        "n_iterations": 50,
        "machine": {"load": 2.4},
        **more,
    }


def test_every_experiment_of_the_page_has_a_row(tmp_path: Path) -> None:
    names = [line.split(" | ")[0].strip("| ") for line in table(tmp_path).splitlines()[2:]]
    assert names == [n for n in experiment_names() if get_experiment(n).page == "results.md"]
    assert table(tmp_path).count("everything") == len(names)


def test_a_row_names_what_is_missing_and_what_is_additional() -> None:
    others = [m for m in GRID.plan.methods if m not in ("random", "rbf")]
    records = [
        *(record("random", seed) for seed in range(5)),
        record("rbf", 0, n_evaluations=2500, machine={"load": 8.9}),
        record("ssp", 0, time_limit=3.0, machine={}),
    ]
    assert row(GRID, records) == [
        "grid",
        "1 to 5 of 5",
        "1 of 7",
        ", ".join(others),
        "ssp",
        "50 of 50",
        "3 s, 2,500 evaluations",
        "2,500 evaluations",
        "2 to 9",
    ]


@pytest.mark.parametrize("name", ["xtb", "synthetic"])
def test_pairs_without_a_record_are_counted_apart_from_problems_and_methods(name: str) -> None:
    experiment = get_experiment(name)
    first, second, *others = experiment.plan.problems
    methods = experiment.plan.methods
    records = [{**record(method, 0), "problem": first} for method in methods]
    records.append({**record(methods[0], 0), "problem": second})
    missing = len(methods) - 1
    assert row(experiment, records)[3] == f"{', '.join(others)}; {missing} other pairs"
