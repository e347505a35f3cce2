"""Large spaces: memory is bounded by working in parts, and every step checks the clock.

Clocks are faked or deadlines have passed already, so that nothing here depends on the machine.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bogrape.counts
from benchmarks.large_spaces import Case, cases, measure
from bogrape import EI, LCB, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.constraints import CycleRange, DegreeRange, DiameterRange, NumberOfEdges, TwoConnected
from bogrape.encoding import contradiction
from bogrape.encoding.contradiction import refuse_contradiction
from bogrape.errors import InfeasibleSpaceError, SamplingError, SearchSpaceExhausted
from bogrape.graph import Graph
from bogrape.kernels import KERNELS, KernelName
from bogrape.machine import most_bytes
from bogrape.molecules import molecule_space
from bogrape.posterior import WeightPosterior
from bogrape.propose import Method
from bogrape.propose import values as value_parts
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof import partition as pieces
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.partition import open_pieces
from bogrape.propose.exact.proof.piece import Open, Piece
from bogrape.propose.exact.proof.strategies import linear
from bogrape.propose.jobs import pool as worker
from bogrape.propose.local import search as local_search
from bogrape.propose.local.chains import _MANY_NODES, Chains, landmarks
from bogrape.propose.local.moves import REWIRE, MoveTable
from bogrape.propose.local.search import break_tie, find_any, search
from bogrape.propose.proposal import Request
from bogrape.propose.values import Elite, evaluate
from bogrape.space import graph_space, sampler
from bogrape.space.construct import OutOfTime, Recipe, build
from bogrape.study import design as design_module
from bogrape.study.design import Design
from bogrape.study.planner import Effort, Planner
from bogrape.study.settings import StudySettings

PAST = -math.inf
FAR = 1e9  # seconds on the monotonic clock: beyond all tests
HARD = GraphSpace(100, labels=20, rules=(DegreeRange(maximum=3), DiameterRange(maximum=7)))
SPACES = {
    "labels": GraphSpace((3, 8), labels=3),
    "rules": GraphSpace((2, 9), labels=2, rules=(NumberOfEdges(8, 10), DegreeRange(maximum=4))),
    "walks": GraphSpace(12, rules=(DegreeRange(maximum=3), DiameterRange(maximum=4))),
    "two-connected": GraphSpace(7, rules=(TwoConnected(),)),
    "strong": GraphSpace(6, labels=2, directed=True, connected="strong"),
    "edge labels": GraphSpace(7, features=1, edge_labels=2),
    "molecules": molecule_space("qm7", n_atoms=(4, 7)),
}


class Clock:
    """A clock that advances by one second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    out = Clock()
    monkeypatch.setattr(time, "monotonic", out.monotonic)
    return out


def objective_of(
    space: GraphSpace, kernel: KernelName = "sp", graphs: Sequence[Graph] = ()
) -> Criterion:
    data = graphs or space.sample(8, seed=1)
    values = [g.n_edges + 0.3 * float(g.labels.sum()) for g in data]
    gp = GraphGP(kernel, n_labels=space.n_labels).fit(data, values)
    return Criterion(space, gp.posterior, LCB(1.0))


# -- in parts: the same as at once ------------------------------------------------------------


@cache
def _fitted(kernel: KernelName) -> Criterion:
    return objective_of(GraphSpace(7, labels=3), kernel)


