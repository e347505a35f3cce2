"""Largest weighted sums of the pairs at each distance: found by search, then proved.

For connected undirected graphs of one size and diameter, `Extremes` collects histograms
``(h_1, .., h_d)`` of graphs that a local search in some direction visits, and `prove` asks the
solver whether any graph lies beyond. If none does, that is a `Fact`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from ortools.sat.python import cp_model

from ....arrays import FloatArray, IntArray
from ....constraints import Shape
from ....counts import Counts
from ....encoding import GraphEncoding, Structure
from ....encoding.cpsat import has_solution, new_solver
from ....graph import Graph
from ....space import GraphSpace
from ...local.chains import brooms
from ...local.search import search
from ...values import CountObjective
from .coordinates import Coordinates
from .count_variables import bare_counts, graph_counts
from .histograms import Fact
from .known import known_of_counts
from .layers import Heaviest, Layers, cases, put_heaviest_first

_EVALUATIONS = 40_000  # of the local search in one direction
_WHOLE_SHARE = 0.3  # of the time, for the question about all graphs at once
_MOST_CASES = 3_000  # of layers around a node, for questions case by case


@dataclass
class Extremes:
    """Histograms of existing graphs of one size and diameter, found by local search."""

    n: int
    diameter: int
    seen: IntArray = field(init=False)
    _starts: list[Graph] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.seen = np.zeros((0, self.diameter), dtype=np.int64)
        self._starts = [Graph(matrix) for matrix in brooms(self.n, self.diameter)]

    def add(self, histograms: IntArray) -> None:
        """Remember histograms ``(h_1, .., h_d)``, one per row."""
        self.seen = np.unique(np.concatenate([self.seen, histograms]), axis=0)

    def reach(self, weights: Sequence[int], seed: int = 0, seconds: float = 5.0) -> int:
        """The largest ``weights . h`` that local search finds; histograms near it are kept."""
        direction = _Direction(self.n, self.diameter, np.array(weights))
        deadline = time.monotonic() + seconds
        search(
            direction,
            n_evaluations=_EVALUATIONS,
            deadline=deadline,
            seed=seed,
            starts=self._starts,
        )
        self.add(np.concatenate([self.seen[:0], *direction.seen]))
        return int((self.seen @ np.array(weights)).max())


class _Direction(CountObjective):
    """Minus a weighted sum of pairs, with a penalty for the wrong diameter.

    It keeps the best histograms it sees.
    """

    labelled = False

    def __init__(self, n: int, diameter: int, weights: IntArray) -> None:
        self.space = GraphSpace(n)
        self._n = n
        self.seen: list[IntArray] = []
        self._diameter = diameter
        self._weights = weights
        self._best = -np.inf

    def width(self, n: int) -> int:
        return n

    def of_counts(self, counts: Counts) -> FloatArray:
        d = self._diameter
        histograms = np.zeros((len(counts), d), dtype=np.int64)
        present = counts.lengths[:, 1 : d + 1] // 2
        histograms[:, : present.shape[1]] = present
        connected = counts.lengths.sum(axis=1) == self._n**2
        off = abs((counts.lengths[:, 1:] > 0).sum(axis=1) - d)
        value = histograms @ self._weights
        right = connected & (off == 0)
        if right.any():  # only those near the best value are worth keeping
            self._best = max(self._best, float(value[right].max()))
            self.seen.append(np.unique(histograms[right & (value >= 0.8 * self._best)], axis=0))
        return np.asarray(-value + 20.0 * abs(self._weights).max() * off, dtype=np.float64)


def plain(n: int, diameter: int, layers: Layers | None = None) -> Structure:
    """All connected undirected graphs of a size and diameter, possibly with given layers."""
    return Structure(Shape(n), "strong", diameter=diameter, layers=layers)


def prove(
    n: int,
    diameter: int,
    weights: Sequence[int],
    high: int,
    *,
    facts: Sequence[Fact],
    seconds: float,
    seed: int = 0,
) -> Fact | IntArray | None:
    """The fact ``weights . h <= high``, or the h of a graph beyond it; ``None`` if time ran out.

    A share of the time goes to one question about all graphs, which settles easy facts, and the
    rest to one case after another.
    """
    deadline = time.monotonic() + seconds
    beyond = Heaviest(tuple(weights), high + 1, n * n * max(map(abs, weights)))
    found = _search(plain(n, diameter), beyond, facts, _WHOLE_SHARE * seconds, seed)
    if found is not None:
        return found
    listed, rest = cases(n, diameter, beyond, _MOST_CASES)
    if rest is not None:
        return None
    for layers, case in listed:
        left = deadline - time.monotonic()
        found = _search(plain(n, diameter, layers), case, facts, left, seed)
        if not isinstance(found, Fact):
            return found
    return Fact(tuple(weights), high)


def _search(
    structure: Structure,
    beyond: Heaviest,
    facts: Sequence[Fact],
    seconds: float,
    seed: int,
) -> Fact | IntArray | None:
    """Like `prove`, for the graphs of one structure."""
    weights, least = beyond.weights, beyond.least
    encoding = GraphEncoding(structure, attributes=False)
    model, diameter = encoding.model, encoding.longest
    coordinates = Coordinates.of(structure.shape, labelled=False, longest=diameter)
    counts = bare_counts(model, coordinates, known_of_counts(structure, coordinates, None, facts))
    graph_counts(encoding, coordinates, counts)
    paths = counts[:diameter]
    model.add(cp_model.LinearExpr.weighted_sum(paths, list(weights)) >= least)
    if structure.layers is not None:
        put_heaviest_first(encoding, beyond)
    solver = new_solver(seconds, seed=seed, clauses=True)
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Fact(weights, least - 1)
    if has_solution(status):
        return np.array([int(solver.value(count)) for count in paths])
    return None
