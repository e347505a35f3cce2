"""The other end of `runner`: one process, one solve.

It reads one job from standard input and writes messages to what was standard output; both are
pickles with their length in front. Standard output proper then goes nowhere, so that a solver
that prints cannot garble the answer. When standard input closes, the parent is gone and the
process ends, in the midst of a solve if need be.
"""

from __future__ import annotations

import importlib
import os
import pickle
import struct
import sys
import threading
import time
from dataclasses import replace
from typing import IO, Any

from .solution import Failure, Report, SolverFailed


def read_message(stream: IO[bytes]) -> Any:
    """The next message; EOFError when there is none."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (length,) = struct.unpack("<Q", head)
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return pickle.loads(body)


def write_message(stream: IO[bytes], message: object) -> None:
    """Send a message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(struct.pack("<Q", len(body)))
    stream.write(body)
    stream.flush()


def main() -> None:
    """Read a job, solve it, answer."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints from here on prints to the log
    source = sys.stdin.buffer
    adapter, program, limits, start, sent = read_message(source)
    late = min(max(0.0, time.time() - sent), limits.seconds)  # starting up took its share
    limits = replace(limits, seconds=limits.seconds - late)
    threading.Thread(target=_end_with_parent, args=(source,), daemon=True).start()
    lock = threading.Lock()

    def send(message: object) -> None:
        with lock:
            write_message(out, message)

    answer: object
    try:
        answer = importlib.import_module(adapter).solve(program, limits, start, Report(send))
    except SolverFailed as error:
        answer = error.failure
    except MemoryError:
        answer = Failure("memory", "the solver ran out of memory")
    except Exception as error:
        answer = Failure("failed", f"{type(error).__name__}: {error}")
    send(answer)
    out.close()
    os._exit(0)  # solvers that free a large tree on the way out can take seconds


def _end_with_parent(source: IO[bytes]) -> None:
    source.read()  # returns when the parent closes the pipe, or dies
    os._exit(1)
