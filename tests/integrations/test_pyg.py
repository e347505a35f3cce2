"""Graphs converted to PyTorch Geometric and back, and as input of its networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import Graph, GraphSpace
from bogrape.errors import InvalidGraphError, InvalidInputError

from strategies import any_graphs

pytestmark = pytest.mark.deep
REASON = "needs PyTorch Geometric: pip install 'bogrape[pyg]'"
torch = pytest.importorskip("torch", reason=REASON)
pyg = pytest.importorskip("torch_geometric", reason=REASON)

from bogrape.integrations.pyg import (  # noqa: E402
    from_pyg,
    from_pyg_batch,
    to_pyg,
    to_pyg_batch,
)


@settings(max_examples=100)
@given(any_graphs(), st.booleans())
def test_a_graph_is_restored(graph: Graph, named: bool) -> None:
    graph = graph.with_names(("C", "N", "O") if named else None)
    data = to_pyg(graph, 1.5, n_labels=4, n_edge_labels=3)
    assert data.validate()
    assert data.num_nodes == graph.n_nodes
    assert data.x.shape == (graph.n_nodes, 4 + graph.n_features)
    assert data.num_edges == graph.adjacency.sum()
    assert data.y.tolist() == [1.5]
    again = from_pyg(data)
    assert (again, again.label_names) == (graph, graph.label_names)


@settings(max_examples=50)
@given(st.data(), st.booleans(), st.booleans(), st.integers(0, 2))
def test_batches_are_restored(data: Any, directed: bool, bonded: bool, n_features: int) -> None:
    from strategies import graphs as some_graphs

    graphs = data.draw(
        st.lists(
            some_graphs(directed=directed, edge_labels=bonded, n_features=n_features),
            min_size=1,
            max_size=5,
        )
    )
    batch = to_pyg_batch(graphs, [float(i) for i in range(len(graphs))])
    assert batch.num_graphs == len(graphs)
    assert from_pyg_batch(batch) == graphs


def test_networks_do_not_depend_on_the_numbering() -> None:
    space = GraphSpace(6, labels=3, edge_labels=2)
    graphs = space.sample(5, seed=0)
    torch.manual_seed(0)
    network = pyg.nn.GINEConv(torch.nn.Linear(3, 4), edge_dim=2)

    def out(some: list[Graph]) -> Any:
        batch = to_pyg_batch(some, n_labels=3, n_edge_labels=2)
        nodes = network(batch.x, batch.edge_index, batch.edge_attr)
        return pyg.nn.global_add_pool(nodes, batch.batch)

    renamed = [g.permuted(np.random.default_rng(1).permutation(6)) for g in graphs]
    torch.testing.assert_close(out(graphs), out(renamed))


def test_data_from_elsewhere_is_read_or_refused() -> None:
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    plain = pyg.data.Data(edge_index=edge_index, num_nodes=4)
    graph = from_pyg(plain)
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (4, 2, False)
    assert from_pyg(pyg.data.Data(edge_index=edge_index[:, :1], num_nodes=2)).directed
    x = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    with pytest.raises(InvalidGraphError, match="expected n_labels"):
        from_pyg(pyg.data.Data(x=x, edge_index=edge_index))
    graph = from_pyg(pyg.data.Data(x=x, edge_index=edge_index), n_labels=2)
    assert graph.labels.tolist() == [0, 1, 0]
    assert graph.features.astype(int).tolist() == [[1], [0], [0]]
    bonds = torch.tensor([[2], [2], [1], [1]])
    graph = from_pyg(pyg.data.Data(edge_index=edge_index, edge_attr=bonds, num_nodes=3))
    assert graph.edge_labels is not None
    assert graph.edge_labels[0, 1] == 2
    for words, bad in {
        "all 0 or 1": {"x": x + 0.5},
        "first 2 columns": {"x": torch.ones(3, 3)},
        "'pos' would be lost": {"x": x, "pos": x},
        "multiple": {"x": x, "edge_index": torch.cat([edge_index, edge_index], dim=1)},
        "whole numbers": {"x": x, "edge_attr": bonds + 0.5},
        "names node 7": {"x": x, "edge_index": edge_index + 5},
    }.items():
        with pytest.raises(InvalidGraphError, match=words):
            from_pyg(pyg.data.Data(**{"edge_index": edge_index, **bad}), n_labels=2)
    with pytest.raises(InvalidGraphError, match="at least 3"):
        to_pyg(Graph([[0]], labels=[2]), n_labels=2)
    with pytest.raises(InvalidGraphError, match="expected a Data"):
        from_pyg([1])
    with pytest.raises(InvalidGraphError, match="expected a Batch"):
        from_pyg_batch([1])


def test_only_graphs_of_bogrape_are_converted() -> None:
    with pytest.raises(InvalidInputError, match=r"got builtins\.str"):
        to_pyg("CCO")  # type: ignore[arg-type]
