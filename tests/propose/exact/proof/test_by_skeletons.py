"""Whole sizes settled by skeletons: the same answers as by enumeration."""

from __future__ import annotations

import math
import time
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from bogrape import EI, LCB, GraphGP, GraphSpace
from bogrape.batch import Batch
from bogrape.constraints import (
    CycleRange,
    DegreeRange,
    DiameterRange,
    ForbiddenAdjacency,
    RequiredEdge,
)
from bogrape.encoding import structures
from bogrape.molecules import (
    ForbiddenSubstructure,
    RequiredSubstructure,
    SmallestRing,
    molecule_space,
)
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.placement_screens import placement_screen
from bogrape.propose.exact.bounds.placement_values import PlacementValues
from bogrape.propose.exact.bounds.separate_values import SeparateValues
from bogrape.propose.exact.proof import placing
from bogrape.propose.exact.proof.by_placements import Clock, TooManyPlacements
from bogrape.propose.exact.proof.by_skeletons import (
    SolveBySkeletons,
    _share,
    has_skeletons,
    settle_by_skeletons,
)
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.skeletons.node_sums import NodeSums
from bogrape.propose.exact.skeletons.placements import n_placements, placements
from bogrape.propose.exact.skeletons.store import skeletons_of
from bogrape.propose.proposal import Request


def instance(space, kernel, acquisition, seed, n_observed=8):
    graphs = space.sample(n_observed, seed=seed)
    values = np.random.default_rng(seed).normal(size=n_observed)
    gp = GraphGP(kernel, n_labels=space.n_labels).fit(graphs, values)
    return Criterion(space, gp.posterior, acquisition), graphs


def job_for(criterion, value=math.inf, exclude=(), seconds=60.0):
    space = criterion.space
    structure = structures([space.shape(space.n_max)], space.connected, space.rules)[0]
    assert has_skeletons(structure)
    excluded = frozenset(map(space.identity, exclude))
    values = choose(criterion).skeleton_values(space.n_max)
    return SolveBySkeletons(
        structure=structure,
        values=values,
        value=value,
        excluded=excluded,
        seed=0,
        time_limit=seconds,
    )


@cache
def all_graphs(space):
    return {space.identity(graph): graph for graph in space.enumerate()}


def best_of_all(criterion, exclude):
    space = criterion.space
    excluded = set(map(space.identity, exclude))
    left = [graph for key, graph in all_graphs(space).items() if key not in excluded]
    return float(criterion.of_batch(Batch.of(left)).min())


PORTS = [DegreeRange(maximum=3), DegreeRange(maximum=1, label="leaf")]
SPACES = {
    "qm7": molecule_space("qm7", 4),
    "qm9": molecule_space("qm9", 4),
    "rules": molecule_space(
        ["C", "N", "O"],
        4,
        [
            RequiredSubstructure("C=O"),
            ForbiddenSubstructure("N-O"),
            SmallestRing(4),
            CycleRange(maximum=1),
        ],
    ),
    "ports": GraphSpace(6, labels=["hub", "leaf"], rules=PORTS),
    "far ports": GraphSpace(
        6,
        labels=["hub", "leaf"],
        rules=[*PORTS, DiameterRange(3), ForbiddenAdjacency("leaf", "leaf")],
    ),
}


@pytest.mark.parametrize("kernel", ["ssp", "essp", "sp", "esp"])
@pytest.mark.parametrize("name", SPACES)
def test_skeletons_find_the_best_of_all_graphs(name, kernel):
    for seed, acquisition in enumerate((LCB(1.0), EI())):
        criterion, graphs = instance(SPACES[name], kernel, acquisition, seed)
        answer = job_for(criterion, exclude=graphs).solve()
        assert answer.proved
        assert answer.value == pytest.approx(best_of_all(criterion, graphs), abs=1e-8)
        assert criterion.space.contains(answer.graph)
        assert criterion.of_graph(answer.graph) == answer.value
        known = set(map(criterion.space.identity, graphs))
        assert criterion.space.identity(answer.graph) not in known


@pytest.mark.deep
@pytest.mark.parametrize("elements", ["qm7", "qm9"])
@pytest.mark.parametrize("kernel", ["ssp", "essp", "sp", "esp"])
@pytest.mark.parametrize("n", [5, 6])
def test_skeletons_find_the_best_of_all_molecules(elements, n, kernel):
    criterion, graphs = instance(molecule_space(elements, n), kernel, LCB(1.0), 0)
    answer = job_for(criterion, exclude=graphs, seconds=600.0).solve()
    assert answer.proved
    assert answer.value == pytest.approx(best_of_all(criterion, graphs), abs=1e-8)


