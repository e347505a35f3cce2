"""The paper's experiments, each in a file of its own that registers itself.

An `Experiment` is a `Plan` (problems, methods, replications and budget), a function that runs one
replication in a process of its own, and functions that make tables and a figure from the results.
The files are imported when an experiment is first requested.

>>> "synthetic" in experiment_names()
True
>>> plan = get_experiment("synthetic").plan
>>> plan.n_initial, plan.n_iterations, plan.replications, plan.time_limit
(10, 50, 10, 600.0)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from bogrape.errors import InvalidInputError

from ..records import Key, Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Acquisition values computed for one proposal. Budgets are counted in work and not in seconds, so
# that results do not depend on the load of the machine; None is a proof within the time limit.
SEARCHES: dict[str, int | None] = {
    "weak": 2_500,
    "local": 50_000,
    "thorough": 150_000,
    "exact": None,
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The part of an experiment to run.

    Attributes:
        problems: names of `get_problem`.
        methods: optimisers, kernels or settings to compare.
        replications: number of seeds 0, 1, ... (of the initial design and of random objectives).
        n_initial: graphs observed before the first proposal, or that a surrogate is trained on.
        n_iterations: proposals, or graphs a surrogate is tested on.
        time_limit: seconds for one proposal, where proofs are attempted.
        search: how BoGrape looks for the best acquisition value: one of `SEARCHES`.
    """

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    replications: int
    n_initial: int = 10
    n_iterations: int = 50
    time_limit: float = 600.0
    search: str = "exact"

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise InvalidInputError(
                f"search must be one of {', '.join(SEARCHES)}, got {self.search!r}"
            )
        for name in ("replications", "n_initial"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.time_limit > 0:
            raise InvalidInputError(f"time_limit must be > 0 seconds, got {self.time_limit}")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One replication of one method on one problem; its result is one line of a file."""

    experiment: str
    problem: str
    method: str
    seed: int
    settings: dict[str, Any]  # budget and limits, kept with the results

    @property
    def key(self) -> Key:
        """Problem, method and seed."""
        return self.problem, self.method, self.seed

    @property
    def record(self) -> Record:
        """The first entries of its line."""
        head = {"problem": self.problem, "method": self.method, "seed": self.seed}
        return {"experiment": self.experiment, **head, **self.settings}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment of the paper.

    Attributes:
        name: for `get_experiment`, and the name of its file of results.
        title: a one-line description.
        source: its place in the paper.
        plan: the paper's protocol.
        short: a plan of minutes instead of days; the results name its reductions.
        quick: a plan of seconds, to check that everything works.
        settings: budget and limits of a task, for a plan and a method.
        run: runs a task; its result is added to the task's record.
        tables: Markdown from its records and references (`benchmarks.statistics.joined`).
        figure: a figure from the same, if it has one.
        page: the document in ``docs`` that shows them.
    """

    name: str
    title: str
    source: str
    plan: Plan
    short: Plan
    quick: Plan
    settings: Callable[[Plan, str], dict[str, Any]]
    run: Callable[[Task], dict[str, Any]]
    tables: Callable[[Sequence[Record], Sequence[Record]], str]
    figure: Callable[[Sequence[Record], Sequence[Record]], Figure] | None
    page: str = "results.md"

    def tasks(self, plan: Plan) -> list[Task]:
        """All tasks of a plan, replication by replication: a run stopped early is balanced."""
        return [
            Task(
                experiment=self.name,
                problem=problem,
                method=method,
                seed=seed,
                settings=self.settings(plan, method),
            )
            for seed in range(plan.replications)
            for problem in plan.problems
            for method in plan.methods
        ]


_EXPERIMENTS: dict[str, Experiment] = {}


def register(experiment: Experiment) -> Experiment:
    """Add an experiment, which `get_experiment` then finds by its name."""
    if experiment.name in _EXPERIMENTS:
        raise InvalidInputError(f"an experiment named {experiment.name!r} already exists")
    _EXPERIMENTS[experiment.name] = experiment
    return experiment


def experiment_names() -> tuple[str, ...]:
    """Names of all experiments, in alphabetical order."""
    _read_all_files()
    return tuple(sorted(_EXPERIMENTS))


def get_experiment(name: str) -> Experiment:
    """The experiment of that name, or an error that lists the valid ones."""
    names = experiment_names()
    if name not in names:
        raise InvalidInputError(f"unknown experiment {name!r}; choose one of {', '.join(names)}")
    return _EXPERIMENTS[name]


@cache
def _read_all_files() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


__all__ = [
    "SEARCHES",
    "Experiment",
    "Plan",
    "Task",
    "experiment_names",
    "get_experiment",
    "register",
]
