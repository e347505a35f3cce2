"""Small spaces, enumerated, so that the true optimum is known.

``small-gcn-5``, ``small-gat-5`` and ``small-sage-5`` are random networks over the 354 connected
graphs with 5 nodes and 2 labels; ``small-gcn-7`` is one over the 853 connected graphs with 7 nodes
without labels.
"""

from __future__ import annotations

from functools import cache, partial

from ..batch import Batch
from ..space import GraphSpace
from . import Problem, register
from .gnn import Network


def small_problem(seed: int, *, convolution: str, n_nodes: int, n_labels: int) -> Problem:
    """Minimise the output of a random network over a space that can be enumerated."""
    network = Network.random(convolution, seed, n_labels)
    space = GraphSpace(n_nodes=n_nodes, labels=n_labels)
    return Problem(
        name=f"small-{convolution}-{n_nodes}",
        space=space,
        objective=network,
        seed=seed,
        optimum=float(network.of_batch(_all_graphs(n_nodes, n_labels)).min()),
        many=network.of_batch,
    )


@cache
def _all_graphs(n_nodes: int, n_labels: int) -> Batch:
    """Every graph of the space, once; a second or more the first time."""
    return Batch.of(GraphSpace(n_nodes=n_nodes, labels=n_labels).enumerate())


for _convolution, _n_nodes, _n_labels in (
    ("gcn", 5, 2),
    ("gat", 5, 2),
    ("sage", 5, 2),
    ("gcn", 7, 1),
):
    register(f"small-{_convolution}-{_n_nodes}")(
        partial(small_problem, convolution=_convolution, n_nodes=_n_nodes, n_labels=_n_labels)
    )
