"""Trials in files: CSV and JSON lines, out and in."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from ..errors import BoGrapeError, InvalidInputError
from ..graph import Graph
from ..study import Trial
from .formats import Format
from .output import trial_data

Kind = Literal["csv", "jsonl"]
MAX_LINE = 4_000_000  # characters of one row


def kind_of(path: str, given: str | None) -> Kind:
    """The kind of a file, as given or by its name."""
    name = given or Path(path).suffix.lstrip(".").lower()
    if name == "csv":
        return "csv"
    if name in ("jsonl", "ndjson"):
        return "jsonl"
    raise InvalidInputError(
        f"cannot tell the format of {path!r}; name it .csv or .jsonl, or give --format"
    )


def render(trials: Iterable[Trial], form: Format, kind: Kind) -> str:
    """All trials as the text of a file."""
    if kind == "jsonl":
        return "".join(json.dumps(trial_data(t, form), allow_nan=False) + "\n" for t in trials)
    rows = [_flat(trial, form) for trial in trials]
    out = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row)) or ["id", "value", "graph"]
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_whole(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InvalidInputError(f"cannot write {str(path)!r}: {error}") from None


def read_observations(path: Path, form: Format, kind: Kind) -> list[tuple[Graph, float]]:
    """Graphs and values of a file; rows of unfinished and failed trials are passed over.

    Needed are ``graph`` (JSON, or SMILES for molecules) and ``value``; what `render` wrote will do.
    """
    out = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = _csv_rows(file) if kind == "csv" else _json_rows(file)
            for number, row in enumerate(rows, start=1):
                try:
                    found = _observation(row, form)
                except (BoGrapeError, ValueError, TypeError) as error:
                    raise InvalidInputError(f"row {number} of {path.name!r}: {error}") from None
                if found is not None:
                    out.append(found)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"cannot read {str(path)!r}: {error}") from None
    return out


def _observation(row: dict[str, Any], form: Format) -> tuple[Graph, float] | None:
    if row.get("state") in ("queued", "pending", "failed"):
        return None
    column = "smiles" if form.name == "smiles" and "smiles" in row else "graph"
    graph, value = row.get(column), row.get("value")
    if graph in (None, "") or value in (None, ""):
        empty = [name for name in (column, "value") if row.get(name) in (None, "")]
        raise InvalidInputError(
            f"expected {column} and value, got nothing in {' and '.join(empty)}; "
            f"the columns are {', '.join(map(str, row))[:200]}"
        )
    if isinstance(value, str):
        value = float(value)
    return form.from_plain(graph), value


def _json_rows(file: io.TextIOBase) -> Iterator[dict[str, Any]]:
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise InvalidInputError(f"a line has more than {MAX_LINE} characters")
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"a line is not JSON: {str(error)[:200]}") from None
        if not isinstance(data, dict):
            raise InvalidInputError(f"a line must be a JSON object, got {type(data).__name__}")
        yield data


def _csv_rows(file: io.TextIOBase) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(MAX_LINE)

    def lines() -> Iterator[str]:
        while line := file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise InvalidInputError(f"a line has more than {MAX_LINE} characters")
            yield line

    for row in csv.DictReader(lines()):
        yield {str(key): value for key, value in row.items() if key is not None}


def _flat(trial: Trial, form: Format) -> dict[str, Any]:
    """A trial as one row of cells."""
    row = trial_data(trial, form)
    row["graph"] = form.encode(trial.graph)
    for name in ("certificate", "hyperparameters"):
        inner = row.pop(name)
        row.update({f"{name}_{key}": value for key, value in inner.items()})
    return row
