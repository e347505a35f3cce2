"""Rows from the raw pages of a SQLite file, even if its structure is damaged.

SQLite finds a row through other pages: the schema, inner nodes, indexes. Where one of these is
damaged, SQLite cannot reach rows behind it, although they are intact. Here every page is read as a
possible leaf of a table (https://www.sqlite.org/fileformat2.html), and everything on it that can be
decoded is returned; the caller verifies by checksums which of it are rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

_DEFAULT_SIZE = 4096
_LONGEST = 17_000_000  # bytes of a row that could be one of ours
_WHOLE = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of an integer by its serial type
_WAL_HEADER, _FRAME_HEADER = 32, 24  # bytes
_WAL_MAGIC = (0x377F0682, 0x377F0683)


def pages_of(content: bytes, log: bytes = b"") -> tuple[int, list[Mapping[int, bytes]]]:
    """The size of a page, and the pages by number: as in the file, and as changed by its log."""
    size = int.from_bytes(content[16:18], "big")
    size = 65536 if size == 1 else size
    if size < 512 or size > 65536 or size & (size - 1):
        size = _DEFAULT_SIZE
    plain = {1 + i // size: content[i : i + size] for i in range(0, len(content), size)}
    if int.from_bytes(log[:4], "big") not in _WAL_MAGIC:
        return size, [plain]
    changed = dict(plain)
    for i in range(_WAL_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        number = int.from_bytes(log[i : i + 4], "big")
        changed[number] = log[i + _FRAME_HEADER : i + _FRAME_HEADER + size]
    return size, [plain, changed]


def records(size: int, pages: Mapping[int, bytes]) -> Iterator[tuple[int, list[Any]]]:
    """Row number and values of everything that looks like a row of a table."""
    for number, page in pages.items():
        start = 100 if number == 1 else 0
        if len(page) < start + 8:
            continue
        n_cells = min(int.from_bytes(page[start + 3 : start + 5], "big"), size // 4)
        for i in range(n_cells):
            at = start + 8 + 2 * i
            cell = int.from_bytes(page[at : at + 2], "big")
            try:
                length, cell = _varint(page, cell)
                row, cell = _varint(page, cell)
                yield row, _values(_payload(page, cell, length, size, pages))
            except (IndexError, KeyError, ValueError, struct.error):
                continue  # not a row


def _payload(page: bytes, start: int, length: int, size: int, pages: Mapping[int, bytes]) -> bytes:
    """The bytes of a row, of which all but the first may be on a chain of other pages."""
    if not 0 < length <= _LONGEST:
        raise ValueError("not a row of this package")
    most = size - 35
    if length <= most:
        return page[start : start + length]
    least = (size - 12) * 32 // 255 - 23
    local = least + (length - least) % (size - 4)
    local = local if local <= most else least
    parts = [page[start : start + local]]
    left = length - local
    following = int.from_bytes(page[start + local : start + local + 4], "big")
    while left > 0:
        overflow = pages[following]
        parts.append(overflow[4 : 4 + left])
        left -= size - 4
        following = int.from_bytes(overflow[:4], "big")
    return b"".join(parts)


def _values(record: bytes) -> list[Any]:
    end, at = _varint(record, 0)
    kinds = []
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    out = []
    for kind in kinds:
        value, at = _value(record, at, kind)
        out.append(value)
    if at > len(record):
        raise ValueError("the row is cut off")
    return out


def _value(record: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, at
    if kind in _WHOLE:
        end = at + _WHOLE[kind]
        return int.from_bytes(record[at:end], "big", signed=True), end
    if kind == 7:
        return struct.unpack(">d", record[at : at + 8])[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    if kind < 12:
        raise ValueError("no such kind of value")
    end = at + (kind - 12) // 2
    raw = record[at:end]
    return (raw.decode("utf-8") if kind % 2 else raw), end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for i in range(8):
        byte = data[at + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return value << 8 | data[at + 8], at + 9
