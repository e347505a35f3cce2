"""NAS-Bench-Graph: architectures as trees, against the package's own keys if it is installed."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bogrape import Graph
from bogrape.errors import EvaluationFailed, InvalidInputError, MissingExtraError
from bogrape.problems import get_problem, nas_bench_graph
from bogrape.problems.nas_bench_graph import (
    INPUT,
    OPERATIONS,
    all_values,
    label_names,
    rank,
    table,
    tree_of,
)

KEYS = (10100, 81234, 1111, 71415)  # keys of the table: links, then four operations


def architecture(links: list[int], operations: list[str]) -> Graph:
    names = (INPUT, *OPERATIONS)
    adjacency = np.zeros((5, 5), dtype=bool)
    for node, parent in enumerate(links, 1):
        adjacency[parent, node] = True
    labels = [0, *(names.index(name) for name in operations)]
    return Graph(adjacency, labels, None, True).with_names(names, None)


ARCHITECTURES = (  # those of KEYS
    architecture([0, 0, 0, 1], ["gat", "gcn", "gat", "gat"]),
    architecture([0, 1, 2, 3], ["gcn", "gin", "cheb", "sage"]),
    architecture([0, 0, 0, 0], ["gcn", "gcn", "gcn", "gcn"]),
    architecture([0, 1, 2, 2], ["gcn", "sage", "gcn", "arma"]),
)


@pytest.fixture
def small_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    rows = {
        key: {"perf": 0.5 + i / 10, "latency": 0.1 * (i + 1), "valid_perf": 0.0, "para": 1.0}
        for i, key in enumerate(KEYS)
    }
    (tmp_path / "cora.bench").write_bytes(pickle.dumps(rows))
    monkeypatch.setattr(nas_bench_graph, "_folder", lambda: tmp_path)
    table.cache_clear()
    label_names.cache_clear()
    yield
    table.cache_clear()
    label_names.cache_clear()


def test_a_tree_is_the_same_however_its_nodes_are_numbered() -> None:
    graph = architecture([0, 1, 1, 2], ["gcn", "gat", "fc", "gin"])
    for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 7):
        assert tree_of(graph.permuted(order), ()) == tree_of(graph, ())
    other = architecture([0, 1, 1, 3], ["gcn", "gat", "fc", "gin"])
    assert tree_of(other, ()) != tree_of(graph, ())


def test_a_graph_that_is_not_a_tree_is_refused() -> None:
    graph = architecture([0, 1, 1, 2], ["gcn", "gat", "fc", "gin"])
    with pytest.raises(InvalidInputError, match="away from its input"):
        tree_of(
            Graph(graph.adjacency | np.eye(5, k=2, dtype=bool), graph.labels, None, True),
            (INPUT, *OPERATIONS),
        )


@pytest.mark.usefixtures("small_table")
def test_a_table_defines_space_objective_and_optimum() -> None:
    problem = get_problem("nas-cora")
    graphs = [problem.space.named(graph) for graph in ARCHITECTURES]
    assert [problem.objective(graph) for graph in graphs] == pytest.approx([-0.5, -0.6, -0.7, -0.8])
    assert all(map(problem.space.contains, graphs))
    assert problem.optimum == -0.8
    assert get_problem("nas-cora-latency").optimum == pytest.approx(0.1)
    assert [rank("cora", value) for value in (-0.8, -0.6, -0.55, 0.0)] == [1, 3, 4, 5]


@pytest.mark.usefixtures("small_table")
def test_an_architecture_that_is_not_in_the_table_has_no_value_and_is_not_in_the_space() -> None:
    problem = get_problem("nas-cora")
    absent = architecture([0, 0, 0, 0], ["gat", "gat", "gat", "gat"])
    assert not problem.space.contains(absent)
    with pytest.raises(EvaluationFailed, match="not in the table"):
        problem.objective(absent)


def test_a_table_with_code_in_it_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cora.bench").write_bytes(pickle.dumps({1: print}))
    monkeypatch.setattr(nas_bench_graph, "_folder", lambda: tmp_path)
    table.cache_clear()
    with pytest.raises(InvalidInputError, match=r"builtins\.print"):
        table("cora")


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nas_bench_graph, "find_spec", lambda _: None)
    table.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'bogrape\[nas\]'"):
        get_problem("nas-cora")


# -- the table itself ---------------------------------------------------------------------------


def test_every_architecture_of_the_table_has_its_own_tree() -> None:
    pytest.importorskip("nas_bench_graph")
    table.cache_clear()
    assert len(table("citeseer")) == 26_206
    assert len(table("proteins")) == 2_021
    assert len(all_values("citeseer")) == 26_206


def test_values_are_those_found_by_the_package_s_own_key() -> None:
    package = pytest.importorskip("nas_bench_graph")
    table.cache_clear()
    bench = package.light_read("citeseer")
    problem = get_problem("nas-citeseer")
    rng = np.random.default_rng(0)
    links = [[0, 0, 0, 0], [0, 0, 1, 3], [0, 1, 1, 2], [0, 1, 2, 2], [0, 1, 2, 3], [0, 0, 1, 2]]
    for link in links:
        operations = [str(name) for name in rng.choice(OPERATIONS[:8], 4)]
        row = bench[package.Arch(list(link), list(operations)).valid_hash()]
        graph = architecture(link, operations).permuted(rng.permutation(5))
        assert problem.objective(graph) == -row["perf"]
        assert problem.space.contains(graph)
    assert problem.optimum == -max(row["perf"] for row in bench.values())


def test_unnamed_labels_mean_the_operations_in_the_table() -> None:
    pytest.importorskip("nas_bench_graph")
    table.cache_clear()
    label_names.cache_clear()
    assert label_names("proteins") == (INPUT, "gcn", "sage", "arma", "fc", "skip")
    problem = get_problem("nas-proteins")
    graphs = problem.space.sample(30, seed=0, distinct=True)
    unnamed = [Graph(graph.adjacency, graph.labels, None, True) for graph in graphs]
    assert all(map(problem.space.contains, unnamed))
    values = [problem.objective(graph) for graph in graphs]
    assert values == [problem.objective(graph) for graph in unnamed]
    # a wrong reading of the labels would find fewer distinct architectures
    every = problem.space.sample(300, seed=1, distinct=True)
    assert len({tree_of(graph, ()) for graph in every}) == 300
