"""Values of graphs: in standardised units, computed for many at a time, and the best of them.

Proposers see *standardised* acquisition values: those of the posterior of the standardised
observations. So replacing ``y`` by ``a y + b`` does not affect them. Values leave these units in
one place, when a `Proposal` is made (`bogrape.propose.criterion.Criterion.proposal`). Every
tolerance is one of those below, in standard deviations of the observed values; for large values,
such as LCB with a large kappa, it is relative to the value (`room`).

The standardised value of EI is minus its logarithm (`LogUnits`), which distinguishes graphs even if
EI underflows. Tolerances are then shares of EI: ``TIE`` means one part in a billion.

Values of many graphs are computed in bounded memory, and by a deadline. The labelled counts of one
graph with 100 nodes and 20 labels fill 320 kilobytes, and a posterior makes several arrays of that
size: large batches are evaluated part by part. The best graphs are kept by an `Elite`, for which
values closer than ``TIE`` are equal.
"""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from ..arrays import FloatArray, IntArray
from ..batch import Batch
from ..counts import Counts
from ..graph import Graph
from ..space import GraphSpace

TIE = 1e-9  # values closer than this are equal
STEP = 1e-12  # least gain of a step of a search
PROOF = 1e-7  # allowance for rounding in a proved bound
RECOMPUTED = 1e-6  # largest error of a recomputed value
PROGRESS = 1e-3  # a smaller rise of a bound is no progress
# The smallest deviation in log EI; smaller ones are replaced by it. They are square roots of a
# difference of numbers near one, so they are rounding errors, to which the logarithm is sensitive.
CERTAIN = 3e-5
# Of the counts of one part; a few such arrays exist at once. Larger parts do not fit in the cache,
# and one graph with long paths makes the counts of its whole part as wide as its own.
_MOST_BYTES = 16 * 2**20
_TIES_KEPT = 32
_PASSED_KEPT = 50_000

Number = TypeVar("Number", float, FloatArray)


def room(tolerance: float, value: float) -> float:
    """The tolerance for a value: relative if the value is large, else absolute."""
    return tolerance * max(1.0, abs(value))


