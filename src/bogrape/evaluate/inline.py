"""Evaluation in the same process, one at a time. Simple and fast, but without protection:
an objective that hangs or crashes takes down the study's process (but not its trials)."""

from __future__ import annotations

from typing import final

from ..graph import Graph
from .outcome import Objective, Outcome, evaluate


@final
class InlineEvaluator:
    """Calls the objective during ``wait``."""

    n_parallel = 1

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._waiting: list[tuple[int, Graph]] = []

    def submit(self, number: int, graph: Graph) -> None:
        """Add the graph to the queue."""
        self._waiting.append((number, graph))

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:  # noqa: ARG002
        """Evaluate the first graph of the queue; it cannot be stopped."""
        if not self._waiting:
            return []
        number, graph = self._waiting[0]
        outcome = evaluate(self._objective, graph)
        del self._waiting[0]
        return [(number, outcome)]

    def close(self) -> None:
        """Clear the queue."""
        self._waiting.clear()
