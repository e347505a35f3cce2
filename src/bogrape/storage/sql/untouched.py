"""Reading SQLite files without changing anything.

SQLite itself rolls back the unfinished changes of a killed process, creates side files for its
write-ahead log, and deletes logs it considers outdated. A file that may be damaged, or that is in a
read-only place, is therefore opened in one of three ways:

* with a write-ahead log that no process has left open, as an immutable file;
* with changes in a side file that only a writer could take up, as a copy in a temporary folder;
* otherwise read-only, with the usual locks.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any, final

from ...errors import StorageError
from .schema import APPLICATION_ID

BUSY_SECONDS = 60.0  # to wait for other processes
LONGEST = 17_000_000  # bytes of one row; SQLite refuses longer ones before it reads them
SIDE_FILES = ("-wal", "-shm", "-journal")
REMEDY = "restore it from a copy, or save what can be read with 'bogrape rescue'"
# Errors of Python's sqlite3 for damaged files. It decodes names and messages from the file.
UNREADABLE = (sqlite3.Error, UnicodeError, MemoryError)
_NOT_DAMAGE = (
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_INTERRUPT),
)
_MAGIC = b"SQLite format 3\x00"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_HEADER = 100  # bytes


def side_file(path: Path, end: str) -> Path:
    """``study.db-wal`` beside ``study.db``."""
    return path.with_name(path.name + end)


def is_writable(path: Path) -> bool:
    """True if SQLite could change the file: it needs to make files beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def stamp(path: Path) -> tuple[object, ...]:
    """A value that changes whenever another process changes the file or its log."""
    found = []
    for part in (path, *(side_file(path, end) for end in SIDE_FILES)):
        try:
            known = part.stat()
            found.append((known.st_mtime_ns, known.st_size, known.st_ino))
        except OSError:
            found.append((0, -1, 0))
    return tuple(found)


def connect_untouched(path: Path) -> sqlite3.Connection | None:
    """A connection that reads the file and changes nothing; ``None`` if the file is empty.

    Raises:
        StorageError: it is not a file of this package, or its side files do not match.
    """
    try:
        if _needs_copy(path):
            return _connect_copy(path)
        if not check_header(path):
            _refuse_log_without_file(path)
            return None
        how = "immutable=1" if _has_closed_log(path) else "mode=ro"
        return _connect(path, how)
    except OSError as error:
        raise StorageError(f"the storage {str(path)!r} cannot be read: {error}") from None
    except UNREADABLE as error:
        raise unreadable(f"the storage {str(path)!r}", error) from None


def unreadable(what: str, error: BaseException) -> StorageError:
    """The error for a file that cannot be read, although it may be intact."""
    # The low byte is the kind of error; the others are details.
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_DAMAGE:
        return StorageError(
            f"{what} cannot be read now ({str(error)[:200]}); another process may hold it, or the "
            "disk does not answer: try again"
        )
    return damaged(what, error)


def damaged(what: str, why: object) -> StorageError:
    """The error for a damaged file."""
    words = " ".join(str(why).split())[:300]
    return StorageError(f"{what} is damaged ({words}); it was not changed: {REMEDY}")


def check_header(path: Path, copy: Path | None = None) -> bool:
    """True if the file, or its copy, has content; files of other programs are refused."""
    with (copy or path).open("rb") as file:
        header = file.read(_HEADER)
    if not header:
        return False
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        raise StorageError(
            f"{str(path)!r} is not a SQLite database, or is damaged; it was not changed: give "
            f"another path, or {REMEDY}"
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StorageError(
            f"{str(path)!r} is the SQLite database of another program; it was not changed: give "
            "another path"
        )
    if header[18:20] not in (b"\1\1", b"\2\2"):  # else SQLite would read, and never write
        raise damaged(f"the header of {str(path)!r}", f"journal {header[18:20].hex()}")
    return True


def _has_closed_log(path: Path) -> bool:
    """True if the file uses a write-ahead log, and has none at the moment."""
    with path.open("rb") as file:
        is_wal = file.read(20)[19] == 2
    return is_wal and _size(side_file(path, "-wal")) <= 0


def _needs_copy(path: Path) -> bool:
    """True if a side file holds changes that only a writer could take up."""
    if _size(side_file(path, "-wal")) > 0:
        return not side_file(path, "-shm").exists() and _size(path) > 0
    try:
        with side_file(path, "-journal").open("rb") as file:
            if file.read(8) != _JOURNAL_MAGIC:
                return False
    except FileNotFoundError:
        return False
    try:  # a running process may be changing the file: then it can be read as usual
        _connect(path, "mode=ro").close()
    except sqlite3.OperationalError as error:
        return "locked" not in str(error)
    except sqlite3.DatabaseError:
        return True
    return False


def _refuse_log_without_file(path: Path) -> None:
    if _size(side_file(path, "-wal")) > 0:  # SQLite would delete the log
        raise StorageError(
            f"{str(path)!r} is empty while its log {path.name + '-wal'!r} is not; nothing was "
            "changed: restore the file from a copy"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _connect(path: Path, how: str, factory: Any = sqlite3.Connection) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=factory,
    )
    try:
        limit_length(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def limit_length(connection: sqlite3.Connection) -> None:
    """Rows of absurd length are errors, not gigabytes of memory."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)


@final
class _Copy(sqlite3.Connection):
    """A connection to a copy, which is deleted when the connection is closed."""

    folder: str | None = None

    def close(self) -> None:
        super().close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def copy_with_side_files(path: Path, folder: Path) -> Path:
    """Copy the file with its log or journal, but without the index of the log."""
    for end in ("", "-wal", "-journal"):
        part = side_file(path, end)
        if end == "" or part.exists():
            shutil.copyfile(part, folder / (path.name + end))
    return folder / path.name


def _connect_copy(path: Path) -> sqlite3.Connection | None:
    folder = tempfile.mkdtemp(prefix="bogrape-")
    try:
        copy = copy_with_side_files(path, Path(folder))
        if _size(side_file(copy, "-journal")) > 0:  # roll back, then look at the header
            _connect(copy, "mode=rw").close()
        if not check_header(path, copy):
            shutil.rmtree(folder, ignore_errors=True)
            return None
        connection = _connect(copy, "mode=rw", _Copy)
        assert isinstance(connection, _Copy)
        connection.folder = folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return connection
