"""Acquisition values under a custom surrogate."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..acquisition import Acquisition
from ..arrays import FloatArray, IntArray
from ..batch import Batch
from ..errors import InvalidInputError
from ..graph import Graph
from ..space import GraphSpace
from ..surrogate import FittedSurrogate
from .criterion import AnyCriterion
from .values import Observed

_CALL_SECONDS = 0.3  # target for one call of `predict`
_FIRST_CALL, _LARGEST_CALL = 64, 4096  # graphs in one call
_MOST_REMEMBERED = 200_000  # values: local search meets the same graphs repeatedly
_SAME = 1e-4  # standard deviations; networks compute with seven digits
_RENUMBERINGS = 3


@dataclass(frozen=True, kw_only=True)
class GraphCriterion(AnyCriterion):
    """Acquisition values under a custom surrogate: functions of graphs.

    The surrogate only predicts graphs of the space, many at a time, and the same graph with the
    same numbering only once.
    """

    space: GraphSpace
    model: FittedSurrogate
    acquisition: Acquisition
    _remembered: dict[bytes, float] = field(default_factory=dict, repr=False, compare=False)
    _seconds_each: list[float] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def observed(self) -> Observed:
        """Conversion of a standardised mean and deviation to the objective's units."""
        standard = self.model.standard
        return Observed(standard.mean, standard.scale, self.model.standard_best)

    def _at_observations(self) -> tuple[FloatArray, FloatArray]:
        return self.observed.standard(*self.model.predict(self.model.graphs))

    @property
    def seconds_each(self) -> float:
        """Seconds per value in the latest call; 0 if there was none."""
        return self._seconds_each[0] if self._seconds_each else 0.0

    def n_at_a_time(self, n: int) -> int:  # noqa: ARG002
        """Number of graphs to predict in one call: many, unless that would take too long."""
        if not self._seconds_each:
            return _FIRST_CALL
        return int(min(max(1.0, _CALL_SECONDS / max(self.seconds_each, 1e-9)), _LARGEST_CALL))

    def of_graph(self, graph: Graph) -> float:
        """Acquisition value of one graph."""
        return float(self._of_graphs([graph])[0])

    def _of_graphs(self, graphs: list[Graph]) -> FloatArray:
        began = time.monotonic()
        values = self.of_prediction(*self.observed.standard(*self.model.predict(graphs)))
        self._seconds_each[:] = [(time.monotonic() - began) / len(graphs)]
        return values

    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """See `bogrape.propose.values.Searchable`; outside the space, values are infinite."""
        joined = batch.counts(self.space.n_labels, pairs=False).lengths.sum(axis=1)
        values = np.full(len(batch), np.inf)
        keys = {i: batch.raw(i) for i in np.flatnonzero(self.space.excess(batch) == 0).tolist()}
        known = {key: self._remembered[key] for key in keys.values() if key in self._remembered}
        fresh = list({key: i for i, key in keys.items() if key not in known}.values())
        first = True
        while fresh and (first or time.monotonic() < deadline):
            step, first = self.n_at_a_time(batch.n_nodes), False
            some, fresh = fresh[:step], fresh[step:]
            found = self._of_graphs([batch.graph(i) for i in some]).tolist()
            known.update(zip((keys[i] for i in some), found, strict=True))
        for i, key in keys.items():
            if key in known:
                values[i] = known[key]
            else:
                joined[i] = 0  # not evaluated in time
        if len(self._remembered) < _MOST_REMEMBERED:
            self._remembered.update(known)
        return values, joined

    def check_numbering(self, graphs: list[Graph], seed: int = 0) -> None:
        """Raise unless these graphs keep their predictions when their nodes are renumbered.

        If rules name nodes, only renumberings that give the same graph in the space are tried.
        """
        rng = np.random.default_rng(seed)
        renumbered, originals = [], []
        for graph in graphs:
            for _ in range(_RENUMBERINGS):
                other = graph.permuted(rng.permutation(graph.n_nodes))
                same = self.space.identity(other) == self.space.identity(graph)
                renumbered.append(other if same else graph)
                originals.append(graph)
        scale = self.observed.scale
        before, after = (self.model.predict(part) for part in (originals, renumbered))
        for what, one, two in zip(("mean", "deviation"), before, after, strict=True):
            off = np.abs(one - two) - _SAME * np.maximum(np.abs(one - self.observed.mean), scale)
            if off.max() > 0:
                i = int(off.argmax())
                raise InvalidInputError(
                    f"surrogate {self.model.name}: expected predictions that depend neither on "
                    "earlier calls nor on the numbering of a graph's nodes, got the "
                    f"{what} {one[i]:.6g} and then {two[i]:.6g}"
                )
