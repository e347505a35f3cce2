"""Spaces whose nodes have names: sites that are not interchangeable."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bogrape import LCB, GraphGP, GraphSpace, Study, propose
from bogrape.cli.config import read_study_file
from bogrape.constraints import (
    DegreeRange,
    DisjointPaths,
    FixedLabel,
    ForbiddenEdge,
    LinearRule,
    MaximumDistance,
    NamedNode,
    RequiredEdge,
    RequiredSubgraph,
    TotalCost,
    TwoConnected,
)
from bogrape.errors import (
    InvalidGraphError,
    InvalidSpaceError,
    SamplingError,
    SearchSpaceExhausted,
)
from bogrape.graph import Graph
from bogrape.propose.local.moves import RELABEL, SWAP, MoveTable
from exhaustive import true_values

from oracles import is_connected, rule_holds

SITES = {"core-1": "router", "core-2": "router", "acc-1": "switch", "acc-2": "switch"}
NAMES = list(SITES)
PAIRS = list(itertools.combinations(NAMES, 2))
COSTS = {pair: 1.5 + i for i, pair in enumerate(PAIRS)}


def every_graph(space: GraphSpace) -> list[Graph]:
    """All graphs of a small named space: every adjacency matrix, checked with networkx."""
    assert space.nodes is not None
    n, out = len(space.nodes), []
    cells = list(itertools.combinations(range(n), 2))
    fixed = [tuple(space.label_names.index(k) for k in space.fixed_labels)]
    alphabets = fixed if space.fixed_labels else itertools.product(range(space.n_labels), repeat=n)
    kinds = range(max(1, space.n_edge_labels) + 1)
    for labels in alphabets:
        for bonds in itertools.product(kinds, repeat=len(cells)):
            matrix = np.zeros((n, n), dtype=int)
            for (u, v), bond in zip(cells, bonds, strict=True):
                matrix[u, v] = matrix[v, u] = bond
            bonded = matrix if space.n_edge_labels else None
            graph = Graph(matrix > 0, labels, edge_labels=bonded)
            rules = [rule for rule in space.rules if type(rule).__name__ != "NamedNodes"]
            if is_connected(graph, space.connected) and all(rule_holds(r, graph) for r in rules):
                out.append(graph)
    return out


@st.composite
def named_rules(draw: st.DrawFn) -> Any:
    """A rule that names some of the nodes."""
    u, v = draw(st.permutations(NAMES))[:2]
    pairs = st.sampled_from(PAIRS)
    return draw(
        st.sampled_from(
            [
                RequiredEdge(u, v),
                ForbiddenEdge(u, v),
                DegreeRange(maximum=draw(st.integers(1, 2)), node=u),
                RequiredSubgraph([(u, v)], induced=True),
                LinearRule(edges=COSTS, maximum=draw(st.sampled_from([9.0, 12.5]))),
                TotalCost(COSTS, draw(st.sampled_from([9, 12.5, 20]))),
                TotalCost({draw(pairs): 2}, 3, otherwise=1),
                TwoConnected(draw(st.sampled_from(["node", "edge"]))),
                DisjointPaths(u, v, draw(st.integers(1, 3))),
                MaximumDistance(u, v, draw(st.integers(1, 3))),
            ]
        )
    )


# -- which graphs it contains -----------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    rules=st.lists(named_rules(), max_size=2),
    labels=st.sampled_from([SITES, None, 2]),
    connected=st.booleans(),
)
def test_enumeration_lists_every_graph_node_by_node(
    rules: list[Any], labels: Any, connected: bool
) -> None:
    try:
        space = GraphSpace(nodes=NAMES, labels=labels, rules=rules, connected=connected)
    except InvalidSpaceError:
        assume(False)
    found, truth = space.enumerate(), every_graph(space)
    assert len(found) == space.count() == len(truth)
    assert set(found) == set(truth)
    assert all(space.contains(graph) for graph in truth)


def test_all_38_connected_graphs_on_four_named_nodes_are_different_graphs() -> None:
    assert GraphSpace(nodes=NAMES).count() == 38  # A001187
    assert GraphSpace(4).count() == 6
    assert GraphSpace(nodes=NAMES, edge_labels=2).count() == len(
        every_graph(GraphSpace(nodes=NAMES, edge_labels=2))
    )


def test_distinct_samples_reach_every_named_graph_and_the_error_says_how_many() -> None:
    space = GraphSpace(nodes=NAMES, labels=SITES, rules=[RequiredEdge("core-1", "acc-2")])
    n_graphs = len(every_graph(space))
    found = space.sample(n_graphs, distinct=True)
    assert len(set(found)) == n_graphs
    assert set(found) == set(every_graph(space))
    with pytest.raises(SamplingError, match=f"found {n_graphs} "):
        space.sample(n_graphs + 1, distinct=True)
    away = {space.identity(graph) for graph in found[:5]}
    assert not away & {space.identity(graph) for graph in space.sample(30, exclude=away)}


def test_a_required_cable_is_in_every_graph_and_a_forbidden_one_in_none() -> None:
    space = GraphSpace(
        nodes=NAMES,
        labels=SITES,
        rules=[RequiredEdge("acc-1", "acc-2"), ForbiddenEdge("core-1", "core-2")],
    )
    for graph in (*space.sample(20), *space.enumerate()):
        g = space.to_networkx(graph)
        assert g.has_edge("acc-1", "acc-2")
        assert not g.has_edge("core-1", "core-2")
        assert [g.nodes[name]["label"] for name in NAMES] == list(SITES.values())


def test_violations_refer_to_nodes_and_labels_by_name() -> None:
    rules = [RequiredEdge("acc-2", "core-1"), DegreeRange(maximum=1, node="acc-1")]
    space = GraphSpace(nodes=NAMES, labels=SITES, rules=rules)
    star = Graph(nx.to_numpy_array(nx.star_graph([2, 0, 1, 3]), nodelist=range(4)), [0, 0, 1, 0])
    assert space.violations(star) == [
        "labels of the nodes core-1, core-2, acc-1, ...",
        "RequiredEdge(u='core-1', v='acc-2')",
        "DegreeRange(maximum=1, node='acc-1')",
    ]
    assert not space.contains(Graph(np.ones((3, 3)) - np.eye(3)))


# -- proposals --------------------------------------------------------------------------------

ACQUISITION = LCB()
ENGINEERED = GraphSpace(
    nodes=[*NAMES, "acc-3"],
    labels={**SITES, "acc-3": "switch"},
    rules=[
        RequiredEdge("core-1", "acc-3"),
        ForbiddenEdge("core-2", "acc-3"),
        DegreeRange(maximum=3, node="core-1"),
        TwoConnected(),
    ],
)


def _gp(space: GraphSpace, kernel: str = "sp") -> GraphGP:
    graphs = space.sample(6, seed=3, distinct=True)
    values = np.random.default_rng(2).normal(size=len(graphs))
    return GraphGP(kernel, n_labels=space.n_labels).fit(graphs, values)


@pytest.mark.parametrize("method", ["exact", "mip", "search", "evolve", "sample"])
def test_every_method_proposes_a_graph_of_the_space_that_is_not_excluded(method: str) -> None:
    gp, candidates = _gp(ENGINEERED), every_graph(ENGINEERED)
    order = np.argsort(true_values(gp, ACQUISITION, candidates), kind="stable")
    ranked = [candidates[i] for i in order]
    taken, optimum = ranked[:3], true_values(gp, ACQUISITION, ranked)[3]
    found = propose(ENGINEERED, gp, method=method, exclude=taken, time_limit=20)
    assert ENGINEERED.contains(found.graph)
    assert found.graph in candidates
    assert found.graph not in taken
    assert found.value >= optimum - 1e-6
    if method != "sample":
        assert found.value == pytest.approx(optimum, abs=1e-6)
    if method in ("exact", "mip"):
        assert found.status == "optimal"


@pytest.mark.parametrize(
    "rule",
    [
        TwoConnected(),
        TwoConnected("edge"),
        DisjointPaths("core-1", "acc-2", 2),
        MaximumDistance("core-2", "acc-1", 2),
        TotalCost(COSTS, 14),
        LinearRule(edges=COSTS, maximum=14),
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", ["ssp", "esp"])
def test_exact_proposals_under_each_rule_are_the_exhaustive_optimum(rule: Any, kernel: str) -> None:
    space = GraphSpace(nodes=NAMES, labels=SITES, rules=[rule])
    gp, candidates = _gp(space, kernel), every_graph(space)
    found = propose(space, gp, method="exact", time_limit=30)
    assert found.status == "optimal"
    assert found.value == pytest.approx(true_values(gp, ACQUISITION, candidates).min(), abs=1e-6)
    assert found.graph in candidates


def test_an_isomorphic_graph_is_not_the_excluded_one() -> None:
    space = GraphSpace(nodes=["a", "b", "c"])
    first, second = (
        Graph(nx.to_numpy_array(nx.path_graph(p), nodelist=range(3)))
        for p in ([0, 1, 2], [1, 0, 2])
    )
    assert first.canonical_key() == second.canonical_key()
    assert space.identity(first) != space.identity(second)
    everything = every_graph(space)
    rest = [graph for graph in everything if graph != second]
    gp = GraphGP("ssp").fit(everything, [1.0, 2.0, 3.0, 4.0])
    for method in ("exact", "mip", "search"):
        assert propose(space, gp, method=method, exclude=rest, time_limit=10).graph == second
        with pytest.raises(SearchSpaceExhausted):
            propose(space, gp, method=method, exclude=everything, time_limit=10)


def test_the_program_of_the_paper_does_not_lose_the_renamed_copies_of_an_excluded_graph() -> None:
    """Runs without a start from local search, which would hide the error."""
    space = GraphSpace(nodes=["a", "b", "c"])
    everything = every_graph(space)
    gp = GraphGP("ssp").fit(everything, [1.0, 2.0, 3.0, 4.0])
    options = {"warm_start": 0}
    for graph in everything:
        rest = [other for other in everything if other != graph]
        found = propose(space, gp, method="mip", exclude=rest, time_limit=20, options=options)
        assert found.graph == graph
        assert found.status == "optimal"


def test_moves_leave_fixed_labels_alone() -> None:
    kinds = set(MoveTable.of(ENGINEERED, 5).rows[:, 0].tolist())
    assert not kinds & {RELABEL, SWAP}
    free = GraphSpace(nodes=NAMES, labels=("router", "switch"))
    assert {RELABEL, SWAP} <= set(MoveTable.of(free, 4).rows[:, 0].tolist())


def test_a_stored_study_repeats_no_graph_but_may_try_isomorphic_ones(tmp_path: Path) -> None:
    space = GraphSpace(nodes=["a", "b", "c"], edge_labels=2)
    url, n_graphs = f"sqlite:///{tmp_path}/named.db", space.count()
    Study(space, url, "named", n_initial=4, time_limit=0.5, method="search")
    for _ in range(2):
        study = Study.load(url, "named")
        for _ in range(n_graphs // 2):
            trial = study.ask()
            assert space.contains(trial.graph)
            study.tell(trial, float(trial.graph.n_edges))
    assert study.space == space
    assert len({trial.graph for trial in study.trials}) == n_graphs == 20
    with pytest.raises(SearchSpaceExhausted):
        study.ask()


# -- storing and converting -------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    rules=st.lists(named_rules(), max_size=3),
    labels=st.sampled_from([SITES, None, 2, ("router", "switch")]),
)
def test_a_named_space_survives_json_pickling_and_copies(rules: list[Any], labels: Any) -> None:
    try:
        space = GraphSpace(nodes=NAMES, labels=labels, rules=rules)
    except InvalidSpaceError:
        assume(False)
    assert GraphSpace.from_json(space.to_json()) == space
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(GraphSpace.from_json(space.to_json())) == hash(space)
    looser = space.with_rules([])
    assert looser == GraphSpace(nodes=NAMES, labels=labels)
    assert looser.with_rules(rules) == space


def test_a_named_space_describes_its_nodes() -> None:
    space = GraphSpace(nodes=NAMES, labels=SITES, rules=[RequiredEdge(1, 0)], edge_labels=2)
    text = space.describe()
    assert "nodes: core-1 (router), core-2 (router), acc-1 (switch), acc-2 (switch)" in text
    assert "rule: RequiredEdge(u='core-1', v='core-2')" in text
    assert "only the kernel rbf sees them" in text
    assert space.n_nodes == 4
    assert space.label_names == ("router", "switch")


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_networkx_graphs_with_names_in_any_order_are_read_back(data: st.DataObject) -> None:
    space = GraphSpace(nodes=NAMES, labels=data.draw(st.sampled_from([SITES, 2])), edge_labels=2)
    graph = space.sample(1, seed=data.draw(st.integers(0, 99)))[0]
    g = space.to_networkx(graph)
    shuffled = nx.Graph()
    shuffled.add_nodes_from((v, g.nodes[v]) for v in data.draw(st.permutations(NAMES)))
    shuffled.add_edges_from(data.draw(st.permutations(list(g.edges(data=True)))))
    assert space.from_networkx(shuffled) == graph


def test_networkx_graphs_on_other_nodes_are_refused_by_name() -> None:
    space = GraphSpace(nodes=NAMES, labels=SITES)
    g = nx.path_graph(NAMES)
    assert space.from_networkx(g).labels.tolist() == [0, 0, 1, 1]  # fixed: need not be given
    g.add_edge("acc-2", "printer")
    g.remove_node("core-1")
    with pytest.raises(InvalidGraphError, match="without 'core-1' and with unknown 'printer'"):
        space.from_networkx(g)
    wrong = nx.path_graph(NAMES)
    wrong.nodes["acc-1"]["label"] = "hub"
    with pytest.raises(InvalidGraphError, match=r"'acc-1' .* labels router, switch, got 'hub'"):
        space.from_networkx(wrong)
    weighted = nx.path_graph(NAMES)
    nx.set_edge_attributes(weighted, 2, "weight")
    with pytest.raises(InvalidGraphError, match="'weight' would be lost"):
        space.from_networkx(weighted)


def test_names_of_labels_are_used_in_spaces_without_names_of_nodes_too() -> None:
    space = GraphSpace(2, labels=("C", "O"))
    graph = Graph([[0, 1], [1, 0]], [0, 1])
    g = space.to_networkx(graph)
    assert dict(g.nodes(data="label")) == {0: "C", 1: "O"}
    assert space.from_networkx(g) == graph


TOML = """
[space]
nodes = ["core-1", "core-2", "acc-1", "acc-2"]
labels = {core-1 = "router", core-2 = "router", acc-1 = "switch", acc-2 = "switch"}
edge_labels = 2

