"""Solve a piece by boxes of counts over which your own kernel bounds its values.

Boxes whose bound does not beat the incumbent are dropped, others are halved, and the solver is
asked for a graph in any box that remains. The graph is evaluated and compared with the bounds of
its box. Then boxes are halved further, and so on, until no box remains or none contains a graph.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....counts import count
from ....encoding.cpsat import has_solution
from ....graph import Graph
from ....kernel_checks import refuse_false_boxes
from ..bounds.kernel_boxes import CountBoxes, KernelBoxes
from ..distances.count_variables import graph_counts
from .piece import Answer, slack
from .piece_solve import PieceSolve

_HALVED_FIRST = 500  # boxes, before graphs are asked for
_MOST_PARTS = 300  # boxes in one model


def solve_by_kernel_boxes(state: PieceSolve) -> Answer:
    """The best graph of a piece, or a bound on its values."""
    boxes = KernelBoxes(state.criterion, state.coordinates, state.inequalities())
    left = boxes.everything()
    left = CountBoxes(left.low, left.high, boxes.bounds(left))
    n_most, taken = _HALVED_FIRST, set[tuple[int, ...]]()
    while True:
        left = boxes.of_interest(left, _below(state), n_most, state.deadline)
        if not len(left):
            return state.settled()
        bound = float(left.bound.min())
        if state.question.relaxed or time.monotonic() > state.deadline:
            return state.open(bound)
        encoding = state.encoding()
        counts = state.bare_counts(encoding.model)
        graph_counts(encoding, state.coordinates, counts)
        _be_in_one(encoding.model, counts, left)
        for known in taken:
            encoding.model.add_forbidden_assignments(counts, [known])
        solver = state.solver(clauses=state.free is not None)
        status = solver.solve(encoding.model)
        if status == cp_model.INFEASIBLE:
            return state.settled()
        if not has_solution(status):
            return state.open(bound)
        found = tuple(int(solver.value(variable)) for variable in counts)
        graph = state.decoded(encoding, solver, found)
        _refuse_false_bounds(state, boxes, left, graph, found)
        state.take(graph, found)
        taken.add(found)
        n_most *= 2


def _below(state: PieceSolve) -> float:
    """Upper limit for values of interest: below the best by more than rounding."""
    value = state.best_value
    return value - slack(value) / 2 if math.isfinite(value) else value


def _be_in_one(model: Any, counts: list[Any], boxes: CountBoxes) -> None:
    """Require the counts to be in one of the boxes, or, if these are many, in a box around all."""
    low, high = boxes.low.min(axis=0), boxes.high.max(axis=0)
    for variable, least, most in zip(counts, low, high, strict=True):
        model.add_linear_constraint(variable, int(least), int(most))
    if not 1 < len(boxes) <= _MOST_PARTS:
        return
    literals = [model.new_bool_var(f"box{i}") for i in range(len(boxes))]
    model.add_exactly_one(literals)
    for literal, least, most in zip(literals, boxes.low, boxes.high, strict=True):
        for j in np.flatnonzero((least > low) | (most < high)):
            model.add_linear_constraint(counts[j], int(least[j]), int(most[j])).only_enforce_if(
                literal
            )


def _refuse_false_bounds(
    state: PieceSolve, boxes: KernelBoxes, left: CountBoxes, graph: Graph, found: tuple[int, ...]
) -> None:
    """Raise if a graph has kernel values outside the bounds declared for the box it is in."""
    x, kernel = np.array(found), state.criterion.posterior.model.kernel
    holding = np.flatnonzero(((left.low <= x) & (x <= left.high)).all(axis=1))
    if not len(holding):
        return
    box = left.select(holding[:1])
    counted = count([graph], state.criterion.space.n_labels, pairs=kernel.labelled)
    refuse_false_boxes(
        kernel,
        counted,
        boxes.counts(box.low),
        boxes.counts(box.high),
        state.criterion.posterior.model.counts,
    )
