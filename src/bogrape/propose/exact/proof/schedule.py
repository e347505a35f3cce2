"""Rounds of solves that settle the open pieces of a proof, each with a longer limit than the last.

1. *Counts*, for strategies with cases: graphs are left out; counts that obey what is true of all
   graphs are bounded in no time, and that settles many pieces.
2. *Graphs*, for seconds, unless there are many pieces: what is easy is settled.
3. *Search* again, for longer: a better incumbent settles more.
4. *Layers*, for the same: what is left falls into cases (`proof.cases`). The most promising ones
   are settled first, by counts and by graphs.
5. *Cuts*: the pieces with the worst bounds, which are the bound of the whole, get cutting planes.
6. *Graphs* again, with all the time that is left.

With labels, counts have been bounded when the pieces were made. Large pieces with limited degrees
are bounded by large programs before all of this.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import overload

from ....errors import EngineError
from ....graph import Graph
from ...jobs.pool import n_workers, solve_all
from ...local.search import FirstSearch, search
from ...proposal import Request
from ...values import PROGRESS, room
from .cases import SplitPiece, has_cases
from .cutting_planes import CutPiece
from .piece import Answer, Open, Piece, Question, learnt, slack
from .strategy import BoundSlowly, SolvePiece, Strategy

logger = logging.getLogger(__name__)

_LEAST_COUNTS = 0.3  # seconds per piece, below which a round is of no use
_FEW = 20  # pieces that are looked at before a longer search, if they are no more
_SEARCH_SECONDS = 60.0  # of the time limit, for as many evaluations as the first search had
_CASE_SECONDS = 6e-5  # that a case takes on average, for each node cubed
_LAYERS_SHARE = 0.8  # of the time that is left, for splitting
_WHOLE_SECONDS = 3.0  # for a piece that may fall into cases
_SPLIT_SHARE = 0.05  # of the time that is left, for the cases split off at once
_SPLIT_SECONDS = 10.0  # for finding the cases of a piece
_SLOW_SHARE = 0.9  # of the time that is left, for bounds that take seconds
_SLOW_FIRST_SHARE = 0.6  # of that, for all pieces, before the worst are bounded again
_SLOW_LEAST_SECONDS, _SLOW_SECONDS = 12.0, 40.0  # for one of these
_CUT_SECONDS = 40.0  # for one piece at a time, before the worst bounds are looked at again
_CUT_SHARE = 0.5  # of the time that is left


class _MadeInTurn(Sequence[SolvePiece]):
    """Jobs that are made when their turn comes: of thousands of pieces, few may get one."""

    def __init__(self, items: Sequence[Open], make: Callable[[Open], SolvePiece]) -> None:
        self._items, self._make = items, make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> SolvePiece: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SolvePiece]: ...
    def __getitem__(self, index: int | slice) -> SolvePiece | Sequence[SolvePiece]:
        chosen = self._items[index]
        if isinstance(chosen, Open):
            return self._make(chosen)
        return [self._make(item) for item in chosen]


class Rounds:
    """The open pieces of one proposal, and what has been found in them."""

    def __init__(
        self,
        strategy: Strategy,
        request: Request,
        search: FirstSearch,
        left: Sequence[Open],
        answers: Iterable[Answer] = (),
    ) -> None:
        self.strategy = strategy
        self.criterion = strategy.criterion
        self.request = request
        self.left = list(left)
        self.answers = list(answers)
        self.first_search = search
        self.elite = search.elite

    def run(self) -> tuple[list[Answer], list[Open]]:
        """Go through the rounds while there is time; returns answers, and what stayed open.

        What local search has found is in ``elite``.
        """
        self._bound_slowly()
        if self.strategy.has_cases:
            self._round(0.05, relaxed=True)
        if self.strategy.has_cases or len(self.left) <= _FEW:
            self._round(0.1, most=_WHOLE_SECONDS)
        self._search_again()
        if self.strategy.has_cases:
            self._settle_by_layers()
        else:
            self._round(0.1)
            self._round(0.35)
        if self.strategy.bounds_counts:
            self._cut_the_worst()
        while self._round(1.0):  # again with what the settled pieces did not need
            pass
        while self.left and self._search_on():  # the pieces that are left cannot be settled
            pass
        self._drop_settled()
        return self.answers, self.left

    def _bound_slowly(self) -> None:
        """Large pieces are bounded by large programs: all of them first, then the worst again."""
        until = time.monotonic() + _SLOW_SHARE * self.remaining
        slow = [item for item in self.left if self.strategy.has_slow_bound(item.piece)]
        some, seconds = slow, _SLOW_FIRST_SHARE * (until - time.monotonic())
        limit = seconds * n_workers() / max(1, len(slow))
        while some and self.best < math.inf and limit > self.strategy.least_seconds:
            jobs = [BoundSlowly(self.strategy, item.piece, self.best, limit) for item in some]
            answers = solve_all(jobs, until, self.request.stop, self._search_on)
            for index, bound in answers:
                item = some[index]
                item.n_slow += 1
                if bound is not None:
                    item.bound = max(item.bound, bound)
            self._drop_settled()
            limit = min(_SLOW_SECONDS, until - time.monotonic())
            worst = sorted(self.left, key=lambda item: item.bound)[: n_workers()]
            some = [item for item in worst if item.n_slow == 1 and limit > _SLOW_LEAST_SECONDS]

    def _search_on(self) -> bool:
        """A step of the search that the clock did not leave enough time; false if it is over."""
        before = self.best
        if not self.first_search.step():
            return False
        self.check_what_search_found(before)
        return True

    def check_what_search_found(self, before: float) -> None:
        """Raise if the first search has found a better value where there can be none."""
        found = self.first_search.elite
        if found.value < before - slack(before):
            self._check_that_it_was_open(next(iter(found.ties.values())), found.value, before)

    def _search_again(self) -> None:
        """A proof that takes long is worth a longer search: a better incumbent settles more."""
        if not self.left or self.remaining <= 0 or not self.first_search.is_over:
            return
        request = self.request
        found = search(
            self.criterion,
            excluded=request.excluded,
            n_evaluations=int(request.n_evaluations * request.time_limit / _SEARCH_SECONDS),
            deadline=request.deadline,
            seed=request.seed + 1,
            starts=[*self.elite.ties.values(), *request.starts],
            stop=request.stop,
        )
        found.n_evaluations += self.elite.n_evaluations
        if found.value < self.best - slack(self.best):
            self._check_that_it_was_open(next(iter(found.ties.values())), found.value, self.best)
        if found.value <= self.elite.value:
            self.elite = found
        self._drop_settled()

    def _check_that_it_was_open(self, graph: Graph, value: float, before: float) -> None:
        if not any(item.piece.matches(graph) for item in self.left):
            units = self.criterion.units
            raise EngineError(
                f"a graph of value {units.value(value):.17g} was found although nothing below "
                f"{units.value(before):.17g} had been proved to exist; please report this"
            )

    def _settle_by_layers(self) -> None:
        """Split cases off the pieces with the worst bounds and settle those, again and again."""
        until = time.monotonic() + _LAYERS_SHARE * self.remaining
        while time.monotonic() < until and self._split_the_worst():
            self._round(0.1, relaxed=True, of=lambda item: item.counts is None)
            self._round(0.5, of=lambda item: item.piece.structure.layers is not None)

    def _split_the_worst(self) -> bool:
        """Split the open pieces with the worst bounds; whether there were any to split."""
        whole = [
            item
            for item in self.left
            if item.can_be_split and item.counts and has_cases(item.piece)
        ]
        worst = sorted(whole, key=lambda item: item.bound)[: n_workers()]
        n_nodes = max((item.piece.structure.shape.n_nodes for item in worst), default=0)
        case_seconds = _CASE_SECONDS * n_nodes**3
        n_most = max(10, int(_SPLIT_SHARE * self.remaining / max(case_seconds, 1e-3)))
        jobs = [
            SplitPiece(
                self.strategy, self._question(item), item.counts or (), n_most, _SPLIT_SECONDS
            )
            for item in worst
        ]
        for index, parts in solve_all(
            jobs, self.request.deadline, self.request.stop, self._search_on
        ):
            item = worst[index]
            item.can_be_split = False
            if parts is not None:
                self.left.remove(item)
                self.left += [Open(part, item.bound, can_be_cut=False) for part in parts]
        return bool(worst)

    @property
    def best(self) -> float:
        """The smallest value known: only what is below it is of interest."""
        return min([self.elite.value, *(answer.value for answer in self.answers)])

    @property
    def remaining(self) -> float:
        """Seconds until the deadline."""
        return self.request.deadline - time.monotonic()

    def _round(
        self,
        share: float,
        *,
        relaxed: bool = False,
        most: float = math.inf,
        of: Callable[[Open], bool] = lambda _: True,
    ) -> bool:
        """Every piece gets the same part of a share of the time that is left, up to ``most``.

        Graphs are not asked about again unless for longer, or to go on with boxes that were left.
        Tells whether anything was asked.
        """
        items = sorted(filter(of, self.left), key=lambda item: item.bound)
        if not items or self.remaining <= 0:
            return False
        limit = self._limit(len(items), share, relaxed, most)
        if not relaxed:
            while items and any(item.in_vain(limit) for item in items):
                items.pop()  # fewer, so that the others get more
                limit = self._limit(len(items), share, relaxed, most)
            for item in items:
                item.tried, item.reached = limit, item.progress
        jobs = _MadeInTurn(items, lambda item: self._job(item, limit, relaxed))
        answers = self.strategy.run(jobs, self.request.deadline, self.request.stop, self._search_on)
        self._absorb(items, dict(answers))
        return bool(items)

    def _limit(self, n_items: int, share: float, relaxed: bool, most: float) -> float:
        each = share * self.remaining / max(1, math.ceil(n_items / n_workers()))
        least = _LEAST_COUNTS if relaxed else self.strategy.least_seconds
        return max(least, min(most, each))

    def _cut_the_worst(self) -> None:
        """The pieces with the smallest bounds, a few at a time, until none of them can be cut."""
        until = time.monotonic() + _CUT_SHARE * self.remaining
        while (limit := min(_CUT_SECONDS, until - time.monotonic())) > self.strategy.least_seconds:
            worst = sorted(self.left, key=lambda item: item.bound)[: n_workers()]
            worst = [item for item in worst if item.can_be_cut]
            if not worst:
                return
            before = [item.bound for item in worst]
            jobs = [CutPiece(self.strategy, self._question(item), limit) for item in worst]
            answers = solve_all(jobs, self.request.deadline, self.request.stop, self._search_on)
            self._absorb(worst, dict(answers))
            for item, bound in zip(worst, before, strict=True):
                item.can_be_cut = item.bound > bound + room(PROGRESS, bound)

    def _job(self, item: Open, limit: float, relaxed: bool) -> SolvePiece:
        question = replace(self._question(item), relaxed=relaxed)
        return SolvePiece(self.strategy, question, limit)

    def _question(self, item: Open) -> Question:
        structure = item.piece.structure
        return Question(
            piece=item.piece,
            value=self.best,
            excluded=self.request.excluded,
            known=self._known_counts(item.piece),
            seed=self.request.seed,
            missing=learnt.missing(structure),
            facts=learnt.facts(structure),
            boxes=item.boxes,
        )

    def _absorb(self, items: Sequence[Open], found: dict[int, Answer | None]) -> None:
        for index, item in enumerate(items):
            answer = found.get(index)
            if answer is not None:
                self._check_against_search(item.piece, answer)
                self.answers.append(answer)
                if answer.missing is not None:
                    learnt.learn_missing(item.piece.structure, answer.missing)
                learnt.learn_facts(item.piece.structure, answer.facts)
                item.counts = answer.counts or item.counts
                item.boxes = answer.boxes or item.boxes
                item.bound = math.inf if answer.proved else max(item.bound, answer.bound)
        self._drop_settled()

    def _check_against_search(self, piece: Piece, answer: Answer) -> None:
        """Raise if search found something better in a piece than its proof allows."""
        better = self.elite.value < answer.bound - slack(answer.bound)
        if better and any(map(piece.matches, self.elite.ties.values())):
            units = self.criterion.units
            raise EngineError(
                f"local search found {units.value(self.elite.value):.17g} although nothing below "
                f"{units.value(answer.bound):.17g} was proved to exist; please report this"
            )

    def _drop_settled(self) -> None:
        before, best = len(self.left), self.best
        self.left = [item for item in self.left if item.bound < best]
        logger.debug("%d of %d open pieces settled", before - len(self.left), before)
        bound = min((item.bound for item in self.left), default=best)
        in_units = self.criterion.units.value
        self.request.report("proof", in_units(best), in_units(min(bound, best)), len(self.left))

    def _known_counts(self, piece: Piece) -> list[tuple[int, ...]]:
        """The counts of the incumbent, if it belongs to the piece: no need to offer them again."""
        incumbent = next(iter(self.elite.ties.values()), None)
        if incumbent is None or not piece.matches(incumbent):
            return []
        return [self.strategy.counts(piece, incumbent)]
