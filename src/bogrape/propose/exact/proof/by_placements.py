"""Proof by listing all placements of labels on all skeletons, if labels matter.

Molecules of 10 atoms have a hundred million placements. A screen (`bounds.placement_screens`) rules
out all but a few, in a fraction of a microsecond each. The others are bounded in double precision,
whatever the sums of node features may be (`bounds.placement_values`), and those that pass are
evaluated with all sums.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from ....arrays import BoolArray, FloatArray, IntArray
from ....counts import distances_batch
from ..bounds.placement_screens import placement_screen
from ..bounds.placement_values import OfComposition, PlacementValues
from ..skeletons.node_sums import NodeSums
from ..skeletons.placements import Labels, n_placements, placements
from ..skeletons.store import Skeletons
from .placing import Group, Smallest

_ROWS = 1_500  # placements at a time: larger arrays need new pages of memory, which are slower
_SKELETONS = 1_024
_TRIED = 0.5  # of the time: from then on, enough of the placements must have been examined
_SLACK = 0.5  # of a proportional share: the first placements may take longer than the others
_MOST_VALUES = 2_000_000  # placements with sums that are evaluated together


class TooManyPlacements(Exception):
    """There are too many placements for the time limit."""


def promising_placements(
    skeletons: Skeletons,
    sums: NodeSums,
    values: PlacementValues,
    value: float,
    deadline: float,
) -> tuple[Smallest, Group]:
    """All placements and sums that could have a value below ``value``, and their skeletons."""
    adjacency_of = SortedByDegree(skeletons)
    degrees, kind_of = np.unique(skeletons.degrees, axis=0, return_inverse=True)
    members = [np.flatnonzero(kind_of == k) for k in range(len(degrees))]
    choices = [_Choice(sums, values, tuple(numbers.tolist())) for numbers in degrees]
    number = sum(len(some) * choice.number for some, choice in zip(members, choices, strict=True))
    clock = Clock(number, deadline)
    left = Smallest(value, 1 + skeletons.n_nodes, sums.columns.end)
    for some, choice in zip(members, choices, strict=True):
        if len(some) and choice.number:
            choice.look_at(some, adjacency_of, left, clock)

    def group(key: tuple[int, ...]) -> Iterator[tuple[BoolArray, IntArray | None]]:
        yield adjacency_of(np.array(key[:1]))[0], np.array(key[1:])

    return left, group


class Clock:
    """Stops an enumeration as soon as its progress shows that time will not suffice."""

    def __init__(self, number: int, deadline: float, tried: float = _TRIED) -> None:
        self._number, self._done, self._tried = number, 0, tried
        self._start, self._deadline = time.monotonic(), deadline

    def done(self, number: int) -> None:
        """Count further placements that were examined."""
        self._done += number

    def check(self) -> None:
        """Raise `TooManyPlacements` if the time will not suffice."""
        now = time.monotonic()
        late = (now - self._start) / max(1e-9, self._deadline - self._start)
        if late >= 1.0 or (
            late > self._tried and self._done / max(1, self._number) < _SLACK * late
        ):
            raise TooManyPlacements


class SortedByDegree:
    """Skeletons whose nodes are numbered by degree, the smallest first."""

    def __init__(self, skeletons: Skeletons) -> None:
        self._skeletons = skeletons

    def __call__(self, chosen: IntArray) -> BoolArray:
        adjacency = self._skeletons.adjacency(chosen)
        order = np.argsort(adjacency.sum(axis=2), axis=1, kind="stable")
        rows = np.arange(len(adjacency))[:, None, None]
        return adjacency[rows, order[:, :, None], order[:, None, :]]


class _Choice:
    """All skeletons with the same degrees: their placements, and their possible sums."""

    def __init__(self, sums: NodeSums, values: PlacementValues, degrees: tuple[int, ...]) -> None:
        self._sums, self._values, self._degrees = sums, values, degrees
        self._table = sums.sums(degrees)
        self._compositions, self._of_sums = np.unique(
            self._table[:, : values.n_labels], axis=0, return_inverse=True
        )
        self._screen = placement_screen(values)
        self.number = n_placements(sums, degrees, self._compositions)

    def look_at(
        self, members: IntArray, adjacency_of: SortedByDegree, left: Smallest, clock: Clock
    ) -> None:
        """Add the placements on these skeletons that could beat the incumbent."""
        labels, which = self._placements()
        types = self._types(labels)
        ends = np.searchsorted(which, np.arange(len(self._compositions) + 1))
        known = [
            self._values.of_composition(self._table[self._of_sums == i])
            for i in range(len(self._compositions))
        ]
        for start in range(0, len(members), _SKELETONS):
            chosen = members[start : start + _SKELETONS]
            distances = of_pairs(distances_batch(adjacency_of(chosen)))
            for of, rows in zip(known, map(slice, ends, ends[1:]), strict=True):
                for i, j in self._promising(distances, types[rows], of, left, clock):
                    keys = np.column_stack([chosen[i], labels[rows][j]])
                    self._look(keys, distances[i], types[rows][j], of, left)
                clock.done(len(chosen) * (rows.stop - rows.start))

    def _promising(
        self,
        distances: IntArray,
        types: IntArray,
        of: OfComposition,
        left: Smallest,
        clock: Clock,
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Skeletons and placements that pass the screen, a few thousand at a time."""
        for i, j in self._screen.below(distances, types, of, left.below):
            clock.check()
            for start in range(0, len(i), _ROWS):
                yield i[start : start + _ROWS], j[start : start + _ROWS]

    def _placements(self) -> tuple[Labels, IntArray]:
        """All placements and the index of the composition of each, in ascending order."""
        found = list(placements(self._sums, self._degrees, self._compositions))
        index = {tuple(row): i for i, row in enumerate(self._compositions.tolist())}
        n_labels = self._values.n_labels
        of = [index[tuple(np.bincount(part[0], minlength=n_labels).tolist())] for part in found]
        which = np.repeat(of, [len(part) for part in found])
        order = np.argsort(which, kind="stable")
        return np.concatenate(found)[order], which[order]

    def _types(self, labels: Labels) -> IntArray:
        """The type of each pair of nodes, (Q, pairs)."""
        type_of = np.zeros((self._values.n_labels,) * 2, dtype=np.int64)
        for t, (a, b) in enumerate(self._values.types):
            type_of[a, b] = type_of[b, a] = t
        u, v = np.triu_indices(labels.shape[1], 1)
        return np.asarray(type_of[labels[:, u], labels[:, v]])

    def _look(
        self,
        keys: IntArray,
        distances: IntArray,
        types: IntArray,
        of: OfComposition,
        left: Smallest,
    ) -> None:
        """Bound placements, one per row, for all sums at once."""
        values, width = self._values, self._values.width
        cells = distances - 1
        cells *= len(values.types)
        cells += types
        cells += width * np.arange(len(cells))[:, None]
        n_pairs = np.bincount(cells.ravel(), minlength=len(cells) * width)
        counts = n_pairs.reshape(len(cells), width).astype(float)
        better = np.flatnonzero(values.bounds(counts, of) < left.below)
        self._with_sums(keys[better], counts[better], of, left)

    def _with_sums(
        self, keys: IntArray, counts: FloatArray, of: OfComposition, left: Smallest
    ) -> None:
        """Evaluate placements with all sums, and add those that could beat the incumbent."""
        values = self._values
        each = max(1, _MOST_VALUES // len(of.sums))
        for start in range(0, len(keys), each):
            some = counts[start : start + each]
            paths = values.of_counts(some, np.repeat(of.composition[None], len(some), axis=0))
            i, j = np.nonzero(values.of_parts(paths, of.nodes) < left.below)
            left.add(keys[start + i], of.sums[j], values.exact(some[i], of.sums[j]))


def of_pairs(matrices: IntArray) -> IntArray:
    """The entries above the diagonal."""
    u, v = np.triu_indices(matrices.shape[1], 1)
    return matrices[:, u, v]
