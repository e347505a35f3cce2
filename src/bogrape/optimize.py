"""`minimize`: the optimisation loop. `run`: the same for an existing study.

A new evaluation starts whenever one finishes. With one at a time, each proposal knows all values.
With ``n_parallel > 1`` proposals are computed in another process (`bogrape.study.ahead`), so that
meanwhile results are recorded, time limits enforced and free slots filled. If a proposal takes a
noticeable part of the time of an evaluation, the next ones are computed before a slot is free, and
know a few values less.

Interrupting the loop leaves pending trials in the study; running it again under the same worker
name evaluates those first.
"""

from __future__ import annotations

import logging
import math
from collections import Counter, deque
from collections.abc import Collection
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, Unpack

from .checks import whole
from .console import status_line
from .errors import (
    BudgetSpent,
    EvaluationNotStarted,
    InvalidInputError,
    SearchSpaceExhausted,
    StudyError,
    TooManyFailures,
)
from .evaluate import Evaluator, Objective, Outcome, make_evaluator
from .progress import in_words
from .space import GraphSpace
from .stopping import Enough, StopWhen
from .storage import Storage
from .study import Study
from .study.ahead import Ahead
from .study.settings import SearchOptions, refuse_unknown, shows_settings
from .study.several import as_values
from .study.values import as_value
from .trial import Trial

logger = logging.getLogger(__name__)

_FAILURE_WINDOW = 20  # latest evaluations over which the share of failures is computed
_FAILURE_MINIMUM = 10  # evaluations before it is computed at all
_NOT_STARTED = 3  # evaluations in a row that could not be started before the run stops
_NOTICEABLE = 0.05  # share of an evaluation's time for which a slot may be empty
_LOOK = 0.05  # seconds between polls of a running proposal


@shows_settings
def minimize(
    objective: Objective,
    space: GraphSpace,
    n_iterations: int = 50,
    n_initial: int = 10,
    *,
    storage: Storage | str | None = None,
    name: str = "study",
    executor: Any = None,
    n_parallel: int = 1,
    evaluation_time_limit: float | None = None,
    memory_limit: float | None = None,
    worker: str = "main",
    progress: bool = True,
    stop_when: StopWhen | None = None,
    **settings: Unpack[SearchOptions],
) -> Study:
    """Find a graph of the space with a small objective value.

    Args:
        objective: function of a `Graph` that returns a number; with ``properties``, a dictionary of
            numbers by name. Anything else (raising, returning NaN, ...) is recorded as a failed
            trial.
        space: the graphs to choose from.
        n_iterations: evaluations after the initial ones.
        n_initial: evaluations of the initial design.
        storage: ``None`` for memory, or a database URL such as ``"sqlite:///study.db"``. A study
            that already exists continues where it stopped.
        name: name of the study in its storage.
        executor: where evaluations run. ``None`` for this process; ``"process"`` for one
            killable process each; ``"dask://host:port"`` or a Dask client; ``"slurm"`` or a
            submitit executor; an executor in the style of `concurrent.futures`; or an
            `Evaluator`.
        n_parallel: evaluations at a time. With several, proposals are computed while evaluations
            run, and may not know the latest values.
        evaluation_time_limit: time limit of one evaluation in seconds.
        memory_limit: bytes one evaluation may take, for ``executor="process"``.
        worker: name of this program in the study; programs that work on one study at the same
            time need different names.
        progress: whether to show progress: a bar on a terminal, a line in a notebook, lines
            elsewhere (through `logging` if it is set up for INFO, or on standard error).
        stop_when: a number: stop once `Study.regret_bound` promises, with confidence 0.95, that no
            graph is better than the best by more than that, in your units; never while the model is
            visibly miscalibrated. Or a function that is called with the study after every
            evaluation and returns True to stop, for instance when the expected improvement
            (``study.trials[-1].certificate``) is small or your own budget is used up.
        settings: those of the study: ``kernel``, ``seed``, ``time_limit`` for one proposal, and all
            others that `StudySettings` describes; or ``preset="paper"`` for those of the BoGrape
            paper (kernel SSP, ``LCB(1.0)``, noise 1e-6) unless they are given.

    Returns:
        The study; see its ``best``, ``trials`` and ``dataset``.

    Raises:
        EvaluationNotStarted: if the objective cannot be called, three times in a row.
        TooManyFailures: if most of the latest evaluations failed. After either, the study can be
            continued.
    """
    n_iterations = whole(n_iterations, "n_iterations", 0)
    refuse_unknown(settings, of=minimize)
    study = Study(space, storage, name, n_initial=n_initial, **settings)
    evaluator = make_evaluator(objective, executor, n_parallel, evaluation_time_limit, memory_limit)
    try:
        run(
            study,
            evaluator,
            study.settings.n_initial + n_iterations,
            progress=progress,
            worker=worker,
            stop_when=stop_when,
        )
    finally:
        evaluator.close()
    return study


