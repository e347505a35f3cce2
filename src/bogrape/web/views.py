"""Content of the templates: studies and trials as plain data and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from ..constraints.words import capitalised
from ..display import printable
from ..errors import StudyError
from ..report import words
from ..report.picture import graph_html, legend_html
from ..report.survey import Certificate, Survey
from ..report.text import duration, number, plus_minus, shown
from ..space import GraphSpace
from ..study import Trial
from ..study.words import expectation_in_words, repeat_in_words
from .rooms import Room
from .tradeoff import tradeoffs

_PER_PAGE = 50
_MOST_PENDING = 60
_BEST = 6
_FRONT = 24
_DID = {
    "ask": "asked for it",
    "tell": "told the value",
    "fail": "reported a failure",
    "correct": "corrected the value",
    "release": "gave it back",
    "cancel": "cancelled the request, and it was given back",
    "retry": "queued it again",
    "repeat": "asked for a repetition",
    "add": "added it with its value",
    "suggest": "suggested it",
    "import": "imported it",
    "comment": "commented",
}
_STATES = {
    "queued": "waits to be handed out",
    "pending": "is being evaluated",
    "complete": "done",
    "failed": "failed",
}


def picture(room: Room, trial: Trial, size: int) -> Markup:
    """Picture of the graph of a trial; drawn once and cached."""
    key = (trial.id, size)
    if key not in room.pictures:
        look = room.survey().look
        room.pictures[key] = Markup(graph_html(trial.graph, look, size=size))
    drawn: Markup = room.pictures[key]
    return drawn


def trial_view(room: Room, trial: Trial, size: int = 160) -> dict[str, Any]:
    """Summary of a trial."""
    survey = room.survey()
    found = survey.certificate(trial)
    names = list(survey.settings.goals.names) if survey.settings.goals else []
    return {
        "id": trial.id,
        "state": trial.state,
        "state_words": _STATES[trial.state],
        "value": value_in_words(trial) if trial.values or trial.value is not None else None,
        "properties": names,
        "predicted_lines": _predicted_lines(trial, found),
        "to_tell": [name for name in names if name not in trial.values],
        "noise": None if trial.noise is None else number(trial.noise**0.5, 3),
        "predicted": _predicted(trial, found),
        "text": survey.look.text(trial.graph),
        "origin": words.ORIGINS[trial.origin],
        "worker": shown(trial.worker, 60) if trial.worker else "",
        "by": _last_by(trial),
        "asked": when(trial.asked),
        "reason": shown(trial.reason, 300) if trial.reason else "",
        "outside": bool(trial.outside),
        "n_comments": sum(entry.get("action") == "comment" for entry in trial.log),
        "picture": picture(room, trial, size),
    }


def _last_by(trial: Trial) -> str:
    names = [entry["by"] for entry in trial.log if isinstance(entry.get("by"), str)]
    return shown(names[-1], 60) if names else ""


def when(stamp: object) -> str:
    """A time in readable form; empty for anything else."""
    if not isinstance(stamp, str):
        return ""
    try:
        return datetime.fromisoformat(stamp).strftime("%d %b %Y, %H:%M UTC")
    except ValueError:
        return ""


def broken_in_words(space: GraphSpace, broken: Sequence[str]) -> list[str]:
    """The rules that a graph breaks, as sentences where possible."""
    known = {rule.name: rule for rule in space.rules}
    return [
        shown(known[name].describe(space.nouns) if name in known else name, 300) for name in broken
    ]


def best_of(room: Room) -> list[tuple[Trial, float | None]]:
    """The best trials with their values, best first; for several properties, the front."""

    def find() -> list[tuple[Trial, float | None]]:
        survey = room.survey()
        goals = survey.settings.goals
        if goals is None:
            return list(survey.ranked)
        with room.study() as study:
            try:
                if goals.is_pareto:
                    return [(trial, None) for trial in study.pareto_front]
                return [(study.best, study.best.value)]
            except StudyError:  # nothing is complete yet
                return []

    return room.kept("best", find)


def value_in_words(trial: Trial, mean: float | None = None) -> str:
    """The value of a trial, or of each property."""
    if trial.values:
        return ", ".join(f"{shown(name, 60)} {number(v, 4)}" for name, v in trial.values.items())
    return number(trial.value if mean is None else mean, 6)


def _predicted(trial: Trial, found: Certificate) -> str | None:
    return ", ".join(_predicted_lines(trial, found)) or None


def _predicted_lines(trial: Trial, found: Certificate) -> list[str]:
    """The prediction, or that of each property."""
    if trial.predictions:
        return [f"{shown(n, 60)} {plus_minus(*pair)}" for n, pair in trial.predictions.items()]
    return [] if found.predicted is None else [plus_minus(*found.predicted)]


def _goal(survey: Survey) -> str:
    """The aim of the study."""
    return shown(capitalised(words.goal_in_words(survey)), 600)


def _best_value(survey: Survey, best: list[tuple[Trial, float | None]]) -> str | None:
    """The best value; in a Pareto search, the number of trials on the front."""
    goals = survey.settings.goals
    if goals is not None and goals.is_pareto:
        return f"{len(best)} graph{'' if len(best) == 1 else 's'}" if best else None
    return value_in_words(*best[0]) if best else None


def _name_of_best(survey: Survey) -> str:
    """Caption of the best value."""
    if survey.goals is None:
        return "Best value"
    return "On the front" if survey.goals.is_pareto else "Best score"


def _kind_of_best(survey: Survey) -> str:
    goals = survey.settings.goals
    return (
        "The trade-off: none of these is beaten in every property"
        if (goals is not None and goals.is_pareto)
        else "The best"
    )


def _tradeoffs(room: Room) -> list[Markup]:
    """Drawings of the trade-off between properties; none in a study of one value."""
    survey = room.survey()
    if survey.goals is None:
        return []
    front = {trial.id for trial, _ in best_of(room)}
    base = f"/studies/{quote(room.name, safe='')}/trials/"
    return tradeoffs(survey.goals.names, survey.complete, front, lambda trial: f"{base}{trial}")


def study_card(room: Room) -> dict[str, Any]:
    """Summary of a study for the list of studies."""
    survey = room.survey()
    best = best_of(room)
    states = Counter(trial.state for trial in survey.trials)
    stamps = [s for t in survey.trials for s in (t.finished, t.asked, t.created) if s]
    return {
        "name": room.name,
        "goal": _goal(survey),
        "states": states,
        "n_complete": states["complete"],
        "best_name": _name_of_best(survey),
        "best_value": _best_value(survey, best),
        "best": trial_view(room, best[0][0], 150) if best else None,
        "last": when(max(stamps, default=None)),
    }


def study_view(room: Room, page: int = 1) -> dict[str, Any]:
    """Content of a study's page that needs no fitted model."""
    survey = room.survey()
    trials = survey.trials
    pending = [trial for trial in trials if trial.state == "pending"]
    n_pages = max(1, -(-len(trials) // _PER_PAGE))
    page = min(max(page, 1), n_pages)
    latest = list(reversed(trials))[(page - 1) * _PER_PAGE : page * _PER_PAGE]
    proposals = survey.proposals
    legend = legend_html(survey.look)
    best = best_of(room)
    shown_trials = [trial_view(room, trial, 80) for trial in latest]
    return {
        "name": room.name,
        "goal": _goal(survey),
        "progress": words.progress_in_words(survey),
        "improvement": words.improvement_in_words(survey) if survey.best is not None else "",
        "certificate": words.certificate_in_words(survey, proposals[-1]) if proposals else "",
        "direction": survey.settings.direction,
        "states": Counter(trial.state for trial in trials),
        "n_complete": len(survey.complete),
        "best_name": _name_of_best(survey),
        "best_value": _best_value(survey, best),
        "best_title": _kind_of_best(survey),
        "tradeoffs": _tradeoffs(room),
        "best": [
            {**trial_view(room, trial, 190), "mean": value_in_words(trial, value)}
            for trial, value in best[: _BEST if survey.settings.goals is None else _FRONT]
        ],
        "pending": [trial_view(room, trial, 190) for trial in pending[-_MOST_PENDING:]],
        "n_more_pending": max(0, len(pending) - _MOST_PENDING),
        "trials": shown_trials,
        "page": page,
        "n_pages": n_pages,
        "rules": words.space_in_words(survey.space),
        "changes": words.changes_in_words(survey.changes),
        "legend": Markup(legend),
        "nouns": survey.look.nouns,
        "text_name": survey.look.text_name,
        "labels": [survey.look.name(a) for a in range(survey.space.n_labels)]
        if survey.space.n_labels > 1 or survey.space.label_names
        else [],
        "has_people": any(view["by"] or view["worker"] for view in shown_trials),
        "properties": list(survey.goals.names) if survey.goals else [],
        "is_molecular": survey.space.domain is not None and survey.space.domain.name == "molecules",
        "sites": list(survey.space.nodes or ()),
        "time_limit": min(survey.settings.time_limit, 86400.0),
    }


def trial_page(room: Room, trial: Trial) -> dict[str, Any]:
    """Content of a trial's page."""
    survey = room.survey()
    view = trial_view(room, trial, 420)
    used = sorted(set(trial.graph.labels.tolist()))
    return {
        **view,
        "why": why(survey, trial),
        "facts": _facts(survey, trial),
        "events": events(trial),
        "comments": [event for event in events(trial) if event["is_comment"]],
        "title": f"{capitalised(survey.look.nouns.graph)} of trial {trial.id}",
        "legend": Markup(legend_html(survey.look, used)),
        "json": trial.graph.to_json(),
        "is_last": trial.id == len(survey.trials) - 1,
        "nouns": survey.look.nouns,
    }


def why(survey: Survey, trial: Trial) -> list[str]:
    """Sentences on why this graph was chosen."""
    found, out = survey.certificate(trial), []
    match trial.origin:
        case "initial":
            out.append(
                "It belongs to the initial design, which covers the space before anything is known."
            )
        case "random":
            out.append("It was drawn at random: too few values are known, or too few graphs left.")
        case "queued":
            out.append("Somebody suggested it.")
        case "added":
            out.append("It was measured before, or elsewhere.")
        case "repeat":
            out.append("It repeats an earlier evaluation, to separate noise from signal.")
        case _:
            out.append(
                "The model proposed it: among all graphs considered, it had the best acquisition "
                f"value, {found.value_in_words}."
            )
            out.append(words.certificate_in_words(survey, trial, "It"))
    for said in (expectation_in_words(trial), repeat_in_words(trial)):
        if said is not None:
            out.append(f"It was {said}.")
    for entry in trial.log:
        if entry.get("action") == "ask" and isinstance(entry.get("note"), str):
            out.append(f"It was requested with additional rules: {shown(entry['note'], 2000)}")
    return out


def _facts(survey: Survey, trial: Trial) -> list[tuple[str, str]]:
    found, seconds = survey.certificate(trial), trial.evaluation_seconds
    graph, nouns = trial.graph, survey.look.nouns
    facts = [("State", f"{trial.state} ({_STATES[trial.state]})")]
    for name, measured in trial.values.items():
        facts.append((capitalised(shown(name, 60)), number(measured, 6)))
    if trial.value is not None:
        facts.append(("Score" if trial.values else "Value", number(trial.value, 6)))
    if trial.noise is not None:
        facts.append(("Standard deviation of the value", number(trial.noise**0.5, 3)))
    if (predicted := _predicted(trial, found)) is not None:
        facts.append(("Predicted beforehand", predicted))
    if trial.reason:
        facts.append(("Reason", shown(trial.reason, 2000)))
    if trial.outside:
        broken = broken_in_words(survey.space, trial.outside)
        facts.append(("Outside the space, which requires", " ".join(broken)))
    facts.append((capitalised(nouns.nodes), str(graph.n_nodes)))
    facts.append((capitalised(nouns.edges), str(graph.n_edges)))
    if text := survey.look.text(graph):
        facts.append((str(survey.look.text_name), text))
    if found.gap is not None:
        facts.append(("Gap of the proof", found.gap_in_words))
    known = trial.certificate.get("n_observations")
    if isinstance(known, int):
        used = trial.certificate.get("n_used")
        part = f"{used} of {known}" if isinstance(used, int) and used < known else str(known)
        facts.append(("Observations used by the model", part))
    if seconds is not None:
        facts.append(("Time of the evaluation", duration(seconds)))
    if trial.worker:
        facts.append(("Worker", shown(trial.worker, 200)))
    return facts


def events(trial: Trial) -> list[dict[str, Any]]:
    """Events of a trial, oldest first."""
    out: list[dict[str, Any]] = [_event(trial.created, "", "made")] if trial.created else []
    signed = {entry.get("action") for entry in trial.log}
    if trial.asked and not signed & {"ask"}:
        out.append(_event(trial.asked, trial.worker or "", "handed out"))
    for entry in trial.log:
        action = entry.get("action")
        note = entry.get("note")
        out.append(
            _event(
                entry.get("time"),
                entry.get("by") or "",
                _DID.get(str(action), shown(action, 40)),
                note if isinstance(note, str) and action != "ask" else "",
                is_comment=action == "comment",
            )
        )
    failures = trial.details.get("failures")
    for failure in failures if isinstance(failures, list) else []:
        if isinstance(failure, Mapping):
            reason = shown(failure.get("reason"), 300)
            out.append(_event(failure.get("finished"), "", f"failed: {reason}"))
    for old in trial.history:
        said = shown(old.get("because") or "", 300)
        before = old.get("value")
        text = f"corrected; it was {before if before is None else number(float(before), 6)}"
        out.append(_event(old.get("corrected"), "", f"{text} {said}".rstrip()))
    if trial.finished and not signed & {"tell", "fail"}:
        out.append(_event(trial.finished, trial.worker or "", trial.state))
    return sorted(out, key=lambda event: event["stamp"])


def _event(
    stamp: object, by: object, what: str, note: str = "", *, is_comment: bool = False
) -> dict[str, Any]:
    return {
        "stamp": stamp if isinstance(stamp, str) else "",
        "when": when(stamp),
        "by": shown(by, 80),
        "what": what,
        "note": printable(note)[:4000],
        "is_comment": is_comment,
    }
