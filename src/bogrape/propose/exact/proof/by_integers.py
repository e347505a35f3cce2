"""Solve a piece over integer counts: lines below LCB first, then LCB itself where it has integers.

For linear kernels LCB is written exactly in integers (`bounds.integer_lcb`); kernels that only have
lines below LCB are solved over the best of those lines, and every graph offered is evaluated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....encoding.cpsat import has_solution, objective_bound
from ..bounds.integer_lcb import IntegerLcb, IntegerLine
from ..bounds.linear_programs import Lines
from ..bounds.lines_below import LcbOverCounts
from ..distances.count_variables import graph_counts
from .piece import Answer, with_room
from .piece_solve import PieceSolve

_HALVED_FIRST = 300  # boxes of counts, before graphs are asked about
_MOST_HALVED = 20_000


def wants_lines(state: PieceSolve) -> bool:
    """Whether linear programs come first: bare graphs have cases instead."""
    if state.free is not None or not math.isfinite(state.best_value):
        return False
    return state.piece.composition is not None or not state.question.relaxed


def solve_by_integers(
    state: PieceSolve, *, exact: IntegerLcb | None = None, lcb: LcbOverCounts | None = None
) -> Answer:
    """The best graph of a piece, by LCB in integers, by lines below it, or by both."""
    relaxed = state.question.relaxed
    bound, line = -math.inf, None
    if lcb is not None:
        lines = Lines(lcb, state.inequalities())
        n_most = _MOST_HALVED if relaxed else _HALVED_FIRST
        left = lines.branched(with_room(state.best_value), state.deadline, n_most)
        bound = left.bound
        if left.box is None:
            return state.settled()
        if relaxed:
            at = left.counts
            return state.open(bound, None if at is None else tuple(int(c) for c in np.rint(at)))
        state.of_interest = left.box.inequalities()
        line = lines.lowest(left, state.deadline)
    if exact is None and line is None:  # out of time
        return state.open(bound)
    encoding = None if relaxed else state.encoding()
    model: Any = cp_model.CpModel() if encoding is None else encoding.model
    counts = state.bare_counts(model)
    if encoding is not None:
        graph_counts(encoding, state.coordinates, counts)
    # a linear program says much of counts and of labelled pairs, little of bare graphs
    clauses = encoding is not None and state.free is not None
    for known in state.question.known:
        if len(known) == len(counts):
            _forbid(model, counts, known)
    # the line below LCB is far easier to bound than LCB itself, so it is what is minimised
    forms: list[IntegerLcb | IntegerLine] = []
    forms += [IntegerLine.of(line.cost, line.offset)] if line is not None else []
    forms += [exact] if exact is not None else []
    objectives = [form.objective(model, counts) for form in forms]
    model.minimize(objectives[0])
    while True:
        if math.isfinite(state.best_value):
            for form, objective in zip(forms, objectives, strict=True):
                model.add(objective <= form.at_most(state.best_value))
        solver = state.solver(clauses=clauses)
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return state.settled()
        bound = max(bound, forms[0].lower_bound(objective_bound(solver, status)))
        if not has_solution(status):
            return state.open(bound)
        found = tuple(int(solver.value(count)) for count in counts)
        if encoding is None:
            return state.open(bound, found)
        state.take(state.decoded(encoding, solver, found), found)
        if status != cp_model.OPTIMAL:
            return state.open(bound)
        _forbid(model, counts, found)


def _forbid(model: Any, counts: list[Any], values: tuple[int, ...]) -> None:
    if counts:
        model.add_forbidden_assignments(counts, [values])
    else:
        model.add_bool_or([])  # no counts: there was only this one to offer
