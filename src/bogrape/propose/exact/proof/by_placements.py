"""What is promising where labels matter: every placement of labels on every skeleton is looked at.

Molecules of 10 atoms have a hundred million placements, and one takes a microsecond or two:
numbers of pairs by distance and labels, a product of matrices, and a bound for whatever the sums of
node features may be (`bounds.placement_values`). Those that pass are evaluated with all sums.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, FloatArray, IntArray
from ....counts import distances_batch
from ..bounds.placement_values import OfComposition, PlacementValues
from ..skeletons.node_sums import NodeSums
from ..skeletons.placements import Labels, n_placements, placements
from ..skeletons.store import Skeletons
from .placing import Group, Smallest

_ROWS = 20_000  # placements at a time
_SECONDS = 2.5e-6  # that one takes, or less
_MOST_VALUES = 2_000_000  # placements with sums that are evaluated together


class TooManyPlacements(Exception):
    """They cannot be looked at in the time there is."""


def promising_placements(
    skeletons: Skeletons,
    sums: NodeSums,
    values: PlacementValues,
    value: float,
    deadline: float,
) -> tuple[Smallest, Group]:
    """All placements and sums that could have a value below ``value``, and their skeletons."""
    adjacency_of = _SortedByDegree(skeletons)
    degrees, kind_of = np.unique(skeletons.degrees, axis=0, return_inverse=True)
    members = [np.flatnonzero(kind_of == k) for k in range(len(degrees))]
    choices = [_Choice(sums, values, tuple(numbers.tolist())) for numbers in degrees]
    number = sum(len(some) * choice.number for some, choice in zip(members, choices, strict=True))
    if number * _SECONDS > deadline - time.monotonic():
        raise TooManyPlacements
    left = Smallest(value, 1 + skeletons.n_nodes, sums.columns.end)
    for some, choice in zip(members, choices, strict=True):
        if len(some) and choice.number:
            choice.look_at(some, adjacency_of, left, deadline)

    def group(key: tuple[int, ...]) -> Iterator[tuple[BoolArray, IntArray | None]]:
        yield adjacency_of(np.array(key[:1]))[0], np.array(key[1:])

    return left, group


class _SortedByDegree:
    """Skeletons whose nodes are numbered by degree, the smallest first."""

    def __init__(self, skeletons: Skeletons) -> None:
        self._skeletons = skeletons

    def __call__(self, chosen: IntArray) -> BoolArray:
        adjacency = self._skeletons.adjacency(chosen)
        order = np.argsort(adjacency.sum(axis=2), axis=1, kind="stable")
        rows = np.arange(len(adjacency))[:, None, None]
        return adjacency[rows, order[:, :, None], order[:, None, :]]


class _Choice:
    """All skeletons with the same degrees: their placements, and what their sums may be."""

    def __init__(self, sums: NodeSums, values: PlacementValues, degrees: tuple[int, ...]) -> None:
        self._sums, self._values, self._degrees = sums, values, degrees
        self._table = sums.sums(degrees)
        self._compositions, self._of_sums = np.unique(
            self._table[:, : values.n_labels], axis=0, return_inverse=True
        )
        self.number = n_placements(sums, degrees, self._compositions)

    def look_at(
        self, members: IntArray, adjacency_of: _SortedByDegree, left: Smallest, deadline: float
    ) -> None:
        """Add what could beat the incumbent on these skeletons."""
        known = [
            self._values.of_composition(self._table[self._of_sums == i])
            for i in range(len(self._compositions))
        ]
        labels, which = self._placements()
        types = self._types(labels)
        n_skeletons = max(1, _ROWS // len(labels))
        for start in range(0, len(members), n_skeletons):
            chosen = members[start : start + n_skeletons]
            distances = _of_pairs(distances_batch(adjacency_of(chosen)))
            for first in range(0, len(labels), _ROWS):
                if time.monotonic() > deadline:
                    raise TimeoutError
                rows = slice(first, first + _ROWS)
                self._look(chosen, distances, labels[rows], which[rows], types[rows], known, left)

    def _placements(self) -> tuple[Labels, IntArray]:
        """All placements, and the composition of each, which ascend."""
        found = list(placements(self._sums, self._degrees, self._compositions))
        index = {tuple(row): i for i, row in enumerate(self._compositions.tolist())}
        n_labels = self._values.n_labels
        of = [index[tuple(np.bincount(part[0], minlength=n_labels).tolist())] for part in found]
        which = np.repeat(of, [len(part) for part in found])
        order = np.argsort(which, kind="stable")
        return np.concatenate(found)[order], which[order]

    def _types(self, labels: Labels) -> NDArray[np.int16]:
        """The type of each pair of nodes, (Q, pairs)."""
        type_of = np.zeros((self._values.n_labels,) * 2, dtype=np.int16)
        for t, (a, b) in enumerate(self._values.types):
            type_of[a, b] = type_of[b, a] = t
        u, v = np.triu_indices(labels.shape[1], 1)
        return np.asarray(type_of[labels[:, u], labels[:, v]])

    def _look(
        self,
        chosen: IntArray,
        distances: IntArray,
        labels: Labels,
        which: IntArray,
        types: NDArray[np.int16],
        known: list[OfComposition],
        left: Smallest,
    ) -> None:
        values, width = self._values, self._values.width
        cells = (distances - 1)[:, None, :] * len(values.types) + types
        n_rows = len(chosen) * len(labels)
        cells = cells.reshape(n_rows, -1) + width * np.arange(n_rows)[:, None]
        n_pairs = np.bincount(cells.ravel(), minlength=n_rows * width).reshape(n_rows, width)
        counts = n_pairs.astype(float)
        of_rows = np.tile(which, len(chosen))
        better = np.flatnonzero(values.bounds(counts, of_rows, known) < left.below)
        order = np.argsort(of_rows[better], kind="stable")
        better = better[order]
        ends = [0, *(np.flatnonzero(np.diff(of_rows[better])) + 1), len(better)]
        for i, j in pairwise(ends if len(better) else [0]):
            some, of = better[i:j], known[of_rows[better[i]]]
            skeleton, placement = np.divmod(some, len(labels))
            keys = np.column_stack([chosen[skeleton], labels[placement]])
            self._with_sums(keys, counts[some], of, left)

    def _with_sums(
        self, keys: IntArray, counts: FloatArray, of: OfComposition, left: Smallest
    ) -> None:
        """Add what could beat the incumbent, now that sums are looked at."""
        values = self._values
        each = max(1, _MOST_VALUES // len(of.sums))
        for start in range(0, len(keys), each):
            some = counts[start : start + each]
            paths = values.of_counts(some, np.repeat(of.composition[None], len(some), axis=0))
            i, j = np.nonzero(values.of_parts(paths, of.nodes) < left.below)
            left.add(keys[start + i], of.sums[j], values.exact(some[i], of.sums[j]))


def _of_pairs(matrices: IntArray) -> IntArray:
    """The entries above the diagonal."""
    u, v = np.triu_indices(matrices.shape[1], 1)
    return matrices[:, u, v]
