"""The kernel ``rbf`` with edge labels, as in molecules: proofs by skeletons alone.

Graphs with equal counts of paths may differ in the labels of their edges, and therefore in value.
If rules limit the degrees, all skeletons are examined (`proof.by_rbf_placements`). There is no
other bound on such values.
"""

from __future__ import annotations

from .....encoding import Structure, structures
from ....criterion import Criterion
from ...bounds.rbf_factors import RbfFactors
from ...skeletons.node_sums import NodeSums
from ..by_listing import solve_by_listing
from ..by_skeletons import has_skeletons
from ..piece import Answer
from ..piece_solve import PieceSolve
from ..strategy import Strategy


def _has_ends(structure: Structure) -> bool:
    sums = NodeSums.of(structure) if has_skeletons(structure) else None
    return sums is not None and sums.columns.has_ends


class RbfBySkeletons(Strategy):
    """LCB and EI with the kernel ``rbf`` in spaces whose edges have labels."""

    only_skeletons = True

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts spaces whose rules limit the degrees and tie edge labels to nodes."""
        space = criterion.space
        if not space.rules or not RbfFactors.accepts(criterion):
            return False
        shapes = [space.shape(n) for n in space.sizes]
        return any(map(_has_ends, structures(shapes, space.connected, space.rules)))

    def solve(self, state: PieceSolve) -> Answer:
        """Evaluate all graphs, which rarely settles what skeletons have not settled in time."""
        return state.open() if state.question.relaxed else solve_by_listing(state)
