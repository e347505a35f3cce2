"""Benchmark problems: the registry, and networks against loops and against PyTorch Geometric."""

from __future__ import annotations

import contextlib
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from bogrape import Graph
from bogrape.errors import EvaluationFailed, InvalidInputError, MissingExtraError
from bogrape.problems import Problem, get_problem, problem_names, register
from bogrape.problems.gnn import GAT, GCN, SAGE, Linear, Network

from strategies import graphs

CONVOLUTIONS = ("gcn", "gat", "sage")


# -- an independent implementation: plain Python, one node and one neighbour at a time ------------


def dot(left: Any, right: Any) -> float:
    return math.fsum(float(a) * float(b) for a, b in zip(left, right, strict=True))


def apply(weight: Any, x: list[float]) -> list[float]:
    return [dot(row, x) for row in weight]


def senders(graph: Graph, i: int) -> list[int]:
    return [j for j in range(graph.n_nodes) if graph.adjacency[j, i]]


def gcn_by_loops(layer: GCN, states: list[list[float]], graph: Graph) -> list[list[float]]:
    degree = [1 + len(senders(graph, i)) for i in range(graph.n_nodes)]
    out = []
    for i in range(graph.n_nodes):
        total = [float(b) for b in layer.bias]
        for j in [*senders(graph, i), i]:
            message = apply(layer.weight, states[j])
            for k, m in enumerate(message):
                total[k] += m / math.sqrt(degree[i] * degree[j])
        out.append(total)
    return out


def sage_by_loops(layer: SAGE, states: list[list[float]], graph: Graph) -> list[list[float]]:
    out = []
    for i in range(graph.n_nodes):
        around = [states[j] for j in senders(graph, i)]
        mean = [sum(column) / len(around) for column in zip(*around, strict=True)]
        mean = mean or [0.0] * len(states[i])
        left, right = apply(layer.neighbours.weight, mean), apply(layer.root, states[i])
        bias = layer.neighbours.bias
        out.append([a + float(b) + c for a, b, c in zip(left, bias, right, strict=True)])
    return out


def gat_by_loops(layer: GAT, states: list[list[float]], graph: Graph) -> list[list[float]]:
    h = [apply(layer.weight, x) for x in states]
    out = []
    for i in range(graph.n_nodes):
        around = [*senders(graph, i), i]
        scores = [dot(layer.target, h[i]) + dot(layer.source, h[j]) for j in around]
        weights = [math.exp(s if s > 0 else 0.2 * s) for s in scores]
        out.append(
            [
                sum(w * h[j][k] for w, j in zip(weights, around, strict=True)) / sum(weights)
                + float(layer.bias[k])
                for k in range(len(layer.bias))
            ]
        )
    return out


BY_LOOPS: dict[type, Any] = {GCN: gcn_by_loops, SAGE: sage_by_loops, GAT: gat_by_loops}


def output_by_loops(network: Network, graph: Graph) -> float:
    states = [[float(label == k) for k in range(network.n_labels)] for label in graph.labels]
    for layer in network.convolutions:
        states = BY_LOOPS[type(layer)](layer, states, graph)
        states = [[max(x, 0.0) for x in row] for row in states]
    pooled = [math.fsum(column) for column in zip(*states, strict=True)]
    hidden = [
        max(a + float(b), 0.0)
        for a, b in zip(apply(network.hidden.weight, pooled), network.hidden.bias, strict=True)
    ]
    return dot(network.last.weight[0], hidden) + float(network.last.bias[0])


def with_random_biases(network: Network, seed: int) -> Network:
    """PyTorch Geometric starts some biases at zero; the formulas must hold for any."""
    rng = np.random.default_rng(seed)
    layers = []
    for layer in network.convolutions:
        fields = dict(vars(layer))
        if "bias" in fields:
            fields["bias"] = rng.normal(size=len(fields["bias"]))
        layers.append(type(layer)(**fields))
    return Network((layers[0], layers[1]), network.hidden, network.last, network.n_labels)