[[space.rules]]
rule = "RequiredEdge"
u = "core-1"
v = "acc-2"

[[space.rules]]
rule = "TotalCost"
costs = [[["core-1", "core-2"], 12.5], [["core-1", "acc-1"], 3]]
otherwise = 5
maximum = 40
edge_labels = {1 = 1, 2 = 2.5}

[[space.rules]]
rule = "TwoConnected"
"""


def test_a_study_file_can_name_nodes(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TOML)
    costs = {("core-1", "core-2"): 12.5, ("core-1", "acc-1"): 3}
    assert read_study_file(path).settings.space == GraphSpace(
        nodes=NAMES,
        labels=SITES,
        edge_labels=2,
        rules=[
            RequiredEdge("core-1", "acc-2"),
            TotalCost(costs, 40, otherwise=5, edge_labels={1: 1, 2: 2.5}),
            TwoConnected(),
        ],
    )


# -- what it refuses --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nodes": []}, "a list of non-empty names"),
        ({"nodes": "abc"}, "a list of non-empty names"),
        ({"nodes": ["a", ""]}, "a list of non-empty names"),
        ({"nodes": ["a", 2]}, "a list of non-empty names"),
        ({"nodes": ["a", "b", "a"]}, "different names for the nodes, got 'a' twice"),
        ({"nodes": ["a", "b"], "n_nodes": 3}, "the number of nodes 2, got 3"),
        ({"nodes": ["a", "b"], "n_nodes": (1, 2)}, r"the number of nodes 2, got \(1, 2\)"),
        ({"nodes": ["a", "b"], "labels": {"a": "x"}}, "none for 'b'"),
        ({"nodes": ["a"], "labels": {"a": "x", "c": "y"}}, "one for 'c'"),
        ({"nodes": ["a", "b"], "labels": {"a": "x", "b": 3}}, "a non-empty name, got 3"),
        ({"labels": {"a": "x"}}, "only together with nodes="),
        ({"nodes": ["core-1", "b"], "rules": [RequiredEdge("core1", "b")]}, "try 'core-1'"),
        ({"nodes": ["a", "b"], "rules": [RequiredEdge("z", "b")]}, "'z'; try 'a', 'b'"),
        ({"n_nodes": 3, "rules": [RequiredEdge("a", "b")]}, r"try GraphSpace\(nodes="),
        ({"nodes": ["a", "b"], "rules": [RequiredEdge("a", 0)]}, "two different nodes"),
        ({"nodes": ["a", "b"], "rules": [DegreeRange(1, node=2)]}, r"nodes 0\.\.1"),
        (
            {"nodes": NAMES, "rules": [TotalCost({("core-1", "acc-1"): 1}, 3)]},
            r"none for \('core-1', 'core-2'\) and 4 others",
        ),
        (  # node "a" by its name and by its number: neither may be dropped silently
            {
                "nodes": ["a", "b"],
                "labels": ("x", "y"),
                "rules": [RequiredSubgraph([("a", "b")], {"a": "x", 0: "y"})],
            },
            "one label per node, got two for 'a'",
        ),
        (
            {"nodes": NAMES, "labels": SITES, "rules": [FixedLabel("acc-1", "router")]},
            "labels of the nodes .*; try dropping",
        ),
    ],
    ids=str,
)
def test_an_invalid_named_space_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpaceError, match=words):
        GraphSpace(**arguments)


def test_the_size_of_a_named_space_may_be_repeated() -> None:
    assert GraphSpace(2, nodes=["a", "b"]) == GraphSpace(nodes=["a", "b"])
    assert GraphSpace().n_nodes == 10


def test_nodes_given_by_number_are_shown_by_name() -> None:
    (_, rule) = GraphSpace(nodes=NAMES, rules=[RequiredEdge(2, "core-1")]).rules
    assert rule == RequiredEdge(0, 2)
    assert isinstance(rule.u, NamedNode)
    assert rule.name == "RequiredEdge(u='core-1', v='acc-1')"
