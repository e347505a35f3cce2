"""The job of one solve: a question about a piece, answered by the strategy within a time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .piece import Answer, Question
from .piece_solve import OutOfTime, PieceSolve
from .strategy import Strategy


@dataclass
class SolvePiece:
    """Find the best graph of a piece that beats a value, if there is one, and a bound."""

    strategy: Strategy
    question: Question
    time_limit: float

    def solve(self) -> Answer:
        """The answer; its bound holds for all graphs of the piece that are not excluded."""
        state = self.state()
        try:
            return self.strategy.solve(state)
        except OutOfTime:
            return state.open()

    def state(self) -> PieceSolve:
        """The solve before its first step; its clock starts now."""
        deadline = time.monotonic() + self.time_limit
        return PieceSolve(self.question, self.strategy.criterion, deadline)
