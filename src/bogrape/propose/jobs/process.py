"""Processes that run a part of this package: how one starts, and a `Worker`, seen from outside.

``python -m`` looks for modules in the current directory first: a file ``random.py`` there would be
executed in place of the real one. So a process is started with ``-P`` and ``-s``, without the
current directory and the user's site. What else the parent can import comes last on its path, so
that it is found but stands in for nothing: rules of your own, next to a script, or packages in the
user's site. ``PYTHONPATH`` is heeded as always. The package itself is the one the parent runs,
wherever it lies.

It ends when its standard input closes, however its parent ends. One that somebody has stopped
(``kill -STOP``) would not notice: on Linux it is woken up then.

A `Worker` does tasks and can be killed at any moment. It is not a `multiprocessing` process: those
import the user's script again, which surprises scripts without a main guard.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from ...errors import WorkerError
from .worker import Garbled, Task, packed, read, returned, words, write

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LAST_WORDS = 2000  # bytes of standard error that are kept
_ENDING = 2.0  # seconds that a process whose pipe has closed may take to end
_PR_SET_PDEATHSIG = 1
_PACKAGE = __name__.partition(".")[0]
# SIGCONT does no harm to a process that runs: Linux sends it when the *thread* that started this
# process ends, which need not be the end of the parent.
_START = f"""
import sys
if sys.platform == "linux":
    import ctypes, signal
    ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, signal.SIGCONT)
import importlib.util
module, package, *path = sys.argv[1:]
sys.path += [entry for entry in path if entry not in sys.path]
spec = importlib.util.spec_from_file_location({_PACKAGE!r}, package)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
importlib.import_module(module).main()
"""


def command(module: str) -> list[str]:
    """The command that runs ``main()`` of a module of this package in a process of its own."""
    package = sys.modules[_PACKAGE].__file__
    assert package is not None
    heedless = ["-E"] if sys.flags.ignore_environment else []
    path = [str(Path(entry).absolute()) for entry in sys.path]  # "" is the current directory
    return [sys.executable, "-P", "-s", *heedless, "-c", _START, module, package, *path]


class Report(NamedTuple):
    """What a worker says of its task (`bogrape.propose.jobs.worker`), or that it has died."""

    kind: Literal["begun", "told", "done", "raised", "out of memory", "broken", "died"]
    item: Any = None


@dataclass(frozen=True)
class Death:
    """How a process ended that was not asked to."""

    code: int | None
    last_words: str

    @property
    def by_signal(self) -> bool:
        """Whether somebody, or the system, ended it."""
        return self.code is not None and self.code < 0

    def __str__(self) -> str:
        if not self.by_signal:
            how = f"exit status {self.code}"
        elif -(self.code or 0) in set(signal.Signals):
            how = signal.Signals(-(self.code or 0)).name
        else:
            how = f"signal {-(self.code or 0)}"
        return f"{how}: {self.last_words}" if self.last_words else how


Inbox = queue.Queue[tuple["Worker", Report]]


class Worker:
    """A process that does one task at a time.

    Args:
        limit_memory: whether it may take no more than a worker's share (`bogrape.machine`).
        echo: whether what it prints is shown on the standard error of this process.
    """

    def __init__(self, *, limit_memory: bool = False, echo: bool = False) -> None:
        self._echo = echo
        self._owner = os.getpid()
        self.has_begun = False  # some task: until then it may still be starting
        try:
            self._process = subprocess.Popen(
                command("bogrape.propose.jobs.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **dict.fromkeys(_THREADS, "1")},
                # Ctrl-C is for the parent, which then ends its workers
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError, TypeError) as error:
            raise cannot_start(words(error)) from error
        self._setup: bytes | None = packed(limit_memory)
        self._errors = b""
        self._listening = threading.Thread(target=self._listen_to_errors, daemon=True)
        self._listening.start()

    @property
    def alive(self) -> bool:
        """Whether the process still runs, and is ours (not a forked parent's)."""
        return self._owner == os.getpid() and self._process.poll() is None

    def begin(self, task: Task, inbox: Inbox) -> None:
        """Hand over a task; what the worker says of it is put on the queue, with the worker.

        The last report says how it ended: one of ``done``, ``raised``, ``out of memory``,
        ``broken`` and ``died``.
        """
        try:
            data = packed(task)
        except Exception as error:
            raise WorkerError(
                "expected what a worker process needs to be plain data and code, got something "
                f"that cannot be sent there: {words(error)}; try rules and the like without locks, "
                "open files or connections, or method='search'"
            ) from error
        # in a thread: pipes cannot be waited for in any other portable way
        threading.Thread(target=self._converse, args=(data, inbox), daemon=True).start()

    def _converse(self, data: bytes, inbox: Inbox) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            with contextlib.suppress(OSError):  # it is gone: reading tells
                if self._setup is not None:
                    write(stdin, self._setup)
                    self._setup = None
                write(stdin, data)
            while True:
                report = Report(*returned(read(stdout)))
                self.has_begun |= report.kind == "begun"
                inbox.put((self, report))
                if report.kind not in ("begun", "told"):
                    return
        except (EOFError, OSError, ValueError):  # the process has ended, or was killed
            inbox.put((self, Report("died", self._death())))
        except Garbled as error:
            text = f"its standard output holds something else than messages: {error}"
            inbox.put((self, Report("broken", text)))
        except Exception as error:
            text = f"what it sent cannot be read here: {words(error)}"
            inbox.put((self, Report("broken", text)))

    def _death(self) -> Death:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING)
        self._listening.join(_ENDING)
        tail = self._errors[-500:].decode(errors="replace").strip()
        return Death(self._process.poll(), tail)

    def _listen_to_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while text := stream.read1():  # type: ignore[attr-defined]
                self._errors = (self._errors + text)[-_LAST_WORDS:]
                if self._echo and self.has_begun:
                    os.write(2, text)

    def kill(self) -> None:
        """End the process at once."""
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                _close(pipe)


def cannot_start(cause: object) -> WorkerError:
    """The error for a process that did not get as far as its first task."""
    return WorkerError(
        f"expected a worker process to start, got {cause}; try whether "
        f"{sys.executable or 'Python'} can import bogrape in a new process, or method='search', "
        "which needs no workers"
    )


def broken(cause: str) -> WorkerError:
    """The error for a task that a worker cannot be given, or an answer that it cannot give."""
    return WorkerError(
        f"expected a worker process to do its task, but {cause}; try rules and the like from a "
        "module that every process can import, or method='search', which needs no workers"
    )


def _close(pipe: IO[bytes] | None) -> None:
    with contextlib.suppress(OSError):
        if pipe is not None:
            pipe.close()
