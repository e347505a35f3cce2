"""The inside of a worker, which does one task after another, and the messages it understands.

Of every task it says that it has *begun*, once it could be loaded, and then one of: it is *done*,
with the answer; it *raised* an exception; it ran *out of memory*; or something is *broken*, with
words, because the task cannot be loaded or the answer cannot be sent. In between, a task may *tell*
what it finds.

Standard input closes when the parent ends, however it ends; then so does this process, in the midst
of a task if need be. What a library prints goes to standard error, not between the messages.

Messages are pickles, each with a mark and its length in front. `cloudpickle` sends classes and
functions that no other process can import by value: a rule that is defined in a script or a
notebook. Everything else goes by reference, as with `pickle`. A class that comes back from a worker
is the one that was sent, left as it is: `cloudpickle` would put copies of its methods in place of
the user's own.
"""

from __future__ import annotations

import io
import os
import pickle
import queue
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Protocol
from weakref import WeakSet

import cloudpickle

from ...machine import limit_memory

Tell = Callable[[object], None]
Task = Callable[[Tell], Any]  # what a worker can be asked to do

_HEADER = struct.Struct("<4sQ")
_MARK = b"bgrp"
_sent: WeakSet[type] = WeakSet()  # classes that this process has sent by value


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


# -- the inside ---------------------------------------------------------------------------------


def main() -> None:
    """Do tasks until standard input closes."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if unpacked(read(stdin)):
        limit_memory()
    tasks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(stdin, tasks), daemon=True).start()
    lock = threading.Lock()  # solvers tell from threads of their own

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
    """Do a task; the last message about it."""
    out_of_memory = packed(("out of memory", None))
    if data is None:
        return out_of_memory
    try:
        task: Task = unpacked(data)
    except MemoryError:
        return out_of_memory
    except BaseException as error:  # whatever a module does when it is imported
        return packed(("broken", f"its task cannot be loaded there: {words(error)}"))
    send(packed(("begun", None)))
    try:
        answer = task(lambda message: send(packed(("told", message))))
    except MemoryError:
        return out_of_memory
    except BaseException as error:
        return _raised(error)
    try:
        return packed(("done", answer))
    except MemoryError:
        return out_of_memory
    except Exception as error:
        return packed(("broken", f"its answer cannot be sent back: {words(error)}"))


def _raised(error: BaseException) -> bytes:
    """An exception, for the parent to raise."""
    in_words = packed(("broken", f"it failed there: {words(error)}"))
    if not isinstance(error, Exception):  # a task that calls `sys.exit` must not end the parent
        return in_words
    try:
        data = packed(("raised", error))
        unpacked(data)  # exceptions with arguments of their own may not survive it
    except Exception:
        return in_words
    return data


def words(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:500]


# -- messages -----------------------------------------------------------------------------------


class Garbled(Exception):
    """Something else than a message was in the stream."""


class _Packer(cloudpickle.CloudPickler):  # type: ignore[misc]
    """Remembers the classes that go by value."""

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if isinstance(obj, type) and reduced is not NotImplemented:
            _sent.add(obj)
        return reduced


class _Receiver(pickle.Unpickler):
    """Leaves the classes alone that were sent from here."""

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
    """The item again."""
    return pickle.loads(data)


def returned(data: bytes) -> Any:
    """An item that a worker has sent back."""
    return _Receiver(io.BytesIO(data)).load()


def write(stream: IO[bytes], data: bytes) -> None:
    """Send bytes."""
    stream.write(_HEADER.pack(_MARK, len(data)))
    stream.write(data)
    stream.flush()


def read(stream: IO[bytes]) -> bytes:
    """The next bytes sent; `EOFError` when there are none."""
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
