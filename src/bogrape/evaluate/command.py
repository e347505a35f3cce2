"""An external program as objective: it reads a graph on standard input and prints a number.

The program runs under a supervisor (`bogrape.evaluate.supervisor`) in a session of its own, so that
it is killed, with all its child processes, at its time limit and when this process ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from ..errors import EvaluationNotStarted, InvalidInputError
from ..graph import Graph
from ..study.values import Measurement
from . import supervisor

if TYPE_CHECKING:
    import subprocess

_NOT_FOUND = (126, 127)  # exit codes of shells, env, timeout, ...: not executable, not found
_MOST_JSON = 100_000  # characters of a line of properties
_ENDING = 2.0  # seconds a supervisor may take to kill what it supervises


class CommandError(RuntimeError):
    """The program failed, or did not print a number."""


@final
@dataclass(frozen=True)
class CommandObjective:
    """Runs a program for each graph.

    Args:
        command: program and arguments; a string is split as in a shell, but no shell is run.
        encode: function that gives the text for its standard input; by default the graph's JSON.
        time_limit: seconds after which the program and its child processes are killed.
        directory: working directory of the program; by default the current one.

    The last line the program prints must be a number, or two: the value and its noise variance. For
    several properties it is a JSON object of their values, e.g. ``{"qed": 0.8, "sa": 2.1}``, or of
    values and variances, ``{"qed": [0.8, 0.01], "sa": 2.1}``. An exit code other than 0 is a
    failure.
    """

    command: str | Sequence[str]
    encode: Callable[[Graph], str] = Graph.to_json
    time_limit: float | None = None
    directory: str | None = None

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command) if isinstance(self.command, str) else self.command
        except ValueError as error:
            raise InvalidInputError(f"the command cannot be parsed: {error}") from None
        if not words or not all(isinstance(word, str) for word in words):
            raise InvalidInputError(
                f"command must name a program and its arguments, got {self.command!r}"
            )
        object.__setattr__(self, "command", tuple(words))

    def __call__(self, graph: Graph) -> float | Measurement | dict[str, Any]:
        """Output of the program for the graph: a value, with its noise, or several by name."""
        import subprocess  # late: keeps `import bogrape` quick

        process, report = self._start()
        try:
            out, err = process.communicate(self.encode(graph) + "\n", timeout=self.time_limit)
            trouble = _read_now(report)
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"{self.command[0]!r} was not finished after {self.time_limit:g} s"
            ) from None
        finally:
            _end(process)
            os.close(report)
        if trouble:
            raise EvaluationNotStarted(f"cannot start {self.command[0]!r}: {trouble}")
        if process.returncode in _NOT_FOUND:
            raise EvaluationNotStarted(
                f"{self.command[0]!r} ended with code {process.returncode}, which means that a "
                f"program was not found or is not executable: {_last_line(err)}"
            )
        if process.returncode != 0:
            raise CommandError(
                f"{self.command[0]!r} ended with code {process.returncode}: {_last_line(err)}"
            )
        last = _last_line(out)
        if last.startswith("{"):
            return self._several(last)
        try:
            value, *noise = map(float, last.split(maxsplit=2))
            return Measurement(value, *noise) if noise else value
        except (ValueError, TypeError):  # no numbers, or more than two
            raise CommandError(
                f"the last line printed by {self.command[0]!r} must be a number, or a value and "
                f"its noise variance, got {last!r}"
            ) from None

    def _several(self, line: str) -> dict[str, Any]:
        """The properties of a JSON object; a pair is a value and its noise variance."""
        try:
            data = json.loads(line)
            return {
                name: Measurement(*found) if isinstance(found, list) else found
                for name, found in data.items()
            }
        except (ValueError, TypeError, RecursionError) as error:
            raise CommandError(
                f"the last line printed by {self.command[0]!r} must be a JSON object of values, or "
                f"of values and noise variances, by property; got {line!r:.200} ({error})"
            ) from None

    def _start(self) -> tuple[subprocess.Popen[str], int]:
        """Start the program; also returns a descriptor from which start errors can be read."""
        import subprocess

        report, writer = os.pipe()
        words = list(self.command)
        inherited: tuple[int, ...] = ()
        if os.name == "posix":
            watcher = [sys.executable, "-I", "-S", supervisor.__file__]
            words, inherited = [*watcher, str(os.getpid()), str(writer), *words], (writer,)
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                cwd=self.directory,
                start_new_session=True,
                pass_fds=inherited,
            )
        except OSError as error:
            os.close(report)
            raise EvaluationNotStarted(f"cannot start {self.command[0]!r}: {error}") from None
        finally:
            os.close(writer)
        return process, report


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the program and its child processes, and release resources."""
    import subprocess

    if process.poll() is None:
        process.terminate()  # the supervisor then kills what it supervises
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING)
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _read_now(descriptor: int) -> str:
    """The available output, without waiting for more."""
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 1000).decode(errors="replace")
    except BlockingIOError:  # a process forked by another thread holds the other end
        return ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "(nothing)"
    return lines[-1][: 300 if lines[-1][0] != "{" else _MOST_JSON]
