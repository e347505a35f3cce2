"""The ``bogrape`` command. It is no part of the package, which takes a second to load.

Ctrl-C during that second ends it at once. An exception would not do: it becomes a traceback, or
even an ImportError where it comes in the middle of loading a compiled module. The same holds while
the interpreter ends; its very last steps, when the handlers of signals are gone, ignore Ctrl-C.
In between, `bogrape.cli.errors.explained` lets Ctrl-C raise KeyboardInterrupt.
"""

from __future__ import annotations

import atexit
import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> int:
    """Load the package and run the command."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it may be ignored
    if ours:
        # registered first, so called last
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGINT, _leave)
    from bogrape.cli import main as command

    command(prog_name="bogrape")
    return 0


def _leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    os.write(2, b"interrupted\n")
    os._exit(130)
