"""The kernel ``rbf`` where it compares labels of edges, as between molecules: by skeletons alone.

Graphs with equal counts of paths may differ in the labels of their edges, and with them in value.
Where rules limit the degrees, all skeletons are looked at (`proof.by_rbf_placements`). Nothing else
is known of such values.
"""

from __future__ import annotations

from ....criterion import Criterion
from ...bounds.rbf_factors import RbfFactors
from ..by_listing import solve_by_listing
from ..piece import Answer
from ..piece_solve import PieceSolve
from ..strategy import Strategy


class RbfBySkeletons(Strategy):
    """LCB and EI with the kernel ``rbf`` in spaces whose edges have labels."""

    only_skeletons = True

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Where some rule may limit the degrees."""
        return bool(criterion.space.rules) and RbfFactors.accepts(criterion)

    def solve(self, state: PieceSolve) -> Answer:
        """What skeletons have not settled in time is rarely settled by looking at all graphs."""
        return state.open() if state.question.relaxed else solve_by_listing(state)
