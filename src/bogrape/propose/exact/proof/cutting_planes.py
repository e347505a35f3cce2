"""Cutting planes: new facts for pieces whose bound over counts alone is too optimistic.

The relaxed piece (`Question.relaxed`) bounds the acquisition over counts that obey the known
facts. Usually no graph has its best counts h. Then

1. directions are compared by how far h lies beyond the histograms of known graphs;
2. local search and the solver determine how far graphs reach in the best one (`extremes`);
3. that is a new `Fact`, the relaxed piece is solved again, and so on.

The facts depend on no data, so every later step of a study has them from the start.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....arrays import IntArray
from ..distances.directions import pair_directions, plain_directions
from ..distances.extremes import Extremes, prove
from ..distances.histograms import Fact
from .piece import Answer, Question
from .strategy import SolvePiece, Strategy

_SECONDS = 10.0  # for one proof; a direction that takes longer is given up


@dataclass
class CutPiece:
    """Job that tightens the bound of a piece by cutting planes; the answer lists the new facts."""

    strategy: Strategy
    question: Question
    time_limit: float

    def solve(self) -> Answer:
        """Cut until the piece is settled, time is up, or no direction helps."""
        structure = self.question.piece.structure
        deadline = time.monotonic() + self.time_limit
        question = replace(self.question, relaxed=True)
        answer = SolvePiece(self.strategy, question, self.time_limit).solve()
        if structure.diameter is None or structure.diameter < 3:
            return answer
        extremes = Extremes(structure.shape.n_nodes, structure.diameter)
        new: list[Fact] = []
        failed: set[tuple[int, ...]] = set()
        while not answer.proved and answer.counts is not None:
            fact = self._cut(answer.counts, extremes, question.facts, failed, deadline)
            if fact is None:
                break
            new.append(fact)
            question = replace(question, facts=(*question.facts, fact))
            left = max(0.1, deadline - time.monotonic())
            after = SolvePiece(self.strategy, question, left).solve()
            answer = replace(after, bound=max(answer.bound, after.bound))
        return replace(answer, facts=tuple(new))

    def _cut(
        self,
        counts: Sequence[int],
        extremes: Extremes,
        facts: Sequence[Fact],
        failed: set[tuple[int, ...]],
        deadline: float,
    ) -> Fact | None:
        """A fact that these counts violate, or ``None`` if none is proved in time."""
        h = self.strategy.coordinates(self.question.piece).histogram(counts)
        n, diameter = extremes.n, extremes.diameter
        while time.monotonic() < deadline:
            weights = _farthest_beyond(h, extremes, failed)
            if weights is None:
                return None
            reached = extremes.reach(weights, self.question.seed)
            promised = int(np.dot(weights, h))
            while reached < promised and time.monotonic() < deadline:
                seconds = min(_SECONDS, deadline - time.monotonic())
                high = (reached + promised) // 2  # a weaker claim is proved far sooner
                seed = self.question.seed
                found = prove(n, diameter, weights, high, facts=facts, seconds=seconds, seed=seed)
                if isinstance(found, Fact):
                    return found
                if found is None:
                    failed.add(tuple(weights))
                    break
                extremes.add(found[None])
                reached = int(np.dot(weights, found))
        return None


def _farthest_beyond(
    h: IntArray, extremes: Extremes, failed: set[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """The direction in which h lies farthest beyond the histograms of known graphs.

    Plain directions come first: facts about them are easier to prove and help more criteria.
    """
    for family in (plain_directions(len(h)), pair_directions(len(h))):
        table = np.array([weights for weights in family if weights not in failed], dtype=np.int64)
        if not len(table):
            continue
        if not len(extremes.seen):
            extremes.reach([1] * len(h))
        beyond = table @ h - (extremes.seen @ table.T).max(axis=0, initial=-(10**9))
        relative = beyond / np.abs(table).sum(axis=1)
        best = int(np.argmax(relative))
        if beyond[best] > 0:
            return tuple(map(int, table[best]))
    return None
