"""Display in notebooks, and safe display of strings and numbers of unknown origin.

`bogrape.report`, a higher layer, decides how things are drawn. ``Graph._repr_html_`` and
``Study.plot`` belong to layers that may not import the report. Instead, ``bogrape`` registers a
function here that loads it when it is first needed (``docs/decisions/006-report-handed-in.md``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

_READABLE = 10.0  # largest logarithm of a factor that is written out

_hooks: dict[str, Callable[[Any], Any]] = {}

# Control sequences of terminals (ECMA-48): strings (title, clipboard, links), then controls
# (colour, cursor). From anything else that begins with ESC, only ESC is removed.
_TERMINAL = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)


def printable(text: object) -> str:
    """The text without terminal sequences and control characters; line breaks stay.

    For texts of unknown origin (reasons of failures, names of workers) on their way to a terminal,
    a log or a page.

    >>> printable("\x1b[31mred\x1b[0m\x07 and\tplain")
    'red  and plain'
    """
    plain = _TERMINAL.sub("", str(text))
    return "".join(c if c == "\n" or c.isprintable() else " " for c in plain)


def finite(value: object) -> float | None:
    """The value if it is a finite number; ``None`` for text, lists, infinities and so on."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:  # an integer beyond the range of floats
        return None
    return found if math.isfinite(found) else None


def gap_in_words(gap: float | None, *, of_logs: bool, digits: int = 2) -> str:
    """The gap in words: in standard deviations or, for EI, as a factor.

    >>> gap_in_words(0.314, of_logs=False), gap_in_words(0.314, of_logs=True)
    ('0.31 sd', '×1.4')
    """
    if gap is None or not math.isfinite(gap):
        return "–"
    if not of_logs:
        return f"{gap:.{digits}g} sd"
    factor = f"{math.exp(gap):.{digits}g}" if gap < _READABLE else f"e^{gap:.{digits}g}"
    return f"×{factor}"


def register(name: str, hook: Callable[[Any], Any]) -> None:
    """Register the function that makes ``html`` or ``plots``."""
    _hooks[name] = hook


def html(thing: Any) -> str | None:
    """HTML for a notebook, or ``None`` to show the ``repr``."""
    return _hooks["html"](thing) if "html" in _hooks else None


def plots(thing: Any) -> Any:
    """The figures of a study."""
    return _hooks["plots"](thing)
