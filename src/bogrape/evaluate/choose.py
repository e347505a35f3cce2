"""The `Evaluator` for an ``executor`` argument."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError, UnsupportedError
from .dask import dask_evaluator
from .evaluator import Evaluator, check_limit, check_parallel
from .futures import FuturesEvaluator
from .inline import InlineEvaluator
from .outcome import Objective
from .process import ProcessEvaluator
from .slurm import slurm_evaluator


def make_evaluator(
    objective: Objective,
    executor: Any = None,
    n_parallel: int = 1,
    time_limit: float | None = None,
    memory_limit: float | None = None,
) -> Evaluator:
    """The evaluator for an ``executor`` argument.

    ``None`` is this process, or processes of their own if limits or ``n_parallel > 1`` ask for
    them; see `bogrape.minimize` for the rest.
    """
    check_parallel(n_parallel)
    check_limit(time_limit, "the time limit of evaluations")
    check_limit(memory_limit, "memory_limit")
    if not callable(objective):
        raise InvalidInputError(
            f"the objective must be a function of a graph, got {type(objective).__name__}"
        )
    if all(hasattr(executor, name) for name in ("submit", "wait", "close", "n_parallel")):
        return executor  # type: ignore[no-any-return]  # an Evaluator of the user's own
    protected = time_limit is not None or memory_limit is not None or n_parallel > 1
    if executor is None:
        executor = "process" if protected else "inline"
    if executor == "process":
        return ProcessEvaluator(objective, n_parallel, time_limit, memory_limit)
    if memory_limit is not None:
        raise UnsupportedError(
            f"memory_limit is enforced by executor='process' only, not by {executor!r}; on a "
            "cluster, set the limit in its own configuration"
        )
    if executor == "inline":
        if protected:
            raise UnsupportedError(
                "executor='inline' evaluates one graph at a time and cannot stop it; use "
                "executor='process' for limits and several evaluations at once"
            )
        return InlineEvaluator(objective)
    if isinstance(executor, str) and executor.startswith("dask://"):
        return dask_evaluator(objective, executor, n_parallel, time_limit)
    if executor == "slurm":
        return slurm_evaluator(objective, None, n_parallel, time_limit)
    home = type(executor).__module__.split(".")[0]
    if home == "distributed":
        return dask_evaluator(objective, executor, n_parallel, time_limit)
    if home == "submitit":
        return slurm_evaluator(objective, executor, n_parallel, time_limit)
    if callable(getattr(executor, "submit", None)):
        return FuturesEvaluator(objective, executor.submit, n_parallel, time_limit)
    raise InvalidInputError(
        f"unknown executor {executor!r}; choose 'inline', 'process', 'dask://host:port', 'slurm', "
        "a Dask client, a submitit executor, or one in the style of concurrent.futures"
    )
