"""Setting up CP-SAT, and reading what it answers: the only place where a solver is made."""

from __future__ import annotations

import math
from typing import Any

from ortools.sat.python import cp_model

from ..machine import solver_megabytes

_LEAST_SECONDS = 0.01  # what is late already is cut off at once; the solver refuses less than zero


def new_solver(
    seconds: float = math.inf,
    *,
    seed: int | None = None,
    clauses: bool = False,
    limit_memory: bool = True,
) -> Any:
    """A solver with one thread, which gives the same answer every time if the clock allows.

    With ``clauses`` it makes no linear programs: they say little where all variables are Boolean.
    The limit on memory is meant for processes of our own, because it counts all that a process has.
    """
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1  # solves run side by side instead
    if seconds < math.inf:
        parameters.max_time_in_seconds = max(_LEAST_SECONDS, seconds)
    if seed is not None:
        parameters.random_seed = seed
    if clauses:
        parameters.linearization_level = 0
    if limit_memory:
        parameters.max_memory_in_mb = solver_megabytes()
    return solver


def has_solution(status: Any) -> bool:
    """True if a solve ended with a solution, proved to be the best or not."""
    return status in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def objective_bound(solver: Any, status: Any) -> float:
    """The solver's bound on the objective it minimises; minus infinity where it has none to tell.

    A solve that is cut off early reports the status UNKNOWN with a bound of 0, which means nothing.
    """
    bound = float(solver.best_objective_bound)
    told = has_solution(status) or (status == cp_model.UNKNOWN and bound != 0.0)
    return bound if told and bound > -1e17 else -math.inf
