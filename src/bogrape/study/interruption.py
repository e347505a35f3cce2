"""Ctrl-C while a proposal is being made: the first one asks for the best so far.

Somebody who waits for a proof and presses Ctrl-C mostly wants what has been found, so the first
one ends the proof and not the program. A second one within a few seconds means what it always
means, so a loop around ``ask`` can still be stopped.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SECOND = 3.0  # seconds within which a second Ctrl-C is meant for the program
_last = -_SECOND  # when the first one came


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """A function that tells whether Ctrl-C has been pressed; a second one raises as usual.

    Only the main thread receives signals, and a program with its own handler keeps it.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        global _last  # the next call of `ask` must know
        nonlocal pressed
        now = time.monotonic()
        if now - _last < _SECOND:
            raise KeyboardInterrupt
        _last, pressed = now, True

    signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
