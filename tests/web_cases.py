"""Servers and clients for the tests of `bogrape.web`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bogrape import GraphSpace, Study
from bogrape.web.app import make_app
from bogrape.web.guard import Place
from bogrape.web.tokens import Secrets

HOST = "http://127.0.0.1:8000"
SPACE = GraphSpace((4, 6), labels=("a", "b"))
NASTY = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}'


def new_study(folder: Path, name: str = "one", **settings: Any) -> str:
    """The URL of a storage with a study that answers quickly."""
    url = f"sqlite:///{folder}/study.db"
    chosen = {"n_initial": 3, "method": "sample", "time_limit": 2.0, **settings}
    Study(
        settings.pop("space", SPACE), url, name, **{k: v for k, v in chosen.items() if k != "space"}
    )
    return url


@contextmanager
def client(url: str, *, base: str = HOST, **given: Any) -> Iterator[Any]:
    """A client of a server in this process."""
    from starlette.testclient import TestClient

    place = given.pop("place", Place())
    secrets = Secrets(url, token=given.pop("token", None), needed=not place.is_local)
    app = make_app(url, place=place, secrets=secrets, n_processes=1)
    with TestClient(app, base_url=base, raise_server_exceptions=False, **given) as found:
        yield found


def mark(browser: Any, path: str = "/") -> str:
    """The token that forms of a page carry against forgery."""
    found = re.search(r'<meta name="csrf" content="([0-9a-f]+)">', browser.get(path).text)
    assert found is not None
    return found[1]


def send(browser: Any, path: str, fields: dict[str, Any], **more: Any) -> Any:
    """Send a form of a page, filled in."""
    page = {"csrf": mark(browser), **fields}
    return browser.post(path, data=page, headers={"accept": "text/html"}, **more)
