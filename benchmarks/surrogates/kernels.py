r"""The paper's comparison kernels, normalised: :math:`k(x, x') / \sqrt{k(x, x)\, k(x', x')}`.

* ``wl``: Weisfeiler–Lehman subtrees (Shervashidze et al. 2011), by GraKel; 1, 2 or 3 rounds.
* ``wloa``: Weisfeiler–Lehman optimal assignment (Kriege et al. 2016), by GraKel; the same rounds.
* ``sm``: subgraph matching (Kriege and Mutzel 2012), up to 5 nodes, which is GraKel's default.
* ``rw``: random walks with labels (Gärtner et al. 2003), up to 2, 4 or 8 steps.

The last two are computed here, with the same results as GraKel's ``SubgraphMatching`` and
``RandomWalkLabeled``: GraKel handles each pair of graphs by itself, which takes milliseconds.

The paper gives neither parameters nor normalisation. Here every kernel is normalised, so that
``k(x, x) = 1`` and the same range of amplitudes suits all. A kernel with a parameter comes in a few
*variants*, of which the Gaussian process keeps the likeliest, as NAS-BOWL (Ru et al. 2021) does for
the rounds of WL. Node labels are those of the graph; other features enter by the feature kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bogrape.arrays import FloatArray
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph

from .subgraphs import TypeCounts

WL_ROUNDS = (1, 2, 3)
RW_STEPS = (2, 4, 8)
RW_DECAYS = (0.1, 1.0)


class TrainedKernel(Protocol):
    """A normalised kernel trained on the observed graphs; every graph has ``k(x, x) = 1``."""

    @property
    def gram(self) -> FloatArray:
        """Kernel between the observed graphs."""

    def cross(self, graphs: Sequence[Graph]) -> FloatArray:
        """Kernel of each graph (rows) with each observed one (columns)."""


# -- GraKel -----------------------------------------------------------------------------------


def to_grakel(graphs: Sequence[Graph]) -> list[Any]:
    """Convert graphs to GraKel's, with the same label on all edges."""
    from grakel import Graph as GrakelGraph

    out = []
    for graph in graphs:
        edges = {(int(u), int(v)): 1 for u, v in np.argwhere(graph.adjacency)}
        labels = dict(enumerate(graph.labels.tolist()))
        out.append(GrakelGraph(graph.adjacency.astype(int), node_labels=labels, edge_labels=edges))
    return out


@dataclass(frozen=True, eq=False)
class GrakelKernel:
    """A kernel object of GraKel, fitted to the observed graphs."""

    fitted: Any
    gram: FloatArray

    @classmethod
    def train(cls, kernel: Any, graphs: Sequence[Graph]) -> GrakelKernel:
        """Fit a fresh kernel object."""
        return cls(kernel, np.asarray(kernel.fit_transform(to_grakel(graphs)), dtype=float))

    def cross(self, graphs: Sequence[Graph]) -> FloatArray:
        """Kernel of each graph with each observed one."""
        return np.asarray(self.fitted.transform(to_grakel(graphs)), dtype=float)


def _weisfeiler_lehman(graphs: Sequence[Graph]) -> list[TrainedKernel]:
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    return [
        GrakelKernel.train(
            WeisfeilerLehman(n_iter=rounds, normalize=True, base_graph_kernel=VertexHistogram),
            graphs,
        )
        for rounds in WL_ROUNDS
    ]


def _optimal_assignment(graphs: Sequence[Graph]) -> list[TrainedKernel]:
    from grakel.kernels import WeisfeilerLehmanOptimalAssignment

    return [
        GrakelKernel.train(WeisfeilerLehmanOptimalAssignment(n_iter=rounds, normalize=True), graphs)
        for rounds in WL_ROUNDS
    ]


# -- subgraph matching ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SubgraphMatching:
    """Common induced subgraphs; see `benchmarks.surrogates.subgraphs`."""

    counts: TypeCounts
    gram: FloatArray

    def cross(self, graphs: Sequence[Graph]) -> FloatArray:
        """Kernel of each graph with each observed one."""
        new = TypeCounts.of(graphs)
        return np.asarray(new.inner(self.counts) / np.sqrt(np.outer(new.own(), self.counts.own())))


