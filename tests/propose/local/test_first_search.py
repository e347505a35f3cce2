"""The search before a proof gives the same result as search alone, wherever it is interrupted."""

from __future__ import annotations

import numpy as np
import pytest

from bogrape import LCB, GraphSpace
from bogrape.errors import EngineError
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import choose, propose_exact
from bogrape.propose.exact.proof.piece import Answer, Open, Piece
from bogrape.propose.exact.proof.schedule import Rounds
from bogrape.propose.local import search as local_search
from bogrape.propose.local.search import FirstSearch, search
from bogrape.propose.portfolio import propose_search
from bogrape.propose.proposal import Request
from exhaustive import fitted

SPACES = {
    "sizes": GraphSpace((3, 6)),
    "labels": GraphSpace(6, labels=3),
    "directed": GraphSpace(5, directed=True),
}
N_EVALUATIONS = 20_000


@pytest.fixture
def no_time_before_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_search, "_FIRST_SHARE", 0.0)
    monkeypatch.setattr(local_search, "_LARGEST_FIRST_SHARE", 0.0)


def criterion(space: GraphSpace, kernel: str = "esp") -> Criterion:
    return Criterion(space, fitted(space, kernel, "random", 0).posterior, LCB(1.0))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.usefixtures("no_time_before_the_proof")
def test_an_interrupted_search_ends_like_an_uninterrupted_one(name: str) -> None:
    objective = criterion(SPACES[name])
    starts = SPACES[name].sample(5, seed=3)
    request = Request(starts, time_limit=600.0, n_evaluations=N_EVALUATIONS, starts=starts, seed=4)
    first = FirstSearch(objective, request)
    first.run()
    assert not first.is_over
    assert first.elite.n_evaluations < N_EVALUATIONS / 2
    while first.step():
        pass
    alone = search(
        objective,
        excluded=request.excluded,
        n_evaluations=N_EVALUATIONS,
        seed=4,
        starts=starts,
    )
    assert first.elite.value == alone.value
    assert first.elite.ties == alone.ties
    # one more if nothing was found before the interruption: any graph, for the proof to start with
    assert 0 <= first.elite.n_evaluations - alone.n_evaluations <= 1


@pytest.mark.usefixtures("no_time_before_the_proof")
def test_a_search_without_time_before_the_proof_is_completed_during_it() -> None:
    """If `rbf` compares edge labels and graphs cannot all be listed, there is no proof."""
    objective = criterion(GraphSpace(10, labels=3, edge_labels=2), "rbf")
    request = Request(time_limit=600.0, n_evaluations=N_EVALUATIONS)
    proved, searched = propose_exact(objective, request), propose_search(objective, request)
    assert proved.value == searched.value
    assert proved.n_evaluations >= searched.n_evaluations


def test_a_search_gives_way_to_the_proof_once_it_finds_nothing_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_search, "_FIRST_SHARE", 0.0)
    request = Request(time_limit=600.0, n_evaluations=10**9)
    first = FirstSearch(criterion(SPACES["labels"]), request)
    first.run()
    assert not first.is_over
    assert first.elite.n_evaluations >= local_search._ENOUGH
    assert request.seconds < 0.5 * request.time_limit


def test_a_search_gets_most_of_a_short_time_limit() -> None:
    request = Request(time_limit=0.3, n_evaluations=10**9)
    first = FirstSearch(criterion(GraphSpace(30, labels=5)), request)
    first.run()
    assert not first.is_over
    assert request.seconds >= local_search._LARGEST_FIRST_SHARE * request.time_limit


def test_a_search_is_over_at_the_deadline() -> None:
    request = Request(time_limit=0.2, n_evaluations=10**9)
    first = FirstSearch(criterion(SPACES["labels"]), request)
    while first.step():
        pass
    assert first.is_over
    assert request.late
    assert not first.step()


def test_a_graph_found_in_a_piece_proved_to_hold_none_is_an_error() -> None:
    objective = criterion(SPACES["labels"], "sp")
    first = FirstSearch(objective, Request(time_limit=60.0, n_evaluations=N_EVALUATIONS))
    elite = first.run()
    graph = next(iter(elite.ties.values()))
    strategy = choose(objective)
    assert strategy is not None
    structures = [item.piece.structure for item in _pieces(objective, elite.value)]
    (home,) = [Piece(structure) for structure in structures if Piece(structure).matches(graph)]
    rounds = Rounds(strategy, Request(time_limit=60.0), first, [Open(home, -np.inf)])
    with pytest.raises(EngineError, match="was proved to exist"):
        rounds._absorb(rounds.left, {0: Answer(proved=True, bound=elite.value + 0.1)})
    rounds._absorb(rounds.left, {0: Answer(proved=True, bound=elite.value)})
    assert not rounds.left


def _pieces(objective: Criterion, value: float) -> list[Open]:
    from bogrape.encoding import structures

    space = objective.space
    whole = structures([space.shape(n) for n in space.sizes], space.connected, space.rules)
    return [Open(Piece(structure), value) for structure in whole]
