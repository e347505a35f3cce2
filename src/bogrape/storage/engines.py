"""Connections: what is particular to SQLite and to PostgreSQL.

SQLite writes ahead into a log (``journal=wal``): one flush of the disk a transaction. The log needs
memory shared by all processes, so on the file systems of clusters, which other machines may use at
the same time, the slower rollback journal (``journal=delete``) is taken. Either way a committed
transaction survives a killed process and a power cut. Tables are made under the rollback journal,
so that the mark of our files (``application_id``) is in the file itself.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from ..errors import InvalidInputError, StorageError
from .schema import APPLICATION_ID

BUSY_SECONDS = 60.0  # how long to wait for other processes
WRITE = "bogrape_write"  # execution option of transactions that will write
JOURNAL = "bogrape_journal"  # execution option: the journal a SQLite file should have
JOURNALS = ("wal", "delete")
_LOCAL_KINDS = {"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
logger = logging.getLogger(__name__)
_MAGIC = b"SQLite format 3\x00"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_LOCK_NUMBER = 0x626F4772  # of PostgreSQL's advisory lock while tables are made


def make_engine(url: str, *, create: bool = True) -> Engine:
    """An engine for ``sqlite:///path`` or ``postgresql://…``."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise _bad_url(url) from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return _sqlite(parsed, create)
    if backend in ("postgresql", "postgres"):
        return _postgresql(parsed)
    raise _bad_url(url)


def _bad_url(url: str) -> InvalidInputError:
    return InvalidInputError(
        "storage must be a URL such as sqlite:///study.db or postgresql://user@host/database, "
        f"got {url.split('://')[0][:60]!r}"  # the rest may hold a password
    )


def _sqlite(url: URL, create: bool) -> Engine:
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise InvalidInputError(
            "a SQLite storage needs the path of a file, as in sqlite:///study.db; for a study in "
            "memory use storage=None"
        )
    path = Path(url.database)
    wanted = url.query.get("journal") or ("delete" if _is_shared(path) else "wal")
    if wanted not in JOURNALS or set(url.query) - {"journal"}:
        raise InvalidInputError(
            f"a SQLite storage takes no option but journal={' or '.join(JOURNALS)}, as in "
            f"sqlite:///study.db?journal=delete; got {dict(url.query)}"
        )
    if not create and not path.exists():
        raise StorageError(f"there is no storage {str(path)!r}; check its path")
    _inspect_file(path)

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA synchronous = {'FULL' if wanted == 'wal' else 'EXTRA'}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, execution_options={JOURNAL: wanted}
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        write = connection.get_execution_options().get(WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def set_journal(engine: Engine) -> None:
    """Switch a SQLite file that has its tables to the journal it should have."""
    if engine.dialect.name != "sqlite":
        return
    wanted = engine.get_execution_options()[JOURNAL]
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != wanted:
            cursor.execute(f"PRAGMA journal_mode = {wanted}")
    except sqlite3.OperationalError as error:
        # Another process is using the file. Both journals are safe; the next opening may switch.
        logger.debug("the journal of the storage stays as it is: %s", error)
    finally:
        connection.close()


def _is_shared(path: Path) -> bool:
    """Whether other machines may use the file system of the path, as far as can be told."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        place = path.parent.resolve()
    except OSError:
        return False  # not Linux
    kinds = {}
    for line in mounts.splitlines():
        _, point, kind, *_ = line.split(" ")
        kinds[Path(point.replace("\\040", " "))] = kind
    mount = next((part for part in (place, *place.parents) if part in kinds), None)
    return mount is not None and kinds[mount] not in _LOCAL_KINDS


def _inspect_file(path: Path) -> None:
    """Look at the file before SQLite does, so that nothing foreign is ever written to."""
    if not path.parent.is_dir():
        raise StorageError(f"the directory {str(path.parent)!r} of the storage does not exist")
    if not path.exists():
        return
    if not path.is_file():
        raise StorageError(f"the storage {str(path)!r} is not a file")
    _recover(path)
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StorageError(f"the storage {str(path)!r} cannot be read: {error}") from None
    if not header:
        return  # just made, or its making was cut off
    if not header.startswith(_MAGIC) or len(header) < 100:
        raise StorageError(
            f"{str(path)!r} is not a SQLite database, or is damaged; it was not changed: give "
            "another path, or restore it from a copy"
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StorageError(
            f"{str(path)!r} is the SQLite database of another program; it was not changed: give "
            "another path"
        )


def _recover(path: Path) -> None:
    """Let SQLite roll back what a killed process left behind, before we look at the file."""
    journal = path.with_name(path.name + "-journal")
    try:
        with journal.open("rb") as file:
            if file.read(8) != _JOURNAL_MAGIC:
                return
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        finally:
            connection.close()
    except FileNotFoundError:
        return
    except (OSError, sqlite3.Error) as error:
        raise StorageError(
            f"an interrupted change of {str(path)!r} cannot be rolled back: {error}"
        ) from None


def _postgresql(url: URL) -> Engine:
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    try:
        return create_engine(url, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise StorageError(
            f"PostgreSQL needs the package {error.name!r}; try pip install 'bogrape[postgresql]'"
        ) from None


def check_health(connection: Connection) -> None:
    """Raise if SQLite finds its file damaged; PostgreSQL looks after itself."""
    if connection.dialect.name != "sqlite":
        return
    words: Any = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if words != "ok":
        raise StorageError(
            f"the database is damaged ({str(words)[:200]}); it was not changed: restore it from a "
            "copy"
        )


def prepare(connection: Connection) -> None:
    """First thing in the transaction that makes or migrates the tables."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    else:
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _LOCK_NUMBER})
