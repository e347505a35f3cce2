"""`SQLStorage`: the operations of a `Storage`, each one transaction."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

from sqlalchemy import ColumnElement, Connection, Engine, Pool, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from ...errors import StorageError
from ...graph import Graph
from ...trial import Trial
from ..protocol import check_budget, no_such_study
from . import schema
from .engines import READ_ONLY, WRITE, make_engine, prepare, set_journal
from .integrity import check_study, check_trials
from .rows import (
    EMPTY_DIGEST,
    MAX_TEXT,
    as_dicts,
    changed_digest,
    digest_of,
    load_list,
    load_object,
    properties_text,
    short_key,
    study_checksum,
    to_row,
    to_trial,
)
from .schema import studies
from .schema import trials as table
from .untouched import UNREADABLE, damaged, unreadable

_COMPARED = ("state", "attempts", "value", "noise")  # columns; others are texts of JSON
_AT_ONCE = 500  # keys in one query; SQLite has a limit


@final
class SQLStorage:
    """Studies in a SQLite file or on a PostgreSQL server; any number of processes may use them."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._engine = make_engine(url, create=create)
        self._pid = os.getpid()
        self._ids: dict[str, int] = {}
        self._key_versions: dict[int, str] = {}
        weakref.finalize(self, _close, self._engine, self._pid)
        self._has_journal = True  # unchanged until the tables are created
        try:
            self._bring_up_to_date()
        except BaseException:
            self._engine.dispose()  # so that no side file stays behind
            raise
        self._has_journal = False

    def _bring_up_to_date(self) -> None:
        with self._transaction() as connection:
            version = schema.version_of(connection)
            if version is not None:
                schema.refuse_unreadable(version)
        if version != schema.SCHEMA_VERSION:
            with self._transaction(write=True) as connection:
                prepare(connection)
                schema.bring_up_to_date(connection)

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        self._engine.dispose()

    # -- studies ------------------------------------------------------------------------------

    def create(self, name: str, settings: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Create the study unless it exists."""
        found = self.settings(name)
        if found is not None:
            return found, False
        row = {
            "name": name,
            "settings": json.dumps(settings, allow_nan=False),
            "changes": "[]",
            "key_version": "",  # set by `use_keys`
            "revision": 0,
            "n_trials": 0,
            "digest": EMPTY_DIGEST,
        }
        row["checksum"] = study_checksum(row)
        try:
            with self._transaction(write=True) as connection:
                connection.execute(insert(studies).values(**row))
        except _Duplicate:  # another process created it at the same moment
            pass
        else:
            return settings, True
        found = self.settings(name)
        if found is None:
            raise StorageError(f"the study {name!r} was deleted in the meantime; try again")
        return found, False

    def settings(self, name: str) -> dict[str, Any] | None:
        """Settings of the study, if it exists."""
        with self._transaction() as connection:
            length = connection.scalar(
                select(func.length(studies.c.settings)).where(studies.c.name == name)
            )
            if length is None:
                return None
            if length > MAX_TEXT:
                raise StorageError(f"the settings of study {name!r} are too long")
            row = _study(connection, studies.c.name == name)
        try:
            return load_object(row["settings"])
        except ValueError as error:
            raise StorageError(f"the settings of study {name!r} are damaged: {error}") from None

    def changes_of_settings(self, name: str) -> list[dict[str, Any]]:
        """Changes of the settings, oldest first."""
        study = self._id(name)
        with self._transaction() as connection:
            row = _study(connection, studies.c.id == study)
        try:
            return load_list(row["changes"])
        except ValueError as error:
            raise StorageError(f"the history of study {name!r} is damaged: {error}") from None

    def change_settings(
        self, name: str, settings: dict[str, Any], expected: dict[str, Any], change: dict[str, Any]
    ) -> bool:
        """Replace the settings if they are still as expected, and record the change."""
        study = self._id(name)
        with self._transaction(write=True) as connection:
            row = self._lock(connection, study)
            if load_object(row["settings"]) != expected:
                connection.rollback()
                return False
            history = [*load_list(row["changes"]), change]
            row["settings"] = json.dumps(settings, allow_nan=False)
            row["changes"] = json.dumps(history, allow_nan=False)
            _seal(connection, row)
        return True

    def names(self) -> list[str]:
        """Names of all studies."""
        with self._transaction() as connection:
            return list(connection.scalars(select(studies.c.name).order_by(studies.c.name)))

    # -- trials -------------------------------------------------------------------------------

    def changes(self, name: str, since: int) -> tuple[int, list[Trial]]:
        """Trials changed after revision ``since``."""
        study = self._id(name)
        # In one snapshot: the count and the digest must match the trials.
        with self._transaction(snapshot=since == 0) as connection:
            # In this order: a change committed in between is then seen twice, never missed.
            revision = connection.scalar(select(studies.c.revision).where(studies.c.id == study))
            if revision is None:
                raise StorageError(f"the study {name!r} is no longer in the storage")
            if revision == since:
                return since, []
            where: ColumnElement[bool] = table.c.study == study
            if since > 0:
                where &= table.c.revision > since
            else:
                longest = connection.scalar(
                    select(func.max(func.length(table.c.graph))).where(where)
                )
                if longest is not None and longest > MAX_TEXT:
                    raise StorageError(
                        f"study {name!r} holds a graph of {longest} characters, over {MAX_TEXT}"
                    )
            query = select(table).where(where).order_by(table.c.number)
            found = as_dicts(connection.execute(query))
            if since == 0:
                check_trials(_study(connection, studies.c.id == study), found)
        return revision, [to_trial(row) for row in found]

    def use_keys(self, name: str, version: str, identify: Callable[[Graph], str]) -> None:
        """Declare the version of the keys for `insert`; keys of other versions are recomputed."""
        study = self._id(name)
        with self._transaction() as connection:
            found = _study(connection, studies.c.id == study)
        read_only = READ_ONLY in self._engine.get_execution_options()
        if found["key_version"] != version and not read_only:
            with self._transaction(write=True) as connection:
                row = self._lock(connection, study, any_keys=True)
                row["key_version"] = version
                row["digest"] = _renew_keys(connection, study, identify)
                _seal(connection, row)
        self._key_versions[study] = version

    def insert(
        self,
        name: str,
        trials: Sequence[Trial],
        keys: Sequence[str],
        *,
        distinct: bool,
        most: int | None = None,
    ) -> list[Trial] | None:
        """Append trials; all or nothing."""
        short = [short_key(key) for key in keys]
        if distinct and len(set(short)) < len(short):
            return None
        study = self._id(name)
        with self._transaction(write=True) as connection:
            row = self._lock(connection, study)
            first = row["n_trials"]
            if most is not None:
                own = (table.c.study == study) & (table.c.origin != "added")
                present = connection.scalar(select(func.count()).where(own))
                check_budget(present or 0, len(trials), most)
            taken = _taken(connection, study, short)
            if distinct and taken:
                connection.rollback()
                return None
            out, rows = [], []
            for i, (trial, key) in enumerate(zip(trials, short, strict=True)):
                numbered = replace(trial, id=first + i)
                new_key = None if key in taken else key
                taken.add(key)
                place = {"study": study, "revision": row["revision"], "key": new_key}
                rows.append({**to_row(numbered), **place})
                out.append(numbered)
            connection.execute(insert(table), rows)
            row["n_trials"] += len(rows)
            row["digest"] = changed_digest(row["digest"], added=rows)
            _seal(connection, row)
        return out

    def update(self, name: str, trial: Trial, expected: Trial) -> bool:
        """Replace the trial if it is still as expected."""
        study = self._id(name)
        with self._transaction(write=True) as connection:
            row = self._lock(connection, study)
            where = (table.c.study == study) & (table.c.number == trial.id)
            found = as_dicts(connection.execute(select(table).where(where)))
            if len(found) != 1:
                raise damaged("the database", f"trial {trial.id} of study {name!r} is missing")
            (old,) = found
            if (
                any(old[field] != getattr(expected, field) for field in _COMPARED)
                or old["properties"] != properties_text(expected)
                or load_object(old["details"]) != dict(expected.details)
            ):
                connection.rollback()
                return False
            new = {**to_row(trial), "revision": row["revision"], "key": old["key"]}
            connection.execute(update(table).where(where).values(**new))
            row["digest"] = changed_digest(row["digest"], removed=[old], added=[new])
            _seal(connection, row)
        return True

    def _lock(
        self, connection: Connection, study: int, *, any_keys: bool = False
    ) -> dict[str, Any]:
        """The row of a study at its next revision, locked until the commit."""
        row = _study(connection, studies.c.id == study, lock=True)
        version = self._key_versions.get(study, row["key_version"])
        if row["key_version"] != version and not any_keys:
            raise StorageError(
                f"the study was opened with {row['key_version']} while this process has {version}; "
                "use one version in all processes, then open the study again"
            )
        row["revision"] += 1
        return row

    def _id(self, name: str) -> int:
        if name not in self._ids:
            with self._transaction() as connection:
                found = connection.scalar(select(studies.c.id).where(studies.c.name == name))
            if found is None:
                raise no_such_study(name, self.names())
            self._ids[name] = found
        return self._ids[name]

    # -- transactions -------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, *, write: bool = False, snapshot: bool = False) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back by any error.

        With ``snapshot`` all reads see one moment, as they always do on SQLite.
        """
        if os.getpid() != self._pid:
            _inherited.append(self._engine.pool)
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        options: dict[str, Any] = {WRITE: write}
        if snapshot and self._engine.dialect.name != "sqlite":
            options["isolation_level"] = "REPEATABLE READ"
        try:
            if write and not self._has_journal:  # readers leave the file unchanged
                set_journal(self._engine)
                self._has_journal = True
            with (
                self._engine.connect().execution_options(**options) as connection,
                connection.begin(),
            ):
                yield connection
        except IntegrityError as error:
            raise _Duplicate(_words(error)) from error
        except SQLAlchemyError as error:
            raise StorageError(_words(error)) from error
        except UNREADABLE as error:  # not wrapped by SQLAlchemy, for instance names in UTF-8
            raise unreadable("the database", error) from error


# Pools of a parent process. After a fork they must be neither used nor closed, so they are kept.
_inherited: list[Pool] = []


def _close(engine: Engine, pid: int) -> None:
    if os.getpid() == pid:
        engine.dispose()


class _Duplicate(StorageError):
    """A constraint of the database refused the change."""


def _study(connection: Connection, where: Any, *, lock: bool = False) -> dict[str, Any]:
    """The row of a study, checked."""
    query = select(studies).where(where)
    found = as_dicts(connection.execute(query.with_for_update() if lock else query))
    if len(found) != 1:
        raise StorageError("the study is no longer in the storage")
    check_study(found[0])
    return found[0]


def _seal(connection: Connection, row: Mapping[str, Any]) -> None:
    """Write the row of a study with its checksum."""
    values = {**row, "checksum": study_checksum(row)}
    connection.execute(update(studies).where(studies.c.id == row["id"]).values(**values))


def _renew_keys(connection: Connection, study: int, identify: Callable[[Graph], str]) -> str:
    """Recompute all keys, within the caller's transaction; returns the digest of the trials.

    A second trial with the same key is stored without a key.
    """
    everywhere = table.c.study == study
    query = select(table).where(everywhere).order_by(table.c.number)
    rows = as_dicts(connection.execute(query))
    connection.execute(update(table).where(everywhere).values(key=None))
    met: set[str] = set()
    renewed = []
    for row in rows:
        key = short_key(identify(to_trial(row).graph))
        if key not in met:
            where = everywhere & (table.c.number == row["number"])
            connection.execute(update(table).where(where).values(key=key))
        renewed.append({**row, "key": None if key in met else key})
        met.add(key)
    return digest_of(renewed)


def _taken(connection: Connection, study: int, keys: Sequence[str]) -> set[str]:
    """The keys that trials of the study already have."""
    found: set[str] = set()
    for i in range(0, len(keys), _AT_ONCE):
        some = table.c.key.in_(keys[i : i + _AT_ONCE])
        found.update(connection.scalars(select(table.c.key).where(table.c.study == study, some)))
    return found


def _words(error: SQLAlchemyError) -> str:
    """The database's message, its meaning, and what to try."""
    original = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()
    said = original[0][:300] if original else type(error).__name__
    advice = "the change was not made"
    for sign, words in (
        ("disk is full", "make room on the disk and try again; the change was not made"),
        ("disk I/O error", "check the disk and its quota; the change was not made"),
        ("locked", "another process holds the database; try again"),
        ("readonly", "the file or its directory is not writable"),
        ("unable to open", "check that path and permissions are right"),
        ("malformed", "the file is damaged and was not changed; restore it from a copy"),
        ("not a database", "the file is damaged or not a database, and was not changed"),
        ("connection", "check that the server runs and the URL is right"),
    ):
        if sign in said:
            advice = words
            break
    return f"the database says: {said}; {advice}"
