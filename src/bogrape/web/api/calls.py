"""Endpoints of the HTTP API, and the requests they receive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

from starlette.responses import Response

from .. import bodies
from ..actions import Server, Who
from ..jobs import Job
from ..rooms import Room


@final
@dataclass(frozen=True, kw_only=True)
class Call:
    """A validated request."""

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
