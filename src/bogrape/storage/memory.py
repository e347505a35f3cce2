"""`InMemoryStorage`: studies kept in memory until the program ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, final

from ..graph import Graph
from ..trial import Trial
from .protocol import COMPARED, check_budget, no_such_study


@dataclass
class _Shelf:
    settings: dict[str, Any]
    changes: list[dict[str, Any]] = field(default_factory=list)  # of the settings
    trials: list[Trial] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)  # one per trial
    keys: set[str] = field(default_factory=set)
    revision: int = 0


@final
class InMemoryStorage:
    """Keeps studies in dictionaries; safe to use from several threads."""

    def __init__(self) -> None:
        self._studies: dict[str, _Shelf] = {}
        self._lock = threading.Lock()

    def create(self, name: str, settings: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Create the study unless it exists."""
        with self._lock:
            new = name not in self._studies
            shelf = self._studies.setdefault(name, _Shelf(deepcopy(settings)))
            return deepcopy(shelf.settings), new

    def settings(self, name: str) -> dict[str, Any] | None:
        """Settings of the study, if it exists."""
        with self._lock:
            shelf = self._studies.get(name)
            return None if shelf is None else deepcopy(shelf.settings)

    def changes_of_settings(self, name: str) -> list[dict[str, Any]]:
        """Changes of the settings, oldest first."""
        with self._lock:
            return deepcopy(self._shelf(name).changes)

    def change_settings(
        self, name: str, settings: dict[str, Any], expected: dict[str, Any], change: dict[str, Any]
    ) -> bool:
        """Replace the settings if they are still as expected, and record the change."""
        with self._lock:
            shelf = self._shelf(name)
            if shelf.settings != expected:
                return False
            shelf.settings = deepcopy(settings)
            shelf.changes.append(deepcopy(change))
            return True

    def names(self) -> list[str]:
        """Names of all studies."""
        with self._lock:
            return sorted(self._studies)

    def changes(self, name: str, since: int) -> tuple[int, list[Trial]]:
        """Trials changed after revision ``since``."""
        with self._lock:
            shelf = self._shelf(name)
            if since == shelf.revision:
                return since, []
            fresh = [
                trial
                for trial, revision in zip(shelf.trials, shelf.revisions, strict=True)
                if revision > since
            ]
            return shelf.revision, fresh

    def use_keys(self, name: str, version: str, identify: Callable[[Graph], str]) -> None:
        """Does nothing: within one program the version never changes."""

    def insert(
        self,
        name: str,
        trials: Sequence[Trial],
        keys: Sequence[str],
        *,
        distinct: bool,
        most: int | None = None,
    ) -> list[Trial] | None:
        """Append trials; all or nothing."""
        with self._lock:
            shelf = self._shelf(name)
            if most is not None:
                own = sum(trial.origin != "added" for trial in shelf.trials)
                check_budget(own, len(trials), most)
            if distinct and (len(set(keys)) < len(keys) or shelf.keys.intersection(keys)):
                return None
            first = len(shelf.trials)
            out = [replace(trial, id=first + i) for i, trial in enumerate(trials)]
            shelf.revision += 1
            shelf.trials += out
            shelf.revisions += [shelf.revision] * len(out)
            shelf.keys.update(keys)
            return out

    def update(self, name: str, trial: Trial, expected: Trial) -> bool:
        """Replace the trial if it is still as expected."""
        with self._lock:
            shelf = self._shelf(name)
            current = shelf.trials[trial.id]
            if any(getattr(current, name) != getattr(expected, name) for name in COMPARED):
                return False
            shelf.revision += 1
            shelf.trials[trial.id] = trial
            shelf.revisions[trial.id] = shelf.revision
            return True

    def _shelf(self, name: str) -> _Shelf:
        if name not in self._studies:
            raise no_such_study(name, sorted(self._studies))
        return self._studies[name]