def test_an_optimal_incumbent_is_proved_optimal():
    criterion, graphs = instance(SPACES["qm7"], "ssp", LCB(1.0), 3)
    best = best_of_all(criterion, graphs)
    answer = job_for(criterion, best, graphs).solve()
    assert answer.proved
    assert answer.graph is None
    assert answer.bound == best


def test_nothing_is_found_if_all_graphs_are_excluded():
    space = molecule_space("qm7", 2)
    criterion, _ = instance(space, "ssp", LCB(1.0), 0, n_observed=4)
    answer = job_for(criterion, exclude=space.enumerate()).solve()
    assert answer.proved
    assert answer.graph is None


def test_there_is_a_bound_or_no_answer_when_time_runs_out():
    criterion, graphs = instance(molecule_space("qm7", 8), "ssp", LCB(1.0), 0)
    best = job_for(criterion, exclude=graphs).solve().value
    for seconds in (0.0, 0.3, 0.6, 0.9):
        began = time.process_time()
        answer = job_for(criterion, exclude=graphs, seconds=seconds).solve()
        assert time.process_time() - began < seconds + 2.0
        assert answer is None or answer.bound <= best + 1e-9


def test_a_limit_on_combinations_still_gives_a_valid_bound(monkeypatch):
    criterion, graphs = instance(SPACES["qm9"], "ssp", LCB(1.0), 1)
    best = best_of_all(criterion, graphs)
    monkeypatch.setattr(placing, "_MOST_LEFT", 20)
    answer = job_for(criterion, exclude=graphs).solve()
    assert answer.bound <= best + 1e-9
    assert not answer.proved or answer.value == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("kernel", ["ssp", "essp"])
def test_bounds_are_just_below_the_values(kernel):
    space = molecule_space("qm7", 8)
    for acquisition in (LCB(1.0), EI()):
        criterion, _ = instance(space, kernel, acquisition, 0, n_observed=15)
        graphs = space.sample(20, seed=5)
        histograms = [
            np.bincount(g.distances()[np.triu_indices(8, 1)].astype(int), minlength=8)[1:]
            for g in graphs
        ]
        labels = [np.bincount(g.labels, minlength=4) for g in graphs]
        sums = [[*a, *g.features.sum(axis=0)] for a, g in zip(labels, graphs, strict=True)]
        values = SeparateValues(criterion, 8)
        bounds = values.lower_bounds(np.array(histograms), np.array(sums)).diagonal()
        exact = values.values(np.array(histograms), np.array(sums))
        assert exact == pytest.approx(criterion.of_batch(Batch.of(graphs)), abs=1e-9)
        assert (bounds <= exact).all()
        assert (bounds > exact - 0.02).all()


def test_spaces_without_a_limit_on_degrees_have_no_skeletons():
    for space in (
        GraphSpace(5, labels=2),
        GraphSpace(5, labels=2, directed=True, rules=[DegreeRange(maximum=2)]),
        GraphSpace(5, labels=2, connected=False, rules=[DegreeRange(maximum=2)]),
        GraphSpace(5, labels=2, rules=[DegreeRange(maximum=2), RequiredEdge(0, 1)]),
        GraphSpace(5, labels=2, features=1, rules=[DegreeRange(maximum=2)]),
    ):
        structure = structures([space.shape(5)], space.connected, space.rules)[0]
        assert not has_skeletons(structure)
    ports = GraphSpace(5, labels=2, rules=[DegreeRange(maximum=2)])
    structure = structures([ports.shape(5)], ports.connected, ports.rules)[0]
    assert has_skeletons(structure)
    assert NodeSums.of(structure).most_degree == 2


@pytest.mark.parametrize("kernel", ["sp", "esp"])
def test_bounds_on_placements_are_below_the_values(kernel):
    space = molecule_space("qm7", 7)
    for acquisition in (LCB(1.0), EI()):
        criterion, _ = instance(space, kernel, acquisition, 0, n_observed=15)
        values = PlacementValues(criterion.condensed(), 7)
        graphs = space.sample(30, seed=5)
        counts = np.zeros((30, values.width))
        for row, graph in zip(counts, graphs, strict=True):
            distances = graph.distances().astype(int)
            for u, v in combinations(range(7), 2):
                pair = tuple(sorted((int(graph.labels[u]), int(graph.labels[v]))))
                row[(distances[u, v] - 1) * len(values.types) + values.types.index(pair)] += 1
        labels = [np.bincount(g.labels, minlength=4) for g in graphs]
        rows = [[*a, *g.features.sum(axis=0)] for a, g in zip(labels, graphs, strict=True)]
        sums = np.array(rows)
        exact = criterion.of_batch(Batch.of(graphs))
        assert values.exact(counts, sums) == pytest.approx(exact, abs=1e-9)
        for i in range(30):
            alike = sums[(sums[:, :4] == sums[i, :4]).all(axis=1)]
            known = values.of_composition(alike)
            (bound,) = values.bounds(counts[i : i + 1], known)
            paths = values.of_counts(counts[i : i + 1], sums[i : i + 1, :4])
            each = values.of_parts(paths, values.of_nodes(sums[i : i + 1]))
            assert bound <= exact[i]
            assert exact[i] - 0.02 < each[0, 0] <= exact[i]


