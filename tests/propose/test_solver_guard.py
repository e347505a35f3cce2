"""A sample of the proofs by CP-SAT is repeated without symmetry detection.

Symmetry detection is a part of the solver that has been wrong before: a false symmetry makes it
call a feasible model infeasible.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from ortools.sat.python import cp_model

from bogrape import GraphSpace
from bogrape.acquisition import EI, LCB
from bogrape.constraints import CycleRange, DegreeRange, ForbiddenAdjacency, LabelCount
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.distances.extremes import prove as prove_fact
from bogrape.propose.exact.distances.histograms import Fact, known_facts
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.partition import open_pieces
from bogrape.propose.exact.proof.piece import Answer
from bogrape.propose.exact.proof.strategy import SolvePiece
from exact_cases import solve_piece
from exhaustive import fitted, random_graph

SECONDS = 60.0
SPACES = [
    GraphSpace(7),
    GraphSpace(8, rules=[DegreeRange(maximum=4)]),
    GraphSpace((5, 6), labels=2),
    GraphSpace(6, labels=2, rules=[LabelCount(0, 2, 3), ForbiddenAdjacency(1, 1)]),
    GraphSpace(7, rules=[CycleRange(1, 3)]),
    GraphSpace(4, directed=True),
    GraphSpace(5, directed=True, acyclic=True),
    GraphSpace(6, connected=False),
]


class Plain(cp_model.CpSolver):
    """A solver that does not detect symmetries."""

    n_made = 0

    def __init__(self) -> None:
        super().__init__()
        self.parameters.symmetry_level = 0
        Plain.n_made += 1


def _tasks(kernel: str, seed: int) -> list[SolvePiece]:
    """Pieces of a random instance, each with a value to beat near the best."""
    rng = np.random.default_rng([seed, len(kernel), ord(kernel[0])])
    space = SPACES[int(rng.integers(len(SPACES)))]
    unlabelled = kernel in ("ssp", "essp")
    acquisition = (
        EI() if unlabelled and rng.random() < 0.25 else LCB(float(rng.choice([0.0, 1, 2])))
    )
    objective = Criterion(space, fitted(space, kernel, seed=seed).posterior, acquisition)
    some = [random_graph(space, n, rng) for n in rng.choice(list(space.sizes), 60)]
    inside = [objective.of_graph(graph) for graph in some if space.contains(graph)]
    value = float(np.quantile(inside, 0.05)) if inside else math.inf
    left = open_pieces(choose(objective), value, time.monotonic() + SECONDS)
    chosen = rng.permutation(len(left))[:4]
    return [solve_piece(left[i].piece, objective, value, SECONDS) for i in chosen]


def _both(task: SolvePiece, monkeypatch: pytest.MonkeyPatch) -> tuple[Answer, Answer]:
    usual = task.solve()
    with monkeypatch.context() as patch:
        patch.setattr(cp_model, "CpSolver", Plain)
        return usual, task.solve()


def assert_alike_if_finished(task: SolvePiece, monkeypatch: pytest.MonkeyPatch) -> bool:
    """True if both solves were finished; then they must agree."""
    usual, plain = _both(task, monkeypatch)
    if not (usual.proved and plain.proved):
        return False
    assert (usual.graph is None) == (plain.graph is None)
    assert plain.value == pytest.approx(usual.value, rel=1e-6, abs=1e-6)
    return True


@pytest.mark.parametrize("kernel", ["ssp", "sp"])
def test_a_few_pieces_have_the_same_answer_without_symmetry_detection(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Plain.n_made
    finished = [assert_alike_if_finished(task, monkeypatch) for task in _tasks(kernel, 2)]
    assert any(finished)
    assert Plain.n_made > made


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_pieces_have_the_same_answer_without_symmetry_detection(
    kernel: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = [assert_alike_if_finished(task, monkeypatch) for task in _tasks(kernel, seed)]
    assert all(finished)


def _facts(seed: int) -> list[tuple[int, int, Fact]]:
    rng = np.random.default_rng(seed)
    listed = [(n, d, fact) for n in (6, 7, 8, 9) for d in range(2, n) for fact in known_facts(n, d)]
    return [listed[i] for i in rng.choice(len(listed), 20, replace=False)]


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
def test_facts_shipped_with_the_package_are_proved_again_without_symmetry_detection(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cp_model, "CpSolver", Plain)
    unfinished: list[Any] = []
    for n, diameter, fact in _facts(seed):
        found = prove_fact(n, diameter, fact.weights, fact.high, facts=(), seconds=SECONDS)
        assert found is None or isinstance(found, Fact), f"{fact} is wrong: {found}"
        unfinished += [fact] if found is None else []
    assert len(unfinished) <= 2
