"""`Study`: the only mutable class. Ask for a graph, evaluate it, tell its value.

A study decides; its `Storage` remembers. Each change is one transaction of the storage, and the
study takes it in only afterwards, so a refused or interrupted call leaves both as they were.
Several studies, in several processes, may share one storage: nobody is given a graph isomorphic to
one that somebody else has or had.

The seed of trial k derives from the study's seed and k, and what is proposed depends on the trials
present, in the order of their ids. So a study that was cut off goes on as if it had not been.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, final, overload

import numpy as np

from .. import display
from ..acquisition import Acquisition
from ..errors import (
    BudgetSpent,
    InvalidInputError,
    SearchSpaceExhausted,
    StudyError,
    UnsupportedError,
)
from ..graph import Graph
from ..space import GraphSpace
from .memory import InMemoryStorage
from .planner import Plan, Planner
from .results import Dataset, best_of, dataset_of
from .settings import Direction, StudySettings
from .store import Storage, check_budget, check_name, no_such_study, open_url
from .transitions import (
    as_reason,
    as_seconds,
    check_holder,
    failed,
    not_started,
    released,
    retried,
    taken,
    told,
)
from .trial import Origin, Trial, now, package_version
from .values import as_value

logger = logging.getLogger(__name__)

_CONFLICTS = 100  # asks lost to other processes before giving up


@final
class Study:
    """Trials of graphs in a space, and what to try next.

    Args:
        space: the graphs to choose from.
        storage: ``None`` for memory, a database URL such as ``sqlite:///study.db``, or a `Storage`.
        name: of the study within its storage. If it is there already, it is reopened, and its
            settings must be the ones given here; `Study.load` takes them from the storage.

    The other arguments are described in `StudySettings`. A study is for one thread: in others, and
    in other processes, open it again.

    >>> from bogrape import GraphSpace
    >>> study = Study(GraphSpace(n_nodes=5), n_initial=2, seed=1)
    >>> trial = study.ask()
    >>> trial.id, trial.state, trial.origin
    (0, 'pending', 'initial')
    >>> study.tell(trial, float(trial.graph.n_edges)).state
    'complete'
    """

    def __init__(
        self,
        space: GraphSpace,
        storage: Storage | str | None = None,
        name: str = "study",
        *,
        kernel: str = "ssp",
        noise: float | Literal["fit"] = 1e-6,
        acquisition: Acquisition | str = "lcb",
        method: str = "auto",
        time_limit: float = 60.0,
        n_initial: int = 10,
        seed: int = 0,
        direction: Direction = "minimize",
        retries: int = 0,
    ) -> None:
        settings = StudySettings(
            space=space,
            kernel=kernel,
            noise=noise,
            acquisition=acquisition,
            method=method,
            time_limit=time_limit,
            n_initial=n_initial,
            seed=seed,
            direction=direction,
            retries=retries,
        )
        self._open(storage, name, settings)

    def _open(self, storage: Storage | str | None, name: str, settings: StudySettings) -> None:
        check_name(name)
        opened = open_url(storage, create=True) if isinstance(storage, str) else storage
        if opened is None:
            opened = InMemoryStorage()
            with contextlib.suppress(UnsupportedError):  # an acquisition of the user's own
                opened.create(name, settings.to_dict())
            opened.create(name, {})
        else:
            found, new = opened.create(name, settings.to_dict())
            there = settings if new else StudySettings.from_dict(found)
            different = there.differences(settings)
            if different:
                raise StudyError(
                    f"study {name!r} exists with other settings ({', '.join(different)}); use "
                    "Study.load(storage, name) to go on with them, or another name"
                )
        self._begin(opened, name, settings)

    @classmethod
    def open(cls, storage: Storage | str | None, name: str, settings: StudySettings) -> Study:
        """As ``Study(...)``, with the settings in one piece."""
        study = cls.__new__(cls)
        study._open(storage, name, settings)
        return study

    @classmethod
    def load(cls, storage: Storage | str, name: str = "study") -> Study:
        """Reopen a study with the settings it was made with."""
        check_name(name)
        opened = open_url(storage, create=False) if isinstance(storage, str) else storage
        found = opened.settings(name)
        if found is None:
            raise no_such_study(name, opened.names())
        study = cls.__new__(cls)
        study._begin(opened, name, StudySettings.from_dict(found))
        return study

    def _begin(self, storage: Storage, name: str, settings: StudySettings) -> None:
        self._storage = storage
        self._name = name
        self._settings = settings
        self._revision = 0
        self._trials: list[Trial] = []
        self._planner = Planner(settings)

    # -- what it knows ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name within the storage."""
        return self._name

    @property
    def storage(self) -> Storage:
        """Where the trials are kept."""
        return self._storage

    @property
    def settings(self) -> StudySettings:
        """Everything that fixes its course."""
        return self._settings

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""
        return self._settings.space

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials by id, as they are in the storage now."""
        return tuple(self._refresh())

    @property
    def dataset(self) -> Dataset:
        """Graphs and values of all complete trials."""
        return dataset_of(self._refresh())

    @property
    def best(self) -> Trial:
        """The complete trial with the best value.

        Where a graph was evaluated several times its mean counts, and the first of its trials is
        given; of equally good ones the earliest.
        """
        return best_of(self._refresh(), self._settings.sign)

    @property
    def plot(self) -> Any:
        """Its figures: ``study.plot.convergence()``, ``gallery``, ``predictions``, ``drivers``,
        ``map``, ``certificates`` and ``times``; they need the extra ``[plots]``."""
        return display.plots(self)

    # -- asking -------------------------------------------------------------------------------

    @overload
    def ask(
        self, n: Literal[1] = ..., worker: str | None = ..., *, most: int | None = ...
    ) -> Trial: ...
    @overload
    def ask(
        self, n: int, worker: str | None = ..., *, most: int | None = ...
    ) -> Trial | list[Trial]: ...
    def ask(
        self, n: int = 1, worker: str | None = None, *, most: int | None = None
    ) -> Trial | list[Trial]:
        """The next graph to evaluate, as a pending trial; a list of trials if ``n > 1``.

        Handed out are, in this order: what ``worker`` was given before and has not finished, what
        waits to be tried again, the initial design, proposals. Graphs under evaluation are believed
        to come out at their posterior mean.

        Args:
            n: how many; a list is shorter when the space is used up.
            worker: your name, if you want your unfinished trials back after a restart. Workers
                that run at the same time need different names.
            most: number of trials, not counting added ones, the study may have in the end; then
                `BudgetSpent` is raised. Holds also if several processes ask at the same moment.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidInputError(f"n must be an integer >= 1, got {n!r}")
        if worker is not None and not (
            isinstance(worker, str) and 0 < len(worker) <= 200 and worker.isprintable()
        ):
            raise InvalidInputError(f"worker must be a short text or None, got {worker!r:.100}")
        out: list[Trial] = []
        if worker is not None:
            out = [t for t in self._refresh() if t.state == "pending" and t.worker == worker][:n]
        while len(out) < n:
            try:
                out.append(self._queued(worker) or self._new(worker, most))
            except (SearchSpaceExhausted, BudgetSpent):
                if not out:
                    raise
                break
        return out[0] if n == 1 else out

    def _queued(self, worker: str | None) -> Trial | None:
        """Take over a trial that waits, if there is one."""
        while True:
            waiting = next((t for t in self._refresh() if t.state == "queued"), None)
            if waiting is None:
                return None
            trial = taken(waiting, worker)
            if self._storage.update(self._name, trial, waiting):
                return trial

    def _new(self, worker: str | None, most: int | None) -> Trial:
        """Reserve a graph nobody has had; begin again if another process was quicker."""
        for conflict in range(_CONFLICTS):
            trials = self._refresh()
            check_budget(sum(t.origin != "added" for t in trials), 1, most)  # before long thought
            seed, rank = self._chance(len(trials), conflict)
            plan = self._planner.next(trials, seed, rank)
            trial = self._reserve(plan, seed, worker, most)
            if trial is not None:
                return trial
            logger.debug("another process took the graph of trial %d first", len(trials))
        raise StudyError(
            f"{_CONFLICTS} graphs in a row were taken by other processes; ask again later"
        )

    def _chance(self, n_trials: int, conflict: int) -> tuple[int, int]:
        """Seed and rank of the next graph, after so many races lost to other processes."""
        # After a lost race processes must part ways, so chance comes in.
        chance = [time.time_ns(), os.getpid()] if conflict else []
        rng = np.random.default_rng([self._settings.seed, n_trials, *chance])
        seed = int(rng.integers(2**31))
        return seed, int(rng.integers(2 ** min(conflict + 2, 8))) if conflict else 0

    def _reserve(self, plan: Plan, seed: int, worker: str | None, most: int | None) -> Trial | None:
        """Hand out the planned graph, unless another process has it already."""
        trial = replace(
            self._draft(plan.graph, plan.origin),
            state="pending",
            worker=worker,
            attempts=1,
            seed=seed,
            certificate=plan.certificate,
            hyperparameters=plan.hyperparameters,
            asked=now(),
        )
        inserted = self._storage.insert(self._name, [trial], distinct=True, most=most)
        return None if inserted is None else inserted[0]

    # -- telling ------------------------------------------------------------------------------

    def tell(self, trial: Trial | int, value: float, *, seconds: float | None = None) -> Trial:
        """Record the value of a trial. Telling the same value again changes nothing.

        Args:
            trial: what was evaluated, as ``ask`` returned it, or its id. A trial that has been
                released and given to somebody else is refused; an id is taken at its word.
            value: what the objective gave.
            seconds: how long the evaluation took; without it, the time since ``ask`` counts.
        """
        number, time_taken = as_value(value), as_seconds(seconds)
        return self._change(trial, lambda current: told(current, number, time_taken))

    def fail(self, trial: Trial | int, reason: str, *, seconds: float | None = None) -> Trial:
        """Record that an evaluation gave no value; the graph is not proposed again.

        While retries are left the trial is queued for the next ``ask`` instead. For ``trial`` and
        ``seconds`` see `tell`.
        """
        words, retries, time_taken = as_reason(reason), self._settings.retries, as_seconds(seconds)
        return self._change(trial, lambda current: failed(current, words, retries, time_taken))

    def release(self, trial: Trial | int, *, reason: str | None = None) -> Trial:
        """Give back a pending trial whose worker is gone: the next ``ask`` hands it out again.

        With a ``reason``, the evaluation could not even be started: no attempt is counted.
        """
        if reason is None:
            return self._change(trial, released)
        words = as_reason(reason)
        return self._change(trial, lambda current: not_started(current, words))

    def retry(self, trial: Trial | int) -> Trial:
        """Queue a failed trial for another attempt, for instance after mending the objective.

        The earlier failure stays in the trial's ``details["failures"]``.
        """
        return self._change(trial, retried)

    def _change(self, trial: Trial | int, transition: Callable[[Trial], Trial]) -> Trial:
        """Make a transition; begin again if another process changed the trial meanwhile."""
        while True:
            current = self._find(trial)
            if isinstance(trial, Trial):
                check_holder(current, trial)
            changed = transition(current)
            if changed is current or self._storage.update(self._name, changed, current):
                return changed

    # -- graphs from outside ------------------------------------------------------------------

    def add(self, graph: Graph, value: float) -> Trial:
        """Record an observation made outside the study; a known graph counts as a repeat."""
        return self.add_all([(graph, value)])[0]

    def add_all(self, observations: Iterable[tuple[Graph, float]]) -> list[Trial]:
        """Record many observations from outside, all or none of them."""
        drafts = []
        for graph, value in observations:
            self.space.check(graph)
            draft = self._draft(graph, "added")
            drafts.append(
                replace(draft, state="complete", value=as_value(value), finished=draft.created)
            )
        return self._insert(drafts)

    def enqueue(self, graph: Graph) -> Trial:
        """Put a graph of your own in the queue: the next ``ask`` hands it out."""
        self.space.check(graph)
        inserted = self._storage.insert(self._name, [self._draft(graph, "queued")], distinct=True)
        if inserted is None:
            raise StudyError(
                "a graph isomorphic to this one is in the study already; "
                "study.repeat(trial) evaluates it again"
            )
        return inserted[0]

    def repeat(self, trial: Trial | int) -> Trial:
        """Queue another evaluation of a trial's graph, for noisy objectives."""
        return self._insert([self._draft(self._find(trial).graph, "repeat")])[0]

    def _insert(self, drafts: Sequence[Trial]) -> list[Trial]:
        if not drafts:
            return []
        inserted = self._storage.insert(self._name, drafts, distinct=False)
        assert inserted is not None  # only distinct inserts can be refused
        return inserted

    # -- inside -------------------------------------------------------------------------------

    def _draft(self, graph: Graph, origin: Origin) -> Trial:
        return Trial(
            id=-1,  # the storage gives the next one
            graph=graph,
            state="queued",
            origin=origin,
            created=now(),
            version=package_version(),
        )

    def _refresh(self) -> list[Trial]:
        """Take in what has changed in the storage; returns all trials by id."""
        self._revision, changed = self._storage.changes(self._name, self._revision)
        for trial in changed:
            if trial.id == len(self._trials):
                self._trials.append(trial)
            else:
                # The graph of a trial never changes: keep the object that has its key cached.
                known = self._trials[trial.id]
                self._trials[trial.id] = replace(trial, graph=known.graph)
        return self._trials

    def _find(self, trial: Trial | int) -> Trial:
        number = trial.id if isinstance(trial, Trial) else trial
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise InvalidInputError(f"trial must be a Trial or its id, got {trial!r}")
        trials = self._refresh()
        if not 0 <= number < len(trials):
            raise StudyError(
                f"there is no trial {number}; the study {self._name!r} has {len(trials)}, "
                "numbered from 0"
            )
        found = trials[int(number)]
        if isinstance(trial, Trial) and trial.graph != found.graph:
            raise StudyError(
                f"trial {number} of study {self._name!r} has another graph: is this a trial of "
                "another study?"
            )
        return found

    def _repr_html_(self) -> str | None:
        return display.html(self)

    def __repr__(self) -> str:
        states = [trial.state for trial in self._refresh()]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states)) or "no trials"
        return f"Study({self._name!r}: {counts})"
