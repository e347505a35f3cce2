"""Architecture cells: values by plain recursion and scikit-learn's ridge regression."""

from __future__ import annotations

from functools import cache

import networkx as nx
import numpy as np
import pytest

from bogrape import Graph
from bogrape.problems import get_problem
from bogrape.problems.cell import N_POINTS, OPERATIONS, RIDGE, CellError


def output_by_recursion(error: CellError, graph: Graph) -> np.ndarray:
    net = graph.to_networkx()
    kinds = [OPERATIONS[label] for label in graph.labels]

    @cache
    def depth(v: int) -> int:
        return max((1 + depth(u) for u in net.predecessors(v)), default=0)

    @cache
    def state(v: int) -> np.ndarray:
        if kinds[v] == "input":
            return error.points @ error.enter
        before = [state(u) for u in net.predecessors(v)]
        weight = error.weights[OPERATIONS.index(kinds[v]), depth(v)]
        if kinds[v] == "gate":
            out = np.ones_like(before[0])
            for h in before:
                out = out * np.tanh(h @ weight)
            return out
        if kinds[v] in ("skip", "output"):
            return sum(before)  # type: ignore[return-value]
        mixed = sum(h @ weight for h in before)
        return np.sin(mixed) if kinds[v] == "sine" else np.where(mixed > 0, mixed, 0.0)

    return state(kinds.index("output"))


@pytest.mark.parametrize("name", ["cell-7", "cell-10"])
def test_values_equal_a_ridge_regression_of_scikit_learn(name: str) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    problem = get_problem(name, seed=1)
    error = problem.objective
    assert isinstance(error, CellError)
    seen = set()
    for graph in problem.space.sample(25, seed=0):
        seen |= {OPERATIONS[label] for label in graph.labels}
        states = output_by_recursion(error, graph)
        ridge = linear_model.Ridge(alpha=RIDGE * N_POINTS)
        ridge.fit(states[:N_POINTS], error.target[:N_POINTS])
        truth = error.target[N_POINTS:]
        residual = ridge.predict(states[N_POINTS:]) - truth
        expected = float(np.sum(residual**2) / np.sum((truth - truth.mean()) ** 2))
        assert error(graph) == pytest.approx(expected, rel=1e-6)
    assert seen == set(OPERATIONS)


def test_the_value_does_not_depend_on_the_numbering_of_nodes() -> None:
    problem = get_problem("cell-7")
    rng = np.random.default_rng(0)
    for graph in problem.space.sample(10, seed=3):
        other = graph.permuted(rng.permutation(7).tolist())
        assert problem.objective(other) == pytest.approx(problem.objective(graph), rel=1e-8)


def test_every_operation_lies_on_a_path_from_input_to_output() -> None:
    for graph in get_problem("cell-7").space.sample(20, seed=5):
        net = graph.to_networkx()
        (first,) = np.flatnonzero(graph.labels == OPERATIONS.index("input"))
        (last,) = np.flatnonzero(graph.labels == OPERATIONS.index("output"))
        assert nx.is_directed_acyclic_graph(net)
        assert nx.descendants(net, first) | {first} == set(range(7))
        assert nx.ancestors(net, last) | {last} == set(range(7))
        assert graph.n_edges <= 9


def test_cells_learn_something_and_differ() -> None:
    problem = get_problem("cell-7")
    values = [problem.objective(graph) for graph in problem.space.sample(100, seed=0)]
    assert min(values) < 0.75  # predicting the mean of the target gives 1
    assert np.std(values) > 0.1
