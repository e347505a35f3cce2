"""The benchmark that compares ``auto`` with each method: what it runs, and who loses."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.experiments import get_experiment
from benchmarks.experiments.portfolio import tables, way_of
from bogrape.errors import InvalidInputError


def record(method: str, value: float, **more: Any) -> dict[str, Any]:
    head = {"problem": "gcn-10+5", "method": method, "seed": 0, "time_limit": 5.0}
    return {**head, "value": value, "scale": 2.0, **more}


def test_auto_runs_with_every_criterion_and_all_methods_are_compared() -> None:
    methods = get_experiment("portfolio").plan.methods
    for method in methods:
        assert f"auto:{way_of(method)[1]}" in methods
    assert {way_of(method)[0] for method in methods} == {
        "auto",
        "search",
        "evolve",
        "sample",
        "mip",
    }


@pytest.mark.parametrize("method", ["auto", "auto:rbf", "guess:rbf-ei", "rbf-ei"])
def test_unknown_methods_are_refused(method: str) -> None:
    with pytest.raises(InvalidInputError, match="auto:rbf-ei"):
        way_of(method)


def test_a_value_that_auto_missed_is_shown_in_standard_deviations() -> None:
    shown = tables([record("auto:rbf-ei", -1.0), record("search:rbf-ei", -1.5)])
    assert "| rbf | ei | 1 | 0/1 | 1/1 | - | - | - | 0.25 |" in shown


def test_rounding_does_not_count_as_a_loss() -> None:
    shown = tables([record("auto:rbf-ei", -1.0), record("search:rbf-ei", -1.0 - 1e-9)])
    assert "| rbf | ei | 1 | 1/1 | 1/1 | - | - | - | - |" in shown


def test_a_method_is_left_out_where_an_instance_is_unsupported() -> None:
    refused = {"problem": "gcn-10+5", "method": "mip:sp-lcb", "seed": 0, "time_limit": 5.0}
    shown = tables([record("auto:sp-lcb", -1.0), {**refused, "status": "unsupported"}])
    assert "| sp | lcb | 1 | 1/1 | - | - | - | - | - |" in shown
