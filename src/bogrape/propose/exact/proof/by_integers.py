"""Solve a piece over integer counts: first lines below LCB, then LCB itself in integers.

For linear kernels LCB is written exactly in integers (`bounds.integer_lcb`). For others the best
line below LCB is minimised, and every graph found is evaluated. EI is handled by way of LCB, one
range of deviations at a time (`bounds.ei_chords`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....encoding.cpsat import has_solution, objective_bound
from ..bounds.integer_lcb import IntegerLcb, IntegerLine
from ..bounds.lines_below import Box, LcbOverCounts, Line
from ..distances.count_variables import graph_counts
from ..distances.variables import Variables
from .by_lines import MOST_MODELLED, lines_leave
from .piece import Answer
from .piece_solve import PieceSolve


def wants_lines(state: PieceSolve) -> bool:
    """True if linear programs come first; bare graphs are divided into cases instead."""
    if state.free is not None or not math.isfinite(state.best_value):
        return False
    return state.piece.composition is not None or not state.question.relaxed


def solve_by_integers(
    state: PieceSolve, *, exact: IntegerLcb | None = None, lcb: LcbOverCounts | None = None
) -> Answer:
    """The best graph of a piece, by LCB in integers, by lines below it, or by both."""
    relaxed = state.question.relaxed
    bound, line, boxes = -math.inf, None, None
    variables = Variables(state.coordinates)
    parts: Sequence[tuple[Box, Line]] = ()
    if lcb is not None:
        left = lines_leave(state, lcb, lines_only=exact is None)
        if left is None:
            return state.settled()
        bound, variables = left.bound, lcb.variables
        if relaxed:
            at = None if left.x is None else np.rint(variables.counts(left.x))
            return state.open(state.value_of(bound), None if at is None else tuple(map(int, at)))
        line, boxes = left.line, left.boxes
        parts = left.parts if exact is None else ()
    if exact is None and (line is None or len(parts) > MOST_MODELLED):  # out of time
        return state.open(state.value_of(bound), boxes=boxes)
    encoding = None if relaxed else state.encoding()
    model: Any = cp_model.CpModel() if encoding is None else encoding.model
    counts = state.bare_counts(model)
    if encoding is not None:
        graph_counts(encoding, state.coordinates, counts)
    # the solver's linear programs help with counts and labelled pairs, hardly with bare graphs
    clauses = encoding is not None and state.free is not None
    for known in state.question.known:
        if len(known) == len(counts):
            _forbid(model, counts, known)
    # the line below LCB is far easier to bound than LCB itself, so it is minimised
    forms: list[IntegerLcb | IntegerLine] = []
    forms += [_in_integers(line, variables)] if line is not None else []
    forms += [exact] if exact is not None else []
    objectives = [form.objective(model, counts) for form in forms]
    model.minimize(objectives[0])
    in_part = _divide(model, counts, variables, parts)
    told = math.inf
    while True:
        if state.best_value < told:
            told = state.best_value
            limit = state.lcb_limit(told)
            for form, objective in zip(forms, objectives, strict=True):
                model.add(objective <= form.at_most(limit))
            for literal, form, objective in in_part:
                model.add(objective <= form.at_most(limit)).only_enforce_if(literal)
        solver = state.solver(clauses=clauses)
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return state.settled()
        bound = max(bound, forms[0].lower_bound(objective_bound(solver, status)))
        if not has_solution(status):
            return state.open(state.value_of(bound), boxes=boxes)
        found = tuple(int(solver.value(count)) for count in counts)
        if encoding is None:
            return state.open(state.value_of(bound), found, boxes)
        state.take(state.decoded(encoding, solver, found), found)
        if status != cp_model.OPTIMAL:
            return state.open(state.value_of(bound), boxes=boxes)
        _forbid(model, counts, found)


def _in_integers(line: Line, variables: Variables) -> IntegerLine:
    return IntegerLine.of(variables.cost_of_counts(line.cost), line.offset)


def _divide(
    model: Any, counts: list[Any], variables: Variables, parts: Sequence[tuple[Box, Line]]
) -> list[tuple[Any, IntegerLine, Any]]:
    """Require the counts to be in one part; for each part a literal and the line below LCB."""
    if not 1 < len(parts) <= MOST_MODELLED:
        return []
    out = []
    for i, (_, line) in enumerate(parts):
        form = _in_integers(line, variables)
        out.append((model.new_bool_var(f"part{i}"), form, form.objective(model, counts)))
    model.add_exactly_one(literal for literal, _, _ in out)
    low, high = (np.array([getattr(box, end) for box, _ in parts]) for end in ("low", "high"))
    sums = variables.expressions(counts)
    for i, (literal, _, _) in enumerate(out):
        for j in np.flatnonzero((low[i] > low.min(axis=0)) | (high[i] < high.max(axis=0))):
            inside = model.add_linear_constraint(sums[j], int(low[i, j]), int(high[i, j]))
            inside.only_enforce_if(literal)
    return out


def _forbid(model: Any, counts: list[Any], values: tuple[int, ...]) -> None:
    if counts:
        model.add_forbidden_assignments(counts, [values])
    else:
        model.add_bool_or([])  # without counts there is only one solution
