"""Rules: their meaning agrees with networkx, their rows with their meaning; their checks."""

from __future__ import annotations

import json
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from bogrape.batch import Batch
from bogrape.constraints import (
    RULES,
    Acyclic,
    CycleRange,
    DegreeRange,
    DiameterRange,
    DisjointPaths,
    Edge,
    EditDistance,
    FixedLabel,
    ForbiddenAdjacency,
    ForbiddenEdge,
    HasLabel,
    LabelCount,
    LinearRule,
    MaximumDistance,
    NumberOfEdges,
    RequiredEdge,
    RequiredSubgraph,
    Rule,
    Shape,
    TotalCost,
    TwoConnected,
    Within,
    edge,
    rule_from_dict,
    within,
)
from bogrape.errors import InvalidSpaceError
from bogrape.graph import Graph

from oracles import all_graphs, is_connected, rows_hold, rule_holds
from strategies import graphs, rules

EVERYWHERE: list[Rule] = [
    NumberOfEdges(),
    NumberOfEdges(2, 3),
    NumberOfEdges(5),
    DegreeRange(1, 2),
    DegreeRange(2, label=1),
    DegreeRange(maximum=1, node=1),
    DegreeRange(2, 2, node=3, label=0),
    DegreeRange(minimum=3),
    LabelCount(1, 1, 2),
    LabelCount(0, 4),
    LabelCount(1, maximum=0),
    FixedLabel(2, 1),
    FixedLabel(3, 0),
    RequiredEdge(2, 0),
    RequiredEdge(0, 3),
    ForbiddenEdge(1, 0),
    ForbiddenEdge(3, 1),
    ForbiddenAdjacency(0, 1),
    ForbiddenAdjacency(1, 1),
    RequiredSubgraph([(0, 1), (2, 1)]),
    RequiredSubgraph([(0, 1), (2, 1)], {0: 1, 2: 0}, induced=True),
    RequiredSubgraph([], {0: 0, 1: 1}, induced=True),
    DiameterRange(maximum=0),
    DiameterRange(maximum=1),
    DiameterRange(maximum=2),
    DiameterRange(2),
    DiameterRange(2, 2),
    DiameterRange(3, 9),
    DiameterRange(7),
    Acyclic(),
    LinearRule({(0, 1): 1, (2, 1): 2, (1, 2): 1}, {(0, 1): -1, (3, 0): 2}, maximum=2, minimum=1),
    LinearRule({(0, 1): 0.1, (0, 2): 0.2, (1, 2): 0.3}, maximum=0.3),
    TotalCost({(0, 1): 0.1, (0, 2): 0.2, (2, 3): 4}, 0.3, otherwise=0),
    TotalCost({(0, 1): 0.1, (1, 3): 2}, maximum=2.4, otherwise=0.3),
    DisjointPaths(0, 2),
    DisjointPaths(3, 1, 3),
    DisjointPaths(0, 1, 1),
    MaximumDistance(0, 1, 1),
    MaximumDistance(2, 0, 2),
    MaximumDistance(1, 3, 7),
]
PATH = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], [0, 1, 1, 0])
ARCS = Graph([[0, 1, 0], [1, 0, 1], [0, 0, 0]], [0, 1, 1], directed=True)
DIRECTED: list[Rule] = [
    EditDistance(ARCS, 0),
    EditDistance(ARCS, 2),
    DegreeRange(1, direction="in"),
    DegreeRange(maximum=1, direction="out", label=1),
    DegreeRange(maximum=1, direction="in", node=2),
]
UNDIRECTED: list[Rule] = [
    EditDistance(PATH, 0),
    EditDistance(PATH, 3),
    EditDistance(PATH.to_json(), 40),
    CycleRange(),
    CycleRange(maximum=0),
    CycleRange(1, 1),
    CycleRange(2),
    TwoConnected(),
    TwoConnected("edge"),
]


@cache
def _every_graph(n: int, directed: bool) -> tuple[list[Graph], list[bool]]:
    n_labels = 1 if directed and n == 4 else 2
    found = all_graphs(n, n_labels=n_labels, directed=directed)
    if directed and n == 4:
        found = found[::7]  # 4096 would be slow; 7 shares no factor with the bits
    return found, [is_connected(graph, True) for graph in found]


# -- meaning and encoding ---------------------------------------------------------------------


@pytest.mark.parametrize("rule", EVERYWHERE + UNDIRECTED, ids=str)
def test_rows_and_meaning_of_a_rule_agree_on_every_small_undirected_graph(rule: Rule) -> None:
    for n in (1, 2, 3, 4):
        assert_rows_and_meaning_agree(rule, n, directed=False)


