"""Boxes bounded by a custom kernel: bounds are never above a value, and false ones are caught."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphGP, GraphSpace, propose
from bogrape.counts import Counts, count
from bogrape.encoding import structures
from bogrape.errors import InvalidInputError
from bogrape.kernel import BoxBounds
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.kernel_boxes import CountBoxes, KernelBoxes, counts_of
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.proof import by_kernel_boxes
from bogrape.propose.exact.proof.by_kernel_boxes import solve_by_kernel_boxes
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.piece import Piece, Question
from bogrape.propose.exact.proof.piece_solve import PieceSolve
from bogrape.propose.exact.proof.strategies.own import OwnBoxes, OwnHistograms, OwnLabelledBoxes
from exhaustive import dataset, everything
from own_parts import (
    Distances,
    Gaussian,
    LabelledEnds,
    Optimist,
    assert_best_of_all,
    uncertain_middle,
)

KERNELS = (LabelledEnds(), Distances())
SPACES = {
    "labels": GraphSpace(5, labels=2),
    "sizes": GraphSpace((2, 4), labels=3),
    "features": GraphSpace(4, labels=2, features=1),
    "directed": GraphSpace(3, labels=2, directed=True),
    "disconnected": GraphSpace(4, labels=2, connected=False),
}
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
spaces = pytest.mark.parametrize("name", SPACES)


def criterion(space: GraphSpace, kernel: Any, acquisition: Any = None, seed: int = 0) -> Criterion:
    graphs, y = dataset(space, "random", seed)
    gp = GraphGP(kernel, noise=1e-3, n_labels=space.n_labels, restarts=1).fit(graphs, y)
    return Criterion(space, gp.posterior, acquisition or LCB(1.0))


def pieces(objective: Criterion) -> list[Piece]:
    """All pieces of a space: by composition where the kernel sees labels."""
    space = objective.space
    out = []
    for structure in structures([space.shape(n) for n in space.sizes], space.connected, ()):
        members = [graph for graph in everything(space) if graph.n_nodes == structure.shape.n_nodes]
        found: set[Any] = {None}
        if objective.labelled:
            found = {tuple(np.bincount(g.labels, minlength=space.n_labels)) for g in members}
        for composition in sorted(found, key=str):
            given = None if composition is None else tuple(map(int, composition))
            out += [Piece(part, given) for part in structure.by_diameter()]
    return out


@kernels
@spaces
def test_counts_by_coordinates_are_the_counts_of_the_graph(name: str, kernel: Any) -> None:
    space = SPACES[name]
    for piece in pieces(criterion(space, kernel)):
        coordinates = piece.coordinates(labelled=kernel.labelled)
        members = [graph for graph in everything(space) if piece.matches(graph)][:20]
        for graph in members:
            found = counts_of(
                coordinates, np.array([coordinates.values(graph)]), labelled=kernel.labelled
            )
            expected = count([graph], space.n_labels, pairs=kernel.labelled)
            expected = expected.padded(found.lengths.shape[1], space.n_labels)
            assert np.array_equal(found.lengths, expected.lengths)
            assert np.array_equal(found.features, expected.features)
            if kernel.labelled:
                assert np.array_equal(found.pairs, expected.pairs)


@pytest.mark.thinned(4)
@kernels
@spaces
@pytest.mark.parametrize("acquisition", [LCB(1.0), EI(), Optimist()], ids=["lcb", "ei", "own"])
def test_no_graph_of_a_box_is_below_its_bound(name: str, kernel: Any, acquisition: Any) -> None:
    objective = criterion(SPACES[name], kernel, acquisition)
    rng = np.random.default_rng(0)
    n_checked = 0
    for piece in pieces(objective):
        coordinates = piece.coordinates(labelled=kernel.labelled)
        members = [graph for graph in everything(objective.space) if piece.matches(graph)][:40]
        if not members:
            continue
        x = np.array([coordinates.values(graph) for graph in members])
        boxes = KernelBoxes(
            objective, coordinates, known_of_counts(piece.structure, coordinates, None)
        )
        values = np.array([objective.of_graph(graph) for graph in members])
        for width in (0, 1, 4, 30):
            low = np.maximum(x - rng.integers(0, width + 1, x.shape), 0)
            high = x + rng.integers(0, width + 1, x.shape)
            found = boxes.bounds(CountBoxes(low, high, np.full(len(x), -math.inf)))
            assert (found <= values + 1e-7 * (1 + np.abs(values))).all()
            n_checked += len(values)
        # and the boxes that remain after halving hold every graph below the cut
        cut = float(np.median(values))
        start = boxes.everything()
        start = CountBoxes(start.low, start.high, boxes.bounds(start))
        left = boxes.of_interest(start, cut, 200, math.inf)
        for row in x[values < cut - 1e-6]:
            assert ((left.low <= row) & (row <= left.high)).all(axis=1).any()
    assert n_checked > 50


@kernels
@spaces
def test_boxes_alone_find_and_prove_the_best_graph_of_every_piece(name: str, kernel: Any) -> None:
    objective = criterion(SPACES[name], kernel, seed=1)
    for piece in pieces(objective)[:12]:
        question = Question(piece=piece, value=math.inf)
        answer = solve_by_kernel_boxes(PieceSolve(question, objective, deadline=math.inf))
        members = [graph for graph in everything(objective.space) if piece.matches(graph)]
        assert answer.proved
        truth = min((objective.of_graph(graph) for graph in members), default=math.inf)
        assert answer.value == pytest.approx(truth, abs=1e-6)
        assert answer.bound <= truth + 1e-6


@kernels
@spaces
def test_the_best_of_all_graphs_is_found_and_proved(name: str, kernel: Any) -> None:
    space = SPACES[name]
    graphs, y = dataset(space, "random", 2)
    gp = GraphGP(kernel, noise=1e-3, n_labels=space.n_labels, restarts=1).fit(graphs, y)
    best = assert_best_of_all(space, gp, LCB(1.0))
    assert_best_of_all(space, gp, EI(), exclude=[best.graph])


def test_a_space_that_cannot_be_listed_is_proved() -> None:
    """Nine nodes with two labels; without its bounds the kernel would prove nothing."""
    space = GraphSpace(9, labels=2)
    graphs = space.sample(12, seed=1)
    y = [graph.n_edges - 0.1 * graph.n_edges**2 + graph.labels.sum() for graph in graphs]
    gp = GraphGP(LabelledEnds(), noise=1e-3, n_labels=2).fit(graphs, y)
    proposal = propose(space, gp, method="exact", time_limit=120)
    assert proposal.status == "optimal"
    mean, std = gp.predict(space.sample(2000, seed=3))
    assert (mean - std).min() >= proposal.bound - 1e-9


def test_the_strategy_for_a_kernel_with_bounds() -> None:
    labelled, plain = GraphSpace(9, labels=2), GraphSpace(9)
    assert type(choose(criterion(labelled, LabelledEnds()))) is OwnLabelledBoxes
    assert type(choose(criterion(plain, LabelledEnds()))) is OwnBoxes
    assert type(choose(criterion(labelled, Distances()))) is OwnBoxes
    assert choose(criterion(labelled, Gaussian())) is None  # without bounds
    # an acquisition that is not monotone has none either
    assert type(choose(criterion(plain, Distances(), uncertain_middle))) is OwnHistograms
    assert choose(criterion(labelled, LabelledEnds(), uncertain_middle)) is None


class TooHigh(LabelledEnds):
    """Claims lower bounds on kernel values that are too high."""

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        true = super().box_bounds(low, high, observed)
        return BoxBounds((true.lowest + true.largest) / 2, true.largest, true.diagonal)


class TooLow(LabelledEnds):
    """Claims upper bounds on kernel values that are too low."""

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        true = super().box_bounds(low, high, observed)
        return BoxBounds(true.lowest, (true.lowest + true.largest) / 2, true.diagonal)


class TooSure(LabelledEnds):
    """Claims half of the true prior variance."""

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        true = super().box_bounds(low, high, observed)
        return BoxBounds(true.lowest, true.largest, 0.5 * true.diagonal)


class Crossed(LabelledEnds):
    """Swaps lower and upper bounds."""

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        true = super().box_bounds(low, high, observed)
        return BoxBounds(true.largest + 0.1, true.lowest, true.diagonal)


class Short(LabelledEnds):
    """Leaves out a row."""

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        true = super().box_bounds(low, high, observed)
        return BoxBounds(true.lowest[:-1], true.largest, true.diagonal)


class LiesInTheDistance(LabelledEnds):
    """True bounds, except for boxes that reach up to very many edges."""

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        true = super().box_bounds(low, high, observed)
        dense = (high.padded(2, 1).lengths[:, 1] > 0.8 * high.sizes * (high.sizes - 1))[:, None]
        return BoxBounds(np.where(dense, true.largest, true.lowest), true.largest, true.diagonal)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("liar", [TooHigh, TooLow, TooSure, Crossed, Short, LiesInTheDistance])
def test_false_bounds_are_refused(liar: Any) -> None:
    space = GraphSpace(9, labels=2)
    gp = GraphGP(liar(), noise=1e-3, n_labels=2, restarts=1)
    gp.fit(space.sample(8, seed=1), np.arange(8.0))
    with pytest.raises(InvalidInputError, match=r"kernel 'labelled ends': expected box_bounds"):
        propose(space, gp, method="exact", time_limit=60)


def test_a_graph_that_the_solver_finds_is_compared_with_its_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(by_kernel_boxes, "_HALVED_FIRST", 0)  # so that boxes are large
    objective = criterion(GraphSpace(5, labels=2), LiesInTheDistance(), seed=3)
    piece = next(piece for piece in pieces(objective) if piece.structure.diameter == 2)
    state = PieceSolve(Question(piece=piece, value=math.inf), objective, deadline=math.inf)
    with pytest.raises(InvalidInputError, match="where a graph has"):
        solve_by_kernel_boxes(state)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_tightened_boxes_keep_all_counts_that_satisfy_the_known_inequalities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = GraphSpace(5, labels=2)
    graph = space.sample(1, seed=seed % 1000)[0]
    (structure,) = structures([space.shape(5)], space.connected, ())
    composition = tuple(map(int, np.bincount(graph.labels, minlength=2)))
    coordinates = Piece(structure, composition).coordinates(labelled=True)
    objective = criterion(space, LabelledEnds())
    boxes = KernelBoxes(objective, coordinates, known_of_counts(structure, coordinates, None))
    x = np.array([coordinates.values(graph)])
    low, high = np.maximum(x - rng.integers(0, 6, x.shape), 0), x + rng.integers(0, 6, x.shape)
    box = CountBoxes(low, high, np.array([-math.inf])).tightened(boxes._known)
    assert len(box) == 1
    assert ((box.low <= x) & (x <= box.high)).all()
