"""Pairs within s steps instead of pairs at distance s: equivalent variables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import Graph, GraphSpace
from bogrape.encoding import structures
from bogrape.propose.exact.distances.coordinates import Coordinates
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.distances.variables import Variables
from bogrape.propose.exact.proof.piece import Piece

SPACES = {
    "labels": GraphSpace(6, labels=3),
    "features": GraphSpace(5, labels=2, features=1),
    "disconnected": GraphSpace(5, labels=2, connected=False),
    "directed": GraphSpace(4, labels=2, directed=True),
}


def _of(name: str, seed: int) -> tuple[Coordinates, list[Graph], Piece]:
    space = SPACES[name]
    graphs = space.sample(30, seed=seed)
    numbers = np.bincount(graphs[0].labels, minlength=space.n_labels)
    composition = tuple(numbers.tolist())
    (whole,) = structures([space.shape(n) for n in space.sizes], space.connected, space.rules)
    piece = Piece(whole, composition)
    inside = [graph for graph in graphs if piece.matches(graph)]
    return piece.coordinates(labelled=True), inside, piece


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_counts_and_variables_determine_each_other(name: str, seed: int, within: bool) -> None:
    coordinates, graphs, _ = _of(name, seed)
    variables = Variables(coordinates, within=within)
    counts = np.array([coordinates.values(graph) for graph in graphs])
    found = variables.of_counts(counts)
    assert (variables.counts(found) == counts).all()
    assert (found <= variables.upper()).all()
    for graph, row in zip(graphs, found, strict=True):
        distances = graph.distances()
        for i, (s, a, b) in enumerate(coordinates.paths):
            near = (distances >= 1) & ((distances <= s) if within else (distances == s))
            ends = (graph.labels[:, None] == a) & (graph.labels == b)
            pairs = int((near & ends).sum())
            assert row[i] == (pairs if graph.directed or a != b else pairs / 2)


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_inequalities_on_counts_hold_for_variables(name: str, seed: int, within: bool) -> None:
    coordinates, graphs, piece = _of(name, seed)
    variables = Variables(coordinates, within=within)
    known = list(known_of_counts(piece.structure, coordinates, None))
    told = list(variables.known(known))
    assert len(told) - len(known) == (sum(i >= 0 for i in variables.before) if within else 0)
    for graph in graphs:
        counts = np.array(coordinates.values(graph))
        here = dict(enumerate(variables.of_counts(counts).astype(int).tolist()))
        assert all(inequality.holds(here) for inequality in told)  # type: ignore[arg-type]
    # and counts that violate one of them do so in either form
    wrong = np.array(coordinates.values(graphs[0])) + 1
    here = dict(enumerate(variables.of_counts(wrong).astype(int).tolist()))
    of_counts = [i.holds(dict(enumerate(wrong.tolist()))) for i in known]  # type: ignore[arg-type]
    assert [i.holds(here) for i in told[-len(known) :]] == of_counts  # type: ignore[arg-type]


@pytest.mark.parametrize("within", [False, True])
def test_ranges_costs_and_expressions_are_those_of_the_variables(within: bool) -> None:
    coordinates, graphs, _ = _of("labels", 3)
    variables = Variables(coordinates, within=within)
    rng = np.random.default_rng(0)
    counts = np.array(coordinates.values(graphs[0]))
    values = variables.of_counts(counts)
    cost = rng.normal(size=len(counts))
    assert variables.cost_of_counts(cost) @ counts == pytest.approx(cost @ values)
    assert variables.expressions(counts.tolist()) == values.tolist()
    ranges = variables.of_interest(values, values)
    here = dict(enumerate(counts.tolist()))
    assert all(inequality.holds(here) for inequality in ranges)  # type: ignore[arg-type]
    for i in range(len(counts)):
        moved = {**here, i: here[i] + 1}
        assert not all(inequality.holds(moved) for inequality in ranges)  # type: ignore[arg-type]
