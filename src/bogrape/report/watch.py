"""A report of a running study that is rewritten whenever the study has changed."""

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

    The page loads itself again as often; the last one written does not, because nothing more comes.

    Args:
        study: what to look at.
        path: the file to write.
        every: seconds between looks.
        source: see `report_html`.
        done: whether nothing more is to come.
        written: called after each writing with the number of trials.
        sleep: how to wait.
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
                # A report that takes long to make must not take all of the machine.
                sleep(max(every, 2 * (time.monotonic() - start)))
            else:
                sleep(every)
    except KeyboardInterrupt:
        pass
    write_report(study, path, source=source)
    written(len(study.trials))
