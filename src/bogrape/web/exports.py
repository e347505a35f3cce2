"""All trials of a study as a file: CSV, JSON, SDF, or a notebook that continues from them."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from ..files.trials import render, trial_data
from ..report.survey import Survey
from ..trial import Trial
from .errors import NotFound, Refused
from .rooms import Room

KINDS = ("csv", "json", "sdf", "ipynb")
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "sdf": "chemical/x-mdl-sdfile",
    "ipynb": "application/x-ipynb+json",
}
_FORMULA = ("=", "+", "-", "@", "\t")


def export(room: Room, kind: str) -> Response:
    """The file as a download."""
    if kind not in KINDS:
        raise NotFound(f"there is no export {kind!r:.20}; there are {', '.join(KINDS)}")
    make = {"csv": _csv, "json": _json, "sdf": _sdf, "ipynb": _notebook}[kind]
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in room.name)
    return Response(
        make(room, room.survey()),
        media_type=_TYPES[kind],
        headers={"content-disposition": f'attachment; filename="{name}.{kind}"'},
    )


def _csv(room: Room, survey: Survey) -> str:
    return render(map(_harmless, survey.trials), room.format, "csv")


def _harmless(trial: Trial) -> Trial:
    """The trial without texts that a spreadsheet would read as a formula."""
    return replace(trial, reason=_plain(trial.reason), worker=_plain(trial.worker))


def _plain(text: str | None) -> str | None:
    return f"'{text}" if text is not None and text.startswith(_FORMULA) else text


def _json(room: Room, survey: Survey) -> str:
    trials = [trial_data(trial, room.format) for trial in survey.trials]
    data = {"name": room.name, "settings": survey.settings.to_dict(), "trials": trials}
    return json.dumps(data, allow_nan=False, indent=1)


def _sdf(room: Room, survey: Survey) -> str:
    if survey.space.domain is None or survey.space.domain.name != "molecules":
        raise Refused("an SDF file holds molecules, and this study has none; take CSV", 409)
    from ..molecules.sdf import sdf_text

    known = []
    for trial in survey.trials:
        facts: dict[str, Any] = {
            "name": f"{room.name} trial {trial.id}",
            "state": trial.state,
            "value": trial.value,
            "noise": trial.noise,
            "origin": trial.origin,
            "reason": trial.reason,
        }
        if trial.predicted is not None:
            facts["predicted_mean"], facts["predicted_std"] = trial.predicted
        facts |= {f"value of {name}": value for name, value in trial.values.items()}
        known.append({name: str(value) for name, value in facts.items() if value is not None})
    return sdf_text([trial.graph for trial in survey.trials], known)


def _notebook(room: Room, survey: Survey) -> str:
    """A notebook that contains the observations, so that it needs no database."""
    observations = [
        [json.loads(trial.graph.to_json()), *_measured(trial)] for trial in survey.complete
    ]
    of = "" if survey.goals is None else f"of={survey.goals.names[0]!r}"
    settings = survey.settings.to_dict()
    load = [
        "import json",
        "",
        "from bogrape import Graph, Study",
        "from bogrape.study import StudySettings",
        "",
        f"settings = json.loads({json.dumps(settings)!r})",
        f"observations = json.loads({json.dumps(observations)!r})",
        f"study = Study.open(None, {room.name!r}, StudySettings.from_dict(settings))",
        "study.add_all([(Graph.from_json(json.dumps(g)), y, v) for g, y, v in observations])",
        "study",
    ]
    cells = [
        _cell(
            "markdown",
            [
                f"# {room.name}",
                "",
                f"{len(observations)} observations, contained in this notebook. To continue "
                "the study itself, open its database: `Study.load(storage, name)`.",
            ],
        ),
        _cell("code", load),
        _cell("code", [_best_of(survey)]),
        _cell("code", ["study.plot.convergence()"]),
        _cell("code", [f"study.plot.predictions({of})"]),
        _cell("code", ["study.ask(time_limit=5)"]),
    ]
    return json.dumps(
        {
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
    )


def _measured(trial: Trial) -> tuple[Any, Any]:
    """Value and variance of a trial, or those of each of several properties."""
    if trial.values:
        return dict(trial.values), dict(trial.noises) or None
    return trial.value, trial.noise


def _best_of(survey: Survey) -> str:
    """The line of code that shows the result."""
    is_front = survey.goals is not None and survey.goals.is_pareto
    return "study.pareto_front" if is_front else "study.best"


def _cell(kind: str, lines: list[str]) -> dict[str, Any]:
    source = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"{kind}-{zlib.crc32(chr(10).join(lines).encode()):08x}",
        "metadata": {},
        "source": source,
        **code,
    }
