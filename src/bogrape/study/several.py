"""Values of several properties: checking, telling and correcting them.

A measurement may lack some of the properties: those it has are kept and modelled, and the others
may be told later. Only a measurement with all of them has a score or a place on a front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InvalidInputError, StudyError
from ..graph import Graph
from ..properties import Goals
from ..trial import Trial, now
from .transitions import late, timed, unfinished
from .values import Measurement, as_noise, as_value

Values = Mapping[str, float]


def as_values(
    properties: Sequence[str], values: object, noise: object = None
) -> tuple[dict[str, float], dict[str, float]]:
    """Values and noises by property; properties that are missing or ``None`` are left out."""
    found, noises = as_corrections(properties, values, noise)
    known = {name: value for name, value in found.items() if value is not None}
    if not known:
        raise InvalidInputError(
            f"expected a number for at least one of {', '.join(properties)}, got {values!r:.200}; "
            "report an evaluation that gave no value with fail"
        )
    return known, {name: v for name, v in noises.items() if v is not None and name in known}


def as_corrections(
    properties: Sequence[str], values: object, noise: object = None
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Like `as_values`, with ``None`` for withdrawn values and for noise that is NaN."""
    if not isinstance(values, Mapping):
        raise InvalidInputError(
            f"expected the values of {', '.join(properties)} by name, got {values!r:.100}; try "
            f"{{{properties[0]!r}: 1.0, {properties[-1]!r}: 2.0}}"
        )
    if noise is not None and not isinstance(noise, Mapping):
        raise InvalidInputError(
            f"expected the noise of several properties by name, got {noise!r:.100}; try "
            f"noise={{{properties[0]!r}: 0.01}}"
        )
    variances = dict(noise or {})
    _refuse_unknown(properties, [*values, *variances])
    found: dict[str, float | None] = {}
    noises: dict[str, float | None] = {}
    for name, value in values.items():
        if isinstance(value, Measurement):
            variances.setdefault(name, value.noise)
            value = value.value
        try:
            found[name] = None if value is None else as_value(value)
        except InvalidInputError as error:
            raise InvalidInputError(f"property {name!r}: {error}") from None
    for name, variance in variances.items():
        if found.get(name) is None and variance is not None:
            raise InvalidInputError(f"property {name!r}: got noise without a value")
        if variance is not None:
            noises[name] = as_noise(variance)
    return found, noises


def plain_values(
    values: Mapping[Any, Any], noise: Any = None
) -> tuple[dict[str, float], dict[str, float]]:
    """Like `as_values`, for the result of an objective, when properties are not known yet."""
    names = [name for name in values if isinstance(name, str)]
    if len(names) < len(values) or not names:
        raise InvalidInputError(
            "the objective must give a finite number, or numbers by the names of properties, got "
            f"{values!r:.200}"
        )
    return as_values(names, values, noise)


def _refuse_unknown(properties: Sequence[str], names: Iterable[object]) -> None:
    unknown = [name for name in names if name not in properties]
    if unknown:
        raise InvalidInputError(
            f"unknown property {unknown[0]!r:.60}; those of the study are {', '.join(properties)}"
        )


# -- transitions (see `transitions`) ----------------------------------------------------------


def told_several(
    trial: Trial, values: Values, noises: Values, seconds: float | None = None
) -> Trial:
    """Complete with these properties; a complete trial accepts those that it lacks."""
    if trial.state == "failed":
        raise late(trial)
    for name, value in values.items():
        if name in trial.values and (trial.values[name], trial.noises.get(name)) != (
            value,
            noises.get(name, trial.noises.get(name)),
        ):
            raise StudyError(
                f"trial {trial.id} already has {name} = {trial.values[name]!r}, got {value!r}; "
                f"correct mistakes with study.correct(trial, {{{name!r}: ...}}), and record a "
                "repeated evaluation with study.add(trial.graph, values)"
            )
    if trial.state == "complete" and set(values) <= set(trial.values):
        return trial
    return replace(
        trial,
        state="complete",
        value=None,
        values={**trial.values, **values},
        noises={**trial.noises, **noises},
        reason=None,
        finished=now(),
        details=timed(trial, seconds),
    )