@pytest.mark.parametrize("rule", EVERYWHERE + DIRECTED, ids=str)
def test_rows_and_meaning_of_a_rule_agree_on_small_directed_graphs(rule: Rule) -> None:
    for n in (1, 2, 3, 4):
        assert_rows_and_meaning_agree(rule, n, directed=True)


def assert_rows_and_meaning_agree(rule: Rule, n: int, *, directed: bool) -> None:
    found, connected = _every_graph(n, directed)
    truth = [rule_holds(rule, graph) for graph in found]
    assert (rule.excess(Batch.of(found)) == 0).tolist() == truth
    assert (rule.excess(Batch.of(found)) >= 0).all()
    loose, tight = (list(rule.rows(Shape(n, 2, directed=directed, connected=c))) for c in (0, 1))
    for graph, holds, joined in zip(found, truth, connected, strict=True):
        assert rows_hold(loose, graph) == holds
        assert not joined or rows_hold(tight, graph) == holds


@settings(max_examples=250, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_a_rule_holds_exactly_when_networkx_says_so(data: st.DataObject, directed: bool) -> None:
    rule = data.draw(rules(directed=directed, n_features=2))
    graph = data.draw(graphs(n_features=2, directed=directed))
    assert rule.holds(graph) == rule_holds(rule, graph)


@settings(max_examples=250, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_rows_hold_exactly_when_the_rule_does(data: st.DataObject, directed: bool) -> None:
    rule = data.draw(rules(directed=directed, n_features=2))
    graph = data.draw(graphs(n_nodes=(1, 5), n_features=2, directed=directed))
    connected = is_connected(graph, True) and data.draw(st.booleans())
    shape = Shape(graph.n_nodes, 3, 2, 0, directed, connected)
    assert rows_hold(list(rule.rows(shape)), graph) == rule.holds(graph)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_binding_does_not_change_the_meaning(data: st.DataObject, directed: bool) -> None:
    rule = data.draw(rules(directed=directed))
    graph = data.draw(graphs(n_nodes=(1, 6), directed=directed))
    bound = rule.bind({"C": 0, "N": 1, "O": 2}, Shape(6, 3, directed=directed))
    assert bound.holds(graph) == rule.holds(graph)
    assert bound.nodes() == rule.nodes()


@settings(max_examples=100, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_nodes_a_rule_does_not_name_are_interchangeable(
    data: st.DataObject, directed: bool
) -> None:
    rule = data.draw(rules(directed=directed))
    graph = data.draw(graphs(n_nodes=6, directed=directed))
    others = [v for v in range(6) if v not in rule.nodes()]
    order = list(range(6))
    for v, w in zip(others, data.draw(st.permutations(others)), strict=True):
        order[v] = w
    assert rule.holds(graph.permuted(order)) == rule.holds(graph)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_a_batch_gives_each_graph_the_excess_it_has_alone(
    data: st.DataObject, directed: bool
) -> None:
    rule = data.draw(rules(directed=directed))
    several = data.draw(st.lists(graphs(n_nodes=5, directed=directed), min_size=1, max_size=4))
    alone = [rule.excess(Batch.of([graph]))[0] for graph in several]
    assert rule.excess(Batch.of(several)).tolist() == alone


def test_rows_have_integer_coefficients_and_readable_names() -> None:
    (row,) = LinearRule({(0, 1): 0.25, (1, 2): 1.5}, maximum=0.5).rows(Shape(3))
    assert row.terms == ((Edge(0, 1), 1), (Edge(1, 2), 6))
    assert row.high == 2
    names = [row.name for row in DegreeRange(maximum=2).rows(Shape(4))]
    assert names == [f"degree[{v}]<=2" for v in range(4)]


def test_a_bound_that_always_holds_makes_no_row() -> None:
    assert not list(NumberOfEdges(maximum=10).rows(Shape(5)))
    assert not list(DegreeRange(maximum=4).rows(Shape(5)))
    assert not list(DiameterRange(1, 4).rows(Shape(5)))


def test_atoms_of_different_kinds_are_different_keys() -> None:
    assert len({Edge(0, 1), HasLabel(0, 1)}) == 2
    assert edge(3, 1, False) == Edge(1, 3)
    assert edge(3, 1, True) == Edge(3, 1)
    assert within(3, 1, 9, Shape(5)) == Within(1, 3, 4)
    assert within(3, 1, 1, Shape(5)) == Edge(1, 3)


# -- names, JSON and pickles ------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_a_rule_survives_json_and_pickling(data: st.DataObject, directed: bool) -> None:
    rule = data.draw(rules(directed=directed, n_features=2))
    bound = rule.bind({"C": 0, "N": 1, "O": 2}, Shape(6, 3, 2, directed=directed))
    assert rule_from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    again = rule_from_dict(json.loads(json.dumps(bound.to_dict())))
    assert again.bind({"C": 0, "N": 1, "O": 2}, Shape(6, 3, 2, directed=directed)) == bound
    assert pickle.loads(pickle.dumps(bound)) == bound
    assert pickle.loads(pickle.dumps(bound)).name == bound.name
    assert hash(rule) == hash(rule_from_dict(rule.to_dict()))


def test_names_show_the_parameters_that_were_set_and_labels_by_name() -> None:
    rule = DegreeRange(maximum=4, label="C")
    assert rule.name == "DegreeRange(maximum=4, label='C')"
    bound = rule.bind({"N": 0, "C": 1}, Shape(5, 2))
    assert bound.name == rule.name
    assert bound.label == 1


def test_the_list_of_rules_is_complete() -> None:
    assert set(RULES) == {type(rule).__name__ for rule in EVERYWHERE + UNDIRECTED}


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NumberOfEdges(3, 2), "minimum <= maximum"),
        (lambda: NumberOfEdges(-1), "integer >= 0"),
        (lambda: NumberOfEdges(True), "integer >= 0"),
        (lambda: NumberOfEdges(1.5), "integer >= 0"),
        (lambda: DegreeRange(maximum=2, node=-1), "integer >= 0"),
        (lambda: DegreeRange(maximum=2, direction="up"), "'in', 'out' or None"),
        (lambda: DegreeRange(maximum=2, label=True), "a name or an integer"),
        (lambda: LabelCount(None), "a name or an integer"),
        (lambda: LabelCount(""), "a name or an integer"),
        (lambda: FixedLabel(1.5, 1), "integer >= 0"),
        (lambda: FixedLabel("", 1), "integer >= 0"),
        (lambda: RequiredEdge(1, 1), "two different nodes"),
        (lambda: ForbiddenEdge(0, None), "integer >= 0"),
        (lambda: RequiredSubgraph([]), "at least one edge or label"),
        (lambda: RequiredSubgraph([(0, 1, 2)]), "a pair of nodes"),
        (lambda: RequiredSubgraph("01"), "a list of pairs"),
        (lambda: RequiredSubgraph([(0, 1)], labels=5), "map nodes to labels"),
        (lambda: RequiredSubgraph([(0, 1)], induced=1), "True or False"),
        (lambda: DiameterRange(2, 1), "minimum <= maximum"),
        (lambda: CycleRange(maximum=-1), "integer >= 0"),
        (lambda: LinearRule({(0, 1): 1}), "a minimum or a maximum"),
        (lambda: LinearRule(maximum=1), "at least one weight"),
        (lambda: LinearRule({(0, 1): float("nan")}, maximum=1), "finite number"),
        (lambda: LinearRule({(0, 1): True}, maximum=1), "finite number"),
        (lambda: LinearRule({(0, 0): 1}, maximum=1), "two different nodes"),
        (lambda: LinearRule({0: 1}, maximum=1), "map pairs to weights"),
        (lambda: LinearRule({(0, 1): 1}, minimum=2, maximum=1), "minimum <= maximum"),
        (lambda: LinearRule({(0, 1): 1 / 3}, maximum=1), "fewer decimals"),
        (lambda: TwoConnected("arc"), "kind 'node' or 'edge'"),
        (lambda: DisjointPaths(0, 0), "two different nodes"),
        (lambda: DisjointPaths(0, 1, 0), "minimum >= 1"),
        (lambda: MaximumDistance(0, 1, 0), "maximum >= 1"),
        (lambda: TotalCost(maximum=3), "costs or edge_labels"),
        (lambda: TotalCost({(0, 1): -1}, 3), "a cost >= 0"),
        (lambda: TotalCost({(0, 1): 1}, float("inf")), "finite number"),
        (lambda: TotalCost([[0, 1], [1]], 3), "a square matrix"),
        (lambda: TotalCost([((0, 1), 1), ((0, 1), 2)], 3), "one cost per pair"),
        (lambda: TotalCost(edge_labels={0: 1}, maximum=3), "edge labels from 1"),
        (lambda: TotalCost(edge_labels=[1], maximum=3), "map labels to prices"),
        (lambda: TotalCost({(0, 1): 1 / 3}, 3), "fewer decimals"),
        (lambda: TotalCost(edge_labels={1: 1}, maximum=3, otherwise=2), "some costs"),
        (lambda: EditDistance(PATH, -1), "integer >= 0"),
        (lambda: EditDistance(5, 1), "a graph or its JSON"),
        (lambda: EditDistance("{}", 1), "n_nodes and edges"),
        (lambda: EditDistance(PATH, 1, count_features=2), "True or False"),
        (lambda: rule_from_dict({"rule": "Tree"}), "CycleRange"),
        (lambda: rule_from_dict(["Acyclic"]), "names are"),
        (lambda: rule_from_dict({"rule": "Acyclic", "size": 3}), "parameters"),
    ],
)
def test_bad_parameters_are_refused_with_an_error_that_says_what_is_expected(
    make: Any, words: str
) -> None:
    with pytest.raises(InvalidSpaceError, match="expected") as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "shape", "words"),
    [
        (LabelCount("X", 1), Shape(5, 2), "'C', 'N'"),
        (LabelCount(2, 1), Shape(5, 2), "labels below 2"),
        (FixedLabel(5, 0), Shape(5, 2), "nodes 0..4"),
        (FixedLabel("0", 0), Shape(5, 2), "nodes by number"),
        (TwoConnected(), Shape(5, directed=True), "undirected graphs"),
        (TotalCost({(0, 1): 1}, 3), Shape(3), "none for (0, 2) and 1 other"),
        (TotalCost({(0, 1): 1, (1, 0): 2}, 3), Shape(2), "one cost per pair"),
        (TotalCost(edge_labels={1: 1, 2: 3}, maximum=3), Shape(5), "0 edge labels"),
        (TotalCost(edge_labels={1: 1}, maximum=3), Shape(5, n_edge_labels=2), "2 edge labels"),
        (DegreeRange(1, direction="in"), Shape(5, 2), "directed graphs"),
        (CycleRange(1), Shape(5, 2, directed=True), "undirected graphs"),
        (LinearRule(features={(0, 1): 1}, maximum=1), Shape(5, 2, 1), "features below 1"),
        (EditDistance(PATH, 1), Shape(3, 2), "at most 3 nodes"),
        (EditDistance(PATH, 1), Shape(4, 1), "labels below 1"),
        (EditDistance(PATH, 1), Shape(4, 2, 3), "0 features per node"),
        (EditDistance(PATH, 1), Shape(4, 2, n_edge_labels=2), "edges with labels 1..2"),
        (EditDistance(PATH, 1), Shape(4, 2, directed=True), "undirected graphs"),
        (EditDistance(PATH.with_names(("C", "X")), 1), Shape(4, 2), "'C', 'N'"),
    ],
    ids=str,
)
def test_binding_refuses_what_the_space_does_not_have(rule: Rule, shape: Shape, words: str) -> None:
    with pytest.raises(InvalidSpaceError, match=r"expected .* got .* try") as caught:
        rule.bind({"C": 0, "N": 1}, shape)
    assert words in str(caught.value)


