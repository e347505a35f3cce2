"""Proofs of EI by way of LCB, against brute force.

In spaces as small as these the engine would list all graphs; here that is disabled.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from bogrape import EI, Graph, GraphSpace
from bogrape.constraints import NumberOfEdges
from bogrape.encoding import structures
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.ei_chords import Chord
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.proof import schedule
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.piece import Piece
from bogrape.propose.exact.proof.strategies import improvement
from bogrape.propose.exact.proof.strategies.histograms import Histograms
from bogrape.propose.exact.proof.strategies.improvement import (
    ExponentialLabelledEI,
    LinearLabelledEI,
    RbfEI,
)
from bogrape.propose.exact.proof.strategies.own import OwnHistograms, solve_here
from bogrape.propose.exact.proof.strategy import Strategy
from bogrape.propose.local.search import FirstSearch
from bogrape.propose.values import Elite
from exhaustive import DATASETS, assert_optimal, everything, fitted, true_values

SPACES = {
    "labels": GraphSpace(5, labels=2),
    "three labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((2, 4), labels=2),
    "disconnected": GraphSpace(4, labels=2, connected=False),
    "directed": GraphSpace(3, labels=2, directed=True),
    "strongly connected": GraphSpace(3, labels=2, directed=True, connected="strong"),
    "features": GraphSpace(4, labels=2, features=1),
    "sizes and features": GraphSpace((2, 3), labels=2, features=2),
    "rules": GraphSpace(5, labels=2, rules=[NumberOfEdges(4, 7)]),
}
STRATEGIES = {"rbf": RbfEI, "sp": LinearLabelledEI, "esp": ExponentialLabelledEI}
XIS = (0.0, 0.0, 0.3, -0.5, 3.0)  # in deviations; hardly any graph improves by the last one


@pytest.fixture(autouse=True)
def _no_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No workers either: starting them takes longer than solving such small pieces."""
    monkeypatch.setattr(improvement, "few_graphs", lambda _: False)
    monkeypatch.setattr(schedule, "solve_all", solve_here)
    monkeypatch.setattr(Strategy, "run", lambda _, *given: solve_here(*given))


def _assert_proved(kernel: str, name: str, seed: int) -> None:
    space = SPACES[name]
    rng = np.random.default_rng(seed)
    noise = (1e-6, 1e-3, "fit")[seed % 3]
    gp = fitted(space, kernel, DATASETS[seed % len(DATASETS)], seed, noise=noise)
    acquisition = EI(float(rng.choice(XIS)) * gp.posterior.model.y_scale)
    criterion = Criterion(space, gp.posterior, acquisition)
    assert type(choose(criterion)) is STRATEGIES[kernel]
    graphs = everything(space)
    exclude = []
    if seed % 2:  # the best ones are taken
        order = np.argsort(true_values(gp, acquisition, graphs))
        exclude = [graphs[i] for i in order[: int(rng.integers(1, 6))]]
    proposal = assert_optimal(
        space, gp, acquisition, exclude=exclude, seed=seed, n_evaluations=20, time_limit=120.0
    )
    taken = {graph.canonical_key() for graph in exclude}
    left = [graph for graph in graphs if graph.canonical_key() not in taken]
    best = min(criterion.of_graph(graph) for graph in left)  # minus log EI, however small
    scale = math.log(gp.posterior.model.y_scale)
    assert scale - proposal.log_value == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.thinned(9)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kernel", STRATEGIES)
def test_the_optimum_is_that_of_brute_force(kernel: str, name: str, seed: int) -> None:
    _assert_proved(kernel, name, seed + 10 * list(STRATEGIES).index(kernel))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(50, 60))
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kernel", STRATEGIES)
def test_the_optimum_is_that_of_brute_force_with_more_seeds(
    kernel: str, name: str, seed: int
) -> None:
    _assert_proved(kernel, name, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(60, 75))
@pytest.mark.parametrize("name", SPACES)
def test_the_optimum_of_rbf_is_that_of_brute_force_with_many_seeds(name: str, seed: int) -> None:
    _assert_proved("rbf", name, seed)


# -- bounds ---------------------------------------------------------------------------------------


@cache
def _case(kernel: str, seed: int) -> tuple[Criterion, dict[tuple[int, ...], float]]:
    """A criterion, and the best value of each composition."""
    space = SPACES["labels"]
    gp = fitted(space, kernel, seed=seed, noise=1e-3)
    criterion = Criterion(space, gp.posterior, EI())
    best: dict[tuple[int, ...], float] = {}
    for graph in everything(space):
        composition = tuple(np.bincount(graph.labels, minlength=2).tolist())
        value = criterion.of_graph(graph)
        best[composition] = min(best.get(composition, math.inf), value)
    return criterion, best


