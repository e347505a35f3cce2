"""The complete application, for a server or for tests."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import BoGrapeError
from ..storage import open_storage
from . import api, pages
from .actions import Server
from .errors import Refused, status_of
from .guard import Guard, Place
from .jobs import Cancelled, Job, JobFailed, Jobs
from .live import ALL, Live
from .rooms import Rooms
from .tokens import Secrets

logger = logging.getLogger(__name__)
_STATIC = {"app.css": "text/css", "app.js": "text/javascript", "editor.js": "text/javascript"}
_THREADS = 80
_MOST_DRAWINGS = 20  # each blocks a thread


def make_app(
    url: str, *, place: Place | None = None, secrets: Secrets | None = None, n_processes: int = 2
) -> Starlette:
    """The application for the studies of a storage.

    Args:
        url: URL of the storage, which must exist.
        place: addresses of the server, and what it allows.
        secrets: tokens and sessions are checked against these.
        n_processes: how many requests for suggestions are computed at the same time.
    """
    place = place or Place()
    secrets = secrets or Secrets(url, needed=not place.is_local)
    rooms = Rooms(url, open_storage(url))

    def state(name: str) -> tuple[int, ...]:
        """A value that changes with the study, and every two seconds while a job runs."""
        if name == ALL:
            return tuple(number for each in rooms.names() for number in _revision(rooms, each))
        running = [job for job in server.asks.of(name) if job.state == "running"]
        return (*rooms.room(name).revision, *(int(job.data()["seconds"]) // 2 for job in running))

    live = Live(state)

    def told(job: Job) -> None:
        live.tell(job.study, "job", {"id": job.id, "state": job.state, "words": job.words})

    server = Server(
        rooms=rooms,
        asks=Jobs(n_processes, told),
        drawings=Jobs(1, lambda job: None, _MOST_DRAWINGS),  # noqa: ARG005
        live=live,
        place=place,
        secrets=secrets,
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        live.start()
        try:
            yield
        finally:
            await live.stop()
            server.asks.close()
            server.drawings.close()

    async def explain(request: Request, error: Exception) -> Response:
        return _explained(server, request, error)

    handled = (Refused, BoGrapeError, HTTPException, Cancelled, JobFailed, Exception)
    app = Starlette(
        routes=[
            *api.routes(server),
            *pages.routes(server),
            *(Route(f"/static/{name}", _static(name, kind)) for name, kind in _STATIC.items()),
        ],
        middleware=[Middleware(Guard, place=place, secrets=secrets)],
        exception_handlers=dict.fromkeys(handled, explain),
        lifespan=lifespan,
    )
    app.state.server = server
    return app


def _revision(rooms: Rooms, name: str) -> tuple[int, ...]:
    """A value that changes with a study; constant if the study cannot be opened."""
    try:
        return rooms.room(name).revision
    except BoGrapeError:
        return (-1,)


def _static(name: str, kind: str):  # type: ignore[no-untyped-def]
    content = files("bogrape.web").joinpath("static", name).read_bytes()

    async def send(request: Request) -> Response:  # noqa: ARG001
        headers = {"cache-control": "max-age=300"}
        return Response(content, media_type=kind, headers=headers)

    return send


def _explained(server: Server, request: Request, error: Exception) -> Response:
    """Response to an error: JSON for programs, a page for people."""
    if isinstance(error, HTTPException):
        status, message = error.status_code, _WORDS.get(error.status_code, error.detail)
    else:
        status, message = status_of(error), str(error)
    if status == 500:
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
        message = "internal error; see the log of the server"
    headers = getattr(error, "headers", None)
    wants_page = "text/html" in request.headers.get("accept", "")
    if wants_page and not request.url.path.startswith("/api/"):
        page = pages.error_page(server, request, message, status)
        page.headers.update(headers or {})
        return page
    return JSONResponse({"error": message}, status, headers)


_WORDS = {404: "page not found", 405: "method not allowed at this address"}
