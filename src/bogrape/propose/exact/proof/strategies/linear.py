"""LCB with a kernel that is linear in the counts: SSP and SP.

The mean is a linear function of the counts and the deviation the norm of an affine one
(`bounds.posterior_over_counts`), so LCB is concave, bounded at corners, and written exactly in
integers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import cast

import numpy as np
from ortools.sat.python import cp_model

from .....acquisition import LCB
from .....arrays import FloatArray
from .....encoding import Structure
from .....posterior import WeightPosterior
from ....criterion import Criterion
from ...bounds.integer_lcb import IntegerLcb
from ...bounds.linear_programs import Lines
from ...bounds.lines_below import LinearLcbOverCounts
from ...bounds.posterior_over_counts import (
    PosteriorOverCounts,
    composition_bounds,
    corner_bound,
    has_corners,
)
from ...bounds.view_programs import has_views, views_bound
from ...distances.count_variables import bare_counts
from ...distances.free_attributes import free_attributes
from ...distances.known import known_of_counts
from ...distances.limited_degrees import of_limited_degrees
from ..by_integers import solve_by_integers, wants_lines
from ..piece import Answer, Piece, learnt, with_room
from ..piece_solve import PieceSolve
from ..strategy import Strategy

_LINES_SECONDS, _MOST_HALVED = 2.0, 20  # for the linear programs of one piece
_LARGE = 18  # nodes, from which on a piece is hardly ever settled by its cases


class _Linear(Strategy):
    """Common base of the strategies for LCB with SSP and SP."""

    bounds_counts = True

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        self._posterior = cast("WeightPosterior", criterion.posterior)
        self._kappa = cast("LCB", criterion.acquisition).kappa

    def _over_counts(self, piece: Piece) -> PosteriorOverCounts:
        return PosteriorOverCounts.of(self._posterior, self.coordinates(piece))

    def lcb_over_counts(self, piece: Piece) -> LinearLcbOverCounts:
        """LCB over the counts of a piece."""
        return LinearLcbOverCounts(self._over_counts(piece), self._kappa)

    def quick_bound(self, piece: Piece, value: float) -> float:
        """A bound by the corners of the simplices in which the counts lie."""
        if not has_corners(piece.structure, self.coordinates(piece)):
            return -math.inf
        return corner_bound(
            self._over_counts(piece), piece.structure, self._kappa, with_room(value)
        )

    def solve(self, state: PieceSolve) -> Answer:
        """Solve by LCB in integers, after the lines below it if these help."""
        if not state.question.relaxed and state.nothing_is_heavy_enough():
            return state.settled()
        over_counts = self._over_counts(state.piece)
        lcb = LinearLcbOverCounts(over_counts, self._kappa) if wants_lines(state) else None
        return solve_by_integers(state, exact=IntegerLcb.of(over_counts, self._kappa), lcb=lcb)


class LinearLCB(_Linear):
    """LCB with SSP: pieces by diameter, divided into cases by layers."""

    has_cases = True

    def has_slow_bound(self, piece: Piece) -> bool:
        """Where degrees are limited, and there are too many skeletons and cases."""
        large = piece.structure.shape.n_nodes >= _LARGE and piece.heaviest is None
        return large and has_views(piece.structure, self.coordinates(piece))

    def slow_bound(self, piece: Piece, value: float, seconds: float) -> float:
        """By a large linear program."""
        structure, coordinates = piece.structure, self.coordinates(piece)
        known = list(known_of_counts(structure, coordinates, None, learnt.facts(structure)))
        lcb = self.lcb_over_counts(piece)
        return views_bound(structure, lcb, known, with_room(value), seconds)

    def quick_bound(self, piece: Piece, value: float) -> float:
        """Bound by corners; by linear programs if degrees are limited, as features are not free."""
        bound, structure = super().quick_bound(piece, value), piece.structure
        coordinates, to_beat = self.coordinates(piece), with_room(value)
        if structure.diameter is None or not bound < to_beat < math.inf:
            return bound
        if next(of_limited_degrees(structure, coordinates), None) is None:
            return bound
        known = known_of_counts(structure, coordinates, None, learnt.facts(structure))
        lines = Lines(self.lcb_over_counts(piece), known)
        until = time.monotonic() + _LINES_SECONDS
        return max(bound, lines.branched(to_beat, until, _MOST_HALVED).bound)

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB of a weight-space posterior whose kernel sees no labels of paths."""
        return _is_linear_lcb(criterion) and not criterion.labelled

    def gradient(self, piece: Piece, counts: Sequence[int]) -> FloatArray:
        """Gradient of LCB with respect to the counts."""
        over_counts = self._over_counts(piece)
        spread = over_counts.R @ np.array(counts) + over_counts.r0
        length = max(float(np.linalg.norm(spread)), 1e-300)
        return np.asarray(over_counts.w - self._kappa * (spread @ over_counts.R) / length)

    def least_weight(self, state: PieceSolve, weights: tuple[int, ...], most: int) -> int | None:
        """Solve a model of the counts alone, which must beat the value."""
        piece, question = state.piece, state.question
        over_counts = self._over_counts(piece)
        coordinates = over_counts.coordinates
        model = cp_model.CpModel()
        free = free_attributes(piece.structure)
        known = known_of_counts(piece.structure, coordinates, free, question.facts)
        counts = bare_counts(model, coordinates, known)
        if math.isfinite(question.value):
            integers = IntegerLcb.of(over_counts, self._kappa)
            model.add(integers.objective(model, counts) <= integers.at_most(question.value))
        total = cp_model.LinearExpr.weighted_sum(counts[: piece.longest], list(weights))
        model.add(total <= most)
        model.minimize(total)
        solver = state.solver()
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return most + 1
        return round(solver.objective_value) if status == cp_model.OPTIMAL else None


class LinearLabelledLCB(_Linear):
    """LCB with SP: pieces by composition and diameter, bounded by linear programs."""

    by_composition = True

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB of a weight-space posterior whose kernel sees the labels of paths."""
        return _is_linear_lcb(criterion) and criterion.labelled

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float]:
        """Bounds for all compositions at once."""
        table = np.array(compositions)
        bounds = composition_bounds(self._posterior, structure.shape, table, self._kappa)
        return [float(bound) for bound in bounds]


def _is_linear_lcb(criterion: Criterion) -> bool:
    return type(criterion.acquisition) is LCB and isinstance(criterion.posterior, WeightPosterior)
