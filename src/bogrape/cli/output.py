"""Trials and studies as text for people and as JSON for scripts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from ..display import finite, printable
from ..errors import StudyError
from ..files.formats import Format
from ..files.observations import ImportedRow
from ..files.trials import trial_data
from ..gp import in_words
from ..kernels import get_kernel
from ..study import Study, Trial
from ..study.words import (
    expectation_in_words,
    failures_in_words,
    repeat_in_words,
    suspicious_in_words,
)
from .config import StudyFile


def print_trial(trial: Trial, form: Format, as_json: bool) -> None:
    """Print a trial in one line."""
    if as_json:
        print_json(trial_data(trial, form))
        return
    words = [f"trial {trial.id}", trial.state]
    for name, found in trial.values.items():
        noise = trial.noises.get(name)
        words.append(f"{name} {found:g}" + ("" if noise is None else f" (noise {noise:g})"))
    if trial.values and trial.value is not None:
        words.append(f"score {trial.value:g}")
    elif trial.value is not None:
        words.append(f"value {trial.value:g}")
        if trial.noise is not None:
            words.append(f"noise {trial.noise:g}")
    elif trial.reason and not trial.values:
        words.append(f"({_line(trial.reason)})")
    for name, (mean, std) in trial.predictions.items():
        words.append(f"predicted {name} {mean:.4g} ± {std:.2g}")
    if trial.predicted is not None and not trial.predictions:
        mean, std = trial.predicted
        words.append(f"predicted {mean:.4g} ± {std:.2g}")
    words += filter(None, (expectation_in_words(trial), repeat_in_words(trial)))
    if isinstance(acquisition := trial.certificate.get("value"), float):
        words.append(f"acquisition {acquisition:.4g}")
    click.echo("  ".join([*words, form.encode(trial.graph)]))


def status_data(study: Study, file: StudyFile) -> dict[str, Any]:
    """Status of a study as plain data."""
    trials = study.trials
    return {
        "name": study.name,
        "direction": study.settings.direction,
        **_front(study, file),
        "n_trials": file.n_trials,
        "states": dict(Counter(trial.state for trial in trials)),
        "best": None if (best := _best(study)) is None else trial_data(best, file.format),
        "model": _model(study),
        "pending": [
            {"id": trial.id, "worker": trial.worker, "asked": trial.asked}
            for trial in trials
            if trial.state == "pending"
        ],
        "failures": dict(
            Counter(trial.reason or "" for trial in trials if trial.state == "failed").most_common(
                5
            )
        ),
        "learnt": [
            said for said in (failures_in_words(trials), suspicious_in_words(trials)) if said
        ],
        "seconds": {
            "fit": _total(trials, "fit_seconds"),
            "propose": _total(trials, "seconds"),
            "evaluate": sum(trial.evaluation_seconds or 0.0 for trial in trials),
        },
    }


def _front(study: Study, file: StudyFile) -> dict[str, Any]:
    """The Pareto front of several properties, and its hypervolume if a reference is given."""
    goals = study.settings.goals
    if goals is None:
        return {}
    out: dict[str, Any] = {"combine": goals.combine, "properties": list(goals.names)}
    if goals.is_pareto:
        out["pareto_front"] = [trial_data(trial, file.format) for trial in study.pareto_front]
        out["hypervolume"] = None if goals.reference is None else study.hypervolume()
    return out


def _best(study: Study) -> Trial | None:
    try:
        return study.best
    except StudyError:  # no values yet, or a Pareto search
        return None


def print_status(study: Study, file: StudyFile, as_json: bool) -> None:
    """Print the status of a study."""
    data = status_data(study, file)
    if as_json:
        print_json(data)
        return
    states, best, seconds = data["states"], data["best"], data["seconds"]
    done = sum(t.is_finished and t.origin != "added" for t in study.trials)
    goal = data["direction"] if study.settings.goals is None else study.settings.goals.in_words()
    click.echo(f"study {study.name} ({goal}): {done} of {file.n_trials} evaluations")
    click.echo("  " + (", ".join(f"{n} {state}" for state, n in states.items()) or "no trials yet"))
    for trial in data.get("pareto_front", []):
        known = ", ".join(f"{name} {value:g}" for name, value in trial["values"].items())
        click.echo(f"  on the front: trial {trial['id']}, {known}, {_line(trial['graph'])}")
    if data.get("hypervolume") is not None:
        click.echo(f"  hypervolume {data['hypervolume']:g}")
    if best is not None:
        click.echo(f"  best value {best['value']:g} (trial {best['id']})")
        click.echo(f"  best {study.space.nouns.graph} {file.format.encode(study.best.graph)}")
    if data["model"] is not None:
        click.echo(f"  model {data['model']}")
    if seconds["evaluate"]:
        click.echo("  seconds " + ", ".join(f"{k} {v:.3g}" for k, v in seconds.items()))
    for trial in data["pending"]:
        worker, asked = _line(trial["worker"]), _line(trial["asked"])
        click.echo(f"  pending: trial {trial['id']}, worker {worker}, {asked}")
    for said in data["learnt"]:
        click.echo(f"  {said}")
    for reason, n in data["failures"].items():
        click.echo(f"  failed {n} times: {_line(reason)[:200]}")


def _model(study: Study) -> str | None:
    """Description of the model of the last proposal; ``None`` without one, or for a surrogate."""
    fitted = [trial.hyperparameters for trial in study.trials if "noise" in trial.hyperparameters]
    if study.settings.goals is not None:
        return _models(study)
    if study.settings.surrogate is not None or not fitted:
        return None
    return _line(in_words(get_kernel(study.settings.kernel), fitted[-1], study.space.n_labels))


def _models(study: Study) -> str | None:
    """Descriptions of the models of several properties, one after another."""
    goals, settings = study.settings.goals, study.settings
    assert goals is not None
    fitted = [trial.hyperparameters for trial in study.trials if trial.hyperparameters]
    lines = []
    for name in goals.names if fitted else ():
        prefix = f"{name}: "
        own = {k.removeprefix(prefix): v for k, v in fitted[-1].items() if k.startswith(prefix)}
        if "noise" in own:
            words = in_words(get_kernel(settings.kernel), own, study.space.n_labels)
            lines.append(f"of {name}: {_line(words)}")
    return " ".join(lines) or None


def _line(text: object) -> str:
    """A text from the database on one line, without terminal control sequences."""
    return " ".join(printable(text).split())


def print_preview(rows: Sequence[ImportedRow], form: Format, as_json: bool) -> None:
    """Print what an import would do with each row of a file."""
    if as_json:
        print_json(
            [
                {
                    "line": row.line,
                    "graph": None if row.graph is None else form.plain(row.graph),
                    "value": row.value,
                    "noise": row.noise,
                    **({"values": row.values, "noises": row.noises} if row.values else {}),
                    "outside": list(row.outside),
                    "problem": row.problem,
                }
                for row in rows
            ]
        )
        return
    for row in rows:
        if row.problem is not None or row.graph is None:
            click.echo(f"line {row.line}  bad  {_line(row.problem)}")
            continue
        fate = f"outside ({'; '.join(row.outside)})" if row.outside else "inside"
        value = ", ".join(f"{name} {found:g}" for name, found in row.values.items())
        if not row.values:
            noise = "" if row.noise is None else f" (noise {row.noise:g})"
            value = f"{row.value:g}{noise}"
        click.echo(f"line {row.line}  {value}  {form.encode(row.graph)}  {_line(fate)}")
    bad = sum(row.problem is not None for row in rows)
    outside = sum(bool(row.outside) for row in rows)
    click.echo(
        f"{len(rows) - bad} of {len(rows)} rows can be imported, {outside} of them from outside "
        f"the space; {bad} cannot. Nothing was imported"
    )


def print_json(data: Any) -> None:
    """One line of JSON on standard output."""
    click.echo(json.dumps(data, allow_nan=False))


def _total(trials: tuple[Trial, ...], key: str) -> float:
    return sum(finite(trial.certificate.get(key)) or 0.0 for trial in trials)
