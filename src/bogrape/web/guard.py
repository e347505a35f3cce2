"""`Guard`: admission of requests, and headers of every response.

It checks, in this order: the host name of the request (against DNS rebinding), its size, the origin
of a change (against forged requests), and the token or session. Marks of forms are checked where
forms are read (`pages`), by `Visit.check_mark`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from dataclasses import dataclass, field
from typing import Any, final
from urllib.parse import quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import Forbidden, Refused
from .tokens import Secrets

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
MOST_BYTES = 1_000_000  # of a request
MOST_UPLOADED = 5_000_000  # of a file of observations
_SLOWEST = 30.0  # seconds that a body may take to arrive
_LONGEST_URL = 4000
_LONGEST_NAME = 80
SESSION, PERSON = "bogrape_session", "bogrape_person"
_OPEN = ("/healthz", "/login", "/static/app.css", "/static/app.js")  # without a token
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@final
@dataclass(frozen=True, kw_only=True)
class Place:
    """Addresses of the server, and what it allows.

    Attributes:
        host: the address it listens on.
        public: scheme, host name and port under which a proxy publishes it, or ``None``.
        read_only: whether changes are refused.
    """

    host: str = "127.0.0.1"
    public: str | None = None
    read_only: bool = False
    hosts: frozenset[str] = field(default=frozenset())  # further host names it accepts

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach it."""
        return self.public is None and is_loopback(self.host)

    @property
    def is_secure(self) -> bool:
        """True if browsers reach it by TLS."""
        return self.public is not None and self.public.startswith("https:")

    def knows(self, host: str) -> bool:
        """True if the ``Host`` of a request is a name of this server, not of a rebound domain."""
        name = _name_of(host)
        if name is None:
            return False
        if name == "localhost" or is_loopback(name) or name in self.hosts:
            return True
        if self.public is not None and name == _name_of(urlsplit(self.public).netloc):
            return True
        if is_loopback(self.host):
            return False
        return name == self.host.lower() or _is_address(name)

    def is_same_origin(self, origin: str, host: str) -> bool:
        """True if a page of this server sent the request."""
        parts = urlsplit(origin)
        if self.public is not None and origin.lower() == self.public:
            return True
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def is_loopback(host: str) -> bool:
    """True if an address can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name_of(host: str) -> str | None:
    """The name or address in ``name:port``; ``None`` if the text is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    odd = parts.path or parts.query or parts.fragment or "@" in host
    return None if odd or not parts.hostname else parts.hostname.lower().rstrip(".")


@final
@dataclass(kw_only=True)
class Visit:
    """Sender of a request."""

    secrets: Secrets
    place: Place
    session: str
    is_new: bool  # the browser does not have the session yet
    has_key: bool  # it carries the token itself, as programs do
    person: str | None

    @property
    def mark(self) -> str:
        """The mark that its forms carry."""
        return self.secrets.mark_of(self.session)

    def check_mark(self, given: object) -> None:
        """Refuse forms that do not come from a page of this browser's session."""
        if self.is_new or not self.secrets.is_mark(given, self.session):
            raise Forbidden("this page is out of date; load it again, then repeat what you did")


