"""The attack: its brute force is right, it notices planted faults, and it finds no real ones.

``ATTACK_INSTANCES`` is the number of instances of the deep test (400), ``ATTACK_SEED`` their seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import constraints
from bogrape.errors import SearchSpaceExhausted
from bogrape.propose import portfolio
from bogrape.propose.criterion import Criterion
from bogrape.propose.proposal import Proposal, Request

from attack import disguise
from attack.check import attack
from attack.graphs import Kind, Plain, classes, distances
from attack.instances import ENOUGH, Instance, instance
from attack.model import Standard
from attack.rules import ALL_RULES, Names, PlainSpace, holds
from attack.run import read, run, summary

PARTS = 8
N_DEEP = int(os.environ.get("ATTACK_INSTANCES", "400"))
SEED = int(os.environ.get("ATTACK_SEED", "1"))


# -- the brute force ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "connected", "numbers"),
    [
        (Kind(), True, [1, 1, 2, 6, 21]),  # OEIS A001349
        (Kind(), False, [1, 2, 4, 11, 34]),  # A000088
        (Kind(n_labels=2), False, [2, 6, 20, 90]),  # A000666
        (Kind(n_edge_labels=2), False, [1, 3, 10, 66]),  # A004102
        (Kind(directed=True), False, [1, 3, 16, 218]),  # A000273
        (Kind(directed=True), True, [1, 2, 13, 199]),  # A003085
        (Kind(directed=True), "strong", [1, 1, 5, 83]),  # A035512
    ],
)
def test_the_brute_force_finds_the_known_numbers_of_graphs(
    kind: Kind, connected: bool | str, numbers: list[int]
) -> None:
    for n, number in enumerate(numbers, start=1):
        space = PlainSpace(kind, range(n, n + 1), connected, (), Names())
        assert len(space.everything()) == number


def test_with_names_every_numbering_is_a_different_graph() -> None:
    space = PlainSpace(Kind(), range(4, 5), True, (), Names(tuple("abcd")))
    assert len(space.everything()) == 38  # A001187: connected labelled graphs


def test_every_rule_of_the_package_is_implemented_here() -> None:
    assert set(constraints.RULES) | {"NamedNodes"} == ALL_RULES


def _cycle(n: int) -> Plain:
    rows = [[int((u - v) % n in (1, n - 1)) for v in range(n)] for u in range(n)]
    return Plain(tuple(map(tuple, rows)), (0,) * n, ((),) * n, False)


@pytest.mark.parametrize(
    ("rule", "holds_in_a_ring_of_five"),
    [
        (("TwoConnected", {}), True),
        (("TwoConnected", {"kind": "edge"}), True),
        (("DisjointPaths", {"u": 0, "v": 2}), True),
        (("DisjointPaths", {"u": 0, "v": 2, "minimum": 3}), False),
        (("MaximumDistance", {"u": 0, "v": 3, "maximum": 2}), True),
        (("MaximumDistance", {"u": 0, "v": 2}), False),
        (("CycleRange", {"minimum": 1, "maximum": 1}), True),
        (("DiameterRange", {"maximum": 1}), False),
        (("TotalCost", {"costs": {(1, 0): 0.1}, "otherwise": 0.05, "maximum": 0.3}), True),
        (("TotalCost", {"costs": {(1, 0): 0.1}, "otherwise": 0.05, "maximum": 0.29}), False),
        (("RequiredSubgraph", {"edges": [(0, 1), (1, 2)], "induced": True}), True),
        (("ForbiddenEdge", {"u": 0, "v": 7}), True),
        (("RequiredEdge", {"u": 0, "v": 7}), False),
        (("LinearRule", {"edges": {(0, 1): 0.1, (2, 1): 0.2}, "maximum": 0.3}), True),
    ],
    ids=str,
)
def test_rules_hold_in_a_ring_as_expected(rule: Any, holds_in_a_ring_of_five: bool) -> None:
    assert holds(rule, _cycle(5), Names()) == holds_in_a_ring_of_five


def test_distances_of_a_ring() -> None:
    assert distances(_cycle(5).bonds)[0] == (0, 1, 2, 2, 1)
    assert len(classes(Kind(), 3).of) == 8


def test_values_are_standardised_without_rounding() -> None:
    standard = Standard.of([1e9 + 1, 1e9 + 2, 1e9 + 3])
    assert float(standard.mean) == 1e9 + 2
    assert standard.standard(1e9 + 3, offset=True) == pytest.approx(np.sqrt(1.5), rel=1e-15)
    assert float(Standard.of([1e-300, 3e-300]).scale) == pytest.approx(1e-300)


# -- the attack ---------------------------------------------------------------------------------


def test_the_attack_finds_nothing() -> None:
    rows = list(run(9, SEED))
    assert len(rows) == 9
    assert not any(row["failures"] for row in rows), summary(rows)
    assert len({row["outcome"] for row in rows}) >= 3


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_the_attack_finds_nothing_in_many_instances(part: int) -> None:
    n = -(-N_DEEP // PARTS)
    rows = list(run(n, SEED + 1 + part))
    assert len(rows) == n
    assert not any(row["failures"] for row in rows), summary(rows)


def test_a_run_resumes_where_it_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "attack.jsonl"
    assert [row["instance"] for row in run(3, 5, path)] == [0, 1, 2]
    path.write_text(path.read_text()[:-20])  # killed while the last line was being written
    assert [row["instance"] for row in run(4, 5, path)] == [2, 3]
    assert sorted(row["instance"] for row in read(path)) == [0, 1, 2, 3]
    assert not list(run(4, 5, path))
    assert not list(run(9, 5, path, seconds=-1))
    assert all(json.loads(line) for line in path.read_text().splitlines()[3:])


# -- planted faults -----------------------------------------------------------------------------


def _plain_case() -> Instance:
    """The connected graphs of five nodes, a few of them excluded, and nothing unusual."""
    return replace(
        instance(0, 3),
        space=PlainSpace(Kind(), range(5, 6), True, (), Names()),
        acyclic=False,
        labels=None,
        kernel="ssp",
        noise=1e-4,
        amplitudes={"restarts": 1},
        data=(_cycle(5), _cycle(4), _cycle(3)),
        y=(0.3, 1.0, -0.7),
        acquisition=("lcb", 1.0),
        n_left=None,
        pending=(),
        incumbent="none",
        method="exact",
        time_limit=ENOUGH,
        n=1,
        guarded=True,
    )


def test_the_case_for_planted_faults_is_sound() -> None:
    made = disguise._NoSymmetry.n_made
    record = attack(_plain_case())
    assert not record.failures
    assert record.outcome == "optimal"
    assert record.guarded
    assert disguise._NoSymmetry.n_made > made


def _worst(objective: Criterion, request: Request) -> Proposal:
    graphs = [g for g in objective.space.enumerate() if request.identify(g) not in request.excluded]
    worst = max(graphs, key=objective.of_graph)
    value = objective.of_graph(worst)
    return objective.proposal(
        worst, value, bound=-9.0, status="optimal", seconds=0.0, method="broken"
    )


def _bound_too_high(objective: Criterion, request: Request) -> Proposal:
    sound = portfolio.propose_exact(objective, request)
    value = objective.of_graph(sound.graph)
    worst = _worst(objective, request).graph
    return objective.proposal(
        worst,
        objective.of_graph(worst),
        bound=value + 1e-4,
        status="time_limit",
        seconds=0.0,
        method="broken",
    )


def _value_off(objective: Criterion, request: Request) -> Proposal:
    sound = portfolio.propose_exact(objective, request)
    off = 2e-3 * sound.scale
    return replace(sound, value=sound.value - off, bound=sound.bound - off)


def _excluded(objective: Criterion, request: Request) -> Proposal:
    taken = next(g for g in request.exclude if objective.space.contains(g))
    value = objective.of_graph(taken)
    return objective.proposal(
        taken, value, bound=-9.0, status="time_limit", seconds=0.0, method="broken"
    )


def _outside(objective: Criterion, request: Request) -> Proposal:
    from bogrape import Graph

    sound = portfolio.propose_exact(objective, request)
    return replace(sound, graph=Graph(np.zeros((5, 5))))


def _exhausted(objective: Criterion, request: Request) -> Proposal:
    raise SearchSpaceExhausted(f"{objective} {request}")


def _leaked(objective: Criterion, request: Request) -> Proposal:
    raise ValueError(f"{objective} {request}")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (_worst, "not optimal"),
        (_bound_too_high, "is above the optimum"),
        (_value_off, "the value is not that of the graph"),
        (_excluded, "is excluded"),
        (_outside, "is not in the space"),
        (_exhausted, "raised SearchSpaceExhausted"),
        (_leaked, "leaked"),
    ],
)
def test_a_planted_fault_is_found(
    fault: Callable[..., Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The final check of the package is disabled, since it would find most of them first."""
    monkeypatch.setitem(portfolio.METHODS, "exact", fault)
    monkeypatch.setattr(portfolio, "recheck", lambda *_: None)
    record = attack(_plain_case())
    assert any(words in failure for failure in record.failures), record


