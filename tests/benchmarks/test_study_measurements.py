"""Benchmarks of studies and fits: they run, and recorded results meet their targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import many_observations, scale
from benchmarks.records import read
from benchmarks.study_overhead import flush_ms, measure


def test_asking_and_telling_cost_little_at_a_thousand_trials(tmp_path: Path) -> None:
    """The target is 20 ms (``make bench``); this limit has room for busy machines, slow disks."""
    room = 20 * flush_ms(tmp_path)
    result = measure(f"sqlite:///{tmp_path}/study.db", "SQLite", n_trials=1000, n_pairs=15)
    assert result.open_trials == 1015
    assert result.median < 60 + room
    assert measure(None, "memory", n_trials=1000, n_pairs=5).median < 10


def test_the_benchmark_of_many_observations_measures_seconds_and_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(many_observations, "TIME_LIMIT", 0.5)
    found = many_observations.measure(many_observations.fill(None, "ssp", 30))
    assert 0 < found["first"] < 60
    assert 0 < found["second"] < 60
    assert 10 < found["peak_mb"] < 10_000


def test_fits_are_timed_with_fitted_noise_and_all_observations() -> None:
    found = many_observations.fit_seconds("rbf", 12)
    assert found["n_used"] == 12
    assert 0 < found["cpu_seconds"] < 20


def test_recorded_fits_meet_their_targets() -> None:
    seconds = {
        (record["method"], record["problem"]): record["cpu_seconds"]
        for record in read(many_observations.RESULTS)
    }
    assert seconds["ssp", "2000 observations"] < 5
    assert seconds["sp", "2000 observations"] < 5
    assert seconds["rbf", "1000 observations"] < 10


def test_recorded_asks_models_spaces_and_batches_meet_their_targets() -> None:
    records = read(many_observations.ROOT / "docs" / "results" / scale.FILE)
    by_kind = {kind: [r for r in records if r["method"] == kind] for kind in scale.CASES}
    for kind, cases in scale.CASES.items():
        assert [record["problem"] for record in by_kind[kind]] == list(cases)
    for record in by_kind["ask"]:
        assert max(record["first"], record["second"]) < 10
        assert record["peak_mb"] < 500
    for record in by_kind["subset"]:
        assert record["some"]["rmse"] < 1.05 * record["all"]["rmse"]
        assert record["some"]["rmse_of_best"] < 1.05 * record["all"]["rmse_of_best"]
    for record in by_kind["space"]:
        assert record["seconds"] < record["limit"] + 2
        assert record["value"] < record["random"]
    for record in by_kind["batch"]:
        assert record["seconds"] < record["limit"] + 2
        assert record["n_different"] == 100
        assert record["mean"] < record["random"]


def test_a_model_fitted_to_some_observations_is_compared_with_one_fitted_to_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scale, "_N_HELD_OUT", 20)
    monkeypatch.setattr(scale, "STUDY_OBSERVATIONS", 20)
    found = scale.subset("rbf", 40)
    assert (found["some"]["n_used"], found["all"]["n_used"]) == (20, 40)
    assert 0 < found["all"]["rmse"] < 2 * found["spread"]
