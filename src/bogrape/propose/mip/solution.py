"""Requests to solver adapters and their answers: plain values that can be pickled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

Status = Literal["optimal", "gap_limit", "time_limit", "memory_limit", "infeasible", "stopped"]


@dataclass(frozen=True)
class Limits:
    """Limits of one solve."""

    seconds: float = 60.0
    _: KW_ONLY
    gap: float = 1e-6
    threads: int = 1
    memory: float | None = None
    tolerance: float | None = None
    pool: int = 10
    seed: int = 0


@dataclass(frozen=True)
class Found:
    """A solution: its objective value as the solver sees it, and the value of every variable."""

    objective: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class Solution:
    """Result of a solve; ``found`` is best first."""

    status: Status
    _: KW_ONLY
    bound: float = -math.inf
    found: tuple[Found, ...] = ()
    seconds: float = 0.0
    n_nodes: int = 0


@dataclass(frozen=True)
class Failure:
    """Reason for a failed solve; ``kind`` selects the remedy."""

    kind: Literal["missing", "licence", "size", "memory", "failed"]
    message: str


@dataclass
class Report:
    """Interface by which an adapter reports solutions and bounds while it runs."""

    tell: Callable[[Found | float], None] = field(default=lambda _: None)


class SolverFailed(Exception):
    """Raised by adapters; carries a `Failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
