"""`Rooms`: the studies of a storage, open, each used by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, final

from ..errors import InvalidInputError
from ..files.formats import JSON, Format, get_format
from ..report.survey import Survey
from ..storage import Storage
from ..storage.protocol import check_name
from ..study import Study, StudySettings
from .errors import NotFound

T = TypeVar("T")


@final
class Room:
    """A study that is open.

    Fits and drawings are made outside the lock, on a `Survey` of one moment, so that recording a
    value never waits for them.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._lock = threading.RLock()
        self._survey: tuple[Any, Survey] | None = None
        self._made: dict[str, tuple[Any, Any]] = {}
        self._making: dict[str, threading.Lock] = {}
        self.pictures: dict[tuple[int, int], Any] = {}  # by trial and size: graphs never change
        self.name = study.name

    @contextmanager
    def study(self) -> Iterator[Study]:
        """The study, locked for this thread."""
        with self._lock:
            yield self._study

    @property
    def format(self) -> Format:
        """Format of its graphs: text if the domain has a text format, else JSON."""
        domain = self._study.space.domain
        if domain is None or domain.text is None:
            return JSON
        return get_format(domain.text.name.lower(), self._study.space)

    @property
    def revision(self) -> tuple[int, int]:
        """A pair that changes with every change of a trial or of the settings."""
        with self._lock:
            return self._study.revision, len(self._study.changes)

    def survey(self) -> Survey:
        """The study at this moment."""
        with self._lock:
            state = self.revision
            if self._survey is None or self._survey[0] != state:
                self._survey = state, Survey(self._study)
            return self._survey[1]

    def kept(self, what: str, make: Callable[[], T]) -> T:
        """The result of ``make``, made again only when the study has changed."""
        with self._lock:
            making = self._making.setdefault(what, threading.Lock())
        with making:  # other threads that need the same result wait for it
            state = self.revision
            known = self._made.get(what)
            if known is None or known[0] != state:
                known = self._made[what] = state, make()
            found: T = known[1]
            return found


@final
class Rooms:
    """All studies of a storage."""

    def __init__(self, url: str, storage: Storage) -> None:
        self.url = url
        self.storage = storage
        self._rooms: dict[str, Room] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Names of all studies."""
        return self.storage.names()

    def room(self, name: str) -> Room:
        """The room of a study."""
        with self._lock:
            if name in self._rooms:
                return self._rooms[name]
        try:
            check_name(name)
        except InvalidInputError:
            raise NotFound(f"there is no study {name!r:.60}") from None
        if self.storage.settings(name) is None:
            raise NotFound(f"there is no study {name!r:.60}")
        opened = Room(Study.load(self.storage, name))
        with self._lock:
            return self._rooms.setdefault(name, opened)

    def create(self, name: str, settings: StudySettings) -> Room:
        """Create a study, or open the one with the same name and settings."""
        opened = Room(Study.open(self.storage, name, settings))
        with self._lock:
            return self._rooms.setdefault(name, opened)
