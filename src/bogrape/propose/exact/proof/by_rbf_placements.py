"""Placements that are promising under the kernel ``rbf`` with edge labels, found step by step.

A graph's kernel values with the observations are products of factors (`bounds.rbf_factors`). These
are considered one after another, and each step drops what cannot be below the incumbent whatever
the remaining factors are (`bounds.rbf_screens`), or, if the kernel is smooth, whatever the
remaining counts are (`bounds.rbf_expansion`):

1. the sums of labels and features over the nodes, for each choice of degrees;
2. tables of edges by the labels of their ends, of which a hundred million placements have some
   hundred thousand, with the tables of edges with further labels and the sums of step 1
   (`bounds.rbf_candidates`, `bounds.rbf_smooth`);
3. all placements with a remaining table: their paths are counted, which gives the kernel values,
   and mean and variance are bounded once more.

Those that pass are evaluated. Edge labels and features are only counted here, not placed; a solver
decides whether there is such a graph (`placing`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....arrays import BoolArray, FloatArray, IntArray
from ....counts import distances_batch
from ..bounds.rbf_candidates import (
    Candidates,
    SumsOfNodes,
    TooManyCandidates,
    candidates,
    chunks,
    most_further,
)
from ..bounds.rbf_factors import RbfFactors, TooSharp
from ..bounds.rbf_screens import RbfScreens
from ..bounds.rbf_smooth import is_smooth, promising_sums, smooth_candidates
from ..bounds.rbf_unknowns import Unknowns
from ..skeletons.edge_tables import EdgeTables, TooManyTables
from ..skeletons.node_sums import NodeSums
from ..skeletons.path_ranges import PathRanges
from ..skeletons.placements import n_placements, placements
from ..skeletons.store import Skeletons
from .by_placements import Clock, SortedByDegree, TooManyPlacements, of_pairs
from .placing import Group, Smallest

_TRIED = 0.25  # of the time: if the kernel is smooth, hardly anything is ruled out
_CELLS = 2_000_000  # of a matrix
_ROWS = 4_000  # placements whose paths are counted together
_VALUES = 50_000  # evaluated together


def promising_rbf_placements(
    skeletons: Skeletons,
    sums: NodeSums,
    factors: RbfFactors,
    value: float,
    deadline: float,
) -> tuple[Smallest, Group]:
    """All placements that could have a value below ``value``; keys are a skeleton and its labels.

    Rows of sums hold those of the nodes, then the tables of edges with labels from 2 on.
    """
    if not sums.columns.has_ends:
        raise TooManyPlacements  # labels of edges are not tied to nodes
    adjacency_of = SortedByDegree(skeletons)
    degrees, kind_of = np.unique(skeletons.degrees, axis=0, return_inverse=True)
    screens = RbfScreens(factors, value)
    choices = [_Choice(sums, screens, tuple(numbers.tolist())) for numbers in degrees]
    members = [np.flatnonzero(kind_of == k) for k in range(len(degrees))]
    number = sum(len(m) * c.number for m, c in zip(members, choices, strict=True))
    clock = Clock(number, deadline, _TRIED)
    width = (factors.n_edge_labels - 1) * len(factors.types)
    left = Smallest(value, 1 + skeletons.n_nodes, sums.columns.end + width)
    try:
        for some, choice in zip(members, choices, strict=True):
            if len(some) and choice.number:
                choice.look_at(some, adjacency_of, left, clock)
    except (TooSharp, TooManyTables, TooManyCandidates):
        raise TooManyPlacements from None

    def group(key: tuple[int, ...]) -> Iterator[tuple[BoolArray, IntArray | None]]:
        yield adjacency_of(np.array(key[:1]))[0], np.array(key[1:])

    return left, group


class _Choice:
    """All skeletons with the same degrees."""

    def __init__(self, sums: NodeSums, screens: RbfScreens, degrees: tuple[int, ...]) -> None:
        self._sums, self._screens, self._degrees = sums, screens, degrees
        table = sums.sums_with_ends(degrees)
        logs = screens.factors.of_sums(table)
        keep = screens.of_largest(screens.alpha * np.exp(logs))
        self._table, self._logs = table[keep], logs[keep]
        self._compositions, self._of_sums = np.unique(
            self._table[:, : screens.factors.n_labels], axis=0, return_inverse=True
        )
        self.number = n_placements(sums, degrees, self._compositions) if keep.any() else 0

    def look_at(
        self, members: IntArray, adjacency_of: SortedByDegree, left: Smallest, clock: Clock
    ) -> None:
        """Add the placements on these skeletons that could beat the incumbent."""
        parts = [members[chunk] for chunk in chunks(len(members), 1_024)]
        matrices = [distances_batch(adjacency_of(part)) for part in parts]
        distances = np.concatenate([of_pairs(part) for part in matrices])
        ranges = PathRanges(np.concatenate(matrices), self._allowed())
        types = self._screens.factors.types
        for i, composition in enumerate(self._compositions):
            clock.check()
            number = len(members) * n_placements(self._sums, self._degrees, composition[None])
            rows = np.flatnonzero(self._of_sums == i)
            sums = self._sums_of(rows)
            low, high = ranges.within(composition.tolist(), types)
            unknowns = Unknowns(self._screens, composition, low, high)
            most = most_further(sums, types, high[0])
            smooth = is_smooth(unknowns, sums, most)
            if smooth:
                rows = rows[promising_sums(unknowns, sums, most)]
                sums = self._sums_of(rows) if len(rows) else sums
            if not len(rows):
                clock.done(number)
                continue
            found = placements(self._sums, self._degrees, composition[None])
            labels = np.concatenate(list(found))
            placed = _Placed(self._screens.factors, composition, labels, distances)
            if smooth:
                passed = smooth_candidates(unknowns, placed.tables, sums, most, clock.check)
            else:
                passed = candidates(self._screens, placed.edges, placed.tables, sums, clock.check)
            for skeleton, placement, table in placed.with_tables(np.unique(passed.table)):
                clock.check()
                counts = placed.counts(skeleton, placement)
                j, which = self._below(counts, table, composition, passed)
                keys = np.column_stack([members[skeleton], labels[placement]])
                self._add(keys[j], counts[j], rows[passed.sums[which]], passed.further[which], left)
            clock.done(number)

    def _allowed(self) -> BoolArray:
        """Which labels nodes in ascending order of their degrees can have."""
        degree_of = np.repeat(np.arange(1, len(self._degrees) + 1), self._degrees)
        out = np.zeros((self._screens.factors.n_labels, len(degree_of)), dtype=bool)
        for kind in self._sums.kinds:
            out[kind.label] |= degree_of == kind.degree
        return out

    def _sums_of(self, rows: IntArray) -> SumsOfNodes:
        columns, factors = self._sums.columns, self._screens.factors
        further = self._table[rows][:, columns.end + 1 :] // 2  # an edge has two ends
        ends = np.zeros((further.shape[1], factors.n_labels), dtype=np.int64)
        for kind in self._sums.kinds:
            of_label = ends[:, kind.label]
            np.maximum(of_label, kind.ends[1:], out=of_label)
        composition = self._table[rows[0], : factors.n_labels]
        return SumsOfNodes(composition, further, self._logs[rows], ends)

    def _below(
        self, counts: FloatArray, table: IntArray, composition: IntArray, passed: Candidates
    ) -> tuple[IntArray, IntArray]:
        """Pairs of counts, whose tables ascend, and candidates that may be below the incumbent."""
        screens = self._screens
        paths = np.exp(screens.factors.of_paths(counts, composition))
        of_tables, first = np.unique(table, return_index=True)
        last = np.append(first[1:], len(table))
        begin = np.searchsorted(passed.table, of_tables)
        end = np.searchsorted(passed.table, of_tables, side="right")
        rows, which = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for low, high, a, b in zip(first, last, begin, end, strict=True):
            for part in chunks(b - a, _CELLS // (high - low)):
                known = screens.alpha * np.exp(passed.logarithms[a:b][part])
                i, j = screens.of_products(paths[low:high], known)
                rows.append(low + i)
                which.append(a + part.start + j)
        return np.concatenate(rows), np.concatenate(which)

    def _add(
        self, keys: IntArray, counts: FloatArray, rows: IntArray, further: IntArray, left: Smallest
    ) -> None:
        """Evaluate these candidates, and add those below the incumbent."""
        for chunk in chunks(len(rows), _VALUES):
            sums = self._table[rows[chunk]][:, : self._sums.columns.end]
            values = self._screens.factors.exact(counts[chunk], sums, further[chunk])
            flat = further[chunk].reshape(len(sums), -1)
            left.add(keys[chunk], np.column_stack([sums, flat]), values)


class _Placed:
    """All placements of one composition on skeletons with the same degrees, by tables of edges."""

    def __init__(
        self, factors: RbfFactors, composition: IntArray, labels: IntArray, distances: IntArray
    ) -> None:
        self._factors, self._distances = factors, distances
        type_of = np.zeros((factors.n_labels,) * 2, dtype=np.int64)
        for t, (a, b) in enumerate(factors.types):
            type_of[a, b] = type_of[b, a] = t
        u, v = np.triu_indices(labels.shape[1], 1)
        self._types = type_of[labels[:, u], labels[:, v]]
        joined = distances == 1
        self.edges = EdgeTables(factors.types, composition.tolist(), int(joined[0].sum()))
        self._weights = self.edges.weights(self._types)
        self._joined = joined.astype(float)
        self._numbers = self.edges.distinct(numbers for _, numbers in self._all_numbers())
        self.tables = self.edges.tables(self._numbers)

    def _all_numbers(self) -> Iterator[tuple[int, IntArray]]:
        """For each chunk of skeletons: the index of the first, and all table numbers, (Q, S)."""
        for chunk in chunks(len(self._joined), _CELLS // len(self._weights)):
            yield chunk.start, self.edges.numbers(self._weights, self._joined[chunk])

    def with_tables(self, wanted: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Skeletons and placements with one of the ``wanted`` tables, a few thousand at a time.

        The tables that are returned with them ascend.
        """
        for start, numbers in self._all_numbers() if len(wanted) else ():
            places = self.edges.places(numbers, self._numbers[wanted])
            placement, skeleton = np.nonzero(places >= 0)
            table = wanted[places[placement, skeleton]]
            order = np.argsort(table, kind="stable")
            for chunk in chunks(len(order), _ROWS):
                some = order[chunk]
                yield start + skeleton[some], placement[some], table[some]

    def counts(self, skeleton: IntArray, placement: IntArray) -> FloatArray:
        """Numbers of pairs of nodes by distance and type, (B, width)."""
        width = self._factors.width
        cells = self._distances[skeleton] - 1
        cells *= len(self._factors.types)
        cells += self._types[placement]
        cells += width * np.arange(len(cells))[:, None]
        counts = np.bincount(cells.ravel(), minlength=len(cells) * width)
        return counts.reshape(len(cells), width).astype(float)
