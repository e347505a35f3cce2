"""LCB with the kernel ``rbf``: pieces by composition and diameter, bounded by linear programs.

Within a composition the numbers of nodes with each label are given, and the exponents of the kernel
are sums of squares of linear functions of the counts (`bounds.rbf_lines`). Where the kernel
compares labels of edges, graphs with equal counts may have different values, so such spaces have no
strategy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from .....acquisition import LCB
from .....encoding import Structure
from .....kernels import RBF
from .....posterior import FunctionPosterior
from ....criterion import Criterion
from ...bounds.rbf_lines import RbfLcbOverCounts, rbf_composition_bounds
from ...distances.coordinates import Position
from ...distances.inequality import Inequality
from ...distances.known import known_of_counts, most_far
from ..all_graphs import few_graphs
from ..by_integers import solve_by_integers, wants_lines
from ..by_listing import solve_by_listing
from ..piece import Answer, Piece
from ..piece_solve import PieceSolve
from ..strategy import Strategy

_MOST_BY_LINES = 1500  # compositions: each takes milliseconds


class RbfLCB(Strategy):
    """LCB with the kernel ``rbf`` in spaces with labels of nodes and none of edges."""

    by_composition = True
    most_halved = 60  # programs are larger than those of other kernels, and more pieces stay

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        self._posterior = cast("FunctionPosterior", criterion.posterior)
        self._kappa = cast("LCB", criterion.acquisition).kappa

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """LCB with the kernel ``rbf``, unless it compares labels of edges.

        With one label for all nodes a table of histograms is far quicker than lines.
        """
        model = criterion.posterior.model
        of_functions = isinstance(criterion.posterior, FunctionPosterior)
        known = type(model.kernel) is RBF and not model.beta and not criterion.edge_labelled
        lines = of_functions and known and criterion.space.n_labels > 1
        return type(criterion.acquisition) is LCB and lines

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float] | None:
        """By the norm of the mean, then, where that says least, by lines.

        Where graphs are few, to look at all of them is quicker.
        """
        if few_graphs(structure):
            return None
        table = np.array(compositions)
        bounds = rbf_composition_bounds(self._posterior, table, self._kappa)
        for i in np.argsort(bounds)[:_MOST_BY_LINES]:
            lcb = self.lcb_over_counts(Piece(structure, compositions[i]))
            bounds[i] = max(bounds[i], lcb.quick_bound())
        return [float(bound) for bound in bounds]

    def quick_bound(self, piece: Piece, value: float) -> float:  # noqa: ARG002
        """By lines and no programs."""
        if piece.composition is None:
            return -math.inf
        return self.lcb_over_counts(piece).quick_bound()

    def lcb_over_counts(self, piece: Piece) -> RbfLcbOverCounts:
        """LCB over the counts of a piece."""
        return RbfLcbOverCounts(
            self._posterior,
            self.coordinates(piece),
            self._kappa,
            connected=piece.structure.connectivity == "strong",
            most_far=most_far(piece.structure),
        )

    def known_of_whole(self, piece: Piece) -> Iterator[Inequality[Position]]:
        """All there is: a composition is mostly settled at once, and not diameter by diameter."""
        return known_of_counts(piece.structure, self.coordinates(piece), None)

    def solve(self, state: PieceSolve) -> Answer:
        """By lines below LCB in a composition, else by looking at all graphs."""
        if state.piece.composition is not None and wants_lines(state):
            return solve_by_integers(state, lcb=self.lcb_over_counts(state.piece))
        return state.open() if state.question.relaxed else solve_by_listing(state)
