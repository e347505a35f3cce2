r"""GraphSAGE networks trained on QM7 and QM9, evaluated with numpy alone.

Notation: ``X`` is the ``(n, 15)`` matrix of labels (one-hot) and features, ``A`` the adjacency,
weights are ``(out, in)``. Leading axes run over graphs. The network is

    conv, ReLU, conv, ReLU, sum over atoms, linear, ReLU, linear, ReLU, linear

with the convolution :math:`A X W_l^\top + b_l + X W_r^\top` (neighbours are summed). Outputs are in
min–max units of the training data: 0 is its smallest value, 1 its largest. The script
`bogrape.molecules.train` made the weights; each file contains its training record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..batch import Batch
from ..errors import InvalidInputError
from ..graph import Graph
from .elements import DATA_SETS
from .valence import N_FEATURES

LAYERS = ("conv1", "conv2", "linear1", "linear2", "linear3")


@dataclass(frozen=True, eq=False)
class Oracle:
    """A trained network; calling it on the graph of a molecule gives one number.

    Attributes:
        name: the data set it was trained on.
        weights: arrays by name: ``conv1.neighbours``, ``conv1.bias``, ``conv1.root``, ...
        record: data file and hash, seed, errors, outputs for larger molecules.
    """

    name: str
    weights: dict[str, FloatArray]
    record: dict[str, Any]

    def __call__(self, graph: Graph) -> float:
        return float(self.predict([graph])[0])

    def predict(self, graphs: Sequence[Graph]) -> FloatArray:
        """Outputs of many molecules, of any sizes, in their order."""
        own = DATA_SETS[self.name]
        named = {graph.label_names or own for graph in graphs}
        for names in (names for names in named if names[: len(own)] != own[: len(names)]):
            raise InvalidInputError(
                f"expected molecules whose labels stand for {', '.join(own)}, got some whose "
                f"labels stand for {', '.join(names)}; try molecule_space({self.name!r})"
            )
        out = np.zeros(len(graphs))
        sizes = np.array([graph.n_nodes for graph in graphs])
        for n in np.unique(sizes):
            index = np.flatnonzero(sizes == n)
            out[index] = self.outputs(Batch.of([graphs[int(i)] for i in index]))
        return out

    def outputs(self, batch: Batch) -> FloatArray:
        """Outputs of a batch."""
        n_labels = len(DATA_SETS[self.name])
        if batch.features.shape[2] != N_FEATURES or batch.labels.max(initial=0) >= n_labels:
            raise InvalidInputError(
                f"expected molecules of {', '.join(DATA_SETS[self.name])} with {N_FEATURES} "
                f"features, got other graphs; try from_smiles(..., {self.name!r})"
            )
        X = np.concatenate([np.eye(n_labels)[batch.labels], batch.features], axis=2)
        A = batch.adjacency.astype(np.float64)
        for layer in LAYERS[:2]:
            X = np.maximum(self._convolve(layer, A, X), 0.0)
        x = X.sum(axis=1)
        for layer in LAYERS[2:4]:
            x = np.maximum(self._linear(layer, x), 0.0)
        return self._linear(LAYERS[4], x)[:, 0]

    def _convolve(self, layer: str, A: FloatArray, X: FloatArray) -> FloatArray:
        w = self.weights
        summed = A @ X @ w[f"{layer}.neighbours"].T + w[f"{layer}.bias"]
        return np.asarray(summed + X @ w[f"{layer}.root"].T)

    def _linear(self, layer: str, x: FloatArray) -> FloatArray:
        return np.asarray(x @ self.weights[f"{layer}.weight"].T + self.weights[f"{layer}.bias"])

    def unscaled(self, value: float) -> float:
        """An output in the units of the data file."""
        low, high = self.record["minimum"], self.record["maximum"]
        return float(low + value * (high - low))

    def save(self, path: str | Path) -> None:
        """Write weights and record to an ``.npz`` file."""
        text = np.array(json.dumps({"name": self.name, **self.record}))
        np.savez_compressed(path, record=text, **self.weights)  # type: ignore[arg-type]


def load_oracle(name: str | Path) -> Oracle:
    """The oracle "qm7" or "qm9" of the package, or one from a file written by `Oracle.save`.

    >>> from bogrape.molecules import from_smiles
    >>> oracle = load_oracle("qm7")
    >>> 0 < oracle(from_smiles("CCO")) < 1.2
    True
    """
    if isinstance(name, str) and name in DATA_SETS:
        source = files(__package__).joinpath("weights", f"{name}.npz")
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return _oracle({key: stored[key] for key in stored.files}, name)
    try:
        with np.load(name, allow_pickle=False) as stored:
            return _oracle({key: stored[key] for key in stored.files}, str(name))
    except (OSError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"expected {' or '.join(map(repr, DATA_SETS))} or the .npz file of an oracle, got "
            f"{str(name)!r:.100}: {error}"
        ) from None


def _oracle(stored: dict[str, Any], name: str) -> Oracle:
    parts = [f"{layer}.{part}" for layer in LAYERS[:2] for part in ("neighbours", "bias", "root")]
    parts += [f"{layer}.{part}" for layer in LAYERS[2:] for part in ("weight", "bias")]
    if set(stored) != {"record", *parts}:
        raise InvalidInputError(f"{name!r:.100} does not contain the weights of an oracle")
    record = json.loads(str(stored.pop("record")))
    weights = {key: np.asarray(value, dtype=np.float64) for key, value in stored.items()}
    return Oracle(record.pop("name"), weights, record)
