"""The actions of all endpoints."""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.responses import Response

from ...display import finite
from ...files.trials import trial_data
from ...trial import STATES, package_version
from .. import actions, bodies, exports, forms, views
from ..actions import Wanted
from ..errors import NotFound, Refused
from ..jobs import Job
from ..rooms import Room
from .calls import Answer, Call, Endpoint

_MOST_TRIALS = 1000  # in one answer


def _trial(call: Call, trial: Any) -> Answer:
    return 200, trial_data(trial, call.room.format)


def _health(call: Call) -> Answer:
    call.server.rooms.names()  # raises if the database cannot be read
    return 200, {
        "status": "ok",
        "version": package_version(),
        "read_only": call.server.place.read_only,
    }


def summary(room: Room) -> dict[str, Any]:
    """Summary of a study, as plain data."""
    survey, form = room.survey(), room.format
    best = views.best_of(room)
    goals = survey.settings.goals
    return {
        "name": room.name,
        "direction": survey.settings.direction,
        "n_trials": len(survey.trials),
        "states": dict(Counter(trial.state for trial in survey.trials)),
        "properties": None if goals is None else list(goals.names),
        "best": trial_data(best[0][0], form) if best else None,
        "best_value": finite(best[0][1]) if best else None,
        "front": [trial.id for trial, _ in best] if goals is not None and goals.is_pareto else None,
        "format": form.name,
    }


def _studies(call: Call) -> Answer:
    names = call.server.rooms.names()
    return 200, {"studies": [summary(call.server.rooms.room(name)) for name in names]}


def _study(call: Call) -> Answer:
    room = call.room
    settings = room.survey().settings.to_dict()
    return 200, {**summary(room), "settings": settings, "jobs": _jobs_of(call)}


def _jobs_of(call: Call) -> list[dict[str, Any]]:
    return [job.data() for job in call.server.asks.of(call.name)]


def _trials(call: Call) -> Answer:
    survey, form = call.room.survey(), call.room.format
    state, start = call.query.get("state"), call.query.get("from", "0")
    if state is not None and state not in STATES:
        raise Refused(f"state must be one of {', '.join(STATES)}, got {state!r:.60}", 422)
    if not (start.isdecimal() and start.isascii() and len(start) < 12):
        raise Refused(f"from must be the number of a trial, got {start!r:.60}", 422)
    chosen = [t for t in survey.trials[int(start) :] if state in (None, t.state)]
    shown = chosen[:_MOST_TRIALS]
    more = shown[-1].id + 1 if len(chosen) > len(shown) else None
    return 200, {"trials": [trial_data(t, form) for t in shown], "next": more}


def _one_trial(call: Call) -> Answer:
    with call.room.study() as study:
        trial = actions.find(study, call.trial)
    return _trial(call, trial)


def _ask(call: Call) -> Job:
    body = call.body
    wanted = Wanted(
        n=int(body.get("n", 1)),
        time_limit=body.get("time_limit"),
        worker=body.get("worker"),
        rules=body.get("rules", ()),
    )
    return actions.ask(call.server, call.name, wanted, call.who)


def _tell(call: Call) -> Answer:
    body = call.body
    told = actions.tell(
        call.server,
        call.name,
        call.trial,
        body["value"],
        call.who,
        noise=body.get("noise"),
        seconds=body.get("seconds"),
    )
    return _trial(call, told)


def _fail(call: Call) -> Answer:
    body = call.body
    failed = actions.fail(
        call.server,
        call.name,
        call.trial,
        body["reason"],
        call.who,
        seconds=body.get("seconds"),
        about_graph=body.get("about_graph", True),
    )
    return _trial(call, failed)


def _correct(call: Call) -> Answer:
    body = call.body
    corrected = actions.correct(
        call.server,
        call.name,
        call.trial,
        body["value"],
        call.who,
        noise=body.get("noise"),
        reason=body.get("reason"),
    )
    return _trial(call, corrected)


def _release(call: Call) -> Answer:
    reason = call.body.get("reason")
    return _trial(call, actions.release(call.server, call.name, call.trial, call.who, reason))


def _retry(call: Call) -> Answer:
    return _trial(call, actions.retry(call.server, call.name, call.trial, call.who))


def _repeat(call: Call) -> Answer:
    return _trial(call, actions.repeat(call.server, call.name, call.trial, call.who))


def _comment(call: Call) -> Answer:
    text = call.body["text"]
    return _trial(call, actions.comment(call.server, call.name, call.trial, text, call.who))


def _candidate(call: Call) -> Answer:
    body = call.body
    graph = actions.read_graph(call.room, body["graph"])
    made = actions.add_candidate(
        call.server,
        call.name,
        graph,
        call.who,
        body.get("value"),
        body.get("noise"),
    )
    return _trial(call, made)


