r"""The order/degree problem of Graph Golf: n nodes, degree d, as few hops on average as possible.

Nodes are routers with d ports, edges are cables, and the average shortest path length

.. math:: \mathrm{ASPL}(G) = \frac{2}{n (n-1)} \sum_{u<v} d(u, v)

is to be minimised over connected graphs in which no node has a degree above d.

``order-degree-12-3`` has 12 nodes of degree 3. Up to 12 nodes the optimum is known: the sum of
distances was proved to be the smallest (``python -m benchmarks.order_degree``). The sum is linear
in the numbers of pairs at each distance, which the kernel ``ssp`` sees.

Graphs that reach the bound of Moore, with :math:`d (d-1)^{s-1}` nodes at distance s from every node
until there are n, cannot be beaten; `moore_bound` gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..arrays import FloatArray
from ..batch import Batch
from ..constraints import DegreeRange
from ..counts import distances_batch
from ..graph import Graph
from ..space import GraphSpace
from . import Problem, register

SOURCE = "Graph Golf (order/degree problem), https://research.nii.ac.jp/graphgolf"
DEGREE = 3
# proved for these numbers of nodes: the smallest sum of all distances (docs/results/proofs.jsonl)
SMALLEST_SUMS = {4: 6, 5: 13, 6: 21, 7: 32, 8: 44, 9: 61, 10: 75, 11: 102, 12: 126}
# the best known ASPL of larger cases, from Graph Golf's page
PUBLISHED = {36: 1932 / 630}


def average_distance(batch: Batch) -> FloatArray:
    """Average shortest path length of connected graphs."""
    n = batch.n_nodes
    return np.asarray(distances_batch(batch.adjacency).sum(axis=(1, 2)) / (n * (n - 1)))


@dataclass(frozen=True)
class AverageDistance:
    """The objective."""

    def __call__(self, graph: Graph) -> float:
        return float(average_distance(Batch.of([graph]))[0])

    def of_batch(self, batch: Batch) -> FloatArray:
        """Values of a batch of connected graphs."""
        return average_distance(batch)


def moore_bound(n_nodes: int, degree: int) -> float:
    """No graph of that order and degree has a smaller ASPL.

    >>> moore_bound(10, 3) * 9  # Petersen's graph: 3 nodes at distance 1, 6 at distance 2
    15.0
    """
    left, at, total, length = n_nodes - 1, degree, 0, 1
    while left > 0:
        here = min(at, left)
        total += length * here
        left, at, length = left - here, at * (degree - 1), length + 1
    return total / (n_nodes - 1)


def order_degree_space(n_nodes: int, degree: int) -> GraphSpace:
    """Connected graphs in which no node has more neighbours than that."""
    return GraphSpace(n_nodes, rules=(DegreeRange(maximum=degree),))


def order_degree_problem(seed: int, *, n_nodes: int, degree: int) -> Problem:
    """Find the graph of least average distance; the seed changes nothing."""
    objective, n_pairs = AverageDistance(), n_nodes * (n_nodes - 1) / 2
    smallest = SMALLEST_SUMS.get(n_nodes)
    return Problem(
        name=f"order-degree-{n_nodes}-{degree}",
        space=order_degree_space(n_nodes, degree),
        objective=objective,
        seed=seed,
        optimum=None if smallest is None else smallest / n_pairs,
        reference=PUBLISHED.get(n_nodes, moore_bound(n_nodes, degree)),
        source=SOURCE,
        many=objective.of_batch,
    )


for _n_nodes in (*range(4, 13), 16, 20, 36):
    register(f"order-degree-{_n_nodes}-{DEGREE}")(
        partial(order_degree_problem, n_nodes=_n_nodes, degree=DEGREE)
    )
