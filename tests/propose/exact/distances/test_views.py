"""Rows over hidden variables hold for every small graph, and for larger ones of all shapes."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from bogrape import GraphSpace
from bogrape.constraints import DegreeRange
from bogrape.encoding import structures
from bogrape.graph import Graph
from bogrape.molecules import molecule_space
from bogrape.propose.exact.distances.coordinates import Coordinates, Position
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.distances.limited_degrees import sums_of
from bogrape.propose.exact.distances.system import System
from bogrape.propose.exact.distances.triples import Triple, Triples, most_at_distance
from bogrape.propose.exact.distances.views import Both, Kind, Nodes, Seen, Views, ranges


class Part:
    """Rows for the graphs of one size and diameter in a space."""

    def __init__(self, space, diameter, most_ranges=8):
        (structure,) = structures([space.shape(space.n_max)], space.connected, space.rules)
        (part,) = [s for s in structure.by_diameter() if s.diameter == diameter]
        self.sums = sums_of(part)
        self.coordinates = Coordinates.of(part.shape, labelled=False, longest=diameter)
        self.views = Views(part, self.sums, self.coordinates, most_ranges)
        triples = Triples(self.views)
        self.views.rows(known_of_counts(part, self.coordinates, None))
        triples.rows()
        self.rows = self.views.system.rows()

    def spare(self, graph):
        """By how much a graph keeps each row; those of equalities are zero."""
        spare = self.rows.most - self.rows.matrix @ self.vector(graph)
        assert (spare >= 0).all(), graph.to_json()
        assert (spare[: self.rows.n_equalities] == 0).all(), graph.to_json()
        assert (self.vector(graph) <= self.rows.upper).all()
        return spare

    def vector(self, graph):
        """The variables of a graph, by loops over its nodes."""
        n, distance = graph.n_nodes, graph.distances().astype(int)
        degrees, far = graph.adjacency.sum(axis=0).astype(int), distance.max(axis=0)
        place = {e: own for own in self.views.ranges for e in range(own.low, own.high + 1)}
        values = Counter(
            {Position(i): x for i, x in enumerate(self.coordinates.values(graph)) if x}
        )
        values.update(Kind(self.kind(graph, v)) for v in range(n))
        values.update(Nodes(int(degrees[v]), place[far[v]]) for v in range(n))
        for u, v in permutations(range(n), 2):
            s, own, other = int(distance[u, v]), place[far[u]], place[far[v]]
            values[Seen(int(degrees[u]), own, int(degrees[v]), s)] += 1
            if own <= other:
                values[Both(own, other, s)] += 1
            for w in range(n):
                lengths = s, int(distance[u, w]), int(distance[v, w])
                if w not in (u, v) and list(lengths) == sorted(lengths):
                    values[Triple(*lengths)] += 1
        return self.views.system.vector(values)

    def kind(self, graph, v):
        columns = self.sums.columns
        row = np.zeros(len(columns), dtype=int)
        row[graph.labels[v]] = 1
        row[columns.feature : columns.end] = graph.features[v]
        if columns.has_ends:
            for k in graph.edge_labels[v][graph.adjacency[v] > 0]:
                row[columns.end + k - 1] += 1
        row[columns.degree] = graph.adjacency[v].sum()
        kinds = [columns.of(kind).tolist() for kind in self.sums.kinds]
        return kinds.index(row.tolist())


def connected_graphs(n):
    for g in nx.graph_atlas_g():
        if len(g) == n and nx.is_connected(g):
            yield Graph(nx.to_numpy_array(g))


@pytest.mark.parametrize(("n", "most"), [(4, 3), (5, 4), (6, 5), (6, 3), (7, 6), (7, 4), (7, 2)])
def test_rows_hold_for_all_graphs(n, most):
    space = GraphSpace(n, rules=[DegreeRange(maximum=most)])
    parts = {}
    for graph in connected_graphs(n):
        if graph.adjacency.sum(axis=0).max() <= most:
            diameter = int(graph.distances().max())
            if diameter not in parts:
                parts[diameter] = Part(space, diameter)
            parts[diameter].spare(graph)
    assert len(parts) >= 2


FAMILIES = {
    Views: ["_views", "_growth_of_other_end", "_middles"],
    Triples: ["_thirds", "_products", "_squares", "_no_larger", "_crowding"],
}


def test_no_family_of_rows_could_be_tighter(monkeypatch):
    """If its limits were smaller by one, some graph of seven nodes would break a row of each."""
    made = {}

    def recorded(name, method):
        def wrapper(self, *args):
            system = getattr(self, "system", None) or self._views.system
            before = len(system._most)
            method(self, *args)
            made.setdefault((self_diameter(self), name), []).append((before, len(system._most)))

        return wrapper

    def self_diameter(self):
        return getattr(self, "diameter", None) or self._d

    for owner, names in FAMILIES.items():
        for name in names:
            monkeypatch.setattr(owner, name, recorded(name, getattr(owner, name)))
    n, space = 7, GraphSpace(7, rules=[DegreeRange(maximum=6)])
    parts = {d: Part(space, d) for d in range(2, n)}
    least = {d: np.full(len(part.rows.most), np.inf) for d, part in parts.items()}
    for graph in connected_graphs(n):
        d = int(graph.distances().max())
        if d > 1:
            least[d] = np.minimum(least[d], parts[d].spare(graph))
    limits = {d: least[d][part.rows.n_equalities :] for d, part in parts.items()}
    for d in parts:
        assert (limits[d] == 0).mean() > 0.5  # rows with a large c speak of larger graphs
    for name in (name for names in FAMILIES.values() for name in names):
        own = [
            limits[d][i] for d in parts for start, end in made[d, name] for i in range(start, end)
        ]
        assert np.mean(np.array(own) == 0) > 0.05, name


@pytest.mark.parametrize("data", ["qm7", "qm9"])
@pytest.mark.parametrize("n", [6, 18])
def test_rows_hold_for_random_molecules(data, n):
    space = molecule_space(data, n)
    parts = {}
    for graph in space.sample(8, seed=n):
        diameter = int(graph.distances().max())
        parts.setdefault(diameter, Part(space, diameter)).spare(graph)


def long_and_thin():
    yield nx.path_graph(14)
    yield nx.cycle_graph(13)
    yield nx.barbell_graph(4, 6)
    yield nx.circular_ladder_graph(7)
    yield nx.balanced_tree(3, 2)
    yield nx.full_rary_tree(3, 17)
    broom = nx.path_graph(10)
    broom.add_edges_from([(0, 10), (0, 11), (9, 12), (9, 13), (9, 14)])
    yield broom
    spider = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6), (6, 7), (7, 8)])
    spider.add_edges_from([(0, 9), (9, 10), (10, 11), (11, 12), (4, 13), (4, 14), (8, 15)])
    yield spider


@pytest.mark.parametrize("most_ranges", [1, 3, 4, 8])
def test_rows_hold_for_graphs_with_large_distances(most_ranges):
    for g in long_and_thin():
        graph = Graph(nx.to_numpy_array(nx.convert_node_labels_to_integers(g)))
        space = GraphSpace(graph.n_nodes, rules=[DegreeRange(maximum=5)])
        part = Part(space, int(graph.distances().max()), most_ranges)
        assert len(part.views.ranges) <= most_ranges
        assert (part.spare(graph) == 0).sum() > part.rows.n_equalities


def test_ranges_are_all_eccentricities():
    for diameter in range(1, 31):
        for most in (1, 4, 8):
            found = ranges(diameter, most)
            listed = [e for own in found for e in range(own.low, own.high + 1)]
            assert listed == list(range((diameter + 1) // 2, diameter + 1))
            assert len(found) == min(most, len(listed))


@pytest.mark.parametrize(("n", "most"), [(6, 5), (7, 3), (7, 6)])
def test_no_node_sees_more_at_a_distance(n, most):
    seen = Counter()
    for graph in connected_graphs(n):
        if graph.adjacency.sum(axis=0).max() <= most:
            for s in range(1, n):
                at = (graph.distances() == s).sum(axis=0).max()
                seen[s] = max(seen[s], int(at))
    limits = {s: most_at_distance(n, most, s) for s in range(1, n)}
    assert all(seen[s] <= limits[s] for s in limits)
    assert all(seen[s] == limits[s] for s in range(2, n))


def test_systems_refuse_what_they_cannot_mean():
    system = System([3, 4])
    system.variable("hidden", 7)
    with pytest.raises(ValueError, match="twice"):
        system.variable("hidden", 7)
    system.at_most([], 0)
    system.between([("hidden", 2), (Position(1), 1), ("hidden", -2)], 1, 3)
    system.equal([(Position(0), 1)], 2)
    rows = system.rows()
    assert rows.n_equalities == 1
    assert rows.matrix.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, -1, 0]]
    assert rows.most.tolist() == [2, 3, -1]
    assert rows.upper.tolist() == [3, 4, 7]
