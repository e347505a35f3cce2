"""The local search that comes before a proof, and goes on beside it if the clock is short.

It is the search of ``method="search"``, graph by graph: same seed, same budget in evaluations. If
its share of the time is too short for the budget, the rest of it is done in the time in which
workers prove, so that a proposal with a proof is as good as one without.
"""

from __future__ import annotations

import time
from typing import final

from ...criterion import AnyCriterion
from ...local.search import Elite, find_any, search_steps
from ...proposal import Request

_SHARE = 0.3  # of the time limit, at most, before the proof begins
_LARGEST_SHARE = 0.6  # as long as the search finds better graphs
_RECENT = 0.5  # part of all evaluations, the latest, in which it found one


@final
class FirstSearch:
    """Local search under way; what it has found is in ``elite``."""

    def __init__(self, criterion: AnyCriterion, request: Request) -> None:
        self._criterion, self._request = criterion, request
        self._until = min(request.deadline, time.monotonic() + _SHARE * request.time_limit)
        self.elite = Elite(request.excluded, identify=criterion.space.identity)
        self.is_over = False
        self._improved_at = 0  # evaluations
        self._steps = search_steps(
            criterion,
            self.elite,
            n_evaluations=request.n_evaluations,
            deadline=request.deadline,
            begun_by=self._until,
            seed=request.seed,
            starts=request.starts,
            stop=request.stop,
        )

    def run(self) -> Elite:
        """Search for its share of the time, or longer if that is worth while."""
        extra = (_LARGEST_SHARE - _SHARE) * self._request.time_limit
        while self.step():
            late = time.monotonic() - self._until
            if late >= extra or (late >= 0 and not self._is_improving):
                break
        if not self.elite.ties and time.monotonic() >= self._until:
            find_any(self._criterion, self.elite, self._request)
        return self.elite

    def step(self) -> bool:
        """Search for a fraction of a second; false if the budget or the time is spent."""
        before = self.elite.value
        if not self.is_over:
            self.is_over = next(self._steps, True) is True
        if self.elite.value < before - self.elite.tolerance:
            self._improved_at = self.elite.n_evaluations
        return not self.is_over

    @property
    def _is_improving(self) -> bool:
        return self._improved_at > _RECENT * self.elite.n_evaluations
