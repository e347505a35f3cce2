"""The ``bogrape`` command. It is no part of the package, which takes a second to load.

Ctrl-C during that second ends it at once. An exception would not do: it becomes a traceback, or
even an ImportError where it comes in the middle of loading a compiled module.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> int:
    """Load the package and run the command."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it may be ignored
    if ours:
        signal.signal(signal.SIGINT, _leave)
    from bogrape.cli import main as command

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command(prog_name="bogrape")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def _leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    os.write(2, b"interrupted\n")
    os._exit(130)
