"""`Storage`: the interface through which a `Study` stores trials, in transactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from ..errors import BudgetSpent, InvalidInputError, StudyError
from ..graph import Graph
from ..trial import Trial

# fields that `Storage.update` requires to be unchanged
COMPARED = ("state", "attempts", "value", "noise", "values", "noises", "details")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,99}")


@runtime_checkable
class Storage(Protocol):
    """Stores studies by name. Everything that a method has returned survives a crash."""

    def create(self, name: str, settings: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Create the study unless it exists; returns its settings and whether it is new."""

    def settings(self, name: str) -> dict[str, Any] | None:
        """Settings of the study, or ``None`` if there is no such study."""

    def changes_of_settings(self, name: str) -> list[dict[str, Any]]:
        """Changes of the settings since the study was created, oldest first."""

    def change_settings(
        self, name: str, settings: dict[str, Any], expected: dict[str, Any], change: dict[str, Any]
    ) -> bool:
        """Replace the settings, and record the change, if they are as expected; True if so."""

    def names(self) -> list[str]:
        """Names of all studies."""

    def changes(self, name: str, since: int) -> tuple[int, list[Trial]]:
        """Trials changed after revision ``since``, by id, and the current revision."""

    def use_keys(self, name: str, version: str, identify: Callable[[Graph], str]) -> None:
        """Declare the version of the keys for `insert`; keys of other versions are recomputed."""

    def insert(
        self,
        name: str,
        trials: Sequence[Trial],
        keys: Sequence[str],
        *,
        distinct: bool,
        most: int | None = None,
    ) -> list[Trial] | None:
        """Append trials under the next ids; all or nothing.

        ``keys`` tell different graphs apart (`GraphSpace.identity`). If a trial's key already
        exists, it is refused (``None`` is returned and nothing inserted) if ``distinct``, else kept
        as a repeat. `BudgetSpent` is raised if the study would have more than ``most`` trials, not
        counting added ones.
        """

    def update(self, name: str, trial: Trial, expected: Trial) -> bool:
        """Replace the trial if the fields in `COMPARED` are as expected; returns True if so."""


def check_name(name: object) -> str:
    """Return a valid name of a study: short and plain, fit for file names and command lines."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = repr(name)
        raise InvalidInputError(
            "a study's name must be 1 to 100 letters, digits, spaces or ._+- and begin with a "
            f"letter or digit, got {shown if len(shown) < 120 else shown[:100] + '…'}"
        )
    return name


def check_budget(n_present: int, n_new: int, most: int) -> None:
    """Raise if a study would exceed its budget of trials."""
    if n_present + n_new > most:
        raise BudgetSpent(f"the study has {n_present} trials of its own, and {most} are allowed")


def no_such_study(name: str, names: Sequence[str]) -> StudyError:
    """The error for a missing study; lists the existing ones."""
    there = ", ".join(map(repr, names[:10])) or "none"
    return StudyError(f"there is no study {name!r} in this storage; it holds: {there}")
