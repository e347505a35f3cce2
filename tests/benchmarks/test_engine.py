"""The benchmark of proofs: instances in processes of their own, resumed runs, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine import Case, chosen, run
from benchmarks.engine_tables import molecule_table, random_table
from benchmarks.records import read


def test_instances_run_once_wherever_the_benchmark_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = [Case(kernel="ssp", n=4, n_seeds=1, limit=20.0)]
    run(cases, Path("results.jsonl"))
    (record,) = read(tmp_path / "results.jsonl")
    assert (record["status"], record["standard_gap"]) == ("optimal", 0.0)
    assert "commit" in record
    assert "gap 0 sd" in capsys.readouterr().out
    assert run(cases, Path("results.jsonl")) == [record]
    assert read(tmp_path / "results.jsonl") == [record]
    assert capsys.readouterr().out == ""


def record(**more: object) -> dict[str, Any]:
    return {
        **{"kernel": "sp", "n": 9, "seed": 0, "limit": 5.0, "status": "time_limit"},
        **{"seconds": 5.0, "value": -1.0, "bound": -2.0, "search_value": -1.0, "scale": 2.0},
        **{"molecules": False, "memory_mb": {"self": 100.0, "largest_worker": 50.0}},
        **more,
    }


def test_gaps_and_misses_are_in_standard_deviations() -> None:
    assert "| 0.75 (worst 1.2) | 2/2 |" in random_table(
        [record(standard_gap=0.3), record(standard_gap=1.2)]
    )
    assert "| 1/1 | - | 0/1, worst 0.5 sd off |" in random_table(
        [record(status="optimal", standard_gap=0.0, search_value=0.0)]
    )


def test_the_table_shows_that_an_instance_has_no_bound() -> None:
    assert "| no bound |" in random_table([record(standard_gap=None)])


def test_molecules_and_random_values_have_tables_of_their_own() -> None:
    both = [record(standard_gap=0.3), record(molecules=True, n=7, standard_gap=0.4)]
    assert "| sp | 9 |" in random_table(both)
    assert "| sp | 7 |" not in random_table(both)
    assert "| sp | 7 |" in molecule_table(both)
    assert "| sp | 9 |" not in molecule_table(both)


def test_cases_are_chosen_by_kernel_size_and_kind() -> None:
    small = Case(kernel="ssp", n=5, n_seeds=1, limit=1.0)
    large = Case(kernel="sp", n=9, n_seeds=1, limit=1.0)
    molecules = Case(kernel="sp", n=5, n_seeds=1, limit=1.0, molecules=True)
    cases = [small, large, molecules]
    assert chosen(cases, (), (), None) == cases
    assert chosen(cases, ("sp",), (5,), None) == [molecules]
    assert chosen(cases, (), (5,), False) == [small]