def test_a_label_name_outside_of_a_space_is_refused() -> None:
    graph = Graph(np.zeros((2, 2)))
    for rule in (LabelCount("C"), DegreeRange(1, label="C"), FixedLabel(9, "C")):
        with pytest.raises(InvalidSpaceError, match="the name 'C' outside of a space"):
            rule.holds(graph)


def test_a_rule_used_on_the_wrong_kind_of_graph_is_refused() -> None:
    with pytest.raises(InvalidSpaceError, match="undirected graphs"):
        CycleRange(1).holds(Graph(np.zeros((2, 2)), directed=True))
    with pytest.raises(InvalidSpaceError, match="features below 0"):
        LinearRule(features={(0, 0): 1}, maximum=1).holds(Graph(np.zeros((2, 2))))
    with pytest.raises(InvalidSpaceError, match="undirected graphs"):
        EditDistance(PATH, 1).holds(Graph(np.zeros((4, 4)), directed=True))
    with pytest.raises(InvalidSpaceError, match="0 features per node"):
        EditDistance(PATH, 1).holds(Graph(np.zeros((4, 4)), features=np.zeros((4, 1))))


# -- costs, failures and flows ----------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_the_cost_of_a_graph_is_the_sum_over_its_edges_in_exact_decimals(
    data: st.DataObject, directed: bool
) -> None:
    graph = data.draw(graphs(n_nodes=(1, 4), n_labels=1, directed=directed, edge_labels=True))
    cost = st.sampled_from([0, 0.1, 0.2, 3, 7.25])
    pairs = list(Shape(4, directed=directed).pairs())
    given_costs = {pair: data.draw(cost) for pair in pairs}
    rule = TotalCost(given_costs, data.draw(cost), edge_labels={1: 1, 2: 0.3})
    assert rule.holds(graph) == rule_holds(rule, graph)
    shape = Shape(graph.n_nodes, 1, 0, 2, directed, connected=False)
    assert rows_hold(list(rule.rows(shape)), graph) == rule_holds(rule, graph)