def test_a_rule_that_means_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = ("NumberOfEdges", {"minimum": 6, "maximum": None})
    case = _plain_case()
    case = replace(case, space=replace(case.space, rules=(rule,)))
    assert not attack(case).failures
    monkeypatch.setattr(constraints.NumberOfEdges, "excess", lambda _, batch: np.zeros(len(batch)))
    assert any("contains returned True" in failure for failure in attack(case).failures)


def test_a_model_that_loses_a_graph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = ("NumberOfEdges", {"minimum": 4, "maximum": None})
    case = _plain_case()
    case = replace(case, space=replace(case.space, rules=(rule,)))
    rows = constraints.NumberOfEdges.rows
    monkeypatch.setattr(
        constraints.NumberOfEdges,
        "rows",
        lambda _, shape: rows(constraints.NumberOfEdges(minimum=5), shape),
    )
    assert any("enumerate found" in failure for failure in attack(case).failures)


def test_rules_named_for_a_contradiction_must_contradict(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the rules can be left out, either; on four nodes a ring needs four edges."""
    rules = (
        ("CycleRange", {"minimum": 1, "maximum": None}),
        ("NumberOfEdges", {"minimum": 0, "maximum": 3}),
        ("TwoConnected", {}),
        ("DegreeRange", {"minimum": 1, "maximum": None}),
    )
    case = _plain_case()
    case = replace(case, space=replace(case.space, rules=rules))
    record = attack(case)
    assert record.outcome in ("refused", "InfeasibleSpaceError")
    assert not record.failures
    if record.outcome == "InfeasibleSpaceError":
        monkeypatch.setattr(
            "bogrape.propose.exact.proof.nothing_left.smallest_conflict", lambda rules, _: rules
        )
        assert any("each other without" in failure for failure in attack(case).failures)
