"""Trials written to files: CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..study import Trial
from .formats import Format
from .observations import Kind
from .output import trial_data


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


def _flat(trial: Trial, form: Format) -> dict[str, Any]:
    """A trial as one row of cells."""
    row = trial_data(trial, form)
    row["graph"] = form.encode(trial.graph)
    row.pop("predictions", None)  # they are part of the certificate
    row.update(row.pop("values", {}))
    row.update({f"noise_{name}": noise for name, noise in row.pop("noises", {}).items()})
    for name in ("certificate", "hyperparameters", "details"):
        inner = row.pop(name)
        row.update({f"{name}_{key}": value for key, value in inner.items()})
    return row
