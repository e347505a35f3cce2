"""An objective that is a program: it reads the graph on standard input and prints a number."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from ..errors import InvalidInputError
from ..graph import Graph
from .parent import die_with_parent

if TYPE_CHECKING:
    import subprocess


class CommandError(RuntimeError):
    """The program failed, or printed no number."""


@final
@dataclass(frozen=True)
class CommandObjective:
    """Runs a program for each graph.

    Args:
        command: program and arguments; a text is split as a shell would, but no shell runs.
        encode: what to write to its standard input; the graph's JSON by default.
        time_limit: seconds before the program, and all it has started, is killed.
        directory: where it runs; where we are, by default.

    The last line the program prints must be a number; an exit code other than 0 is a failure.
    """

    command: str | Sequence[str]
    encode: Callable[[Graph], str] = Graph.to_json
    time_limit: float | None = None
    directory: str | None = None

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command) if isinstance(self.command, str) else self.command
        except ValueError as error:
            raise InvalidInputError(f"the command cannot be understood: {error}") from None
        if not words or not all(isinstance(word, str) for word in words):
            raise InvalidInputError(
                f"command must name a program and its arguments, got {self.command!r}"
            )
        object.__setattr__(self, "command", tuple(words))

    def __call__(self, graph: Graph) -> float:
        """The number the program prints for the graph."""
        import subprocess  # late: `import bogrape` need not pay for it

        try:
            process = subprocess.Popen(
                list(self.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                cwd=self.directory,
                start_new_session=self.time_limit is not None,
                preexec_fn=_before_start(),
            )
        except OSError as error:
            raise CommandError(f"cannot start {self.command[0]!r}: {error}") from None
        try:
            out, err = process.communicate(self.encode(graph) + "\n", timeout=self.time_limit)
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"{self.command[0]!r} was not finished after {self.time_limit:g} s"
            ) from None
        finally:
            _end(process, with_group=self.time_limit is not None)
        if process.returncode != 0:
            raise CommandError(
                f"{self.command[0]!r} ended with code {process.returncode}: {_last_line(err)}"
            )
        last = _last_line(out)
        try:
            return float(last)
        except ValueError:
            raise CommandError(
                f"the last line {self.command[0]!r} prints must be a number, got {last!r}"
            ) from None


def _before_start() -> Callable[[], None] | None:
    """What to do in the new process. Nothing where threads make doing anything there unsafe."""
    import threading

    linux = sys.platform == "linux"
    return die_with_parent if linux and threading.active_count() == 1 else None


def _end(process: subprocess.Popen[str], *, with_group: bool) -> None:
    """Kill the program; with all it has started if it leads a group.

    Without a time limit it stays in our group, so that whoever kills us ends it too.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if with_group and hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing)"