@dataclass(frozen=True)
class Observed:
    """Conversion of a standardised mean and deviation to the objective's units."""

    mean: float  # of the observed values
    scale: float  # their standard deviation
    standard_best: float  # the value to improve on, standardised

    @property
    def best(self) -> float:
        """The value to improve on, in the objective's own units."""
        return self.mean + self.scale * self.standard_best

    def in_units(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Standardised means and deviations in the objective's own units."""
        with np.errstate(over="ignore"):  # overflow gives infinity
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
        """A standardised value in these units, limited to the largest floating-point number."""
        if not math.isfinite(standard):
            return standard
        most = sys.float_info.max
        return max(-most, min(self.offset + self.scale * standard, most))

    def standard(self, value: Number) -> Number:
        """A value in standardised units."""
        return (value - self.offset) / self.scale

    def rounding(self, value: float) -> float:
        """Rounding error of a value written in these units, in standardised units."""
        return 4 * math.ulp(value) / self.scale


@dataclass(frozen=True)
class LogUnits(Units):
    """Values are ``-scale * exp(-standard)``: minus an improvement with a known logarithm.

    Values too small for a floating-point number are 0; their logarithms are not.
    """

    def value(self, standard: float) -> float:
        """A standardised value in these units, limited to the largest floating-point number."""
        if not math.isfinite(standard):
            return standard
        try:
            return max(-sys.float_info.max, -self.scale * math.exp(-standard))
        except OverflowError:
            return -sys.float_info.max

    def log(self, standard: float) -> float:
        """The logarithm of minus the value, which is accurate even if the value is 0."""
        return math.log(self.scale) - standard

    def of_log(self, log: float) -> float:
        """The standardised value with this logarithm."""
        return math.log(self.scale) - log


# -- many graphs --------------------------------------------------------------------------------


class Searchable(Protocol):
    """A function of graphs over a space that local search can minimise."""

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""

    def n_at_a_time(self, n: int) -> int:
        """Number of graphs with n nodes to evaluate at a time."""

    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """Value of each graph (smaller is better), and its number of connected ordered pairs.

        Graphs not reached before the deadline get an infinite value and no pairs, not even those of
        a node and itself. The first few graphs are always evaluated.
        """


class CountObjective(ABC):
    """A function of the counts of a graph over a space; it makes a subclass `Searchable`."""

    space: GraphSpace

    @property
    @abstractmethod
    def labelled(self) -> bool:
        """True if values depend on the labels at the ends of paths."""

    @property
    def edge_labelled(self) -> bool:
        """True if values depend on the labels of edges."""
        return False

    @abstractmethod
    def width(self, n: int) -> int:
        """Count of numbers that evaluating one graph with n nodes takes in memory."""

    @abstractmethod
    def of_counts(self, counts: Counts) -> FloatArray:
        """Value of each row of counts; smaller is better."""

    def n_at_a_time(self, n: int) -> int:
        """Number of graphs with n nodes that fit in memory."""
        return n_at_a_time(n, self.width(n))

    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """Value of each graph, and its number of connected ordered pairs."""
        return evaluate(self, batch, deadline)


def n_at_a_time(n: int, width: int) -> int:
    """Number of graphs with n nodes and this many numbers each that fit in memory."""
    return max(1, _MOST_BYTES // max(n * n, 8 * width))


def evaluate(
    objective: CountObjective, batch: Batch, deadline: float = math.inf
) -> tuple[FloatArray, IntArray]:
    """`Searchable.evaluate` of a function of counts, part by part."""
    n_labels = objective.space.n_labels
    values = np.full(len(batch), np.inf)
    joined = np.zeros(len(batch), dtype=np.int64)
    step = objective.n_at_a_time(batch.n_nodes)
    for start in range(0, len(batch), step):
        if start and time.monotonic() >= deadline:
            break
        part = batch if len(batch) <= step else batch.select(slice(start, start + step))
        counts = part.counts(
            n_labels,
            pairs=objective.labelled,
            edges=objective.edge_labelled,
            deadline=deadline,
        )
        done = slice(start, start + len(counts))
        values[done] = objective.of_counts(counts)
        joined[done] = counts.lengths.sum(axis=1)
    return values, joined


# -- the best of them --------------------------------------------------------------------------


@dataclass
class Elite:
    """The best graphs seen so far that are not excluded, and their ties, by identity."""

    excluded: Collection[str]
    value: float = np.inf
    ties: dict[str, Graph] = field(default_factory=dict)
    n_evaluations: int = 0
    identify: Callable[[Graph], str] = Graph.canonical_key
    # excluded or known graphs in their numbering: chains meet them repeatedly
    _passed: set[bytes] = field(default_factory=set, repr=False)

    @property
    def tolerance(self) -> float:
        """Values closer than this are equal."""
        return room(TIE, self.value) if np.isfinite(self.value) else 0.0

    def offer(self, batch: Batch, values: FloatArray) -> None:
        """Offer the graphs of a batch; infinite values mark those outside the space."""
        n_more = 4 if len(self.ties) < _TIES_KEPT else 0  # there are many ties: a few per round do
        for i in np.argsort(values, kind="stable"):
            better = values[i] < self.value - self.tolerance
            if not np.isfinite(values[i]):
                return
            if not better and (not n_more or values[i] > self.value + self.tolerance):
                return
            n_more -= not better  # known and excluded ties count too: identities are slow
            if (raw := batch.raw(int(i))) in self._passed:
                continue
            graph = batch.graph(int(i))
            key = self.identify(graph)
            if key in self.excluded or key in self.ties:
                if len(self._passed) < _PASSED_KEPT:
                    self._passed.add(raw)
                continue
            if better:
                self.value = float(values[i])
                self.ties = {key: graph}
            else:
                self.ties[key] = graph
