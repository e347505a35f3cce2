"""`Live`: tells browsers, by server-sent events, that something has changed.

Events do not say what changed: a page fetches its live parts again. Other processes change studies
as well, so the revision of every study that a browser shows is read once per second.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, final

from .errors import TooBusy

ALL = ""  # stands for all studies; no study can have this name
_PAUSE = 1.0  # seconds between two checks
_HEARTBEAT = 15.0  # seconds of silence after which proxies might close the connection
MOST_STREAMS = 200
_MOST_WAITING = 100  # events of a browser that does not read


@final
class Live:
    """The event streams of open pages, by study."""

    def __init__(self, revision: Callable[[str], Any]) -> None:
        self._revision = revision
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching: dict[str, set[asyncio.Queue[str]]] = {}
        self._seen: dict[str, Any] = {}
        self._ended = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start checking for changes; call it in the event loop of the server."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._look())

    async def stop(self) -> None:
        """End all streams."""
        self._ended = True
        for name in list(self._watching):
            self._put(name, "")
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def tell(self, name: str, kind: str, data: Any) -> None:
        """Send an event to all pages that show a study; can be called from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            text = f"event: {kind}\ndata: {json.dumps(data)}\n\n"
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(self._put, name, text)

    def check(self) -> None:
        """Refuse if too many pages are open."""
        if sum(map(len, self._watching.values())) >= MOST_STREAMS:
            raise TooBusy("too many pages are open")

    async def stream(self, name: str) -> AsyncIterator[str]:
        """The events of a study, for as long as the browser reads them."""
        inbox: asyncio.Queue[str] = asyncio.Queue(_MOST_WAITING)
        self._watching.setdefault(name, set()).add(inbox)
        try:
            yield "retry: 2000\nevent: hello\ndata: {}\n\n"
            while not self._ended:
                try:
                    text = await asyncio.wait_for(inbox.get(), _HEARTBEAT)
                except TimeoutError:
                    text = ": still here\n\n"
                if text:
                    yield text
        finally:
            self._watching[name].discard(inbox)
            if not self._watching[name]:
                del self._watching[name]
                self._seen.pop(name, None)

    def _put(self, name: str, text: str) -> None:
        for inbox in self._watching.get(name, ()):
            with contextlib.suppress(asyncio.QueueFull):
                inbox.put_nowait(text)

    async def _look(self) -> None:
        while True:
            for name in list(self._watching):
                with contextlib.suppress(Exception):  # the database may be unavailable for a moment
                    state = await asyncio.to_thread(self._revision, name)
                    # also the first time: it may have changed since the page was made
                    if self._seen.get(name) != state:
                        self._seen[name] = state
                        self.tell(name, "change", {"revision": list(state)})
            await asyncio.sleep(_PAUSE)
