"""CSV files, plain or gzipped: chosen columns, row by row, with errors that name file and line."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path

from ..errors import InvalidInputError

_LARGEST_FILE = 2_000_000_000  # bytes, unpacked


def file_bytes(path: Path) -> bytes:
    """The content of a data file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"the data file {str(path)!r} cannot be read: {error}") from None


def table(name: str, raw: bytes, columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each row: its position, for messages, and its cells in the given columns."""
    try:
        packed = raw[:2] == b"\x1f\x8b"
        plain = gzip.GzipFile(fileobj=io.BytesIO(raw)).read(_LARGEST_FILE) if packed else raw
        reader = csv.DictReader(io.StringIO(plain.decode("utf-8")))
        found = reader.fieldnames or []
        missing = [column for column in columns if column not in found]
        if missing:
            raise InvalidInputError(
                f"{name!r}: expected the columns {' and '.join(columns)}, got "
                f"{', '.join(found)[:200]!r} without {' and '.join(missing)}"
            )
        line = 1
        for line, row in enumerate(reader, start=2):
            yield f"{name!r}, line {line}", [(row[c] or "").strip() for c in columns]
    except (UnicodeDecodeError, csv.Error, EOFError, OSError) as error:
        raise InvalidInputError(f"{name!r} is not a CSV file: {error}") from None
    if line == 1:
        raise InvalidInputError(f"{name!r}: expected rows below the header, got none")


def number(cell: str, where: str, column: str) -> float:
    """The finite number in a cell."""
    try:
        out = float(cell)
    except ValueError:
        out = float("nan")
    if not isfinite(out):
        raise InvalidInputError(f"{where}: expected a number in {column}, got {cell!r:.60}")
    return out