@final
class Guard:
    """The outermost layer of the server, an ASGI middleware."""

    def __init__(self, app: ASGIApp, *, place: Place, secrets: Secrets) -> None:
        self.app = app
        self.place = place
        self.secrets = secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request, or refuse it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        visit = self._visit(Headers(scope=scope))
        outgoing = self._sealed(send, visit, scope)
        try:
            body = await self._admitted(scope, receive, visit)
        except Refused as refused:
            await self._refusal(scope, refused)(scope, receive, outgoing)
            return
        scope.setdefault("state", {})["visit"] = visit
        await self.app(scope, _replay(body, receive), outgoing)

    def _visit(self, headers: Headers) -> Visit:
        cookies = _cookies(headers)
        session = cookies.get(SESSION)
        known = session is not None and self.secrets.is_session(session)
        return Visit(
            secrets=self.secrets,
            place=self.place,
            session=session if known and session is not None else self.secrets.new_session(),
            is_new=not known,
            has_key=False,
            person=as_person(unquote(cookies.get(PERSON, ""))),
        )

    async def _admitted(self, scope: Scope, receive: Receive, visit: Visit) -> bytes:
        """The body of an admitted request."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.place.knows(hosts[0]):
            raise Refused(
                "this server does not answer to that name; open it by its own address, or start "
                "it with --public-url",
                421,
            )
        if len(scope.get("raw_path") or path) + len(scope["query_string"]) > _LONGEST_URL:
            raise Refused("the address is too long", 414)
        unsafe = method not in SAFE_METHODS
        if unsafe:
            self._check_origin(headers, hosts[0])
            if self.place.read_only and path not in ("/login", "/logout"):
                raise Forbidden("this server is read-only: nothing can be changed")
        await self._check_key(headers, path, visit)
        if not unsafe:
            return b""
        most = MOST_UPLOADED if path.endswith("/upload") else MOST_BYTES
        try:
            async with asyncio.timeout(_SLOWEST):
                return await _body(headers, receive, most)
        except TimeoutError:
            raise Refused("the request did not arrive in time", 408) from None

    def _check_origin(self, headers: Headers, host: str) -> None:
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise Forbidden("another site sent this request; nothing was changed")
        for origin in headers.getlist("origin"):
            if not self.place.is_same_origin(origin, host):
                raise Forbidden("another site sent this request; nothing was changed")

    async def _check_key(self, headers: Headers, path: str, visit: Visit) -> None:
        given = headers.get("authorization", "")
        kind, _, token = given.partition(" ")
        if given and self.secrets.has_token:
            right = kind.lower() == "bearer" and await asyncio.to_thread(
                self.secrets.is_token, token.strip()
            )
            if not right:
                await asyncio.sleep(0.5)  # slows down guessing
                raise Refused("wrong token", 401)
            visit.has_key = True
        if not self.secrets.has_token or visit.has_key or path in _OPEN:
            return
        if visit.is_new:
            raise Refused("a token is needed: Authorization: Bearer <token>, or /login", 401)

    def _refusal(self, scope: Scope, refused: Refused) -> Response:
        is_page = not scope["path"].startswith("/api/") and scope["method"] in SAFE_METHODS
        if refused.status == 401 and is_page and scope["path"] != "/openapi.json":
            return RedirectResponse("/login", 303)
        headers = {"www-authenticate": "Bearer"} if refused.status == 401 else {}
        headers["connection"] = "close"  # the rest of the body is not read
        return JSONResponse({"error": str(refused)}, refused.status, headers)

    def _sealed(self, send: Send, visit: Visit, scope: Scope) -> Send:
        """Add the policy headers to every response, and a session to browsers without one."""

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
                is_page = headers.get("content-type", "").startswith("text/html")
                if visit.is_new and is_page and not self.secrets.has_token:
                    headers.append("set-cookie", self.cookie(SESSION, visit.session))
            await send(message)

        return sealed

    def cookie(self, name: str, value: str) -> str:
        """A cookie for this site only."""
        return cookie(name, value, secure=self.place.is_secure)


def cookie(name: str, value: str, *, secure: bool, readable: bool = False) -> str:
    """The header that sets a cookie; only ``readable`` ones are seen by scripts."""
    parts = [f"{name}={quote(value, safe='.-_')}", "Path=/", "SameSite=Strict", "Max-Age=1209600"]
    parts += [] if readable else ["HttpOnly"]
    return "; ".join([*parts, "Secure"] if secure else parts)


def as_person(name: str) -> str | None:
    """The name of a person, if it can be displayed."""
    plain = " ".join(name.split())
    return plain if 0 < len(plain) <= _LONGEST_NAME and plain.isprintable() else None


def _cookies(headers: Headers) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in headers.getlist("cookie"):
        found |= cookie_parser(line)
    return found


async def _body(headers: Headers, receive: Receive, most: int) -> bytes:
    """The whole body, unless it is too long."""
    too_long = Refused(f"the request has more than {most} bytes", 413)
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced[:20]) > most:
        raise too_long
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused("the connection was closed")
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > most:
            raise too_long
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receiver that gives the application the body again, then messages of the connection."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def json_of(body: bytes) -> Any:
    """Parse the JSON of a request: strict, of moderate depth, without numbers beyond floats."""

    def no(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON number")

    try:
        return json.loads(body.decode("utf-8"), parse_constant=no)
    except RecursionError:
        raise Refused("the body is nested too deeply") from None
    except ValueError as error:  # not UTF-8, not JSON, or a number with too many digits
        raise Refused(f"the body is not JSON: {str(error)[:200]}") from None
