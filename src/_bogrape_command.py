"""The ``bogrape`` command. It is no part of the package, which takes a second to load.

Ctrl-C during that second must not end in a traceback.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Load the package and run the command."""
    try:
        from bogrape.cli import main as command

        command(prog_name="bogrape")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0
