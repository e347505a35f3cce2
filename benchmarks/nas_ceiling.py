"""Predictability of the best architectures of NAS-Bench-Graph, with far more observations.

``python -m benchmarks.nas_ceiling`` fits SP, with fitted noise and ``cap=3``, to 1,500 random
architectures of each data set (500 of ``proteins``) and predicts all others. If the best of these
lies far from the top of the predicted order, a run of 100 evaluations finds it only by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from bogrape.arrays import FloatArray, IntArray
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.problems.nas_bench_graph import DATA_SETS, Tree, label_names, table

from .markdown_tables import markdown
from .records import Record, appending, provenance, rounded

FILE = "nas-ceiling.jsonl"
OBSERVED = 1500
OBSERVED_OF_PROTEINS = 500
CHOSEN = 90  # best predictions that are examined: as many as a run has proposals
_CAP = 3.0


def graph_of(tree: Tree, names: Sequence[str]) -> Graph:
    """An architecture as a graph, its nodes numbered from the input down."""
    labels: list[int] = []
    arcs: list[tuple[int, int]] = []

    def add(part: Tree) -> int:
        name, below = part
        node = len(labels)
        labels.append(names.index(name))
        for child in below:
            arcs.append((node, add(child)))
        return node

    add(tree)
    adjacency = np.zeros((len(labels), len(labels)), dtype=bool)
    for u, v in arcs:
        adjacency[u, v] = True
    return Graph(adjacency, labels, directed=True)


def measured(data_set: str, seed: int) -> Record:
    """Fit to random architectures, predict the others."""
    names = label_names(data_set)
    rows = table(data_set)
    graphs = [graph_of(tree, names) for tree in rows]
    values = np.array([-row["perf"] for row in rows.values()])
    order = np.random.default_rng(seed).permutation(len(graphs))
    n = OBSERVED_OF_PROTEINS if data_set == "proteins" else OBSERVED
    gp = GraphGP("sp", "fit", n_labels=len(names), cap=_CAP)
    gp.fit([graphs[i] for i in order[:n]], values[order[:n]])
    others = order[n:]
    mean = np.asarray(gp.predict([graphs[i] for i in others], return_std=False))
    truth = values[others]
    chosen = np.argsort(mean)[:CHOSEN]
    return {
        "data_set": data_set,
        "seed": seed,
        "observed": n,
        "correlation": float(np.corrcoef(_ranks(mean), _ranks(truth))[0, 1]),
        "position_of_best": int((mean < mean[np.argmin(truth)]).sum()) + 1,
        "best_of_chosen": int((truth < truth[chosen].min()).sum()) + 1,
    }


def _ranks(values: FloatArray) -> IntArray:
    return np.asarray(np.argsort(np.argsort(values)), dtype=np.int64)


def table_of(records: Sequence[Record]) -> str:
    """One row per data set."""
    header = [
        *("data set", "observed", "rank correlation"),
        "predicted position of the best of the others",
        f"true rank of the best of the {CHOSEN} predicted to be best",
    ]
    return markdown(
        header,
        [
            [
                str(record["data_set"]),
                str(record["observed"]),
                f"{record['correlation']:.2f}",
                str(record["position_of_best"]),
                str(record["best_of_chosen"]),
            ]
            for record in records
        ],
    )


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("bench-results"))
def main(out: Path) -> None:
    """Measure the missing data sets."""
    with appending(out / FILE) as file:
        done = {record["data_set"] for record in file.records}
        for data_set in DATA_SETS:
            if data_set not in done:
                file.append({**rounded(measured(data_set, 0)), **provenance()})
                click.echo(file.records[-1])


if __name__ == "__main__":
    main()
