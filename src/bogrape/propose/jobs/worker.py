"""The inside of a worker: it does one task after another until its standard input closes.

Of every task it says that it has *begun*, once it could be loaded, and then one of: it is *done*,
with the answer; it *raised* an exception; it ran *out of memory*; or something is *broken*, with
words, because the task cannot be loaded or the answer cannot be sent. In between, a task may *tell*
what it finds.

Standard input closes when the parent ends, however it ends; then so does this process, in the midst
of a task if need be. What a library prints goes to standard error, not between the messages.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from ...machine import limit_memory
from .messages import packed, read, unpacked, write

Tell = Callable[[object], None]
Task = Callable[[Tell], Any]  # what a worker can be asked to do


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
