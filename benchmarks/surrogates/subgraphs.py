r"""Subgraph matching by counting: the values of GraKel's ``SubgraphMatching(k=5)``, much faster.

The kernel (Kriege and Mutzel 2012) counts the bijections between connected induced subgraphs of up
to five nodes that respect labels and edges. Between two subgraphs of the same type t there are as
many bijections as t has automorphisms, so with :math:`c_t(G)`, the number of such subgraphs of type
t,

.. math:: k(G, G') = \sum_t |\mathrm{Aut}(t)|\; c_t(G)\, c_t(G')

For undirected graphs the values are GraKel's. For directed ones they differ from GraKel's: here the
arcs between two nodes have to agree in both directions, and connected means weakly connected.

Work is done once per graph instead of once per pair. A subgraph is written as one integer, its
labels and the bits of its adjacency in the order of its nodes; the type is the smallest such
integer over all orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from bogrape.arrays import BoolArray, FloatArray, IntArray
from bogrape.errors import UnsupportedError
from bogrape.graph import Graph

LARGEST = 5
_NODES = 62  # sets of nodes are bits of an integer
_LABELS = 64  # base of the labels in a code: five of them and 20 bits of adjacency fit 63 bits


@dataclass(frozen=True, eq=False)
class TypeCounts:
    """Types of subgraphs in a list of graphs, as the entries of a sparse matrix."""

    n_graphs: int
    graphs: IntArray
    types: IntArray
    counts: FloatArray  # times the root of the number of automorphisms

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> TypeCounts:
        """Count all connected induced subgraphs of up to five nodes."""
        for graph in graphs:
            if graph.n_nodes > _NODES or graph.labels.max() >= _LABELS:
                raise UnsupportedError(
                    f"subgraph matching takes up to {_NODES} nodes and labels below {_LABELS}, "
                    f"got {graph.n_nodes} nodes and label {graph.labels.max()}"
                )
        subsets = [_connected_subsets(graph) for graph in graphs]
        parts = [_of_size(graphs, [of_graph[k] for of_graph in subsets]) for k in range(LARGEST)]
        owner, types, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(len(graphs), owner, types, counts)

    def inner(self, other: TypeCounts) -> FloatArray:
        """Kernel between the graphs of two lists, not normalised."""
        from scipy.sparse import coo_array

        both = np.concatenate([self.types, other.types])
        kinds, column = np.unique(both, return_inverse=True)
        left, right = np.split(column, [len(self.types)])
        X = coo_array((self.counts, (self.graphs, left)), (self.n_graphs, len(kinds))).tocsr()
        Y = coo_array((other.counts, (other.graphs, right)), (other.n_graphs, len(kinds))).tocsr()
        return np.asarray((X @ Y.T).toarray(), dtype=np.float64)

    def own(self) -> FloatArray:
        """Kernel of each graph with itself."""
        return np.bincount(self.graphs, self.counts**2, self.n_graphs).astype(np.float64)


def _of_size(
    graphs: Sequence[Graph], subsets: Sequence[IntArray]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Owner, type and weighted count of subgraphs, given the nodes ``(B, s)`` for each graph."""
    size = subsets[0].shape[1]
    owners, codes, numbers = [], [], []
    for i, (graph, nodes) in enumerate(zip(graphs, subsets, strict=True)):
        inside = graph.adjacency[nodes[:, :, None], nodes[:, None, :]]
        code, number = np.unique(_codes(graph.labels[nodes], inside), return_counts=True)
        owners.append(np.full(len(code), i))
        codes.append(code)
        numbers.append(number)
    written, place = np.unique(np.concatenate(codes), return_inverse=True)
    types, n_automorphisms = _types(written, size)
    owner, kind = np.concatenate(owners), types[place]
    # one entry for each graph and type: several codes may be of one type
    pairs, inverse = np.unique(np.stack([owner, kind]), axis=1, return_inverse=True)
    total = np.bincount(inverse.ravel(), np.concatenate(numbers)).astype(np.float64)
    automorphisms = np.zeros(pairs.shape[1])
    automorphisms[inverse.ravel()] = n_automorphisms[place]
    return pairs[0], pairs[1] * (LARGEST + 1) + size, total * np.sqrt(automorphisms)


def _connected_subsets(graph: Graph) -> list[IntArray]:
    """Nodes of all connected subgraphs (arcs taken both ways), an array for each number of nodes.

    Sets of nodes are bits of an integer. Adding a neighbour gives the sets with one more node.
    """
    n = graph.n_nodes
    bit = 1 << np.arange(n)
    neighbours = (graph.adjacency | graph.adjacency.T) @ bit
    sets, out = bit, []
    for size in range(1, LARGEST + 1):
        members = (sets[:, None] & bit) > 0
        out.append(np.nonzero(members)[1].reshape(-1, size))
        around = np.bitwise_or.reduce(np.where(members, neighbours, 0), axis=1) & ~sets
        grown = sets[:, None] | bit
        sets = np.unique(grown[(around[:, None] & bit) > 0])
    return out


def _codes(labels: IntArray, adjacency: BoolArray) -> IntArray:
    """One integer for each row of labels ``(B, s)`` and its adjacency ``(B, s, s)``."""
    size = labels.shape[1]
    code = labels @ _LABELS ** np.arange(size)
    for u, v in permutations(range(size), 2):
        code = 2 * code + adjacency[:, u, v]
    return np.asarray(code, dtype=np.int64)


def _types(codes: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Smallest code over all orders of the nodes, and number of orders that keep the code."""
    rest, adjacency = codes.copy(), np.zeros((len(codes), size, size), dtype=bool)
    for u, v in reversed(list(permutations(range(size), 2))):
        adjacency[:, u, v] = rest % 2
        rest //= 2
    labels = rest[:, None] // _LABELS ** np.arange(size) % _LABELS
    smallest, fixed = codes.copy(), np.zeros(len(codes), dtype=np.int64)
    for order in permutations(range(size)):
        index = list(order)
        renamed = _codes(labels[:, index], adjacency[:, index][:, :, index])
        smallest = np.minimum(smallest, renamed)
        fixed += renamed == codes
    return smallest, fixed
