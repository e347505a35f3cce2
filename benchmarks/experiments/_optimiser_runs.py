"""Common parts of experiments that compare optimisers. (Not an experiment.)"""

from __future__ import annotations

from typing import Any

from bogrape.errors import InvalidInputError

from ..replication import GROWING, replicate
from ..statistics import is_bogrape
from . import SEARCHES, Plan, Task


def budget(plan: Plan, method: str) -> dict[str, Any]:
    """Budget of a run; that of a single proposal only for the methods that use it."""
    own = _of_a_proposal(plan.search, plan) if is_bogrape(method) else {}
    return {"n_initial": plan.n_initial, "n_iterations": plan.n_iterations, **own}


def _of_a_proposal(search: str, plan: Plan) -> dict[str, Any]:
    """Evaluations of a local search, or seconds for a proof."""
    n_evaluations = SEARCHES[search]
    if n_evaluations is None:
        return {"time_limit": plan.time_limit}
    return {"n_evaluations": n_evaluations}


def run_optimiser(task: Task) -> dict[str, Any]:
    """Run the optimiser that the method names before its colon, if it has one."""
    optimiser = task.method.partition(":")[0]
    return replicate(task.problem, optimiser, task.seed, **task.settings)


def after_colon(method: str, what: str) -> float:
    """The number in a method such as ``ssp:60``; ``what`` describes it in the error."""
    try:
        return float(method.partition(":")[2])
    except ValueError:
        raise InvalidInputError(
            f"expected an optimiser, a colon and {what}, such as ssp:1, got {method!r}"
        ) from None


def exploration(plan: Plan, method: str) -> dict[str, Any]:
    """``ssp:1.96`` is SSP with κ = 1.96, ``ssp:growing`` the schedule, ``ssp`` κ = 1."""
    if ":" not in method:
        return budget(plan, method)
    growing = method.endswith(f":{GROWING}")
    kappa = GROWING if growing else after_colon(method, "the value of kappa, or growing,")
    return {**budget(plan, method), "kappa": kappa}


def seconds(plan: Plan, method: str) -> dict[str, Any]:
    """``ssp:60`` is SSP with a limit of 60 seconds per proposal."""
    return {**budget(plan, method), "time_limit": after_colon(method, "seconds")}


def strength(plan: Plan, method: str) -> dict[str, Any]:
    """``rbf:weak`` is RBF with a weak search; see `SEARCHES`."""
    _, _, search = method.partition(":")
    if search not in SEARCHES:
        raise InvalidInputError(
            f"expected an optimiser, a colon and one of {', '.join(SEARCHES)}, got {method!r}"
        )
    return {**budget(plan, "random"), **_of_a_proposal(search, plan)}


def candidates(plan: Plan, method: str) -> dict[str, Any]:
    """``wl-rand:100`` chooses among 100 random graphs; without a number, the usual 20."""
    if ":" not in method:
        return budget(plan, method)
    return {**budget(plan, method), "n_candidates": int(after_colon(method, "candidates"))}