def _observations(call: Call) -> Answer:
    found = []
    for i, row in enumerate(call.body["observations"]):
        try:
            graph = actions.read_graph(call.room, row["graph"])
        except ValueError as error:
            raise Refused(f"observation {i}: {error}", 422) from None
        found.append((graph, row["value"], row.get("noise")))
    outside = call.body.get("outside", "accept")
    added = actions.add_observations(call.server, call.name, found, call.who, outside)
    return 200, {"trials": [trial.id for trial in added]}


def _create(call: Call) -> Answer:
    fields = {**call.body["form"], "name": call.body["name"]}
    problems = actions.checked_form(call.server, fields, 1)["problems"]
    if problems:
        raise Refused("; ".join(": ".join(filter(None, pair)) for pair in problems), 422)
    name, settings = forms.study_of(fields)
    return 200, summary(actions.create(call.server, name, settings))


def _find_job(call: Call) -> Job:
    job = call.server.asks.find(call.parts["job"])
    if job is None or job.study != call.room.name:
        raise NotFound("there is no such job; it may have ended too long ago")
    return job


def _job(call: Call) -> Answer:
    return 200, _find_job(call).data()


def _stop(call: Call) -> Answer:
    job = _find_job(call)
    if call.body.get("take", True):
        call.server.asks.enough(job)
    else:
        actions.cancel(call.server, job, call.who)
    return 200, job.data()


def _export(call: Call) -> Response:
    return exports.export(call.room, call.parts["kind"])


_S = "/api/studies/{name}"
_T = _S + "/trials/{trial}"
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(method="get", path="/healthz", summary="Health of the server", do=_health),
    Endpoint(method="get", path="/api/studies", summary="Summaries of all studies", do=_studies),
    Endpoint(
        method="post",
        path="/api/studies",
        summary="Create a study",
        do=_create,
        schema=bodies.CREATE,
    ),
    Endpoint(method="get", path=_S, summary="A study and its settings", do=_study),
    Endpoint(
        method="get",
        path=_S + "/trials",
        summary="Trials, at most 1000 per answer; next is the number to continue from",
        do=_trials,
        query=(
            ("state", {"type": "string", "enum": list(STATES)}),
            ("from", {"type": "integer", "minimum": 0, "maximum": 99_999_999_999}),
        ),
    ),
    Endpoint(method="get", path=_T, summary="A trial", do=_one_trial),
    Endpoint(
        method="post",
        path=_S + "/ask",
        summary="Suggestions: graphs to evaluate, as pending trials",
        do=_ask,
        schema=bodies.ASK,
        answers=(200, 202),
    ),
    Endpoint(
        method="post",
        path=_T + "/tell",
        summary="Record the value of a trial",
        do=_tell,
        schema=bodies.TELL,
    ),
    Endpoint(
        method="post",
        path=_T + "/fail",
        summary="Record that a trial gave no value",
        do=_fail,
        schema=bodies.FAIL,
    ),
    Endpoint(
        method="post",
        path=_T + "/correct",
        summary="Replace the value of a trial; null withdraws it",
        do=_correct,
        schema=bodies.CORRECT,
    ),
    Endpoint(
        method="post",
        path=_T + "/release",
        summary="Give back a pending trial",
        do=_release,
        schema=bodies.RELEASE,
    ),
    Endpoint(
        method="post",
        path=_T + "/retry",
        summary="Queue a failed trial again",
        do=_retry,
        schema=bodies.EMPTY,
    ),
    Endpoint(
        method="post",
        path=_T + "/repeat",
        summary="Queue another evaluation of the graph of a trial",
        do=_repeat,
        schema=bodies.EMPTY,
    ),
    Endpoint(
        method="post",
        path=_T + "/comments",
        summary="Comment on a trial",
        do=_comment,
        schema=bodies.COMMENT,
    ),
    Endpoint(
        method="post",
        path=_S + "/candidates",
        summary="Add a graph of your own: with its value, or to be handed out next",
        do=_candidate,
        schema=bodies.CANDIDATE,
    ),
    Endpoint(
        method="post",
        path=_S + "/observations",
        summary="Add measurements, all or none",
        do=_observations,
        schema=bodies.OBSERVATIONS,
    ),
    Endpoint(method="get", path=_S + "/jobs/{job}", summary="Progress of suggestions", do=_job),
    Endpoint(
        method="post",
        path=_S + "/jobs/{job}/stop",
        summary="Take what was found with the bound proved so far, or cancel (take = false)",
        do=_stop,
        schema=bodies.STOP,
    ),
    Endpoint(
        method="get",
        path=_S + "/export/{kind}",
        summary="All trials as csv, json, sdf or ipynb",
        do=_export,
    ),
)
