"""The tables, their version, and the migrations from every older version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
    update,
)

from ...errors import StorageError
from ...trial import package_version
from .rows import EMPTY_DIGEST, as_dicts, digest_of, study_checksum

SCHEMA_VERSION = 4
APPLICATION_ID = 0x626F4772  # "boGr": marks our SQLite files

metadata = MetaData()

schema_table = Table(
    "bogrape_schema",
    metadata,
    Column("version", Integer, nullable=False),
    Column("package", String(100), nullable=False),  # version of the package that wrote it
)

studies = Table(
    "bogrape_studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    Column("changes", Text, nullable=False, server_default="[]"),  # of the settings, oldest first
    Column("key_version", String(100), nullable=False),  # version of the code that made the keys
    # Both grow under the lock of this row, which serialises the writers of a study.
    Column("revision", Integer, nullable=False),
    Column("n_trials", Integer, nullable=False),
    Column("digest", String(32), nullable=False, server_default=EMPTY_DIGEST),  # of all its trials
    Column("checksum", String(16), nullable=False, server_default=""),  # of all columns before
)

trials = Table(
    "bogrape_trials",
    metadata,
    Column("study", Integer, ForeignKey("bogrape_studies.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, nullable=False),  # of the study when this row last changed
    Column("key", String(64)),  # of the isomorphism class; empty for repeats
    Column("state", String(10), nullable=False),
    Column("graph", Text, nullable=False),
    Column("value", Double),
    Column("noise", Double),  # variance of the value, where it is known
    Column("properties", Text),  # values and noises of several properties, where there are any
    Column("origin", String(10), nullable=False),
    Column("worker", String(200)),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text),
    Column("seed", Integer),
    Column("certificate", Text, nullable=False),
    Column("hyperparameters", Text, nullable=False),
    Column("details", Text, nullable=False, server_default="{}"),
    Column("created", String(40), nullable=False),
    Column("asked", String(40)),
    Column("finished", String(40)),
    Column("version", String(100), nullable=False),
    Column("checksum", String(16), nullable=False),
    UniqueConstraint("study", "key", name="bogrape_one_trial_a_graph"),
    Index("bogrape_trials_by_revision", "study", "revision"),
)


# Columns added by later versions, by version.
ADDED: Mapping[int, tuple[tuple[str, str], ...]] = {
    2: (
        ("bogrape_studies", "changes"),
        ("bogrape_studies", "digest"),
        ("bogrape_studies", "checksum"),
        ("bogrape_trials", "details"),
    ),
    3: (("bogrape_trials", "noise"),),
    4: (("bogrape_trials", "properties"),),
}


def columns_of_version(table: Table, version: int) -> list[Column[Any]]:
    """The columns of a version, in the order of the tables it created."""
    later = {column for v, columns in ADDED.items() if v > version for column in columns}
    return [column for column in table.c if (table.name, column.name) not in later]


def _to_version_2(connection: Connection) -> None:
    """Settings can be changed, trials carry further details, and lost trials are noticed."""
    for table, name in ADDED[2]:
        column = metadata.tables[table].c[name]
        default = column.server_default.arg  # type: ignore[union-attr]
        kind = column.type.compile(connection.dialect)
        connection.execute(
            text(f"ALTER TABLE {table} ADD COLUMN {name} {kind} NOT NULL DEFAULT '{default}'")
        )
    for study in as_dicts(connection.execute(select(studies))):
        own = select(*columns_of_version(trials, 2)).where(trials.c.study == study["id"])
        sealed = {**study, "digest": digest_of(as_dicts(connection.execute(own)))}
        values = {"digest": sealed["digest"], "checksum": study_checksum(sealed)}
        connection.execute(update(studies).where(studies.c.id == study["id"]).values(**values))


def _to_version_3(connection: Connection) -> None:
    """Values carry their noise, if known; checksums of other rows do not change."""
    kind = trials.c.noise.type.compile(connection.dialect)
    connection.execute(text(f"ALTER TABLE {trials.name} ADD COLUMN noise {kind}"))


def _to_version_4(connection: Connection) -> None:
    """Trials can have several properties; checksums of other rows do not change."""
    kind = trials.c.properties.type.compile(connection.dialect)
    connection.execute(text(f"ALTER TABLE {trials.name} ADD COLUMN properties {kind}"))


# MIGRATIONS[v] takes a database from schema version v to v + 1, within the caller's transaction.
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {
    1: _to_version_2,
    2: _to_version_3,
    3: _to_version_4,
}


def version_of(connection: Connection) -> int | None:
    """Schema version of the database, or ``None`` if it holds no studies yet."""
    if not inspect(connection).has_table(schema_table.name):
        return None
    rows = connection.execute(select(schema_table.c.version)).scalars().all()
    if len(rows) != 1 or not isinstance(rows[0], int):
        raise StorageError(
            f"the table {schema_table.name} must hold one version number, got {rows!r:.100}; the "
            "database was changed by another program: restore it from a copy"
        )
    return rows[0]


def refuse_unreadable(version: int) -> None:
    """Raise if this package cannot read a database of this version."""
    have = f"bogrape {package_version()} reads versions 1 to {SCHEMA_VERSION}"
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"the database has schema version {version}, and {have}; it was not changed: upgrade "
            "bogrape"
        )
    if version < 1:
        raise StorageError(
            f"the database has schema version {version}, which was never released "
            f"({have}); it was not changed: restore it from a copy"
        )


def bring_up_to_date(connection: Connection) -> None:
    """Create or migrate the tables, within the caller's transaction."""
    version = version_of(connection)
    if version is None:
        metadata.create_all(connection, checkfirst=False)
        connection.execute(
            insert(schema_table).values(version=SCHEMA_VERSION, package=package_version())
        )
        return
    refuse_unreadable(version)
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection)
    if version < SCHEMA_VERSION:
        connection.execute(
            update(schema_table).values(version=SCHEMA_VERSION, package=package_version())
        )
