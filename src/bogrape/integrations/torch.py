"""An ensemble of neural networks as surrogate: graph neural networks, or any others.

Needs PyTorch: ``pip install 'bogrape[torch]'``. `DeepEnsemble` trains several networks that differ
in their initial weights; where they agree, the ensemble is certain. It has the methods of a
surrogate (``docs/extending/own-surrogate.md``), so studies and `bogrape.propose` accept it.
See ``docs/integrations/torch.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..checks import positive, whole
from ..errors import FitError, InvalidInputError
from ..graph import Graph
from ..space import GraphSpace
from .missing import missing

try:
    import torch
except ImportError:
    raise missing("this module", "PyTorch", "torch") from None

_AT_ONCE = 1024  # graphs in one pass


@dataclass(eq=False)
class DeepEnsemble:
    """Networks trained on the same observations from different initial weights.

    The predicted mean of a graph is that of the networks' outputs, and the deviation their spread.
    Each network is trained on the full batch of observations, with Adam and a rate that falls to
    zero, to minimise the mean squared error of standardised values. The same seed gives the same
    networks.

    Args:
        make_network: returns an untrained network, which outputs one number per graph.
        encode: turns a list of graphs into the input of a network: a tensor, a batch of PyTorch
            Geometric, or a tuple of arguments. The output for a graph must depend neither on
            the numbering of its nodes nor on the other graphs of the list, so networks must not
            normalise over batches.
        n_networks: size of the ensemble.
        n_steps: steps of the optimiser.
        rate: its initial learning rate.
        weight_decay: share by which weights shrink, per step and rate.
        seed: seed of the initial weights.
        n_threads: number of PyTorch threads; more than one slows down small networks.
    """

    make_network: Callable[[], Any]
    encode: Callable[[Sequence[Graph]], Any]
    n_networks: int = 5
    n_steps: int = 200
    rate: float = 0.01
    weight_decay: float = 1e-3
    seed: int = 0
    n_threads: int = 1
    _networks: list[Any] = field(default_factory=list, init=False, repr=False)
    _centre: float = field(default=0.0, init=False, repr=False)
    _scale: float = field(default=1.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self.n_networks = whole(self.n_networks, "n_networks", 2)
        self.n_steps = whole(self.n_steps, "n_steps", 1)
        self.seed = whole(self.seed, "seed", 0)
        self.n_threads = whole(self.n_threads, "n_threads", 1)
        positive(self.rate, "rate")

    def fit(self, graphs: Sequence[Graph], y: FloatArray) -> DeepEnsemble:
        """Train new networks."""
        values = np.asarray(y, dtype=float)
        centre, scale = float(values.mean()), float(values.std()) or 1.0
        target = torch.from_numpy((values - centre) / scale)
        inputs = self.encode(list(graphs))
        with _threads(self.n_threads), torch.random.fork_rng(devices=[]):
            networks = [self._trained(inputs, target, i) for i in range(self.n_networks)]
        self._networks, self._centre, self._scale = networks, centre, scale
        return self

    def _trained(self, inputs: Any, target: torch.Tensor, i: int) -> Any:
        torch.manual_seed(int(np.random.default_rng([self.seed, i]).integers(2**31)))
        network = self.make_network()
        network.train()
        optimizer = torch.optim.AdamW(
            network.parameters(), lr=self.rate, weight_decay=self.weight_decay
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.n_steps)
        for _ in range(self.n_steps):
            optimizer.zero_grad()
            missed = _output(network, inputs, len(target)) - target
            loss = (missed**2).mean()
            loss.backward()
            optimizer.step()
            schedule.step()
        if not torch.isfinite(loss):
            raise FitError(
                f"the error of network {i} of the ensemble is {loss.item()}; try a smaller rate "
                f"than {self.rate}"
            )
        return network.eval()

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and spread of the networks' outputs for each graph."""
        if not self._networks:
            raise FitError("this ensemble has no data yet; call fit(graphs, y) first")
        parts = []
        with _threads(self.n_threads), torch.no_grad():
            for start in range(0, len(graphs), _AT_ONCE):
                some = list(graphs[start : start + _AT_ONCE])
                inputs = self.encode(some)
                outputs = [_output(network, inputs, len(some)) for network in self._networks]
                parts.append(torch.stack(outputs).double().cpu().numpy())
        found = np.concatenate(parts, axis=1)
        return self._centre + self._scale * found.mean(axis=0), self._scale * found.std(axis=0)


