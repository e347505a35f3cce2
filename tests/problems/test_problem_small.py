"""Small problems: the optimum against graphs enumerated by networkx."""

from __future__ import annotations

from itertools import product

import networkx as nx
import pytest

from bogrape import Graph
from bogrape.problems import get_problem


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_labels"),
    [
        ("small-gcn-5", 5, 2),
        ("small-gat-5", 5, 2),
        ("small-sage-5", 5, 2),
        ("small-gcn-7", 7, 1),
    ],
)
def test_the_optimum_is_the_smallest_value_over_the_atlas_of_graphs(
    name: str, n_nodes: int, n_labels: int
) -> None:
    shapes = [
        nx.to_numpy_array(graph, dtype=int)
        for graph in nx.graph_atlas_g()
        if graph.number_of_nodes() == n_nodes and nx.is_connected(graph)
    ]
    for seed in (0, 3):
        problem = get_problem(name, seed)
        values = [
            problem.objective(Graph(shape, labels=labels))
            for shape in shapes
            for labels in product(range(n_labels), repeat=n_nodes)
        ]
        assert problem.optimum == pytest.approx(min(values), rel=1e-9)
        assert max(values) > min(values)
