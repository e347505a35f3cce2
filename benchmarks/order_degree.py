"""``python -m benchmarks.order_degree``: proofs of the order/degree problem for small orders.

The average distance is linear in the numbers of pairs at each distance, so a Gaussian process with
the kernel ``ssp`` that has seen enough graphs has it as its mean, and the exact engine's bound on
the mean is one on the average distance. The error of the mean is computed, not assumed: the
posterior's weights are compared with those of the average distance, and the largest difference for
any graph of the order is subtracted from the bound.

The sum of all distances is a whole number. So once the bound is above the best sum minus one, no
graph is better, and the best graph, whose distances are computed again, is an optimum.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bogrape.acquisition import LCB
from bogrape.batch import Batch
from bogrape.counts import count
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.posterior import WeightPosterior
from bogrape.problems.order_degree import average_distance, moore_bound, order_degree_space
from bogrape.propose import propose

from .markdown_tables import markdown, short_number
from .records import Record, appending, provenance

FILE = "order-degree.jsonl"
DEGREE = 3
ORDERS = range(4, 13)
_NOISE = 1e-9


def brooms(n: int) -> list[Graph]:
    """Paths of every length with the other nodes at one end; their counts span all counts."""
    out = []
    for handle in range(1, n):
        adjacency = np.zeros((n, n), dtype=bool)
        for v in range(1, n):
            u = v - 1 if v <= handle else handle - 1
            adjacency[u, v] = adjacency[v, u] = True
        out.append(Graph(adjacency))
    complete = ~np.eye(n, dtype=bool)
    return [*out, Graph(complete)]


def prove(n: int, degree: int, time_limit: float) -> Record:
    """The smallest sum of distances found, and whether it is proved to be the smallest."""
    start = time.monotonic()
    known = [*brooms(n), *order_degree_space(n, n - 1).sample(2 * n, seed=0)]
    gp = GraphGP("ssp", _NOISE).fit(known, average_distance(Batch.of(known)))
    space = order_degree_space(n, degree)
    proposal = propose(space, gp, LCB(0.0), "exact", time_limit)
    n_pairs = n * (n - 1) // 2
    found = distances_of(proposal.graph)
    off = largest_error(gp, n)
    bound = (proposal.bound - off) * n_pairs
    return {
        "problem": f"order-degree-{n}-{degree}",
        "method": "ssp",
        "seed": 0,
        "time_limit": time_limit,
        "sum": found,
        "bound": bound,
        "error": off * n_pairs,
        "moore_bound": round(moore_bound(n, degree) * n_pairs),
        "proved": bool(bound > found - 1),
        "status": proposal.status,
        "graph": proposal.graph.to_json(),
        "seconds": round(time.monotonic() - start, 2),
        **provenance(),
    }


def distances_of(graph: Graph) -> int:
    """The sum of all distances between two nodes."""
    return int(graph.distances()[np.triu_indices(graph.n_nodes, 1)].sum())


def largest_error(gp: GraphGP, n: int) -> float:
    """Error of the mean against the average distance, for any connected graph of the order.

    Both are linear in the counts ``D_s``, the ordered pairs at distance s, which are 0..n(n-1) each
    and n for s = 0. The labels of an unlabelled graph are a constant.
    """
    posterior = gp.posterior
    assert isinstance(posterior, WeightPosterior)
    model = posterior.model
    # the mean of a graph minus its average distance, as a function of D_1, ..., D_{n-1}
    path = count([brooms(n)[-2]], pairs=False)
    assert path.lengths.shape[1] == n, "a path has pairs at all distances"
    n_paths = int(np.prod(posterior.path_shape))
    per_count = (
        model.y_scale * math.sqrt(model.alpha) * posterior.weights[:n_paths].reshape(-1) / n**2
    )
    constant = model.y_mean + per_count[0] * n
    if model.beta:
        nodes = posterior.features(path)[0, n_paths:]
        constant += model.y_scale * float(nodes @ posterior.weights[n_paths:])
    lengths = np.arange(1, n_paths)
    # the D_s add up to n(n-1), so a constant is an equal share of each
    slopes = per_count[1:] + constant / (n * (n - 1)) - lengths / (n * (n - 1))
    return float(np.abs(slopes).max() * n * (n - 1))


def table(records: Sequence[Record]) -> str:
    """One row per order."""
    rows = [
        [
            record["problem"].split("-")[2],
            str(record["sum"]),
            short_number(2 * record["sum"] / (n * (n - 1))),
            str(record["moore_bound"]),
            f"{record['bound']:.4f}",
            "yes" if record["proved"] else "no",
            f"{record['seconds']:.1f}",
        ]
        for record in records
        for n in [int(record["problem"].split("-")[2])]
    ]
    header = ["nodes", "sum of distances", "average", "Moore's bound", "bound", "proved", "seconds"]
    return markdown(header, rows)


def main() -> None:
    """Run the missing proofs."""
    parser = argparse.ArgumentParser(description="proofs of the order/degree problem")
    parser.add_argument("--out", type=Path, default=Path("bench-results"))
    parser.add_argument("--time-limit", type=float, default=300.0)
    parser.add_argument("--orders", type=int, nargs="*", default=list(ORDERS))
    arguments = parser.parse_args()
    with appending(arguments.out / FILE) as file:
        done = {record["problem"] for record in file.records}
        for n in arguments.orders:
            if f"order-degree-{n}-{DEGREE}" not in done:
                record = prove(n, DEGREE, arguments.time_limit)
                file.append(record)
                print(
                    f"{n} nodes: {record['sum']}, bound {record['bound']:.6f}, "
                    f"{'proved' if record['proved'] else 'not proved'}, {record['seconds']} s"
                )


if __name__ == "__main__":
    main()
