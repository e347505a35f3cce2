"""Divides a piece into cases: the layers around its heaviest node.

Near its best counts LCB is almost linear, ``LCB(h) ~ c - w . h`` with the gradient as weights.
Let node 0 be the node with the largest ``W(v) = sum_s w_s l_s(v)`` (see `distances/layers.py`).
Graphs that beat the incumbent have a large ``w . h``, so node 0 is heavy, and few layers allow it.

Any weights are valid; integers near the gradient are used. How large ``w . h`` must be is then a
question about counts alone, answered exactly: its minimum over all counts that obey the known
inequalities and beat the incumbent, or over all boxes that can hold such counts.

If there are many cases, the most promising are split off. The rest has a smaller ``w . h`` and so
a better bound; it is split again when its turn comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..bounds.taylor_bounds import integer_direction
from ..distances.layers import Heaviest, cases
from .piece import Piece, Question
from .strategy import SolvePiece, Strategy


def has_cases(piece: Piece) -> bool:
    """True if a piece, of a strategy with cases, can be divided into them."""
    structure = piece.structure
    if structure.diameter is None or structure.diameter < 3:
        return False
    return structure.layers is None and structure.all_alike


@dataclass
class SplitPiece:
    """Job that finds the cases of a piece in which a graph can beat the incumbent."""

    strategy: Strategy
    question: Question
    counts: tuple[int, ...]  # the best ones of the relaxed question
    n_most: int  # cases to split off
    time_limit: float

    def solve(self) -> list[Piece] | None:
        """The most promising cases and the rest, if any; ``None`` if nothing can be split off."""
        piece = self.question.piece
        structure, h = piece.structure, np.array(self.counts[: piece.longest])
        if piece.heaviest is not None:  # a rest, which excludes cases by the same weights
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
