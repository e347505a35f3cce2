"""Linear programs that bound LCB over counts, by all known inequalities at once.

The counts x of a piece obey inequalities (`distances.known`), and in every box of counts
LCB is above certain lines (`bounds.lines_below`). The largest of several lines is minimised, and
the next line touches LCB at the minimum. Where lines are too far below LCB, the range of a count is
halved, repeatedly (`Lines.branched`); it helps that counts are whole numbers.

No bound relies on the accuracy of the solver: it is computed from dual values, and any dual values
prove a bound. The same goes for a proof that no counts obey the inequalities.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import count, zip_longest
from typing import Any

import numpy as np
from ortools.linear_solver import pywraplp

from ....arrays import FloatArray, IntArray
from ..distances.coordinates import Position
from ..distances.inequality import Inequality
from ..distances.variables import Variables
from .lines_below import Box, LcbOverCounts, Line, around
from .propagation import Propagation

MOST_LINES = 12  # at a time
_WORTH_IT = 0.1  # share of the missing bound: a program that gains less is the last one
_ROUNDING = 1e-11  # relative, of the sums a bound is made of
_WARM_SECONDS = 1.0  # for a solve that starts where the last one ended: it may cycle
_TOLD_AT_ONCE = 20  # broken inequalities that the solver gets in one round
_MOST_ROUNDS = 50  # of adding inequalities
_BROKEN = 1e-6  # an inequality counts as broken if it is missed by more than this
_ELASTIC = 1e3  # largest slack of inequalities in the test for whether they can hold


@dataclass(frozen=True, eq=False)
class Lowest:
    """The minimum of the largest of some lines, in a box."""

    bound: float  # below the minimum; infinite if no counts obey the inequalities
    line: Line | None = None  # a mean of the lines, with the same minimum
    x: FloatArray | None = None  # the counts at the minimum
    tangents: tuple[Any, ...] = ()  # of the lines that matter


@dataclass(frozen=True, eq=False, kw_only=True)
class Remainder:
    """A part of a piece in which LCB may be below a value."""

    bound: float  # on LCB
    box: Box | None  # holds all counts of interest; None if there are none
    tangents: tuple[Any, ...]
    x: FloatArray | None  # where LCB is smallest, as far as is known
    boxes: tuple[Box, ...] = ()  # hold all counts of interest, too
    parts: tuple[tuple[Box, Line], ...] = ()  # the same with lines; empty unless all have one


class Program:
    """Minimises the largest of some lines over counts that obey inequalities.

    Of hundreds of inequalities, a few dozen decide where lines are lowest, so one is added to the
    solver only once a solution breaks it. Each solve starts where the last one ended.
    """

    def __init__(self, inequalities: Iterable[Inequality[Position]], variables: Variables) -> None:
        from scipy.sparse import csr_array  # late: keeps `import bogrape` quick

        self.within, upper = variables.within, variables.upper()
        known = variables.known(inequalities)
        sides = [side for inequality in known for side in inequality.one_sided()]
        owner = np.repeat(np.arange(len(sides)), [len(side.weights) for side in sides])
        columns = [i for side in sides for i in side.weights]
        entries = [float(w) for side in sides for w in side.weights.values()]
        self._matrix = csr_array((entries, (owner, columns)), shape=(len(sides), len(upper)))
        self._most = np.array([float(side.high) for side in sides])
        self._propagation = Propagation(self._matrix, self._most)
        widest = Box(np.zeros(len(upper)), upper.astype(float))
        # if nothing obeys the inequalities, programs will find that
        self.box = self._propagation(widest) or widest
        self._solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self._counts = [self._solver.NumVar(0.0, float(top), "") for top in upper]
        # slack of the inequalities: zero, except in the test for whether they can hold
        self._missed = self._solver.NumVar(0.0, 0.0, "")
        self._largest = self._solver.NumVar(-math.inf, math.inf, "")  # of the lines
        self._told: list[int] = []  # inequalities in the solver
        self._sides: list[Any] = []  # their constraints
        self._of_told = self._matrix[self._told]
        self._reach = np.zeros(0)  # upper bounds on the size of their weighted sums
        self._lines = [self._solver.Constraint(-math.inf, math.inf) for _ in range(MOST_LINES)]
        self._set: list[Line | None] = [None] * MOST_LINES
        for constraint in self._lines:
            constraint.SetCoefficient(self._largest, -1.0)
        self._objective = self._solver.Objective()
        self._objective.SetMinimization()
        self._settings = pywraplp.MPSolverParameters()
        self._settings.SetIntegerParam(self._settings.PRESOLVE, self._settings.PRESOLVE_OFF)

    def narrowed(self, box: Box) -> Box | None:
        """The part of a box that propagation does not rule out; ``None`` if it is empty."""
        return self._propagation(box)

    def minimise(
        self, lines: Sequence[Line], box: Box, seconds: float
    ) -> tuple[Lowest, FloatArray]:
        """The minimum of the largest line in a box, and the weight of each line there."""
        for variable, low, high in zip(self._counts, box.low, box.high, strict=True):
            variable.SetBounds(float(low), float(high))
        for i, (constraint, line) in enumerate(zip_longest(self._lines, lines)):
            if self._set[i] is line:
                continue
            self._set[i] = line
            constraint.SetBounds(-math.inf, math.inf if line is None else -line.offset)
            for variable, c in zip(self._counts, () if line is None else line.cost, strict=False):
                constraint.SetCoefficient(variable, float(c))
        # never reached, but without it GLOP may call a program unbounded
        self._largest.SetLb(min(_least(line, box) for line in lines) - 1.0)
        self._objective.SetCoefficient(self._largest, 1.0)
        status, x = self._solve_and_tell(seconds)
        if status == pywraplp.Solver.OPTIMAL:
            weights = np.maximum([-line.dual_value() for line in self._lines[: len(lines)]], 0.0)
            if weights.sum() > 0:
                weights /= weights.sum()
                mean = Line(
                    weights @ np.array([line.cost for line in lines]),
                    float(weights @ [line.offset for line in lines]),
                )
                return Lowest(self._by_duals(mean.cost, box) + mean.offset, mean, x), weights
        if status == pywraplp.Solver.INFEASIBLE and self._is_empty(box):
            return Lowest(math.inf), np.zeros(len(lines))
        return self._without_inequalities(lines, box)

    @staticmethod
    def _without_inequalities(lines: Sequence[Line], box: Box) -> tuple[Lowest, FloatArray]:
        """The bound of the box alone, used if the solver gives up."""
        least = [_least(line, box) for line in lines]
        i = int(np.argmax(least))
        size = float(np.abs(lines[i].cost) @ box.high) + abs(lines[i].offset)
        weights = np.zeros(len(lines))
        weights[i] = 1.0
        return Lowest(least[i] - _ROUNDING * size, lines[i]), weights

    def _solve_and_tell(self, seconds: float) -> tuple[int, FloatArray]:
        """Solve repeatedly, adding the inequalities that the solution breaks."""
        until = time.monotonic() + seconds
        x = np.zeros(len(self._counts))
        for _ in range(_MOST_ROUNDS):
            status = self._solve(max(1e-3, until - time.monotonic()))
            if status != pywraplp.Solver.OPTIMAL:
                break
            x = np.array([variable.solution_value() for variable in self._counts])
            if time.monotonic() > until or not self._tell_broken(x):
                break
        return status, x

    def _tell_broken(self, x: FloatArray) -> bool:
        """Add the inequalities that counts break most to the solver; True if there are any."""
        excess = self._matrix @ x - self._most
        excess[self._told] = 0.0
        worst = np.argsort(-excess, kind="stable")[:_TOLD_AT_ONCE]
        new = worst[excess[worst] > _BROKEN].tolist()
        if not new:
            return False
        matrix = self._matrix
        for i in new:
            side = self._solver.Constraint(-math.inf, float(self._most[i]))
            here = slice(matrix.indptr[i], matrix.indptr[i + 1])
            for j, weight in zip(matrix.indices[here], matrix.data[here], strict=True):
                side.SetCoefficient(self._counts[j], float(weight))
            side.SetCoefficient(self._missed, -1.0)
            self._sides.append(side)
        self._told += new
        self._of_told = matrix[self._told]
        self._reach = abs(self._of_told) @ self.box.high
        return True

    def _solve(self, seconds: float) -> int:
        """Solve from where the last solve ended; from scratch if that fails."""
        status, settings = -1, self._settings
        for how, limit in (
            (settings.INCREMENTALITY_ON, min(seconds, _WARM_SECONDS)),
            (settings.INCREMENTALITY_OFF, seconds),
        ):
            settings.SetIntegerParam(settings.INCREMENTALITY, how)
            self._solver.SetTimeLimit(max(1, int(1000 * limit)))
            status = self._solver.Solve(settings)
            if status in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.INFEASIBLE):
                break
        return int(status)

    def _is_empty(self, box: Box) -> bool:
        """True if the smallest slack with which the inequalities can hold is proved positive."""
        self._objective.SetCoefficient(self._largest, 0.0)
        self._objective.SetCoefficient(self._missed, 1.0)
        self._missed.SetBounds(0.0, _ELASTIC)
        status = self._solve(_WARM_SECONDS)
        least = -math.inf
        if status == pywraplp.Solver.OPTIMAL:
            least = self._by_duals(np.zeros(len(self._counts)), box, elastic=True)
        self._objective.SetCoefficient(self._missed, 0.0)
        self._missed.SetBounds(0.0, 0.0)
        return least > 0

    def _by_duals(self, cost: FloatArray, box: Box, *, elastic: bool = False) -> float:
        """Lower bound on the minimum of ``cost x`` proved by the dual values."""
        dual = np.minimum([side.dual_value() for side in self._sides], 0.0)
        most, matrix = self._most[self._told], self._of_told
        reduced = cost - matrix.T @ dual
        of_counts = np.minimum(reduced * box.low, reduced * box.high)
        parts = np.concatenate([dual * most, of_counts])
        if elastic:
            parts = np.append(parts, min(0.0, _ELASTIC * (1.0 + dual.sum())))
        size = np.abs(parts).sum() + np.abs(cost) @ box.high + np.abs(dual) @ self._reach
        return float(parts.sum() - _ROUNDING * size)


def _least(line: Line, box: Box) -> float:
    """The minimum of a line in a box, without the inequalities."""
    lowest = np.minimum(line.cost * box.low, line.cost * box.high)
    return line.offset + float(lowest.sum())


class Renamed:
    """A program used for a piece whose labels have other names.

    The i-th count of the piece is the program's count at ``places[i]``.
    """

    def __init__(self, program: Program, places: IntArray) -> None:
        self._program, self._places = program, places
        self._back = np.argsort(places)
        self.within = program.within
        self.box = Box(program.box.low[places], program.box.high[places])

    def narrowed(self, box: Box) -> Box | None:
        """As `Program.narrowed`."""
        found = self._program.narrowed(Box(box.low[self._back], box.high[self._back]))
        return found and Box(found.low[self._places], found.high[self._places])

    def minimise(
        self, lines: Sequence[Line], box: Box, seconds: float
    ) -> tuple[Lowest, FloatArray]:
        """As `Program.minimise`."""
        there = [Line(line.cost[self._back], line.offset) for line in lines]
        box_there = Box(box.low[self._back], box.high[self._back])
        found, weights = self._program.minimise(there, box_there, seconds)
        if found.line is None or found.x is None:
            return found, weights
        line = Line(found.line.cost[self._places], found.line.offset)
        return replace(found, line=line, x=found.x[self._places]), weights


class Lines:
    """Linear functions below LCB, over counts that obey inequalities."""

    def __init__(
        self,
        lcb: LcbOverCounts,
        counts: Iterable[Inequality[Position]] | Renamed,
    ) -> None:
        self._lcb = lcb
        if not isinstance(counts, Renamed):
            counts = Renamed(Program(counts, lcb.variables), np.arange(len(lcb.coordinates)))
        if counts.within != lcb.variables.within:
            raise ValueError(
                "expected a program over the variables of the lines, got one over "
                f"{'pairs within' if counts.within else 'pairs at'} s steps"
            )
        self._program = counts
        self.box = self._program.box

    def of(self, lcb: LcbOverCounts) -> Lines:
        """Lines below another LCB, over the same counts."""
        out = copy(self)
        out._lcb = lcb
        return out

    def best(
        self, value: float, deadline: float, start: Sequence[Any] = (), box: Box | None = None
    ) -> Lowest:
        """The highest bound that lines give; no higher one than ``value`` is searched for.

        To ``start`` near the best tangents saves programs.
        """
        box = self.box if box is None else box
        tangents = list(start) or self._at_lowest_mean(box, deadline)
        best = Lowest(-math.inf, tangents=tuple(tangents))
        made: dict[int, Line] = {}  # by id: tangents are kept alive, so that no id is reused
        kept: list[Any] = []
        while tangents and time.monotonic() < deadline:
            for tangent in tangents:
                if id(tangent) not in made:
                    made[id(tangent)] = self._lcb.below(tangent, box, value)
                    kept.append(tangent)
            lines = [made[id(tangent)] for tangent in tangents]
            found, weights = self._program.minimise(lines, box, deadline - time.monotonic())
            gain = found.bound - best.bound
            if gain > 0:
                matter = tuple(t for t, w in zip(tangents, weights, strict=True) if w > 0)
                best = replace(found, tangents=matter or best.tangents)
            if found.x is None or best.bound >= value or gain < self._worth_it(best.bound, value):
                break
            tangents = [*best.tangents, self._lcb.touching(found.x, box)][-MOST_LINES:]
        return best

    def branched(
        self,
        value: float,
        deadline: float,
        n_most: int,
        start: Sequence[Any] = (),
        boxes: Sequence[Box] = (),
    ) -> Remainder:
        """Halve boxes in which LCB could come below ``value``, the worst first.

        If boxes are given, they hold all counts of interest.
        """
        order = count()  # for boxes with equal bounds
        root, left = self._begun(value, deadline, start, boxes, order)
        whole = []  # boxes that cannot be halved, or without a solution to halve at
        for _ in range(n_most):
            if not left or time.monotonic() > deadline:
                break
            bound, _, box, lowest = item = heapq.heappop(left)
            split = None if lowest.x is None else self._split(box, lowest.x)
            if split is None:
                whole.append(item)
                continue
            for half in filter(None, map(self._program.narrowed, box.halves(*split))):
                tighter = self.best(value, deadline, lowest.tangents, half)
                if tighter.bound < value:
                    item = max(bound, tighter.bound), next(order), half, tighter
                    heapq.heappush(left, item)
        left = sorted([*left, *whole], key=lambda item: item[:2])
        if not left:
            return Remainder(bound=value, box=None, tangents=root.tangents, x=None)
        boxes = tuple(box for _, _, box, _ in left)
        parts = tuple((part, found.line) for _, _, part, found in left if found.line is not None)
        return Remainder(
            bound=left[0][0],
            box=around(boxes),
            tangents=root.tangents,
            x=left[0][-1].x,
            boxes=boxes,
            parts=parts if len(parts) == len(left) else (),
        )

    def _begun(
        self,
        value: float,
        deadline: float,
        start: Sequence[Any],
        boxes: Sequence[Box],
        order: Iterator[int],
    ) -> tuple[Lowest, list[tuple[float, int, Box, Lowest]]]:
        """The bound over all counts, and a heap of the boxes to begin with."""
        root = self.best(value, deadline, start)
        if root.bound >= value:
            return root, []
        if not boxes:
            return root, [(root.bound, next(order), self.box, root)]
        left = []
        for box in filter(None, map(self._program.narrowed, boxes)):
            found = self.best(value, deadline, root.tangents, box)
            if found.bound < value:
                left.append((max(root.bound, found.bound), next(order), box, found))
        heapq.heapify(left)
        return root, left

    def lowest(self, left: Remainder, deadline: float) -> Line | None:
        """The best line below LCB for all counts of interest."""
        return self.best(math.inf, deadline, left.tangents, left.box).line

    @staticmethod
    def _worth_it(bound: float, value: float) -> float:
        missing = value - bound
        return _WORTH_IT * missing if missing < math.inf else 1e-6 * (1 + abs(bound))

    def _split(self, box: Box, x: FloatArray) -> tuple[int, float] | None:
        """The count that contributes most to the gap at x, and where to halve its range."""
        off = self._lcb.off(x, box)
        if off.max(initial=0.0) <= 0:
            return None
        i = int(np.argmax(off))
        at = (box.low[i] + box.high[i]) / 2 if self._lcb.in_the_middle else x[i]
        return i, min(max(math.floor(at + 1e-6), box.low[i]), box.high[i] - 1)

    def _at_lowest_mean(self, box: Box, deadline: float) -> list[Any]:
        mean = self._lcb.lowest_mean()
        x = self._program.minimise([mean], box, deadline - time.monotonic())[0].x
        return [self._lcb.touching((box.low + box.high) / 2 if x is None else x, box)]
