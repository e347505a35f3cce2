"""Interface of proposers: `Request`, progress (`Stage`) and answer (`Proposal`).

A proposal can be watched and stopped while it is computed: the proposer calls ``watch`` with a
`Stage` whenever there is progress, and ``stop`` several times per second. Once ``stop`` returns
True, the best graph so far is returned with the bound proved so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal

from .. import display
from ..errors import SamplingError
from ..graph import Graph

Status = Literal["optimal", "time_limit", "heuristic"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Progress of a proposal."""

    step: Literal["search", "proof"]
    value: float  # of the best graph so far; infinite if there is none
    bound: float  # proved so far; minus infinity if there is none
    n_open: int = 0  # parts of the space that are not settled
    seconds: float = 0.0  # spent so far
    time_limit: float = math.inf


def _never() -> bool:
    return False


def _unseen(stage: Stage) -> None:
    """Default for ``watch``: does nothing."""


@dataclass(frozen=True)
class Request:
    """Limits and exclusions of one proposal."""

    exclude: Sequence[Graph] = ()
    _: KW_ONLY
    time_limit: float = 60.0
    seed: int = 0
    solver: str | None = None
    n_evaluations: int = 300_000  # of local search: not a time, for repeatable answers
    started: float = field(default_factory=time.monotonic)
    options: Mapping[str, Any] | None = None  # options of some methods only
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
        """`time.monotonic` value of the deadline, which is immediate after a stop."""
        due = self.started + self.time_limit
        return min(due, time.monotonic()) if self.stop() else due

    @property
    def late(self) -> bool:
        """True after the deadline."""
        return time.monotonic() >= self.deadline

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return time.monotonic() - self.started

    def too_late(self) -> SamplingError:
        """The error if the deadline passed before any graph was found."""
        return SamplingError(
            "expected to find a graph of the space that is not excluded, got none in "
            f"{self.seconds:.3g} s; try a larger time_limit, or fewer rules",
            out_of_time=True,
        )

    def report(
        self, step: Literal["search", "proof"], value: float, bound: float, n_open: int
    ) -> None:
        """Report progress to ``watch``."""
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


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The answer of a proposer, with its certificate.

    Attributes:
        graph: the graph to evaluate next; it is in the space and not excluded.
        value: its acquisition value, recomputed in floating point (minimised; in the objective's
            own units). For EI that is minus the expected improvement.
        bound: no graph of the space that is not excluded has a lower value than this.
        status: ``optimal`` (proved: bound and value agree up to rounding, or up to the
            tolerance of the solver of ``method="mip"``), ``time_limit`` (the bound is valid, but
            there is a gap, due to the time limit, a gap limit or a solver's tolerance) or
            ``heuristic`` (no bound was computed: ``bound`` is minus infinity).
        seconds: wall-clock time of the whole proposal.
        method: the methods that found and proved it, e.g. ``search`` or ``search+cp-sat``.
        n_evaluations: number of acquisition values computed.
        claimed: the value a solver claimed for its best answer, if it may differ from the true one
            (``method="mip"``); ``value`` is always recomputed.
        scale: the unit of the gap: one standard deviation of the observed values, in the
            objective's own units (for a custom acquisition function, the spread of its values).
        standard_gap: ``(value - bound) / scale`` before value and bound were rounded to numbers in
            the objective's own units, which can be coarse, as for 1e9 +- 1e-3. For EI, ``log_bound
            - log_value``.
        log_value: for EI, the logarithm of the expected improvement. Proposers compare it, since it
            distinguishes graphs even if the improvement is too small for a floating-point number
            and ``value`` is 0. ``None`` for other acquisition functions.
        log_bound: for EI, no graph of the space that is not excluded has a larger logarithm.
    """

    graph: Graph
    value: float
    bound: float
    status: Status
    seconds: float
    method: str
    n_evaluations: int = 0
    claimed: float | None = None
    scale: float = 1.0
    standard_gap: float | None = None
    log_value: float | None = None
    log_bound: float | None = None

    @property
    def gap(self) -> float:
        """Largest possible advantage of another graph, in deviations of the observed values.

        Zero if the status is ``optimal``, infinite without a bound, otherwise ``(value - bound) /
        scale``. For EI it is ``log_bound - log_value`` instead: the expected improvement of any
        other graph is at most ``exp(gap)`` times as large. It is independent of the objective's
        units.
        """
        if self.status == "optimal":
            return 0.0
        if self.standard_gap is not None:
            return self.standard_gap
        return max(0.0, self.value - self.bound) / self.scale

    def _repr_html_(self) -> str | None:
        return display.html(self)
