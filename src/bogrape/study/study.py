"""`Study`: ask for a graph, evaluate it, tell its value.

A study decides, and its `Storage` keeps the data, which is read and changed through a `Ledger`.
`Asking` finds the next graphs. Several processes may open the same study: no worker is given a
graph that is identical (`GraphSpace.identity`) to one that another worker has or had.
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
        name: of the study within its storage. If the study exists, it is reopened, and its settings
            must be the ones given here; `Study.load` takes them from the storage.
        preset: ``"paper"`` for the settings of the BoGrape paper (kernel SSP, ``LCB(1.0)``, noise
            1e-6), except those that are given. ``None`` for the defaults: kernel ``"rbf"``,
            expected improvement, fitted noise.

    The settings are described in `StudySettings`. Use a study in one thread only: open it again in
    other threads and processes.

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

        ``given`` names the settings that were chosen. The others are defaults, and a study that was
        made with earlier defaults keeps those. Without ``given``, all count as chosen.
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

    # -- contents -----------------------------------------------------------------------------

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
        """Settings that determine its course."""
        return self._ledger.settings

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""
        return self._ledger.space

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials by id, as currently stored."""
        return tuple(self._ledger.trials())

    @property
    def revision(self) -> int:
        """A number that grows with every change of a trial, by any process."""
        return self._ledger.revision

    @property
    def dataset(self) -> Dataset:
        """Graphs and values of all complete trials."""
        return dataset_of(self._ledger.trials())

    @property
    def noise(self) -> Any:
        """Variances of the values in `dataset`, as they were told; NaN if unknown.

        For several properties, a list of dictionaries of those that are known.
        """
        trials = self._ledger.trials()
        if self.settings.goals is not None:
            return [dict(trial.noises) for trial in trials if trial.state == "complete"]
        return np.array(observed_noise(trials))

    @property
    def best(self) -> Trial:
        """The complete trial with the best value, among those in the space if there are any.

        If a graph was evaluated several times, its mean counts (weighted by ``1 / noise`` if that
        is known for all its values), and its first trial is returned; ties go to the earliest
        trial. With several properties, graphs that were measured in full are compared by their
        score; in a Pareto search, see `pareto_front`.
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
        none. `best` does not set them aside: correct a wrong value, or measure again.
        """
        return TrialList(self._asking.planner.models.suspicious(self._ledger.trials()))

    @property
    def pareto_front(self) -> TrialList:
        """The complete trials whose graphs no other graph beats in every property.

        Among graphs that were measured in full, in the space if there are any. If a graph was
        evaluated several times, its means count, and its first trial is returned. Sorted by the
        first property.
        """
        front = front_of(self._goals(), self._ledger.trials(), self.space.identity)
        return TrialList([trial for trial, _ in front])

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume that the Pareto front dominates, up to a reference point.

        Args:
            reference: a value for each property; by default that of the settings.
        """
        goals = self._goals()
        given = self.settings.reference if reference is None else reference
        if given is None:
            raise StudyError(
                "a hypervolume needs a reference point, and the study has none; give a value that "
                f"graphs of interest beat for each of {', '.join(goals.names)}"
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
        space, only of its kind. With several properties, a dictionary with both for each.
        """
        n_given(graphs)  # refuses anything but a list
        graphs = self._readable(graphs)
        return self._asking.planner.models.predict(self._ledger.trials(), graphs)

    def predict_success(self, graphs: Sequence[Graph]) -> Any:
        """The probability that each graph can be evaluated, learnt from failures.

        Raises `StudyError` while fewer than three evaluations have failed or two succeeded.
        """
        n_given(graphs)
        graphs = self._readable(graphs)
        return self._asking.planner.predict_success(self._ledger.trials(), graphs)

    def _readable(self, graphs: Sequence[Graph]) -> list[Graph]:
        """The graphs as a list; an error if one is not of the kind of the space."""
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
        """Bound on the improvement of any graph of the space over the best observed graph.

        The best confidence limit on an observed graph minus the limit on all graphs of the space
        that are observed or can still be evaluated, which is proved as a proposal is. ``float()``
        of it is in your units, whether you minimise or maximise; ``assumptions`` describes what it
        rests on. If the proof is interrupted, the bound proved so far counts; it is infinite if
        there is none.

        The limits are for values without errors of measurement. They allow for what the kernel
        cannot explain, and are tighter if values were told with their noise, ``noise=0`` for exact
        ones (`bogrape.study.limits`).

        Args:
            confidence: of the two limits together, each one-sided, at graphs fixed beforehand
                (`bogrape.study.regret`). With 20 observations, 0.95 means 2.09 standard deviations.
            n_graphs: number of graphs for which the limits are to hold at once, whatever the
                objective: more standard deviations, by Bonferroni's inequality.
            time_limit: seconds for the proof; by default the time limit of the study.
            stop: called several times per second; once it returns true, the proof ends.
            record: whether to store it in the latest complete trial, for the report.
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
        """Figures: ``study.plot.convergence()``, ``gallery``, ``predictions``, ``drivers``,
        ``map``, ``certificates`` and ``times``; they need the extra ``[plots]``."""
        return display.plots(self)

    # -- changing the settings ----------------------------------------------------------------

    def change(self, *, add_rules: Iterable[Rule] = (), **settings: Unpack[StudyOptions]) -> None:
        """Continue with other settings; existing trials do not change.

        Args:
            add_rules: rules that graphs must satisfy from now on. Trials that break them still
                train the model, and queued ones are given up.
            settings: any of `StudySettings` except ``seed`` and ``direction``, on which existing
                trials depend.

        Every change is recorded with the first trial it applies to: see `changes`.
        """
        rules = as_rules(add_rules, "add_rules")
        self._ledger.change_settings(lambda old: old.changed(rules, settings))

    def adopt(self, settings: StudySettings) -> None:
        """Like `change`, with all settings as one object; those that are fixed must be the same."""
        self._ledger.change_settings(lambda _: settings)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Changes of the settings, oldest first.

        Each has ``from_trial``, the first trial it applies to, ``time``, and ``changed``: old and
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

        Trials are handed out in this order: unfinished ones of ``worker``, queued ones, the initial
        design, proposals. Proposals assume that graphs under evaluation will have their posterior
        mean as value.

        Ctrl-C ends the current proof and returns the graphs suggested so far and the best graph
        found by this proof, with the bound proved so far. A second Ctrl-C within three seconds
        interrupts as usual.

        Args:
            n: number of graphs; the list is shorter, with a warning, if the space is exhausted.
            time_limit: seconds for the whole call, for any number of graphs; by default the time
                limit of the study.
            progress: whether to show progress if the call takes more than two seconds: a bar on a
                terminal, a line in a notebook, lines in a log or on standard error elsewhere.
            stop: called several times per second; once it returns true, the call ends as with
                Ctrl-C. If ``stop`` is given, Ctrl-C interrupts as usual.
            worker: your name, if you want your unfinished trials back after a restart. Workers
                that run at the same time need different names.
            watch: called with the number of graphs found and a few words about the current one.
            rules: rules that these graphs must satisfy in addition to those of the space; the study
                does not change. The trials record them (`Trial.asked_under`). Queued trials and
                unfinished ones of ``worker`` are handed out only if they satisfy them.
            near: a graph or a trial; these graphs are at most ``edits`` edits away from it. Short
                for one more rule, `bogrape.constraints.EditDistance`. An edit changes one edge, one
                edge label, the label of one node, or one feature (unless features follow from the
                rest, as in molecules); the number of nodes does not change.
            edits: maximum number of edits, together with ``near``.
            client: a Dask client, or ``dask://host:port``, whose workers do the proof; see
                `bogrape.propose`.
            most: maximum number of trials of the study, not counting added ones; beyond it,
                `BudgetSpent` is raised, even if several processes ask at the same time.
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
        """Proposals computed in another process, for loops like `bogrape.optimize.run`."""
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
            trial: the evaluated trial, as returned by ``ask``, or its id. A trial that has been
                released and given to another worker is refused; with an id, this is not checked.
            value: the value of the objective. For several properties, the values by name; those
                that are missing or ``None`` may be told later.
            noise: variance of the value, if known: the square of its standard deviation, in your
                units. It adds to the noise of the model (see `GraphGP.fit`). For several
                properties, the variances by name.
            seconds: duration of the evaluation; by default the time since ``ask``.
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
            value: the correct value; ``None`` withdraws the old one, and the trial counts as
                failed. For several properties, the correct values by name, ``None`` to withdraw
                one; the others are kept.
            noise: variance of the correct value; by default that of the old one. NaN if unknown.
            reason: reason for the correction, kept in the history.
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

        While retries remain, the trial is queued for the next ``ask`` instead. For ``trial`` and
        ``seconds`` see `tell`. Studies learn which graphs fail (the setting ``failures``);
        ``about_graph=False`` marks a failure of the machine, which says nothing about the graph.
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

    # -- signatures ---------------------------------------------------------------------------

    @contextmanager
    def signed(self, signature: Signature) -> Iterator[None]:
        """Sign every change of a trial in this context; signatures are kept in ``trial.log``.

        A request that has already changed a trial does not change it again, so requests whose
        answer was lost may be repeated.
        """
        before, self._ledger.signature = self._ledger.signature, signature
        try:
            yield
        finally:
            self._ledger.signature = before

    def requested(self, signature: Signature) -> TrialList:
        """The trials that this request has already created or changed."""
        return TrialList(of_request(self._ledger.trials(), signature))

    def comment(self, trial: Trial | int, text: str) -> Trial:
        """Add a comment to ``trial.log``."""
        return self._ledger.comment(trial.id if isinstance(trial, Trial) else trial, text)

    # -- other observations and graphs --------------------------------------------------------

    def add(
        self,
        graph: Graph,
        value: float | Mapping[str, Any],
        *,
        noise: float | Mapping[str, float] | None = None,
        outside: Outside = "accept",
    ) -> Trial:
        """Record an existing observation; see `add_all`. A known graph counts as a repeat.

        The noise is the variance of the value, if known: see `tell`. Several properties are given
        by name.
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

        Graphs outside the space (of other sizes, or breaking rules) also train the model, but are
        never proposed: ``trial.outside`` lists what they break.

        Args:
            observations: tuples of a graph, its value and, if known, the variance of the value
                (otherwise ``None``, NaN or left out). For several properties, both by name.
            outside: ``"refuse"`` to treat graphs outside the space as errors.

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
                "this graph is already in the study; study.repeat(trial) evaluates it again"
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