def test_costs_may_be_given_as_a_matrix() -> None:
    matrix = np.array([[0, 2, 1.5], [2, 0, 4], [1.5, 4, 0]])
    bound = TotalCost(matrix, 6).bind({}, Shape(3))
    assert bound == TotalCost({(0, 1): 2, (1, 2): 4, (0, 2): 1.5}, 6).bind({}, Shape(3))
    with pytest.raises(InvalidSpaceError, match="one cost per pair"):
        TotalCost([[0, 1], [2, 0]], 3).bind({}, Shape(2))


@settings(max_examples=60, deadline=None)
@given(graph=graphs(n_nodes=(9, 12), n_labels=1, directed=False), data=st.data())
def test_larger_graphs_are_two_connected_exactly_when_networkx_says_so(
    graph: Graph, data: st.DataObject
) -> None:
    u, v = data.draw(st.permutations(range(graph.n_nodes)))[:2]
    kept = data.draw(st.sampled_from([1.0, 0.6, 0.4]))
    ring = np.eye(graph.n_nodes, k=1) + np.eye(graph.n_nodes, k=-1)
    thin = np.random.default_rng(graph.n_edges).random(ring.shape) < kept
    matrix = (graph.adjacency & thin & thin.T) | (ring > 0)
    sparse = Graph(matrix)
    for rule in (TwoConnected(), TwoConnected("edge"), DisjointPaths(u, v, 2)):
        assert rule.holds(graph) == rule_holds(rule, graph)
        assert rule.holds(sparse) == rule_holds(rule, sparse)


