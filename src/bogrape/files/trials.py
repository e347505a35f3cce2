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


def trial_data(trial: Trial, form: Format) -> dict[str, Any]:
    """A trial as plain data."""
    return {
        "id": trial.id,
        "state": trial.state,
        "value": trial.value,
        "noise": trial.noise,
        **_several(trial),
        "graph": form.plain(trial.graph),
        "origin": trial.origin,
        "worker": trial.worker,
        "attempts": trial.attempts,
        "reason": trial.reason,
        "seed": trial.seed,
        "certificate": dict(trial.certificate),
        "hyperparameters": dict(trial.hyperparameters),
        "predicted": _predicted(trial),
        "outside": list(trial.outside),
        "details": dict(trial.details),
        "created": trial.created,
        "asked": trial.asked,
        "finished": trial.finished,
        "evaluation_seconds": trial.evaluation_seconds,
        "version": trial.version,
    }


def _several(trial: Trial) -> dict[str, Any]:
    """Values and predictions of several properties, for trials that have some."""
    out: dict[str, Any] = {}
    if trial.values:
        out = {"values": dict(trial.values), "noises": dict(trial.noises)}
    if trial.predictions:
        out["predictions"] = {
            name: {"mean": mean, "std": std} for name, (mean, std) in trial.predictions.items()
        }
    return out


def _predicted(trial: Trial) -> dict[str, float] | None:
    if trial.predicted is None:
        return None
    mean, std = trial.predicted
    return {"mean": mean, "std": std}
