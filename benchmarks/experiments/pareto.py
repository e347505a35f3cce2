"""Two properties of molecules at once: QED and synthetic accessibility (not in the paper).

A Pareto search is compared with random sampling and with evolution of a weighted sum, from the same
initial molecules and with the same number of evaluations. They are compared by the hypervolume of
the front: QED counts from 0, accessibility from 6, above which molecules are hard to make.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bogrape.batch import Batch
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph
from bogrape.properties import Goals
from bogrape.propose.local.moves import MoveTable
from bogrape.space import GraphSpace
from bogrape.study import Study

from ..markdown_tables import markdown
from ..records import Record
from . import SEARCHES, Experiment, Plan, Task, register

REFERENCE = {"qed": 0.0, "sa": 6.0}
GOALS = Goals({"qed": "maximize", "sa": "minimize"}, "pareto", REFERENCE)
METHODS = ("bogrape", "evolution of a sum", "random")
_PARENTS = 5  # of the best molecules so far, one is mutated
_CHILDREN = 50  # mutants made of a parent at once, to find one that is new
Values = dict[str, float]

PLAN = Plan(
    problems=("molecules-10", "molecules-12"),
    methods=METHODS,
    replications=5,
    n_initial=10,
    n_iterations=40,
    search="weak",
)


@cache
def space_of(problem: str) -> GraphSpace:
    """Molecules of C, N, O, F and S with a given number of heavy atoms and at most three rings."""
    from bogrape.constraints import CycleRange
    from bogrape.molecules import molecule_space

    name, _, n = problem.partition("-")
    if name != "molecules" or not n.isdecimal():
        raise InvalidInputError(f"expected a problem such as molecules-12, got {problem!r}")
    return molecule_space(("C", "N", "O", "F", "S"), int(n), rules=[CycleRange(maximum=3)])


def evaluate(graph: Graph) -> Values:
    """QED and the accessibility score of RDKit."""
    from bogrape.molecules import objectives

    return {"qed": objectives.qed(graph), "sa": objectives.synthetic_accessibility(graph)}


def settings(plan: Plan, method: str) -> dict[str, Any]:
    """Budgets; that of the search for a proposal only where there is one."""
    if method not in METHODS:
        raise InvalidInputError(f"expected one of {', '.join(METHODS)}, got {method!r}")
    out: dict[str, Any] = {"n_initial": plan.n_initial, "n_iterations": plan.n_iterations}
    if method == "bogrape":
        out["n_evaluations"] = SEARCHES[plan.search] or SEARCHES["weak"]
    return out


def run(task: Task) -> dict[str, Any]:
    """One run: the values of all molecules, in order, and their SMILES."""
    from bogrape.molecules import to_smiles

    began = time.monotonic()
    space = space_of(task.problem)
    n = task.settings["n_initial"] + task.settings["n_iterations"]
    study = Study(
        space,
        properties=dict(GOALS.properties),
        reference=REFERENCE,
        n_initial=task.settings["n_initial"],
        method="search",
        n_evaluations=task.settings.get("n_evaluations"),
        time_limit=1e6,
        seed=task.seed,
    )
    graphs: list[Graph] = []
    values: list[Values] = []
    rng = np.random.default_rng([task.seed, n])
    choose = {"evolution of a sum": _mutant, "random": _random}.get(task.method)
    while len(graphs) < n:
        if choose is None or len(graphs) < task.settings["n_initial"]:
            trial = study.ask(progress=False)
            graph = trial.graph
            study.tell(trial, evaluate(graph))
        else:
            graph = choose(space, graphs, values, rng)
        graphs.append(graph)
        values.append(evaluate(graph))
    rows = np.array([GOALS.row(value) for value in values])
    reference = GOALS.row(REFERENCE)
    return {
        "smiles": [to_smiles(graph) for graph in graphs],
        "qed": rows[:, 0].round(6).tolist(),
        "sa": rows[:, 1].round(6).tolist(),
        "hypervolume": GOALS.hypervolume(rows, reference),
        "initial_hypervolume": GOALS.hypervolume(rows[: task.settings["n_initial"]], reference),
        "front": int(GOALS.front(rows).sum()),
        "seconds": time.monotonic() - began,
    }


def _random(
    space: GraphSpace,
    graphs: Sequence[Graph],
    values: Sequence[Values],  # noqa: ARG001
    rng: np.random.Generator,
) -> Graph:
    known = frozenset(map(space.identity, graphs))
    return space.sample(1, seed=int(rng.integers(2**31)), exclude=known)[0]


def _mutant(
    space: GraphSpace, graphs: Sequence[Graph], values: Sequence[Values], rng: np.random.Generator
) -> Graph:
    """A mutant, by one or two moves, of a molecule with one of the best sums of both properties.

    Both count equally, over their ranges: QED from 0 to 1, accessibility from 10 to 1.
    """
    sums = np.array([value["qed"] + (10.0 - value["sa"]) / 9.0 for value in values])
    known = set(map(space.identity, graphs))
    best = np.argsort(-sums, kind="stable")[:_PARENTS]
    while True:
        parent = graphs[int(rng.choice(best))]
        moves = MoveTable.of(space, parent.n_nodes)
        batch = Batch.of([parent]).select(np.zeros(_CHILDREN, dtype=np.int64))
        for _ in range(int(rng.integers(1, 3))):
            batch = moves.apply(batch, moves.draw(_CHILDREN, rng), rng)
        for i in np.flatnonzero(space.excess(batch) == 0):
            child = batch.graph(int(i))
            if space.identity(child) not in known:
                return space.named(child)


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """Final hypervolumes, and how often that of BoGrape was larger than a method's."""
    found: dict[tuple[str, str], dict[int, Record]] = defaultdict(dict)
    for record in records:
        found[record["problem"], record["method"]][record["seed"]] = record
    rows = []
    for (problem, method), runs in sorted(found.items()):
        volumes = np.array([run["hypervolume"] for run in runs.values()])
        own = found[problem, METHODS[0]]
        wins = sum(
            own[seed]["hypervolume"] > run["hypervolume"]
            for seed, run in runs.items()
            if seed in own
        )
        rows.append(
            [
                problem,
                method,
                str(len(runs)),
                f"{np.mean([run['initial_hypervolume'] for run in runs.values()]):.3f}",
                f"{volumes.mean():.3f} ± {volumes.std():.3f}",
                f"{np.mean([run['front'] for run in runs.values()]):.1f}",
                f"{np.mean([max(run['qed']) for run in runs.values()]):.3f}",
                f"{np.mean([min(run['sa']) for run in runs.values()]):.2f}",
                "-" if method == METHODS[0] else f"{wins}/{len(runs)}",
            ]
        )
    head = [
        *("problem", "method", "runs", "hypervolume at first", "at the end", "on the front"),
        *("best QED", "best SA", "bogrape ahead"),
    ]
    return markdown(head, rows)


register(
    Experiment(
        name="pareto",
        title="Two properties of molecules: QED and synthetic accessibility",
        source="not in the paper",
        page="benchmarks.md",
        plan=PLAN,
        short=replace(PLAN, problems=("molecules-12",), replications=2),
        quick=replace(
            PLAN, problems=("molecules-10",), replications=1, n_initial=3, n_iterations=1
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=None,
    )
)
