"""Instances taken from trajectories: the observations of a study after a number of proposals.

Proofs are easy with random values of random graphs: such values carry no information, so the
posterior is wide everywhere. A study is different. Its proposals crowd around good graphs, its
values follow from the graphs, and the acquisition is nearly flat where the next proposal lies.

``data/trajectories.jsonl`` holds one trajectory per line: 10 random graphs of a problem and 50
proposals, each the graph with the best expected improvement under the kernel ``rbf`` with fitted
noise that local search finds in `N_EVALUATIONS` evaluations. The first 10 + 5, 10 + 20 and 10 + 50
observations of each are the instances.

``python -m benchmarks.trajectories`` makes the trajectories missing from the file, and can be
stopped at any time. The budget is a number of evaluations, so every machine makes the same
trajectories with the same versions; other versions may propose other graphs, which is why the file
is kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from bogrape.acquisition import EI
from bogrape.errors import InvalidInputError
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.problems import get_problem
from bogrape.propose.criterion import Criterion
from bogrape.propose.local.search import search
from bogrape.space import GraphSpace

from .records import Record, appending, provenance, read
from .replication import initial_design, stream

DATA = Path(__file__).parent / "data" / "trajectories.jsonl"
PROBLEMS = ("gcn-10", "gat-10", "sage-10", "qm7-10", "qm9-10")
N_SEEDS = 3
N_INITIAL = 10
N_PROPOSALS = (5, 20, 50)
METHOD = "rbf-ei"
N_EVALUATIONS = 40_000  # acquisition values per proposal


class Instance(NamedTuple):
    """A space and observations of its graphs."""

    name: str  # such as gcn-10+20/1: problem, number of proposals, seed
    space: GraphSpace
    graphs: list[Graph]
    values: list[float]


def instances(
    problems: Sequence[str] = PROBLEMS,
    n_proposals: Sequence[int] = N_PROPOSALS,
    seeds: Sequence[int] = range(N_SEEDS),
) -> Iterator[Instance]:
    """All instances of these problems, numbers of proposals and seeds."""
    for problem in problems:
        for n in n_proposals:
            for seed in seeds:
                yield instance(f"{problem}+{n}", seed)


def instance(problem: str, seed: int) -> Instance:
    """The instance of a problem such as ``gcn-10+20``: the observations after 20 proposals."""
    name, _, number = problem.partition("+")
    if not number.isdigit():
        raise InvalidInputError(
            f"expected a problem, a plus and a number of proposals such as gcn-10+20, got {problem}"
        )
    for record in read(DATA):
        if (record["problem"], record["seed"]) == (name, seed):
            break
    else:
        raise InvalidInputError(
            f"expected a trajectory of {name} with seed {seed} in {DATA.name}, got none; "
            "try python -m benchmarks.trajectories"
        )
    n = N_INITIAL + int(number)
    if n > len(record["values"]):
        raise InvalidInputError(
            f"expected at most {len(record['values']) - N_INITIAL} proposals, got {number}"
        )
    graphs = [Graph.from_json(json.dumps(graph)) for graph in record["graphs"][:n]]
    space = get_problem(name, seed).space
    return Instance(f"{problem}/{seed}", space, graphs, record["values"][:n])


def make(problem: str, seed: int) -> Record:
    """Make a trajectory, as a record of the file."""
    posed = get_problem(problem, seed)
    graphs = initial_design(posed, N_INITIAL, seed)
    values = [posed.objective(graph) for graph in graphs]
    fitted = None
    with threadpool_limits(1):
        for step in range(1, max(N_PROPOSALS) + 1):
            gp = GraphGP("rbf", "fit", space=posed.space).fit(graphs, values, start=fitted)
            fitted = gp.hyperparameters
            elite = search(
                Criterion(posed.space, gp.posterior, EI()),
                excluded={posed.space.identity(graph) for graph in graphs},
                n_evaluations=N_EVALUATIONS,
                seed=stream(seed, step),
                starts=graphs,
            )
            graphs.append(next(iter(elite.ties.values())))
            values.append(posed.objective(graphs[-1]))
    return {
        "problem": problem,
        "method": METHOD,
        "seed": seed,
        "n_initial": N_INITIAL,
        "n_evaluations": N_EVALUATIONS,
        "values": values,
        "graphs": [json.loads(graph.to_json()) for graph in graphs],
        **provenance(),
    }


def main() -> None:
    """Make the trajectories missing from the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("problems", nargs="*", default=PROBLEMS, metavar="PROBLEM")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="seeds 0, 1, ...")
    given = parser.parse_args()
    with appending(DATA) as file:
        done = {(record["problem"], record["seed"]) for record in file.records}
        for seed in range(given.seeds):
            for problem in given.problems:
                if (problem, seed) not in done:
                    record = make(problem, seed)
                    file.append(record)
                    best = min(record["values"])
                    print(f"{problem} seed {seed}: best value {best:.5g}", flush=True)


if __name__ == "__main__":
    main()
