"""Questions about pieces, for tests of the proof."""

from __future__ import annotations

from typing import Any

from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.piece import Piece, Question
from bogrape.propose.exact.proof.strategy import SolvePiece


def solve_piece(
    piece: Piece, criterion: Criterion, value: float, seconds: float = 60.0, **rest: Any
) -> SolvePiece:
    """The job that asks for a graph of a piece below a value."""
    return SolvePiece(choose(criterion), Question(piece=piece, value=value, **rest), seconds)
