"""`Graph`: what it accepts, what it refuses, and when two are equal or isomorphic."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape.errors import InvalidGraphError
from bogrape.graph import Graph

import oracles
from strategies import any_graphs, graphs, relabelled

EDGE = [[0, 1], [1, 0]]
PATH = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
MOLECULE = Graph(
    PATH, [0, 1, 2], [[0, 1], [1, 1], [0, 0]], edge_labels=[[0, 2, 0], [2, 0, 1], [0, 1, 0]]
)


def is_inf_or_equal(graph: Graph) -> bool:
    found, expected = graph.distances(), oracles.distances(graph)
    nodes = range(graph.n_nodes)
    return all(
        found[u, v] == expected.get((u, v), np.inf) for u, v in itertools.product(nodes, nodes)
    )


# -- contents ---------------------------------------------------------------------------------


def test_a_graph_returns_the_parts_it_was_built_from() -> None:
    assert (MOLECULE.n_nodes, MOLECULE.n_edges, MOLECULE.n_features) == (3, 2, 2)
    assert MOLECULE.adjacency.tolist() == np.array(PATH, dtype=bool).tolist()
    assert MOLECULE.labels.tolist() == [0, 1, 2]
    assert MOLECULE.features.tolist() == [[False, True], [True, True], [False, False]]
    assert MOLECULE.edge_labels is not None
    assert MOLECULE.edge_labels[0].tolist() == [0, 2, 0]
    assert MOLECULE.edges() == [(0, 1), (1, 2)]
    assert not MOLECULE.directed


def test_labels_default_to_zero_and_features_to_none() -> None:
    graph = Graph(EDGE)
    assert graph.labels.tolist() == [0, 0]
    assert graph.features.shape == (2, 0)
    assert graph.edge_labels is None


def test_arcs_of_a_directed_graph_are_counted_one_by_one() -> None:
    both, one = Graph(EDGE, directed=True), Graph([[0, 1], [0, 0]], directed=True)
    assert (both.n_edges, one.n_edges) == (2, 1)
    assert both.edges() == [(0, 1), (1, 0)]
    assert Graph(EDGE).n_edges == 1


@given(any_graphs())
def test_distances_equal_those_of_networkx(graph: Graph) -> None:
    assert is_inf_or_equal(graph)


def test_distances_are_right_for_more_nodes_than_a_machine_word_has_bits() -> None:
    path = np.eye(70, k=1, dtype=int)
    assert Graph(path, directed=True).distances()[0, 69] == 69
    assert Graph(path, directed=True).distances()[69, 0] == np.inf
    assert Graph(path + path.T).distances()[69, 0] == 69


def test_the_distance_between_nodes_without_a_path_is_infinite() -> None:
    assert np.isinf(Graph([[0, 0], [0, 0]]).distances()[0, 1])


@given(any_graphs((1, 4)))
def test_repr_names_the_size_and_the_edges(graph: Graph) -> None:
    assert repr(graph).startswith(f"Graph(n_nodes={graph.n_nodes}, edges={graph.edges()}")


# -- frozen and hashable ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["adjacency", "labels", "features", "directed", "edge_labels", "n_nodes", "_adjacency", "new"],
)
def test_no_attribute_of_a_graph_can_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Graph(EDGE), name, 0)


def test_no_array_of_a_graph_can_be_written_to() -> None:
    for array in (MOLECULE.adjacency, MOLECULE.labels, MOLECULE.features, MOLECULE.edge_labels):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_graph_does_not_share_memory_with_its_input() -> None:
    adjacency, labels = np.array(EDGE, dtype=bool), np.array([0, 1])
    graph = Graph(adjacency, labels)
    adjacency[:], labels[:] = False, 7
    assert graph.n_edges == 1
    assert graph.labels.tolist() == [0, 1]


@given(any_graphs((1, 4)), any_graphs((1, 4)))
def test_equal_graphs_have_equal_hashes_and_unequal_ones_differ_somewhere(
    a: Graph, b: Graph
) -> None:
    assert (a == b) == (a.to_json() == b.to_json())
    if a == b:
        assert hash(a) == hash(b)


def test_graphs_serve_as_dictionary_keys() -> None:
    seen = {Graph(EDGE): "edge", Graph(PATH): "path"}
    assert seen[Graph(np.array(EDGE, dtype=float))] == "edge"
    assert Graph(EDGE, directed=True) not in seen
    assert Graph(EDGE) != "edge"


@given(any_graphs((1, 4)))
def test_copies_and_pickles_are_equal_and_just_as_frozen(graph: Graph) -> None:
    for twin in (copy.copy(graph), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert twin == graph
        assert twin.canonical_key() == graph.canonical_key()
        with pytest.raises(ValueError, match="read-only"):
            twin.labels[0] = 5
        with pytest.raises(AttributeError):
            twin._labels = 5


def test_names_of_labels_are_kept_but_do_not_distinguish_graphs() -> None:
    plain = Graph([[0, 1], [1, 0]], labels=[0, 2])
    named = Graph([[0, 1], [1, 0]], labels=[0, 2], label_names=["C", "N", "O"])
    assert plain == named
    assert hash(plain) == hash(named)
    assert plain.canonical_key() == named.canonical_key()
    assert plain.to_json() == named.to_json()
    assert plain.label_names is None
    for same in (named, named.permuted([1, 0]), named.canonical(), copy.copy(named)):
        assert same.label_names == ("C", "N", "O")


@pytest.mark.parametrize("names", ["CNO", ["C", "N"], ["C", "N", 3], 3])
def test_names_of_labels_are_checked(names: object) -> None:
    with pytest.raises(InvalidGraphError, match=r"each of the labels 0\.\.2"):
        Graph([[0, 1], [1, 0]], labels=[0, 2], label_names=names)  # type: ignore[arg-type]


# -- the canonical key ------------------------------------------------------------------------


def test_the_key_finds_every_class_of_connected_graphs_up_to_seven_nodes() -> None:
    atlas = [g for g in nx.graph_atlas_g() if len(g) and nx.is_connected(g)]
    by_size: dict[int, list[str]] = {n: [] for n in range(1, 8)}
    for g in atlas:
        by_size[len(g)].append(Graph(nx.to_numpy_array(g)).canonical_key())
    assert [len(keys) for keys in by_size.values()] == [1, 1, 2, 6, 21, 112, 853]
    assert [len(set(keys)) for keys in by_size.values()] == [1, 1, 2, 6, 21, 112, 853]


@pytest.mark.parametrize(
    ("n", "directed", "classes"),
    # unlabelled graphs and digraphs, connected or not: OEIS A000088 and A000273
    [(3, False, 4), (4, False, 11), (5, False, 34), (2, True, 3), (3, True, 16), (4, True, 218)],
)
def test_the_key_finds_every_class_among_all_matrices(n: int, directed: bool, classes: int) -> None:
    cells = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    keys = set()
    for bits in itertools.product((0, 1), repeat=len(cells)):
        matrix = np.zeros((n, n), dtype=int)
        for (u, v), bit in zip(cells, bits, strict=True):
            matrix[u, v] = bit
            if not directed:
                matrix[v, u] = bit
        keys.add(Graph(matrix, directed=directed).canonical_key())
    assert len(keys) == classes


@given(st.data(), any_graphs())
def test_the_key_ignores_the_numbering_of_nodes(data: st.DataObject, graph: Graph) -> None:
    twin = data.draw(relabelled(graph))
    assert twin.canonical_key() == graph.canonical_key()
    assert twin.canonical() == graph.canonical()
    assert oracles.are_isomorphic(graph, graph.canonical())


@settings(max_examples=300)
@given(st.data())
def test_keys_agree_exactly_when_networkx_finds_an_isomorphism(data: st.DataObject) -> None:
    kind = data.draw(st.tuples(st.booleans(), st.integers(0, 1), st.booleans()))
    small = graphs(
        n_nodes=(2, 3), n_labels=2, directed=kind[0], n_features=kind[1], edge_labels=kind[2]
    )
    a, b = data.draw(small), data.draw(small)
    assert (a.canonical_key() == b.canonical_key()) == oracles.are_isomorphic(a, b)


@settings(max_examples=300)
@given(st.data(), any_graphs((2, 6)))
def test_one_change_alters_the_key_unless_the_graph_stays_isomorphic(
    data: st.DataObject, graph: Graph
) -> None:
    u, v = data.draw(st.permutations(range(graph.n_nodes)))[:2]
    labels, features = graph.labels.copy(), graph.features.copy()
    matrix = (graph.adjacency if graph.edge_labels is None else graph.edge_labels).astype(int)
    changed = data.draw(st.sampled_from(["edge", "label", "feature", "direction"]))
    if changed == "edge":
        matrix[u, v] = (matrix[u, v] + 1) % (2 if graph.edge_labels is None else 3)
        matrix[v, u] = matrix[v, u] if graph.directed else matrix[u, v]
    elif changed == "label":
        labels[u], labels[v] = labels[v], labels[u]
    elif changed == "feature" and graph.n_features:
        features[u, 0] = ~features[u, 0]
    elif changed == "direction" and graph.directed:
        matrix[[u, v], [v, u]] = matrix[[v, u], [u, v]]
    other = Graph(
        matrix > 0,
        labels,
        features,
        graph.directed,
        edge_labels=None if graph.edge_labels is None else matrix,
    )
    same = graph.canonical_key() == other.canonical_key()
    assert same == oracles.are_isomorphic(graph, other)


def test_the_key_distinguishes_kinds_of_graphs() -> None:
    bond = [[0, 1], [1, 0]]
    kinds = [
        Graph(EDGE),
        Graph(EDGE, directed=True),
        Graph(EDGE, features=[[0], [0]]),
        Graph(EDGE, edge_labels=bond),
        Graph(EDGE, directed=True, edge_labels=bond),
        Graph(EDGE, [1, 1]),
    ]
    assert len({graph.canonical_key() for graph in kinds}) == len(kinds)


def test_large_labels_and_bonds_do_not_confuse_the_key() -> None:
    big = 2**31 - 1
    bonds = np.array([[0, big, 0, 1], [big, 0, big - 1, 0], [0, big - 1, 0, 1], [1, 0, 1, 0]])
    graph = Graph(bonds > 0, [big, 0, 1, big], edge_labels=bonds)
    for order in itertools.permutations(range(4)):
        assert graph.permuted(order).canonical_key() == graph.canonical_key()


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [1, 2, 3]])
def test_permuting_by_anything_but_a_permutation_is_refused(order: list[int]) -> None:
    with pytest.raises(InvalidGraphError, match=r"permutation of 0\.\.2, got"):
        Graph(PATH).permuted(order)


# -- conversions ------------------------------------------------------------------------------


@given(any_graphs())
def test_json_round_trip_gives_an_equal_graph(graph: Graph) -> None:
    assert Graph.from_json(graph.to_json()) == graph


@given(any_graphs())
def test_networkx_round_trip_gives_an_equal_graph(graph: Graph) -> None:
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert oracles.are_isomorphic(Graph.from_networkx(graph.to_networkx()), graph)


def test_networkx_nodes_of_any_name_keep_their_order() -> None:
    g = nx.Graph([("c", "a"), ("a", "b")])
    assert Graph.from_networkx(g).edges() == [(0, 1), (1, 2)]


def test_networkx_attributes_that_a_graph_cannot_keep_are_refused_by_name() -> None:
    g = nx.Graph()
    g.add_edge(0, 1, weight=3.5)
    with pytest.raises(InvalidGraphError, match=r"edge attribute 'weight' would be lost.*ignore="):
        Graph.from_networkx(g)
    assert Graph.from_networkx(g, ignore=["weight"]) == Graph(EDGE)
    g.nodes[0]["pos"] = (0.5, 1.0)
    with pytest.raises(InvalidGraphError, match="node attribute 'pos' would be lost"):
        Graph.from_networkx(g, ignore=["weight"])
    assert Graph.from_networkx(g, ignore=["weight", "pos"]) == Graph(EDGE)
    with pytest.raises(InvalidGraphError, match=r"a list of attributes, got 'pos'; try \['pos'\]"):
        Graph.from_networkx(g, ignore="pos")


def test_a_networkx_weight_of_1_on_every_edge_is_ignored() -> None:
    g = nx.Graph([(0, 1, {"weight": 1}), (1, 2, {"weight": 1.0})])
    assert Graph.from_networkx(g).edges() == [(0, 1), (1, 2)]
    g.add_edge(0, 2)  # no weight here, so that the others mean something
    with pytest.raises(InvalidGraphError, match="'weight' would be lost"):
        Graph.from_networkx(g)


def test_a_networkx_attribute_can_be_read_as_edge_labels() -> None:
    g = nx.Graph([(0, 1, {"weight": 3}), (1, 2, {"weight": 1})])
    read = Graph.from_networkx(g, edge_label="weight")
    assert read.edge_labels is not None
    assert [read.edge_labels[e] for e in read.edges()] == [3, 1]
    g.edges[0, 1]["weight"] = 2.5
    with pytest.raises(InvalidGraphError, match=r"'weight' must be an integer from 1 .* got 2\.5"):
        Graph.from_networkx(g, edge_label="weight")
    with pytest.raises(InvalidGraphError, match="'length' must be given for all edges"):
        Graph.from_networkx(nx.path_graph(3), edge_label="length")


# -- what it refuses --------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        ([[0, 1, 0], [1, 0, 1]], r"square matrix .* got shape \(2, 3\)"),
        ([0, 1], r"square matrix .* got shape \(2,\)"),
        ([], r"at least one node, got shape \(0,\)"),
        (np.zeros((0, 0)), r"at least one node, got shape \(0, 0\)"),
        (np.zeros((2, 2, 2)), r"square matrix .* got shape \(2, 2, 2\)"),
        (3, r"square matrix .* got shape \(\)"),
        ([[0, 1], [0, 0]], r"symmetric .* \(0, 1\) and \(1, 0\) differ; pass directed=True"),
        ([[1, 1], [1, 0]], "self-loops are not supported, got one at node 0; clear the diagonal"),
        ([[0, 2], [2, 0]], "only 0 and 1, got 2; pass edge labels as edge_labels"),
        ([[0, 0.5], [0.5, 0]], "only 0 and 1, got 0.5"),
        ([[0, -1], [-1, 0]], "only 0 and 1, got -1"),
        ([[0, NAN], [NAN, 0]], "only 0 and 1, got nan"),
        ([[0, 1], [1]], "rectangular array of numbers"),
        ([["a", "b"], ["c", "d"]], "must be numbers, got <U1"),
        (None, "must be numbers, got object"),
        (nx.path_graph(2), "use Graph.from_networkx"),
    ],
)
def test_a_malformed_adjacency_is_refused_with_the_reason(adjacency: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        Graph(adjacency)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0], r"one integer for each of the 2 nodes, got shape \(1,\)"),
        ([[0, 1]], r"each of the 2 nodes, got shape \(1, 2\)"),
        ([0, -1], r"integers >= 0.* got \[0, -1\]"),
        ([0, 0.5], "integers >= 0"),
        ([0, NAN], "integers >= 0"),
        ([0, INF], "integers >= 0"),
        ([0, 2**63], "integers >= 0"),
        ([0, 1e300], "integers >= 0"),
        (["C", "N"], "labels must be numbers, got <U1"),
        ([0, None], "labels must be numbers"),
    ],
)
def test_malformed_labels_are_refused_with_the_reason(labels: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        Graph(EDGE, labels)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[0]], r"features must have 2 rows.* got shape \(1, 1\)"),
        ([0, 1], r"features must have 2 rows.* got shape \(2,\)"),
        ([[0], [2]], "features must hold only 0 and 1, got 2"),
        ([[0], [NAN]], "features must hold only 0 and 1, got nan"),
        ([["x"], ["y"]], "features must be numbers, got <U1"),
    ],
)
def test_malformed_features_are_refused_with_the_reason(features: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        Graph(EDGE, features=features)


@pytest.mark.parametrize(
    ("edge_labels", "message"),
    [
        ([[0]], r"shape of adjacency \(3, 3\), got \(1, 1\)"),
        ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], r"entry \(0, 2\) is 1 but adjacency there is 0"),
        ([[0, 0, 0], [0, 0, 1], [0, 1, 0]], r"entry \(0, 1\) is 0 but adjacency there is 1"),
        ([[0, 1, 0], [2, 0, 1], [0, 1, 0]], r"symmetric.* \(0, 1\)"),
        ([[0, -1, 0], [-1, 0, 1], [0, 1, 0]], "integers, >= 1 on edges .* got -1"),
        ([[0, 1.5, 0], [1.5, 0, 1], [0, 1, 0]], "integers, >= 1 on edges .* got 1.5"),
        ([[0, INF, 0], [INF, 0, 1], [0, 1, 0]], "integers, >= 1 on edges .* got inf"),
    ],
)
def test_malformed_edge_labels_are_refused_with_the_reason(edge_labels: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        Graph(PATH, edge_labels=edge_labels)


@pytest.mark.parametrize("directed", [None, 1, "yes"])
def test_a_direction_that_is_not_true_or_false_is_refused(directed: Any) -> None:
    with pytest.raises(InvalidGraphError, match=f"True or False, got {directed!r}"):
        Graph(EDGE, directed=directed)


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_a_networkx_multigraph_is_refused(kind: Any) -> None:
    with pytest.raises(InvalidGraphError, match=r"got a networkx multigraph; convert it with"):
        Graph.from_networkx(kind([(0, 1)]))


def _networkx(nodes: list[dict[str, Any]], edges: list[tuple[int, int, dict[str, Any]]]) -> Any:
    g = nx.Graph()
    g.add_nodes_from(enumerate(nodes))
    g.add_edges_from(edges)
    return g


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.eye(2), "expected a networkx graph, got ndarray"),
        (nx.Graph(), "at least one node"),
        (nx.Graph([(0, 0)]), "self-loops are not supported"),
        (_networkx([{"label": 1}, {}], []), "'label' must be given for all nodes or for none"),
        (_networkx([{"label": "C"}], []), "labels must be numbers"),
        (
            _networkx([{"features": (1,)}, {}], []),
            "'features' must be given for all nodes or for none",
        ),
        (_networkx([{"features": (1, 0)}, {"features": (1,)}], []), "rectangular"),
        (
            _networkx([{}, {}, {}], [(0, 1, {"label": 1}), (1, 2, {})]),
            "'label' must be given for all edges or for none",
        ),
        (_networkx([{}, {}], [(0, 1, {"label": 0})]), "integer from 1 .* got 0"),
        (_networkx([{}, {}], [(0, 1, {"label": "double"})]), "integer from 1 .* got .double."),
        (_networkx([{}, {}], [(0, 1, {"label": 2**70})]), "integer"),
    ],
)
def test_a_networkx_graph_that_does_not_fit_is_refused(graph: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        Graph.from_networkx(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a graph as JSON"),
        ("nonsense", "expected a graph as JSON"),
        (None, "expected a graph as JSON"),
        ("[" * 100_000, "expected a graph as JSON"),
        ("[]", "expected a JSON object, got list"),
        ("{}", r"expected keys n_nodes and edges.* got \[\]"),
        ({"n_nodes": 1, "edges": [], "colour": 1}, "got .*'colour'"),
        ({"n_nodes": 0, "edges": []}, "between 1 and 1000, got 0"),
        ({"n_nodes": True, "edges": []}, "got True"),
        ({"n_nodes": 10**9, "edges": []}, "got 1000000000"),
        ({"n_nodes": "3", "edges": []}, "got '3'"),
        ({"n_nodes": 2, "edges": [[0, 2]]}, r"pairs of nodes 0\.\.1"),
        ({"n_nodes": 2, "edges": [[0, -1]]}, r"pairs of nodes 0\.\.1"),
        ({"n_nodes": 2, "edges": [[0]]}, "pairs of nodes"),
        ({"n_nodes": 2, "edges": "01"}, "pairs of nodes"),
        ({"n_nodes": 2, "edges": [[0, 1], [1, 0]]}, "must not repeat"),
        ({"n_nodes": 2, "edges": [[0, 0]]}, "self-loops"),
        ({"n_nodes": 2, "edges": [], "directed": "no"}, "True or False, got 'no'"),
        ({"n_nodes": 2, "edges": [], "labels": [1]}, "each of the 2 nodes"),
        ({"n_nodes": 2, "edges": [], "labels": [1, INF]}, "integers >= 0"),
        ({"n_nodes": 2, "edges": [], "features": [[1]]}, "must have 2 rows"),
        ({"n_nodes": 2, "edges": [[0, 1]], "edge_labels": []}, "list of 1 integers"),
        ({"n_nodes": 2, "edges": [[0, 1]], "edge_labels": [0]}, "integers .* got 0"),
        ({"n_nodes": 2, "edges": [[0, 1]], "edge_labels": [10**30]}, "integers .* got 10000"),
    ],
)
def test_json_that_is_not_a_graph_is_refused_with_the_reason(text: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        Graph.from_json(json.dumps(text) if isinstance(text, dict) else text)
