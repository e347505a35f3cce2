"""The HTTP API for robots and scripts, described by an OpenAPI document.

- `calls`: endpoints, and the requests they receive.
- `endpoints`: the actions of all endpoints.
- `openapi`: the document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...files.trials import trial_data
from .. import bodies
from ..actions import Server, Who
from ..errors import Refused
from ..guard import Visit, as_person, json_of
from ..jobs import Cancelled, Job
from .calls import Answer, Call, Endpoint
from .endpoints import ENDPOINTS as _OF_STUDIES
from .openapi import document

__all__ = ["ENDPOINTS", "routes"]


def openapi(call: Call) -> Answer:  # noqa: ARG001
    """The document that describes all endpoints."""
    return 200, document(ENDPOINTS)


ENDPOINTS = (
    *_OF_STUDIES,
    Endpoint(method="get", path="/openapi.json", summary="This document", do=openapi),
)


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
    """The suggestions, or without waiting the address of their job."""
    if not call.body.get("wait", True) and not job.is_over:
        return JSONResponse({"job": job.data(), "trials": []}, 202)
    try:
        # shielded: a client may disconnect, and ask for the answer again
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
    assert isinstance(found, dict)  # required by all schemas
    return found


def _who(request: Request, body: dict[str, Any]) -> Who:
    visit: Visit = request.state.visit
    headers = request.headers
    given = body.get("by") or headers.get("x-bogrape-person")
    request_id = body.get("request_id") or headers.get("idempotency-key")
    if request_id is not None and not (0 < len(request_id) <= 200 and request_id.isprintable()):
        raise Refused("the identifier of a request must be 1 to 200 printable characters", 422)
    by = as_person(given) if given else visit.person
    if given and by is None:
        raise Refused("the name of the sender must be 1 to 80 printable characters", 422)
    content = {key: value for key, value in body.items() if key not in ("by", "request_id", "wait")}
    return Who(by=by, request=request_id, content={"path": request.url.path, **content})
