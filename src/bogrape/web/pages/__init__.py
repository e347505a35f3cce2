"""The pages and their forms. Everything works without a script.

- `sent`: requests for pages and forms; reading and answering them.
- `looking`: pages that change nothing.
- `results`: asking for suggestions, recording results.
- `uploads`: files of measurements.
- `making`: users' own candidates, new studies.
- `people`: token, session and name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..actions import Server
from ..guard import Visit
from ..live import ALL
from . import looking, making, people, results, uploads
from .sent import Sent, error_page, read_form

__all__ = ["error_page", "routes"]

_S = "/studies/{name}"
_T = _S + "/trials/{trial:int}"
_PAGES: tuple[tuple[str, Callable[[Sent], Response]], ...] = (
    ("/", looking.home),
    ("/new", making.new_form),
    ("/login", people.login_form),
    ("/help", looking.help_page),
    (_S, looking.study),
    (_T, looking.trial),
    (_S + "/figures", looking.figures),
    (_S + "/upload", uploads.upload_form),
    (_S + "/candidate", making.candidate_form),
    (_S + "/export/{kind}", looking.export),
)
_FORMS: tuple[tuple[str, Callable[[Sent], Response]], ...] = (
    ("/new", making.new),
    ("/new/check", making.check),
    ("/logout", people.logout),
    ("/person", people.person),
    (_S + "/ask", results.ask),
    (_S + "/jobs/{job}/stop", results.stop),
    (_S + "/paste", results.paste),
    (_S + "/upload", uploads.upload),
    (_S + "/confirm", uploads.confirm),
    (_S + "/candidate", making.candidate),
    (_T + "/tell", results.tell),
    (_T + "/fail", results.fail),
    (_T + "/correct", results.correct),
    (_T + "/release", results.release),
    (_T + "/retry", results.retry),
    (_T + "/repeat", results.repeat),
    (_T + "/comment", results.comment),
)


def routes(server: Server) -> list[Route]:
    """All pages and forms, for Starlette."""
    out = [Route(path, _shows(server, do), methods=["GET"]) for path, do in _PAGES]
    out += [Route(path, _acts(server, do), methods=["POST"]) for path, do in _FORMS]
    out.append(Route("/login", _acts(server, people.login, marked=False), methods=["POST"]))
    out += [Route(path, _events(server), methods=["GET"]) for path in ("/events", _S + "/events")]
    return out


Handler = Callable[[Request], Awaitable[Response]]


def _shows(server: Server, do: Callable[[Sent], Response]) -> Handler:
    async def handle(request: Request) -> Response:
        sent = Sent(server=server, request=request, visit=request.state.visit, fields={})
        return await run_in_threadpool(do, sent)

    return handle


def _acts(server: Server, do: Callable[[Sent], Response], *, marked: bool = True) -> Handler:
    """Handler of a form; its mark is checked first."""

    async def handle(request: Request) -> Response:
        fields, file = await read_form(request)
        visit: Visit = request.state.visit
        if marked:
            visit.check_mark(fields.get("csrf") or request.headers.get("x-csrf-token"))
        sent = Sent(server=server, request=request, visit=visit, fields=fields, file=file)
        return await run_in_threadpool(do, sent)

    return handle


def _events(server: Server) -> Handler:
    async def handle(request: Request) -> Response:
        name = request.path_params.get("name", ALL)
        if name != ALL:
            await run_in_threadpool(server.rooms.room, name)
        server.live.check()
        return StreamingResponse(
            server.live.stream(name),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return handle
