"""The benchmark of local search: its states, its measurements, and the recorded results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import local_search
from benchmarks.local_search import RESULTS, SEARCHES, STATES, measure, states, table
from benchmarks.records import read
from bogrape.problems import get_problem
from bogrape.propose.local import chains


def test_states_hold_graphs_and_values_of_their_problems() -> None:
    found = list(states([10, 20]))
    assert len(found) == 48
    assert {len(state.graphs) for state in found} == {12, 20, 30, 45}
    for state in found[::11]:
        problem = get_problem(state.problem, state.seed)
        values = [problem.objective(graph) for graph in state.graphs]
        assert values == pytest.approx(state.values, rel=1e-6, abs=1e-7)
        assert problem.space.contains_each(state.graphs).all()
    assert STATES.stat().st_size < 100_000


def test_a_measurement_runs_the_search_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    state = next(states([10]))
    seen: list[dict[str, int]] = []
    real = local_search.search

    def spy(*arguments: object, **named: object) -> object:
        seen.append({name: vars(chains)[name] for name in SEARCHES["before"]})
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(local_search, "search", spy)
    now = {name: vars(chains)[name] for name in SEARCHES["before"]}
    for name in SEARCHES:
        found = measure(state, name, 1500)
        assert found["improvement"] > 0
        assert found["n_evaluations"] >= 1500
    assert seen == [SEARCHES["before"], now]


def test_the_recorded_search_is_better_than_before_at_every_size_and_budget() -> None:
    records = read(RESULTS)
    best: dict[str, float] = {}
    for record in records:
        name = record["problem"]
        best[name] = max(best.get(name, 0.0), record["improvement"])
    assert len(best) == 48
    for n in (10, 20):
        for budget in (2_500, 12_000, 50_000):
            before, now = (
                np.mean(
                    [
                        record["improvement"] / best[record["problem"]]
                        for record in records
                        if (record["seed"], record["method"]) == (budget, method)
                        and f"-{n}/" in record["problem"]
                    ]
                )
                for method in ("before", "now")
            )
            assert now > before, (n, budget)
    rows = table(records).splitlines()[2:]
    assert len(rows) == 12
    assert all("| 24 |" in row for row in rows)