def _subgraph_matching(graphs: Sequence[Graph]) -> list[TrainedKernel]:
    counts = TypeCounts.of(graphs)
    own = np.sqrt(counts.own())
    return [SubgraphMatching(counts, counts.inner(counts) / np.outer(own, own))]


# -- random walks -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RandomWalks:
    r"""Pairs of equally labelled walks of up to p steps; those of k steps weigh ``decay^k``.

    .. math:: k(G, G') = \sum_{k=0}^{p} \lambda^k\, 1^\top W^k\, 1,\qquad
        W_{(u,u'),(v,v')} = A_{uv} A'_{u'v'} [l_u = l'_{u'}] [l_v = l'_{v'}]

    as GraKel's ``RandomWalkLabeled(lamda=decay, p=steps)``. The number of steps is finite because
    the infinite series needs :math:`\lambda < 1/\rho^2`, where the spectral radius :math:`\rho` may
    be n - 1; so small a decay leaves hardly more than the numbers of nodes. Each term is an inner
    product of counts of label sequences, so the kernel is positive semidefinite.
    """

    graphs: tuple[Graph, ...]
    weights: FloatArray  # of walks of 0..p steps
    own: FloatArray  # unnormalised kernel of each observed graph with itself
    gram: FloatArray

    def cross(self, graphs: Sequence[Graph]) -> FloatArray:
        """Kernel of each graph with each observed one."""
        steps = len(self.weights) - 1
        raw = _walks(graphs, self.graphs, steps) @ self.weights
        own = np.array([_walks([graph], [graph], steps)[0, 0] @ self.weights for graph in graphs])
        return np.asarray(raw / np.sqrt(np.outer(own, self.own)))


def _random_walks(graphs: Sequence[Graph]) -> list[TrainedKernel]:
    counts = _walks(graphs, graphs, max(RW_STEPS))
    out: list[TrainedKernel] = []
    for decay in RW_DECAYS:
        for steps in RW_STEPS:
            weights = np.power(decay, np.arange(steps + 1), dtype=np.float64)
            raw = counts[..., : steps + 1] @ weights
            own = np.diag(raw)
            out.append(RandomWalks(tuple(graphs), weights, own, raw / np.sqrt(np.outer(own, own))))
    return out


def _walks(left: Sequence[Graph], right: Sequence[Graph], steps: int) -> FloatArray:
    """Pairs of walks of each number of steps: ``(len(left), len(right), steps + 1)``."""
    out = np.zeros((len(left), len(right), steps + 1))
    sizes = np.array([graph.n_nodes for graph in right])
    for n in np.unique(sizes):
        index = np.flatnonzero(sizes == n)
        B = np.stack([right[int(j)].adjacency for j in index]).astype(float)
        labels = np.stack([right[int(j)].labels for j in index])
        for i, graph in enumerate(left):
            A = graph.adjacency.T.astype(float)
            agree = (graph.labels[None, :, None] == labels[:, None, :]).astype(float)
            x = np.ones_like(agree)  # number of walks that end in each pair of nodes
            out[i, index, 0] = x.sum(axis=(1, 2))
            for k in range(1, steps + 1):
                x = agree * (A @ (agree * x) @ B)
                out[i, index, k] = x.sum(axis=(1, 2))
    return out


# -- by name ----------------------------------------------------------------------------------

_VARIANTS: dict[str, Callable[[Sequence[Graph]], list[TrainedKernel]]] = {
    "rw": _random_walks,
    "sm": _subgraph_matching,
    "wl": _weisfeiler_lehman,
    "wloa": _optimal_assignment,
}
KERNEL_NAMES = tuple(_VARIANTS)


def kernel_variants(name: str, graphs: Sequence[Graph]) -> list[TrainedKernel]:
    """The kernel of that name on the observed graphs, once for each value of its parameters."""
    if name not in _VARIANTS:
        raise InvalidInputError(f"unknown kernel {name!r}; choose one of {', '.join(_VARIANTS)}")
    try:
        return _VARIANTS[name](graphs)
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"kernel {name!r} is computed by GraKel, which cannot be imported ({error}); "
            "try pip install 'bogrape[baselines]'"
        ) from None