def random_graphs(n_graphs: int, directed: bool = False) -> list[Graph]:
    rng = np.random.default_rng(7)
    out = []
    for _ in range(n_graphs):
        n = int(rng.integers(1, 13))
        matrix = rng.random((n, n)) < rng.uniform(0.1, 0.9)
        matrix = matrix & ~np.eye(n, dtype=bool) if directed else np.triu(matrix, 1)
        out.append(
            Graph(matrix if directed else matrix | matrix.T, rng.integers(0, 5, n), None, directed)
        )
    return out


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_networks_equal_their_formulas_written_as_loops(convolution: str, directed: bool) -> None:
    network = with_random_biases(Network.random(convolution, seed=3), seed=4)
    for graph in random_graphs(4, directed):
        assert network(graph) == pytest.approx(
            output_by_loops(network, graph), rel=1e-12, abs=1e-12
        )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_networks_equal_pytorch_geometric(convolution: str, directed: bool) -> None:
    pytest.importorskip("torch_geometric")
    network = with_random_biases(Network.random(convolution, seed=3), seed=4)
    worst = max(
        abs(network(graph) - output_by_pyg(network, graph)) for graph in random_graphs(30, directed)
    )
    print(f"{convolution}: largest difference {worst:.1e}")
    assert worst < 1e-13


def output_by_pyg(network: Network, graph: Graph) -> float:
    import torch
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_add_pool

    def fill(parameter: Any, values: Any) -> None:
        parameter.data = torch.tensor(np.asarray(values)).reshape(parameter.shape)

    def linear(layer: Linear) -> Any:
        module = torch.nn.Linear(*layer.weight.T.shape, dtype=torch.float64)
        fill(module.weight, layer.weight)
        fill(module.bias, layer.bias)
        return module

    def convolution(layer: Any) -> Any:
        weight = layer.root if isinstance(layer, SAGE) else layer.weight
        n_in, n_out = weight.T.shape
        if isinstance(layer, SAGE):
            module = SAGEConv(n_in, n_out).double()
            fill(module.lin_l.weight, layer.neighbours.weight)
            fill(module.lin_l.bias, layer.neighbours.bias)
            fill(module.lin_r.weight, layer.root)
            return module
        module = (GCNConv if isinstance(layer, GCN) else GATConv)(n_in, n_out).double()
        fill(module.lin.weight, layer.weight)
        fill(module.bias, layer.bias)
        if isinstance(layer, GAT):
            fill(module.att_src, layer.source)
            fill(module.att_dst, layer.target)
        return module

    arcs = np.argwhere(graph.adjacency).T.reshape(2, -1)
    edge_index = torch.tensor(arcs.copy(), dtype=torch.long)
    x = torch.nn.functional.one_hot(torch.tensor(graph.labels.copy()), network.n_labels).double()
    with torch.no_grad():
        for layer in network.convolutions:
            x = torch.relu(convolution(layer)(x, edge_index))
        pooled = global_add_pool(x, torch.zeros(graph.n_nodes, dtype=torch.long))
        return float(linear(network.last)(torch.relu(linear(network.hidden)(pooled))))


def test_weights_lie_within_the_bounds_pytorch_geometric_draws_from() -> None:
    gcn, gat, sage = (Network.random(name, seed=0).convolutions[1] for name in CONVOLUTIONS)
    assert isinstance(gcn, GCN)
    assert isinstance(gat, GAT)
    assert isinstance(sage, SAGE)
    glorot, attention, inputs = math.sqrt(6 / 128), math.sqrt(6 / 65), 1 / 8
    for values, bound in [
        (gcn.weight, glorot),
        (gat.weight, glorot),
        (gat.source, attention),
        (gat.target, attention),
        (sage.root, inputs),
        (sage.neighbours.weight, inputs),
        (sage.neighbours.bias, inputs),
    ]:
        assert 0.8 * bound < np.abs(values).max() <= bound
    assert not gcn.bias.any()
    assert not gat.bias.any()


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_graphs_in_a_batch_have_the_values_they_have_alone(convolution: str) -> None:
    network = Network.random(convolution, seed=0)
    some = get_problem(f"{convolution}-10").space.sample(5, seed=1)
    together = network.outputs(
        np.stack([graph.adjacency for graph in some]), np.stack([graph.labels for graph in some])
    )
    np.testing.assert_allclose(together, [network(graph) for graph in some], rtol=1e-12)


