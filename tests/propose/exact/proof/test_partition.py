"""The space in pieces: every graph below the value is in an open piece with a valid bound."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from bogrape import GraphSpace
from bogrape.acquisition import EI, LCB
from bogrape.constraints import NumberOfEdges
from bogrape.errors import EngineError, SearchSpaceExhausted
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.partition import open_pieces
from bogrape.propose.exact.proof.schedule import Rounds
from bogrape.propose.exact.proof.strategies import exponential
from bogrape.propose.local.search import FirstSearch
from bogrape.propose.proposal import Request
from bogrape.propose.values import Elite
from crossed import crossed
from exhaustive import assert_optimal, everything, fitted, prove

from oracles import are_isomorphic

SPACES = {
    "labels": GraphSpace((2, 5), labels=2),
    "features": GraphSpace(4, labels=2, features=1),
    "directed": GraphSpace(3, labels=2, directed=True, connected=False),
}
OPTIONS: list[dict[str, Any]] = [{}, {"alpha": 100.0, "noise": 1e-6}, {"feature_kernel": False}]


def _soon() -> float:
    return time.monotonic() + 60


@pytest.mark.parametrize(
    ("name", "kernel", "options"),
    crossed(list(SPACES), ["sp", "ssp", "esp", "essp"], OPTIONS, one_in=3),
)
def test_graphs_below_a_value_are_in_open_pieces(
    name: str, kernel: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exponential, "few_graphs", lambda _: False)  # lines for ESP as well
    space = SPACES[name]
    n_settled = 0
    for seed in range(2):
        gp = fitted(space, kernel, "random", seed, **options)
        objective = Criterion(space, gp.posterior, LCB(1.0))
        graphs = everything(space)
        values = np.array([objective.of_graph(graph) for graph in graphs])
        value = float(np.quantile(values, 0.02))
        left = open_pieces(choose(objective), value, _soon())
        for graph, own in zip(graphs, values, strict=True):
            homes = [item for item in left if item.piece.matches(graph)]
            assert len(homes) <= 1  # pieces do not overlap
            if own < value:
                assert homes
            for item in homes:
                assert item.bound <= own + 1e-9 * (1 + abs(own))
            n_settled += not homes
    assert n_settled or name == "directed" or kernel in ("ssp", "essp")


def test_a_graph_found_in_a_settled_part_is_an_error() -> None:
    """A longer search refutes a wrong bound."""
    space = SPACES["labels"]
    objective = Criterion(space, fitted(space, "sp", "random", 0).posterior, LCB(1.0))
    graphs = everything(space)
    values = np.array([objective.of_graph(graph) for graph in graphs])
    best = graphs[int(values.argmin())]
    poor = float(np.quantile(values, 0.5))
    left = open_pieces(choose(objective), poor, _soon())
    wrong = [item for item in left if not item.piece.matches(best)]
    assert wrong
    assert len(wrong) < len(left)
    request = Request(time_limit=20.0)
    first = FirstSearch(objective, request)
    first.elite, first.is_over = Elite(frozenset(), poor, {}), True
    with pytest.raises(EngineError, match="had been proved"):
        Rounds(choose(objective), request, first, wrong).run()


@pytest.mark.parametrize("kappa", [0.0, 1.0, 1.96])
@pytest.mark.parametrize("name", ["labels", "features", "directed"])
def test_lines_find_the_optimum_of_esp(
    name: str, kappa: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In spaces that would otherwise be listed."""
    monkeypatch.setattr(exponential, "few_graphs", lambda _: False)
    space = SPACES[name]
    assert_optimal(space, fitted(space, "esp", "random", 1), LCB(kappa))


NEARLY_EMPTY = {
    "no labels": GraphSpace(9, rules=[NumberOfEdges(34)]),
    "labels": GraphSpace(9, labels=2, rules=[NumberOfEdges(36)]),
    "features": GraphSpace(10, features=1, rules=[NumberOfEdges(45)]),
    "directed": GraphSpace(9, directed=True, connected=False, rules=[NumberOfEdges(72)]),
}


@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()], ids=["LCB", "EI"])
@pytest.mark.parametrize(
    "kernel",
    [pytest.param(k, marks=pytest.mark.deep) for k in ("ssp", "sp", "essp")] + ["esp"],
)
@pytest.mark.parametrize("name", NEARLY_EMPTY)
def test_large_spaces_with_all_graphs_excluded_are_exhausted(
    name: str, kernel: str, acquisition: LCB | EI
) -> None:
    """Local search finds nothing either, so there is no value to beat."""
    space = NEARLY_EMPTY[name]
    graphs = list(space.enumerate())
    gp = fitted(space, kernel)
    with pytest.raises(SearchSpaceExhausted):
        prove(space, gp, acquisition, exclude=graphs, time_limit=20)


@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()], ids=["LCB", "EI"])
@pytest.mark.parametrize("name", ["no labels", "labels"])
def test_the_only_remaining_graph_is_found_by_the_proof(name: str, acquisition: LCB | EI) -> None:
    """The local search before the proof is very short."""
    space = NEARLY_EMPTY[name]
    last, *others = space.enumerate()
    found = prove(space, fitted(space, "esp"), acquisition, exclude=others, time_limit=4)
    assert are_isomorphic(found.graph, last)
