"""Proposals computed in another process, while this one collects results and hands out trials.

The other process only plans. This one reserves the graph, and so keeps all guarantees of a study
(no graph twice, the budget, nothing lost in a crash). If the other process ends, only the proposal
it was working on is lost.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

from ..propose.jobs.worker import command
from ..trial import Trial
from .asking import Asking
from .planner import Plan
from .settings import StudySettings

if TYPE_CHECKING:  # loaded late
    import subprocess
    from multiprocessing.connection import Connection

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """Request for the next graph. Only changes since the last request are sent."""

    settings: StudySettings | None
    changed: tuple[Trial, ...]
    seed: int
    rank: int


@dataclass(frozen=True)
class Unreadable:
    """Answer to a request that the other process cannot load, with the reason."""

    reason: str


@final
class Ahead:
    """Plans the proposals of a study in another process, one at a time.

    ``start`` begins a proposal, ``take`` returns it as a trial once it is ready. If no other
    process can be used (not on Unix, or the acquisition function cannot be sent), ``start`` returns
    ``False``: use ``study.ask``. `Study.ahead` creates one.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._is_usable = os.name == "posix"
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection[Any, Any] | None = None
        self._sent: list[Trial] = []
        self._sent_settings: StudySettings | None = None
        self._seed = 0
        self._n_conflicts = 0
        self._began: float | None = None
        self._durations: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_busy(self) -> bool:
        """True if a proposal is being computed or waits to be taken."""
        return self._began is not None

    @property
    def mean_seconds(self) -> float | None:
        """Mean seconds per proposal so far."""
        return sum(self._durations) / len(self._durations) if self._durations else None

    def warm_up(self) -> None:
        """Start the other process, which takes a second or two, before it is needed."""
        if self._is_usable and self._link is None:
            try:
                self._open()
            except OSError as error:
                self._give_up(f"the process that computes proposals cannot be used: {error}")

    def start(self) -> bool:
        """Start a proposal; ``False`` if ``study.ask`` should be used instead.

        That is the case if no other process can be used, and for graphs that need no proposal.
        """
        ledger = self._asking.ledger
        ledger.take_up_settings()
        trials = ledger.trials()
        if not self._is_usable or not self._asking.planner.must_propose(trials):
            return False
        seed, rank = self._asking.chance(len(trials), self._n_conflicts)
        return self._send(trials, seed, rank)

    def take(self, worker: str | None, most: int | None, timeout: float = 0.0) -> Trial | None:
        """The proposal as a pending trial; ``None`` if it takes longer than the timeout.

        Also ``None`` if another worker took the graph first, or if the other process died; nothing
        is being computed then.
        """
        assert self._link is not None
        assert self._began is not None
        try:
            if not self._link.poll(timeout):
                return None
            answer = self._link.recv()
        except Exception as error:  # it died, or its answer cannot be loaded
            self._give_up(f"no answer from the process that computes proposals: {error!r}")
            return None
        self._durations.append(time.monotonic() - self._began)
        self._began = None
        if isinstance(answer, BaseException):
            raise answer
        if not isinstance(answer, Plan):
            self._give_up(f"another process cannot compute proposals: {answer.reason}")
            return None
        trial = self._asking.reserve(answer, self._seed, worker, most)
        self._n_conflicts = 0 if trial is not None else self._n_conflicts + 1
        return trial

    def close(self) -> None:
        """End the other process."""
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._link = self._began = None

    def _send(self, trials: list[Trial], seed: int, rank: int) -> bool:
        settings = self._asking.ledger.settings
        known = dict(enumerate(self._sent))
        request = Request(
            settings=None if settings is self._sent_settings else settings,
            changed=tuple(trial for trial in trials if known.get(trial.id) is not trial),
            seed=seed,
            rank=rank,
        )
        from multiprocessing.reduction import ForkingPickler

        try:
            ForkingPickler.dumps(request.settings)  # as the link will
        except Exception as error:
            self._give_up(f"the settings cannot be sent to another process: {error}")
            return False
        self.warm_up()
        if self._link is None:
            return False
        try:
            self._link.send(request)
        except OSError as error:
            self._give_up(f"the process that computes proposals cannot be used: {error}")
            return False
        self._sent, self._sent_settings, self._seed = list(trials), settings, seed
        self._began = time.monotonic()
        return True

    def _open(self) -> None:
        import subprocess
        from multiprocessing import Pipe

        self._link, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                command("bogrape.study.proposer"),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process, which then ends the other
            )

    def _give_up(self, reason: str) -> None:
        logger.info("%s; this process computes proposals instead, while evaluations wait", reason)
        self._is_usable = False
        with contextlib.suppress(OSError):
            self.close()
