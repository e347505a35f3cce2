"""Facts and cutting planes hold for every graph, tighten bounds, and are kept."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.counts import distances_batch
from bogrape.encoding import structures
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.distances import prove_facts as factory
from bogrape.propose.exact.distances.directions import tail_directions
from bogrape.propose.exact.distances.extremes import Extremes, prove
from bogrape.propose.exact.distances.histograms import Fact, dump, known_facts, parse
from bogrape.propose.exact.distances.prove_facts import tightest
from bogrape.propose.exact.proof.cutting_planes import CutPiece
from bogrape.propose.exact.proof.piece import Learnt, Piece
from crossed import crossed
from exact_cases import solve_piece
from exhaustive import classes


def realised(n: int, diameter: int) -> np.ndarray:
    """``(h_1, .., h_d)`` of every connected graph of a size and diameter, by enumeration."""
    distance = distances_batch(np.stack([graph.adjacency for graph in classes(n)]))
    distance = distance[distance.max(axis=(1, 2)) == diameter]
    rows = [(distance == s).sum(axis=(1, 2)) // 2 for s in range(1, diameter + 1)]
    return np.unique(np.stack(rows, axis=1), axis=0)


@pytest.mark.parametrize("n", [5, 6])
def test_the_solver_proves_the_maximum_over_all_graphs(n: int) -> None:
    for diameter in range(2, n):
        every = realised(n, diameter)
        for weights in [*tail_directions(diameter), tuple((-1) ** s * s for s in range(diameter))]:
            largest = int((every @ np.array(weights)).max())
            assert prove(n, diameter, weights, largest, facts=(), seconds=60) == Fact(
                tuple(weights), largest
            )
            beyond = prove(n, diameter, weights, largest - 1, facts=(), seconds=60)
            assert isinstance(beyond, np.ndarray)
            assert int(beyond @ np.array(weights)) == largest
            assert beyond.tolist() in every.tolist()


@pytest.mark.parametrize("diameter", [3, 4, 5])
def test_a_search_sees_only_histograms_of_graphs(diameter: int) -> None:
    extremes = Extremes(7, diameter)
    every = realised(7, diameter)
    for weights in tail_directions(diameter):
        reached = extremes.reach(weights)
        assert reached <= (every @ np.array(weights)).max()
        assert reached >= 0.8 * (every @ np.array(weights)).max()
    assert {tuple(row) for row in extremes.seen.tolist()} <= {tuple(r) for r in every.tolist()}


def test_the_factory_finds_the_tightest_facts() -> None:
    for diameter, seconds in product((3, 4), (60.0,)):
        every, facts = realised(7, diameter), list[Fact]()
        for weights in tail_directions(diameter):
            fact = tightest(Extremes(7, diameter), weights, facts, seconds)
            if fact is not None:
                assert fact.high == (every @ np.array(weights)).max()
                facts.append(fact)
        assert facts


def instance(seed: int, kernel: str, n: int) -> Criterion:
    space = GraphSpace(n)
    graphs = space.sample(8, seed=seed)
    y = np.random.default_rng(seed).normal(size=len(graphs))
    return Criterion(space, GraphGP(kernel, n_labels=1).fit(graphs, y).posterior, LCB(1.0))


@pytest.mark.parametrize(("seed", "kernel"), crossed(range(4), ["ssp", "sp"], one_in=4))
def test_cuts_tighten_a_bound_and_never_cut_off_a_graph(seed: int, kernel: str) -> None:
    n = 7
    objective = instance(seed, kernel, n)
    tightened = 0
    for structure in structures([objective.space.shape(n)], True, ()):
        for part in structure.by_diameter():
            if part.diameter is None or part.diameter < 3:
                continue
            best = min(
                objective.of_graph(graph)
                for graph in classes(n)
                if graph.distances().max() == part.diameter
            )
            piece = Piece(part, (n,) if kernel == "sp" else None)
            job = solve_piece(piece, objective, best, 20.0)
            loose = solve_piece(piece, objective, best, 20.0, relaxed=True).solve()
            cut = CutPiece(job.strategy, job.question, 20.0).solve()
            assert cut.bound <= best + 1e-9
            assert cut.bound >= loose.bound - 1e-9
            tightened += cut.bound > loose.bound + 1e-6
            every = realised(n, part.diameter)
            for fact in cut.facts:
                assert (every @ np.array(fact.weights) <= fact.high).all()
    assert tightened


def test_facts_are_kept_for_their_size_and_diameter_only() -> None:
    learnt = Learnt()
    (structure,) = structures([GraphSpace(6).shape(6)], True, ())
    three, four = [part for part in structure.by_diameter() if part.diameter in (3, 4)]
    fact = Fact((0, 0, 1), 7)
    learnt.learn_facts(three, (fact,))
    learnt.learn_facts(three, (fact,))
    assert learnt.facts(three) == (*known_facts(6, 3), fact)
    assert learnt.facts(four) == known_facts(6, 4)
    assert learnt.facts(structure) == ()


def test_the_file_of_facts_round_trips() -> None:
    table = {(9, 3): (Fact((0, 1, 1), 28), Fact((1, -2, 3), 5)), (10, 4): (Fact((0, 0, 0, 1), 12),)}
    assert parse(dump(table)) == table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["2"], "sizes from 5 on, got 2"),
        (["5", "--seconds", "0"], "got 0"),
        (["7", "--diameters", "6"], "expected --diameters from 3 to 5, got [6]"),
    ],
)
def test_the_factory_refuses_what_it_cannot_do(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["prove_facts", *arguments])
    with pytest.raises(SystemExit):
        factory.main()
    assert message in capsys.readouterr().err


def test_the_factory_creates_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "facts.json"
    monkeypatch.setattr("sys.argv", ["prove_facts", "5", "--output", str(file)])
    factory.main()
    largest = realised(5, 3).max(axis=0)
    assert parse(file.read_text()) == {(5, 3): (Fact((0, 1, 0), int(largest[1])),)}


@pytest.mark.deep
@pytest.mark.parametrize("n", [9, 10, 11, 12])
def test_facts_shipped_with_the_package_are_proved_again(n: int) -> None:
    """Those of up to 11 nodes come from a list of all graphs; the solver agrees with it."""
    shipped = [(d, fact) for d in range(3, n) for fact in known_facts(n, d)]
    rng = np.random.default_rng(n)
    for i in rng.choice(len(shipped), 15, replace=False):
        diameter, fact = shipped[i]
        assert prove(n, diameter, fact.weights, fact.high, facts=(), seconds=600) == fact
