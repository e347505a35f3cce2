"""`Study`: the only mutable class. Ask for a graph, evaluate it, tell its value.

A study decides; its `Storage` remembers. Each change is one transaction of the storage, and the
study takes it in only afterwards, so a refused or interrupted call leaves both as they were.
Several studies, in several processes, may share one storage: nobody is given a graph that is the
same (`GraphSpace.identity`) as one that somebody else has or had.

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
from numpy.typing import NDArray

from .. import display
from ..acquisition import Acquisition
from ..constraints import Rule
from ..counts import n_given
from ..errors import (
    BudgetSpent,
    InvalidInputError,
    SamplingError,
    SearchSpaceExhausted,
    SettingsDiffer,
    StorageError,
    StudyError,
    UnsupportedError,
)
from ..graph import Graph
from ..kernels import KernelName
from ..propose import Method
from ..space import GraphSpace
from ..storage import InMemoryStorage, Storage, open_storage
from ..storage.protocol import check_budget, check_name, no_such_study
from ..trial import Origin, Trial, now, package_version
from .asking import AskProgress
from .interruption import first_interrupt
from .observations import Outside, checked_observation, checked_observations
from .planner import Effort, Plan, Planner
from .results import Dataset, TrialList, best_of, dataset_of
from .settings import Direction, StudySettings, as_time_limit
from .transitions import (
    as_reason,
    as_seconds,
    check_holder,
    corrected,
    failed,
    not_started,
    released,
    retried,
    taken,
    told,
)
from .values import as_value

logger = logging.getLogger(__name__)

_LEAST_SECONDS = 0.05  # for a proposal of a batch whose time is up
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
        kernel: KernelName = "ssp",
        noise: float | Literal["fit"] = 1e-6,
        acquisition: Acquisition | str = "lcb",
        method: Method = "auto",
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
        if not isinstance(settings, StudySettings):
            raise InvalidInputError(
                f"settings must be a StudySettings, got {type(settings).__name__}"
            )
        opened = None if storage is None else open_storage(storage)
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
                raise SettingsDiffer(
                    f"study {name!r} exists with other settings ({', '.join(different)}); use "
                    "Study.load(storage, name) to go on with them (and its method change to change "
                    "them from here on), or another name",
                    different,
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
        opened = open_storage(storage, create=False)
        found = opened.settings(name)
        if found is None:
            raise no_such_study(name, opened.names())
        study = cls.__new__(cls)
        study._begin(opened, name, StudySettings.from_dict(found))
        return study

    def _begin(self, storage: Storage, name: str, settings: StudySettings) -> None:
        self._storage = storage
        self._name = name
        self._revision = 0
        self._trials: list[Trial] = []
        self._use(settings)

    def _use(self, settings: StudySettings) -> None:
        self._settings = settings
        self._planner = Planner(settings)
        space = settings.space
        self._storage.use_keys(self._name, space.identity_version, space.identity)
        self._trials = [replace(trial, space=space) for trial in self._trials]

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
        """The complete trial with the best value, of those in the space if there are any.

        Where a graph was evaluated several times its mean counts, and the first of its trials is
        given; of equally good ones the earliest.
        """
        complete = [trial for trial in self._refresh() if trial.state == "complete"]
        inside = [trial for trial in complete if not trial.outside]
        return best_of(inside or complete, self._settings.sign, self.space.identity)

    def predict(self, graphs: Sequence[Graph]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation the model predicts for each graph, in your units.

        The standard deviation is that of the objective without its noise. Graphs need not be in the
        space, only of its kind.
        """
        n_given(graphs)  # refuses what is no list
        graphs = list(graphs)
        for i, graph in enumerate(graphs):
            odd = self.space.oddities(graph)
            if odd:
                raise InvalidInputError(f"graph {i} cannot be read: expected {'; '.join(odd)}")
        return self._planner.predict(self._refresh(), graphs)

    @property
    def plot(self) -> Any:
        """Its figures: ``study.plot.convergence()``, ``gallery``, ``predictions``, ``drivers``,
        ``map``, ``certificates`` and ``times``; they need the extra ``[plots]``."""
        return display.plots(self)

    # -- changing the settings ----------------------------------------------------------------

    def change(self, *, add_rules: Iterable[Rule] = (), **settings: Any) -> None:
        """Go on with other settings; the trials so far stay as they are.

        Args:
            add_rules: rules that graphs must satisfy from now on. Trials that break them keep
                training the model, and those that wait to be evaluated are given up.
            settings: any of ``kernel``, ``noise``, ``acquisition``, ``method``, ``time_limit``,
                ``n_initial`` and ``retries``; see `StudySettings`.

        Every change is recorded with the trial it begins from: see `changes`.
        """
        try:
            rules = tuple(add_rules)
        except TypeError:
            raise InvalidInputError(
                f"add_rules must be a list of rules, got {add_rules!r:.100}"
            ) from None
        self._go_on_with(lambda old: old.changed(rules, settings))

    def adopt(self, settings: StudySettings) -> None:
        """As `change`, with the settings in one piece; what cannot be changed must be the same."""
        self._go_on_with(lambda _: settings)

    def _go_on_with(self, change: Callable[[StudySettings], StudySettings]) -> None:
        while True:
            self._take_up_settings()
            old = self._settings
            new = change(old)
            old.check_successor(new)
            different = old.differences(new)
            if not different:
                return
            before, after = old.to_dict(), new.to_dict()
            record = {
                "from_trial": len(self._refresh()),
                "time": now(),
                "changed": {name: [before[name], after[name]] for name in different},
            }
            if self._storage.change_settings(self._name, after, before, record):
                self._use(new)
                return

    @property
    def changes(self) -> list[dict[str, Any]]:
        """What was changed in the settings, oldest first.

        Each has ``from_trial``, the first trial it holds for, ``time``, and ``changed``: old and
        new value by name.
        """
        return self._storage.changes_of_settings(self._name)

    def _take_up_settings(self) -> None:
        """Use the settings that are in the storage, if another process changed them."""
        found = self._storage.settings(self._name)
        if found and found != self._settings.to_dict():
            self._use(StudySettings.from_dict(found))

    # -- asking -------------------------------------------------------------------------------

    @overload
    def ask(
        self,
        n: Literal[1] = ...,
        worker: str | None = ...,
        *,
        time_limit: float | None = ...,
        most: int | None = ...,
        progress: bool = ...,
        stop: Callable[[], bool] | None = ...,
    ) -> Trial: ...
    @overload
    def ask(
        self,
        n: int,
        worker: str | None = ...,
        *,
        time_limit: float | None = ...,
        most: int | None = ...,
        progress: bool = ...,
        stop: Callable[[], bool] | None = ...,
    ) -> Trial | TrialList: ...
    def ask(
        self,
        n: int = 1,
        worker: str | None = None,
        *,
        time_limit: float | None = None,
        most: int | None = None,
        progress: bool = True,
        stop: Callable[[], bool] | None = None,
    ) -> Trial | TrialList:
        """The next graph to evaluate, as a pending trial; a list of trials if ``n > 1``.

        Handed out are, in this order: what ``worker`` was given before and has not finished, what
        waits to be tried again, the initial design, proposals. Graphs under evaluation are believed
        to come out at their posterior mean.

        Ctrl-C ends the proof under way and returns what there is: the best graph found so far, with
        the bound proved so far, after those suggested before it. A second Ctrl-C within three
        seconds interrupts as usual.

        Args:
            n: how many; a list is shorter when the space is used up, and then a warning says so.
            time_limit: seconds for the whole call, however many graphs are asked for; by default
                the time limit of the study.
            progress: whether to show progress when it takes more than two seconds: a bar on a
                terminal, a line in a notebook, lines in a log or on standard error elsewhere.
            stop: asked several times per second; once it returns true, the call ends as with
                Ctrl-C. With a ``stop`` of your own, Ctrl-C interrupts as usual.
            worker: your name, if you want your unfinished trials back after a restart. Workers
                that run at the same time need different names.
            most: number of trials, not counting added ones, the study may have in the end; then
                `BudgetSpent` is raised. Holds also if several processes ask at the same moment.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidInputError(f"n must be an integer >= 1, got {n!r:.100}")
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
            raise InvalidInputError(f"most must be an integer >= 0 or None, got {most!r:.100}")
        if stop is not None and not callable(stop):
            raise InvalidInputError(f"stop must be a function or None, got {stop!r:.100}")
        if worker is not None and not (
            isinstance(worker, str) and 0 < len(worker) <= 200 and worker.isprintable()
        ):
            raise InvalidInputError(f"worker must be a short text or None, got {worker!r:.100}")
        limit = self._settings.time_limit if time_limit is None else as_time_limit(time_limit)
        if not isinstance(progress, (bool, np.bool_)):
            raise InvalidInputError(f"progress must be True or False, got {progress!r:.100}")
        self._take_up_settings()
        out: list[Trial] = []
        if worker is not None:
            out = [t for t in self._refresh() if t.state == "pending" and t.worker == worker][:n]
        gentle = first_interrupt() if stop is None else contextlib.nullcontext(stop)
        with (
            gentle as stopped,
            AskProgress(self._name, n, self._settings.sign, show=progress) as shown,
        ):
            self._fill(out, n, worker, most, time.monotonic() + limit, stopped, shown)
        return out[0] if n == 1 else TrialList(out)

    def _fill(
        self,
        out: list[Trial],
        n: int,
        worker: str | None,
        most: int | None,
        deadline: float,
        stopped: Callable[[], bool],
        shown: AskProgress,
    ) -> None:
        """Append trials until there are n, or no more are to be had."""
        while len(out) < n:
            try:
                trial = self._queued(worker)  # may take long: it reads what is new in the storage
                share = max(_LEAST_SECONDS, (deadline - time.monotonic()) / (n - len(out)))
                if trial is None:
                    trial = self._new(worker, most, Effort(share, stopped, shown.watch))
            except (SearchSpaceExhausted, SamplingError, BudgetSpent) as error:
                if stopped() and not out:
                    raise KeyboardInterrupt from None  # before anything was found
                if not out:
                    raise
                if not stopped():
                    if not isinstance(error, BudgetSpent):  # a limit of the caller's is no news
                        logger.warning("%d of %d graphs can be had: %s", len(out), n, error)
                    return
            else:
                out.append(trial)
                shown.found(trial)
            if stopped():
                if len(out) < n:
                    logger.warning("interrupted: %d of %d graphs", len(out), n)
                return

    def _queued(self, worker: str | None) -> Trial | None:
        """Take over a trial that waits, if there is one."""
        while True:
            waiting = next((t for t in self._refresh() if t.state == "queued"), None)
            if waiting is None:
                return None
            trial = taken(waiting, worker)
            if waiting.outside:  # a rule was added meanwhile
                words = f"not in the space any more: {'; '.join(waiting.outside)}"
                trial = failed(trial, as_reason(words), retries=0)
            if self._storage.update(self._name, trial, waiting) and trial.state == "pending":
                return trial

    def _new(self, worker: str | None, most: int | None, effort: Effort) -> Trial:
        """Reserve a graph nobody has had; begin again if another process was quicker."""
        for conflict in range(_CONFLICTS):
            trials = self._refresh()
            check_budget(sum(t.origin != "added" for t in trials), 1, most)  # before long thought
            seed, rank = self._chance(len(trials), conflict)
            plan = self._planner.next(trials, seed, rank, effort)
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
        inserted = self._store([trial], distinct=True, most=most)
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

    def correct(
        self, trial: Trial | int, value: float | None, *, reason: str | None = None
    ) -> Trial:
        """Replace the value of a finished trial; the old one stays in ``trial.history``.

        Args:
            trial: the trial or its id.
            value: the right value; ``None`` withdraws the old one, and the trial counts as failed.
            reason: why, for the record.
        """
        number = None if value is None else as_value(value)
        words = None if reason is None else as_reason(reason)
        number_of = trial.id if isinstance(trial, Trial) else trial
        return self._change(number_of, lambda current: corrected(current, number, words))

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

    def add(self, graph: Graph, value: float, *, outside: Outside = "accept") -> Trial:
        """Record an observation from elsewhere; see `add_all`. A known graph counts as a repeat."""
        drafts = [self._observation(*checked_observation(self.space, (graph, value), outside))]
        return self._insert(drafts)[0]

    def add_all(
        self, observations: Iterable[tuple[Graph, float]], *, outside: Outside = "accept"
    ) -> TrialList:
        """Record many observations from elsewhere, all or none of them.

        Graphs outside the space (of other sizes, or breaking rules) train the model all the same,
        and are never proposed: their trials say in ``trial.outside`` what they break.

        Args:
            observations: graphs and their values.
            outside: ``"refuse"`` if graphs outside the space are mistakes.

        Raises:
            ObservationsError: names every observation that cannot be used, and the reason.
        """
        checked = checked_observations(self.space, observations, outside)
        return TrialList(self._insert([self._observation(*pair) for pair in checked]))

    def _observation(self, graph: Graph, value: float) -> Trial:
        draft = self._draft(graph, "added")
        return replace(draft, state="complete", value=value, finished=draft.created)

    def enqueue(self, graph: Graph) -> Trial:
        """Put a graph of your own in the queue: the next ``ask`` hands it out."""
        self.space.check(graph)
        inserted = self._store([self._draft(graph, "queued")], distinct=True)
        if inserted is None:
            raise StudyError(
                "this graph is in the study already; study.repeat(trial) evaluates it again"
            )
        return inserted[0]

    def repeat(self, trial: Trial | int) -> Trial:
        """Queue another evaluation of a trial's graph, for noisy objectives."""
        return self._insert([self._draft(self._find(trial).graph, "repeat")])[0]

    def _insert(self, drafts: Sequence[Trial]) -> list[Trial]:
        if not drafts:
            return []
        inserted = self._store(drafts, distinct=False)
        assert inserted is not None  # only distinct inserts can be refused
        return inserted

    # -- inside -------------------------------------------------------------------------------

    def _store(
        self, drafts: Sequence[Trial], *, distinct: bool, most: int | None = None
    ) -> list[Trial] | None:
        keys = [self.space.identity(draft.graph) for draft in drafts]
        return self._storage.insert(self._name, drafts, keys, distinct=distinct, most=most)

    def _draft(self, graph: Graph, origin: Origin) -> Trial:
        return Trial(
            id=-1,  # the storage gives the next one
            graph=graph,
            state="queued",
            origin=origin,
            created=now(),
            version=package_version(),
            space=self.space,
        )

    def _refresh(self) -> list[Trial]:
        """Take in what has changed in the storage; returns all trials by id."""
        self._revision, changed = self._storage.changes(self._name, self._revision)
        for trial in changed:
            if trial.id == len(self._trials):
                self._trials.append(replace(trial, space=self.space))
            elif trial.id > len(self._trials):
                self._revision, missing = 0, len(self._trials)
                raise StorageError(
                    f"trial {missing} of study {self._name!r} is missing in the storage, while "
                    f"trial {trial.id} is there; open the study again"
                )
            else:
                # The graph of a trial never changes: keep the object that has its key cached.
                known = self._trials[trial.id]
                self._trials[trial.id] = replace(trial, graph=known.graph, space=self.space)
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