@settings(max_examples=20)
@given(st.sampled_from(list(KERNELS)), st.integers(0, 1000), st.integers(1, 30))
def test_values_in_parts_equal_values_at_once(kernel: KernelName, seed: int, size: int) -> None:
    objective = _fitted(kernel)
    space = objective.space
    batch = Batch.of(space.sample(25, seed=seed))
    at_once, joined = evaluate(objective, batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_parts, "_MOST_BYTES", 8 * size * objective.width(7))
        values, again = evaluate(objective, batch)
    assert values == pytest.approx(at_once, rel=1e-10, abs=1e-10)
    assert again.tolist() == joined.tolist() == [49] * 25  # connected: all pairs


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_distances_to_a_space_in_parts_equal_those_at_once(
    space: GraphSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Batch.of(space.sample(9, n_nodes=space.n_max))
    table = MoveTable.of(space, space.n_max)
    rng = np.random.default_rng(0)
    batch = table.apply(inside, table.draw(9, rng), rng)
    at_once = space.excess(batch)
    monkeypatch.setattr(bogrape.counts, "_CHUNK_CELLS", 2 * space.n_max**2)
    assert space.excess(batch).tolist() == at_once.tolist()
    late = space.excess(batch, deadline=PAST)
    assert np.isinf(late).all()  # graphs not reached in time do not count as inside


def test_attributes_derived_in_parts_equal_those_derived_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = SPACES["molecules"]
    batch, table = Batch.of(space.sample(9, n_nodes=7)), MoveTable.of(space, 7)
    moves = table.draw(9, np.random.default_rng(0))
    at_once = table.apply(batch, moves, np.random.default_rng(1))
    monkeypatch.setattr(graph_space, "_DERIVED_CELLS", 2 * 49)
    in_parts = table.apply(batch, moves, np.random.default_rng(1))
    for bonds in (at_once.edge_labels, in_parts.edge_labels):
        assert bonds is not None
        assert (bonds == at_once.edge_labels).all()
    assert (in_parts.features == at_once.features).all()
    assert (in_parts.adjacency == at_once.adjacency).all()


SITES = GraphSpace(nodes=("a", "b", "c"), labels={"a": "x", "b": "y", "c": "x"})


@pytest.mark.parametrize("space", [GraphSpace(6, labels=3), SITES])
def test_landmarks_combine_every_shape_with_every_label(space: GraphSpace) -> None:
    marks = landmarks(space, space.n_max)
    batch = marks.batch(np.arange(len(marks)))
    k = len(marks.shapes)
    if space.fixed_labels:
        assert len(marks) == k
        assert (batch.labels == [0, 1, 0]).all()
    else:
        assert len(marks) == 3 * k
        for label in range(3):
            part = batch.select(slice(label * k, (label + 1) * k))
            assert (part.labels == label).all()
            assert (part.adjacency == marks.shapes).all()
    again = marks.batch(np.array([1, 0]))
    assert (again.adjacency == batch.adjacency[[1, 0]]).all()


def test_small_graphs_beside_large_observations_count_as_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = np.diag(np.ones(29, dtype=int), 1)
    observed = [Graph(path + path.T, np.arange(30) % k) for k in (2, 3, 4)]
    space = GraphSpace((3, 30), labels=4)
    objective = objective_of(space, graphs=observed)
    sizes: list[int] = []
    features = WeightPosterior.features

    def watch(self: WeightPosterior, counts: bogrape.counts.Counts) -> np.ndarray:
        z = features(self, counts)
        sizes.append(z.nbytes)
        return z

    monkeypatch.setattr(WeightPosterior, "features", watch)
    monkeypatch.setattr(value_parts, "_MOST_BYTES", 20_000)
    evaluate(objective, Batch.of(space.sample(30, n_nodes=3)))
    assert max(sizes) <= 21_000  # including the features of nodes
    assert len(sizes) > 5


def test_landmarks_with_many_labels_are_stored_once() -> None:
    marks = landmarks(GraphSpace(60, labels=20), 60)
    assert len(marks) == 20 * len(marks.shapes)
    assert marks.shapes.nbytes < 10e6


def test_moves_are_drawn_as_numpy_draws_them() -> None:
    table = MoveTable.of(GraphSpace(6, labels=3, features=1), 6)
    expected = np.random.default_rng(3).choice(len(table), 500, p=table.weights)
    assert table.draw(500, np.random.default_rng(3)).tolist() == expected.tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_rewiring_uses_all_triples_of_nodes(n: int) -> None:
    rows = MoveTable.of(GraphSpace(n), n).rows
    triples = [tuple(row) for row in rows[rows[:, 0] == REWIRE][:, 1:4].tolist()]
    assert triples == list(permutations(range(n), 3))


def test_ties_broken_in_parts_equal_ties_broken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    space = GraphSpace((4, 7), labels=3)
    seen = space.sample(30, seed=1)
    for seed in range(8):
        ties = {space.identity(g): g for g in space.sample(6, seed=100 + seed)}
        at_once = break_tie(ties, seen, seed)
        with monkeypatch.context() as patch:
            patch.setattr(value_parts, "_MOST_BYTES", 1)
            assert break_tie(ties, seen, seed) == at_once
            late = break_tie(ties, seen, seed, deadline=PAST)
            assert late == break_tie(ties, seen[:1], seed)


def test_the_initial_design_in_parts_equals_that_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    space = GraphSpace((4, 6), labels=3)

    def chosen() -> list[Graph]:
        design, out = Design(space, "sp", 5, seed=0), list[Graph]()
        for _ in range(6):
            graph = design.next(out)
            assert graph is not None
            out.append(graph)
        return out

    at_once = chosen()
    monkeypatch.setattr(design_module, "_PART_NUMBERS", 150)
    assert chosen() == at_once


# -- a deadline does not change results found before it -----------------------------------------


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("distinct", [False, True])
def test_a_distant_deadline_changes_no_sample(space: GraphSpace, distinct: bool) -> None:
    expected = space.sample(12, seed=5, distinct=distinct)
    assert space.sample(12, seed=5, distinct=distinct, deadline=FAR) == expected


def test_a_distant_deadline_changes_no_search() -> None:
    objective = objective_of(GraphSpace((3, 6), labels=2))
    elites = [
        search(objective, n_evaluations=8000, deadline=deadline) for deadline in (math.inf, FAR)
    ]
    assert elites[0].value == elites[1].value
    assert list(elites[0].ties) == list(elites[1].ties)
    assert elites[0].n_evaluations == elites[1].n_evaluations


# -- every step checks the clock ----------------------------------------------------------------


def test_counting_stops_after_the_first_graphs_once_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = Batch.of(GraphSpace(5, labels=2, features=1).sample(10))
    everything = batch.counts(2, pairs=True)
    monkeypatch.setattr(bogrape.counts, "_CHUNK_CELLS", 3 * 25)
    counts = batch.counts(2, pairs=True, deadline=PAST)
    assert len(counts) == 3
    assert counts.pairs is not None
    assert everything.pairs is not None
    n_lengths = counts.lengths.shape[1]
    assert counts.lengths.tolist() == everything.lengths[:3, :n_lengths].tolist()
    assert counts.pairs.tolist() == everything.pairs[:3, :n_lengths].tolist()
    assert counts.features.tolist() == everything.features[:3].tolist()
    assert counts.sizes.tolist() == [5, 5, 5]


def test_graphs_not_reached_in_time_have_infinite_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = GraphSpace(5, labels=2)
    objective, batch = objective_of(space), Batch.of(space.sample(10))
    at_once, _ = evaluate(objective, batch)
    monkeypatch.setattr(bogrape.counts, "_CHUNK_CELLS", 3 * 25)
    values, joined = evaluate(objective, batch, deadline=PAST)
    assert values[:3] == pytest.approx(at_once[:3], abs=1e-12)
    assert np.isinf(values[3:]).all()
    assert (joined > 0).tolist() == [True] * 3 + [False] * 7


@pytest.mark.parametrize("space", [*SPACES.values(), HARD], ids=[*SPACES, "hard"])
def test_sampling_past_its_deadline_builds_nothing_and_says_so(
    space: GraphSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Batch:
        raise AssertionError("a graph was built after the deadline")

    monkeypatch.setattr(sampler, "build", refuse)
    with pytest.raises(SamplingError, match="before the time was up; try a larger") as caught:
        space.sample(3, deadline=PAST)
    assert caught.value.out_of_time
    assert caught.value.found == 0
    assert caught.value.graphs == ()


@pytest.mark.parametrize("rules", [(), (DegreeRange(maximum=3),), (TwoConnected(),)])
@pytest.mark.parametrize("n", [20, 40])
def test_building_graphs_stops_between_places_for_edges(
    n: int, rules: tuple[DegreeRange | TwoConnected, ...], clock: Clock
) -> None:
    space = GraphSpace(n, rules=rules)
    recipe = Recipe(
        shape=space.shape(n), rules=space.rules, known=space.known(n), strong=False, deadline=3.0
    )
    with pytest.raises(OutOfTime):
        build(recipe, 5, np.random.default_rng(0))
    assert clock.now <= 4


def test_walks_into_a_space_stop_at_the_deadline(clock: Clock) -> None:
    # no graph of degree 3 and diameter 4 has more than 38 nodes
    space = GraphSpace(40, rules=(DegreeRange(maximum=3), DiameterRange(maximum=4)))
    with pytest.raises(SamplingError) as caught:
        space.sample(5, deadline=120.0)
    assert caught.value.out_of_time
    assert clock.now < 140  # every loop ends at its first look after the deadline


@pytest.mark.usefixtures("clock")
def test_sampling_returns_the_graphs_found_in_time_with_its_error() -> None:
    space = GraphSpace((3, 30), labels=2)
    with pytest.raises(SamplingError) as caught:
        space.sample(200, seed=1, deadline=250.0)
    found = caught.value.graphs
    assert 0 < len(found) == caught.value.found < 200
    assert all(space.contains(graph) for graph in found)


def test_sampling_does_not_check_the_rules_of_all_sizes_if_time_is_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = GraphSpace((2, 90), labels=20)
    looked: list[int] = []
    known = GraphSpace.known
    monkeypatch.setattr(GraphSpace, "known", lambda self, n: looked.append(n) or known(self, n))
    with pytest.raises(SamplingError):
        space.sample(5, deadline=PAST)
    assert not looked


def test_search_evaluates_little_once_time_is_up() -> None:
    space = GraphSpace((4, 60), labels=20)
    objective = objective_of(space, graphs=GraphSpace((4, 9), labels=20).sample(6))
    elite = search(objective, deadline=PAST, starts=space.sample(2, n_nodes=4))
    assert elite.n_evaluations <= 2  # of one size only, and no more than its starts


def test_landmarks_are_chosen_from_all_kinds_when_time_is_short(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    space = GraphSpace(12, labels=4)
    objective = objective_of(space)
    of_counts = Criterion.of_counts
    monkeypatch.setattr(value_parts, "_MOST_BYTES", 20 * 8 * 12 * 16)
    seen: list[set[int]] = []

    def watch(self: Criterion, counts: bogrape.counts.Counts) -> np.ndarray:
        if len(counts) > 8:
            seen.append(set(counts.features[:, :4].argmax(axis=1).tolist()))
        return of_counts(self, counts)

    monkeypatch.setattr(Criterion, "of_counts", watch)
    search(objective, n_evaluations=1, deadline=clock.now + 50.0)
    n_parts = -(-len(landmarks(space, 12)) // 20)
    assert 0 < len(seen) < n_parts  # cut off
    assert all(len(labels) == 4 for labels in seen)


def test_no_contradiction_is_sought_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    space = GraphSpace(5, rules=(TwoConnected(), CycleRange(maximum=0)))
    with pytest.raises(InfeasibleSpaceError):
        refuse_contradiction([space.shape(5)], True, space.rules)
    monkeypatch.setattr(contradiction, "GraphEncoding", not_needed)
    refuse_contradiction([space.shape(5)], True, space.rules, deadline=PAST)


def test_the_engine_explains_an_impossible_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_search, "_LAST_SECONDS", 60.0)  # enough even on a busy machine
    space = GraphSpace(5, rules=(TwoConnected(), CycleRange(maximum=0)))
    elite = Elite(())
    assert find_any(objective_of(space, "ssp", GraphSpace(5).sample(4)), elite, Request())
    assert not elite.ties


# -- proposals and studies ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> tuple[GraphSpace, GraphGP]:
    space = GraphSpace(100, labels=20)
    graphs = space.sample(4, seed=1)
    return space, GraphGP("sp", n_labels=20).fit(graphs, [1.0, 0.5, 2.0, 0.0])


@pytest.mark.parametrize("method", ["auto", "search", "evolve", "sample"])
def test_a_tiny_time_limit_still_gives_a_graph_of_a_large_space(
    large: tuple[GraphSpace, GraphGP], method: Method
) -> None:
    space, gp = large
    proposal = propose(space, gp, method=method, time_limit=1e-3)
    assert space.contains(proposal.graph)
    assert proposal.status == ("time_limit" if method == "auto" else "heuristic")


@pytest.mark.parametrize("method", ["auto", "search", "evolve", "sample"])
def test_it_is_an_error_if_no_graph_is_found_in_time(method: Method) -> None:
    data = GraphSpace(8, labels=20).sample(4)
    gp = GraphGP("ssp", n_labels=20).fit(data, [0.0, 1.0, 2.0, 3.0])
    with pytest.raises(SamplingError, match="larger time_limit") as caught:
        propose(HARD, gp, method=method, time_limit=1e-3)
    assert caught.value.out_of_time


def test_nothing_is_sought_at_the_last_moment_after_a_stop() -> None:
    space = GraphSpace(5)
    elite = Elite(())
    assert not find_any(objective_of(space, "ssp"), elite, Request(stop=lambda: True))
    assert not elite.ties
    assert find_any(objective_of(space, "ssp"), elite, Request())
    assert elite.ties


@pytest.mark.parametrize("method", ["search", "evolve"])
def test_an_exhausted_space_is_reported_even_with_a_tiny_time_limit(method: Method) -> None:
    space = GraphSpace(3)
    everything = space.enumerate()
    gp = GraphGP("ssp").fit(everything, [0.0, 1.0])
    with pytest.raises(SearchSpaceExhausted):
        propose(space, gp, method=method, time_limit=1e-6, exclude=everything)


@pytest.mark.usefixtures("clock")
def test_an_initial_design_uses_the_graphs_sampled_in_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    space = GraphSpace((3, 30), labels=2)
    design = Design(space, "sp", 10, seed=0, deadline=250.0)
    graph = design.next([])
    assert graph is not None
    assert space.contains(graph)
    assert "instead of 200" in caplog.text


def test_without_time_for_a_design_a_study_starts_with_any_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(*_: object) -> Design:
        raise SamplingError("too late", out_of_time=True)

    monkeypatch.setattr("bogrape.study.planner.Design", late)
    space = GraphSpace(5)
    plan = Planner(StudySettings(space=space)).next([], seed=0, effort=Effort(10.0))
    assert plan.origin == "random"
    assert space.contains(plan.graph)


def test_a_study_reports_a_lack_of_time_if_a_space_is_hard_to_sample() -> None:
    planner = Planner(StudySettings(space=HARD, kernel="ssp"))
    with pytest.raises(SamplingError, match="before the time was up") as caught:
        planner.next([], seed=0, effort=Effort(1e-3))
    assert caught.value.out_of_time  # and not that the space is exhausted


# -- the exact engine ---------------------------------------------------------------------------


def not_needed(*_: object) -> object:
    raise AssertionError("something large was computed but not needed")


def test_no_posterior_over_counts_is_made_where_its_bound_would_be_useless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = GraphSpace(30, labels=20)
    objective = objective_of(space)
    monkeypatch.setattr(linear.PosteriorOverCounts, "of", not_needed)
    whole = Open(Piece(_structure(space)), -9.0)
    facts = dict.fromkeys(_structure(space).by_diameter(), ())
    task = pieces.SplitByDiameter(whole, choose(objective), 0.0, facts, 10.0)
    assert len(task.solve()) == len(facts)


def _structure(space: GraphSpace) -> pieces.Structure:
    (structure,) = pieces.structures([space.shape(space.n_max)], space.connected, space.rules)
    return structure


@pytest.mark.parametrize("kernel", KERNELS)
def test_pieces_not_reached_in_time_remain_and_still_cover_the_space(
    kernel: KernelName,
) -> None:
    space = GraphSpace((2, 40), labels=3)
    objective = objective_of(space, kernel, GraphSpace((2, 9), labels=3).sample(6))
    left = open_pieces(choose(objective), 0.0, deadline=PAST)
    assert all(math.isfinite(item.bound) for item in left)
    for n in space.sizes:
        for graph in space.sample(2, n_nodes=n, seed=n):
            value = objective.of_graph(graph)
            homes = [item for item in left if item.piece.matches(graph)]
            assert homes or value >= 0.0
            assert all(item.bound <= value for item in homes)


def test_compositions_are_listed_only_if_there_is_time_to_bound_them() -> None:
    objective = objective_of(GraphSpace(9, labels=4))
    soon = open_pieces(choose(objective), 1e9, deadline=time.monotonic() + 1e-3)
    assert {item.piece.composition for item in soon} == {None}


class _Asked(Sequence[worker.Job]):
    """Jobs that must not be read."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: object) -> worker.Job:  # type: ignore[override]
        raise AssertionError("a job was read that could not be done in time")


def test_jobs_that_are_not_started_are_not_read() -> None:
    assert dict(worker.solve_all(_Asked(), PAST)) == {0: None, 1: None, 2: None}


class Gluttony:
    """A job that takes more memory than a worker may use."""

    time_limit = 20.0

    def solve(self) -> int:
        taken = np.ones(2 * most_bytes() // 8)
        return len(taken)


class Modesty:
    """A job that takes less."""

    time_limit = 20.0

    def solve(self) -> int:
        return len(np.ones(most_bytes() // 2 // 8))


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are enforced on Linux only")
def test_a_worker_out_of_memory_costs_its_own_job_only() -> None:
    jobs = [Gluttony(), Modesty(), Gluttony(), Modesty()]
    answers = dict(worker.solve_all(jobs, time.monotonic() + 60))
    assert answers == {0: None, 1: most_bytes() // 16, 2: None, 3: most_bytes() // 16}


# -- end to end, on the real clock --------------------------------------------------------------


def _of_kernel(kernel: str) -> Callable[[Case], bool]:
    return lambda case: case.name.startswith("100 nodes") and case.kernel == kernel


@pytest.mark.deep
@pytest.mark.parametrize("kernel", KERNELS)
def test_proposals_with_100_nodes_and_20_labels_keep_to_time_and_memory(kernel: str) -> None:
    outcomes = {case.name: measure(case) for case in filter(_of_kernel(kernel), cases())}
    assert len(outcomes) >= 2
    assert not {name: found for name, found in outcomes.items() if not found.kept}


def test_every_case_of_the_benchmark_has_a_unique_name() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names) > 30


# -- results of the search of large graphs -------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "sp"])
def test_a_few_rounds_of_search_find_better_large_graphs_than_random_ones(kernel: Any) -> None:
    space = GraphSpace(42, labels=3)
    graphs = space.sample(15, seed=0)
    gp = GraphGP(kernel, noise=1e-3, space=space, restarts=1)
    gp.fit(graphs, [g.n_edges / 42 + float(np.cos(g.labels).mean()) for g in graphs])
    acquisition = EI() if kernel == "rbf" else LCB(1.0)
    objective = Criterion(space, gp.posterior, acquisition)
    found = search(objective, n_evaluations=6000, seed=1)  # a dozen rounds
    assert found.value < objective.of_batch(Batch.of(space.sample(300, seed=9))).min() - 0.1


def test_only_improving_moves_are_made_together() -> None:
    space = GraphSpace(_MANY_NODES, labels=2)
    graphs = space.sample(4, seed=3)
    gp = GraphGP("ssp", noise=1e-3, restarts=1)
    gp.fit(graphs, [float(g.n_edges) for g in graphs])
    objective = Criterion(space, gp.posterior, LCB(0.0))
    chains = Chains(objective, _MANY_NODES, np.random.default_rng(0), graphs, np.inf)
    chains._score = objective.of_batch(chains._current)
    n = len(chains._current)
    moves = chains._moves.draw(n * 10, np.random.default_rng(1)).reshape(n, 10)
    scores = np.full((n, 10), np.inf)
    scores[:, 3], scores[:, 7], scores[0, 5] = -1e3, -2e3, -3e3  # claimed to improve
    (two,) = chains._made_together(moves, scores)
    rng = np.random.default_rng(2)
    first, second = np.full(n, 7), np.full(n, 3)
    first[0], second[0] = 5, 7
    expected = chains._current
    for which in (first, second):
        expected = chains._moves.apply(expected, moves[np.arange(n), which], rng)
    assert (two.adjacency == expected.adjacency).all()
    assert (two.labels == expected.labels).all()
