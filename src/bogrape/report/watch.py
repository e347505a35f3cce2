"""Rewriting the report of a running study whenever the study changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..study import Study
from .html import write_report

LEAST_SECONDS = 1


def watch(
    study: Study,
    path: Path,
    every: int,
    *,
    source: str = "",
    done: Callable[[Study], bool] = lambda study: False,  # noqa: ARG005
    written: Callable[[int], object] = lambda n_trials: None,  # noqa: ARG005
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Write the report until the study is done or the user interrupts.

    The page reloads itself at the same interval; the final page does not, as it is complete.

    Args:
        study: study to report on.
        path: the file to write.
        every: seconds between checks.
        source: see `report_html`.
        done: function that returns True once the study has ended.
        written: called with the number of trials after each write.
        sleep: function that waits.
    """
    every = max(LEAST_SECONDS, int(every))
    seen: object = None
    try:
        while not done(study):
            now = [(t.id, t.state, t.attempts, tuple(t.values.items())) for t in study.trials]
            if now != seen:
                start = time.monotonic()
                write_report(study, path, source=source, refresh=every)
                seen = now
                written(len(now))
                # Slow reports must not keep the machine busy all the time.
                sleep(max(every, 2 * (time.monotonic() - start)))
            else:
                sleep(every)
    except KeyboardInterrupt:
        pass
    write_report(study, path, source=source)
    written(len(study.trials))
