"""The protocol of evaluators."""

from __future__ import annotations

from typing import Protocol

from ..checks import positive, whole
from ..graph import Graph
from .outcome import Outcome


class Evaluator(Protocol):
    """Runs the objective on graphs, up to ``n_parallel`` at a time.

    ``submit`` starts an evaluation under the caller's number; ``wait`` returns finished ones, at
    least one unless the timeout has passed or nothing is running; ``close`` ends all evaluations.
    """

    n_parallel: int

    def submit(self, number: int, graph: Graph) -> None:
        """Start evaluating a graph."""

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Finished evaluations, in the order they finished."""

    def close(self) -> None:
        """End running evaluations and release resources."""


def check_limit(limit: float | None, name: str) -> float | None:
    """Check a limit in seconds or bytes; ``None`` for no limit."""
    return None if limit is None else positive(limit, f"{name} (None for no limit)")


def check_parallel(n_parallel: int) -> int:
    """Check the number of evaluations at a time."""
    return whole(n_parallel, "n_parallel", 1)
