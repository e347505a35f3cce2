"""LCB with the exponential of a kernel that is linear in the counts: ESSP and ESP.

Without labels, boxes of histograms are bounded by Taylor's theorem (`bounds.taylor_bounds`); with
labels, the exponents hardly vary within a composition, and lines come close (`bounds.lines_below`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from .....acquisition import LCB
from .....arrays import FloatArray
from .....encoding import Structure
from .....kernels import is_published
from .....posterior import FunctionPosterior
from ....criterion import Criterion
from ...bounds.lines_below import ExponentialLcbOverCounts, quick_bound
from ...bounds.taylor_bounds import EsspMean
from ..all_graphs import few_graphs
from ..by_boxes import boxes_of, solve_by_boxes
from ..by_histograms import solve_by_histograms
from ..by_integers import solve_by_integers, wants_lines
from ..piece import Answer, Piece
from ..piece_solve import PieceSolve
from ..strategy import Strategy


class ExponentialLCB(Strategy):
    """LCB with ESSP: pieces by diameter, bounded by boxes and divided into cases by layers."""

    bounds_counts = True
    has_cases = True

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB with an exponential kernel that sees no labels of paths."""
        return _is_exponential_lcb(criterion) and not criterion.labelled

    def solve(self, state: PieceSolve) -> Answer:
        """Solve by boxes of histograms if they have bounds, else by a table of all histograms."""
        boxes = boxes_of(state)
        if boxes is not None:
            return solve_by_boxes(state, boxes)
        return state.open() if state.question.relaxed else solve_by_histograms(state)

    def gradient(self, piece: Piece, counts: Sequence[int]) -> FloatArray:
        """Gradient of the mean alone."""
        longest, n = piece.longest, piece.structure.shape.n_nodes
        mean = EsspMean.of(self.criterion.posterior, longest)
        return np.asarray(mean.gradient(n, np.array(counts)[None, :longest])[0])

    def least_weight(
        self,
        state: PieceSolve,
        weights: tuple[int, ...],
        most: int,  # noqa: ARG002
    ) -> int | None:
        """Bound the weight over boxes of all histograms that can beat the value."""
        boxes = boxes_of(state)
        n_pairs = state.coordinates.n_pairs()
        return None if boxes is None else boxes.least_weight(weights, n_pairs)


class ExponentialLabelledLCB(Strategy):
    """LCB with ESP: pieces by composition and diameter, bounded by linear programs."""

    by_composition = True

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        self._posterior = cast("FunctionPosterior", criterion.posterior)
        self._kappa = cast("LCB", criterion.acquisition).kappa

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB with an exponential kernel that sees the labels of paths."""
        return _is_exponential_lcb(criterion) and criterion.labelled

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float] | None:
        """No bounds yet; ``None`` if graphs are few, since enumeration is then quicker."""
        if few_graphs(structure):
            return None
        return super().composition_bounds(structure, compositions)

    def quick_bound(self, piece: Piece, value: float) -> float:
        """Bound a piece by lines, without linear programs."""
        if piece.composition is None:
            return -math.inf
        connected = piece.structure.connectivity == "strong"
        return quick_bound(self.lcb_over_counts(piece), value, connected=connected)

    def lcb_over_counts(self, piece: Piece) -> ExponentialLcbOverCounts:
        """LCB over the counts of a piece."""
        return ExponentialLcbOverCounts(
            self._posterior,
            self.coordinates(piece),
            self._kappa,
            connected=piece.structure.connectivity == "strong",
        )

    def solve(self, state: PieceSolve) -> Answer:
        """Solve by lines below LCB in a composition, else by histograms or by enumeration."""
        if state.piece.composition is not None and wants_lines(state):
            return solve_by_integers(state, lcb=self.lcb_over_counts(state.piece))
        return state.open() if state.question.relaxed else solve_by_histograms(state)


def _is_exponential_lcb(criterion: Criterion) -> bool:
    kernel = criterion.posterior.model.kernel
    of_functions = isinstance(criterion.posterior, FunctionPosterior)
    exponential = is_published(kernel) and kernel.exponential
    return type(criterion.acquisition) is LCB and of_functions and exponential