@pytest.mark.parametrize("kernel", ["sp", "esp"])
@pytest.mark.parametrize("acquisition", [LCB(1.0), LCB(3.0), EI()], ids=str)
def test_screens_leave_out_no_placement_that_is_below_a_limit(acquisition, kernel):
    space = molecule_space("qm9", 7)
    criterion, _ = instance(space, kernel, acquisition, 2, n_observed=15)
    values = PlacementValues(criterion.condensed(), 7)
    screen = placement_screen(values)
    structure = structures([space.shape(7)], space.connected, space.rules)[0]
    node_sums = NodeSums.of(structure)
    rng = np.random.default_rng(0)
    n_left_out = 0
    for graph in space.sample(6, seed=1):
        degrees = np.bincount(graph.adjacency.sum(axis=1), minlength=5)[1:]
        composition = np.bincount(graph.labels, minlength=4)
        sums = node_sums.sums(tuple(degrees.tolist()))
        of = values.of_composition(sums[(sums[:, :4] == composition).all(axis=1)])
        labels = np.array([rng.permutation(graph.labels) for _ in range(50)])
        u, v = np.triu_indices(7, 1)
        distances = graph.distances().astype(int)[u, v]
        pairs = np.sort([labels[:, u], labels[:, v]], axis=0)
        types = np.array([[values.types.index((a, b)) for a, b in row] for row in pairs.T.tolist()])
        types = types.reshape(21, 50).T
        cells = (distances - 1) * len(values.types) + types
        counts = np.array([np.bincount(row, minlength=values.width) for row in cells], dtype=float)
        best = values.bounds(counts, of)
        for limit in np.quantile(best, [0.0, 0.1]):
            found = list(screen.below(distances[None], types, of, limit))
            passed = np.concatenate([j for _, j in found])
            assert set(np.flatnonzero(best < limit)) <= set(passed.tolist())
            n_left_out += 50 - len(passed)
    assert n_left_out > 40


def test_the_clock_stops_when_time_will_not_suffice():
    clock = Clock(100, time.monotonic() + 0.2)
    clock.check()
    time.sleep(0.12)
    clock.done(90)
    clock.check()
    slow = Clock(100, time.monotonic() + 0.2)
    time.sleep(0.12)
    slow.done(5)
    with pytest.raises(TooManyPlacements):
        slow.check()
    with pytest.raises(TooManyPlacements):
        Clock(1, time.monotonic() - 1.0).check()


def test_placements_are_all_possible_labellings_within_limits():
    space = molecule_space("qm7", 4)
    structure = structures([space.shape(4)], space.connected, space.rules)[0]
    sums = NodeSums.of(structure)
    degrees = (2, 2, 0, 0)
    compositions = np.unique(sums.sums(degrees)[:, :4], axis=0)
    found = np.concatenate(list(placements(sums, degrees, compositions)))
    allowed = {tuple(row) for row in compositions.tolist()}
    expected = {
        labels
        for labels in product(range(4), repeat=4)
        if tuple(np.bincount(labels, minlength=4).tolist()) in allowed
    }
    assert {tuple(row) for row in found.tolist()} == expected
    assert len(found) == len(expected) == n_placements(sums, degrees, compositions)


def test_skeletons_with_the_same_degrees_are_in_the_same_share():
    skeletons = skeletons_of(7, 4, range(4))
    shares = np.array([_share(skeletons, part, 3) for part in range(3)])
    assert (shares.sum(axis=0) == 1).all()
    assert (shares.sum(axis=1) > 0).all()
    degrees = [set(map(tuple, skeletons.degrees[share].tolist())) for share in shares]
    assert sum(map(len, degrees)) == len(set().union(*degrees))


def test_shares_of_skeletons_are_combined_into_one_answer():
    criterion, graphs = instance(SPACES["qm7"], "sp", LCB(1.0), 1)
    request = Request(graphs, time_limit=300.0, identify=criterion.space.identity)
    answers = settle_by_skeletons(choose(criterion), math.inf, request)
    assert list(answers) == [4]
    assert answers[4].proved
    assert answers[4].value == pytest.approx(best_of_all(criterion, graphs), abs=1e-8)
