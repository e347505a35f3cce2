"""The benchmark of asking and telling runs, and the cost does not grow with the trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import many_observations
from benchmarks.records import read
from benchmarks.study_overhead import flush_ms, measure


def test_asking_and_telling_cost_little_at_a_thousand_trials(tmp_path: Path) -> None:
    """The target is 20 ms (``make bench``); shared machines and slow disks get some room here."""
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


def test_the_fits_on_record_keep_their_targets() -> None:
    seconds = {
        (record["method"], record["problem"]): record["cpu_seconds"]
        for record in read(many_observations.RESULTS)
    }
    assert seconds["ssp", "2000 observations"] < 5
    assert seconds["sp", "2000 observations"] < 5
    assert seconds["rbf", "1000 observations"] < 10
