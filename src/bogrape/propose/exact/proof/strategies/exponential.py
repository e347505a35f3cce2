"""LCB with the exponential of a kernel that is linear in the counts: ESSP and ESP.

Without labels, boxes of histograms are bounded by Taylor's theorem (`bounds.taylor`); with labels,
the exponents hardly vary within a composition, and lines come close (`bounds.lines_below`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from .....acquisition import LCB
from .....arrays import FloatArray
from .....encoding import Structure
from .....posterior import FunctionPosterior
from ....criterion import Criterion
from ...bounds.lines_below import ExponentialSurface
from ...bounds.taylor import Mean
from ..all_graphs import few_graphs
from ..by_boxes import cover_of, solve_by_boxes
from ..by_histograms import solve_by_histograms
from ..by_integers import solve_by_integers, wants_lines
from ..piece import Answer, Piece
from ..piece_solve import PieceSolve
from ..strategy import Strategy


class ExponentialLCB(Strategy):
    """LCB with ESSP: pieces by diameter, bounded by boxes, which fall into cases by layers."""

    bounds_counts = True
    has_cases = True

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """LCB with the exponential kernel that sees no labels of paths."""
        return _is_exponential_lcb(criterion) and not criterion.labelled

    def solve(self, state: PieceSolve) -> Answer:
        """By boxes of histograms where they have bounds, else by a table of all histograms."""
        cover = cover_of(state)
        if cover is not None:
            return solve_by_boxes(state, cover)
        return state.open() if state.question.relaxed else solve_by_histograms(state)

    def gradient(self, piece: Piece, counts: Sequence[int]) -> FloatArray:
        """The derivative of the mean alone."""
        longest, n = piece.longest, piece.structure.shape.n_nodes
        mean = Mean.of(self.criterion.posterior, longest)
        return np.asarray(mean.gradient(n, np.array(counts)[None, :longest])[0])

    def least_weight(
        self,
        state: PieceSolve,
        weights: tuple[int, ...],
        most: int,  # noqa: ARG002
    ) -> int | None:
        """By the boxes of all histograms that can beat the value."""
        cover = cover_of(state)
        return None if cover is None else cover.least(weights, state.coordinates.n_pairs())


class ExponentialLabelledLCB(Strategy):
    """LCB with ESP: pieces by composition and diameter, bounded by linear programs."""

    by_composition = True

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        self._posterior = cast("FunctionPosterior", criterion.posterior)
        self._kappa = cast("LCB", criterion.acquisition).kappa

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """LCB with the exponential kernel that sees the labels of paths."""
        return _is_exponential_lcb(criterion) and criterion.labelled

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float] | None:
        """None yet; and where graphs are few, to look at all of them is quicker."""
        if few_graphs(structure):
            return None
        return super().composition_bounds(structure, compositions)

    def surface(self, piece: Piece) -> ExponentialSurface:
        """LCB over the counts of a piece."""
        return ExponentialSurface(
            self._posterior,
            self.coordinates(piece),
            self._kappa,
            complete=piece.structure.connectivity == "strong",
        )

    def solve(self, state: PieceSolve) -> Answer:
        """By lines below LCB in a composition, else by histograms or by looking at all graphs."""
        if state.piece.composition is not None and wants_lines(state):
            return solve_by_integers(state, surface=self.surface(state.piece))
        return state.open() if state.question.relaxed else solve_by_histograms(state)


def _is_exponential_lcb(criterion: Criterion) -> bool:
    kernel = criterion.posterior.model.kernel
    of_functions = isinstance(criterion.posterior, FunctionPosterior)
    return type(criterion.acquisition) is LCB and of_functions and kernel.exponential
