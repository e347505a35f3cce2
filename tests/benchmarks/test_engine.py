"""The benchmark of proofs: instances in processes of their own, results resumed, tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.engine import Case, load, run, table


def test_instances_run_once_wherever_the_benchmark_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = [Case(kernel="ssp", n=4, n_seeds=1, limit=20.0)]
    run(cases, Path("results.jsonl"))
    (record,) = load(tmp_path / "results.jsonl")
    assert (record["status"], record["standard_gap"]) == ("optimal", 0.0)
    assert "gap 0 sd" in capsys.readouterr().out
    run(cases, Path("results.jsonl"))
    assert load(tmp_path / "results.jsonl") == [record]
    assert capsys.readouterr().out == ""


def record(**more: object) -> dict[str, object]:
    return {
        **{"kernel": "sp", "n": 9, "seed": 0, "limit": 5.0, "status": "time_limit"},
        **{"seconds": 5.0, "value": -1.0, "search_value": -1.0},
        "memory_mb": {"self": 100.0, "largest_worker": 50.0},
        **more,
    }


def test_gaps_are_in_standard_deviations_and_unknown_in_older_files() -> None:
    assert "| 0.75 (worst 1.2) |" in table([record(standard_gap=0.3), record(standard_gap=1.2)])
    assert "| recorded in another unit |" in table([record(standard_gap=0.3), record(gap=0.5)])
    assert "| 1/1 | - |" in table([record(status="optimal", gap=1e-9)])
