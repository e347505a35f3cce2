"""`Request`: what is asked of a proposer beyond the objective itself.

A proposal can be watched and cut short while it is being made: the proposer calls ``watch`` with a
`Stage` whenever it knows more, and looks at ``stop`` every fraction of a second. Once ``stop`` says
so the deadline is now, and the best graph so far is returned with the bound proved so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal

from ..errors import SamplingError
from ..graph import Graph


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How far a proposal has come."""

    step: Literal["search", "proof"]
    value: float  # of the best graph so far; infinite when there is none
    bound: float  # proved so far; minus infinity when there is none
    n_open: int = 0  # parts of the space that are not settled
    seconds: float = 0.0  # spent so far
    time_limit: float = math.inf


def _never() -> bool:
    return False


def _unseen(stage: Stage) -> None:
    """For those who do not watch."""


@dataclass(frozen=True)
class Request:
    """Limits and exclusions of one proposal."""

    exclude: Sequence[Graph] = ()
    _: KW_ONLY
    time_limit: float = 60.0
    seed: int = 0
    solver: str | None = None
    n_evaluations: int = 300_000  # of the local search: work, not time, shapes the answer
    started: float = field(default_factory=time.monotonic)
    options: Mapping[str, Any] | None = None  # choices that only some methods know
    identify: Callable[[Graph], str] = Graph.canonical_key  # of the space
    stop: Callable[[], bool] = _never
    watch: Callable[[Stage], None] = _unseen
    starts: Sequence[Graph] = ()  # where local search may begin

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Identities that must not be proposed."""
        return frozenset(map(self.identify, self.exclude))

    @property
    def deadline(self) -> float:
        """`time.monotonic` value by which the answer is due: at once, when told to stop."""
        due = self.started + self.time_limit
        return min(due, time.monotonic()) if self.stop() else due

    @property
    def late(self) -> bool:
        """Whether the answer is due."""
        return time.monotonic() >= self.deadline

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return time.monotonic() - self.started

    def too_late(self) -> SamplingError:
        """The error for when the time was up before any graph was found."""
        return SamplingError(
            "expected to find a graph of the space that is not excluded, got none in "
            f"{self.seconds:.3g} s; try a larger time_limit, or fewer rules",
            out_of_time=True,
        )

    def report(
        self, step: Literal["search", "proof"], value: float, bound: float, n_open: int
    ) -> None:
        """Tell whoever watches how far the proposal has come."""
        self.watch(
            Stage(
                step=step,
                value=value,
                bound=bound,
                n_open=n_open,
                seconds=self.seconds,
                time_limit=self.time_limit,
            )
        )
