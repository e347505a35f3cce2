"""How a running study shows itself.

On a terminal a bar; in a notebook one line that is updated in place; elsewhere one line per trial
through `logging`, if the user has set it up for INFO, and otherwise on standard error, at most one
per second.
"""

from __future__ import annotations

import importlib
import logging
import sys
import time
from types import TracebackType
from typing import Any, Protocol, Self, final

from .errors import StudyError
from .study import Study, Trial

logger = logging.getLogger("bogrape")

_PAUSE = 1.0  # seconds between two lines on standard error


class _Display(Protocol):
    """Where progress is shown."""

    def show(self, done: int, trial: Trial, fields: dict[str, str]) -> None:
        """Show that a trial came back."""

    def close(self) -> None:
        """Show what was held back, and free what is held."""


@final
class Progress:
    """Counts finished trials and shows the best value, the gap and where the time goes."""

    def __init__(self, study: Study, n_trials: int, *, show: bool) -> None:
        self._study = study
        self._total = n_trials
        self._show = show
        self._display: _Display | None = None
        self._done = 0

    def __enter__(self) -> Self:
        if not self._show:
            return self
        self._done = sum(t.is_finished and t.origin != "added" for t in self._study.trials)
        self._display = _display(self._study.name, self._done, self._total)
        return self

    def update(self, trial: Trial) -> None:
        """Show that a trial came back."""
        if self._display is None:
            return
        self._done += int(trial.is_finished)
        fields = {"best": best_text(self._study), **times(trial)}
        self._display.show(self._done, trial, fields)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._display is not None:
            self._display.close()


def _display(name: str, done: int, total: int) -> _Display | None:
    """The display that fits where we are."""
    if _in_notebook():
        return _Notebook(name, total)
    if sys.stderr is not None and sys.stderr.isatty():
        return _Bar(name, done, total)
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        return _Log(name, total)
    return None if sys.stderr is None else _Lines(name, total)


def _in_notebook() -> bool:
    """Whether we run in the kernel of a notebook: Jupyter, Colab, an editor's."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@final
class _Bar:
    """A bar on a terminal."""

    def __init__(self, name: str, done: int, total: int) -> None:
        from tqdm import tqdm  # late: `import bogrape` need not pay for it

        class Bar(tqdm):  # type: ignore[misc]  # it has no types
            monitor_interval = 0  # no thread of its own: evaluations fork this process

        self._bar = Bar(total=total, initial=done, desc=name, dynamic_ncols=True)
        self._done = done

    def show(self, done: int, trial: Trial, fields: dict[str, str]) -> None:  # noqa: ARG002
        self._bar.set_postfix(fields, refresh=False)
        self._bar.update(done - self._done)
        self._done = done

    def close(self) -> None:
        self._bar.close()


@final
class _Notebook:
    """One line below the cell, updated in place. It needs no widgets."""

    def __init__(self, name: str, total: int) -> None:
        display = importlib.import_module("IPython.display").display
        self._name, self._total = name, total
        self._handle: Any = display(_text(f"{name}: 0/{total}"), raw=True, display_id=True)

    def show(self, done: int, trial: Trial, fields: dict[str, str]) -> None:
        line = _line(self._name, done, self._total, trial, fields)
        self._handle.update(_text(line), raw=True)

    def close(self) -> None:
        pass


@final
class _Log:
    """Log lines, for users who have set up logging."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total = name, total

    def show(self, done: int, trial: Trial, fields: dict[str, str]) -> None:
        logger.info("%s", _line(self._name, done, self._total, trial, fields))

    def close(self) -> None:
        pass


@final
class _Lines:
    """Lines on standard error, not too many of them; the last one is always shown."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total = name, total
        self._due = 0.0
        self._held_back: str | None = None

    def show(self, done: int, trial: Trial, fields: dict[str, str]) -> None:
        self._held_back = _line(self._name, done, self._total, trial, fields)
        if time.monotonic() >= self._due:
            self.close()

    def close(self) -> None:
        if self._held_back is not None:
            print(self._held_back, file=sys.stderr, flush=True)
            self._held_back = None
            self._due = time.monotonic() + _PAUSE


def _line(name: str, done: int, total: int, trial: Trial, fields: dict[str, str]) -> str:
    value = f"{trial.value:.6g}" if trial.value is not None else f"{trial.state}, {trial.reason}"
    details = ", ".join(f"{name} {text}" for name, text in fields.items())
    return f"{name}: trial {trial.id}: {value} ({done}/{total}, {details})"


def _text(line: str) -> dict[str, str]:
    return {"text/plain": line}


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
