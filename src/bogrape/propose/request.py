"""`Request`: what is asked of a proposer beyond the objective itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..graph import Graph


@dataclass(frozen=True)
class Request:
    """Limits and exclusions of one proposal."""

    exclude: Sequence[Graph] = ()
    time_limit: float = 60.0
    seed: int = 0
    solver: str | None = None
    n_evaluations: int = 300_000  # of the local search: work, not time, shapes the answer
    started: float = field(default_factory=time.monotonic)
    options: Mapping[str, Any] | None = None  # choices that only some methods know
    identify: Callable[[Graph], str] = Graph.canonical_key  # of the space

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Identities that must not be proposed."""
        return frozenset(map(self.identify, self.exclude))

    @property
    def deadline(self) -> float:
        """`time.monotonic` value by which the answer is due."""
        return self.started + self.time_limit

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return time.monotonic() - self.started
