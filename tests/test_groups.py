"""Groups of counts compared with sums over pairs, and distances with those of plain vectors."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape.batch import Batch
from bogrape.counts import MOST_EDGE_LABELS, Counts, concatenate, count
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph
from bogrape.groups import (
    GROUPS,
    PATH_GROUPS,
    divisors,
    group_counts,
    groups_of,
    path_layers,
    squared_distances,
    typical_squares,
)

import oracles
from strategies import graph_lists, relabelled

any_lists = graph_lists(n_nodes=(1, 7), min_size=2, max_size=5, edge_labels=None)
Sparse = dict[tuple[object, ...], float]


def described(graph: Graph) -> dict[str, Sparse]:
    """The coordinates of each group by their definition, from distances of networkx."""
    n, labels = graph.n_nodes, graph.labels.tolist()
    out: dict[str, Counter[tuple[object, ...]]] = {group: Counter() for group in GROUPS}
    for (u, v), length in oracles.distances(graph).items():
        ends = (labels[u], labels[v])
        for s, group in enumerate(PATH_GROUPS[:-1]):
            out[group][ends] += length <= s
        out["farther"][("joined", *ends)] += 1
        for s in range(4, length):
            out["farther"][(s, *ends)] += 1
    for m in range(graph.n_features):
        out["features"][(m,)] += int(graph.features[:, m].sum())
    for u, v in zip(*np.nonzero(graph.adjacency), strict=True):
        kind = 0 if graph.edge_labels is None else int(graph.edge_labels[u, v])
        out["edge_labels"][(kind, labels[u], labels[v])] += 1
    return {
        group: {key: value / (n if group == "features" else n**2) for key, value in found.items()}
        for group, found in out.items()
    }


def distance(left: Sparse, right: Sparse) -> float:
    return sum((left.get(key, 0.0) - right.get(key, 0.0)) ** 2 for key in {*left, *right})


@given(any_lists)
def test_distances_are_those_of_the_defining_counts(graphs: list[Graph]) -> None:
    counts, known = count(graphs, edges=True), [described(graph) for graph in graphs]
    found = squared_distances(counts, counts, GROUPS)
    for group in GROUPS:
        expected = [[distance(a[group], b[group]) for b in known] for a in known]
        np.testing.assert_allclose(found[group], expected, rtol=1e-12, atol=1e-14)


@given(st.data())
def test_batches_with_other_lengths_and_labels_have_the_same_distances(data: st.DataObject) -> None:
    directed = data.draw(st.booleans())
    few = data.draw(graph_lists(n_nodes=(1, 3), n_labels=1, n_features=1, directed=directed))
    many = data.draw(graph_lists(n_nodes=(4, 7), n_features=1, directed=directed, edge_labels=None))
    together = count([*few, *many], edges=True)
    apart = squared_distances(count(few, edges=True), count(many, edges=True), GROUPS)
    expected = squared_distances(together, together, GROUPS)
    for group in GROUPS:
        assert (apart[group] == expected[group][: len(few), len(few) :]).all()


@given(any_lists)
def test_path_layers_are_the_linear_map_from_path_counts_to_groups(graphs: list[Graph]) -> None:
    counts = count(graphs, edges=True)
    assert counts.pairs is not None
    found = group_counts(counts, PATH_GROUPS)
    for group, matrix in path_layers(counts.pairs.shape[1]).items():
        mapped = np.einsum("rs,bsij->brij", matrix, counts.pairs)
        if group == "labels":  # P_0 is diagonal
            mapped = mapped[:, 0].diagonal(axis1=1, axis2=2)
        assert (found[group] == mapped.reshape(len(graphs), -1)).all()


@given(st.data(), any_lists)
def test_groups_do_not_depend_on_the_numbering_of_nodes(
    data: st.DataObject, graphs: list[Graph]
) -> None:
    renumbered = [data.draw(relabelled(graph)) for graph in graphs]
    before, after = (group_counts(count(some, edges=True), GROUPS) for some in (graphs, renumbered))
    assert all((before[group] == after[group]).all() for group in GROUPS)


@given(any_lists)
def test_typical_squares_are_means_over_all_pairs(graphs: list[Graph]) -> None:
    counts = count(graphs, edges=True)
    typical = typical_squares(counts)
    assert tuple(typical) == groups_of(counts)
    n = len(graphs)
    for group, value in typical.items():
        squares = squared_distances(counts, counts, [group])[group]
        least = 1.0 / divisors(counts, group).max() ** 2
        assert value == pytest.approx(max(squares.sum() / (n * (n - 1)), least), rel=1e-9)
        assert value > 0


def test_features_and_edge_labels_are_groups_only_if_there_are_any() -> None:
    edge = [[0, 1], [1, 0]]
    plain, bonded = Graph(edge), Graph(edge, edge_labels=edge)
    featured = Graph(edge, features=[[1], [0]])
    assert groups_of(count([plain], edges=True)) == PATH_GROUPS
    assert groups_of(count([featured], edges=True)) == (*PATH_GROUPS, "features")
    assert groups_of(count([plain, bonded], edges=True)) == (*PATH_GROUPS, "edge_labels")


# -- counts of edges ------------------------------------------------------------------------------


@given(graph_lists(n_nodes=(1, 6), min_size=2, edge_labels=None))
def test_edges_of_all_labels_together_are_the_pairs_at_distance_one(graphs: list[Graph]) -> None:
    counts = count(graphs, edges=True)
    assert counts.edges is not None
    assert counts.pairs is not None
    assert (counts.edges.sum(axis=1) == counts.padded(2, 1).pairs[:, 1]).all()  # type: ignore[index]


@given(graph_lists(n_nodes=4, min_size=2, edge_labels=True))
def test_edges_are_counted_alike_in_lists_batches_parts_and_rows(graphs: list[Graph]) -> None:
    whole = count(graphs, 3, edges=True)
    of_batch = Batch.of(graphs).counts(3, pairs=True, edges=True)
    parts = concatenate(count(graphs[:1], 1 + 2, edges=True), count(graphs[1:], 3, edges=True))
    backwards = np.arange(len(graphs))[::-1]
    turned = count(graphs[::-1], 3, edges=True)
    for one, other in ((whole, of_batch), (whole, parts), (whole.rows(backwards), turned)):
        assert one.edges is not None
        assert (one.edges == other.edges).all()
    assert whole.emptied().edges is not None
    assert len(whole.emptied()) == 0
    assert count(graphs).edges is None


def test_edge_labels_that_are_too_large_are_refused() -> None:
    label = MOST_EDGE_LABELS + 1
    graph = Graph([[0, 1], [1, 0]], edge_labels=[[0, label], [label, 0]])
    with pytest.raises(InvalidInputError, match=f"at most 100, got {label}"):
        count([graph], edges=True)
    assert isinstance(count([graph]), Counts)  # fine for kernels that do not read them


def test_groups_say_which_counts_they_need() -> None:
    graphs = [Graph([[0]])]
    with pytest.raises(InvalidInputError, match="needs counts made with edges=True"):
        groups_of(count(graphs))
    with pytest.raises(InvalidInputError, match="needs counts made with pairs=True"):
        group_counts(count(graphs, pairs=False, edges=True), GROUPS)


def test_what_counts_remember_changes_no_value_and_is_not_pickled() -> None:
    def path(n: int) -> Graph:
        return Graph(np.eye(n, k=1) + np.eye(n, k=-1))

    near, far = count([path(3), path(4)], edges=True), count([path(9)], edges=True)
    first = squared_distances(near, far, GROUPS)
    assert far.memo
    again = squared_distances(near, far, GROUPS)  # from what was remembered
    turned = squared_distances(far, near, GROUPS)
    for group in GROUPS:
        np.testing.assert_array_equal(first[group], again[group])
        np.testing.assert_array_equal(first[group], turned[group].T)
    assert not pickle.loads(pickle.dumps(far)).memo
