"""Kernels of the package with LCB or EI that no other family accepts: tables of histograms."""

from __future__ import annotations

from .....acquisition import EI, LCB
from .....kernels import is_published
from ....criterion import Criterion
from ..by_histograms import solve_by_histograms
from ..piece import Answer
from ..piece_solve import PieceSolve
from ..strategy import Strategy


class Histograms(Strategy):
    """LCB and EI as functions of histograms; all graphs are evaluated if labels matter."""

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB and EI, which are concave in the numbers of nodes with each attribute."""
        published = is_published(criterion.posterior.model.kernel)
        return type(criterion.acquisition) in (LCB, EI) and published

    def solve(self, state: PieceSolve) -> Answer:
        """Solve by a table of all histograms, otherwise by evaluating all graphs."""
        return state.open() if state.question.relaxed else solve_by_histograms(state)
