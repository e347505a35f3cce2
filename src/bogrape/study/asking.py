"""What somebody who waits for suggestions is shown."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Self, final

from ..propose import Stage
from ..statusline import StatusLine, status_line
from ..trial import Trial

_DELAY = 2.0  # seconds: quicker answers need no progress
_PAUSE = 10.0  # seconds between two lines where they cannot be updated in place


@final
class AskProgress:
    """Counts suggestions and says what the present one is waiting for."""

    def __init__(self, name: str, n: int, sign: float, *, show: bool) -> None:
        self._n, self._sign = n, sign
        self._done = 0
        self._line: StatusLine | None = None
        if show:
            self._line = status_line(f"{name}, suggestions", n, delay=_DELAY, pause=_PAUSE)

    def __enter__(self) -> Self:
        return self

    def watch(self, stage: Stage) -> None:
        """Show how far the present proposal has come."""
        if self._line is not None:
            self._line.show(self._done, _words(stage, self._sign))

    def found(self, trial: Trial) -> None:
        """Show that there is one more."""
        self._done += 1
        if self._line is not None:
            self._line.show(self._done, f"trial {trial.id}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._line is not None:
            self._line.close()


def _words(stage: Stage, sign: float) -> str:
    if stage.step == "search":
        return "found a candidate; proving how good it is"
    words = [f"proving: parts of the space left: {stage.n_open}"]
    if math.isfinite(stage.value):
        words.append(f"candidate {sign * stage.value:.4g}")
    if math.isfinite(stage.bound):
        words.append(f"bound {sign * stage.bound:.4g}")
    words.append(f"{stage.seconds:.0f} of {stage.time_limit:.0f} s")
    return ", ".join(words)
