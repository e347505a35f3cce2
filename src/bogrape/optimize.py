"""`minimize`: the whole loop. `run`: the same for a study that exists.

Evaluations are refilled as they finish: whenever one of ``n_parallel`` is free, the study is asked
for a graph, knowing all values told so far. Interrupting the loop leaves pending trials in the
study; running it again under the same worker name evaluates those first.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from typing import Any, Literal

from .acquisition import Acquisition
from .errors import (
    BudgetSpent,
    InvalidInputError,
    SearchSpaceExhausted,
    StudyError,
    TooManyFailures,
)
from .evaluate import Evaluator, Objective, Outcome, make_evaluator
from .kernels import KernelName
from .progress import Progress
from .propose import Method
from .space import GraphSpace
from .study import Storage, Study, Trial
from .study.settings import Direction

logger = logging.getLogger(__name__)

_FAILURE_WINDOW = 20  # evaluations over which the share of failures is taken
_FAILURE_MINIMUM = 10  # evaluations before it is taken at all


def minimize(
    objective: Objective,
    space: GraphSpace,
    n_iterations: int = 50,
    n_initial: int = 10,
    kernel: KernelName = "ssp",
    seed: int = 0,
    time_limit: float = 60.0,
    executor: Any = None,
    storage: Storage | str | None = None,
    progress: bool = True,
    acquisition: Acquisition | str = "lcb",
    method: Method = "auto",
    *,
    name: str = "study",
    noise: float | Literal["fit"] = 1e-6,
    direction: Direction = "minimize",
    retries: int = 0,
    n_parallel: int = 1,
    evaluation_time_limit: float | None = None,
    memory_limit: float | None = None,
    worker: str = "main",
) -> Study:
    """Find a graph of the space with a small objective value.

    Args:
        objective: function of a `Graph` that returns a number. Whatever else it does (raise, return
            NaN, ...) is recorded as a failed trial.
        space: the graphs to choose from.
        n_iterations: evaluations after the initial ones.
        n_initial: evaluations of the initial design.
        kernel, seed, acquisition, method, noise, direction, retries: see `StudySettings`.
        time_limit: seconds for one proposal.
        executor: where evaluations run. ``None`` for this process; ``"process"`` for a killable
            process each; ``"dask://host:port"`` or a Dask client; ``"slurm"`` or a submitit
            executor; any executor in the style of `concurrent.futures`; or an `Evaluator`.
        storage: ``None`` for memory, or a database URL such as ``"sqlite:///study.db"``. A study
            that is there already goes on where it stopped.
        progress: whether to show a progress bar (on a terminal) or log lines (elsewhere).
        name: of the study in its storage.
        n_parallel: evaluations in flight.
        evaluation_time_limit: seconds for one evaluation.
        memory_limit: bytes one evaluation may take, for ``executor="process"``.
        worker: name under which trials are asked for; programs that work on one study at the same
            time need different ones.

    Returns:
        The study; see its ``best``, ``trials`` and ``dataset``.
    """
    _check_number(n_iterations, "n_iterations")
    study = Study(
        space,
        storage,
        name,
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
    evaluator = make_evaluator(objective, executor, n_parallel, evaluation_time_limit, memory_limit)
    try:
        run(study, evaluator, n_initial + n_iterations, progress=progress, worker=worker)
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
) -> Study:
    """Evaluate until the study has ``n_trials`` finished trials, not counting added ones.

    Args:
        study: what to work on; trials it has already count.
        evaluator: where evaluations run.
        n_trials: how many the study should have in the end.
        progress: whether to show a progress bar (on a terminal) or log lines (elsewhere).
        worker: name under which trials are asked for.
        n_evaluations: the most to start in this call; ``None`` for no limit.
        max_failure_share: share of failures, among the latest 20, above which to stop.

    Raises:
        TooManyFailures: if most of the latest evaluations failed; the study can go on later.
    """
    _check_number(n_trials, "n_trials")
    if not 0 < max_failure_share <= 1:
        raise InvalidInputError(
            f"max_failure_share must be above 0 and at most 1, got {max_failure_share!r}"
        )
    recent: deque[Outcome] = deque(maxlen=_FAILURE_WINDOW)
    running: set[int] = set()
    used_up, started = False, 0
    with Progress(study, n_trials, show=progress) as shown:
        while True:
            while not used_up and len(running) < evaluator.n_parallel:
                if _n_spent(study.trials, running, worker) >= n_trials:
                    break
                if n_evaluations is not None and started >= n_evaluations:
                    break
                trial = _next(study, worker, running, n_trials)
                used_up = trial is None
                if trial is not None:
                    started += 1
                    running.add(trial.id)
                    evaluator.submit(trial.id, trial.graph)
            if not running:
                return study
            for number, outcome in evaluator.wait():
                running.discard(number)
                recent.append(outcome)
                finished = _record(study, number, outcome)
                used_up = used_up and finished.state != "queued"  # that is there to be taken
                shown.update(finished)
            _stop_if_hopeless(recent, max_failure_share)


def _n_spent(trials: tuple[Trial, ...], running: set[int], worker: str) -> int:
    """Trials of the study itself that are finished, or being evaluated here or by others."""
    return sum(
        trial.is_finished
        or trial.id in running
        or (trial.state == "pending" and trial.worker != worker)
        for trial in trials
        if trial.origin != "added"
    )


def _next(study: Study, worker: str, running: set[int], n_trials: int) -> Trial | None:
    """An unfinished trial of this worker that is not running yet, or a new one."""
    for trial in study.trials:
        if trial.state == "pending" and trial.worker == worker and trial.id not in running:
            return trial
    try:
        # Under its own name the worker would be given what it is evaluating already.
        asked = study.ask(len(running) + 1, worker=worker, most=n_trials)
    except BudgetSpent:  # other workers were quicker
        return None
    except SearchSpaceExhausted as error:
        logger.warning("%s", error)
        return None
    trials = [asked] if isinstance(asked, Trial) else asked
    fresh = [trial for trial in trials if trial.id not in running]
    return fresh[0] if fresh else None


def _record(study: Study, number: int, outcome: Outcome) -> Trial:
    try:
        if outcome.value is not None and outcome.is_value:
            return study.tell(number, outcome.value)
        return study.fail(number, f"{outcome.kind}: {outcome.reason}")
    except StudyError as error:
        # Somebody else finished the trial meanwhile. Theirs stands, and is what we report.
        logger.warning("%s", error)
        return study.trials[number]


def _stop_if_hopeless(recent: deque[Outcome], max_share: float) -> None:
    failed = [outcome for outcome in recent if not outcome.is_value]
    if len(recent) < _FAILURE_MINIMUM or len(failed) <= max_share * len(recent):
        return
    (reason, times), *_ = Counter(f"{o.kind}: {o.reason}" for o in failed).most_common(1)
    raise TooManyFailures(
        f"{len(failed)} of the last {len(recent)} evaluations failed, so the study stopped. Most "
        f"frequent ({times} times): {reason[:300]}. Mend the objective, or leave such graphs out "
        "of the space by rules, and run the study again: it goes on from here"
    )


def _check_number(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"{name} must be an integer >= 0, got {value!r}")
