"""Large programs bound every graph of a piece, and better than small ones."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.constraints import DegreeRange, RequiredEdge
from bogrape.encoding import structures
from bogrape.graph import Graph
from bogrape.molecules import molecule_space
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds import view_programs
from bogrape.propose.exact.bounds.linear_programs import Program
from bogrape.propose.exact.bounds.lines_below import Line
from bogrape.propose.exact.bounds.view_programs import ViewProgram, has_views
from bogrape.propose.exact.distances.coordinates import Coordinates
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.distances.variables import Variables
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.piece import Piece
from bogrape.propose.exact.proof.strategies import linear


def parts_of(space):
    (whole,) = structures([space.shape(space.n_max)], space.connected, space.rules)
    return {part.diameter: part for part in whole.by_diameter()}


def program_of(part):
    coordinates = Coordinates.of(part.shape, labelled=False, longest=part.diameter)
    known = list(known_of_counts(part, coordinates, None))
    return ViewProgram(part, coordinates, known), coordinates, known


def trees_and_more(n):
    for g in nx.graph_atlas_g():
        if len(g) == n and nx.is_connected(g) and max(d for _, d in g.degree) <= 3:
            yield Graph(nx.to_numpy_array(g))


def test_cuts_hold_for_all_graphs_and_some_are_met():
    space = GraphSpace(7, rules=[DegreeRange(maximum=3)])
    rng = np.random.default_rng(0)
    of_diameter = {}
    for graph in trees_and_more(7):
        of_diameter.setdefault(int(graph.distances().max()), []).append(graph)
    n_met = 0
    for diameter, graphs in of_diameter.items():
        program, coordinates, _ = program_of(parts_of(space)[diameter])
        counts = [dict(enumerate(coordinates.values(graph))) for graph in graphs]
        for direction in [*np.eye(len(coordinates))[:diameter], *-np.eye(len(coordinates))]:
            noisy = direction + 0.05 * rng.normal(size=len(coordinates))
            for exact in (direction, noisy):
                cut = program.cut(exact, 60.0)
                assert cut.high == math.inf
                assert all(map(cut.holds, counts))
                totals = [sum(w * c[i] for i, w in cut.weights.items()) for c in counts]
                n_met += min(totals) < cut.low + 1
    assert n_met > 20


def test_cuts_go_beyond_other_inequalities():
    """Trees and rings of 14 carbon atoms with many pairs at a large distance."""
    part = parts_of(molecule_space(["C"], 14))[8]
    program, coordinates, known = program_of(part)
    far = np.zeros(len(coordinates))
    far[7] = -1.0  # as many pairs at distance 8 as possible
    cut = program.cut(far, 60.0)
    bound = -cut.low / 10_000
    small = Program(known, Variables(coordinates))
    without = -small.minimise([Line(far, 0.0)], small.box, 10.0)[0].bound
    broom = nx.path_graph(7)
    broom.add_edges_from([(0, i) for i in (7, 8, 9)] + [(6, i) for i in (10, 11, 12)])
    broom.add_edge(3, 13)
    lengths = dict(nx.all_pairs_shortest_path_length(broom))
    reached = sum(s == 8 for row in lengths.values() for s in row.values()) / 2
    assert reached == 9
    assert reached <= bound < 0.8 * without


def test_a_program_without_time_says_nothing():
    program, coordinates, _ = program_of(parts_of(molecule_space(["C"], 12))[6])
    assert program.cut(-np.ones(len(coordinates)), 0.0) is None


@pytest.mark.parametrize("data", ["qm7", "qm9"])
def test_slow_bounds_are_below_all_values(data, monkeypatch):
    monkeypatch.setattr(linear, "_LARGE", 4)
    space = molecule_space(data, 4)
    graphs = space.sample(12, seed=0, distinct=True)
    gp = GraphGP("ssp", space=space).fit(graphs, np.random.default_rng(0).normal(size=12))
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    values = {}
    for graph in space.enumerate():
        diameter = int(graph.distances().max())
        values[diameter] = min(values.get(diameter, np.inf), criterion.of_graph(graph))
    strategy, n_better = choose(criterion), 0
    for diameter, part in parts_of(space).items():
        if diameter in values:
            least, piece = values[diameter], Piece(part)
            assert strategy.has_slow_bound(piece)
            bound = strategy.slow_bound(piece, least + 0.5, 30.0)
            assert least - 5.0 < bound <= least + 1e-7
            n_better += bound > strategy.quick_bound(piece, least + 0.5) + 1e-3
    assert n_better
    assert len(values) == 2


def test_what_has_no_views(monkeypatch):
    with_names = GraphSpace(6, rules=[DegreeRange(maximum=3), RequiredEdge(0, 1)])
    for space in (GraphSpace(6), with_names, GraphSpace(9, rules=[DegreeRange(maximum=7)])):
        for part in parts_of(space).values():
            coordinates = Coordinates.of(part.shape, labelled=False, longest=part.diameter)
            assert not has_views(part, coordinates)
    part = parts_of(GraphSpace(6, labels=2, rules=[DegreeRange(maximum=3)]))[3]
    for labelled in (False, True):
        coordinates = Coordinates.of(part.shape, labelled=labelled, longest=3)
        assert has_views(part, coordinates) is not labelled
    monkeypatch.setattr(view_programs, "_MOST_VARIABLES", 10)
    monkeypatch.setattr(linear, "_LARGE", 4)
    space = molecule_space("qm7", 4)
    graphs = space.sample(5, seed=0, distinct=True)
    gp = GraphGP("ssp", space=space).fit(graphs, np.arange(5.0))
    strategy = choose(Criterion(space, gp.posterior, LCB(1.0)))
    piece = Piece(parts_of(space)[2])
    assert strategy.slow_bound(piece, 0.0, 10.0) == -math.inf
