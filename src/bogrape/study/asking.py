"""`Asking` hands out trials: queued ones first, then the initial design, then proposals.

The seed of trial k derives from the study's seed and k, and proposals depend on the trials present,
in the order of their ids. So an interrupted study continues as if it had not been interrupted.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ..checks import seconds, whole
from ..console import StatusLine, first_interrupt, status_line
from ..constraints import Rule
from ..errors import (
    BudgetSpent,
    InvalidInputError,
    SamplingError,
    SearchSpaceExhausted,
    StudyError,
)
from ..propose import Stage, check_client
from ..storage.protocol import check_budget
from ..trial import Trial, now
from .ledger import Ledger
from .planner import Effort, Plan, Planner
from .under import recorded, restricted

logger = logging.getLogger(__name__)

_LEAST_SECONDS = 0.05  # for a proposal of a batch whose time is up
_MANY = 10  # this many graphs or more are proposed together if there is less time for each
_TOO_SHORT = 0.5  # than this many seconds
_CONFLICTS = 100  # asks lost to other processes before giving up
_DELAY = 2.0  # seconds: quicker answers need no progress
_PAUSE = 10.0  # seconds between two lines if they cannot be updated in place


@final
@dataclass(frozen=True, kw_only=True)
class Wish:
    """The arguments of one `Study.ask`, checked."""

    n: int
    worker: str | None
    time_limit: float | None
    most: int | None
    progress: bool
    stop: Callable[[], bool] | None
    watch: Callable[[int, str], None] | None = None
    rules: tuple[Rule, ...] = ()
    client: Any = None  # of a Dask cluster

    def __post_init__(self) -> None:
        worker = self.worker
        object.__setattr__(self, "n", whole(self.n, "n", 1))
        if self.most is not None:
            object.__setattr__(self, "most", whole(self.most, "most (None for no limit)", 0))
        if self.stop is not None and not callable(self.stop):
            raise InvalidInputError(f"stop must be a function or None, got {self.stop!r:.100}")
        if self.watch is not None and not callable(self.watch):
            raise InvalidInputError(f"watch must be a function or None, got {self.watch!r:.100}")
        if worker is not None and not (
            isinstance(worker, str) and 0 < len(worker) <= 200 and worker.isprintable()
        ):
            raise InvalidInputError(f"worker must be a short string or None, got {worker!r:.100}")
        if self.time_limit is not None:
            object.__setattr__(self, "time_limit", seconds(self.time_limit, "time_limit"))
        if not isinstance(self.progress, (bool, np.bool_)):
            raise InvalidInputError(f"progress must be True or False, got {self.progress!r:.100}")


@final
class Asking:
    """Finds the next trials of a study from those in its ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._planner = Planner(ledger.settings)

    @property
    def planner(self) -> Planner:
        """The planner for the current settings; replaced after each change of them."""
        if self._planner.settings is not self.ledger.settings:
            self._planner = Planner(self.ledger.settings)
        return self._planner

    def ask(self, wish: Wish) -> list[Trial]:
        """The requested number of pending trials, or as many as possible."""
        ledger = self.ledger
        ledger.take_up_settings()
        check_client(wish.client, ledger.settings.method)  # before the first proposal needs it
        limit = ledger.settings.time_limit if wish.time_limit is None else wish.time_limit
        found: list[Trial] = []
        if wish.worker is not None:
            held = [t for t in ledger.trials() if t.state == "pending" and t.worker == wish.worker]
            if wish.rules:
                within = restricted(ledger.space, wish.rules)
                held = [trial for trial in held if within.contains(trial.graph)]
            found = held[: wish.n]
        line = status_line(
            f"{ledger.name}, suggestions",
            wish.n,
            show=wish.progress,
            delay=_DELAY,
            pause=_PAUSE,
        )
        stopping: AbstractContextManager[Callable[[], bool]]
        stopping = first_interrupt() if wish.stop is None else nullcontext(wish.stop)
        with stopping as stopped, closing(line):
            self._fill(found, wish, time.monotonic() + limit, stopped, line)
        return found

    def _fill(
        self,
        found: list[Trial],
        wish: Wish,
        deadline: float,
        stopped: Callable[[], bool],
        line: StatusLine,
    ) -> None:
        """Append trials until there are enough, or no more can be found."""

        def show(text: str) -> None:
            line.show(len(found), text)
            if wish.watch is not None:
                wish.watch(len(found), text)

        def watch(stage: Stage) -> None:
            show(_in_words(stage, self.ledger.settings.sign))

        n, planner = wish.n, self._planner_for(wish)
        within = planner.space if wish.rules else None
        tried_at_once = False
        while len(found) < n:
            try:
                # May take long: it reads changes from the storage.
                trial = self.ledger.take_queued(wish.worker, within)
                share = max(_LEAST_SECONDS, (deadline - time.monotonic()) / (n - len(found)))
                if trial is None:
                    told = watch if wish.progress or wish.watch is not None else None
                    effort = Effort(share, stopped, told, wish.client)
                    if share < _TOO_SHORT and not tried_at_once and n - len(found) >= _MANY:
                        tried_at_once = True
                        effort = replace(effort, time_limit=deadline - time.monotonic())
                        for one in self._several(wish, effort, planner, n - len(found)):
                            found.append(one)
                            show(f"trial {one.id}")
                        continue
                    trial = self._new(wish, effort, planner)
            except (SearchSpaceExhausted, SamplingError, BudgetSpent) as error:
                if stopped() and not found:
                    raise KeyboardInterrupt from None  # before anything was found
                if not found and wish.rules and isinstance(error, SearchSpaceExhausted):
                    names = ", ".join(rule.name for rule in wish.rules)
                    raise SearchSpaceExhausted(
                        f"no graph is left that satisfies the rules of this suggestion ({names}); "
                        f"try looser ones: {error}"
                    ) from None
                if not found:
                    raise
                if not stopped():
                    if not isinstance(error, BudgetSpent):  # the caller's own limit
                        logger.warning("found only %d of %d graphs: %s", len(found), n, error)
                    return
            else:
                found.append(trial)
                show(f"trial {trial.id}")
            if stopped():
                if len(found) < n:
                    logger.warning("interrupted: %d of %d graphs", len(found), n)
                return

    def _planner_for(self, wish: Wish) -> Planner:
        """The planner for a request: if it has rules, for that part of the space."""
        if not wish.rules:
            return self.planner
        settings = self.ledger.settings
        return Planner(settings, restricted(settings.space, wish.rules))

    def _several(self, wish: Wish, effort: Effort, planner: Planner, n: int) -> Iterator[Trial]:
        """Reserve graphs that are planned together, except those that others took meanwhile."""
        trials = self.ledger.trials()
        if wish.most is not None:
            n = min(n, wish.most - sum(t.origin != "added" for t in trials))
        if n < 1 or not planner.must_propose(trials):
            return
        seed, rank = self.chance(len(trials), 0)
        for plan in planner.several(trials, seed, rank, effort, n):
            trial = self.reserve(plan, seed, wish.worker, wish.most, wish.rules)
            if trial is not None:
                yield trial

    def _new(self, wish: Wish, effort: Effort, planner: Planner) -> Trial:
        """Reserve a new graph; start over if another process was faster."""
        for conflict in range(_CONFLICTS):
            trials = self.ledger.trials()
            if wish.most is not None:  # checked before planning, and again when reserving
                check_budget(sum(t.origin != "added" for t in trials), 1, wish.most)
            seed, rank = self.chance(len(trials), conflict)
            plan = planner.next(trials, seed, rank, effort)
            trial = self.reserve(plan, seed, wish.worker, wish.most, wish.rules)
            if trial is not None:
                return trial
            logger.debug("another process took the graph of trial %d first", len(trials))
        raise StudyError(
            f"{_CONFLICTS} graphs in a row were taken by other processes; ask again later"
        )

    def chance(self, n_trials: int, conflict: int) -> tuple[int, int]:
        """Seed and rank of the next graph, after losing a number of races to other processes."""
        return chance(self.ledger.settings.seed, n_trials, conflict)

    def reserve(
        self,
        plan: Plan,
        seed: int,
        worker: str | None,
        most: int | None,
        rules: Sequence[Rule] = (),
    ) -> Trial | None:
        """Hand out the planned graph, unless another process has it already."""
        trial = replace(
            self.ledger.draft(plan.graph, plan.origin),
            state="pending",
            worker=worker,
            attempts=1,
            seed=seed,
            certificate=plan.certificate,
            hyperparameters=plan.hyperparameters,
            details=recorded(rules),
            asked=now(),
        )
        return self.ledger.append_new(trial, most=most)


def chance(study_seed: int, n_trials: int, conflict: int) -> tuple[int, int]:
    """Seed and rank of the next graph, after losing a number of races to other processes."""
    # After a conflict, processes must choose different graphs, so the seed becomes random.
    differs = [time.time_ns(), os.getpid()] if conflict else []
    rng = np.random.default_rng([study_seed, n_trials, *differs])
    seed = int(rng.integers(2**31))
    return seed, int(rng.integers(2 ** min(conflict + 2, 8))) if conflict else 0


def _in_words(stage: Stage, sign: float) -> str:
    """Progress of a proposal; values times ``sign`` are in the user's units."""
    if stage.step == "search":
        return "found a candidate; proving its quality"
    words = [f"proving: {stage.n_open} parts of the space left"]
    if math.isfinite(stage.value):
        words.append(f"candidate {sign * stage.value:.4g}")
    if math.isfinite(stage.bound):
        words.append(f"bound {sign * stage.bound:.4g}")
    words.append(f"{stage.seconds:.0f} of {stage.time_limit:.0f} s")
    return ", ".join(words)
