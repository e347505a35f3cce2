"""What goes between a process and its workers: pickles, each with a mark and its length in front.

`cloudpickle` sends classes and functions that no other process can import by value: a rule that is
defined in a script or a notebook. Everything else goes by reference, as with `pickle`.
"""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

import cloudpickle

_HEADER = struct.Struct("<4sQ")
_MARK = b"bgrp"


class Garbled(Exception):
    """Something else than a message was in the stream."""


def packed(item: object) -> bytes:
    """An item as bytes."""
    return bytes(cloudpickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL))


def unpacked(data: bytes) -> Any:
    """The item again."""
    return pickle.loads(data)


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
