"""Files of observations, CSV or JSON lines: every row is read, and every bad one is named."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import BoGrapeError, InvalidInputError
from ..graph import Graph
from ..properties import Goals
from ..space import GraphSpace
from ..study.observations import Outside, checked_observation
from .formats import Format

Kind = Literal["csv", "jsonl"]
MAX_LINE = 4_000_000  # characters of one line


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


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of the columns of a file of observations."""

    graph: str | None = None  # JSON or text such as SMILES; by default as the study writes them
    value: str = "value"
    noise: str | None = None  # variances of values; by default those of "noise", if it is there


@dataclass(frozen=True, kw_only=True)
class ImportedRow:
    """A row of a file of observations: what it holds, or what is wrong with it."""

    line: int  # of the file, from 1
    graph: Graph | None = None
    value: float | None = None
    noise: float | None = None  # variance of the value, if the row tells it
    outside: tuple[str, ...] = ()  # what the graph breaks, if it is outside the space
    problem: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)  # of several properties
    noises: Mapping[str, float] = field(default_factory=dict)


def read_observations(
    path: Path,
    form: Format,
    kind: Kind,
    space: GraphSpace,
    *,
    outside: Outside = "accept",
    columns: Columns | None = None,
    goals: Goals | None = None,
) -> list[ImportedRow]:
    """All rows of a file, good and bad; those of unfinished and failed trials are passed over.

    By default the columns are those that `render` wrote. Several properties are columns by their
    names, empty where one was not measured, and their variances columns such as ``noise_qed``.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return rows_of(file, form, kind, space, outside=outside, columns=columns, goals=goals)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"cannot read {str(path)!r}: {error}") from None


def rows_of(
    file: io.TextIOBase,
    form: Format,
    kind: Kind,
    space: GraphSpace,
    *,
    outside: Outside = "accept",
    columns: Columns | None = None,
    goals: Goals | None = None,
) -> list[ImportedRow]:
    """The same for a file that is open, or an ``io.StringIO``; it may raise ``csv.Error``."""
    out = []
    known = columns or Columns()
    rows = _csv_rows(file) if kind == "csv" else _json_rows(file)
    for line, row in rows:
        try:
            found = None if _is_unfinished(row) else _observation(row, form, known, goals)
            if found is not None:
                good = checked_observation(space, found, outside, goals)
                broken = tuple(space.violations(good.graph))
                out.append(ImportedRow(line=line, outside=broken, **good._asdict()))
        except BoGrapeError as error:
            out.append(ImportedRow(line=line, problem=str(error)))
    return out


def _is_unfinished(row: object) -> bool:
    return isinstance(row, dict) and row.get("state") in ("queued", "pending", "failed")


def _observation(
    row: object, form: Format, columns: Columns, goals: Goals | None
) -> tuple[Graph, Any, Any]:
    if not isinstance(row, dict):
        raise InvalidInputError(str(row))
    own_text = form.name if form.name != "json" and form.name in row else "graph"
    graph_column, value_column = columns.graph or own_text, columns.value
    if goals is not None:
        return _several(row, form, graph_column, goals)
    empty = [name for name in (graph_column, value_column) if row.get(name) in (None, "")]
    if empty:
        raise InvalidInputError(
            f"expected {graph_column} and {value_column}, got nothing in {' and '.join(empty)}; "
            f"the columns are {', '.join(map(str, row))[:200]}"
        )
    noise_column = columns.noise or "noise"
    if columns.noise is not None and columns.noise not in row:
        raise InvalidInputError(
            f"expected a column {columns.noise!r} of noise; the columns are "
            f"{', '.join(map(str, row))[:200]}"
        )
    graph = form.from_plain(row[graph_column])
    return graph, _number(row, value_column), _number(row, noise_column)


def _several(
    row: Mapping[str, Any], form: Format, graph_column: str, goals: Goals
) -> tuple[Graph, dict[str, Any], dict[str, Any]]:
    """A graph with the properties that the row has, in columns or as objects of JSON."""
    flat = dict(row)
    for name, prefix in (("values", ""), ("noises", "noise_")):
        if isinstance(inner := flat.pop(name, None), Mapping):
            flat.update({f"{prefix}{key}": value for key, value in inner.items()})
    values = {name: _number(flat, name) for name in goals.names}
    if row.get(graph_column) in (None, "") or all(value is None for value in values.values()):
        raise InvalidInputError(
            f"expected {graph_column} and a value of at least one of {', '.join(goals.names)}; the "
            f"columns are {', '.join(map(str, row))[:200]}"
        )
    noises = {name: _number(flat, f"noise_{name}") for name in goals.names}
    return (
        form.from_plain(row[graph_column]),
        values,
        {name: noise for name, noise in noises.items() if noise is not None},
    )


def _number(row: Mapping[str, Any], column: str) -> float | None:
    """The number of a cell; one that is no text is for the caller to check."""
    cell = row.get(column)
    if not isinstance(cell, str):
        return cell
    if not cell.strip():
        return None
    try:
        return float(cell)
    except ValueError:
        raise InvalidInputError(f"expected a number as {column}, got {cell!r}") from None


def _json_rows(file: io.TextIOBase) -> Iterator[tuple[int, Any]]:
    """Every line with its number; a text instead of an object says what is wrong with it."""
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"the line is not JSON: {str(error)[:200]}"
            continue
        kind = type(data).__name__
        yield number, data if isinstance(data, dict) else f"expected a JSON object, got {kind}"


def _csv_rows(file: io.TextIOBase) -> Iterator[tuple[int, Any]]:
    """Every row with the number of the line it begins on."""
    csv.field_size_limit(MAX_LINE)
    reader = csv.DictReader(_lines(file))
    _ = reader.fieldnames  # reads the header
    begins = reader.line_num + 1
    for row in reader:
        yield begins, {str(key): value for key, value in row.items() if key is not None}
        begins = reader.line_num + 1


def _lines(file: io.TextIOBase) -> Iterator[str]:
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise InvalidInputError(f"a line has more than {MAX_LINE} characters")
        yield line
