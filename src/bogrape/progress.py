"""How a running study shows itself: a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys
from types import TracebackType
from typing import Any, Self, final

from .display import printable
from .errors import StudyError
from .study import Study, Trial

logger = logging.getLogger("bogrape")


@final
class Progress:
    """Counts finished trials and shows the best value, the gap and where the time goes."""

    def __init__(self, study: Study, n_trials: int, *, show: bool) -> None:
        self._study = study
        self._total = n_trials
        self._show = show
        self._bar: Any = None
        self._done = 0

    def __enter__(self) -> Self:
        if not self._show:
            return self
        self._done = sum(t.is_finished and t.origin != "added" for t in self._study.trials)
        if sys.stderr.isatty():
            from tqdm import tqdm  # late: `import bogrape` need not pay for it

            class Bar(tqdm):  # type: ignore[misc]  # it has no types
                monitor_interval = 0  # no thread of its own: evaluations fork this process

            self._bar = Bar(
                total=self._total, initial=self._done, desc=self._study.name, dynamic_ncols=True
            )
        return self

    def update(self, trial: Trial) -> None:
        """Show that a trial came back."""
        if not self._show:
            return
        if trial.is_finished:
            self._done += 1
        fields = {"best": best_text(self._study), **times(trial)}
        if self._bar is not None:
            self._bar.set_postfix(fields, refresh=False)
            self._bar.update(int(trial.is_finished))
            return
        value = (
            f"{trial.value:.6g}"
            if trial.value is not None
            else f"{trial.state}, {printable(trial.reason)}"
        )
        details = ", ".join(f"{name} {text}" for name, text in fields.items())
        logger.info(
            "%s: trial %d: %s (%d/%d, %s)",
            self._study.name,
            trial.id,
            value,
            self._done,
            self._total,
            details,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def best_text(study: Study) -> str:
    """The best value in a few digits, or a dash."""
    try:
        return f"{study.best.value:.5g}"
    except StudyError:
        return "–"


def times(trial: Trial) -> dict[str, str]:
    """Gap of the proposal, and seconds of fit, proposal and evaluation, as far as known."""
    certificate = trial.certificate
    out = {}
    if certificate:
        gap = certificate.get("gap")
        out["gap"] = "–" if gap is None else f"{100 * gap:.2g}%"
        out["fit"] = f"{certificate.get('fit_seconds') or 0.0:.2g}s"
        out["propose"] = f"{certificate.get('seconds') or 0.0:.2g}s"
    seconds = trial.evaluation_seconds
    if seconds is not None:
        out["evaluate"] = f"{seconds:.2g}s"
    return out