@given(graph=graphs(n_nodes=(1, 6), n_labels=5))
def test_the_value_does_not_depend_on_the_numbering_of_nodes(graph: Graph) -> None:
    backwards = graph.permuted(range(graph.n_nodes)[::-1])
    for convolution in CONVOLUTIONS:
        network = Network.random(convolution, seed=0)
        assert network(backwards) == pytest.approx(network(graph), rel=1e-12, abs=1e-12)


def test_the_paper_has_six_synthetic_problems() -> None:
    expected = {f"{name}-{n}" for name in CONVOLUTIONS for n in (10, 20)}
    assert expected <= set(problem_names())


FAMILIES = ("nas-", "xtb-", "pmo-", "order-degree-")  # one of each is enough in quick runs
TYPICAL = ("nas-proteins", "xtb-dipole-8", "pmo-median1", "order-degree-9-3")
NAMES = [
    pytest.param(name, marks=pytest.mark.deep)
    if name.startswith(FAMILIES) and name not in TYPICAL
    else name
    for name in problem_names()
]


def problem_or_skip(name: str, seed: int = 0) -> Problem:
    try:
        return get_problem(name, seed)
    except MissingExtraError as error:
        pytest.skip(str(error))


def values_of(problem: Problem, k: int) -> tuple[list[Graph], list[float]]:
    """Random graphs that have a value, and the values."""
    graphs, values = [], []
    for graph in problem.space.sample(3 * k, seed=0):
        with contextlib.suppress(EvaluationFailed):
            values.append(problem.objective(graph))
            graphs.append(graph)
        if len(values) == k:
            break
    return graphs, values


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_evaluates_graphs_of_its_space_and_repeats_itself(name: str) -> None:
    problem, again, other = problem_or_skip(name), get_problem(name), get_problem(name, seed=1)
    assert (problem.name, problem.seed, other.seed) == (name, 0, 1)
    some, values = values_of(problem, 5)
    assert all(type(value) is float and math.isfinite(value) for value in values)
    assert values == [again.objective(graph) for graph in some]
    assert len(set(values)) > 1 or name == "order-degree-4-3"  # where nearly all graphs are alike
    assert (problem.source != "") == name.startswith((*FAMILIES, "grid-"))
    assert problem.optimum is None or problem.optimum <= min(values)


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_of_every_problem_can_be_sent_to_another_process(name: str) -> None:
    problem = problem_or_skip(name)
    copy = pickle.loads(pickle.dumps(problem))
    ((graph,), _) = values_of(problem, 1)
    assert copy.objective(graph) == problem.objective(graph)


def test_another_seed_gives_another_network() -> None:
    graph = get_problem("gcn-10").space.sample(1, seed=0)[0]
    assert get_problem("gcn-10", seed=0).objective(graph) != get_problem("gcn-10", 1).objective(
        graph
    )


def test_an_unknown_problem_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidInputError, match=r"unknown problem 'gnc-10'.*gcn-10"):
        get_problem("gnc-10")


@pytest.mark.parametrize("seed", [-1, 0.5, "0", True])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidInputError, match="expected seed to be an integer >= 0"):
        get_problem("gcn-10", seed=seed)


def test_a_name_can_be_registered_only_once() -> None:
    problem_names()
    with pytest.raises(InvalidInputError, match="already exists"):
        register("gcn-10")(lambda seed: get_problem("gcn-20", seed))


def test_an_unknown_convolution_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidInputError, match="gcn, gat, sage"):
        Network.random("gin", seed=0)


def test_a_label_the_network_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"labels 0\.\.4, got 5"):
        Network.random("gcn", seed=0)(Graph([[0, 1], [1, 0]], labels=[0, 5]))
