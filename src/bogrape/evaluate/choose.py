"""From the word a user writes to an `Evaluator`."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError
from .evaluator import Evaluator, check_limit, check_parallel
from .inline import InlineEvaluator
from .outcome import Objective


def make_evaluator(
    objective: Objective,
    executor: Any = None,
    n_parallel: int = 1,
    time_limit: float | None = None,
    memory_limit: float | None = None,
) -> Evaluator:
    """The evaluator for an ``executor`` argument."""
    check_parallel(n_parallel)
    check_limit(time_limit, "time_limit")
    check_limit(memory_limit, "memory_limit")
    if not callable(objective):
        raise InvalidInputError(
            f"the objective must be a function of a graph, got {type(objective).__name__}"
        )
    if executor is None:
        return InlineEvaluator(objective)
    raise InvalidInputError(f"unknown executor {executor!r}")