@contextmanager
def _threads(n: int) -> Iterator[None]:
    """Context in which PyTorch uses this many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _output(network: Any, inputs: Any, n: int) -> torch.Tensor:
    """One number per graph."""
    out = network(*inputs) if isinstance(inputs, tuple) else network(inputs)
    if out.shape not in ((n,), (n, 1)):
        raise InvalidInputError(
            f"expected a network that gives one number per graph, shape ({n},), got shape "
            f"{tuple(out.shape)}"
        )
    return out.reshape(n)


@dataclass(frozen=True)
class DenseGraphs:
    """Encodes graphs of a space as padded tensors: nodes, adjacency by edge label, and a mask."""

    space: GraphSpace

    @property
    def n_node_inputs(self) -> int:
        """Number of inputs per node: its one-hot label and its features."""
        return self.space.n_labels + self.space.n_features

    @property
    def n_relations(self) -> int:
        """Number of kinds of edges: one per edge label and direction."""
        return max(1, self.space.n_edge_labels) * (2 if self.space.directed else 1)

    def __call__(self, graphs: Sequence[Graph]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """``x`` (B, n, inputs), ``adjacency`` (B, relations, n, n) and ``mask`` (B, n)."""
        n, kinds = max(g.n_nodes for g in graphs), max(1, self.space.n_edge_labels)
        x = np.zeros((len(graphs), n, self.n_node_inputs))
        adjacency = np.zeros((len(graphs), kinds, n, n))
        mask = np.zeros((len(graphs), n))
        for i, graph in enumerate(graphs):
            m = graph.n_nodes
            mask[i, :m] = 1.0
            x[i, np.arange(m), graph.labels] = 1.0
            x[i, :m, self.space.n_labels :] = graph.features
            cells = graph.adjacency if graph.edge_labels is None else graph.edge_labels
            for kind in range(kinds):
                adjacency[i, kind, :m, :m] = cells == kind + 1
        if self.space.directed:
            adjacency = np.concatenate([adjacency, adjacency.swapaxes(2, 3)], axis=1)
        return tuple(map(torch.from_numpy, (x, adjacency, mask)))


class GraphNetwork(torch.nn.Module):
    """A small graph neural network: sums over neighbours, once per layer, then over all nodes.

    Args:
        n_node_inputs: number of inputs per node.
        n_relations: number of kinds of edges, each with its own weights.
        width: size of the hidden layers.
        n_layers: number of message-passing layers.
    """

    def __init__(
        self, n_node_inputs: int, n_relations: int = 1, width: int = 32, n_layers: int = 3
    ) -> None:
        super().__init__()
        linear = torch.nn.Linear
        self.first = linear(n_node_inputs, width)
        self.own = torch.nn.ModuleList([linear(width, width) for _ in range(n_layers)])
        self.others = torch.nn.ModuleList(
            [linear(width, width * n_relations, bias=False) for _ in range(n_layers)]
        )
        self.last = torch.nn.Sequential(linear(2 * width, width), torch.nn.SiLU(), linear(width, 1))
        self.n_relations = n_relations
        self.double()

    def forward(self, x: torch.Tensor, adjacency: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """One number per graph, from the tensors of `DenseGraphs`."""
        h = torch.nn.functional.silu(self.first(x))
        for own, others in zip(self.own, self.others, strict=True):
            sent = others(h).unflatten(-1, (self.n_relations, -1))
            received = torch.einsum("bruv,bvrd->bud", adjacency, sent)
            h = h + torch.nn.functional.silu(own(h) + received)
        h = h * mask[..., None]
        total = h.sum(1)
        pooled = torch.cat([total / 10.0, total / mask.sum(1, keepdim=True)], dim=-1)
        return self.last(pooled).squeeze(-1)


def gnn_ensemble(
    space: GraphSpace, *, width: int = 32, n_layers: int = 3, **options: Any
) -> DeepEnsemble:
    """An ensemble of graph neural networks for the graphs of a space.

    Args:
        space: the graphs.
        width, n_layers: arguments of `GraphNetwork`.
        options: further arguments of `DeepEnsemble`.
    """
    encode = DenseGraphs(space)

    def make_network() -> GraphNetwork:
        return GraphNetwork(encode.n_node_inputs, encode.n_relations, width, n_layers)

    return DeepEnsemble(make_network, encode, **options)
