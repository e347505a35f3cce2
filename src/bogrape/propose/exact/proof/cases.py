"""A piece falls into cases: the layers around the node that weighs most.

Near its best counts LCB is all but linear, ``LCB(h) ~ c - w . h`` with the gradient for weights.
Take the node with the largest ``W(v) = sum_s w_s l_s(v)`` for node 0 (see `layers.py` beside).
What beats the incumbent has a large ``w . h``, so node 0 is heavy, and few layers are that heavy.

The weights may be any: integers near the gradient are taken. How large ``w . h`` must be is then a
question about counts alone, answered exactly: the smallest one of all counts that obey what is true
of all graphs and beat the incumbent; or of all boxes that can hold such counts.

Where there are many layers, the most promising are split off. What is left has a smaller ``w . h``
and so a better bound; it is split again when its turn comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..bounds.taylor_bounds import integer_direction
from ..distances.layers import Heaviest, cases
from .piece import Piece, Question
from .strategy import SolvePiece, Strategy


def has_cases(piece: Piece) -> bool:
    """True if a piece, of a strategy with cases, has any to fall into."""
    structure = piece.structure
    if structure.diameter is None or structure.diameter < 3:
        return False
    return structure.layers is None and structure.all_alike


@dataclass
class SplitPiece:
    """Find the cases of a piece that a graph better than the incumbent can be in."""

    strategy: Strategy
    question: Question
    counts: tuple[int, ...]  # the best ones, with no graph behind them
    n_most: int  # cases to split off
    time_limit: float

    def solve(self) -> list[Piece] | None:
        """The most promising cases and the rest, if any; ``None`` if nothing can be split off."""
        piece = self.question.piece
        structure, h = piece.structure, np.array(self.counts[: piece.longest])
        if piece.heaviest is not None:  # a rest: what was split off is known by its weights
            weights, most = piece.heaviest.weights, piece.heaviest.most
        else:
            weights = integer_direction(-self.strategy.gradient(piece, self.counts)[: len(h)])
            most = self.strategy.coordinates(piece).n_pairs() * max(weights)
        state = SolvePiece(self.strategy, self.question, self.time_limit).state()
        least = self.strategy.least_weight(state, weights, most)
        if least is None:
            return None
        heaviest = Heaviest(weights, least, most)
        listed, rest = cases(structure.shape.n_nodes, piece.longest, heaviest, self.n_most)
        if not listed and rest is not None and rest.most >= h @ np.array(weights):
            return None
        out = [
            replace(piece, structure=replace(structure, layers=layers), heaviest=case)
            for layers, case in listed
        ]
        return out if rest is None else [*out, replace(piece, heaviest=rest)]
