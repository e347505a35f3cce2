"""Proposals equal those on record (tests/data/proposals.json), all made in one process.

The record was made by one process per question, so an answer that depended on what the engine
remembers of earlier questions would differ here. If the arithmetic is that of the record (the
processor, the BLAS, the versions of the solvers), every bit must be the same. Otherwise, rounding
moves values by less than the tolerance of ties, and those of a fitted model by the accuracy of
the optimiser; the graph, the status and the method are still the same.

    python tests/record_proposals.py --against OLD/src

compares two versions in one run, bit by bit, on any machine.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from bogrape import Graph

from proposal_instances import INSTANCES, SPACES, Instance
from record_proposals import RECORD, arithmetic, differences, the_clock_had_a_say

pytestmark = pytest.mark.usual_search
SAVED: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
NEAR = {"fitted": 1e-5}  # the likelihood is flat at its maximum
USUALLY = 1e-8

FURTHER = (14, 29, 68, 75)  # batches, a molecule, the mixed-integer program
QUICK = [
    name
    for name, instance in INSTANCES.items()
    if instance.number in FURTHER
    or (instance.number % 8 == instance.number // 8 % 8 and "molecules" not in instance.space)
]  # one in eight


def assert_as_recorded(name: str) -> None:
    instance = INSTANCES[name]
    if "molecules" in instance.space:
        pytest.importorskip("rdkit")
    saved, found = SAVED["answers"][name], instance.answers()
    near = NEAR.get(instance.way, USUALLY)
    if the_clock_had_a_say(found):  # the proofs still agree
        compared = ("value", "bound", "status")
        assert differences(saved, found, near, compared) == []
    elif SAVED["arithmetic"] == arithmetic():
        assert differences(_whoever_found_it(saved), _whoever_found_it(found)) == []
    else:
        saved = _whoever_found_it(_named_here(instance, saved))
        assert differences(saved, _whoever_found_it(found), near) == []


def _whoever_found_it(answers: list[Any]) -> list[Any]:
    """Answers without what found them: on a busy machine, workers may overtake the search."""
    return [{**answer, "method": answer["method"].removeprefix("search+")} for answer in answers]


def _named_here(instance: Instance, saved: list[Any]) -> list[Any]:
    """The answers with identities of this version of igraph or RDKit."""
    identity = SPACES[instance.space]().identity
    return [{**answer, "identity": identity(Graph.from_json(answer["graph"]))} for answer in saved]


def test_all_questions_are_on_record_and_cover_all_cases() -> None:
    assert list(SAVED["answers"]) == list(INSTANCES)
    assert len(INSTANCES) >= 60
    covered = {(instance.kernel, instance.way) for instance in INSTANCES.values()}
    assert len(covered) == 20  # four kernels, five ways each
    answers = [answer for found in SAVED["answers"].values() for answer in found]
    assert {answer["status"] for answer in answers} == {"optimal", "heuristic"}
    assert sum(answer["status"] == "optimal" for answer in answers) >= 100
    assert {answer["method"] for answer in answers} >= {"search+cp-sat", "cp-sat", "search+scip"}


@pytest.mark.parametrize("name", QUICK)
def test_a_proposal_is_the_one_on_record(name: str) -> None:
    assert_as_recorded(name)


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in reversed(INSTANCES) if name not in QUICK])
def test_every_other_proposal_is_the_one_on_record(name: str) -> None:
    assert_as_recorded(name)


SOUND = {
    "value": -1.5,
    "bound": -1.6,
    "status": "optimal",
    "method": "cp-sat",
    "n_evaluations": 7,
    "identity": "a",
    "graph": "{}",
}


@pytest.mark.parametrize(
    ("change", "near", "n_differences"),
    [
        ({}, 0.0, 0),
        ({"value": -1.5000000000000002}, 0.0, 1),
        ({"bound": -1.6000000000000003}, 0.0, 1),
        ({"n_evaluations": 8}, 0.0, 1),
        ({"graph": "[]"}, 0.0, 1),
        ({"value": -1.5000000000000002, "n_evaluations": 8, "graph": "[]"}, 1e-8, 0),
        ({"value": -1.5 - 1e-7}, 1e-8, 1),
        ({"bound": None}, 1e-8, 1),
        ({"status": "time_limit", "method": "search", "identity": "b"}, 1e-8, 3),
    ],
    ids=str,
)
def test_the_comparison_notices_differences(
    change: dict[str, Any], near: float, n_differences: int
) -> None:
    assert len(differences([SOUND], [{**SOUND, **change}], near)) == n_differences
    assert len(differences([{**SOUND, **change}], [SOUND], near)) == n_differences
    assert len(differences([SOUND, SOUND], [SOUND], near)) == 1
