"""Formatting of text for a page: escaped, on one line, with readable numbers."""

from __future__ import annotations

import html
import math
import sys

from ..display import printable


def shown(text: object, longest: int = 300) -> str:
    """The text of any object as one printable line of bounded length."""
    line = " ".join(printable(str(text)[: 10 * longest]).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def esc(text: object, longest: int = 2000) -> str:
    """One line of text, escaped for content and quoted attributes of HTML and SVG."""
    return html.escape(shown(text, longest), quote=True)


def number(value: float | None, digits: int = 4) -> str:
    """A number in few characters, with a proper minus sign."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}g}".replace("-", "\u2212")


def acquisition_in_words(value: float | None, log_value: float | None, digits: int = 4) -> str:
    """An acquisition value, or the logarithm of an improvement that underflows.

    >>> acquisition_in_words(-0.0, -808.3)
    'log EI −808.3'
    """
    if log_value is not None and value is not None and abs(value) < sys.float_info.min:
        return f"log EI {number(log_value, digits)}"
    return "" if value is None else number(value, digits)


def plus_minus(mean: float, std: float) -> str:
    """A number and its uncertainty, e.g. ``−0.124 ± 0.041``: digits according to the uncertainty.

    >>> plus_minus(1234.5678, 0.0456)
    '1234.568 ± 0.046'
    """
    if not (math.isfinite(mean) and math.isfinite(std)) or std <= 0:
        return f"{number(mean)} ± {number(std, 2)}"
    places = 1 - math.floor(math.log10(std))
    if not 0 <= places <= 6 or abs(mean) >= 1e6:
        return f"{number(mean, 4)} ± {number(std, 2)}"
    return f"{mean:.{places}f} ± {std:.{places}f}".replace("-", "\u2212")


def duration(seconds: float) -> str:
    """A time in words: ``0.2 s``, ``3 min``, ``2.5 h``."""
    if seconds < 60:
        return f"{seconds:.2g} s"
    if seconds < 3600:
        return f"{seconds / 60:.2g} min" if seconds < 600 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def plural(n: int, noun: str, many: str | None = None) -> str:
    """``1 edge``, ``2 edges``; ``many`` is an irregular plural."""
    return f"{n} {noun}" if n == 1 else f"{n} {many or noun + 's'}"


def percent(share: float) -> str:
    """A fraction in percent, in few characters."""
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.2g}%"
