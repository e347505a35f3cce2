"""Counts of one graph, of lists and of batches, compared with networkx."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bogrape.counts
from bogrape.batch import Batch
from bogrape.counts import concatenate, count, count_batch, distances_batch
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph

import oracles
from strategies import graph_lists, graphs, relabelled

PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [0, 1, 0])


def random_graph(n: int, degree: float, seed: int, directed: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    cells = rng.random((n, n)) < degree / n
    matrix = (cells if directed else np.triu(cells, 1) | np.triu(cells, 1).T) & ~np.eye(
        n, dtype=bool
    )
    return Graph(matrix, rng.integers(0, 4, n), rng.random((n, 2)) < 0.5, directed)


def assert_counts_are_true(graph_list: list[Graph]) -> None:
    found = count(graph_list)
    assert found.pairs is not None
    assert found.sizes.tolist() == [g.n_nodes for g in graph_list]
    for i, graph in enumerate(graph_list):
        expected = np.zeros_like(found.pairs[i])
        for cell, number in oracles.path_counts(graph).items():
            expected[cell] = number
        one_hot = graph.labels[:, None] == np.arange(found.n_labels)
        assert found.pairs[i].tolist() == expected.tolist()
        assert found.lengths[i].tolist() == expected.sum(axis=(1, 2)).tolist()
        assert found.features[i].tolist() == [*one_hot.sum(0), *graph.features.sum(0)]


@given(graph_lists())
def test_counts_equal_a_tally_of_networkx_distances(graph_list: list[Graph]) -> None:
    assert_counts_are_true(graph_list)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n", [8, 9, 16, 17, 32, 33, 64, 65, 130])
def test_counts_are_true_on_both_sides_of_every_word_size(n: int, directed: bool) -> None:
    assert_counts_are_true([random_graph(n, degree, n, directed) for degree in (1.0, 1.6, 4.0)])


def test_counts_of_long_paths_are_true() -> None:
    assert_counts_are_true([Graph.from_networkx(nx.path_graph(n)) for n in (1, 2, 63, 64, 65, 100)])


@given(st.data(), graphs(n_features=1))
def test_counts_ignore_the_numbering_of_nodes(data: st.DataObject, graph: Graph) -> None:
    twins = count([graph, data.draw(relabelled(graph))])
    assert twins.pairs is not None
    for array in (twins.lengths, twins.pairs, twins.features):
        assert (array[0] == array[1]).all()


@given(graphs())
def test_counts_of_one_graph_obey_their_identities(graph: Graph) -> None:
    found = count([graph])
    assert found.pairs is not None
    n, labels = graph.n_nodes, found.features[0, : found.n_labels]
    assert found.lengths[0, 0] == n
    assert (found.pairs[0, 0] == np.diag(labels)).all()
    assert found.lengths.sum() <= n * n
    assert (found.lengths.sum() == n * n) == np.isfinite(graph.distances()).all()
    assert found.lengths[0, 1:2].sum() == graph.adjacency.sum()
    assert found.lengths[0, -1] > 0
    if not graph.directed:
        assert (found.pairs == found.pairs.swapaxes(2, 3)).all()


def test_pairs_are_left_out_unless_requested() -> None:
    assert count([PATH], pairs=False).pairs is None
    assert count([PATH], pairs=False).lengths.tolist() == count([PATH]).lengths.tolist()


def test_more_labels_than_present_leave_zeros() -> None:
    found = count([PATH], n_labels=4)
    assert found.features.tolist() == [[2, 1, 0, 0]]
    assert found.pairs is not None
    assert found.pairs.shape == (1, 3, 4, 4)
    assert found.pairs[0, 1].sum() == 4


@given(graph_lists(min_size=3, max_size=5, n_nodes=4))
def test_a_batch_in_many_chunks_counts_like_graphs_one_by_one(graph_list: list[Graph]) -> None:
    batch = Batch.of(graph_list)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bogrape.counts, "_CHUNK_CELLS", 2 * 4 * 4)
        together, far = batch.counts(3, pairs=True), distances_batch(batch.adjacency)
    for i, graph in enumerate(graph_list):
        alone = count([graph], 3)
        assert together.pairs is not None
        assert alone.pairs is not None
        longest = alone.lengths.shape[1]
        assert (together.pairs[i, :longest] == alone.pairs[0]).all()
        assert (together.lengths[i, :longest] == alone.lengths[0]).all()
        assert not together.lengths[i, longest:].any()
        assert not together.pairs[i, longest:].any()
        assert (together.features[i] == alone.features[0]).all()
        assert (np.where(far[i] == 4, np.inf, far[i]) == graph.distances()).all()
    assert (batch.distances == far).all()


def test_a_batch_without_graphs_has_no_counts() -> None:
    empty = count_batch(np.zeros((0, 3, 3), bool), np.zeros((0, 3), np.int64), None, 2)
    assert len(empty) == 0
    assert len(empty.lengths) == 0
    assert distances_batch(np.zeros((0, 3, 3), bool)).shape == (0, 3, 3)


@given(graph_lists(min_size=2), st.integers(1, 5))
def test_concatenated_counts_equal_counting_together(graph_list: list[Graph], cut: int) -> None:
    cut = min(cut, len(graph_list) - 1)
    joined = concatenate(count(graph_list[:cut]), count(graph_list[cut:]))
    together = count(graph_list)
    assert joined.pairs is not None
    assert together.pairs is not None
    assert joined.n_labels == together.n_labels
    assert joined.sizes.tolist() == together.sizes.tolist()
    assert joined.lengths.tolist() == together.lengths.tolist()
    assert joined.pairs.tolist() == together.pairs.tolist()
    assert joined.features.tolist() == together.features.tolist()


def test_label_columns_can_be_padded_and_cut() -> None:
    counts = count([Graph([[0]], [1], [[1]])])
    assert counts.features.tolist() == [[0, 1, 1]]
    assert counts.with_labels(4).features.tolist() == [[0, 1, 0, 0, 1]]
    assert counts.with_labels(1).features.tolist() == [[0, 1]]
    assert counts.with_labels(2) is counts
    assert counts.n_extra == counts.with_labels(4).n_extra == 1


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_graphs", "message"),
    [
        ([], "at least one graph, got none"),
        ([PATH, "path"], "bogrape Graph objects, got builtins.str"),
        ([nx.path_graph(3)], r"got networkx\..*Graph; convert networkx graphs with"),
        (PATH, "a list of graphs, got one Graph; put it in a list"),
        (nx.path_graph(3), "a list of graphs, got Graph"),
        (iter([PATH]), "a list of graphs, got list_iterator"),
        ([PATH, Graph([[0]], directed=True)], r"directed or all undirected.*got .*\(True, 0\)"),
        ([PATH, Graph([[0]], features=[[1]])], r"the same number of features; got .*\(False, 1\)"),
    ],
)
def test_graphs_that_cannot_be_counted_together_are_refused(
    given_graphs: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        count(given_graphs)


def test_a_label_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="labels must be below 1, got label 1"):
        count([PATH], n_labels=1)


def test_a_batch_of_different_sizes_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="graphs of one size and kind; got"):
        Batch.of([PATH, Graph([[0]])])


@given(st.data(), st.booleans())
def test_a_batch_returns_the_graphs_it_was_made_from(data: st.DataObject, bonded: bool) -> None:
    graph_list = data.draw(graph_lists(n_nodes=3, edge_labels=bonded))
    batch = Batch.of(graph_list)
    assert [batch.graph(i) for i in range(len(batch))] == graph_list
    turned = batch.select(np.arange(len(batch))[::-1])
    assert [turned.graph(i) for i in range(len(batch))] == graph_list[::-1]
