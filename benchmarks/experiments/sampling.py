"""Molecules from a data set compared with those of the feasible sampler (the paper's Figure 10).

Both give 60 molecules of one size, evaluated by the network trained on the data set. They are
compared by their regret: the best value so far minus the best value found by a long search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bogrape.errors import InvalidInputError
from bogrape.problems.molecules import molecule_problem

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from ..records import Record
from ..reference import best_known
from . import Experiment, Plan, Task, register
from ._qm_files import load

if TYPE_CHECKING:
    from bogrape.graph import Graph

_EFFORT = 20_000  # evaluations of the network by the long search
PAPER = Plan(
    problems=(*(f"qm7-{n}" for n in (4, 5, 6, 7)), *(f"qm9-{n}" for n in (4, 5, 6, 7, 8))),
    methods=("data", "sampler"),
    replications=10,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:  # noqa: ARG001
    """Number of molecules to draw; there are no proposals, so no limit."""
    return {"n_initial": plan.n_initial, "n_iterations": plan.n_iterations}


def run(task: Task) -> dict[str, Any]:
    """Draw molecules; their regrets are recorded as values."""
    name, _, size = task.problem.partition("-")
    if name not in ("qm7", "qm9") or not size.isdigit():
        raise InvalidInputError(
            f"expected a data set and a size such as qm7-5, got {task.problem!r}"
        )
    problem = molecule_problem(task.seed, data_set=name, n_atoms=int(size))
    n = task.settings["n_initial"] + task.settings["n_iterations"]
    best = best_known(problem, n_evaluations=_EFFORT)
    if task.method == "sampler":
        graphs = problem.space.sample(n, seed=task.seed)
    elif task.method == "data":
        graphs = _from_data(name, int(size), n, task.seed)
    else:
        raise InvalidInputError(f"expected the method data or sampler, got {task.method!r}")
    values = [problem.objective(graph) for graph in graphs]
    return {
        "values": [max(0.0, value - best.value) for value in values],
        "seconds": [0.0] * task.settings["n_iterations"],
        "best": best.value,
        "best_drawn": min(values),
    }


def _from_data(name: str, size: int, n: int, seed: int) -> list[Graph]:
    """Molecules of the data set with that size, drawn with replacement if it has fewer than n."""
    own = [graph for graph in load(name).graphs if graph.n_nodes == size]
    if not own:
        raise InvalidInputError(f"{name} has no molecule with {size} heavy atoms")
    rng = np.random.default_rng([seed, 1])
    index = rng.permutation(len(own)) if n <= len(own) else rng.integers(len(own), size=n)
    return [own[int(i)] for i in index[:n]]


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """Regrets."""
    return "Values are regrets.\n\n" + optimiser_tables(records)


register(
    Experiment(
        name="sampling",
        title="molecules of the data sets and of the feasible sampler (needs --data)",
        source="Figure 10 (appendix)",
        plan=PAPER,
        short=replace(PAPER, problems=("qm7-5", "qm7-7"), replications=3),
        quick=Plan(
            problems=("qm7-4",), methods=("sampler",), replications=2, n_initial=3, n_iterations=2
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=partial(optimiser_curves, what="smallest regret so far"),
    )
)
