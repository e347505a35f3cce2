"""An ensemble of networks as a surrogate: it learns, proposes, and depends on nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from bogrape import Graph, GraphSpace, Study, propose
from bogrape.errors import FitError, InvalidInputError
from bogrape.surrogate import FittedSurrogate

pytestmark = pytest.mark.deep
torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'bogrape[torch]'")

from bogrape.integrations.torch import DeepEnsemble, DenseGraphs, gnn_ensemble  # noqa: E402

SPACE = GraphSpace((4, 6), labels=3, features=1, edge_labels=2)


def value(graph: Graph) -> float:
    return float(graph.n_edges + 2.0 * (graph.labels == 1).sum() - graph.distances().mean())


GRAPHS = SPACE.sample(50, seed=1)
Y = np.array([value(graph) for graph in GRAPHS])


@pytest.mark.parametrize("directed", [False, True])
def test_predictions_depend_on_the_graph_alone(directed: bool) -> None:
    space = GraphSpace((2, 5), labels=2, edge_labels=2, directed=directed)
    graphs = space.sample(12, seed=2)
    ensemble = gnn_ensemble(space, n_steps=20).fit(graphs, np.arange(12.0))
    whole = np.array(ensemble.predict(graphs))
    rng = np.random.default_rng(0)
    renamed = [graph.permuted(rng.permutation(graph.n_nodes)) for graph in graphs]
    np.testing.assert_allclose(np.array(ensemble.predict(renamed)), whole, rtol=1e-9)
    alone = np.hstack([np.array(ensemble.predict([graph])) for graph in graphs])
    np.testing.assert_allclose(alone, whole, rtol=1e-9)


def test_it_learns_and_is_less_certain_about_graphs_it_has_not_seen() -> None:
    ensemble = gnn_ensemble(SPACE, seed=0, n_networks=3).fit(GRAPHS[:40], Y[:40])
    mean, std = ensemble.predict(GRAPHS[40:])
    assert 1 - ((mean - Y[40:]) ** 2).mean() / Y[40:].var() > 0.5
    _, known = ensemble.predict(GRAPHS[:40])
    assert std.mean() > known.mean()


def test_the_same_seed_gives_the_same_ensemble_and_the_global_seed_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = gnn_ensemble(SPACE, n_steps=10, seed=3).fit(GRAPHS, Y)
    assert torch.equal(torch.rand(3), expected)
    second = deepcopy(first).fit(GRAPHS[:5], Y[:5]).fit(GRAPHS, Y)  # starts afresh
    np.testing.assert_array_equal(first.predict(GRAPHS), second.predict(GRAPHS))
    other = gnn_ensemble(SPACE, n_steps=10, seed=4).fit(GRAPHS, Y)
    assert not np.array_equal(first.predict(GRAPHS), other.predict(GRAPHS))


def test_units_do_not_matter() -> None:
    one = gnn_ensemble(SPACE, n_steps=30).fit(GRAPHS, Y).predict(GRAPHS)
    two = gnn_ensemble(SPACE, n_steps=30).fit(GRAPHS, 1e3 * Y + 5.0).predict(GRAPHS)
    np.testing.assert_allclose(two[0], 1e3 * one[0] + 5.0, rtol=1e-6)
    np.testing.assert_allclose(two[1], 1e3 * one[1], rtol=1e-6)


def test_a_study_with_it_finds_better_graphs_than_its_first_ones() -> None:
    study = Study(
        SPACE,
        surrogate=gnn_ensemble(SPACE, n_steps=80, n_networks=3),
        n_initial=8,
        n_evaluations=600,
        time_limit=60,
        seed=0,
    )
    for _ in range(11):
        trial = study.ask()
        study.tell(trial, value(trial.graph))
    values = [trial.value for trial in study.trials if trial.value is not None]
    assert min(values[8:]) < min(values[:8])


def test_small_spaces_are_proved() -> None:
    space = GraphSpace(4, labels=2)
    every = space.enumerate()
    seen = every[::4]
    model = FittedSurrogate.fit(
        gnn_ensemble(space, n_steps=40), seen, [float(g.n_edges) for g in seen]
    )
    found = propose(space, model, exclude=seen, time_limit=60)
    assert found.status == "optimal"
    taken = set(map(space.identity, seen))
    mean, std = model.predict([g for g in every if space.identity(g) not in taken])
    assert found.value == pytest.approx((mean - std).min(), abs=1e-6)


def test_any_network_can_be_used() -> None:
    """Here one of PyTorch Geometric, on its batches."""
    pyg = pytest.importorskip("torch_geometric", reason="pip install 'bogrape[pyg]'")
    from bogrape.integrations.pyg import to_pyg_batch

    class Net(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.convolution = pyg.nn.GINEConv(torch.nn.Linear(4, 16), edge_dim=2)
            self.last = torch.nn.Linear(16, 1)

        def forward(self, batch: Any) -> Any:
            h = self.convolution(batch.x, batch.edge_index, batch.edge_attr).relu()
            return self.last(pyg.nn.global_add_pool(h, batch.batch))

    def encode(graphs: list[Graph]) -> Any:
        return to_pyg_batch(graphs, n_labels=3, n_edge_labels=2)

    ensemble = DeepEnsemble(Net, encode, n_steps=150, n_networks=3)
    mean, _ = ensemble.fit(GRAPHS[:40], Y[:40]).predict(GRAPHS[40:])
    assert 1 - ((mean - Y[40:]) ** 2).mean() / Y[40:].var() > 0.3


def test_mistakes_are_explained() -> None:
    with pytest.raises(FitError, match="no data yet"):
        gnn_ensemble(SPACE).predict(GRAPHS)
    with pytest.raises(InvalidInputError, match="n_networks"):
        gnn_ensemble(SPACE, n_networks=1)
    with pytest.raises(FitError, match="try a smaller rate"):
        gnn_ensemble(SPACE, n_steps=20, rate=1e200).fit(GRAPHS, Y)

    class Wide(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: Any, adjacency: Any, mask: Any) -> Any:  # noqa: ARG002
            return x.sum(1) * self.weight

    with pytest.raises(InvalidInputError, match="one number per graph"):
        DeepEnsemble(Wide, DenseGraphs(SPACE)).fit(GRAPHS, Y)
