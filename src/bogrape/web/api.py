"""The HTTP API: endpoints, and the OpenAPI document that describes them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..display import finite
from ..files.trials import trial_data
from ..trial import STATES, package_version
from . import actions, bodies, exports, forms, views
from .actions import Server, Wanted, Who
from .errors import NotFound, Refused
from .guard import Visit, as_person, json_of
from .jobs import Cancelled, Job
from .rooms import Room

_MOST_TRIALS = 1000  # in one answer


@final
@dataclass(frozen=True, kw_only=True)
class Call:
    """A request, checked."""

    server: Server
    parts: dict[str, Any]  # of the path
    query: dict[str, str]
    body: dict[str, Any]
    who: Who

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.parts["name"])

    @property
    def room(self) -> Room:
        """The study."""
        return self.server.rooms.room(self.name)

    @property
    def trial(self) -> int:
        """Number of the trial."""
        return int(self.parts["trial"])


Answer = tuple[int, Any]


@final
@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One entry of the API."""

    method: Literal["get", "post"]
    path: str
    summary: str
    do: Callable[[Call], Answer | Job | Response]
    schema: bodies.Schema | None = None
    query: tuple[tuple[str, bodies.Schema], ...] = ()
    answers: tuple[int, ...] = (200,)


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
    """A study in short, as plain data."""
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
    seconds = body.get("seconds")
    return _trial(
        call,
        actions.fail(call.server, call.name, call.trial, body["reason"], call.who, seconds),
    )


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
        raise NotFound("there is no such job; it may have ended long ago")
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


def _document(call: Call) -> Answer:  # noqa: ARG001
    return 200, document()


_S = "/api/studies/{name}"
_T = _S + "/trials/{trial}"
ENDPOINTS = (
    Endpoint(method="get", path="/healthz", summary="Whether the server answers", do=_health),
    Endpoint(method="get", path="/openapi.json", summary="This document", do=_document),
    Endpoint(method="get", path="/api/studies", summary="All studies in short", do=_studies),
    Endpoint(
        method="post", path="/api/studies", summary="Make a study", do=_create, schema=bodies.CREATE
    ),
    Endpoint(method="get", path=_S, summary="A study and its settings", do=_study),
    Endpoint(
        method="get",
        path=_S + "/trials",
        summary="Trials, at most 1000 in one answer; next says where to go on",
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
    Endpoint(method="get", path=_S + "/jobs/{job}", summary="How far suggestions are", do=_job),
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
_REFUSALS = {
    400: "the request cannot be read",
    401: "a token is needed, or it is wrong",
    403: "not from there, or the server is read-only",
    404: "there is no such thing",
    405: "not this method",
    409: "the study cannot do this now",
    413: "the request is too large",
    415: "expected application/json",
    421: "the server does not go by that name",
    422: "the request makes no sense",
    429: "too much is being computed",
}
_PARAMETERS: dict[str, bodies.Schema] = {
    "name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,99}$"},
    "trial": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
    "job": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "kind": {"type": "string", "enum": list(exports.KINDS)},
}


def routes(server: Server) -> list[Route]:
    """The endpoints, for Starlette."""
    return [
        Route(
            endpoint.path.replace("{trial}", "{trial:int}"),
            _handler(server, endpoint),
            methods=[endpoint.method.upper()],
        )
        for endpoint in ENDPOINTS
    ]


def _handler(server: Server, endpoint: Endpoint) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        body = await _body_of(request, endpoint)
        call = Call(
            server=server,
            parts=request.path_params,
            query=dict(request.query_params),
            body=body,
            who=_who(request, body),
        )
        answer = await run_in_threadpool(endpoint.do, call)
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, Job):
            return await _answer_job(call, answer)
        status, data = answer
        return JSONResponse(data, status)

    return handle


async def _answer_job(call: Call, job: Job) -> Response:
    """The suggestions, or at once how to find them later."""
    if not call.body.get("wait", True) and not job.is_over:
        return JSONResponse({"job": job.data(), "trials": []}, 202)
    try:
        # shielded: whoever asked may hang up, and ask for the answer again
        result = await asyncio.shield(asyncio.wrap_future(job.future))
    except Cancelled:
        raise Refused("the request was cancelled", 409) from None

    def shown() -> list[dict[str, Any]]:
        with call.room.study() as study:
            trials = study.trials
        return [trial_data(trials[i], call.room.format) for i in result["trials"]]

    return JSONResponse({"job": job.data(), "trials": await run_in_threadpool(shown)})


async def _body_of(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.schema is None:
        return {}
    visit: Visit = request.state.visit
    if visit.secrets.has_token and not visit.has_key:
        visit.check_mark(request.headers.get("x-csrf-token"))
    raw = await request.body()
    if raw and request.headers.get("content-type", "").partition(";")[0].strip().lower() != (
        "application/json"
    ):
        raise Refused("expected a body of the type application/json", 415)
    found = bodies.check(json_of(raw) if raw.strip() else {}, endpoint.schema)
    assert isinstance(found, dict)  # as all schemas say
    return found


def _who(request: Request, body: dict[str, Any]) -> Who:
    visit: Visit = request.state.visit
    headers = request.headers
    given = body.get("by") or headers.get("x-bogrape-person")
    request_id = body.get("request_id") or headers.get("idempotency-key")
    if request_id is not None and not (0 < len(request_id) <= 200 and request_id.isprintable()):
        raise Refused("a request is identified by 1 to 200 printable characters", 422)
    by = as_person(given) if given else visit.person
    if given and by is None:
        raise Refused("who sends the request must be 1 to 80 printable characters", 422)
    content = {key: value for key, value in body.items() if key not in ("by", "request_id", "wait")}
    return Who(by=by, request=request_id, content={"path": request.url.path, **content})


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "BoGrape",
            "version": package_version(),
            "description": "Ask for graphs to evaluate and tell their values. Where the server has "
            "a token, send it as Authorization: Bearer <token>.",
        },
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _PARAMETERS[name]}
        for name in names
    ]
    parameters += [{"name": n, "in": "query", "schema": schema} for n, schema in endpoint.query]
    error = {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
    }
    content = {"application/json": {"schema": error}}
    responses = {
        str(status): {"description": text, "content": content} for status, text in _REFUSALS.items()
    }
    kind = {"type": "object"}
    fine: dict[str, Any] = {"description": "done"}
    if not endpoint.path.endswith("{kind}"):
        fine["content"] = {"application/json": {"schema": kind}}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": endpoint.do.__name__.strip("_"),
        "parameters": parameters,
        "responses": {**{str(status): fine for status in endpoint.answers}, **responses},
    }
    if endpoint.schema is not None:
        content = {"application/json": {"schema": endpoint.schema}}
        required = bool(endpoint.schema["required"])
        operation["requestBody"] = {"content": content, "required": required}
    return operation