FLOWS: list[Rule] = [
    TwoConnected(),
    TwoConnected("edge"),
    DisjointPaths(1, 3),
    DisjointPaths(2, 0, 3),
]


@pytest.mark.parametrize("rule", FLOWS, ids=str)
def test_flows_and_cuts_agree(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows are for larger graphs; here they are used for graphs with five nodes."""
    monkeypatch.setattr("bogrape.constraints.connectivity.MOST_NODES_FOR_CUTS", 0)
    shape = Shape(5, connected=False)
    assert not rule.decides_helpers(shape)
    rows = list(rule.rows(shape))
    for graph in all_graphs(5)[::5]:  # 5 shares no factor with the bits
        assert _some_helpers_satisfy(rows, graph) == rule_holds(rule, graph)
        if rule_holds(rule, graph):
            values = {Edge(u, v): bool(graph.adjacency[u, v]) for u, v in shape.pairs()}
            values |= rule.helpers(graph)
            assert all(
                row.low <= sum(c * values[atom] for atom, c in row.terms) <= row.high
                for row in rows
            )


def _some_helpers_satisfy(rows: list[Any], graph: Graph) -> bool:
    """True if a solver finds values for the helpers; there are too many to try them all."""
    model = cp_model.CpModel()
    variables: dict[Any, Any] = {}
    for row in rows:
        for atom, _ in row.terms:
            if atom not in variables:
                variables[atom] = model.new_bool_var(str(atom))
        weighted = sum(c * variables[atom] for atom, c in row.terms)
        if row.low > -np.inf:
            model.add(weighted >= int(row.low))
        if row.high < np.inf:
            model.add(weighted <= int(row.high))
    for atom, variable in variables.items():
        if isinstance(atom, Edge):
            model.add(variable == int(graph.adjacency[atom.u, atom.v]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    return bool(solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE))


def test_a_rule_with_named_nodes_needs_a_space_that_names_them() -> None:
    graph = Graph(np.zeros((2, 2)))
    for rule in (
        RequiredEdge("a", "b"),
        ForbiddenEdge("a", "b"),
        DegreeRange(1, node="a"),
        FixedLabel("a", 0),
        RequiredSubgraph([("a", "b")]),
        LinearRule({("a", "b"): 1}, maximum=1),
        TotalCost({("a", "b"): 1}, 1),
        DisjointPaths("a", "b"),
        MaximumDistance("a", "b", 1),
    ):
        with pytest.raises(InvalidSpaceError, match=r"the name '[ab]' outside of a space"):
            rule.holds(graph)
