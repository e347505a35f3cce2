"""Layers around a node: cases are complete, and their limits hold."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import LCB, GraphSpace
from bogrape.constraints import Shape
from bogrape.encoding import Structure
from bogrape.encoding.enumeration import enumerate_graphs
from bogrape.encoding.layering import layering
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds import taylor_bounds
from bogrape.propose.exact.distances import extremes
from bogrape.propose.exact.distances.extremes import plain, prove
from bogrape.propose.exact.distances.histograms import Fact
from bogrape.propose.exact.distances.layers import Heaviest, cases, largest, profiles
from bogrape.propose.exact.proof.cases import SplitPiece
from bogrape.propose.exact.proof.piece import Piece
from bogrape.propose.exact.proof.schedule import Open, Rounds
from exact_cases import solve_piece
from exhaustive import classes, fitted
from exhaustive import prove as prove_graph


def layers_of(graph: Graph) -> np.ndarray:
    """A row ``(l_1(v), .., l_d(v))`` for every node v."""
    distance = graph.distances()
    return np.stack([(distance == s).sum(axis=1) for s in range(1, int(distance.max()) + 1)], 1)


@given(st.integers(4, 7), st.data())
@settings(max_examples=200, deadline=None)
def test_no_graph_has_more_than_the_layers_of_its_heaviest_node_allow(
    n: int, data: st.DataObject
) -> None:
    graph = data.draw(st.sampled_from(classes(n)))
    layers = layers_of(graph)
    diameter = layers.shape[1]
    weights = data.draw(st.lists(st.integers(-3, 4), min_size=diameter, max_size=diameter))
    own = layers @ np.array(weights)
    total = int(own.sum()) // 2
    heaviest = layers[int(np.argmax(own))]
    profile = tuple(int(size) for size in heaviest if size)
    assert total <= largest(diameter, weights, profile)
    claim = Heaviest(tuple(weights), total, 10**6)
    every, none = cases(n, diameter, claim, 10**6)
    assert none is None
    assert profile in [layers for layers, _ in every]
    # a few at a time: each is found once, in decreasing order, until no rest remains
    listed, rest = [], claim
    while rest is not None:
        found, rest = cases(n, diameter, rest, data.draw(st.integers(1, 5)))
        listed += found
    assert [case.most for _, case in listed] == sorted((c.most for _, c in every), reverse=True)
    assert sorted(listed, key=str) == sorted(every, key=str)


@given(st.integers(4, 7), st.data())
@settings(max_examples=200, deadline=None)
def test_no_two_nodes_are_closer_or_farther_apart_than_their_classes_allow(
    n: int, data: st.DataObject
) -> None:
    graph = data.draw(st.sampled_from(classes(n)))
    first = data.draw(st.integers(0, n - 1))
    distance = graph.distances().astype(int)
    around = distance[first]
    path = [data.draw(st.sampled_from(np.flatnonzero(around == around.max()).tolist()))]
    while path[0] != first:
        back = graph.adjacency[path[0]] & (around == around[path[0]] - 1)
        path.insert(0, data.draw(st.sampled_from(np.flatnonzero(back).tolist())))
    rest = sorted(set(range(n)) - set(path), key=lambda v: around[v])
    known = layering(tuple(np.bincount(around)[1:].tolist()))
    between = distance[np.ix_([*path, *rest], [*path, *rest])]
    index = np.ix_(known.of_node, known.of_node)
    off_diagonal = ~np.eye(n, dtype=bool)
    assert (known.near[index] <= between)[off_diagonal].all()
    assert (between <= known.far[index])[off_diagonal].all()


@pytest.mark.parametrize(("n", "diameter"), [(5, 3), (7, 2), (7, 6)])
def test_profiles_are_all_ways_to_distribute_the_nodes(n: int, diameter: int) -> None:
    found = list(profiles(n, diameter, [1] * diameter, 0))
    assert len(found) == len(set(found))
    assert all(sum(profile) == n - 1 and min(profile) >= 1 for profile in found)
    assert len(found) == sum(comb(n - 2, parts - 1) for parts in range(1, diameter + 1))


@pytest.mark.parametrize("n", [4, 5])
def test_the_encoding_with_layers_has_every_graph_with_such_a_node(n: int) -> None:
    expected: dict[tuple[int, ...], set[str]] = {}
    for graph in classes(n):
        for row in layers_of(graph):
            profile = tuple(int(size) for size in row if size)
            expected.setdefault(profile, set()).add(graph.canonical_key())
    for profile in profiles(n, n - 1, [1] * (n - 1), 0):
        structure = Structure(Shape(n), "strong", layers=profile)
        found = [graph.canonical_key() for graph in enumerate_graphs(structure)]
        assert set(found) == expected.get(profile, set()), profile


@pytest.mark.parametrize(("share", "most_cases"), [(0.3, 3000), (0.0, 3000), (1.0, 0)])
def test_a_claim_is_settled_at_once_or_case_by_case(
    monkeypatch: pytest.MonkeyPatch, share: float, most_cases: int
) -> None:
    monkeypatch.setattr(extremes, "_WHOLE_SHARE", share)
    monkeypatch.setattr(extremes, "_MOST_CASES", most_cases)
    rows = [layers_of(graph).sum(axis=0) // 2 for graph in classes(7)]
    for weights in [(0, 0, 1, 1), (0, 1, -1, 2), (1, 0, 0, -3)]:
        most = max(int(row @ np.array(weights)) for row in rows if len(row) == 4)
        assert prove(7, 4, weights, most, facts=(), seconds=60) == Fact(weights, most)
        beyond = prove(7, 4, weights, most - 1, facts=(), seconds=60)
        assert isinstance(beyond, np.ndarray)
        assert int(beyond @ np.array(weights)) == most


@pytest.mark.parametrize(("n", "seed"), [(5, 0), (6, 1)])
@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("kernel", ["ssp", "essp"])
def test_the_best_of_all_cases_is_the_best_of_all_graphs(
    n: int, seed: int, rank: int, kernel: str
) -> None:
    space = GraphSpace(n)
    objective = Criterion(space, fitted(space, kernel, seed=seed).posterior, LCB(1.0))
    for diameter in range(3, n):
        every = [g for g in classes(n) if g.distances().max() == diameter]
        values = sorted(map(objective.of_graph, every))
        value = values[rank] if len(values) > rank else np.inf  # to beat
        job = solve_piece(Piece(plain(n, diameter)), objective, value)
        counts = solve_piece(job.question.piece, objective, np.inf, relaxed=True).solve().counts
        assert counts is not None
        cases = SplitPiece(job.strategy, job.question, counts, 10**6, 60).solve()
        assert cases is not None
        best = np.inf
        for piece in cases:
            answer = solve_piece(piece, objective, value).solve()
            assert answer.proved
            best = min(best, answer.value)
            loose = solve_piece(piece, objective, value, relaxed=True).solve()
            assert loose.bound <= answer.value + 1e-6
        assert min(best, value) == pytest.approx(values[0], abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.96]))
@settings(max_examples=30, deadline=None)
def test_the_case_of_every_better_graph_is_kept(seed: int, kappa: float) -> None:
    rng = np.random.default_rng(seed)
    space = GraphSpace(6)
    posterior = fitted(space, "ssp", seed=seed % 7).posterior
    objective = Criterion(space, posterior, LCB(kappa))
    graphs = [g for g in classes(6) if g.distances().max() == 3]
    values = np.array([objective.of_graph(graph) for graph in graphs])
    job = solve_piece(Piece(plain(6, 3)), objective, float(rng.choice(values)))
    counts = tuple(map(int, rng.integers(0, 9, len(job.strategy.coordinates(job.question.piece)))))
    # any weights give valid cases
    cases = SplitPiece(job.strategy, job.question, counts, 10**6, 60).solve()
    assert cases is not None
    kept = {piece.structure.layers for piece in cases}
    for graph, value in zip(graphs, values, strict=True):
        if value < job.question.value - 1e-9:
            assert cases[0].heaviest is not None
            weights = np.array(cases[0].heaviest.weights)
            layers = layers_of(graph)
            heaviest = layers[int(np.argmax(layers @ weights))]
            assert tuple(int(size) for size in heaviest if size) in kept


@pytest.mark.parametrize("kernel", ["ssp", "essp"])
def test_the_engine_proves_the_same_when_everything_is_split_into_cases(
    monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    whole, rounds = Rounds._round, []

    def only_cases(self: Rounds, share: float, **options: Any) -> bool:
        wanted = options.pop("of", lambda _: True)

        def of(item: Open) -> bool:
            """Graphs with a diameter of 3 or more are only considered in cases."""
            structure = item.piece.structure
            in_cases = structure.layers is not None
            rounds.append(in_cases)
            small = structure.diameter is not None and structure.diameter < 3
            return bool(wanted(item)) and (in_cases or small or "relaxed" in options)

        return whole(self, share, of=of, **options)

    monkeypatch.setattr(Rounds, "_round", only_cases)
    space = GraphSpace(7)
    for seed in range(3):
        gp = fitted(space, kernel, seed=seed)
        objective = Criterion(space, gp.posterior, LCB(1.0))
        found = prove_graph(space, gp, LCB(1.0), time_limit=120)
        best = min(objective.of_graph(graph) for graph in classes(7))
        assert found.status == "optimal"
        assert objective.of_graph(found.graph) == pytest.approx(best, abs=1e-6)
    assert any(rounds)


def test_histograms_missing_in_a_rest_are_not_taken_for_missing_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, diameter = 7, 4
    space = GraphSpace(n)
    objective = Criterion(space, fitted(space, "essp", seed=0).posterior, LCB(1.0))
    # a sum of even numbers is never odd, but one large box does not show that
    rest = Heaviest((0, 2, 0, 2), 15, 15)
    monkeypatch.setattr(taylor_bounds, "_MOST_BOXES", 1)
    answer = solve_piece(Piece(plain(n, diameter), None, rest), objective, np.inf).solve()
    assert answer.n_solves == 1
    assert answer.proved
    assert answer.missing is None
