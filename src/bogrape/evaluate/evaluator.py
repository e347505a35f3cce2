"""The protocol behind which evaluations run."""

from __future__ import annotations

import math
from typing import Protocol

from ..errors import InvalidInputError
from ..graph import Graph
from .outcome import Outcome


class Evaluator(Protocol):
    """Runs the objective on graphs, up to ``n_parallel`` at a time.

    ``submit`` starts an evaluation under the caller's number; ``wait`` returns finished ones, at
    least one of them unless the timeout is over or nothing is running; ``close`` ends what runs.
    """

    n_parallel: int

    def submit(self, number: int, graph: Graph) -> None:
        """Start evaluating a graph."""

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Finished evaluations, in the order they finished."""

    def close(self) -> None:
        """End what is running and free what is held."""


def check_limit(limit: float | None, name: str) -> float | None:
    """A limit in seconds or bytes, or ``None`` for none."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < math.inf:
        raise InvalidInputError(f"{name} must be a number > 0, or None for no limit, got {limit!r}")
    return limit


def check_parallel(n_parallel: int) -> int:
    """A number of evaluations in flight."""
    if isinstance(n_parallel, bool) or not isinstance(n_parallel, int) or n_parallel < 1:
        raise InvalidInputError(f"n_parallel must be an integer >= 1, got {n_parallel!r}")
    return n_parallel
