"""Connections to SQLite and PostgreSQL.

SQLite uses a write-ahead log (``journal=wal``): one disk flush per transaction. The log needs
memory shared by all processes, so on the file systems of clusters, which several machines may use
at the same time, the slower rollback journal (``journal=delete``) is used. Either way a committed
transaction survives a killed process and a power cut. Tables are created with the rollback journal,
so that the mark of our files (``application_id``) is in the file itself.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, QueuePool

from ...errors import InvalidInputError, StorageError
from .integrity import check_file
from .schema import APPLICATION_ID
from .untouched import BUSY_SECONDS, connect_untouched, is_writable, limit_length

WRITE = "bogrape_write"  # execution option of transactions that will write
READ_ONLY = "bogrape_read_only"  # execution option: the path of a file that cannot be written
JOURNAL = "bogrape_journal"  # execution option: the journal a SQLite file should have
JOURNALS = ("wal", "delete")
_LOCAL_KINDS = {"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
logger = logging.getLogger(__name__)
_MAX_URL = 10_000  # characters
_LOCK_NUMBER = 0x626F4772  # of PostgreSQL's advisory lock while tables are created


def make_engine(url: str, *, create: bool = True) -> Engine:
    """An engine for ``sqlite:///path`` or ``postgresql://…``."""
    if len(url) > _MAX_URL:
        raise InvalidInputError(f"storage must be a URL, got a string of {len(url)} characters")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # a port that is not a number
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
    _check_place(path)
    wanted = url.query.get("journal") or ("delete" if _is_shared(path) else "wal")
    if wanted not in JOURNALS or set(url.query) - {"journal"}:
        raise InvalidInputError(
            f"a SQLite storage takes no option but journal={' or '.join(JOURNALS)}, as in "
            f"sqlite:///study.db?journal=delete; got {dict(url.query)}"
        )
    if not create and not path.exists():
        raise StorageError(f"there is no storage {str(path)!r}; check its path")
    is_used = path.exists() and check_file(path)
    if not create and not is_used:
        raise StorageError(f"the storage {str(path)!r} is empty; check its path")
    if is_used and not is_writable(path):
        return _read_only(path)

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            limit_length(connection)
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


def _read_only(path: Path) -> Engine:
    """An engine for a file that cannot be written; each connection determines how to read it."""

    def connect() -> sqlite3.Connection:
        found = connect_untouched(path)
        if found is None:
            raise sqlite3.OperationalError("the file is empty")
        return found

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=NullPool, execution_options={READ_ONLY: str(path)}
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(WRITE, False):
            raise StorageError(
                f"the storage {str(path)!r} is read-only: the file or its directory cannot be "
                "written; copy it elsewhere to continue its studies"
            )
        connection.exec_driver_sql("BEGIN")

    return engine


def set_journal(engine: Engine) -> None:
    """Switch a SQLite file that has its tables to the intended journal."""
    wanted = engine.get_execution_options().get(JOURNAL)
    if wanted is None:
        return
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != wanted:
            cursor.execute(f"PRAGMA journal_mode = {wanted}")
    except sqlite3.OperationalError as error:
        # Another process is using the file. Both journals are safe; the next opening tries again.
        logger.debug("the journal of the storage stays as it is: %s", error)
    finally:
        connection.close()


def _is_shared(path: Path) -> bool:
    """True if the path seems to be on a file system shared with other machines."""
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


def _check_place(path: Path) -> None:
    """Raise if there cannot be a file at the path."""
    if "\0" in str(path):
        raise InvalidInputError(f"the path of the storage has a null character: {str(path)!r:.80}")
    try:
        if not path.parent.is_dir():
            raise StorageError(f"the directory {str(path.parent)!r} of the storage does not exist")
        if path.exists() and not path.is_file():
            raise StorageError(f"the storage {str(path)!r} is not a file")
    except OSError as error:  # for instance a name that is too long
        raise InvalidInputError(
            f"the path of the storage cannot be used: {str(error)[:100]}; got {str(path)!r:.80}"
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


def prepare(connection: Connection) -> None:
    """Prepare the transaction that creates or migrates the tables: mark or lock the database."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    else:
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _LOCK_NUMBER})
