"""Progress display and Ctrl-C.

A *status line* shows progress: a bar on a terminal, a line updated in place in a notebook, and
elsewhere lines through `logging`, if the user has configured it for INFO, or a few lines on
standard error.

Pressing *Ctrl-C* during a proof usually means "give me the best graph so far", so the first Ctrl-C
stops the proof, not the program. A second one within a few seconds interrupts as usual, so a loop
around ``ask`` can still be stopped.
"""

from __future__ import annotations

import importlib
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, final

logger = logging.getLogger("bogrape")

_SECOND = 3.0  # seconds within which a second Ctrl-C is meant for the program
_last_interrupt = -_SECOND  # time of the first one


class StatusLine(Protocol):
    """Output for progress."""

    def show(self, done: int, text: str) -> None:
        """Show that ``done`` steps are finished, and a few words about the current one."""

    def close(self) -> None:
        """Show the last pending line, and release resources."""


def status_line(
    name: str,
    total: int,
    *,
    done: int = 0,
    show: bool = True,
    delay: float = 0.0,
    pause: float = 1.0,
) -> StatusLine:
    """The status line for the current environment.

    Args:
        name: name of the task.
        total: number of steps.
        done: number of steps already finished.
        show: whether to show anything at all.
        delay: seconds before anything is shown, so that quick work stays silent.
        pause: seconds between two lines where lines cannot be updated in place.
    """
    if not show:
        return _Nowhere()
    if in_notebook():
        return _Notebook(name, total, delay)
    if sys.stderr is None:
        return _Nowhere()
    if sys.stderr.isatty():
        return _Bar(name, total, done, delay)
    return _Lines(name, total, delay, pause)


def in_notebook() -> bool:
    """True inside the kernel of a notebook (Jupyter, Colab, an editor)."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@final
class _Nowhere:
    """A status line that shows nothing."""

    def show(self, done: int, text: str) -> None:
        pass

    def close(self) -> None:
        pass


@final
class _Bar:
    """A bar on a terminal."""

    def __init__(self, name: str, total: int, done: int, delay: float) -> None:
        self._name, self._total, self._done = name, total, done
        self._from = time.monotonic() + delay
        self._bar: Any = None

    def show(self, done: int, text: str) -> None:
        if self._bar is None:
            if time.monotonic() < self._from:
                self._done = done
                return
            self._bar = self._begin()
        self._bar.set_postfix_str(text, refresh=done == self._done)
        self._bar.update(done - self._done)
        self._done = done

    def _begin(self) -> Any:
        from tqdm import tqdm  # late: keeps `import bogrape` quick

        class Bar(tqdm):  # type: ignore[misc]  # it is untyped
            monitor_interval = 0  # no thread of its own: evaluations fork this process

        return Bar(total=self._total, initial=self._done, desc=self._name, dynamic_ncols=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@final
class _Notebook:
    """One line below the cell, updated in place. It needs no widgets."""

    def __init__(self, name: str, total: int, delay: float) -> None:
        self._name, self._total = name, total
        self._from = time.monotonic() + delay
        self._handle: Any = None

    def show(self, done: int, text: str) -> None:
        if time.monotonic() < self._from:
            return
        line = {"text/plain": f"{self._name}: {done}/{self._total}  {text}"}
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(line, raw=True, display_id=True)
        else:
            self._handle.update(line, raw=True)

    def close(self) -> None:
        pass


@final
class _Lines:
    """Lines through `logging` or on standard error; the last one is always shown."""

    def __init__(self, name: str, total: int, delay: float, pause: float) -> None:
        self._name, self._total, self._pause = name, total, pause
        self._due = time.monotonic() + delay
        self._begun = delay == 0.0
        self._held_back: str | None = None

    def show(self, done: int, text: str) -> None:
        line = f"{self._name}: {done}/{self._total}  {text}"
        if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
            logger.info("%s", line)
        elif time.monotonic() >= self._due:
            self._print(line)
        else:
            self._held_back = line

    def _print(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)
        self._begun, self._held_back = True, None
        self._due = time.monotonic() + self._pause

    def close(self) -> None:
        if self._held_back is not None and self._begun:
            self._print(self._held_back)


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """A function that returns True once Ctrl-C has been pressed; a second one raises as usual.

    Only the main thread receives signals, and a program's own handler is left in place.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        global _last_interrupt  # the next call of `ask` must know
        nonlocal pressed
        at = time.monotonic()
        if at - _last_interrupt < _SECOND:
            raise KeyboardInterrupt
        _last_interrupt, pressed = at, True

    signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
