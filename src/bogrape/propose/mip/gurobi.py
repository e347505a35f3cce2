"""Gurobi: translate a `Program`, solve it, translate the answer back; needs the extra ``gurobi``.

Exponentials are nonlinear constraints (``FuncNonlinear = 1``, erratum E9), not the piecewise linear
approximation that was the default before version 11; they hold to the feasibility tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .program import Program
from .solution import Failure, Found, Limits, Report, Solution, SolverFailed, Status

_NO_LICENCE, _TOO_LARGE, _OUT_OF_MEMORY = 10009, 10010, 10001  # error codes of Gurobi
_CERTAIN = 1e100  # Gurobi's value for an infinite bound


def _gurobipy() -> Any:
    try:
        import gurobipy
    except ImportError as error:
        raise SolverFailed(Failure("missing", f"gurobipy cannot be imported: {error}")) from None
    return gurobipy


@contextmanager
def _explained(grb: Any, program: Program) -> Iterator[None]:
    """Turn errors of Gurobi into failures that say what to do."""
    try:
        yield
    except grb.GurobiError as error:
        code, text = getattr(error, "errno", None), str(error)
        if code == _TOO_LARGE:
            raise SolverFailed(Failure("size", f"{text} ({_size(program)})")) from None
        if code == _NO_LICENCE or "license" in text.lower():
            raise SolverFailed(Failure("licence", text)) from None
        if code == _OUT_OF_MEMORY:
            raise SolverFailed(Failure("memory", text)) from None
        raise SolverFailed(Failure("failed", f"Gurobi: {text}")) from None


def _size(program: Program) -> str:
    size = program.size
    return (
        f"this one has {size.n_variables} variables and {size.n_rows} rows, "
        f"{size.n_quadratic} of them quadratic, and {size.n_exponential} exponential rows"
    )


def translate(program: Program, env: Any) -> tuple[Any, list[Any]]:
    """The Gurobi model of a program and its variables, in the same order."""
    grb = _gurobipy()
    model = grb.Model("bogrape", env=env)
    kinds = {"binary": grb.GRB.BINARY, "integer": grb.GRB.INTEGER, "continuous": grb.GRB.CONTINUOUS}
    x = [model.addVar(v.low, v.high, 0.0, kinds[v.kind], v.name) for v in program.variables]
    for row in program.rows:
        body: Any = grb.LinExpr([c for _, c in row.terms], [x[i] for i, _ in row.terms])
        for i, j, c in row.quadratic:
            body = body + c * x[i] * x[j]
        if row.low == row.high:
            model.addConstr(body == row.low, row.name)
            continue
        if row.low > -math.inf:
            model.addConstr(body >= row.low, row.name)
        if row.high < math.inf:
            model.addConstr(body <= row.high, row.name)
    for exp in program.exponentials:
        model.addGenConstrExp(x[exp.argument], x[exp.result], exp.name)
    terms = grb.quicksum(c * x[i] for i, c in program.objective.terms.items())
    model.setObjective(terms + program.objective.constant, grb.GRB.MINIMIZE)
    return model, x


def solve(
    program: Program,
    limits: Limits,
    start: Sequence[float] | None = None,
    report: Report | None = None,
) -> Solution:
    """Solve a program with Gurobi; ``start`` is a feasible point."""
    if program.contradictions():
        return Solution("infeasible", bound=math.inf)
    grb = _gurobipy()
    began = time.monotonic()
    with _explained(grb, program), grb.Env(params={"OutputFlag": 0}) as env:
        model, x = translate(program, env)
        parameters = {
            "TimeLimit": max(0.01, limits.seconds),
            "MIPGap": limits.gap,
            "MIPGapAbs": 1e-9,
            "Threads": limits.threads,
            "Seed": limits.seed % 2_000_000_000,
            "PoolSolutions": limits.pool,
            "FuncNonlinear": 1,
        }
        if limits.memory is not None:
            parameters["SoftMemLimit"] = limits.memory / 1000.0
        if limits.tolerance is not None:
            parameters["FeasibilityTol"] = limits.tolerance
            parameters["IntFeasTol"] = limits.tolerance
        for name, value in parameters.items():
            model.setParam(name, value)
        for variable, value in zip(x, start or (), strict=False):
            variable.Start = value
        model.optimize(_listener(grb, x, report) if report is not None else None)
        return _solution(grb, model, x, limits, time.monotonic() - began)


def _solution(grb: Any, model: Any, x: list[Any], limits: Limits, seconds: float) -> Solution:
    codes: dict[int, Status] = {
        grb.GRB.OPTIMAL: "optimal",
        grb.GRB.TIME_LIMIT: "time_limit",
        grb.GRB.MEM_LIMIT: "memory_limit",
        grb.GRB.INFEASIBLE: "infeasible",
        grb.GRB.INF_OR_UNBD: "infeasible",  # every variable of the objective is bounded by rows
    }
    status = codes.get(model.Status, "stopped")
    found = []
    for i in range(min(limits.pool, model.SolCount)):
        model.setParam("SolutionNumber", i)
        found.append(Found(float(model.PoolObjVal), tuple(float(v.Xn) for v in x)))
    bound = math.inf if status == "infeasible" else float(model.ObjBound)
    bound = -math.inf if bound <= -_CERTAIN else bound
    found.sort(key=lambda f: f.objective)
    n_nodes = int(model.NodeCount)
    return Solution(status, bound=bound, found=tuple(found), seconds=seconds, n_nodes=n_nodes)


def _listener(grb: Any, x: list[Any], report: Report) -> Any:
    codes = grb.GRB.Callback

    def tell(model: Any, where: int) -> None:
        if where == codes.MIPSOL:
            values = tuple(float(v) for v in model.cbGetSolution(x))
            report.tell(Found(float(model.cbGet(codes.MIPSOL_OBJ)), values))
            bound = float(model.cbGet(codes.MIPSOL_OBJBND))
            if abs(bound) < _CERTAIN:
                report.tell(bound)

    return tell
