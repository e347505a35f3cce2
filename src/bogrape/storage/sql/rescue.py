"""Recovery of every trial with a valid checksum from damaged SQLite files.

The file is read as bytes and never opened as a database, so it cannot change, and damage elsewhere
cannot hide an intact trial: see `pages`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from ...errors import InvalidInputError, StorageError, StudyError
from ...space import GraphSpace
from ...trial import Trial
from ..rescued import RescuedStudy
from . import schema
from .pages import pages_of, records
from .rows import digest_of, load_list, load_object, row_checksum, study_checksum, to_trial
from .storage import SQLStorage
from .untouched import side_file

NUMBER_BEFORE = "number_before_rescue"  # in the details of renumbered trials


def read_rescued(path: Path) -> list[RescuedStudy]:
    """Read the studies of a damaged file, for `bogrape.storage.rescue`."""
    try:
        content = path.read_bytes()
        log = side_file(path, "-wal").read_bytes() if side_file(path, "-wal").exists() else b""
    except (OSError, ValueError) as error:
        raise StorageError(f"{str(path)!r:.200} cannot be read: {error}") from None
    entries: dict[int, Mapping[str, Any]] = {}
    rows: dict[int, dict[int, Mapping[str, Any]]] = {}
    size, versions = pages_of(content, log)
    for pages in versions:
        for place, values in records(size, pages):
            if (entry := _study(place, values)) is not None:
                _keep(entries, place, entry)
            elif (row := _trial(values)) is not None:
                _keep(rows.setdefault(row["study"], {}), row["number"], row)
    out = [_rescued(entries.get(i), rows.get(i, {})) for i in sorted({*entries, *rows})]
    if not out:
        raise StorageError(
            f"no readable trial found in {str(path)!r}: is it a database of studies?"
        )
    return out


def write_rescued(studies: list[RescuedStudy], path: Path) -> None:
    """Write studies to a new SQLite file, with the remaining trials numbered from 0."""
    nameless = sum(study.settings is None for study in studies)
    if nameless:
        raise StudyError(
            f"the settings of {nameless} of {len(studies)} studies are lost, so they cannot be "
            "restored; save their trials as .jsonl or .csv, and import them into a new study"
        )
    if path.exists():
        raise InvalidInputError(f"{str(path)!r} already exists; choose another name")
    url = URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)
    storage = SQLStorage(url)
    for study in studies:
        assert study.name is not None
        assert study.settings is not None
        settings = dict(study.settings)
        space = GraphSpace.from_json(json.dumps(settings.get("space")))
        storage.create(study.name, settings)
        storage.use_keys(study.name, space.identity_version, space.identity)
        for change in study.changes:
            storage.change_settings(study.name, settings, settings, dict(change))
        trials = [_renumbered(trial, i) for i, trial in enumerate(study.trials)]
        if trials:
            keys = [space.identity(trial.graph) for trial in trials]
            storage.insert(study.name, trials, keys, distinct=False)
    storage.close()


def _renumbered(trial: Trial, number: int) -> Trial:
    if trial.id == number:
        return trial
    return replace(trial, id=number, details={**trial.details, NUMBER_BEFORE: trial.id})


def _keep(found: dict[int, Mapping[str, Any]], key: int, row: Mapping[str, Any]) -> None:
    """Keep a row, or the later one of two versions."""
    if key not in found or row["revision"] >= found[key]["revision"]:
        found[key] = row


def _layouts(table: str) -> list[list[str]]:
    """Orders of columns: in tables created by this version, and in older ones migrated to it."""
    out = []
    for version in range(schema.SCHEMA_VERSION, 0, -1):
        made = schema.columns_of_version(schema.metadata.tables[table], version)
        later = [columns for v, columns in sorted(schema.ADDED.items()) if v > version]
        added = [name for columns in later for owner, name in columns if owner == table]
        out.append([column.name for column in made] + added)
    return list(map(list, dict.fromkeys(map(tuple, out))))


def _as_rows(table: str, values: list[Any]) -> Iterator[dict[str, Any]]:
    """Possible rows of the table with these values."""
    for names in _layouts(table):
        if len(values) <= len(names):
            yield dict(zip(names, values, strict=False))


def _trial(values: list[Any]) -> Mapping[str, Any] | None:
    for row in _as_rows("bogrape_trials", values):
        if "checksum" not in row or not all(
            isinstance(row[name], int) for name in ("study", "number", "revision")
        ):
            continue
        row.setdefault("details", "{}")
        for name in ("value", "noise"):
            if isinstance(row.get(name), int):  # how SQLite stores a float without decimals
                row[name] = float(row[name])
        if row["checksum"] == row_checksum(row):
            return row
    return None


def _study(place: int, values: list[Any]) -> Mapping[str, Any] | None:
    for row in _as_rows("bogrape_studies", values):
        row["id"] = place  # the row id, which SQLite does not store in the row
        if "checksum" in row:
            if row["checksum"] == study_checksum(row):
                return row
        elif len(values) == 6 and isinstance(row.get("n_trials"), int):  # of version 1
            try:
                load_object(row["settings"])
            except ValueError:
                continue
            if isinstance(row["revision"], int) and isinstance(row["name"], str):
                return {**row, "changes": "[]"}
    return None


def _rescued(
    entry: Mapping[str, Any] | None, rows: Mapping[int, Mapping[str, Any]]
) -> RescuedStudy:
    trials = []
    for number in sorted(rows):
        try:
            trials.append(to_trial(rows[number]))
        except StorageError:
            continue  # its checksum is valid, yet it is not a trial
    n_trials = max(rows, default=-1) + 1 if entry is None else entry["n_trials"]
    there = {trial.id for trial in trials}
    return RescuedStudy(
        name=None if entry is None else entry["name"],
        settings=None if entry is None else load_object(entry["settings"]),
        changes=() if entry is None else tuple(load_list(entry["changes"])),
        trials=tuple(trials),
        lost=tuple(number for number in range(n_trials) if number not in there),
        is_complete=entry is not None
        and len(trials) == n_trials
        and entry.get("digest") == digest_of(rows.values()),
    )
