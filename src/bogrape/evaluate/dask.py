"""Evaluation on a Dask cluster.

A worker that dies takes its evaluations with it; Dask runs them again elsewhere. An
evaluation that kills several workers is given up, and its trial fails.
"""

from __future__ import annotations

from typing import Any

from ..dask_client import connected
from .futures import FuturesEvaluator
from .outcome import Objective, Outcome


def dask_evaluator(
    objective: Objective,
    cluster: Any,
    n_parallel: int | None = None,
    time_limit: float | None = None,
) -> FuturesEvaluator:
    """An evaluator on a Dask client, or on the scheduler at ``dask://host:port``."""
    client, own = connected(cluster, "evaluation")

    def submit(function: Any, *arguments: Any) -> Any:
        # pure=False: the same graph evaluated twice is two evaluations, not one cached answer
        return client.submit(function, *arguments, pure=False, retries=0)

    return FuturesEvaluator(
        objective,
        submit,
        n_parallel or max(1, sum(client.nthreads().values())),
        time_limit,
        explain=_explain,
        # A future submitted while the client loses its scheduler never finishes.
        is_lost=lambda: client.status == "closed",
        close=client.close if own else None,
    )


def _explain(error: BaseException) -> Outcome | None:
    if type(error).__name__ == "KilledWorker":
        return Outcome("killed", reason="every Dask worker that evaluated this graph died")
    return None
