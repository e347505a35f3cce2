"""Kernels compared with the literal sums of the paper and with GraKel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape.counts import count
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph
from bogrape.kernels import KERNELS, feature_cross, feature_diagonal, get_kernel

import oracles
from strategies import graph_lists, relabelled

names = pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp"])


def labelled_graphs(k: int, n: int, seed: int) -> list[Graph]:
    """Connected graphs: a random tree plus a few edges."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(k):
        matrix = np.triu(rng.random((n, n)) < rng.uniform(0, 0.3), 1)
        matrix[[rng.integers(0, v) for v in range(1, n)], np.arange(1, n)] = True
        out.append(Graph(matrix | matrix.T, rng.integers(0, 3, n)))
    return out


@names
@settings(max_examples=60)
@given(graph_lists(n_nodes=(1, 6), max_size=4))
def test_kernels_equal_the_quadruple_sums_of_the_paper(name: str, graph_list: list[Graph]) -> None:
    counts = count(graph_list)
    expected = oracles.kernel_matrix(graph_list, graph_list, name)
    found = KERNELS[name].cross(counts, counts)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(KERNELS[name].diagonal(counts), np.diag(expected), rtol=1e-13)


@given(graph_lists(n_nodes=(1, 6), max_size=4))
def test_the_feature_kernel_equals_its_sum_over_pairs_of_nodes(graph_list: list[Graph]) -> None:
    counts = count(graph_list)
    expected = oracles.feature_matrix(graph_list, graph_list, counts.n_labels)
    m = counts.features.shape[1]
    np.testing.assert_allclose(feature_cross(counts, counts, m), expected, rtol=1e-13)
    np.testing.assert_allclose(feature_diagonal(counts, m), np.diag(expected), rtol=1e-13)


@names
@given(st.data())
def test_batches_with_different_sizes_and_labels_are_compared_where_they_overlap(
    name: str, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"directed": False, "n_features": 1, "max_size": 3}
    left = data.draw(graph_lists(n_nodes=(1, 3), n_labels=1, **options))
    right = data.draw(graph_lists(n_nodes=(4, 5), n_labels=3, **options))
    np.testing.assert_allclose(
        KERNELS[name].cross(count(left), count(right)),
        oracles.kernel_matrix(left, right, name),
        rtol=1e-13,
    )


@pytest.mark.parametrize("n", [10, 30])
def test_raw_sp_is_grakels_shortest_path_plus_the_pairs_it_leaves_out(n: int) -> None:
    graph_list = labelled_graphs(30, n, seed=n)
    counts = count(graph_list)
    raw = KERNELS["sp"].cross(counts, counts) * n**4
    loops = counts.features @ counts.features.T  # sum_a N_a N'_a
    assert (np.rint(raw) - loops == oracles.grakel_shortest_path(graph_list)).all()
    np.testing.assert_allclose(raw, np.rint(raw), rtol=1e-12)


@names
@given(st.data(), graph_lists(min_size=2, max_size=4))
def test_kernels_ignore_the_numbering_of_nodes(
    name: str, data: st.DataObject, graph_list: list[Graph]
) -> None:
    before, after = count(graph_list), count([data.draw(relabelled(g)) for g in graph_list])
    m = before.features.shape[1]
    kernel = KERNELS[name]
    assert (kernel.cross(before, before) == kernel.cross(after, after)).all()
    assert (feature_cross(before, before, m) == feature_cross(after, after, m)).all()


@names
@given(graph_lists(min_size=2, max_size=8))
def test_gram_matrices_are_symmetric_and_positive_semidefinite(
    name: str, graph_list: list[Graph]
) -> None:
    counts = count(graph_list)
    for gram in (
        KERNELS[name].cross(counts, counts),
        feature_cross(counts, counts, counts.features.shape[1]),
    ):
        np.testing.assert_allclose(gram, gram.T, rtol=1e-14)
        assert np.linalg.eigvalsh(gram).min() > -1e-12 * np.trace(gram)


@given(graph_lists())
def test_linear_kernels_lie_between_zero_and_one(graph_list: list[Graph]) -> None:
    counts = count(graph_list)
    for name in ("ssp", "sp"):
        gram = KERNELS[name].cross(counts, counts)
        assert (gram >= 0).all()
        assert (gram <= 1 + 1e-12).all()


def test_kernels_are_found_by_name_in_any_case() -> None:
    assert get_kernel("SSP") is KERNELS["ssp"]
    assert {(k.labelled, k.exponential) for k in KERNELS.values()} == {
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    }


def test_amplitude_bounds_are_the_papers_and_those_they_imply_for_the_ratio() -> None:
    assert [KERNELS[k].amplitude_bounds for k in ("ssp", "sp")] == [(1e-2, 1e2)] * 2
    assert [KERNELS[k].amplitude_bounds for k in ("essp", "esp")] == [(1e-4, 1e4)] * 2


@pytest.mark.parametrize("name", ["wl", "", None, 3])
def test_an_unknown_kernel_is_refused_with_the_valid_names(name: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=f"unknown kernel {name!r}.*ssp, sp, essp, esp, rbf"
    ):
        get_kernel(name)


def test_a_labelled_kernel_refuses_counts_without_pairs() -> None:
    counts = count([Graph([[0]])], pairs=False)
    with pytest.raises(InvalidInputError, match="labels need counts made with pairs=True"):
        KERNELS["sp"].cross(counts, counts)
