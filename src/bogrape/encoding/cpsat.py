"""Setting up CP-SAT and reading its answers: the only place that creates a solver."""

from __future__ import annotations

import math
from typing import Any

from ortools.sat.python import cp_model

from ..machine import solver_megabytes

_LEAST_SECONDS = 0.01  # after the deadline, a solve ends at once; CP-SAT refuses negative limits


def new_solver(
    seconds: float = math.inf,
    *,
    seed: int | None = None,
    clauses: bool = False,
    limit_memory: bool = True,
) -> Any:
    """A solver with one thread, which gives the same answer every time unless time runs out.

    With ``clauses`` it uses no linear programs: they help little if all variables are Boolean.
    The memory limit is meant for our own processes, because it counts all memory of a process.
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
    """The solver's bound on the objective it minimises; minus infinity if it has none.

    A solve that is cut off early reports the status UNKNOWN with a bound of 0, which means nothing.
    """
    bound = float(solver.best_objective_bound)
    told = has_solution(status) or (status == cp_model.UNKNOWN and bound != 0.0)
    return bound if told and bound > -1e17 else -math.inf
