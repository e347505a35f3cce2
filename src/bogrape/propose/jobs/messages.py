"""What goes between a process and its workers: pickles, each with a mark and its length in front.

`cloudpickle` sends classes and functions that no other process can import by value: a rule that is
defined in a script or a notebook. Everything else goes by reference, as with `pickle`. A class that
comes back from a worker is the one that was sent, left as it is: `cloudpickle` would put copies of
its methods in place of the user's own.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import IO, Any
from weakref import WeakSet

import cloudpickle

_HEADER = struct.Struct("<4sQ")
_MARK = b"bgrp"


_sent: WeakSet[type] = WeakSet()  # classes that this process has sent by value


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
