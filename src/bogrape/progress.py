"""How a running study shows itself: one `bogrape.statusline` that counts finished trials."""

from __future__ import annotations

from types import TracebackType
from typing import Self, final

from .display import printable
from .errors import StudyError
from .statusline import StatusLine, status_line
from .study import Study, Trial


@final
class Progress:
    """Counts finished trials and shows the best value, the gap and where the time goes."""

    def __init__(self, study: Study, n_trials: int, *, show: bool) -> None:
        self._study = study
        self._total = n_trials
        self._show = show
        self._line: StatusLine | None = None
        self._done = 0

    def __enter__(self) -> Self:
        if self._show:
            self._done = sum(t.is_finished and t.origin != "added" for t in self._study.trials)
            self._line = status_line(self._study.name, self._total, done=self._done)
        return self

    def update(self, trial: Trial) -> None:
        """Show that a trial came back."""
        if self._line is None:
            return
        self._done += int(trial.is_finished)
        fields = {"best": best_text(self._study), **times(trial)}
        details = ", ".join(f"{name} {text}" for name, text in fields.items())
        self._line.show(self._done, f"trial {trial.id}: {_outcome(trial)} ({details})")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._line is not None:
            self._line.close()


def _outcome(trial: Trial) -> str:
    if trial.value is not None:
        return f"{trial.value:.6g}"
    return f"{trial.state}, {printable(trial.reason)}"


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
