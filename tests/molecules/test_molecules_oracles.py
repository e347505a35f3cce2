"""Oracles: numpy against a naive loop, and against PyTorch Geometric if it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit")

from bogrape import Graph
from bogrape.errors import InvalidInputError
from bogrape.molecules import Oracle, from_smiles, load_oracle, molecule_space

PAPER = {"qm7": (0.0356, 0.0337), "qm9": (0.0082, 0.0082)}


def naive(oracle: Oracle, graph: Graph) -> float:
    """The network atom by atom."""
    w = oracle.weights
    x = [
        [*np.eye(4)[label], *bits] for label, bits in zip(graph.labels, graph.features, strict=True)
    ]
    for layer in ("conv1", "conv2"):
        new = []
        for v in range(graph.n_nodes):
            heard = np.zeros(len(x[0]))
            for u in range(graph.n_nodes):
                if graph.adjacency[u, v]:
                    heard = heard + np.array(x[u], dtype=float)
            state = w[f"{layer}.neighbours"] @ heard + w[f"{layer}.bias"]
            state = state + w[f"{layer}.root"] @ np.array(x[v], dtype=float)
            new.append(np.maximum(state, 0))
        x = new
    out = np.sum(x, axis=0)
    for layer in ("linear1", "linear2", "linear3"):
        out = w[f"{layer}.weight"] @ out + w[f"{layer}.bias"]
        out = out if layer == "linear3" else np.maximum(out, 0)
    return float(out[0])


@pytest.mark.parametrize("name", ["qm7", "qm9"])
def test_an_oracle_equals_the_network_computed_atom_by_atom(name: str) -> None:
    oracle = load_oracle(name)
    graphs = molecule_space(name, (4, 12)).sample(30, seed=5)
    assert oracle.predict(graphs) == pytest.approx([naive(oracle, g) for g in graphs], abs=1e-9)
    assert oracle(graphs[0]) == pytest.approx(oracle.predict(graphs)[0], abs=1e-12)


@pytest.mark.parametrize("name", ["qm7", "qm9"])
def test_an_oracle_equals_pytorch_geometric(name: str) -> None:
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric.nn")
    oracle = load_oracle(name)
    w = {key: torch.from_numpy(value) for key, value in oracle.weights.items()}

    def conv(layer: str) -> object:
        n_out, n_in = w[f"{layer}.root"].shape
        made = geometric.SAGEConv(n_in, n_out, aggr="sum").double()
        made.lin_l.weight.data, made.lin_l.bias.data = w[f"{layer}.neighbours"], w[f"{layer}.bias"]
        made.lin_r.weight.data = w[f"{layer}.root"]
        return made

    layers = [conv("conv1"), conv("conv2")]
    for graph in molecule_space(name, (4, 30)).sample(50, seed=6):
        x = torch.from_numpy(np.concatenate([np.eye(4)[graph.labels], graph.features], axis=1))
        edges = torch.from_numpy(np.argwhere(graph.adjacency).T.copy())
        for layer in layers:
            x = torch.relu(layer(x, edges))  # type: ignore[operator]
        x = geometric.global_add_pool(x, None)
        for layer in ("linear1", "linear2", "linear3"):
            x = torch.nn.functional.linear(x, w[f"{layer}.weight"], w[f"{layer}.bias"])
            x = x if layer == "linear3" else torch.relu(x)
        assert oracle(graph) == pytest.approx(x.item(), abs=1e-6)


@pytest.mark.parametrize("name", ["qm7", "qm9"])
def test_errors_are_below_the_papers_and_outputs_vary_for_large_molecules(name: str) -> None:
    record = load_oracle(name).record
    assert record["train_error"] <= PAPER[name][0]
    assert record["test_error"] <= PAPER[name][1]
    assert len(record["sha256"]) == 64
    assert "seed" in record
    for n in (10, 20, 30):
        values = load_oracle(name).predict(molecule_space(name, n).sample(60, seed=0))
        assert values.std() > 0.1
        noted = record["outputs"][str(n)]
        assert values.std() == pytest.approx(noted["deviation"], rel=0.3)
        assert noted["plateau"] < 0.01


def test_an_oracle_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    oracle = load_oracle("qm9")
    oracle.save(tmp_path / "own.npz")
    again = load_oracle(tmp_path / "own.npz")
    graph = from_smiles("CC(F)=O", "qm9")
    assert again(graph) == oracle(graph)
    assert again.record == oracle.record
    assert oracle.unscaled(0.0) == oracle.record["minimum"]


def test_other_files_and_other_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="qm7"):
        load_oracle("qm8")
    np.savez(tmp_path / "odd.npz", a=np.zeros(2))
    with pytest.raises(InvalidInputError, match="weights of an oracle"):
        load_oracle(tmp_path / "odd.npz")
    with pytest.raises(InvalidInputError, match="features"):
        load_oracle("qm7")(Graph([[0, 1], [1, 0]]))
