"""A process that does tasks and can be killed at any moment: its outside, its inside, its messages.

``python -m`` looks for modules in the current directory first: a file ``random.py`` there would be
executed in place of the real one. So a process is started with ``-P`` and ``-s``, without the
current directory and the user's site. The other folders from which the parent imports come last on
its path, so that their modules are found but hide no others: rules next to a script, or packages in
the user's site. ``PYTHONPATH`` is respected as always. The package itself is the one the parent
runs, wherever it is. It is not a `multiprocessing` process: those import the user's script again,
which breaks scripts without a main guard.

A worker reports that a task has *begun*, once it is loaded, and then one of: it is *done*, with the
answer; it *raised* an exception; it ran *out of memory*; or something is *broken*, with an
explanation, because the task cannot be loaded or the answer cannot be sent. In between, a task may
*tell* what it finds. What a library prints goes to standard error, not between the messages.

Standard input closes when the parent ends, however it ends; then the worker ends too, in the middle
of a task if necessary. A stopped worker (``kill -STOP``) would not notice, so on Linux it is
continued then.

Messages are pickles, each preceded by a mark and its length. Classes and functions that no other
process can import, such as a rule that is defined in a script or a notebook, are sent by value with
`cloudpickle`; everything else goes by reference, as with `pickle`. A class that comes back from a
worker is the one that was sent, unchanged: `cloudpickle` would replace the user's methods by
copies.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol
from weakref import WeakSet

import cloudpickle

from ...errors import WorkerError
from ...machine import limit_memory

Tell = Callable[[object], None]
Task = Callable[[Tell], Any]  # done by a worker; it may tell what it finds

_HEADER = struct.Struct("<4sQ")
_MARK = b"bgrp"
_sent: WeakSet[type] = WeakSet()  # classes that this process has sent by value
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LAST_WORDS = 2000  # bytes of standard error that are kept
_ENDING = 2.0  # seconds a process may take to end after its pipe has closed
_PR_SET_PDEATHSIG = 1
_PACKAGE = __name__.partition(".")[0]
# SIGCONT does not harm a running process: Linux sends it when the *thread* that started this
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


class Job(Protocol):
    """A task that is an object with a time limit."""

    time_limit: float  # seconds

    def solve(self) -> Any:
        """The answer; runs in the worker."""


@dataclass(frozen=True)
class Solve:
    """A job as the task of a worker."""

    job: Job

    def __call__(self, tell: Tell) -> Any:  # noqa: ARG002
        return self.job.solve()


# -- the outside ---------------------------------------------------------------------------------


def command(module: str) -> list[str]:
    """The command that runs ``main()`` of a module of this package in a new process."""
    package = sys.modules[_PACKAGE].__file__
    assert package is not None
    heedless = ["-E"] if sys.flags.ignore_environment else []
    path = [str(Path(entry).absolute()) for entry in sys.path]  # "" is the current directory
    return [sys.executable, "-P", "-s", *heedless, "-c", _START, module, package, *path]


class Report(NamedTuple):
    """Messages of a worker about its task, or its death."""

    kind: Literal["begun", "told", "done", "raised", "out of memory", "broken", "died"]
    item: Any = None


@dataclass(frozen=True)
class Death:
    """Cause of the unexpected end of a process."""

    code: int | None
    last_words: str

    @property
    def by_signal(self) -> bool:
        """True if a signal ended it, from a user or the system."""
        return self.code is not None and self.code < 0

    def __str__(self) -> str:
        if self.code is None and self.last_words:
            return self.last_words
        if not self.by_signal:
            how = f"exit status {self.code}"
        elif -(self.code or 0) in set(signal.Signals):
            how = signal.Signals(-(self.code or 0)).name
        else:
            how = f"signal {-(self.code or 0)}"
        return f"{how}: {self.last_words}" if self.last_words else how


class AnyWorker(Protocol):
    """Does one task at a time, here or elsewhere."""

    has_begun: bool  # a task; until then it may still be starting

    def begin(self, task: Task, inbox: Inbox) -> None:
        """Hand over a task; each report about it is put on the queue together with the worker."""

    def kill(self) -> None:
        """End the task at once, if necessary by ending the worker."""

    def __hash__(self) -> int: ...


Inbox = queue.Queue[tuple[AnyWorker, Report]]


class Worker:
    """A process that does one task at a time.

    Args:
        limit_memory: whether its memory is limited to a worker's share (`bogrape.machine`).
        echo: whether its output is shown on the standard error of this process.
    """

    def __init__(self, *, limit_memory: bool = False, echo: bool = False) -> None:
        self._echo = echo
        self._owner = os.getpid()
        self.has_begun = False  # a task; until then it may still be starting
        try:
            self._process = subprocess.Popen(
                command(__name__),
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
        """True if the process still runs, and is ours (not a forked parent's)."""
        return self._owner == os.getpid() and self._process.poll() is None

    def begin(self, task: Task, inbox: Inbox) -> None:
        """Hand over a task; each report about it is put on the queue together with the worker.

        The last report says how it ended: one of ``done``, ``raised``, ``out of memory``,
        ``broken`` and ``died``.
        """
        data = packed_task(task)
        # in a thread: the only portable way to wait for a pipe
        threading.Thread(target=self._converse, args=(data, inbox), daemon=True).start()

    def _converse(self, data: bytes, inbox: Inbox) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            with contextlib.suppress(OSError):  # the process is gone: reading will show that
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
            text = f"its standard output holds something other than messages: {error}"
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


def packed_task(task: Task) -> bytes:
    """A task as bytes, or an error that says why it cannot be sent."""
    try:
        return packed(task)
    except Exception as error:
        raise WorkerError(
            "a worker process needs a copy of the space, its rules and the model, but one of "
            f"them cannot be sent there: {words(error)}; remove locks, open files and "
            "connections from them, or try method='search'"
        ) from error


def cannot_start(cause: object) -> WorkerError:
    """The error for a process that did not reach its first task."""
    return WorkerError(
        f"expected a worker process to start, got {cause}; try to import bogrape in "
        f"a new process of {sys.executable or 'Python'}, or method='search', which needs no workers"
    )


def broken(cause: str) -> WorkerError:
    """The error for a task that a worker cannot load, or an answer that it cannot send."""
    return WorkerError(
        f"expected a worker process to do its task, but {cause}; try to define rules and "
        "kernels in a module that every process can import, or method='search', which needs no "
        "workers"
    )


def _close(pipe: IO[bytes] | None) -> None:
    with contextlib.suppress(OSError):
        if pipe is not None:
            pipe.close()


# -- the inside ---------------------------------------------------------------------------------


def main() -> None:
    """Do tasks until standard input closes."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if unpacked(read(stdin)):
        limit_memory()
    tasks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(stdin, tasks), daemon=True).start()
    lock = threading.Lock()  # solvers send from their own threads

    def send(data: bytes) -> None:
        with lock:
            write(stdout, data)

    while True:
        send(_answer(tasks.get(), send))


def _listen(stdin: IO[bytes], tasks: queue.SimpleQueue[bytes | None]) -> None:
    while True:
        try:
            tasks.put(read(stdin))
        except MemoryError:  # the task is larger than this process may be
            tasks.put(None)
        except EOFError:
            os._exit(0)


def _answer(data: bytes | None, send: Callable[[bytes], None]) -> bytes:
    """Do a task and return the last message about it."""
    out_of_memory = packed(("out of memory", None))
    if data is None:
        return out_of_memory
    try:
        task: Task = unpacked(data)
    except MemoryError:
        return out_of_memory
    except BaseException as error:  # importing a module may raise anything
        return packed(("broken", f"its task cannot be loaded there: {words(error)}"))
    send(packed(("begun", None)))
    try:
        answer = task(lambda message: send(packed(("told", message))))
    except MemoryError:
        return out_of_memory
    except BaseException as error:
        return packed_error(error)
    try:
        return packed(("done", answer))
    except MemoryError:
        return out_of_memory
    except Exception as error:
        return packed(("broken", f"its answer cannot be sent back: {words(error)}"))


def packed_error(error: BaseException) -> bytes:
    """An exception, for the parent to raise."""
    in_words = packed(("broken", f"it failed there: {words(error)}"))
    if not isinstance(error, Exception):  # a task that calls `sys.exit` must not end the parent
        return in_words
    try:
        data = packed(("raised", error))
        unpacked(data)  # exceptions with custom arguments may not survive this
    except Exception:
        return in_words
    return data


def words(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:500]


# -- messages -----------------------------------------------------------------------------------


class Garbled(Exception):
    """The stream contained something other than a message."""


class _Packer(cloudpickle.CloudPickler):  # type: ignore[misc]
    """Remembers the classes that are sent by value."""

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if isinstance(obj, type) and reduced is not NotImplemented:
            _sent.add(obj)
        return reduced


class _Receiver(pickle.Unpickler):
    """Leaves classes unchanged that were sent from here."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if (module, name) != ("cloudpickle.cloudpickle", "_class_setstate"):
            return found
        return lambda kind, state: kind if kind in _sent else found(kind, state)


def packed(item: object) -> bytes:
    """An item as bytes."""
    out = io.BytesIO()
    _Packer(out, protocol=pickle.HIGHEST_PROTOCOL).dump(item)
    return out.getvalue()


def unpacked(data: bytes) -> Any:
    """An item from its bytes."""
    return pickle.loads(data)


def returned(data: bytes) -> Any:
    """An item that a worker has sent back."""
    return _Receiver(io.BytesIO(data)).load()


def write(stream: IO[bytes], data: bytes) -> None:
    """Send bytes as one message."""
    stream.write(_HEADER.pack(_MARK, len(data)))
    stream.write(data)
    stream.flush()


def read(stream: IO[bytes]) -> bytes:
    """The next message; raises `EOFError` if there is none."""
    header = stream.read(_HEADER.size)
    if not header:
        raise EOFError
    if header[: len(_MARK)] != _MARK:
        raise Garbled(repr((header + stream.read(60))[:60]))
    if len(header) < _HEADER.size:
        raise EOFError
    data = stream.read(_HEADER.unpack(header)[1])
    if len(data) < _HEADER.unpack(header)[1]:
        raise EOFError
    return data