def corrected_several(
    trial: Trial,
    values: Mapping[str, float | None] | None,
    noises: Mapping[str, float | None],
    reason: str | None,
) -> Trial:
    """With other values of some properties, or with none at all; the old ones are kept."""
    if not trial.is_finished:
        raise unfinished(trial)
    merged: dict[str, float | None] = {} if values is None else {**trial.values, **values}
    new = {name: value for name, value in merged.items() if value is not None}
    known: dict[str, float | None] = {**trial.noises, **noises}
    variances = {name: v for name, v in known.items() if v is not None and name in new}
    if new and (trial.values, trial.noises) == (new, variances):
        return trial
    before: dict[str, Any] = {
        "values": dict(trial.values),
        "reason": trial.reason,
        "corrected": now(),
    }
    if trial.noises:
        before["noises"] = dict(trial.noises)
    if reason is not None:
        before["because"] = reason
    corrections = [*trial.details.get("corrections", []), before]
    return replace(
        trial,
        state="complete" if new else "failed",
        value=None,
        values=new,
        noises=variances,
        reason=None if new else (reason or "the values were withdrawn"),
        details={**trial.details, "corrections": corrections},
    )


# -- results ----------------------------------------------------------------------------------


def means_by_graph(
    goals: Goals, trials: Iterable[Trial], identify: Callable[[Graph], str]
) -> list[tuple[Trial, dict[str, float]]]:
    """For each different graph its first trial, and the mean value of each property.

    Weighted by accuracy, if the noise of all values of a property is known.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.values:
            groups.setdefault(identify(trial.graph), []).append(trial)
    out = []
    for group in groups.values():
        means = {}
        for name in goals.names:
            known = [trial for trial in group if name in trial.values]
            if known:
                means[name] = _mean(known, name)
        out.append((group[0], means))
    return out


def _mean(trials: list[Trial], name: str) -> float:
    values = np.array([trial.values[name] for trial in trials])
    noises = np.array([trial.noises.get(name, np.nan) for trial in trials])
    if (noises > 0).all():  # false for NaN
        return float(np.average(values, weights=noises.min() / noises))
    return float((values / len(values)).sum())


def front_of(
    goals: Goals, trials: Iterable[Trial], identify: Callable[[Graph], str]
) -> list[tuple[Trial, dict[str, float]]]:
    """The Pareto front of the graphs that were measured in full, sorted by the first property.

    Only of graphs in the space, if there are any, and of those that keep the limits.
    """
    full = measured(goals, trials, identify)
    if not full:
        return []
    rows = np.stack([goals.row(means) for _, means in full])
    chosen = [full[int(i)] for i in np.flatnonzero(goals.front(rows))]
    return sorted(chosen, key=lambda pair: (pair[1][goals.names[0]], pair[0].id))


def measured(
    goals: Goals, trials: Iterable[Trial], identify: Callable[[Graph], str]
) -> list[tuple[Trial, dict[str, float]]]:
    """Graphs that were measured in full, in the space if there are any, with their means."""
    found = means_by_graph(goals, trials, identify)
    full = [pair for pair in found if len(pair[1]) == len(goals.names)]
    return [pair for pair in full if not pair[0].outside] or full


def best_score(goals: Goals, trials: Iterable[Trial], identify: Callable[[Graph], str]) -> Trial:
    """The first trial of the graph with the best score; an error in a Pareto search."""
    if goals.is_pareto:
        raise StudyError(
            "a Pareto search has no single best graph: see study.pareto_front, or weigh the "
            "properties, e.g. study.change(combine='sum')"
        )
    full = measured(goals, trials, identify)
    if not full:
        raise StudyError(
            "no graph is measured in full yet: ask for one, evaluate it, tell the values of "
            f"{', '.join(goals.names)}"
        )
    kept = [pair for pair in full if goals.keeps_limits(goals.row(pair[1]))]
    if not kept:
        limits = " and ".join(f"{name} {limit.in_words()}" for name, limit in goals.limits.items())
        raise StudyError(
            f"none of {len(full)} graphs that were measured in full keeps the limits ({limits}) "
            "yet: ask for more, or relax them with study.change(properties=...)"
        )
    full = kept
    scores = [float(goals.scores(goals.row(means))) for _, means in full]
    return full[int(np.argmax(scores))][0]
