"""How notebooks show things: what is drawn is decided by a layer above, `bogrape.report`.

``Graph._repr_html_`` and ``Study.plot`` belong to layers that may not import the report, so it is
handed in here: ``bogrape`` registers a function that loads it when it is first needed
(``docs/decisions/006-report-handed-in.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_hooks: dict[str, Callable[[Any], Any]] = {}


def register(name: str, hook: Callable[[Any], Any]) -> None:
    """Say what makes ``html`` or ``plots`` of a thing."""
    _hooks[name] = hook


def html(thing: Any) -> str | None:
    """HTML for a notebook, or ``None``: then it shows the ``repr``."""
    return _hooks["html"](thing) if "html" in _hooks else None


def plots(thing: Any) -> Any:
    """The figures of a study."""
    return _hooks["plots"](thing)
