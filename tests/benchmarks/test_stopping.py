"""The measurement of regret bounds: its runs, its summary, and the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import stopping
from benchmarks.records import read


def step(n: int, bound: float, regret: float, best: float, calibrated: bool = True) -> Any:
    holds = regret <= bound
    return {"n": n, "bound": bound, "regret": regret, "holds": holds, "best": best} | {
        "calibrated": calibrated
    }


def test_the_summary_counts_runs_of_each_kind_and_all_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records: list[dict[str, Any]] = [
        {"run": 0, "exact": False, "stopped": 7, "steps": [step(7, 0.1, 0.0, 1.0)]},
        {"run": 1, "exact": False, "stopped": None, "steps": [step(7, 0.1, 0.2, 1.0)]},
        {"run": 2, "exact": False, "stopped": None, "steps": [step(7, 0.1, 0.2, 1.0, False)]},
        {"run": 1, "exact": True, "stopped": 7, "steps": [step(7, 1, 0, 2.0), step(8, 1, 0, 1.0)]},
    ]
    path = tmp_path / "stopping.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    monkeypatch.setattr(stopping, "RESULTS", path)
    lines = iter(stopping.summary().splitlines())
    parts: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("runs"):
            title = line
            parts[title] = []
        else:
            parts[title].append(line.strip())
    pooled = parts["runs 0 to 59, noise not told, kernel sees either: 3 runs"]
    assert "calibrated models: 2 of 3" in pooled
    assert "at the end of the budget: 1 of 2 (50.0 %)" in pooled
    assert "where a run stops: 1 of 1 (100.0 %)" in pooled
    assert "evaluations saved: 9 of 48 (18.8 %)" in pooled
    exact = parts["runs 0 to 59, told as exact, kernel sees all but triangles: 1 runs"]
    assert "with the best value of the whole budget already: 0 of 1 (0.0 %)" in exact
    assert "by runs with that value: 0 of 16 (0.0 %)" in exact
    assert (
        "at the end of the budget: 0 of 0"
        in parts["runs 180 to 299, told as exact, kernel sees either: 0 runs"]
    )


def test_a_run_compares_each_bound_with_the_true_regret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "BUDGET", 7)
    found, exact = stopping.run(1, False), stopping.run(1, True)
    values = stopping.values_of(stopping.SPACES[1].enumerate(), 1)
    assert found["optimum"] == pytest.approx(values.min())
    assert [one["n"] for one in found["steps"]] == [6, 7]
    for one, other in zip(found["steps"], exact["steps"], strict=True):
        assert one["best"] == other["best"]  # the same graphs
        assert other["bound"] < one["bound"]
        assert np.isclose(one["regret"] + values.min(), values).any()
        assert other["regret"] == pytest.approx(other["best"] - values.min())
        assert one["holds"] == (one["regret"] <= one["bound"])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("which", list(stopping.RUNS))
def test_the_recorded_bounds_hold_as_often_as_they_say(which: str, exact: bool) -> None:
    """At the end of the budget, for models that are calibrated; true optima are known."""
    numbers = stopping.RUNS[which]
    found = [r for r in read(stopping.RESULTS) if r["exact"] is exact and r["run"] in numbers]
    assert sorted(record["run"] for record in found) == list(numbers)
    last = [record["steps"][-1] for record in found if record["steps"][-1]["calibrated"]]
    holds = [one["regret"] <= one["bound"] + 1e-9 for one in last]
    assert len(holds) > 0.9 * len(numbers)
    assert np.mean(holds) >= 0.95
