"""The units proposers compute in, and everything that counts as equal in them.

Proposers see *standardised* acquisition values: those of the posterior of the standardised
observations. So ``y -> a y + b`` changes nothing they do. Values leave these units in one place,
when a `Proposal` is made (`bogrape.propose.criterion.Criterion.proposal`). Every tolerance is one
of those below, in standard deviations of the observed values; where a value itself is large, as
LCB is for a large kappa, it is relative to the value (`room`).

The standardised value of EI is minus its logarithm (`LogUnits`), which tells graphs apart however
little they promise. There the tolerances are shares of EI: ``TIE`` means one part in a billion.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..arrays import FloatArray

TIE = 1e-9  # values closer than this are one value
STEP = 1e-12  # what a step of a search must gain
PROOF = 1e-7  # what rounding may do to a proved bound
RECOMPUTED = 1e-6  # how far a value may be off that is computed again
PROGRESS = 1e-3  # a bound that rises by less has not moved
# Smaller deviations than this count as this in log EI. They are the square root of a difference of
# numbers near one, so rounding decides them, and the logarithm would follow every digit of it.
CERTAIN = 3e-5

Number = TypeVar("Number", float, FloatArray)


def room(tolerance: float, value: float) -> float:
    """A tolerance near a value."""
    return tolerance * max(1.0, abs(value))


@dataclass(frozen=True)
class Observed:
    """What a standardised mean and deviation mean in the objective's own units."""

    mean: float  # of the observed values
    scale: float  # their standard deviation
    standard_best: float  # the smallest that counts, standardised

    @property
    def best(self) -> float:
        """Smallest observed value that counts, in the objective's own units."""
        return self.mean + self.scale * self.standard_best

    def in_units(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Standardised means and deviations in the objective's own units."""
        with np.errstate(over="ignore"):  # beyond the largest number there is only infinity
            return self.mean + self.scale * mean, self.scale * std

    def standard(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and deviations in standardised units."""
        return (mean - self.mean) / self.scale, std / self.scale


@dataclass(frozen=True)
class Units:
    """Values in the objective's own units are ``offset + scale * standard``."""

    offset: float
    scale: float  # one standard deviation of the observed values

    def value(self, standard: float) -> float:
        """A standardised value in these units; the largest number there is where it is beyond."""
        if not math.isfinite(standard):
            return standard
        most = sys.float_info.max
        return max(-most, min(self.offset + self.scale * standard, most))

    def standard(self, value: Number) -> Number:
        """A value in standardised units."""
        return (value - self.offset) / self.scale

    def rounding(self, value: float) -> float:
        """What to write a value in these units may change, in standardised units."""
        return 4 * math.ulp(value) / self.scale


@dataclass(frozen=True)
class LogUnits(Units):
    """Values are ``-scale * exp(-standard)``: minus an improvement, of which logarithms are known.

    Values too small for a floating-point number are 0; their logarithms are not.
    """

    def value(self, standard: float) -> float:
        """A standardised value in these units; the largest number there is where it is beyond."""
        if standard == -math.inf:
            return standard
        try:
            return max(-sys.float_info.max, -self.scale * math.exp(-standard))
        except OverflowError:
            return -sys.float_info.max

    def log(self, standard: float) -> float:
        """The logarithm of minus the value, which is exact where the value is not."""
        return math.log(self.scale) - standard

    def of_log(self, log: float) -> float:
        """The standardised value that has this logarithm."""
        return math.log(self.scale) - log
