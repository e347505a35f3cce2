"""GraphSpace: which graphs it contains, what it refuses, what it samples."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bogrape.batch import Batch
from bogrape.constraints import (
    Acyclic,
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
    Rule,
    TotalCost,
    TwoConnected,
)
from bogrape.errors import (
    InfeasibleSpaceError,
    InvalidInputError,
    InvalidSpaceError,
    NotInSpaceError,
    SamplingError,
)
from bogrape.graph import Graph
from bogrape.space import GraphSpace

from oracles import all_graphs, are_isomorphic, is_connected, rule_holds
from strategies import graphs, rules

PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], labels=[0, 1, 0])


# -- which graphs it contains -----------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_a_graph_is_contained_exactly_when_size_connectivity_and_rules_hold(
    data: st.DataObject, directed: bool
) -> None:
    some = data.draw(st.lists(rules(directed=directed), max_size=2))
    connected = data.draw(st.sampled_from([True, False, "strong"] if directed else [True, False]))
    try:
        space = GraphSpace((2, 6), 3, 0, directed, connected, some)
    except InvalidSpaceError:
        assume(False)
    graph = data.draw(graphs(directed=directed))
    truth = (
        2 <= graph.n_nodes <= 6
        and is_connected(graph, connected)
        and all(rule_holds(rule, graph) for rule in some)
    )
    assert space.contains(graph) == truth
    assert (space.violations(graph) == []) == truth
    assert (space.excess(Batch.of([graph]))[0] == 0) == truth


def test_violations_name_everything_that_is_wrong() -> None:
    space = GraphSpace(
        (4, 5), ("C", "N"), rules=[NumberOfEdges(7), LabelCount("N", maximum=0)], connected=True
    )
    apart = Graph(np.zeros((3, 3)), labels=[1, 2, 0])
    assert space.violations(apart) == [
        "number of nodes 4..5, got 3",
        "node labels below 2",
        "connected",
        "NumberOfEdges(minimum=7)",
        "LabelCount(label='N', maximum=0)",
    ]
    with pytest.raises(NotInSpaceError, match=r"number of nodes.*; connected; .* try"):
        space.check(apart)


@pytest.mark.parametrize(
    ("space", "graph", "words"),
    [
        (GraphSpace(3, 2, directed=True), PATH, "directed=True, got False"),
        (GraphSpace(3, 2, features=1), PATH, "1 features per node, got 0"),
        (GraphSpace(3, 2, edge_labels=2), PATH, "edges with labels"),
        (
            GraphSpace(3, 2),
            Graph(PATH.adjacency, edge_labels=PATH.adjacency.astype(int)),
            "edges without labels",
        ),
        (
            GraphSpace(3, 2, edge_labels=2),
            Graph(PATH.adjacency, edge_labels=3 * PATH.adjacency.astype(int)),
            "edge labels 1..2",
        ),
        (GraphSpace(3, 1), PATH, "node labels below 1"),
    ],
)
def test_graphs_of_another_kind_are_not_in_the_space(
    space: GraphSpace, graph: Graph, words: str
) -> None:
    assert words in space.violations(graph)
    assert not space.contains(graph)


def test_an_object_that_is_not_a_graph_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidInputError, match=r"Graph\.from_networkx"):
        GraphSpace(3).contains(PATH.to_networkx())


def test_weak_and_strong_connectivity_differ() -> None:
    arcs = Graph([[0, 1, 1], [0, 0, 0], [0, 0, 0]], directed=True)
    ring = Graph([[0, 1, 0], [0, 0, 1], [1, 0, 0]], directed=True)
    weak, strong = (GraphSpace(3, directed=True, connected=c) for c in ("weak", "strong"))
    assert weak == GraphSpace(3, directed=True)
    assert weak.contains(arcs)
    assert strong.violations(arcs) == ["strongly connected"]
    assert strong.contains(ring)


# -- properties -------------------------------------------------------------------------------


def test_a_space_describes_itself() -> None:
    space = GraphSpace(
        (3, 6), ["C", "N"], 2, rules=[FixedLabel(1, "N"), RequiredEdge(4, 1)], edge_labels=3
    )
    assert (space.n_min, space.n_max, list(space.sizes)) == (3, 6, [3, 4, 5, 6])
    assert (space.n_labels, space.label_names) == (2, ("C", "N"))
    assert (space.n_features, space.n_edge_labels) == (2, 3)
    assert space.interchangeable(6) == (0, 2, 3, 5)
    assert space.shape(4).n_nodes == 4
    assert GraphSpace(5, None).n_labels == 1
    text = space.describe()
    for part in ("undirected", "3..6", "C, N", "FixedLabel(node=1, label='N')"):
        assert part in text


def test_rules_by_name_and_by_index_make_equal_spaces() -> None:
    by_name = GraphSpace(5, ("C", "N"), rules=[DegreeRange(maximum=2, label="N")])
    by_index = GraphSpace(5, ("C", "N"), rules=[DegreeRange(maximum=2, label=1)])
    assert by_name == by_index
    assert hash(by_name) == hash(by_index)
    assert by_index.rules[0].name == "DegreeRange(maximum=2, label='N')"


def test_acyclic_is_short_for_the_rule() -> None:
    assert GraphSpace(5, acyclic=True) == GraphSpace(5, rules=[Acyclic()])
    assert GraphSpace(5, acyclic=True).acyclic
    assert not GraphSpace(5, acyclic=True).with_rules([]).acyclic


@settings(max_examples=60, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_a_space_survives_json_and_pickling(data: st.DataObject, directed: bool) -> None:
    some = data.draw(st.lists(rules(directed=directed, n_features=1), max_size=2))
    labels = data.draw(st.sampled_from([3, ("C", "N", "O")]))
    try:
        space = GraphSpace((5, 6), labels, 1, directed, False, some, edge_labels=2)
    except InvalidSpaceError:
        assume(False)
    assert GraphSpace.from_json(space.to_json()) == space
    assert pickle.loads(pickle.dumps(space)) == space


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_nodes": 0}, "integer >= 1"),
        ({"n_nodes": -3}, "integer >= 1"),
        ({"n_nodes": True}, "integer >= 1"),
        ({"n_nodes": 2.5}, "integer >= 1"),
        ({"n_nodes": (4, 2)}, "(2, 4)"),
        ({"n_nodes": (1, 2, 3)}, "(smallest, largest)"),
        ({"labels": 0}, "integer >= 1"),
        ({"labels": "CNO"}, "labels"),
        ({"labels": ()}, "non-empty names"),
        ({"labels": ("C", "C")}, "different names"),
        ({"labels": ("C", 1)}, "non-empty names"),
        ({"features": -1}, "integer >= 0"),
        ({"edge_labels": 1.0}, "integer >= 0"),
        ({"directed": 1}, "True or False"),
        ({"acyclic": None}, "True or False"),
        ({"connected": "yes"}, "'weak' or 'strong'"),
        ({"connected": "strong"}, "directed=True"),
        ({"rules": "tree"}, "CycleRange"),
        ({"rules": Acyclic()}, "rules=[...]"),
        ({"rules": [Acyclic]}, "CycleRange"),
        ({"rules": ["Acyclic"]}, "CycleRange"),
        ({"rules": [RequiredEdge(0, 10)]}, "nodes 0..9"),
        ({"rules": [LabelCount("C", 1)]}, "a label of the space"),
    ],
)
def test_a_space_with_bad_arguments_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpaceError, match=r"expected .* got ") as caught:
        GraphSpace(**arguments)
    assert words in str(caught.value)


STRONG = {"directed": True, "connected": "strong"}
CONTRADICTIONS: list[tuple[dict[str, Any], list[Rule], list[str]]] = [
    ({}, [RequiredEdge(0, 1), ForbiddenEdge(1, 0)], ["RequiredEdge", "ForbiddenEdge"]),
    ({}, [RequiredSubgraph([(0, 1)]), ForbiddenEdge(0, 1)], ["RequiredSubgraph", "ForbiddenEdge"]),
    (
        {},
        [RequiredSubgraph([(0, 1), (1, 2)], induced=True), RequiredEdge(0, 2)],
        ["RequiredSubgraph", "RequiredEdge"],
    ),
    ({}, [FixedLabel(0, 1), FixedLabel(0, 2)], ["label=1", "label=2"]),
    ({}, [FixedLabel(0, 1), RequiredSubgraph([(0, 1)], {0: 0})], ["FixedLabel", "Subgraph"]),
    ({}, [NumberOfEdges(maximum=3)], ["NumberOfEdges(maximum=3)", "connected=True"]),
    ({}, [NumberOfEdges(minimum=11)], ["NumberOfEdges(minimum=11)"]),
    ({}, [NumberOfEdges(4, 5), NumberOfEdges(7)], ["maximum=5", "minimum=7"]),
    ({}, [NumberOfEdges(7), CycleRange(0, 0)], ["NumberOfEdges", "CycleRange"]),
    ({}, [CycleRange(1), Acyclic()], ["CycleRange", "Acyclic"]),
    ({}, [LabelCount(0, 3), LabelCount(1, 3)], ["label=0", "label=1"]),
    ({}, [LabelCount(i, maximum=1) for i in range(3)], ["label=0", "label=1", "label=2"]),
    ({}, [LabelCount(0, maximum=0), FixedLabel(2, 0)], ["LabelCount", "FixedLabel"]),
    ({}, [DegreeRange(5)], ["DegreeRange"]),
    ({}, [DegreeRange(maximum=1)], ["DegreeRange", "connected=True"]),
    ({}, [DegreeRange(3, 3)], ["got DegreeRange(minimum=3, maximum=3);"]),  # 15 / 2 edges
    ({}, [DegreeRange(3), NumberOfEdges(maximum=7)], ["DegreeRange", "NumberOfEdges"]),
    ({}, [DiameterRange(5)], ["DiameterRange", "connected=True"]),
    ({}, [DiameterRange(maximum=0)], ["DiameterRange"]),
    (
        {},
        [ForbiddenAdjacency(0, 1), FixedLabel(0, 0), FixedLabel(1, 1), RequiredEdge(0, 1)],
        ["ForbiddenAdjacency", "RequiredEdge"],
    ),
    ({}, [LinearRule({(0, 1): 2}, minimum=3)], ["LinearRule"]),
    (STRONG, [Acyclic()], ["Acyclic", "connected='strong'"]),
    (STRONG, [NumberOfEdges(maximum=4)], ["NumberOfEdges", "connected='strong'"]),
]


@pytest.mark.parametrize(("options", "some", "names"), CONTRADICTIONS, ids=str)
def test_obvious_contradictions_are_refused_with_the_names_of_the_rules(
    options: dict[str, Any], some: list[Rule], names: list[str]
) -> None:
    with pytest.raises(InvalidSpaceError, match=r"expected rules that can hold .* got") as caught:
        GraphSpace(5, 3, rules=some, **options)
    for name in names:
        assert name in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), directed=st.booleans())
def test_a_space_that_is_refused_contains_no_graph_and_what_is_known_is_true(
    data: st.DataObject, directed: bool
) -> None:
    n = 3
    connected = data.draw(st.sampled_from([True, False, "strong"] if directed else [True, False]))
    maker = rules(n_nodes=n, n_labels=2, directed=directed)
    some = data.draw(st.lists(maker, min_size=1, max_size=3))
    inside = [
        graph
        for graph in all_graphs(n, n_labels=2, directed=directed)
        if is_connected(graph, connected) and all(rule_holds(rule, graph) for rule in some)
    ]
    try:
        known = GraphSpace(n, 2, 0, directed, connected, some).known(n)
    except InvalidSpaceError:
        assert not inside
        return
    low, high = known.n_edges
    for graph in inside:
        assert low <= graph.n_edges <= high
        for atom, value in known.value.items():
            if type(atom).__name__ == "Edge":
                assert graph.adjacency[atom.u, atom.v] == value
            if type(atom).__name__ == "HasLabel":
                assert (graph.labels[atom.v] == atom.label) == value


@pytest.mark.parametrize("text", ["", "[]", "{", '{"nodes": 3}', '{"rules": 3}', '{"n_nodes": 0}'])
def test_json_that_is_not_a_space_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpaceError, match="expected"):
        GraphSpace.from_json(text)


# -- sampling ---------------------------------------------------------------------------------

ONE_RULE: list[Rule] = [
    NumberOfEdges(12, 14),
    NumberOfEdges(40),
    DegreeRange(1, 4),
    DegreeRange(3, 3),
    DegreeRange(2, 2),
    DegreeRange(maximum=1, label=1),
    DegreeRange(6, node=2),
    LabelCount(1, 3, 3),
    FixedLabel(3, 2),
    RequiredEdge(0, 9),
    ForbiddenEdge(0, 1),
    ForbiddenAdjacency(0, 1),
    ForbiddenAdjacency(2, 2),
    RequiredSubgraph([(0, 1), (1, 2), (2, 3)], {0: 1}, induced=True),
    DiameterRange(5),
    DiameterRange(maximum=2),
    DiameterRange(7, 7),
    CycleRange(2, 3),
    CycleRange(maximum=0),
    Acyclic(),
    LinearRule({(0, 1): 1, (1, 2): 2}, {(0, 1): 3}, {(4, 1): 1.5}, minimum=4, maximum=5),
    TotalCost({(u, v): abs(u - v) for u in range(10) for v in range(u)}, 16),
    TwoConnected(),
    TwoConnected("edge"),
    DisjointPaths(0, 4, 4),
    MaximumDistance(2, 7, 1),
]
KINDS: dict[str, dict[str, Any]] = {
    "undirected": {},
    "unconnected": {"connected": False},
    "forest": {"connected": False, "acyclic": True},
    "directed": {"directed": True},
    "strong": {"directed": True, "connected": "strong"},
    "dag": {"directed": True, "acyclic": True},
    "any digraph": {"directed": True, "connected": False},
    "bonds": {"edge_labels": 3},
    "one node": {"n_nodes": 1},
    "two nodes, strong": {"n_nodes": 2, "directed": True, "connected": "strong"},
    "variable size": {"n_nodes": (1, 8)},
}


@pytest.mark.parametrize("rule", ONE_RULE, ids=str)
def test_samples_respect_every_rule(rule: Rule) -> None:
    space = GraphSpace(10, 3, 2, rules=[rule])
    found = space.sample(40, seed=3)
    assert len(found) == 40
    assert all(rule_holds(rule, graph) and is_connected(graph, True) for graph in found)
    assert len(set(found)) > 30


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_samples_of_every_kind_of_space_are_in_it_and_determined_by_the_seed(kind: str) -> None:
    space = GraphSpace(**{"n_nodes": 7, "labels": 3, "features": 1, **KINDS[kind]})
    found = space.sample(60, seed=5)
    assert len(found) == 60
    assert all(space.contains(graph) for graph in found)
    assert all(is_connected(graph, space.connected) for graph in found)
    assert found == space.sample(60, seed=5)
    assert found != space.sample(60, seed=6)


@pytest.mark.parametrize(
    "space",
    [
        GraphSpace(
            15,
            ("C", "N", "O", "F"),
            rules=[
                *(DegreeRange(maximum=4 - i, label=x) for i, x in enumerate("CNOF")),
                LabelCount("C", minimum=5),
                LabelCount("F", minimum=2),
                CycleRange(maximum=3),
                ForbiddenAdjacency("O", "O"),
                RequiredSubgraph([(0, 1), (1, 2)], {0: "F", 1: "C"}),
            ],
        ),
        GraphSpace(
            10,
            3,
            directed=True,
            rules=[DegreeRange(maximum=2, direction="in"), DiameterRange(2, 5)],
        ),
        GraphSpace(10, 2, directed=True, connected="strong", rules=[NumberOfEdges(10, 12)]),
        GraphSpace(9, directed=True, acyclic=True, rules=[RequiredEdge(8, 0), RequiredEdge(0, 4)]),
        GraphSpace((2, 9), 2, rules=[RequiredEdge(0, 6), NumberOfEdges(maximum=8)]),
        GraphSpace(8, rules=[DegreeRange(maximum=3), DiameterRange(maximum=3), CycleRange(2)]),
    ],
    ids=lambda space: space.describe().splitlines()[0],
)
def test_samples_respect_several_rules_together(space: GraphSpace) -> None:
    found = space.sample(50, seed=1)
    assert len(found) == 50
    assert all(space.contains(graph) for graph in found)


@pytest.mark.parametrize("directed", [False, True])
def test_samples_range_from_trees_to_complete_graphs(directed: bool) -> None:
    most = 90 if directed else 45
    edges = [g.n_edges for g in GraphSpace(10, 5, directed=directed).sample(1000)]
    assert min(edges) == 9
    assert max(edges) == most
    assert np.std(edges) > most / 6
    assert all(np.histogram(edges, bins=5, range=(9, most))[0] > 100)


def test_samples_use_every_size_and_label() -> None:
    found = GraphSpace((3, 6), 4).sample(400)
    assert {graph.n_nodes for graph in found} == {3, 4, 5, 6}
    assert {int(label) for graph in found for label in graph.labels} == {0, 1, 2, 3}
    assert all(graph.n_nodes == 5 for graph in GraphSpace((3, 6)).sample(9, n_nodes=5))


@pytest.mark.parametrize(
    ("space", "classes"),
    [
        (GraphSpace(5), 21),
        (GraphSpace((1, 4)), 1 + 1 + 2 + 6),
        (GraphSpace(3, directed=True), 13),
        (GraphSpace(3, directed=True, connected="strong"), 5),
        (GraphSpace(4, directed=True, connected=False, acyclic=True), 31),
        (GraphSpace(6, acyclic=True), 6),
        (GraphSpace(4, connected=False), 11),
    ],
)
def test_distinct_samples_reach_every_class_of_a_small_space_and_no_more(
    space: GraphSpace, classes: int
) -> None:
    found = space.sample(classes, distinct=True)
    assert len({graph.canonical_key() for graph in found}) == classes
    with pytest.raises(SamplingError, match=rf"found {classes} .* try"):
        space.sample(classes + 1, distinct=True)


def test_distinct_samples_are_not_isomorphic_and_avoid_excluded_graphs() -> None:
    space = GraphSpace(4, 2)
    found = space.sample(20, distinct=True)
    assert not any(are_isomorphic(a, b) for i, a in enumerate(found) for b in found[:i])
    away = [graph.canonical_key() for graph in found]
    others = space.sample(20, exclude=away)
    assert not {graph.canonical_key() for graph in others} & set(away)


def test_sampling_gives_up_in_bounded_time_and_says_what_to_try() -> None:
    cubic = GraphSpace(6, rules=[DegreeRange(3, 3), DiameterRange(3)])  # both such graphs have 2
    with pytest.raises(SamplingError, match=r"found 0 .* try looser rules"):
        cubic.sample(1, n_nodes=6)
    with pytest.raises(InfeasibleSpaceError, match=r"DegreeRange.* and DiameterRange"):
        cubic.sample(1)


@pytest.mark.parametrize(
    "arguments",
    [{"k": -1}, {"k": 1.5}, {"k": True}, {"k": 1, "seed": -1}, {"k": 1, "n_nodes": 11}],
)
def test_sampling_refuses_bad_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"expected .* got"):
        GraphSpace(10).sample(**arguments)


def test_a_sample_may_be_empty() -> None:
    assert GraphSpace(3).sample(0) == []
