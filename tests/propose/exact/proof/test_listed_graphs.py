"""Listed graphs: all of those whose counts are in the boxes, and no others."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphGP, GraphSpace
from bogrape.batch import Batch
from bogrape.constraints import DegreeRange, RequiredEdge
from bogrape.encoding import structures
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.linear_programs import Remainder
from bogrape.propose.exact.bounds.lines_below import Box, Line, around
from bogrape.propose.exact.distances.variables import Variables
from bogrape.propose.exact.proof import listed_graphs
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.listed_graphs import can_be_listed, settle_listed
from bogrape.propose.exact.proof.piece import Piece, Question
from bogrape.propose.exact.proof.piece_solve import PieceSolve
from bogrape.propose.exact.skeletons.placements import arrangements
from bogrape.propose.exact.skeletons.store import most_cycles, skeletons_of
from exhaustive import everything

SPACE = GraphSpace(5, labels=2)
LIMITED = GraphSpace(5, labels=2, rules=[DegreeRange(1, 3)])


def _criterion(space: GraphSpace, seed: int, acquisition: LCB | EI) -> Criterion:
    graphs = space.sample(8, seed=seed)
    values = np.random.default_rng(seed).normal(size=8)
    gp = GraphGP("rbf", 1e-3, space=space).fit(graphs, values)
    return Criterion(space, gp.posterior, acquisition)


def _blind(variables: Variables) -> Any:
    """An LCB about which nothing is known, so that only lines and boxes count."""

    def values(terms: np.ndarray) -> np.ndarray:
        return np.full(len(terms), -math.inf)

    return SimpleNamespace(variables=variables, terms=lambda x: x, values=values)


def _pieces(space: GraphSpace) -> list[Piece]:
    (whole,) = structures([space.shape(n) for n in space.sizes], space.connected, space.rules)
    parts = [whole, *whole.by_diameter()]
    compositions = {tuple(np.bincount(g.labels, minlength=2).tolist()) for g in everything(space)}
    return [Piece(part, numbers) for part in parts for numbers in sorted(compositions)]


def _boxes(rng: np.random.Generator, rows: np.ndarray, n_boxes: int) -> list[Box]:
    """Boxes around some graphs each; they may overlap."""
    out = []
    for _ in range(n_boxes):
        ends = rows[rng.integers(len(rows), size=int(rng.integers(1, 4)))]
        out.append(Box(ends.min(axis=0), ends.max(axis=0)))
    return out


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_best_sparse_graph_of_some_boxes_is_found(
    seed: int, within: bool, limited: bool, most_cycles: int
) -> None:
    space = LIMITED if limited else SPACE
    rng = np.random.default_rng(seed)
    criterion = _criterion(space, seed % 5, LCB(1.0))
    pieces = _pieces(space)
    piece = pieces[int(rng.integers(len(pieces)))]
    graphs = [graph for graph in everything(space) if piece.matches(graph)]
    if not graphs:
        return
    variables = Variables(piece.coordinates(labelled=True), within=within)
    rows = variables.of_counts(np.array([variables.coordinates.values(g) for g in graphs]))
    boxes = _boxes(rng, rows, int(rng.integers(1, 4)))
    left = Remainder(bound=-9.0, box=around(boxes), tangents=(), x=None, boxes=tuple(boxes))
    state = PieceSolve(Question(piece=piece, value=math.inf), criterion, time.monotonic() + 60)
    with patch.object(listed_graphs, "_most_cycles", lambda _: most_cycles):
        found = settle_listed(state, _blind(variables), left, math.inf)
    assert found is not None
    n_edges, others = found
    assert n_edges == 5 + most_cycles
    inside = np.array(
        [[(box.low <= row).all() and (row <= box.high).all() for box in boxes] for row in rows]
    )
    sparse = np.array([graph.n_edges < n_edges for graph in graphs])
    values = criterion.of_batch(Batch.of(graphs))
    expected = values[inside.any(axis=1) & sparse].min(initial=math.inf)
    assert state.best_value == pytest.approx(expected, abs=1e-9)
    if math.isfinite(expected):
        assert state.best_graph is not None
        assert space.contains(state.best_graph)
    kept = [any(box is other for other in others) for box in boxes]
    assert not (inside[~sparse] & ~np.array(kept)).any()  # no other graph is lost


def test_graphs_on_which_a_line_is_high_are_skipped() -> None:
    criterion = _criterion(SPACE, 0, LCB(1.0))
    piece = _pieces(SPACE)[0]
    variables = Variables(piece.coordinates(labelled=True), within=True)
    upper = variables.upper().astype(float)
    box = Box(np.zeros(len(upper)), upper)
    for offset, is_found in ((0.5, False), (-0.5, True)):
        line = Line(np.zeros(len(upper)), offset)
        left = Remainder(
            bound=offset, box=box, tangents=(), x=None, boxes=(box,), parts=((box, line),)
        )
        question = Question(piece=piece, value=math.inf)
        state = PieceSolve(question, criterion, time.monotonic() + 60)
        assert settle_listed(state, _blind(variables), left, 0.0) is not None
        assert (state.best_graph is not None) == is_found


def test_only_pieces_of_labelled_skeletons_are_listed() -> None:
    def listed(space: GraphSpace) -> bool:
        (whole, *_) = structures([space.shape(space.n_max)], space.connected, space.rules)
        piece = Piece(whole, (3,) + (0,) * (space.n_labels - 2) + (space.n_max - 3,))
        return can_be_listed(piece, Variables(piece.coordinates(labelled=True)))

    assert listed(SPACE)
    assert listed(LIMITED)
    assert not listed(GraphSpace(5, labels=2, features=1))
    assert not listed(GraphSpace(5, labels=2, edge_labels=2))
    assert not listed(GraphSpace(5, labels=2, directed=True))
    assert not listed(GraphSpace(5, labels=2, connected=False))
    assert not listed(GraphSpace(5, labels=2, rules=[RequiredEdge(0, 1)]))
    assert not listed(GraphSpace(17, labels=2))


def test_pieces_with_too_many_placements_for_memory_are_not_listed() -> None:
    (whole,) = structures([GraphSpace(15, labels=3).shape(15)], "strong", ())
    for composition, is_listed in (((13, 1, 1), True), ((5, 5, 5), False)):
        piece = Piece(whole, composition)
        variables = Variables(piece.coordinates(labelled=True))
        assert can_be_listed(piece, variables) == is_listed


@pytest.mark.parametrize("kernel", ["sp", "esp", "rbf"])
@pytest.mark.parametrize("noise", [1e-6, 0.1])
def test_values_over_counts_are_barely_below_those_of_the_graphs(kernel: str, noise: float) -> None:
    graphs = SPACE.sample(12, seed=1)
    values = np.random.default_rng(1).normal(size=12)
    gp = GraphGP(kernel, noise, space=SPACE).fit(graphs, values)
    criterion = Criterion(SPACE, gp.posterior, LCB(1.5))
    strategy = choose(criterion)
    assert strategy is not None
    compared = 0
    for piece in _pieces(SPACE):
        own = [graph for graph in everything(SPACE) if piece.matches(graph)]
        if not own or 0 in (piece.composition or ()):
            continue
        lcb = strategy.lcb_over_counts(piece)
        counts = np.array([lcb.variables.coordinates.values(graph) for graph in own])
        found = lcb.values(lcb.terms(lcb.variables.of_counts(counts)))
        expected = criterion.of_batch(Batch.of(own))
        assert (found <= expected + 1e-12).all()
        assert found == pytest.approx(expected, abs=1e-3)
        compared += len(own)
    assert compared > 100


def test_graphs_with_values_above_the_limit_are_passed_over() -> None:
    criterion = _criterion(SPACE, 0, LCB(1.0))
    piece = _pieces(SPACE)[1]
    lcb = choose(criterion).lcb_over_counts(piece)
    upper = lcb.variables.upper().astype(float)
    box = Box(np.zeros(len(upper)), upper)
    left = Remainder(bound=-9.0, box=box, tangents=(), x=None, boxes=(box,))
    values = sorted(criterion.of_graph(g) for g in everything(SPACE) if piece.matches(g))
    for limit, is_found in ((values[0] - 1e-3, False), (values[0] + 1e-3, True)):
        state = PieceSolve(Question(piece=piece, value=math.inf), criterion, time.monotonic() + 60)
        settle_listed(state, lcb, left, limit)
        assert (state.best_graph is not None) == is_found


@pytest.mark.parametrize("diameter", [4, 5, 7])
def test_all_graphs_of_a_large_diameter_are_looked_at(diameter: int) -> None:
    """Compared with all labels on those of all skeletons of eight nodes that have the diameter."""
    space = GraphSpace(8, labels=2)
    criterion = _criterion(space, 3, LCB(1.0))
    (whole,) = structures([space.shape(8)], space.connected, space.rules)
    piece = Piece(next(s for s in whole.by_diameter() if s.diameter == diameter), (6, 2))
    lcb = choose(criterion).lcb_over_counts(piece)
    upper = lcb.variables.upper().astype(float)
    box = Box(np.zeros(len(upper)), upper)
    left = Remainder(bound=-9.0, box=box, tangents=(), x=None, boxes=(box,))
    state = PieceSolve(Question(piece=piece, value=math.inf), criterion, time.monotonic() + 60)
    _, others = settle_listed(state, lcb, left, math.inf)
    every = skeletons_of(8, 7, range(most_cycles(8, 7) + 1))
    every = every.select((every.histograms > 0).sum(axis=1) == diameter)
    adjacency, labels = every.adjacency(slice(None)), arrangements((6, 2))
    graphs = np.repeat(adjacency, len(labels), axis=0)
    placed = np.tile(labels.astype(int), (len(adjacency), 1))
    batch = Batch(graphs, placed, np.zeros((*placed.shape, 0), dtype=bool), None, directed=False)
    assert others == []
    assert state.best_value == pytest.approx(criterion.of_batch(batch).min(), abs=1e-9)
    assert piece.matches(state.best_graph)
