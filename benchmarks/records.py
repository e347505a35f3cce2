"""Results as JSON lines: one line per finished replication, written completely or not at all.

A run that is stopped loses only the replications in progress: those in the file are skipped next
time. An incomplete last line (written while the machine went down) is ignored. Numbers are rounded
to eight digits, so that the files stay small enough to be kept.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, final

import bogrape
from bogrape.errors import InvalidInputError

from .checkout import ROOT

Record = dict[str, Any]
Key = tuple[str, str, int]

_DIGITS = 8
_PACKAGES = ("bogrape", "numpy", "scipy", "ortools", "grakel")


def key(record: Record) -> Key:
    """Key of the lines of a file: problem, method and seed."""
    return record["problem"], record["method"], record["seed"]


def read(path: Path) -> list[Record]:
    """The records of a file, in the order they were written; an empty list if there is no file.

    A line that is not JSON is refused; an incomplete last line is ignored.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    records = []
    for number, line in enumerate(lines[:-1], 1):  # text after the last newline is torn
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise InvalidInputError(
                f"line {number} of {str(path)!r} is not JSON ({error}); remove it to go on"
            ) from None
    return records


@final
class RecordFile:
    """A file of records that one run appends to."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.records = read(path)

    def append(self, record: Record) -> None:
        """Add a line, in a single write."""
        line = json.dumps(rounded(record), separators=(",", ":"), allow_nan=False) + "\n"
        os.write(self._descriptor, line.encode())
        self.records.append(json.loads(line))


@contextlib.contextmanager
def appending(path: Path) -> Iterator[RecordFile]:
    """Open a file of records for one run; a second run on the same file is refused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        _lock(descriptor, path)
        _cut_torn_line(descriptor)
        yield RecordFile(path, descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: two runs on one file are not prevented there
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InvalidInputError(
            f"another run is writing to {str(path)!r}; wait for it, or give another --out"
        ) from None


def _cut_torn_line(descriptor: int) -> None:
    """Remove any text after the last newline."""
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, 0, os.SEEK_SET)
    data = b""
    while len(data) < size and (part := os.read(descriptor, size - len(data))):
        data += part
    os.ftruncate(descriptor, data.rfind(b"\n") + 1)


def rounded(item: Any) -> Any:
    """Copy with floats rounded to eight digits; those that are not finite become ``None``."""
    if isinstance(item, float):
        return float(f"{item:.{_DIGITS}g}") if math.isfinite(item) else None
    if isinstance(item, dict):
        return {name: rounded(value) for name, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [rounded(value) for value in item]
    return item


# -- where results come from ------------------------------------------------------------------


def provenance() -> Record:
    """Versions, commit (where there is one) and size of the machine."""
    return {"versions": versions(), "commit": commit(), "machine": machine()}


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages results depend on."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


@cache
def commit() -> str | None:
    """The commit of this code, with a plus if it has been changed since; ``None`` if unknown.

    Outside of git it is what the environment variable ``BENCHMARKS_COMMIT`` says: for copies of a
    checkout on machines without its history. It is unknown if ``bogrape`` was not imported from
    this checkout.
    """
    package = Path(bogrape.__file__).resolve()
    if not package.is_relative_to(ROOT):
        return None
    head = _git("rev-parse", "--short=10", "HEAD")
    if head is None or _git("ls-files", "--error-unmatch", __file__, str(package)) is None:
        # no repository, or one that only contains this copy
        return os.environ.get("BENCHMARKS_COMMIT") or None
    return head + ("+" if _git("status", "--porcelain", "--", "src", "benchmarks") else "")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine() -> dict[str, float]:
    """Number of cores, current load average, and gigabytes of memory."""
    found: dict[str, float] = {"cores": os.cpu_count() or 1}
    with contextlib.suppress(OSError, AttributeError):
        found["load"] = round(os.getloadavg()[0], 1)
    with contextlib.suppress(ValueError, OSError, AttributeError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        found["memory_gb"] = round(size / 2**30, 1)
    return found


def conflicts(records: Sequence[Record], key: Key, settings: Record) -> list[str]:
    """Names of the settings in which the recorded result of this key differs from ``settings``."""
    for record in records:
        if (record["problem"], record["method"], record["seed"]) == key:
            wanted = rounded(settings)
            return [name for name in wanted if record.get(name) != wanted[name]]
    return []