def assert_bounds_hold(kernel: str, seed: int, more: float) -> None:
    """Bounds of pieces are not above their best values, for a value to beat above the best."""
    criterion, best = _case(kernel, seed)
    value = min(best.values()) + more
    chosen = choose(criterion)
    assert chosen is not None
    (structure,) = structures([criterion.space.shape(5)], True, ())
    assert criterion.weakest_bound() <= min(best.values())
    for composition, truth in best.items():
        piece = Piece(structure, composition)
        lines = chosen.lines(piece, known_of_counts(structure, chosen.coordinates(piece), None))
        assert lines is not None
        by_lines = lines.branched(value, math.inf, 20).bound
        for bound in (chosen.quick_bound(piece, value), by_lines):
            assert min(bound, value) <= truth + 1e-9


@pytest.mark.thinned(3)
@pytest.mark.parametrize("more", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("kernel", STRATEGIES)
def test_bounds_of_pieces_are_bounds(kernel: str, more: float) -> None:
    assert_bounds_hold(kernel, 0, more)


# -- mutations: wrong proofs are noticed ----------------------------------------------------------


def assert_second_best_is_beaten(kernel: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the second best graph as incumbent, the proof alone has to find the best."""
    space = SPACES["strongly connected"]
    gp = fitted(space, kernel, seed=seed, noise=1e-3)
    criterion = Criterion(space, gp.posterior, EI())
    ranked = sorted(everything(space), key=criterion.of_graph)
    best = criterion.of_graph(ranked[0])
    second = next(graph for graph in ranked if criterion.of_graph(graph) > best + 1e-3)

    _search_finds(second, criterion, monkeypatch)
    assert_optimal(space, gp, EI())


def _search_finds(
    graph: Graph | None, criterion: Criterion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make local search find only this graph, or none."""
    identify = criterion.space.identity

    def elite() -> Elite:
        if graph is None:
            return Elite((), identify=identify)
        return Elite((), criterion.of_graph(graph), {identify(graph): graph}, 1, identify)

    def run(search: FirstSearch) -> Elite:
        search.elite, search.is_over = elite(), True
        return search.elite

    monkeypatch.setattr(FirstSearch, "run", run)
    monkeypatch.setattr(schedule, "search", lambda *_, **__: elite())


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", STRATEGIES)
def test_the_second_best_graph_is_never_proved(
    kernel: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_second_best_is_beaten(kernel, seed, monkeypatch)


class _TooLow(Chord):
    """A chord that is far below EI."""

    def limit(self, value: float) -> float:
        return super().limit(value) - 2.0 * self.high


@pytest.mark.parametrize("kernel", STRATEGIES)
def test_chords_that_are_too_low_are_caught(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = improvement.chords

    def lowered(*given: Any, **options: Any) -> tuple[Chord, ...]:
        some = true(*given, **options)
        return tuple(_TooLow(chord.goal, chord.low, chord.high, chord.kappa) for chord in some)

    monkeypatch.setattr(improvement, "chords", lowered)
    with pytest.raises(AssertionError):
        assert_second_best_is_beaten(kernel, 0, monkeypatch)


@pytest.mark.parametrize("kernel", ["rbf", "esp"])  # with SP, the first chord happens to find it
def test_chords_that_are_left_out_are_caught(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = improvement.chords
    monkeypatch.setattr(
        improvement, "chords", lambda *given, **_: true(*given, apart=0.0, n_most=12)[:1]
    )
    with pytest.raises(AssertionError):
        assert_second_best_is_beaten(kernel, 0, monkeypatch)


@pytest.mark.parametrize("kernel", STRATEGIES)
def test_bounds_that_are_too_high_are_caught(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = Chord.value
    monkeypatch.setattr(Chord, "value", lambda chord, lcb: true(chord, lcb + 5.0 * chord.high))
    with pytest.raises(AssertionError):
        assert_second_best_is_beaten(kernel, 0, monkeypatch)


# -- which strategy -------------------------------------------------------------------------------


def test_other_spaces_and_kernels_keep_their_strategies() -> None:
    plain, bonds = GraphSpace(5), GraphSpace(4, labels=2, edge_labels=2)
    chosen = {
        (kernel, space.n_edge_labels): choose(
            Criterion(space, fitted(space, kernel).posterior, EI())
        )
        for kernel, space in (("ssp", plain), ("essp", plain), ("rbf", plain), ("rbf", bonds))
    }
    assert type(chosen["ssp", 0]) is type(chosen["essp", 0]) is Histograms
    assert type(chosen["rbf", 0]) is OwnHistograms
    assert chosen["rbf", 2] is None  # all graphs are listed


class _Changed(EI):
    """May compute something else."""


def test_a_subclass_of_ei_is_not_treated_as_ei() -> None:
    space = SPACES["labels"]
    for kernel in STRATEGIES:
        criterion = Criterion(space, fitted(space, kernel).posterior, _Changed())
        assert type(choose(criterion)) not in STRATEGIES.values()


@pytest.mark.parametrize("kernel", STRATEGIES)
def test_without_an_incumbent_the_proof_finds_one(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = SPACES["strongly connected"]
    gp = fitted(space, kernel, seed=4, noise=1e-3)
    _search_finds(None, Criterion(space, gp.posterior, EI()), monkeypatch)
    assert_optimal(space, gp, EI())
