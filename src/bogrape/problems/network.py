r"""Design of a communication network: quick, hard to break and cheap, under a budget of links.

Nodes are devices of three kinds, ``core``, ``switch`` and ``relay``, with a delay :math:`\delta_l`
for what passes through, a price :math:`\pi_l` and a number of ports (6, 4, 3). Links are the edges,
n - 1 to 3n/2 of them, and everything is connected. To be minimised:

.. math::

    f(G) &= \text{latency} + 3\, \text{fragility} + \text{price} \\
    \text{latency} &= \text{mean over pairs } u < v \text{ of } \min_{\text{paths}}
        \Bigl(\text{links} + \sum_{w \text{ inside the path}} \delta_{l_w}\Bigr) \\
    \text{fragility} &= \max_w\ \text{share of the pairs of other nodes cut off from each other when
        } w \text{ fails} \\
    \text{price} &= \text{mean over nodes of } \pi_{l_v}

The three pull apart: stars are quick but break with their centre, rings are safe but slow, cores
are quick but dear. Delays and prices are drawn by the seed: a better kind is faster and dearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..arrays import FloatArray
from ..batch import Batch
from ..constraints import DegreeRange, NumberOfEdges
from ..graph import Graph
from ..space import GraphSpace
from . import Problem, register

KINDS = ("core", "switch", "relay")
PORTS = (6, 4, 3)
FRAGILITY_WEIGHT = 3.0


@dataclass(frozen=True, eq=False)
class NetworkDesign:
    """The objective.

    Attributes:
        delays: of each kind of device, in units of a link's.
        prices: of each kind of device.
    """

    delays: FloatArray
    prices: FloatArray

    @classmethod
    def random(cls, seed: int) -> NetworkDesign:
        """Delays between 0.1 and 1.5, the core's smallest; prices between 0.2 and 2, likewise."""
        rng = np.random.default_rng(seed)
        return cls(np.sort(rng.uniform(0.1, 1.5, 3)), np.sort(rng.uniform(0.2, 2.0, 3))[::-1])

    def __call__(self, graph: Graph) -> float:
        return float(self.of_batch(Batch.of([graph]))[0])

    def of_batch(self, batch: Batch) -> FloatArray:
        """Values of a batch of connected graphs."""
        price = self.prices[batch.labels].mean(axis=1)
        return np.asarray(self.latency(batch) + FRAGILITY_WEIGHT * fragility(batch) + price)

    def latency(self, batch: Batch) -> FloatArray:
        """Mean latency over pairs, by Floyd and Warshall's recursion over the devices inside."""
        n = batch.n_nodes
        delay = self.delays[batch.labels]
        times = np.where(batch.adjacency, 1.0, np.inf)
        times[:, np.arange(n), np.arange(n)] = 0.0
        for w in range(n):
            through = times[:, :, w, None] + delay[:, None, w, None] + times[:, w, None, :]
            times = np.minimum(times, through)
        times[:, np.arange(n), np.arange(n)] = 0.0
        return np.asarray(times.sum(axis=(1, 2)) / (n * (n - 1)))


def fragility(batch: Batch) -> FloatArray:
    """Share of the pairs cut off by the failure of one node, for the worst node."""
    n = batch.n_nodes
    worst = np.zeros(len(batch))
    for w in range(n):
        others = np.delete(np.arange(n), w)
        reached = batch.adjacency[:, others[:, None], others] | np.eye(n - 1, dtype=bool)
        for _ in range(int(np.ceil(np.log2(n)))):
            reached = reached @ reached
        cut = (~reached).sum(axis=(1, 2)) / ((n - 1) * (n - 2))
        worst = np.maximum(worst, cut)
    return worst


def network_problem(seed: int, *, n_nodes: int) -> Problem:
    """Design a network of some devices."""
    design = NetworkDesign.random(seed)
    ports = [DegreeRange(maximum=most, label=kind) for kind, most in zip(KINDS, PORTS, strict=True)]
    return Problem(
        name=f"network-{n_nodes}",
        space=GraphSpace(
            n_nodes, labels=KINDS, rules=(NumberOfEdges(n_nodes - 1, 3 * n_nodes // 2), *ports)
        ),
        objective=design,
        seed=seed,
        many=design.of_batch,
    )


for _n_nodes in (10, 20):
    register(f"network-{_n_nodes}")(partial(network_problem, n_nodes=_n_nodes))
