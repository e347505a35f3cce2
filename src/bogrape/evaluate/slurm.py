"""Evaluation as jobs of a SLURM cluster, through submitit."""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedError
from .futures import FuturesEvaluator
from .outcome import Objective, Outcome

_POLL_SECONDS = 5.0
_POLL_LOCAL = 0.2


def slurm_evaluator(
    objective: Objective,
    executor: Any = None,
    n_parallel: int = 1,
    time_limit: float | None = None,
    *,
    folder: str = "slurm-jobs",
    parameters: dict[str, Any] | None = None,
) -> FuturesEvaluator:
    """An evaluator on a submitit executor, or on a new one.

    Args:
        objective: function of a graph.
        executor: a submitit executor, or ``None`` for a new one.
        n_parallel: jobs at a time.
        time_limit: seconds after which a job is given up (and cancelled); SLURM's own limit is a
            parameter.
        folder: folder for submitit's scripts, logs and results.
        parameters: parameters of the job, as in ``AutoExecutor.update_parameters``, e.g.
            ``{"slurm_partition": "short", "timeout_min": 60, "cpus_per_task": 2}``.
    """
    if executor is None:
        try:
            import submitit
        except ImportError:
            raise UnsupportedError(
                "evaluation on SLURM needs the package submitit; try pip install 'bogrape[slurm]'"
            ) from None
        try:
            executor = submitit.AutoExecutor(folder=folder, cluster=None)
        except (RuntimeError, OSError) as error:
            raise UnsupportedError(f"SLURM is not available here: {error}") from None
        executor.update_parameters(**(parameters or {}))
    local = "Local" in type(getattr(executor, "_executor", executor)).__name__
    return FuturesEvaluator(
        objective,
        executor.submit,
        n_parallel,
        time_limit,
        slowest_poll=_POLL_LOCAL if local else _POLL_SECONDS,
        explain=_explain,
    )


def _explain(error: BaseException) -> Outcome | None:
    if type(error).__name__ in ("UncompletedJobError", "FailedJobError"):
        words = [line for line in str(error).splitlines() if line.strip()]
        return Outcome("lost", reason="; ".join(words[:3])[:500])
    return None
