"""Quality of graphs that local search finds with a budget, in states of real trajectories.

    python -m benchmarks.local_search [--evaluations 2500 12000 50000] [--sizes 10 20]

A state holds the observations of a run of Bayesian optimisation (kernel ``rbf``, fitted noise, EI)
after 10 random graphs and 2, 10, 20 or 35 proposals, on random networks with 10 and 20 nodes, two
seeds of each. States are kept in ``docs/results/local-search-states.jsonl.gz``, so that all
versions of the search are compared on the same ones, by the expected improvement of the graph
found, as a share of the largest found by any search; ``before`` is the search with many chains and
large rounds. Results in ``docs/results/local-search.jsonl`` are not computed again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from bogrape.acquisition import EI
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.problems import get_problem
from bogrape.propose.criterion import Criterion
from bogrape.propose.local import chains
from bogrape.propose.local.search import search

from .checkout import ROOT
from .markdown_tables import markdown
from .records import Record, appending, key, provenance, read

STATES = ROOT / "docs" / "results" / "local-search-states.jsonl.gz"
RESULTS = ROOT / "docs" / "results" / "local-search.jsonl"
# by name, the constants of the search that differ from their present values
SEARCHES: dict[str, dict[str, int]] = {
    "before": {"_CHAINS": 24, "_CANDIDATES": 4000, "_STUCK_AFTER": 2},
    "now": {},
}
EVALUATIONS = (2_500, 12_000, 50_000)
_SEED = 1
_FOUND = 0.999  # share of the best known value that counts as having found it


class State(NamedTuple):
    """Observations on a problem."""

    problem: str
    seed: int
    graphs: list[Graph]
    values: list[float]

    @property
    def name(self) -> str:
        """Problem, seed and number of observations after the first ten, such as gcn-10/1+20."""
        return f"{self.problem}/{self.seed}+{len(self.graphs) - 10}"


def states(sizes: Sequence[int], path: Path = STATES) -> Iterator[State]:
    """The states with graphs of these sizes."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["graphs"][0]["n_nodes"] not in sizes:
                continue
            graphs = [Graph.from_json(json.dumps(graph)) for graph in record["graphs"]]
            for n in record["observations"]:
                yield State(record["problem"], record["seed"], graphs[:n], record["values"][:n])


def measure(state: State, searching: str, n_evaluations: int) -> Record:
    """The expected improvement that a search finds, in standard deviations, and its cost."""
    space = get_problem(state.problem, state.seed).space
    gp = GraphGP("rbf", "fit", space=space).fit(state.graphs, state.values)
    criterion = Criterion(space, gp.posterior, EI())
    excluded = frozenset(map(space.identity, state.graphs))
    with threadpool_limits(1), patch.dict(vars(chains), SEARCHES[searching]):
        began = time.process_time()
        elite = search(
            criterion,
            excluded=excluded,
            n_evaluations=n_evaluations,
            seed=_SEED,
            starts=state.graphs,
        )
        seconds = time.process_time() - began
    mean, std = gp.predict([next(iter(elite.ties.values()))])
    improvement = -float(EI()(mean, std, min(state.values))[0])
    return {
        "improvement": improvement / gp.posterior.model.y_scale,
        "n_evaluations": elite.n_evaluations,
        "cpu_seconds": round(seconds, 3),
    }


def table(records: Sequence[Record]) -> str:
    """Mean share of the best known value, how often it was found, and seconds, by budget."""
    best: dict[str, float] = {}
    for record in records:
        name = record["problem"]
        best[name] = max(best.get(name, 0.0), record["improvement"])
    rows = []
    kinds = sorted({(_size(r["problem"]), r["seed"], r["method"]) for r in records})
    for n, budget, method in kinds:
        own = [
            r
            for r in records
            if (_size(r["problem"]), r["seed"], r["method"]) == (n, budget, method)
        ]
        share = np.array([r["improvement"] / best[r["problem"]] for r in own])
        rows.append(
            [
                *map(str, (n, f"{budget:,}", method, len(own))),
                f"{100 * share.mean():.0f} %",
                f"{100 * (share > _FOUND).mean():.0f} %",
                f"{np.mean([r['cpu_seconds'] for r in own]):.2f}",
            ]
        )
    header = ["N", "evaluations", "search", "states", "EI / best known", "found it", "CPU seconds"]
    return markdown(header, rows)


def _size(name: str) -> int:
    return int(name.partition("/")[0].partition("-")[2])


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute the missing results, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", nargs="+", type=int, default=EVALUATIONS)
    parser.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES))
    parser.add_argument("--sizes", nargs="+", type=int, default=(10, 20))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    with appending(options.out) as file:
        done = {key(record) for record in file.records}
        for state in states(options.sizes):
            for budget in options.evaluations:
                for searching in options.searches:
                    # records of one method are told apart by their seed: here, by the budget
                    head = {"problem": state.name, "method": searching, "seed": budget}
                    if key(head) not in done:
                        found = measure(state, searching, budget)
                        file.append({**head, **found, **provenance()})
    print(table(read(options.out)))


if __name__ == "__main__":
    main()
