"""Graphs as variables and back: which graphs the encoding admits, and which it lists."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from bogrape import GraphSpace
from bogrape.constraints import (
    CycleRange,
    DegreeRange,
    DiameterRange,
    DisjointPaths,
    FixedLabel,
    ForbiddenAdjacency,
    ForbiddenEdge,
    LabelCount,
    LinearRule,
    MaximumDistance,
    NumberOfEdges,
    RequiredEdge,
    RequiredSubgraph,
    TotalCost,
    TwoConnected,
)
from bogrape.encoding import GraphEncoding, Structure, structures
from bogrape.graph import Graph
from exhaustive import classes, everything

from oracles import all_graphs, is_connected, rule_holds
from strategies import graphs, rules


@st.composite
def cases(draw: st.DrawFn, *, largest: int = 5) -> tuple[GraphSpace, list[Any], Graph]:
    """A space, rules bound to it, and any graph of its kind (in the space or not)."""
    directed = draw(st.booleans())
    kind: dict[str, Any] = {
        "labels": draw(st.integers(1, 3)),
        "features": draw(st.integers(0, 2)),
        "directed": directed,
        "connected": draw(st.sampled_from([True, False, "strong"] if directed else [True, False])),
        "edge_labels": draw(st.sampled_from([0, 0, 2])),
    }
    space = GraphSpace((1, largest), **kind)
    made = st.lists(
        rules(
            n_nodes=largest,
            n_labels=kind["labels"],
            n_features=kind["features"],
            directed=directed,
        ),
        max_size=2,
    )
    bound = [rule.bind({}, space.shape(largest)) for rule in draw(made)]
    graph = draw(
        graphs(
            n_nodes=(1, largest - 1 if directed else largest),
            n_labels=kind["labels"],
            n_features=kind["features"],
            directed=directed,
            edge_labels=kind["edge_labels"] > 0,
        )
    )
    return space, bound, graph


def _structure(space: GraphSpace, bound: list[Any], n: int) -> Structure:
    return structures([space.shape(n)], space.connected, bound)[0]


def _admits(encoding: GraphEncoding, graph: Graph) -> bool:
    """True if the encoding is satisfied by the graph's values and some helpers of rules."""
    if not _decided_rightly(encoding, graph):
        return False
    for variable, value in encoding.lift(graph).items():
        encoding.model.add(variable == value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(encoding.model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return bool(status == cp_model.OPTIMAL)


def _decided_rightly(encoding: GraphEncoding, graph: Graph) -> bool:
    """True if the distances that the encoding fixes without a variable are those of the graph."""
    distance = graph.distances()
    for u, v in encoding.ordered_pairs():
        for s in range(1, graph.n_nodes):
            literal = encoding.within(u, v, s)
            if isinstance(literal, bool) and literal != (distance[u, v] <= s):
                return False
    return True


@given(cases())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_decode_undoes_lift(case: tuple[GraphSpace, list[Any], Graph]) -> None:
    space, bound, graph = case
    encoding = GraphEncoding(_structure(space, bound, graph.n_nodes), symmetry=False)
    values = encoding.lift(graph)
    assume(_decided_rightly(encoding, graph))
    assert encoding.decode(values.__getitem__) == graph


@given(cases())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_encoding_admits_exactly_the_graphs_of_the_space(
    case: tuple[GraphSpace, list[Any], Graph],
) -> None:
    space, bound, graph = case
    inside = is_connected(graph, space.connected) and all(rule_holds(r, graph) for r in bound)
    assert inside == (space.contains(graph) and all(rule.holds(graph) for rule in bound))
    structure = _structure(space, bound, graph.n_nodes)
    assert _admits(GraphEncoding(structure, symmetry=False), graph) == inside
    assert _admits(GraphEncoding(structure, symmetry=False, unique=True), graph) == inside
    pieces = list(structure.by_diameter())
    if len(pieces) != 1 or pieces[0] != structure:
        admitted = [_admits(GraphEncoding(piece, symmetry=False), graph) for piece in pieces]
        assert sum(admitted) == inside  # by the piece of its diameter alone


@pytest.mark.parametrize("connected", [False, True, "strong"])
def test_exactly_the_connected_digraphs_on_three_nodes_are_admitted(connected: bool | str) -> None:
    space = GraphSpace(3, directed=True, connected=connected)  # type: ignore[arg-type]
    for graph in all_graphs(3, directed=True):
        encoding = GraphEncoding(_structure(space, [], 3), symmetry=False)
        assert _admits(encoding, graph) == is_connected(graph, connected)


@given(cases(largest=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_symmetry_keeps_a_numbering_of_every_graph(
    case: tuple[GraphSpace, list[Any], Graph],
) -> None:
    space, bound, graph = case
    structure = _structure(space, bound, graph.n_nodes)
    numberings = [graph.permuted(p) for p in itertools.permutations(range(graph.n_nodes))]
    inside = any(
        space.contains(renamed) and all(rule.holds(renamed) for rule in bound)
        for renamed in numberings
    )
    kept = any(
        _keeps(GraphEncoding(piece), renamed)
        for piece in structure.by_diameter()
        for renamed in dict.fromkeys(numberings)
    )
    assert kept == inside


def _keeps(encoding: GraphEncoding, graph: Graph) -> bool:
    """Like `_admits`, for encodings whose numbering has fixed some variables."""
    return _admits(encoding, graph) and encoding.decode(encoding.lift(graph).__getitem__) == graph


# -- enumeration --------------------------------------------------------------------------------

# OEIS A001349, A003085, A035512, A000273, A003087, A000088
COUNTS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "connected graphs": ({}, [1, 1, 2, 6, 21, 112]),
    "weakly connected digraphs": ({"directed": True}, [1, 2, 13, 199]),
    "strong digraphs": ({"directed": True, "connected": "strong"}, [1, 1, 5, 83]),
    "digraphs": ({"directed": True, "connected": False}, [1, 3, 16, 218]),
    "DAGs": ({"directed": True, "connected": False, "acyclic": True}, [1, 2, 6, 31, 302]),
    "graphs": ({"connected": False}, [1, 2, 4, 11, 34]),
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_numbers_of_graphs_are_those_of_the_oeis(name: str) -> None:
    options, expected = COUNTS[name]
    for n, number in enumerate(expected, start=1):
        assert GraphSpace(n, **options).count() == number


def test_there_are_853_connected_graphs_on_seven_nodes() -> None:
    found = GraphSpace(7).enumerate()
    assert len(found) == len({graph.canonical_key() for graph in found}) == 853


def burnside(n: int, n_labels: int, *, directed: bool, connected: bool | str) -> int:
    """Number of labelled graphs up to isomorphism: the mean number that a renumbering fixes."""
    every = [g for g in all_graphs(n, directed=directed) if is_connected(g, connected)]
    matrices = np.stack([graph.adjacency for graph in every])
    total, n_orders = 0, 0
    for order in itertools.permutations(range(n)):
        fixed = (matrices[:, order][:, :, order] == matrices).all(axis=(1, 2)).sum()
        seen: set[int] = set()
        cycles = 0
        for v in range(n):
            cycles += v not in seen
            while v not in seen:
                seen.add(v)
                v = order[v]
        total += int(fixed) * n_labels**cycles
        n_orders += 1
    assert total % n_orders == 0
    return total // n_orders


@pytest.mark.parametrize(
    ("n", "n_labels", "directed", "connected"),
    [
        (3, 4, False, True),
        (4, 3, False, True),
        (5, 2, False, True),
        (4, 2, False, False),
        (3, 2, True, True),
        (3, 3, True, "strong"),
        (3, 2, True, False),
    ],
)
def test_the_numbers_of_labelled_graphs_are_those_of_burnside(
    n: int, n_labels: int, directed: bool, connected: Any
) -> None:
    space = GraphSpace(n, labels=n_labels, directed=directed, connected=connected)
    expected = burnside(n, n_labels, directed=directed, connected=connected)
    assert space.count() == expected
    assert len(classes(n, n_labels=n_labels, directed=directed, connected=connected)) == expected


LISTED: dict[str, GraphSpace] = {
    "sizes": GraphSpace((1, 5)),
    "features": GraphSpace((1, 3), labels=2, features=1),
    "edge labels": GraphSpace(4, edge_labels=2),
    "arcs with labels": GraphSpace(3, directed=True, connected=False, edge_labels=2),
    "edges": GraphSpace(5, rules=[NumberOfEdges(5, 6)]),
    "degrees": GraphSpace(5, rules=[DegreeRange(2, 3)]),
    "diameter": GraphSpace(6, rules=[DiameterRange(3, 4), DegreeRange(maximum=3)]),
    "diameter when not connected": GraphSpace(4, connected=False, rules=[DiameterRange(2)]),
    "cycles": GraphSpace(5, connected=False, rules=[CycleRange(1, 2)]),
    "forests": GraphSpace(5, connected=False, acyclic=True),
    "label counts": GraphSpace(4, labels=2, rules=[LabelCount(1, 1, 2)]),
    "proper colourings": GraphSpace(
        4, labels=2, rules=[ForbiddenAdjacency(0, 0), ForbiddenAdjacency(1, 1)]
    ),
    "a named node": GraphSpace(4, labels=2, rules=[FixedLabel(0, 1), DegreeRange(2, node=0)]),
    "named pairs": GraphSpace((3, 5), rules=[RequiredEdge(0, 1), ForbiddenEdge(2, 4)]),
    "a square": GraphSpace(
        5, rules=[RequiredSubgraph([(0, 1), (1, 2), (2, 3), (0, 3)], induced=True)]
    ),
    "a sum": GraphSpace(4, labels=2, rules=[LinearRule({(0, 1): 1, (1, 2): -1}, minimum=1)]),
    "two-connected": GraphSpace((1, 6), rules=[TwoConnected()]),
    "without bridges": GraphSpace((1, 5), connected=False, rules=[TwoConnected("edge")]),
    "disjoint paths": GraphSpace((2, 5), connected=False, rules=[DisjointPaths(0, 1)]),
    "disjoint ways": GraphSpace(4, directed=True, rules=[DisjointPaths(0, 1, 3)]),
    "neighbours of neighbours": GraphSpace(4, labels=2, rules=[MaximumDistance(0, 3, 2)]),
    "a budget": GraphSpace(
        4, edge_labels=2, rules=[TotalCost(edge_labels={1: 0.1, 2: 0.2}, maximum=0.6)]
    ),
    "DAG with one source": GraphSpace(
        4, directed=True, acyclic=True, rules=[DegreeRange(1, node=1, direction="in")]
    ),
    "out-degrees": GraphSpace(4, directed=True, rules=[DegreeRange(1, 1, direction="out")]),
}


@pytest.mark.parametrize("name", LISTED)
def test_enumeration_finds_what_brute_force_finds(name: str) -> None:
    space = LISTED[name]
    found = space.enumerate()
    keys = [graph.canonical_key() for graph in found]
    assert len(keys) == len(set(keys))
    assert all(space.contains(graph) for graph in found)
    assert set(keys) == {graph.canonical_key() for graph in everything(space)}


def test_helpers_that_a_rule_does_not_decide_repeat_no_graph() -> None:
    """With nine nodes two-connectedness is encoded by flows, of which a graph has many."""
    path = [(v, v + 1) for v in range(8)]
    space = GraphSpace(
        nodes=list("abcdefghi"),
        rules=[
            RequiredSubgraph(path),
            RequiredSubgraph(path[1:-1], induced=True),  # chords from the ends only
            NumberOfEdges(maximum=10),
            TwoConnected(),
        ],
    )
    chords = [(u, v) for u, v in itertools.combinations(range(9), 2) if u == 0 or v == 8]
    chords = [pair for pair in chords if pair not in path]
    added = [(), *((a,) for a in chords), *itertools.combinations(chords, 2)]
    lawful = {
        frozenset([*path, *some]) for some in added if nx.is_biconnected(nx.Graph([*path, *some]))
    }
    assert not TwoConnected().decides_helpers(space.shape(9))
    found = [frozenset(graph.edges()) for graph in space.enumerate()]
    assert len(found) == len(lawful)
    assert set(found) == lawful


@pytest.mark.parametrize("limit", [0, 1, 5, 30])
def test_a_limit_cuts_the_list_short(limit: int) -> None:
    space = GraphSpace((1, 4), labels=2)
    found = space.enumerate(limit=limit)
    assert len(found) == len({graph.canonical_key() for graph in found}) == limit
    assert all(space.contains(graph) for graph in found)


def test_a_list_cut_short_by_time_never_counts_as_complete() -> None:
    import time

    from bogrape.encoding.enumeration import enumerate_graphs

    structure = _structure(GraphSpace(9), [], 9)
    with pytest.raises(TimeoutError):
        list(enumerate_graphs(structure, deadline=time.monotonic() + 0.3))
