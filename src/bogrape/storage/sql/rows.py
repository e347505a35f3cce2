"""Conversion of trials to rows and back. Rows carry a checksum, and all that is read is checked."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Result

from ...errors import InvalidGraphError, InvalidInputError, StorageError
from ...graph import Graph
from ...trial import ORIGINS, STATES, Trial

MAX_TEXT = 4_000_000  # characters of one text; a graph of 1000 nodes needs less
_COPIED: tuple[str, ...] = ("state", "value", "origin", "worker", "attempts", "reason", "seed")
_COPIED += ("created", "asked", "finished", "version")
_OF_STUDY = ("name", "settings", "changes", "key_version", "revision", "n_trials", "digest")
_OPTIONAL_TEXT = ("worker", "reason", "asked", "finished")


def as_dicts(result: Result[Any]) -> list[dict[str, Any]]:
    """All rows of a query."""
    return [dict(row) for row in result.mappings()]


def to_row(trial: Trial) -> dict[str, Any]:
    """Columns of a trial, without study, revision and key."""
    row = {name: getattr(trial, name) for name in _COPIED}
    row["number"] = trial.id
    row["noise"] = trial.noise
    row["properties"] = properties_text(trial)
    row["graph"] = trial.graph.to_json()
    if len(row["graph"]) > MAX_TEXT:
        raise InvalidInputError(
            f"a graph of {trial.graph.n_nodes} nodes and {trial.graph.n_edges} edges is too large "
            "for a database"
        )
    for name in ("certificate", "hyperparameters", "details"):
        row[name] = _dump(getattr(trial, name))
        if len(row[name]) > MAX_TEXT:
            raise InvalidInputError(f"the {name} of trial {trial.id} are too long for a database")
    row["checksum"] = row_checksum(row)
    return row


def to_trial(row: Mapping[str, Any]) -> Trial:
    """The trial of a row; a damaged or invented row is refused."""
    number = row["number"]
    try:
        if row["checksum"] != row_checksum(row):
            raise ValueError("its checksum does not match")
        if row["state"] not in STATES or row["origin"] not in ORIGINS:
            raise ValueError(f"unknown state {row['state']!r} or origin {row['origin']!r}")
        value = row["value"]
        values, noises = _properties(row.get("properties"))  # missing in rows of earlier versions
        known = value if not values else 0.0 if value is None else "a value of several properties"
        if (row["state"] == "complete") != (isinstance(known, float) and math.isfinite(known)):
            raise ValueError(f"state {row['state']!r} with value {value!r}")
        noise = row.get("noise")  # missing in rows of earlier versions
        if noise is not None and not (
            row["state"] == "complete" and isinstance(noise, float) and 0 <= noise < math.inf
        ):
            raise ValueError(f"state {row['state']!r} with noise {noise!r}")
        if not all(row[name] is None or isinstance(row[name], str) for name in _OPTIONAL_TEXT):
            raise ValueError("a string column does not hold a string")
        if not isinstance(row["attempts"], int) or not isinstance(row["seed"], (int, type(None))):
            raise ValueError("a number column does not hold a number")
        return Trial(
            id=number,
            graph=Graph.from_json(row["graph"]),
            noise=noise,
            values=values,
            noises=noises,
            certificate=load_object(row["certificate"]),
            hyperparameters=load_object(row["hyperparameters"]),
            details=load_object(row["details"]),
            **{name: row[name] for name in _COPIED},
        )
    except (ValueError, TypeError, InvalidGraphError) as error:
        raise damaged_trial(number, error) from None


def properties_text(trial: Trial) -> str | None:
    """The values and noises of several properties as they are stored."""
    if not trial.values:
        return None
    return _dump({"values": dict(trial.values), "noises": dict(trial.noises)})


def _properties(text: object) -> tuple[dict[str, float], dict[str, float]]:
    """Values and noises by property; both empty if there is only one value."""
    if text is None:
        return {}, {}
    data = load_object(text)
    values, noises = data.get("values"), data.get("noises")
    if not isinstance(values, dict) or not isinstance(noises, dict) or len(data) != 2 or not values:
        raise ValueError("expected values and noises of properties")
    numbers = (*values.values(), *noises.values())
    if not all(isinstance(number, float) and math.isfinite(number) for number in numbers):
        raise ValueError("a property is not a number")
    if not set(noises) <= set(values) or any(noise < 0 for noise in noises.values()):
        raise ValueError("noise that belongs to no property, or is negative")
    return values, noises


def damaged_trial(number: object, error: object) -> StorageError:
    """The error for a row that is not a valid trial."""
    return StorageError(
        f"trial {number!r:.40} in the database is damaged: {str(error)[:200]}; nothing was "
        "changed: restore the database from a copy, or save the others with 'bogrape rescue'"
    )


def load_object(text: object) -> dict[str, Any]:
    """Parse a JSON object from the database."""
    data = _parsed(text)
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object, got {type(data).__name__}")
    return data


def _parsed(text: object) -> Any:
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError("expected JSON of moderate length")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("expected JSON of moderate depth") from None


def load_list(text: object) -> list[dict[str, Any]]:
    """Parse a list of JSON objects from the database."""
    data = _parsed(text)
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("expected a list of JSON objects")
    return data


def short_key(identity: str) -> str:
    """A short name for the identity of a graph, fit for an index."""
    return hashlib.sha256(identity.encode()).hexdigest()


def _dump(data: Mapping[str, Any]) -> str:
    return json.dumps(dict(data), separators=(",", ":"), allow_nan=False)


def row_checksum(row: Mapping[str, Any]) -> str | None:
    """The checksum for the content of a row; ``None`` if it cannot be the content of a trial."""
    names = [*_COPIED, "number", "graph", "certificate", "hyperparameters"]
    if row.get("details", "{}") != "{}":  # rows of schema version 1 keep their checksums
        names.append("details")
    if row.get("noise") is not None:  # and so do those of version 2
        names.append("noise")
    if row.get("properties") is not None:  # and of version 3
        names.append("properties")
    return _short_hash([row[name] for name in names])


def study_checksum(study: Mapping[str, Any]) -> str | None:
    """The checksum for the row of a study."""
    return _short_hash([study[name] for name in _OF_STUDY])


def _short_hash(content: list[Any]) -> str | None:
    try:
        text = json.dumps(content, separators=(",", ":"))
    except TypeError:  # bytes, where there should be text
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


# -- the digest of all trials of a study ------------------------------------------------------

EMPTY_DIGEST = "0" * 32


def digest_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """The digest of a study with these rows: a sum, independent of their order."""
    return changed_digest(EMPTY_DIGEST, added=rows)


def changed_digest(
    digest: str,
    *,
    removed: Iterable[Mapping[str, Any]] = (),
    added: Iterable[Mapping[str, Any]] = (),
) -> str:
    """The digest after some rows were replaced by others."""
    total = int(digest, 16) + sum(map(_mark, added)) - sum(map(_mark, removed))
    return f"{total % 2**128:032x}"


def _mark(row: Mapping[str, Any]) -> int:
    """Contribution of a row to the digest of its study."""
    text = json.dumps([row["number"], row["revision"], row["key"], row["checksum"]])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
