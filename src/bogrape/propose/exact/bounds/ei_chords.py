r"""Expected improvement by LCB: graphs above a value of EI have an LCB below one of a few limits.

EI falls with the mean, so a graph with deviation :math:`\sigma` has more than a given EI exactly if
its mean is below some :math:`M(\sigma)`. EI is convex in mean and deviation together (it is the
mean of :math:`\max(goal - \mu - \sigma u, 0)` over a normal u), so M is convex, and between two
deviations it is nowhere above its *chord*. With :math:`\kappa` the slope of the chord and c its
intercept,

.. math:: \mu < M(\sigma) \implies \mu - \kappa\sigma < c \qquad
          \text{for } \sigma \text{ in the range of the chord.}

So if, for each of some chords that together cover all deviations, no graph has an LCB below c, then
no graph has more than that EI. The only loss is the space between M and its chords: beyond its
range a chord is below M, so graphs there with an LCB below c do have more than that EI.

Conversely, graphs in the range of a chord with an LCB of at least m have no more EI than the points
of the line :math:`\mu = m + \kappa\sigma`, and EI is convex along a line, so it is largest at an
end of the range.

Values are minus log EI, and deviations below `CERTAIN` count as `CERTAIN`, as everywhere.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....acquisition import log_h
from ....arrays import FloatArray
from ...values import CERTAIN

_ROUNDING = 1e-11  # relative
_FAR = -100.0  # where the slope of log h is its asymptote to more digits than are needed
_STEPS = 100  # of Newton's method, which takes about ten


@dataclass(frozen=True)
class Chord:
    """A chord over a range of deviations; graphs in the range are compared by LCB."""

    goal: float  # values below this are improvements
    low: float
    high: float
    kappa: float

    @property
    def _certain(self) -> float:
        """Largest error of LCB where deviations count as `CERTAIN`."""
        return self.kappa * CERTAIN if self.low <= CERTAIN else 0.0

    def overlaps(self, other: Chord) -> bool:
        """True if the ranges share more than a point."""
        return self.low < other.high and other.low < self.high

    def limit(self, value: float) -> float:
        """Upper bound on the LCB of graphs of the range with a value below this one."""
        if not math.isfinite(value):
            return value
        ends = np.array([self.low, self.high])
        limit = float((largest_mean(self.goal, value, ends) - self.kappa * ends).max())
        room = _ROUNDING * (1.0 + abs(limit) + self.kappa * self.high + abs(self.goal))
        return limit + self._certain + room

    def value(self, lcb: float) -> float:
        """Lower bound on the value of graphs of the range with at least this LCB."""
        if not math.isfinite(lcb):
            return lcb
        ends = np.array([self.low, self.high])
        room = _ROUNDING * (1.0 + abs(lcb) + self.kappa * self.high + abs(self.goal))
        means = lcb - self._certain - room + self.kappa * ends
        value = float(-(np.log(ends) + log_h((self.goal - means) / ends)).max())
        return value - _ROUNDING * max(1.0, abs(value))


def largest_mean(goal: float, value: float, deviations: FloatArray) -> FloatArray:
    """M: the means at which the value is reached, one per deviation; or a little above."""
    return goal - deviations * _inverse_log_h(-value - np.log(deviations))


def whole_range(goal: float, value: float, largest: float) -> Chord:
    """The chord over all deviations up to the largest."""
    return _chord(goal, value, CERTAIN, max(largest, 2 * CERTAIN))


@lru_cache(maxsize=64)
def chords(
    goal: float, value: float, largest: float, *, apart: float, n_most: int
) -> tuple[Chord, ...]:
    """Chords over all deviations up to the largest, close to M, if few enough suffice."""
    whole = whole_range(goal, value, largest)
    if not math.isfinite(value):
        return (whole,)
    found = [(-_farthest(whole, value), whole.low, whole)]  # of equals, the lower range first
    while len(found) < n_most and -found[0][0] > apart:
        _, _, widest = heapq.heappop(found)
        middle = (widest.low + widest.high) / 2
        for low, high in ((widest.low, middle), (middle, widest.high)):
            part = _chord(goal, value, low, high)
            heapq.heappush(found, (-_farthest(part, value), low, part))
    return tuple(sorted((chord for _, _, chord in found), key=lambda chord: chord.low))


def _chord(goal: float, value: float, low: float, high: float) -> Chord:
    if not math.isfinite(value):
        return Chord(goal, low, high, 1.0)
    ends = largest_mean(goal, value, np.array([low, high]))
    return Chord(goal, low, high, max(0.0, float(ends[1] - ends[0]) / (high - low)))


def _farthest(chord: Chord, value: float) -> float:
    """Distance of the chord from M at its middle."""
    at = np.array([chord.low, (chord.low + chord.high) / 2, chord.high])
    low, middle, high = largest_mean(chord.goal, value, at)
    return float((low + high) / 2 - middle)


def _inverse_log_h(target: FloatArray) -> FloatArray:
    """The point where `log_h` reaches the target, or slightly before.

    By Newton's method from the left: `log_h` is increasing and concave, so its tangents are above
    it and no step goes too far.
    """
    from scipy.special import log_ndtr  # late: keeps `import bogrape` quick

    # h(u) is at most u + 0.4 for positive u, and at most the density for negative u
    with np.errstate(over="ignore"):
        right = np.exp(target) - 0.4
    u = np.where(right > 0, right, -np.sqrt(np.maximum(-2 * target - math.log(2 * math.pi), 0.0)))
    for _ in range(_STEPS):
        now = log_h(u)
        far = np.minimum(u, _FAR)
        slope = np.where(u > _FAR, np.exp(np.minimum(log_ndtr(u) - now, 20.0)), -far - 2 / far)
        step = np.maximum(target - now, 0.0) / slope
        u = u + step
        if (step <= 1e-15 * np.abs(u)).all():
            break
    return np.asarray(u - 1e-14 * np.abs(u))
