"""The part of a piece that neither lines below LCB nor lists of graphs settle."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray
from ..bounds.linear_programs import Lines, Remainder
from ..bounds.lines_below import Box, LcbOverCounts, Line
from .listed_graphs import at_least, settle_listed, soon_listed
from .piece import Boxes, with_room
from .piece_solve import PieceSolve

_HALVED_FIRST = 300  # boxes, before graphs are listed, and before a solver searches for them
_HALVED_SOON = 80  # boxes, before all graphs of a piece are listed that has few
_HALVED_SHARE = 0.6  # share of the time, for halving where a solver knows only the lines
_MOST_HALVED = 20_000
_MOST_KEPT = 4_000  # boxes, from solve to solve
MOST_MODELLED = 400  # boxes in one model of a solver


@dataclass(frozen=True, eq=False, kw_only=True)
class Unsettled:
    """The part of a piece where graphs may have a smaller value than the best one."""

    bound: float  # on LCB
    line: Line | None  # below LCB there; none if there was no time for it
    x: FloatArray | None  # where LCB is smallest, as far as is known
    parts: Sequence[tuple[Box, Line]]  # boxes that hold them, each with a line
    boxes: Boxes | None  # the same, for the next solve


def lines_leave(state: PieceSolve, lcb: LcbOverCounts, *, lines_only: bool) -> Unsettled | None:
    """Halve boxes until lines settle them; ``None`` if they settle the whole piece.

    ``state.of_interest`` gets the inequalities of the remainder. Halving takes turns with lists of
    graphs, which have more edges every time.
    """
    relaxed, kept = state.question.relaxed, state.question.boxes
    kept = kept if state.chord is None else None  # boxes depend on LCB
    boxes: Sequence[Box] = () if kept is None else _unpacked(kept)
    n_edges = 0 if kept is None else kept.n_edges
    until = state.deadline
    if not relaxed and lines_only:
        now = time.monotonic()
        until = now + _HALVED_SHARE * max(0.0, state.deadline - now)
    bound = -math.inf

    def halved(n_most: int) -> tuple[Lines, Remainder]:
        state.of_interest = [at_least(n_edges, lcb.variables)] if n_edges else []
        lines = Lines(lcb, state.inequalities())
        return lines, lines.branched(limit(), until, n_most, boxes=boxes)

    def limit() -> float:
        return with_room(state.lcb_limit(state.best_value))

    lists = not relaxed
    soon = lists and not n_edges and soon_listed(state.piece, lcb.variables, until)
    lines, left = halved(_HALVED_SOON if soon else _HALVED_FIRST)
    bound = left.bound
    while lists and left.box is not None:
        found = settle_listed(state, lcb, left, limit(), n_edges)
        if found is None:
            break
        n_edges, boxes = found
        if not boxes:
            return None
        lines, left = halved(_HALVED_FIRST)
        bound = max(bound, left.bound)
    if lines_only and left.box is not None:
        boxes = left.boxes
        lines, left = halved(_MOST_HALVED)
        if len(left.boxes) > MOST_MODELLED:  # too many for the solver, which gets no time
            until, boxes = state.deadline, left.boxes
            lines, left = halved(_MOST_HALVED)
        bound = max(bound, left.bound)
    if left.box is None:
        return None
    state.of_interest += lcb.variables.of_interest(left.box.low, left.box.high)
    return Unsettled(
        bound=bound,
        line=None if relaxed else lines.lowest(left, state.deadline),
        x=left.x,
        parts=left.parts,
        boxes=None if state.chord is not None else _packed(left.boxes, n_edges),
    )


def _packed(boxes: Sequence[Box], n_edges: int) -> Boxes | None:
    if not 0 < len(boxes) <= _MOST_KEPT:
        return None
    low, high = (
        np.rint([getattr(box, end) for box in boxes]).astype(np.int16) for end in ("low", "high")
    )
    return Boxes(low, high, n_edges)


def _unpacked(boxes: Boxes) -> list[Box]:
    ends = zip(boxes.low.astype(float), boxes.high.astype(float), strict=True)
    return [Box(low, high) for low, high in ends]
