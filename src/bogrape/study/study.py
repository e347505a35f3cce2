"""`Study`: ask for a graph, evaluate it, tell its value.

A study decides; its `Storage` remembers. What is remembered is read and changed through a `Ledger`,
and what to try next is found by `Asking`. Several studies, in several processes, may share one
storage: nobody is given a graph that is the same (`GraphSpace.identity`) as one that somebody else
has or had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, Unpack, final, overload

import numpy as np

from .. import display
from ..checks import seconds as as_limit
from ..constraints import Rule
from ..counts import n_given
from ..errors import InvalidInputError, StudyError
from ..graph import Graph
from ..properties import Goals
from ..space import GraphSpace
from ..storage import Storage
from ..trial import Trial, observed_noise
from .ahead import Ahead
from .asking import Asking, Wish
from .ledger import Ledger
from .observations import Observation, Outside, checked_observation, checked_observations
from .planner import Effort
from .regret import REGRET, RegretBound
from .results import Dataset, TrialList, best_of, dataset_of
from .settings import StudyOptions, StudySettings, for_new_study, refuse_unknown, shows_settings
from .several import (
    as_corrections,
    as_values,
    best_score,
    corrected_several,
    front_of,
    told_several,
)
from .signature import Signature, of_request
from .transitions import (
    as_reason,
    as_seconds,
    corrected,
    failed,
    not_started,
    released,
    retried,
    told,
)
from .under import as_rules, rules_of
from .values import as_noise, as_value


@final
class Study:
    """An optimisation of graphs in a space: its trials, and the next graphs to try.

    Args:
        space: the graphs to choose from.
        storage: ``None`` for memory, a database URL such as ``sqlite:///study.db``, or a `Storage`.
        name: of the study within its storage. If it is there already, it is reopened, and its
            settings must be the ones given here; `Study.load` takes them from the storage.
        preset: ``"paper"`` for the settings of the BoGrape paper (kernel SSP, ``LCB(1.0)``, noise
            1e-6), as far as they are not given. ``None`` for the usual ones: kernel ``"rbf"``,
            expected improvement, fitted noise.

    The settings are described in `StudySettings`. A study is for one thread: in others, and
    in other processes, open it again.

    >>> from bogrape import GraphSpace
    >>> study = Study(GraphSpace(n_nodes=5), n_initial=2, seed=1)
    >>> trial = study.ask()
    >>> trial.id, trial.state, trial.origin
    (0, 'pending', 'initial')
    >>> study.tell(trial, float(trial.graph.n_edges)).state
    'complete'
    """

    @shows_settings
    def __init__(
        self,
        space: GraphSpace,
        storage: Storage | str | None = None,
        name: str = "study",
        **settings: Unpack[StudyOptions],
    ) -> None:
        refuse_unknown(settings, of=Study)
        given = for_new_study(settings)
        self._attach(Ledger.open(storage, name, StudySettings(space=space, **given), given))

    def _attach(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._asking = Asking(ledger)

    @classmethod
    def open(
        cls,
        storage: Storage | str | None,
        name: str,
        settings: StudySettings,
        *,
        given: Collection[str] | None = None,
    ) -> Study:
        """Like ``Study(...)``, with the settings as one object.

        ``given`` names those that were chosen: the others are defaults, and a study that was made
        with earlier ones keeps them. By default all count as chosen.
        """
        study = cls.__new__(cls)
        study._attach(Ledger.open(storage, name, settings, given))
        return study

    @classmethod
    def load(cls, storage: Storage | str, name: str = "study") -> Study:
        """Reopen a study with the settings it was made with."""
        study = cls.__new__(cls)
        study._attach(Ledger.load(storage, name))
        return study

    # -- what it knows ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name within the storage."""
        return self._ledger.name

    @property
    def storage(self) -> Storage:
        """Storage of the trials."""
        return self._ledger.storage

    @property
    def settings(self) -> StudySettings:
        """Everything that fixes its course."""
        return self._ledger.settings

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""
        return self._ledger.space

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials by id, as they are in the storage now."""
        return tuple(self._ledger.trials())

    @property
    def revision(self) -> int:
        """A number that grows with every change of a trial, whoever makes it."""
        return self._ledger.revision

    @property
    def dataset(self) -> Dataset:
        """Graphs and values of all complete trials."""
        return dataset_of(self._ledger.trials())

    @property
    def noise(self) -> Any:
        """Variances of the values in `dataset`, as they were told; NaN where one is unknown.

        Of several properties, a list of dictionaries of those that are known.
        """
        trials = self._ledger.trials()
        if self.settings.goals is not None:
            return [dict(trial.noises) for trial in trials if trial.state == "complete"]
        return np.array(observed_noise(trials))

    @property
    def best(self) -> Trial:
        """The complete trial with the best value, of those in the space if there are any.

        Where a graph was evaluated several times its mean counts (weighted by ``1 / noise`` where
        that is known of all its values), and the first of its trials is given; of equally good ones
        the earliest. Several properties are judged by their score, of graphs that were measured in
        full; in a Pareto search see `pareto_front`.
        """
        complete = [trial for trial in self._ledger.trials() if trial.state == "complete"]
        if (goals := self.settings.goals) is not None:
            return best_score(goals, complete, self.space.identity)
        inside = [trial for trial in complete if not trial.outside]
        return best_of(inside or complete, self.settings.sign, self.space.identity)

    @property
    def suspicious(self) -> TrialList:
        """The complete trials with a value that all others contradict.

        With ``noise="robust"`` the model sets them aside (`bogrape.outliers`); otherwise there are
        none. `best` takes values as they are: correct a wrong one, or measure again.
        """
        return TrialList(self._asking.planner.suspicious(self._ledger.trials()))

    @property
    def pareto_front(self) -> TrialList:
        """The complete trials whose graphs no other graph beats in every property.

        Of graphs that were measured in full, in the space if there are any; where one was evaluated
        several times its means count, and the first of its trials is given. In the order of the
        first property.
        """
        front = front_of(self._goals(), self._ledger.trials(), self.space.identity)
        return TrialList([trial for trial, _ in front])

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume that the Pareto front dominates, up to a reference point.

        Args:
            reference: a value of each property; by default that of the settings.
        """
        goals = self._goals()
        given = self.settings.reference if reference is None else reference
        if given is None:
            raise StudyError(
                "a hypervolume needs a reference point, and the study has none; give for each of "
                f"{', '.join(goals.names)} a value that graphs of interest beat"
            )
        point = Goals(goals.properties, "pareto", given).reference
        front = front_of(goals, self._ledger.trials(), self.space.identity)
        rows = np.array([goals.row(means) for _, means in front])
        return goals.hypervolume(rows, goals.row(point))

    def _goals(self) -> Goals:
        goals = self.settings.goals
        if goals is None or not goals.is_pareto:
            raise StudyError(
                "a Pareto front needs several properties that are maximised or minimised; try "
                "Study(space, properties={'qed': 'maximize', 'sa': 'minimize'})"
            )
        return goals

    def predict(self, graphs: Sequence[Graph]) -> Any:
        """Mean and standard deviation the model predicts for each graph, in your units.

        The standard deviation is that of the objective without its noise. Graphs need not be in the
        space, only of its kind. With several properties, a dictionary with the two for each.
        """
        n_given(graphs)  # refuses what is no list
        graphs = self._readable(graphs)
        return self._asking.planner.predict(self._ledger.trials(), graphs)

    def predict_success(self, graphs: Sequence[Graph]) -> Any:
        """The probability that each graph can be evaluated, learnt from failures.

        Raises `StudyError` while fewer than three evaluations have failed or two succeeded.
        """
        n_given(graphs)
        graphs = self._readable(graphs)
        return self._asking.planner.predict_success(self._ledger.trials(), graphs)

    def _readable(self, graphs: Sequence[Graph]) -> list[Graph]:
        """The graphs as a list, if they are of the kind of the space."""
        for i, graph in enumerate(graphs):
            odd = self.space.oddities(graph)
            if odd:
                raise InvalidInputError(f"graph {i} cannot be read: expected {'; '.join(odd)}")
        return list(graphs)

    def regret_bound(
        self,
        confidence: float = 0.95,
        *,
        n_graphs: int = 1,
        time_limit: float | None = None,
        stop: Callable[[], bool] | None = None,
        record: bool = False,
        client: Any = None,
    ) -> RegretBound:
        """Bound on the improvement of any graph of the space on the best observed graph.

        The best confidence limit on an observed graph minus the limit on all graphs of the space
        that are observed or can still be evaluated, which is proved as a proposal is. ``float()``
        of it is in your units, whether you minimise or maximise; ``assumptions`` says what it rests
        on. If the proof is cut short, the bound proved so far counts; it is infinite if there is
        none.

        The limits are for values without errors of measurement. They allow for what the kernel
        cannot explain, and are tighter if values were told with their noise, ``noise=0`` for exact
        ones (`bogrape.study.limits`).

        Args:
            confidence: of the two limits together, each one-sided, at graphs fixed beforehand
                (`bogrape.study.regret`). With 20 observations, 0.95 means 2.09 standard deviations.
            n_graphs: how many graphs the limits shall hold for at once, whatever the objective:
                more standard deviations, by Bonferroni's inequality.
            time_limit: seconds for the proof; by default the time limit of the study.
            stop: asked several times per second; once it returns true, the proof ends.
            record: whether the latest complete trial keeps it, for the report.
            client: a Dask client, or ``dask://host:port``, whose workers do the proof.
        """
        self._ledger.take_up_settings()
        trials = self._ledger.trials()
        limit = (
            self.settings.time_limit if time_limit is None else as_limit(time_limit, "time_limit")
        )
        effort = Effort(limit, stop, client=client)
        found = self._asking.planner.regret_bound(trials, confidence, n_graphs, effort)
        if record:
            complete = [trial for trial in trials if trial.state == "complete"]
            latest = max(complete, key=lambda trial: (trial.finished or "", trial.id))
            self._ledger.change(
                latest.id,
                lambda trial: replace(trial, details={**trial.details, REGRET: found.to_dict()}),
            )
        return found

    @property
    def plot(self) -> Any:
        """Its figures: ``study.plot.convergence()``, ``gallery``, ``predictions``, ``drivers``,
        ``map``, ``certificates`` and ``times``; they need the extra ``[plots]``."""
        return display.plots(self)

    # -- changing the settings ----------------------------------------------------------------

    def change(self, *, add_rules: Iterable[Rule] = (), **settings: Unpack[StudyOptions]) -> None:
        """Go on with other settings; the trials so far stay as they are.

        Args:
            add_rules: rules that graphs must satisfy from now on. Trials that break them keep
                training the model, and those that wait to be evaluated are given up.
            settings: any of `StudySettings` but ``seed`` and ``direction``, which the trials so far
                depend on.

        Every change is recorded with the trial it begins from: see `changes`.
        """
        rules = as_rules(add_rules, "add_rules")
        self._ledger.change_settings(lambda old: old.changed(rules, settings))

    def adopt(self, settings: StudySettings) -> None:
        """As `change`, with the settings in one piece; what cannot be changed must be the same."""
        self._ledger.change_settings(lambda _: settings)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Changes of the settings, oldest first.

        Each has ``from_trial``, the first trial it holds for, ``time``, and ``changed``: old and
        new value by name.
        """
        return self._ledger.storage.changes_of_settings(self._ledger.name)

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
        watch: Callable[[int, str], None] | None = ...,
        rules: Iterable[Rule] = ...,
        near: Graph | Trial | None = ...,
        edits: int | None = ...,
        client: Any = ...,
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
        watch: Callable[[int, str], None] | None = ...,
        rules: Iterable[Rule] = ...,
        near: Graph | Trial | None = ...,
        edits: int | None = ...,
        client: Any = ...,
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
        watch: Callable[[int, str], None] | None = None,
        rules: Iterable[Rule] = (),
        near: Graph | Trial | None = None,
        edits: int | None = None,
        client: Any = None,
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
            watch: told how many graphs are found, and a few words about the present one.
            rules: that these graphs must satisfy, beside those of the space; the study stays as it
                is. The trials remember them (`Trial.asked_under`). What is in the queue, or
                was given to ``worker`` before, is handed out only if it satisfies them.
            near: a graph, or a trial, that at most ``edits`` edits turn into each of these: short
                for one more rule, `bogrape.constraints.EditDistance`. An edit changes one edge, one
                edge label, the label of one node, or one feature (unless features follow from the
                rest, as in molecules); the number of nodes stays.
            edits: how many, together with ``near``.
            client: a Dask client, or ``dask://host:port``, whose workers do the proof; see
                `bogrape.propose`.
            most: number of trials, not counting added ones, the study may have in the end; then
                `BudgetSpent` is raised. Holds also if several processes ask at the same moment.
        """
        wish = Wish(
            n=n,
            worker=worker,
            time_limit=time_limit,
            most=most,
            progress=progress,
            stop=stop,
            watch=watch,
            rules=rules_of(self.space, rules, near, edits),
            client=client,
        )
        found = self._asking.ask(wish)
        return found[0] if n == 1 else TrialList(found)

    def ahead(self) -> Ahead:
        """For loops like `bogrape.optimize.run`: proposals computed in another process."""
        return Ahead(self._asking)

    # -- telling ------------------------------------------------------------------------------

    def tell(
        self,
        trial: Trial | int,
        value: float | Mapping[str, Any],
        *,
        noise: float | Mapping[str, float] | None = None,
        seconds: float | None = None,
    ) -> Trial:
        """Record the value of a trial. Telling the same value again changes nothing.

        Args:
            trial: what was evaluated, as ``ask`` returned it, or its id. A trial that has been
                released and given to somebody else is refused; an id is taken at its word.
            value: what the objective gave. Of several properties, the values by name; those that
                are missing or ``None`` may be told later.
            noise: variance of the value, if the measurement tells it: the square of its standard
                deviation, in your units. It adds to the noise of the model (see `GraphGP.fit`). Of
                several properties, the variances by name.
            seconds: how long the evaluation took; without it, the time since ``ask`` counts.
        """
        time_taken, goals = as_seconds(seconds), self.settings.goals
        if goals is not None:
            values, noises = as_values(goals.names, value, noise)
            return self._ledger.change(
                trial, lambda current: told_several(current, values, noises, time_taken)
            )
        number, variance = as_value(value), as_noise(noise)
        return self._ledger.change(
            trial, lambda current: told(current, number, time_taken, variance)
        )

    def correct(
        self,
        trial: Trial | int,
        value: float | Mapping[str, Any] | None,
        *,
        noise: float | Mapping[str, float] | None = None,
        reason: str | None = None,
    ) -> Trial:
        """Replace the value of a finished trial; the old one stays in ``trial.history``.

        Args:
            trial: the trial or its id.
            value: the right value; ``None`` withdraws the old one, and the trial counts as failed.
                Of several properties, the right values by name, ``None`` for one to be withdrawn;
                the others stay.
            noise: variance of the right value; by default that of the old one. NaN if unknown.
            reason: why, for the record.
        """
        words = None if reason is None else as_reason(reason)
        number_of = trial.id if isinstance(trial, Trial) else trial
        if (goals := self.settings.goals) is not None:
            values, noises = (
                (None, {}) if value is None else as_corrections(goals.names, value, noise)
            )
            return self._ledger.change(
                number_of, lambda current: corrected_several(current, values, noises, words)
            )
        number, variance = None if value is None else as_value(value), as_noise(noise)
        return self._ledger.change(
            number_of,
            lambda current: corrected(
                current, number, words, current.noise if noise is None else variance
            ),
        )

    def fail(
        self,
        trial: Trial | int,
        reason: str,
        *,
        seconds: float | None = None,
        about_graph: bool = True,
    ) -> Trial:
        """Record that an evaluation gave no value; the graph is not proposed again.

        While retries are left the trial is queued for the next ``ask`` instead. For ``trial`` and
        ``seconds`` see `tell`. Studies learn which graphs fail (the setting ``failures``): with
        ``about_graph=False`` a failure is the machine's, and says nothing about its graph.
        """
        words, retries, time_taken = as_reason(reason), self.settings.retries, as_seconds(seconds)
        if not isinstance(about_graph, bool):
            raise InvalidInputError(f"about_graph must be True or False, got {about_graph!r:.100}")
        return self._ledger.change(
            trial,
            lambda current: failed(current, words, retries, time_taken, about_graph=about_graph),
        )

    def release(self, trial: Trial | int, *, reason: str | None = None) -> Trial:
        """Return a pending trial to the queue, e.g. if its worker is gone.

        With a ``reason``, the evaluation could not even be started: no attempt is counted.
        """
        if reason is None:
            return self._ledger.change(trial, released)
        words = as_reason(reason)
        return self._ledger.change(trial, lambda current: not_started(current, words))

    def retry(self, trial: Trial | int) -> Trial:
        """Queue a failed trial for another attempt, for instance after fixing the objective.

        The earlier failure stays in the trial's ``details["failures"]``.
        """
        return self._ledger.change(trial, retried)

    # -- who did it ---------------------------------------------------------------------------

    @contextmanager
    def signed(self, signature: Signature) -> Iterator[None]:
        """Sign every change of a trial that is made meanwhile: it is kept in ``trial.log``.

        A request that has changed a trial already changes it no more, so whoever lost the answer
        may repeat it.
        """
        before, self._ledger.signature = self._ledger.signature, signature
        try:
            yield
        finally:
            self._ledger.signature = before

    def requested(self, signature: Signature) -> TrialList:
        """The trials that this request has made or changed already."""
        return TrialList(of_request(self._ledger.trials(), signature))

    def comment(self, trial: Trial | int, text: str) -> Trial:
        """Put a comment into ``trial.log``."""
        return self._ledger.comment(trial.id if isinstance(trial, Trial) else trial, text)

    # -- graphs from outside ------------------------------------------------------------------

    def add(
        self,
        graph: Graph,
        value: float | Mapping[str, Any],
        *,
        noise: float | Mapping[str, float] | None = None,
        outside: Outside = "accept",
    ) -> Trial:
        """Record an existing observation; see `add_all`. A known graph counts as a repeat.

        The noise is the variance of the value, where it is known: see `tell`. Several properties
        are given by name.
        """
        goals = self.settings.goals
        checked = checked_observation(self.space, (graph, value, noise), outside, goals)
        return self._ledger.append([self._observation(checked)])[0]

    def add_all(
        self,
        observations: Iterable[tuple[Graph, Any] | tuple[Graph, Any, Any]],
        *,
        outside: Outside = "accept",
    ) -> TrialList:
        """Record several existing observations: all of them or none.

        Graphs outside the space (of other sizes, or breaking rules) train the model all the same,
        and are never proposed: their trials say in ``trial.outside`` what they break.

        Args:
            observations: graphs and their values, and the variances of these where they are known
                (else ``None`` or NaN, or nothing). Of several properties, both by name.
            outside: ``"refuse"`` if graphs outside the space are mistakes.

        Raises:
            ObservationsError: names every observation that cannot be used, and the reason.
        """
        goals = self.settings.goals
        checked = checked_observations(self.space, observations, outside, goals)
        return TrialList(self._ledger.append(list(map(self._observation, checked))))

    def _observation(self, observation: Observation) -> Trial:
        draft = self._ledger.draft(observation.graph, "added")
        return replace(
            draft,
            state="complete",
            value=observation.value,
            noise=observation.noise,
            values=dict(observation.values),
            noises=dict(observation.noises),
            finished=draft.created,
        )

    def enqueue(self, graph: Graph) -> Trial:
        """Queue your own graph: the next ``ask`` hands it out."""
        self.space.check(graph)
        inserted = self._ledger.append_new(self._ledger.draft(graph, "queued"))
        if inserted is None:
            raise StudyError(
                "this graph is in the study already; study.repeat(trial) evaluates it again"
            )
        return inserted

    def repeat(self, trial: Trial | int) -> Trial:
        """Queue another evaluation of a trial's graph, for noisy objectives."""
        return self._ledger.append([self._ledger.draft(self._ledger.find(trial).graph, "repeat")])[
            0
        ]

    def _repr_html_(self) -> str | None:
        return display.html(self)

    def __repr__(self) -> str:
        states = [trial.state for trial in self._ledger.trials()]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states)) or "no trials"
        return f"Study({self.name!r}: {counts})"
