"""Drawings of the trade-off of several properties: one property against another, front marked."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from markupsafe import Markup

from ..report.text import number, shown
from ..trial import Trial

_MOST_DRAWINGS = 6
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 584.0, 30.0, 296.0


def tradeoffs(
    names: tuple[str, ...],
    trials: list[Trial],
    front: set[int],
    link: Callable[[int], str],
) -> list[Markup]:
    """One drawing per pair of properties; none while fewer than two trials have both.

    Args:
        names: names of the properties.
        trials: complete trials.
        front: numbers of the highlighted trials, which become links.
        link: function that gives the address of a trial's page.
    """
    found = []
    for one, two in list(combinations(names, 2))[:_MOST_DRAWINGS]:
        known = [trial for trial in trials if one in trial.values and two in trial.values]
        if len(known) >= 2:
            found.append(_drawing(one, two, known, front, link))
    return found


def _drawing(
    one: str, two: str, known: list[Trial], front: set[int], link: Callable[[int], str]
) -> Markup:
    across = _Axis([trial.values[one] for trial in known], _LEFT, _RIGHT)
    upwards = _Axis([trial.values[two] for trial in known], _BOTTOM, _TOP)
    parts = []
    for x, text in across.ticks():
        parts.append(
            Markup(
                '<path class="grid" d="M{0:.1f} {1}V{2}"/>'
                '<text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>'
            ).format(x, _TOP - 6, _BOTTOM + 6, _BOTTOM + 24, text)
        )
    for y, text in upwards.ticks():
        parts.append(
            Markup(
                '<path class="grid" d="M{1} {0:.1f}H{2}"/>'
                '<text x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>'
            ).format(y, _LEFT - 6, _RIGHT + 6, _LEFT - 12, y + 5, text)
        )
    for trial in sorted(known, key=lambda trial: trial.id in front):  # the front lies on top
        x, y = across.at(trial.values[one]), upwards.at(trial.values[two])
        values = f"{one} {number(trial.values[one], 4)}, {two} {number(trial.values[two], 4)}"
        said = shown(f"trial {trial.id}: {values}", 200)
        dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>')
        if trial.id in front:
            mark = dot.format("front", x, y, 7, said)
            mark = Markup('<a href="{}" aria-label="{}">{}</a>').format(link(trial.id), said, mark)
        else:
            mark = dot.format("dot", x, y, 4, said)
        parts.append(mark)
    n_front = sum(trial.id in front for trial in known)
    label = (
        f"{one} from {number(across.low, 3)} to {number(across.high, 3)} across, {two} from "
        f"{number(upwards.low, 3)} to {number(upwards.high, 3)} upwards; {len(known)} trials, "
        f"{n_front} of them on the front"
    )
    names = Markup(
        '<text class="name" x="{}" y="346" text-anchor="middle">{}</text>'
        '<text class="name" x="{}" y="16">{}</text>'
    ).format((_LEFT + _RIGHT) / 2, shown(one, 40), _LEFT - 6, shown(two, 40))
    head = Markup('<svg class="tradeoff" viewBox="0 0 600 356" role="group" aria-label="{}">')
    return head.format(shown(label, 400)) + Markup("").join(parts) + names + Markup("</svg>")


class _Axis:
    """Axis of a drawing for the values of one property."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self.low, self.high = min(values), max(values)
        self._start, self._end = start, end
        # halves first: the difference of two numbers near the largest one is infinite
        self._half = self.high / 2 - self.low / 2

    def at(self, value: float) -> float:
        """Position of a value."""
        share = (value / 2 - self.low / 2) / self._half if self._half > 0 else 0.5
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[tuple[float, str]]:
        """Positions and names of some round numbers between the lowest and the highest value."""
        span = 2 * self._half
        if not 0 < span < math.inf:
            return [(self.at(self.low), number(self.low, 4))]
        step = 10.0 ** math.floor(math.log10(span / 3))
        step *= next((m for m in (1, 2, 5) if span / (m * step) <= 5), 10)
        if not math.isfinite(self.low / step) or abs(self.low / step) > 1e9 or step == 0:
            return [(self.at(v), number(v, 4)) for v in (self.low, self.high)]
        first = math.ceil(self.low / step)
        values = [k * step for k in range(first, math.floor(self.high / step) + 1)]
        return [(self.at(value), number(value, 4)) for value in values]
