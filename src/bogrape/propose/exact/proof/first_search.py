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

_SHARE = 0.3  # of the time limit, before the proof begins, if that was time enough
_LARGEST_SHARE = 0.9  # else
_ENOUGH = 50_000  # evaluations, after which better graphs are rarely found,
_RECENT = 0.5  # unless one was found in this part of all evaluations, the latest


@final
class FirstSearch:
    """Local search under way; what it has found is in ``elite``."""

    def __init__(self, criterion: AnyCriterion, request: Request) -> None:
        self._criterion, self._request = criterion, request
        self._until = min(request.deadline, time.monotonic() + _SHARE * request.time_limit)
        self.elite = Elite(request.excluded, identify=criterion.space.identity)
        self.is_over = False
        self.seconds = 0.0  # spent on it
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

    def begin(self) -> None:
        """Search for its share of the time."""
        while self.step() and time.monotonic() < self._until:
            pass

    def run(self) -> Elite:
        """Search for its share of the time, or longer if that is worth while."""
        request = self._request
        at_most = request.started + _LARGEST_SHARE * request.time_limit
        while self.step():
            now = time.monotonic()
            if now >= at_most or (now >= self._until and self._is_saturated):
                break
        if not self.elite.ties and time.monotonic() >= self._until:
            find_any(self._criterion, self.elite, self._request)
        return self.elite

    def step(self) -> bool:
        """Search for a fraction of a second; false if the budget or the time is spent."""
        before, began = self.elite.value, time.monotonic()
        if not self.is_over:
            self.is_over = next(self._steps, True) is True
        self.seconds += time.monotonic() - began
        if self.elite.value < before - self.elite.tolerance:
            self._improved_at = self.elite.n_evaluations
        return not self.is_over

    @property
    def _is_saturated(self) -> bool:
        n_evaluations = self.elite.n_evaluations
        return n_evaluations >= _ENOUGH and self._improved_at <= (1 - _RECENT) * n_evaluations
