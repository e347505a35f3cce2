r"""Acquisition values weighted by the probability that a graph is usable.

A graph is not usable if its evaluation fails, or if a measured property is beyond its limit. With P
the product of the probabilities of success (`Chance`), the weighted value of a graph is

* for EI and similar functions, the *expected improvement* times P, as in constrained Bayesian
  optimisation (Gardner et al., 2014; Gelbart, Snoek and Adams, 2014): the standardised value, minus
  a logarithm, rises by :math:`-\log P`;
* for LCB and custom functions, the mean of its value, with probability P, and of the *worst* value
  among the observed graphs, with probability :math:`1 - P`: a failure costs as much as the worst
  graph so far. A value worse than that stays unchanged.

In both cases no weighted value is below the plain one. So bounds on plain values hold for weighted
ones, but they are too loose to settle anything if P is small; a proof enumerates all graphs or is
not attempted (`bogrape.propose.exact.proof.whole_space`).

While no usable graph is known, there is nothing to improve on, and P alone decides.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final

import numpy as np

from ..acquisition import EI, LCB, Acquisition
from ..arrays import FloatArray, IntArray
from ..batch import Batch
from ..counts import Counts
from ..graph import Graph
from ..posterior import Posterior
from ..properties import Limit
from ..space import GraphSpace
from .criterion import AnyCriterion
from .values import CERTAIN, CountObjective, LogUnits, Observed, Units

_LEAST = -700.0  # of log P: the exponential of less underflows


class Chance(Protocol):
    """Probability that a graph is usable, as a function of its counts."""

    @property
    def labelled(self) -> bool:
        """True if it needs the labels at the ends of paths."""

    @property
    def edge_labelled(self) -> bool:
        """True if it needs the labels of edges."""

    def log_probability(self, counts: Counts) -> FloatArray:
        """Logarithm of the probability of each graph."""


@final
@dataclass(frozen=True)
class LimitChance:
    """Probability that a property is within its limit, from the Gaussian process of the property.

    It refers to the property itself, without measurement noise.
    """

    limit: Limit
    posterior: Posterior

    @property
    def labelled(self) -> bool:
        """True if it needs the labels at the ends of paths."""
        return self.posterior.model.kernel.labelled

    @property
    def edge_labelled(self) -> bool:
        """True if it needs the labels of edges."""
        return self.posterior.model.kernel.edge_labelled

    def log_probability(self, counts: Counts) -> FloatArray:
        """Logarithm of the probability of each graph."""
        mean, std = self.posterior.mean_std(counts)
        return self.limit.log_probability(mean, np.maximum(std, CERTAIN * self._scale))

    @property
    def _scale(self) -> float:
        return self.posterior.model.y_scale


@final
@dataclass(frozen=True, kw_only=True)
class WeightedCriterion(AnyCriterion):
    """Values of another criterion, weighted.

    Attributes:
        plain: the criterion that is weighted.
        chances: the weight is their product.
        alone: whether the weight alone is the value.
    """

    plain: AnyCriterion
    chances: tuple[Chance, ...]
    alone: bool = False

    @property
    def space(self) -> GraphSpace:  # type: ignore[override]
        """The graphs to choose from."""
        return self.plain.space

    @property
    def acquisition(self) -> Acquisition:  # type: ignore[override]
        """The acquisition of the plain criterion."""
        return self.plain.acquisition

    @property
    def unweighted(self) -> AnyCriterion:
        """The criterion that is weighted."""
        return self.plain

    @property
    def observed(self) -> Observed:
        """Conversion of a standardised mean and deviation to the objective's own units."""
        return self.plain.observed

    @cached_property
    def standard_acquisition(self) -> LCB | EI | None:
        """The acquisition of the plain criterion."""
        return self.plain.standard_acquisition

    @cached_property
    def units(self) -> Units:
        """Conversion of a standardised value, or of a probability if that alone counts."""
        return LogUnits(0.0, 1.0) if self.alone else self.plain.units

    def _at_observations(self) -> tuple[FloatArray, FloatArray]:
        return self.plain._at_observations()

    def check_declared(self, mean: float = -3.0, std: float = 1.0) -> None:
        """Check the acquisition of the plain criterion."""
        self.plain.check_declared(mean, std)

    # -- values -------------------------------------------------------------------------------

    @cached_property
    def _worst(self) -> float:
        """The largest plain value among the observed graphs: the cost of a failure."""
        known = self.plain.of_prediction(*self._at_observations())
        known = known[np.isfinite(known)]
        return float(known.max()) if len(known) else 0.0

    def weighted(self, values: FloatArray, log_chance: FloatArray) -> FloatArray:
        """Plain values, each with the logarithm of a probability."""
        if self.alone:
            return -log_chance
        if isinstance(self.units, LogUnits):
            return values - log_chance
        chance = np.exp(np.maximum(log_chance, _LEAST))
        known = np.where(np.isfinite(values), values, self._worst)  # never proposed
        mixed = chance * known + (1.0 - chance) * self._worst
        return np.maximum(values, mixed)

    def log_chance(self, counts: Counts) -> FloatArray:
        """Logarithm of the probability that each graph is usable."""
        out = np.zeros(len(counts))
        for chance in self.chances:
            out = out + chance.log_probability(counts)
        return np.maximum(out, _LEAST)

    def n_at_a_time(self, n: int) -> int:
        """Number of graphs with n nodes that the plain criterion evaluates at a time."""
        return self.plain.n_at_a_time(n)

    def of_graph(self, graph: Graph) -> float:
        """Weighted value of one graph."""
        plain = np.array([self.plain.of_graph(graph)])
        counts = self._counts(Batch.of([graph]))
        return float(self.weighted(plain, self.log_chance(counts))[0])

    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """See `bogrape.propose.values.Searchable`."""
        values = np.full(len(batch), np.inf)
        joined = np.zeros(len(batch), dtype=np.int64)
        step = self.n_at_a_time(batch.n_nodes)
        for start in range(0, len(batch), step):
            if start and time.monotonic() >= deadline:
                break
            part = batch if len(batch) <= step else batch.select(slice(start, start + step))
            found, pairs = self._of_part(part, deadline)
            done = slice(start, start + len(found))
            values[done], joined[done] = found, pairs
        return values, joined

    def _of_part(self, batch: Batch, deadline: float) -> tuple[FloatArray, IntArray]:
        """Values of graphs that fit in memory; counts are computed once if both need them."""
        counts = self._counts(batch, deadline)
        if isinstance(self.plain, CountObjective):
            plain, joined = self.plain.of_counts(counts), counts.lengths.sum(axis=1)
        else:
            plain, joined = self.plain.evaluate(batch, deadline)
            n = len(counts)  # graphs evaluated in time
            plain, joined = plain[:n], joined[:n]
        return self.weighted(plain, self.log_chance(counts)), joined

    def _counts(self, batch: Batch, deadline: float = math.inf) -> Counts:
        seen: list[Chance | CountObjective] = [*self.chances]
        if isinstance(self.plain, CountObjective):
            seen.append(self.plain)
        return batch.counts(
            self.space.n_labels,
            pairs=any(part.labelled for part in seen),
            edges=any(part.edge_labelled for part in seen),
            deadline=deadline,
        )
