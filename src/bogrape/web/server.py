"""``bogrape serve``: run the application in uvicorn, and print its address."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import InvalidInputError, StorageError
from ..storage import open_storage
from . import check_extra

_MOST_CONNECTIONS = 500
_GOODBYE = 5  # seconds that open requests may take when it stops


def serve(
    storage: str,
    *,
    port: int = 8000,
    host: str = "127.0.0.1",
    token: str | None = None,
    new_token: bool = False,
    read_only: bool = False,
    public_url: str | None = None,
    n_processes: int = 2,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the studies of a storage until Ctrl-C.

    Args:
        storage: a SQLite file or the URL of a database.
        port: port to listen on.
        host: address to listen on; any other than this machine's own needs a token.
        token: token for access; ``None`` for the previous one, or a new one if one is needed.
        new_token: whether to create a new token.
        read_only: whether changes are refused.
        public_url: URL that a proxy publishes, e.g. ``https://studies.example.org``.
        n_processes: how many requests for suggestions are computed at the same time.
        say: function that prints a line.
    """
    check_extra()
    import uvicorn

    from .app import make_app
    from .guard import Place, is_loopback
    from .tokens import Secrets, state_file

    url = storage_url(storage, read_only=read_only)
    place = Place(
        host=host,
        public=None if public_url is None else _origin(public_url),
        read_only=read_only,
        hosts=frozenset() if is_loopback(host) else frozenset({socket.gethostname().lower()}),
    )
    secrets = Secrets(url, token=token, needed=not place.is_local, renew=new_token)
    app = make_app(url, place=place, secrets=secrets, n_processes=n_processes)
    shown = f"[{host}]" if ":" in host else host
    say(f"serving {_public(url)} at {place.public or f'http://{shown}:{port}'}; stop with Ctrl-C")
    if read_only:
        say("read-only: nothing can be changed")
    if secrets.printed is not None:
        say(f"token (shown only now): {secrets.printed}")
        if not secrets.is_stored:
            say(f"its hash could not be saved in {state_file()}: valid for this run only")
    elif secrets.has_token:
        say("a token is required; --new-token creates a new one")
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # headers of proxies about clients are not trusted
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GOODBYE,
        h11_max_incomplete_event_size=32_768,
    )

    class Server(uvicorn.Server):
        """A server that ends the event streams first; they would never end otherwise."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await app.state.server.live.stop()
            await super().shutdown(sockets)

    Server(config).run()


def storage_url(storage: str, *, read_only: bool = False) -> str:
    """The URL of a file or database. A missing SQLite file is created, unless read-only."""
    if "://" in storage:
        return storage
    path = Path(storage).absolute()
    if read_only and not path.is_file():
        raise StorageError(f"there is no file {storage!r} to read")
    if path.suffix == ".toml":
        raise InvalidInputError(
            f"expected a database such as study.db, got the study file {storage!r}; its "
            "entry 'storage' names the database"
        )
    if not path.parent.is_dir():
        raise InvalidInputError(f"there is no folder {str(path.parent)!r} for {storage!r}")
    url = f"sqlite:///{path}"
    open_storage(url, create=not read_only)
    return url


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise InvalidInputError(
            f"--public-url must be like https://studies.example.org, without a path, got {url!r}"
        )
    return f"{parts.scheme}://{parts.netloc}".lower()


def _public(url: str) -> str:
    """The URL without users, passwords and folders."""
    if url.startswith("sqlite:///"):
        return os.path.basename(url.partition("?")[0])
    return f"{url.partition('://')[0].partition('+')[0]}://…"
