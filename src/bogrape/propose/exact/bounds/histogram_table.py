"""Tables of histograms, for any acquisition that depends on few counts of a graph.

For SSP and ESSP the acquisition depends on ``(h, N)`` alone: pairs at each distance, nodes with
each attribute. All h that satisfy the conditions of `distances.histograms` are listed and
evaluated at once; nothing needs to be linear. The solver is then asked for a graph among the best.

With free attributes (`FreeAttributes`) the table lists h alone, with the value at its best N. For
LCB and EI with SSP or ESSP the acquisition is concave in N given h: the mean is linear in N, the
deviation is the norm of an affine function of N and so convex, and both acquisitions fall with the
deviation and are concave in (mean, deviation). So, without rules on the N, its best N is a corner:
one label for all nodes, and each feature on all nodes or on none. This need not hold for an
acquisition or a kernel of your own: there every N is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ....acquisition import EI, LCB
from ....arrays import BoolArray, FloatArray, IntArray
from ....constraints import Shape
from ....counts import Counts
from ....encoding import Structure
from ....kernels import is_published
from ...criterion import Criterion
from ..distances import histograms
from ..distances.coordinates import Coordinates
from ..distances.free_attributes import FreeAttributes
from ..distances.histograms import Fact

MOST_HISTOGRAMS = 3_000_000
_CHUNK = 100_000
_MOST_VALUES = 100_000_000  # evaluated for one table


class TooManyHistograms(Exception):
    """The histograms of this piece cannot be listed."""


@dataclass(eq=False, kw_only=True)
class HistogramTable:
    """Histograms, one per row, in order of their acquisition values (the smallest first)."""

    counts: IntArray  # (rows, columns): h, followed by N unless attributes are free
    values: FloatArray
    alive: BoolArray  # rows that are not dropped
    sums: IntArray | None  # with free attributes: the N to choose from, for one row
    objective: Criterion
    n_nodes: int
    directed: bool

    @property
    def n_columns(self) -> int:
        """Number of counts in a row."""
        return int(self.counts.shape[1])

    def better_than(self, value: float) -> IntArray:
        """Indices of the rows below a value that are not dropped, best first."""
        end = int(np.searchsorted(self.values, value, side="left"))
        return np.flatnonzero(self.alive[:end])

    def drop(self, row: int) -> None:
        """Drop a row that has been evaluated."""
        self.alive[row] = False

    def attributes(self, row: int) -> list[tuple[IntArray, float]]:
        """With free attributes: every choice of N for a row with its value, best first."""
        if self.sums is None:
            return []
        paths = np.repeat(self.counts[row][None], len(self.sums), axis=0)
        values = evaluate(self.objective, self.n_nodes, self.directed, paths, self.sums)
        order = np.argsort(values, kind="stable")
        return [(self.sums[i], float(values[i])) for i in order]


def table_of_histograms(
    structure: Structure,
    coordinates: Coordinates,
    objective: Criterion,
    free: FreeAttributes | None,
    facts: Sequence[Fact] = (),
    paths: IntArray | None = None,
) -> HistogramTable:
    """The table of a piece; raises `TooManyHistograms` if it would be too large.

    ``paths`` are the h to list, if all others are known to be of no interest.
    """
    shape = structure.shape
    if objective.posterior.model.kernel.labelled and shape.n_labels > 1:
        raise TooManyHistograms
    n = shape.n_nodes
    if paths is None:
        paths = _histograms(structure, coordinates, facts)
    all_sums = (free or FreeAttributes(structure, ())).sums(MOST_HISTOGRAMS)
    if all_sums is None:
        raise TooManyHistograms
    if free is not None:
        concave = is_concave(objective)
        choices = attribute_choices(shape, free, MOST_HISTOGRAMS) if concave else all_sums
        if choices is None or len(choices) * len(paths) > _MOST_VALUES:
            raise TooManyHistograms
        values = at_best_attributes(objective, shape, choices)(paths)
        counts, sums_left = paths, all_sums
    else:
        if len(paths) * len(all_sums) > MOST_HISTOGRAMS:
            raise TooManyHistograms
        first = np.repeat(np.arange(len(paths)), len(all_sums))
        second = np.tile(np.arange(len(all_sums)), len(paths))
        values = evaluate(objective, n, shape.directed, paths[first], all_sums[second])
        # if a composition is given, the numbers of labels are not variables
        n_given = shape.n_labels if coordinates.composition is not None else 0
        counts = np.column_stack([paths[first], all_sums[second][:, n_given:]])
        sums_left = None
    order = np.argsort(values, kind="stable")
    return HistogramTable(
        counts=counts[order],
        values=values[order],
        alive=np.ones(len(order), dtype=bool),
        sums=sums_left,
        objective=objective,
        n_nodes=n,
        directed=shape.directed,
    )


def is_concave(objective: Criterion) -> bool:
    """True if values are known to be concave in the N once h is given."""
    known = isinstance(objective.acquisition, (LCB, EI))
    return known and is_published(objective.posterior.model.kernel)


def attribute_choices(shape: Shape, free: FreeAttributes, limit: int) -> IntArray | None:
    """Choices of N that include the best for every h, if values are concave; ``None`` if many."""
    if free.inequalities:
        return free.sums(limit)
    if shape.n_labels * 2**shape.n_features > limit:
        return None
    return _corners(shape.n_nodes, shape.n_labels, shape.n_features)


def at_best_attributes(
    objective: Criterion, shape: Shape, choices: IntArray
) -> Callable[[IntArray], FloatArray]:
    """The acquisition of histograms, each at the best choice of attributes."""

    def best(paths: IntArray) -> FloatArray:
        values = np.full(len(paths), np.inf)
        for choice in choices:
            sums = np.broadcast_to(choice, (len(paths), len(choice)))
            of_these = evaluate(objective, shape.n_nodes, shape.directed, paths, sums)
            values = np.minimum(values, of_these)
        return values

    return best


def evaluate(
    objective: Criterion,
    n: int,
    directed: bool,
    paths: IntArray,
    sums: IntArray,
) -> FloatArray:
    """Acquisition values of histograms and node feature sums, one per row."""
    out = np.empty(len(paths))
    both = 1 if directed else 2
    n_labels = objective.space.n_labels
    for start in range(0, len(paths), _CHUNK):
        part = slice(start, start + _CHUNK)
        some = paths[part]
        n_all = np.column_stack([np.full(len(some), n), both * some])
        pairs = n_all[:, :, None, None] if n_labels == 1 else None  # all pairs are of one type
        counts = Counts(np.full(len(some), n), n_all, pairs, np.asarray(sums[part]), n_labels)
        out[part] = objective.of_counts(counts)
    return out


def _histograms(structure: Structure, coordinates: Coordinates, facts: Sequence[Fact]) -> IntArray:
    n, diameter = structure.shape.n_nodes, structure.diameter
    if n == 1:
        return np.zeros((1, 0), dtype=np.int64)
    if diameter is not None:
        found = histograms.possible_histograms(n, diameter, facts, MOST_HISTOGRAMS)
    else:
        n_pairs = coordinates.n_pairs()
        found = histograms.general_histograms(n_pairs, coordinates.longest, MOST_HISTOGRAMS)
    if found is None:
        raise TooManyHistograms
    return found


def _corners(n: int, n_labels: int, n_features: int) -> IntArray:
    labels = [tuple(n if k == a else 0 for k in range(n_labels)) for a in range(n_labels)]
    extras = list(product((0, n), repeat=n_features))
    return np.array([(*a, *b) for a in labels for b in extras], dtype=np.int64)