def run(
    study: Study,
    evaluator: Evaluator,
    n_trials: int,
    *,
    progress: bool = True,
    worker: str = "main",
    n_evaluations: int | None = None,
    max_failure_share: float = 0.5,
    stop_when: StopWhen | None = None,
) -> Study:
    """Evaluate until the study has ``n_trials`` finished trials, not counting added ones.

    Args:
        study: study to continue; its existing trials count.
        evaluator: where evaluations run.
        n_trials: number of finished trials at the end.
        progress: whether to show progress; see `minimize`.
        worker: name of this program in the study.
        n_evaluations: most evaluations to start in this call; ``None`` for no limit.
        max_failure_share: share of failures, among the latest 20, above which to stop.
        stop_when: see `minimize`. Evaluations running at that time are finished.

    Raises:
        TooManyFailures: if most of the latest evaluations failed; the study can be continued later.
        EvaluationNotStarted: if three evaluations in a row could not be started, for instance
            because a program is missing. Their trials wait in the queue, and the study can
            be continued once that is fixed.
    """
    n_trials = whole(n_trials, "n_trials", 0)
    if not 0 < max_failure_share <= 1:
        raise InvalidInputError(
            f"max_failure_share must be above 0 and at most 1, got {max_failure_share!r}"
        )
    enough = Enough(study, stop_when)
    done = sum(trial.is_finished and trial.origin != "added" for trial in study.trials)
    outcomes = _Outcomes(max_failure_share)
    with ExitStack() as stack:
        ahead = stack.enter_context(study.ahead()) if evaluator.n_parallel > 1 else None
        if ahead is not None and n_trials > study.settings.n_initial:
            ahead.warm_up()
        line = stack.enter_context(
            closing(status_line(study.name, n_trials, done=done, show=progress))
        )
        loop = _Loop(
            study=study,
            evaluator=evaluator,
            n_trials=n_trials,
            worker=worker,
            n_evaluations=n_evaluations,
            ahead=ahead,
            is_enough=enough.is_reached(),
        )
        while loop.fill():
            for number, given in loop.wait():
                outcome = _fitting(given, study)
                trial = loop.record(number, outcome)
                outcomes.add(outcome)
                done += trial.is_finished
                if progress:
                    line.show(done, in_words(study, trial))
                if outcome.is_value and not loop.is_enough:
                    loop.is_enough = enough.is_reached()
            outcomes.stop_if_hopeless()
    outcomes.summarise()
    return study


