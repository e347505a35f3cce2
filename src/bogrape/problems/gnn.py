r"""Randomly initialised graph neural networks as black boxes: GCN, GAT and GraphSAGE.

The paper's synthetic benchmarks: connected undirected graphs with n nodes and L = 5 labels go
through

    conv L→64, ReLU, conv 64→64, ReLU, sum over nodes, linear 64→64, ReLU, linear 64→1.

Notation: ``X`` is the (n, in) matrix of node states, at first the one-hot labels; ``R[i, j]`` says
that node i receives from node j, so ``R`` is the transposed adjacency; weights are (out, in).
Leading axes of ``X`` and ``R`` run over graphs. The layers equal those of PyTorch Geometric with
the same weights; weights are drawn as it draws them, from a numpy generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..batch import Batch
from ..errors import InvalidInputError
from ..graph import Graph
from ..space import GraphSpace
from . import Problem, register

N_LABELS = 5
N_HIDDEN = 64


# -- layers -----------------------------------------------------------------------------------


class Convolution(Protocol):
    """One round of messages between neighbours."""

    def __call__(self, X: FloatArray, R: BoolArray) -> FloatArray:
        """New node states (..., n, out)."""


@dataclass(frozen=True, eq=False)
class Linear:
    r"""Linear layer: :math:`X W^\top + b`."""

    weight: FloatArray
    bias: FloatArray

    @classmethod
    def random(cls, n_in: int, n_out: int, rng: np.random.Generator) -> Linear:
        """Weight and bias uniform on ±1/√in."""
        bound = 1.0 / math.sqrt(n_in)
        return cls(_uniform(bound, (n_out, n_in), rng), _uniform(bound, (n_out,), rng))

    def __call__(self, X: FloatArray) -> FloatArray:
        return X @ self.weight.T + self.bias


@dataclass(frozen=True, eq=False)
class GCN:
    r"""Kipf and Welling: :math:`\hat D^{-1/2} (R + I) \hat D^{-1/2} X W^\top + b`.

    :math:`\hat D` is diagonal with the row sums of :math:`R + I`.
    """

    weight: FloatArray
    bias: FloatArray

    @classmethod
    def random(cls, n_in: int, n_out: int, rng: np.random.Generator) -> GCN:
        """Weight by Glorot, bias zero."""
        return cls(_uniform(_glorot(n_in, n_out), (n_out, n_in), rng), np.zeros(n_out))

    def __call__(self, X: FloatArray, R: BoolArray) -> FloatArray:
        R_loops = _with_loops(R).astype(np.float64)
        scale = 1.0 / np.sqrt(R_loops.sum(axis=-1))
        S = scale[..., :, None] * R_loops * scale[..., None, :]
        return np.asarray(S @ (X @ self.weight.T) + self.bias)


@dataclass(frozen=True, eq=False)
class SAGE:
    r"""Hamilton, Ying and Leskovec: :math:`\bar x_i W_l^\top + b_l + x_i W_r^\top`.

    :math:`\bar x_i` is the mean of :math:`x_j` over :math:`j \in N(i)`; over no neighbours, zero.
    """

    neighbours: Linear
    root: FloatArray

    @classmethod
    def random(cls, n_in: int, n_out: int, rng: np.random.Generator) -> SAGE:
        """Everything uniform on ±1/√in."""
        neighbours = Linear.random(n_in, n_out, rng)
        return cls(neighbours, _uniform(1.0 / math.sqrt(n_in), (n_out, n_in), rng))

    def __call__(self, X: FloatArray, R: BoolArray) -> FloatArray:
        n_neighbours = np.maximum(R.sum(axis=-1, keepdims=True), 1)
        mean = (R.astype(np.float64) @ X) / n_neighbours
        return self.neighbours(mean) + X @ self.root.T


@dataclass(frozen=True, eq=False)
class GAT:
    r"""Veličković et al., one head: :math:`\sum_j \alpha_{ij} h_j + b` with :math:`h = X W^\top`.

    :math:`\alpha_i` is the softmax over :math:`j \in N(i) \cup \{i\}` of
    :math:`\mathrm{LeakyReLU}_{0.2}(a_{dst} \cdot h_i + a_{src} \cdot h_j)`.
    """

    weight: FloatArray
    source: FloatArray
    target: FloatArray
    bias: FloatArray

    @classmethod
    def random(cls, n_in: int, n_out: int, rng: np.random.Generator) -> GAT:
        """Weight and both attention vectors by Glorot, bias zero."""
        return cls(
            _uniform(_glorot(n_in, n_out), (n_out, n_in), rng),
            _uniform(_glorot(1, n_out), (n_out,), rng),
            _uniform(_glorot(1, n_out), (n_out,), rng),
            np.zeros(n_out),
        )

    def __call__(self, X: FloatArray, R: BoolArray) -> FloatArray:
        h = X @ self.weight.T
        e = (h @ self.target)[..., :, None] + (h @ self.source)[..., None, :]
        e = np.where(_with_loops(R), np.where(e > 0, e, 0.2 * e), -np.inf)
        attention = np.exp(e - e.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        return np.asarray(attention @ h + self.bias)


def _with_loops(R: BoolArray) -> BoolArray:
    return R | np.eye(R.shape[-1], dtype=bool)


def _glorot(n_in: int, n_out: int) -> float:
    return math.sqrt(6.0 / (n_in + n_out))


def _uniform(bound: float, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    return rng.uniform(-bound, bound, shape)


# -- networks ---------------------------------------------------------------------------------

CONVOLUTIONS: dict[str, Callable[[int, int, np.random.Generator], Convolution]] = {
    "gcn": GCN.random,
    "gat": GAT.random,
    "sage": SAGE.random,
}


@dataclass(frozen=True, eq=False)
class Network:
    """A graph neural network with one output; calling it on a `Graph` gives that number."""

    convolutions: tuple[Convolution, Convolution]
    hidden: Linear
    last: Linear
    n_labels: int

    @classmethod
    def random(cls, convolution: str, seed: int, n_labels: int = N_LABELS) -> Network:
        """A network with convolutions ``gcn``, ``gat`` or ``sage`` and random weights."""
        if convolution not in CONVOLUTIONS:
            raise InvalidInputError(
                f"unknown convolution {convolution!r}; choose one of {', '.join(CONVOLUTIONS)}"
            )
        rng = np.random.default_rng(seed)
        draw = CONVOLUTIONS[convolution]
        return cls(
            (draw(n_labels, N_HIDDEN, rng), draw(N_HIDDEN, N_HIDDEN, rng)),
            Linear.random(N_HIDDEN, N_HIDDEN, rng),
            Linear.random(N_HIDDEN, 1, rng),
            n_labels,
        )

    def __call__(self, graph: Graph) -> float:
        return float(self.outputs(graph.adjacency, graph.labels))

    def of_batch(self, batch: Batch) -> FloatArray:
        """Outputs of the graphs of a batch."""
        return self.outputs(batch.adjacency, batch.labels)

    def outputs(self, adjacency: BoolArray, labels: IntArray) -> FloatArray:
        """Outputs of one graph or, with a leading axis, of many graphs of one size."""
        if labels.size and labels.max() >= self.n_labels:
            raise InvalidInputError(
                f"this network knows labels 0..{self.n_labels - 1}, got {labels.max()}"
            )
        R = adjacency.swapaxes(-1, -2)
        X = np.eye(self.n_labels)[labels]
        for convolution in self.convolutions:
            X = np.maximum(convolution(X, R), 0.0)
        pooled = X.sum(axis=-2)
        return self.last(np.maximum(self.hidden(pooled), 0.0))[..., 0]


# -- problems ---------------------------------------------------------------------------------


def gnn_problem(seed: int, *, convolution: str, n_nodes: int) -> Problem:
    """Minimise the output of a random network over connected graphs with 5 labels."""
    network = Network.random(convolution, seed)
    return Problem(
        name=f"{convolution}-{n_nodes}",
        space=GraphSpace(n_nodes=n_nodes, labels=N_LABELS),
        objective=network,
        seed=seed,
        many=network.of_batch,
    )


for _convolution in CONVOLUTIONS:
    for _n_nodes in (10, 20):
        register(f"{_convolution}-{_n_nodes}")(
            partial(gnn_problem, convolution=_convolution, n_nodes=_n_nodes)
        )
