"""Evaluation on anything with ``submit(function, *arguments)`` that returns futures.

Such executors cannot stop a running evaluation: after its time limit it is abandoned but runs on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any, final

from ..graph import Graph
from .evaluator import check_limit, check_parallel
from .outcome import Objective, Outcome, evaluate_json

_POLL = (0.001, 0.05)  # seconds between two polls, growing from the first to the second


@dataclass
class _Running:
    number: int
    future: Any
    deadline: float | None
    submitted: float


@final
class FuturesEvaluator:
    """Hands evaluations to an executor in the style of `concurrent.futures`.

    Args:
        objective: function of a graph, in a form the executor can send to its workers.
        submit: the executor's ``submit(function, *arguments)``.
        n_parallel: evaluations at a time.
        time_limit: seconds after which an evaluation is given up.
        slowest_poll: longest pause between two polls of the futures.
        explain: function that turns an exception of a future into an outcome, or ``None`` for the
            usual one, "not started": exceptions of the objective never reach a future.
        is_lost: function that returns True if unfinished futures will never finish.
        close: function called at the end.
    """

    def __init__(
        self,
        objective: Objective,
        submit: Callable[..., Any],
        n_parallel: int = 1,
        time_limit: float | None = None,
        *,
        slowest_poll: float = _POLL[1],
        explain: Callable[[BaseException], Outcome | None] | None = None,
        is_lost: Callable[[], bool] = lambda: False,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._objective = objective
        self._submit = submit
        self.n_parallel = check_parallel(n_parallel)
        self._time_limit = check_limit(time_limit, "time_limit")
        self._slowest_poll = slowest_poll
        self._explain = explain
        self._is_lost = is_lost
        self._close = close
        self._running: list[_Running] = []
        self._refused: list[tuple[int, Outcome]] = []
        self._is_broken = False

    def submit(self, number: int, graph: Graph) -> None:
        """Hand the graph to the executor."""
        limit = self._time_limit
        try:
            future = self._submit(evaluate_json, self._objective, graph.to_json(names=True))
        except Exception as error:  # a pool that broke, a scheduler that is gone
            self._refused.append((number, _not_started(error)))
            return
        now = time.monotonic()
        deadline = None if limit is None else now + limit
        self._running.append(_Running(number, future, deadline, now))

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Finished and given-up evaluations."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = _POLL[0]
        finished, self._refused = self._refused, []
        while self._running and not finished:
            now = time.monotonic()
            lost = self._is_lost()  # before looking at the futures: those done by then are valid
            for running in list(self._running):
                if running.future.done():
                    finished.append((running.number, self._result(running.future)))
                    self._running.remove(running)
                elif lost:
                    reason = "the executor was closed: the Client lost its scheduler"
                    finished.append((running.number, Outcome("not started", reason=reason)))
                    self._running.remove(running)
                elif running.deadline is not None and now >= running.deadline:
                    running.future.cancel()
                    reason = f"no answer after {self._time_limit:g} s"
                    late = Outcome("time limit", reason=reason, seconds=now - running.submitted)
                    finished.append((running.number, late))
                    self._running.remove(running)
            if finished or (until is not None and now >= until):
                break
            time.sleep(pause)
            pause = min(2 * pause, self._slowest_poll)
        return finished

    def _result(self, future: Any) -> Outcome:
        try:
            text = future.result()
        except Exception as error:
            known = self._explain(error) if self._explain is not None else None
            if known is None and isinstance(error, BrokenExecutor) and not self._is_broken:
                self._is_broken = True
                if len(self._running) == 1:  # nothing else ran, so this one broke the pool
                    return Outcome("lost", reason=_first_line(error))
            return known or _not_started(error)
        if not isinstance(text, str):
            return Outcome("lost", reason=f"the executor gave {type(text).__name__}, not an answer")
        return Outcome.from_json(text)

    def close(self) -> None:
        """Cancel evaluations that have not started."""
        for running in self._running:
            running.future.cancel()
        self._running.clear()
        if self._close is not None:
            self._close()


def _not_started(error: BaseException) -> Outcome:
    return Outcome("not started", reason=_first_line(error))


def _first_line(error: BaseException) -> str:
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0][:500] if words else 'no message'}"