@dataclass(kw_only=True)
class _Loop:
    """State of the loop: running evaluations, prepared trials and the proposer."""

    study: Study
    evaluator: Evaluator
    n_trials: int
    worker: str
    n_evaluations: int | None
    ahead: Ahead | None  # without it, proposals are computed while nothing else happens
    running: dict[int, Trial] = field(default_factory=dict)
    ready: deque[Trial] = field(default_factory=deque)  # assigned to us, not running yet
    n_started: int = 0
    is_used_up: bool = False
    is_enough: bool = False  # set by the stopping rule
    durations: list[float] = field(default_factory=list)  # seconds of evaluations

    def fill(self) -> bool:
        """Start evaluations in all free slots and prepare the next; ``False`` at the end."""
        while True:
            if self.is_enough:  # prepared trials stay pending, for when the study is continued
                self.ready.clear()
                return bool(self.running)
            while self.ready and len(self.running) < self.evaluator.n_parallel:
                trial = self.ready.popleft()
                self.n_started += 1
                self.running[trial.id] = trial
                self.evaluator.submit(trial.id, trial.graph)
            found = self._next() if self._wants_another() else None
            if found is None:
                return bool(self.running) or self._is_proposing
            self.ready.append(found)

    def wait(self) -> list[tuple[int, Outcome]]:
        """Finished evaluations; none if a proposal finished or was polled first."""
        if self.is_enough or not self._is_proposing:
            return self.evaluator.wait()
        assert self.ahead is not None
        finished = self.evaluator.wait(_LOOK) if self.running else []
        try:
            trial = self.ahead.take(self.worker, self.n_trials, 0 if self.running else _LOOK)
        except (BudgetSpent, SearchSpaceExhausted) as error:
            self._used_up(error)
            trial = None
        if trial is not None:
            self.ready.append(trial)
        return finished

    def record(self, number: int, outcome: Outcome) -> Trial:
        """Record the outcome of an evaluation in the study; returns the updated trial."""
        trial = self.running.pop(number)
        if outcome.is_started and outcome.seconds is not None:
            self.durations.append(outcome.seconds)
        try:
            if outcome.is_value:
                value, noise = outcome.measured
                return self.study.tell(trial, value, noise=noise, seconds=outcome.seconds)
            reason = f"{outcome.kind}: {outcome.reason}"
            if outcome.is_started:
                changed = self.study.fail(
                    trial, reason, seconds=outcome.seconds, about_graph=outcome.kind != "lost"
                )
            else:
                self.n_started -= 1
                changed = self.study.release(trial, reason=reason)
        except StudyError as error:
            # Another worker has the trial, or has finished it. That result counts, and is reported.
            logger.warning("%s", error)
            changed = self.study.trials[number]
        self.is_used_up = self.is_used_up and changed.state != "queued"  # queued ones remain
        return changed

    @property
    def _is_proposing(self) -> bool:
        return self.ahead is not None and self.ahead.is_busy

    @property
    def _held(self) -> set[int]:
        return {*self.running, *(trial.id for trial in self.ready)}

    def _wants_another(self) -> bool:
        """True if another trial should be planned now."""
        if self.is_used_up or self._is_proposing:
            return False
        held = self._held
        if len(held) >= self.evaluator.n_parallel + self._n_ahead():
            return False
        started = self.n_started + len(self.ready)
        if self.n_evaluations is not None and started >= self.n_evaluations:
            return False
        return _n_spent(self.study.trials, held, self.worker) < self.n_trials

    def _n_ahead(self) -> int:
        """Number of trials to prepare: as many as slots become free during one proposal.

        Zero if proposals are so quick that knowing one more value is worth the wait.
        """
        seconds = None if self.ahead is None else self.ahead.mean_seconds
        if seconds is None or not self.durations:
            return 0
        places, evaluation = self.evaluator.n_parallel, sum(self.durations) / len(self.durations)
        if seconds <= _NOTICEABLE * evaluation:
            return 0
        return places if seconds >= evaluation else math.ceil(places * seconds / evaluation)

    def _next(self) -> Trial | None:
        """The next trial; ``None`` while a proposal is being computed, or if there are no more."""
        held = self._held
        for trial in self.study.trials:
            if trial.state == "pending" and trial.worker == self.worker and trial.id not in held:
                return trial
        if self.ahead is not None and self.ahead.start():
            return None
        try:
            # Under its own name the worker would get the trials it is already evaluating.
            # With a separate stop function, Ctrl-C ends the run and not only the proposal.
            asked = self.study.ask(
                len(held) + 1,
                worker=self.worker,
                most=self.n_trials,
                progress=False,
                stop=_never,
            )
        except (BudgetSpent, SearchSpaceExhausted) as error:
            self._used_up(error)
            return None
        fresh = [t for t in ([asked] if isinstance(asked, Trial) else asked) if t.id not in held]
        self.is_used_up = not fresh
        return fresh[0] if fresh else None

    def _used_up(self, error: BudgetSpent | SearchSpaceExhausted) -> None:
        """Stop handing out graphs; only an exhausted space is worth a warning."""
        self.is_used_up = True
        if isinstance(error, SearchSpaceExhausted):
            logger.warning("%s", error)


