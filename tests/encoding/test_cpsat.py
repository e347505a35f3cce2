"""Solvers are made in one place, and bounds that they have not proved are ignored."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from ortools.sat.python import cp_model

import bogrape
from bogrape.encoding.cpsat import has_solution, new_solver, objective_bound
from bogrape.machine import solver_megabytes


def test_no_other_module_makes_a_solver() -> None:
    package = Path(bogrape.__file__).parent
    makers = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "CpSolver":
                makers.add(file.relative_to(package).as_posix())
    assert makers == {"encoding/cpsat.py"}


def test_a_solver_has_one_thread_and_the_limits_it_is_given() -> None:
    plain, limited = (
        new_solver(limit_memory=False).parameters,
        new_solver(2.5, seed=7, clauses=True).parameters,
    )
    usual = cp_model.CpSolver().parameters
    assert plain.num_workers == limited.num_workers == 1
    assert plain.max_time_in_seconds == math.inf
    assert plain.random_seed == usual.random_seed
    assert plain.linearization_level == usual.linearization_level
    assert plain.max_memory_in_mb == usual.max_memory_in_mb
    assert limited.max_time_in_seconds == 2.5
    assert limited.random_seed == 7
    assert limited.linearization_level == 0
    assert limited.max_memory_in_mb == solver_megabytes()


@pytest.mark.parametrize("late", [0.0, -5.0])
def test_a_solver_that_starts_late_stops_without_an_error(late: float) -> None:
    status = new_solver(late).solve(cp_model.CpModel())
    assert status in (cp_model.OPTIMAL, cp_model.UNKNOWN)


def test_a_bound_of_zero_from_a_solve_without_an_answer_is_ignored() -> None:
    def bound(status: object, reported: float) -> float:
        return objective_bound(SimpleNamespace(best_objective_bound=reported), status)

    assert bound(cp_model.UNKNOWN, 0.0) == -math.inf
    assert bound(cp_model.UNKNOWN, -3.0) == -3.0
    assert bound(cp_model.FEASIBLE, 0.0) == 0.0
    assert bound(cp_model.OPTIMAL, 4.0) == 4.0
    assert bound(cp_model.FEASIBLE, -1e18) == -math.inf
    assert bound(cp_model.INFEASIBLE, 5.0) == -math.inf
    assert bound(cp_model.MODEL_INVALID, 5.0) == -math.inf


def test_the_bound_of_a_finished_solve_is_its_objective() -> None:
    model = cp_model.CpModel()
    x = model.new_int_var(-3, 9, "x")
    model.minimize(2 * x)
    solver = new_solver(60.0)
    status = solver.solve(model)
    assert has_solution(status)
    assert objective_bound(solver, status) == -6
    model.add(x > 9)
    assert not has_solution(solver.solve(model))