def _fitting(outcome: Outcome, study: Study) -> Outcome:
    """The outcome, turned into a failure if its properties are not those of the study."""
    if not outcome.is_value:
        return outcome
    goals, (value, noise) = study.settings.goals, outcome.measured
    try:
        if goals is None:
            as_value(value)
        else:
            as_values(goals.names, value, noise)
    except InvalidInputError as error:
        return Outcome("not a value", reason=str(error), seconds=outcome.seconds)
    return outcome


def _never() -> bool:
    return False


def _n_spent(trials: tuple[Trial, ...], held: Collection[int], worker: str) -> int:
    """Number of the study's own trials that are finished or being evaluated by anyone."""
    return sum(
        trial.is_finished
        or trial.id in held
        or (trial.state == "pending" and trial.worker != worker)
        for trial in trials
        if trial.origin != "added"
    )


class _Outcomes:
    """Counts outcomes of evaluations, stops hopeless runs, and summarises at the end."""

    def __init__(self, max_failure_share: float) -> None:
        self._max_share = max_failure_share
        self._recent: deque[Outcome] = deque(maxlen=_FAILURE_WINDOW)
        self._n_started = 0
        self._in_a_row: list[str] = []  # why the latest evaluations could not be started
        self._reasons: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        if not outcome.is_value:
            self._reasons[outcome.is_started][f"{outcome.kind}: {outcome.reason}"] += 1
        if outcome.is_started:
            self._n_started += 1
            self._recent.append(outcome)
            self._in_a_row.clear()
        else:
            self._in_a_row.append(str(outcome.reason))

    def stop_if_hopeless(self) -> None:
        """Raise if evaluations cannot be started, or if most of the latest failed."""
        if len(self._in_a_row) >= _NOT_STARTED:
            raise EvaluationNotStarted(
                f"{len(self._in_a_row)} evaluations in a row could not be started, so the run "
                f"stopped: {self._in_a_row[-1][:500].rstrip('.')}. Their graphs wait in the queue "
                "and no evaluation was counted; fix the cause and run the study again"
            )
        failed = [outcome for outcome in self._recent if not outcome.is_value]
        n_recent = len(self._recent)
        if n_recent < _FAILURE_MINIMUM or len(failed) <= self._max_share * n_recent:
            return
        (reason, times), *_ = Counter(f"{o.kind}: {o.reason}" for o in failed).most_common(1)
        raise TooManyFailures(
            f"{len(failed)} of the last {n_recent} evaluations failed, so the study stopped. Most "
            f"frequent ({times} times): {reason[:300]}. Fix the objective, or exclude such "
            "graphs by rules, and run the study again: it continues from here"
        )

    def summarise(self) -> None:
        """Report the number of failed evaluations, whether or not progress was shown."""
        for is_started, what in (
            (True, f"of {self._n_started} evaluations failed"),
            (False, "evaluations could not be started and were tried again"),
        ):
            reasons = self._reasons[is_started]
            if reasons:
                (reason, times), *_ = reasons.most_common(1)
                logger.warning(
                    "%d %s; most frequent reason (%d times): %s",
                    reasons.total(),
                    what,
                    times,
                    reason[:300],
                )
