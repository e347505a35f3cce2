"""Combinations of edge tables, further tables and sums over nodes that may be below a limit.

All have the same composition, and paths are not counted yet: a combination is dropped if no paths
could bring it below the limit. See `rbf_factors` for the factors, and `rbf_screens` for the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray, IntArray
from ..skeletons.edge_tables import EdgeTables, further_tables
from .rbf_screens import RbfScreens

_CELLS = 2_000_000  # of a matrix
_ROWS = 50_000  # factors that are tested together
MOST_CANDIDATES = 3_000_000  # of one composition


class TooManyCandidates(Exception):
    """Too many candidates remain, because hardly anything is ruled out."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Remaining combinations: a table of edges, further tables and sums per row; tables ascend."""

    table: IntArray  # (Q,): index of the table of edges
    further: IntArray  # (Q, labels, types)
    sums: IntArray  # (Q,): index of the sums
    logarithms: FloatArray  # (Q, T): of the product of all factors except that of paths

    def __len__(self) -> int:
        return len(self.table)


class Found:
    """Candidates that are found part by part; raises `TooManyCandidates`."""

    def __init__(self, n_labels: int, n_types: int, n_observed: int) -> None:
        none, tables = np.zeros(0, dtype=np.int64), np.zeros((0, n_labels, n_types), dtype=np.int64)
        self._parts = [Candidates(none, tables, none, np.zeros((0, n_observed)))]
        self._number = 0

    def add(self, part: Candidates) -> None:
        self._parts.append(part)
        self._number += len(part)
        if self._number > MOST_CANDIDATES:
            raise TooManyCandidates

    def all(self) -> Candidates:
        """All of them, ordered by table."""
        parts = self._parts
        table = np.concatenate([part.table for part in parts])
        order = np.argsort(table, kind="stable")
        further = np.concatenate([part.further for part in parts])
        sums = np.concatenate([part.sums for part in parts])
        logarithms = np.concatenate([part.logarithms for part in parts])
        return Candidates(table[order], further[order], sums[order], logarithms[order])


@dataclass(frozen=True, eq=False)
class SumsOfNodes:
    """The sums over nodes of graphs with one composition."""

    composition: IntArray  # (L,)
    further: IntArray  # (R, labels): number of edges with each label from 2 on
    logarithms: FloatArray  # (R, T): factors of labels and features
    most_ends: IntArray  # (labels, L): largest number of ends of such edges, by label of the node


def candidates(
    screens: RbfScreens,
    edges: EdgeTables,
    tables: IntArray,
    sums: SumsOfNodes,
    check: Callable[[], None],
) -> Candidates:
    """All combinations that may be below the limit of the screens.

    Args:
        screens: the bounds, and the factors they bound.
        edges: the numbering of all tables of edges.
        tables: the tables that occur, (C, types).
        sums: the possible sums.
        check: called now and then; it raises if time will not suffice.
    """
    most = most_further(sums, screens.factors.types, edges.most)
    logs = screens.factors.of_edges(tables, sums.composition)
    n_labels, n_types = sums.further.shape[1], len(screens.factors.types)
    found = Found(n_labels, n_types, logs.shape[1])
    for totals in np.unique(sums.further, axis=0):
        own = np.flatnonzero((sums.further == totals).all(axis=1))
        further = further_tables(tuple(totals.tolist()), tuple(map(tuple, most.tolist())), n_types)
        of_further = screens.factors.of_further(further)
        best = sums.logarithms[own].max(axis=0)
        for chunk in chunks(len(tables), _CELLS // max(1, len(further))):
            check()
            between = screens.factors.between(tables[chunk], further)
            left = screens.alpha * screens.negative * np.exp(logs[chunk])
            means = left @ np.exp(of_further + best).T
            i, j = np.nonzero(screens.of_means(means * np.exp(between)))
            fits = (further[j].sum(axis=1) <= tables[chunk][i]).all(axis=1)
            for some in chunks(int(fits.sum()), _ROWS):
                a, b = i[fits][some], j[fits][some]
                known = logs[chunk][a] + of_further[b] + between[a, b][:, None]
                keep = screens.of_largest(screens.alpha * np.exp(known + best))
                a, b, known = a[keep], b[keep], known[keep]
                for at, row in _with_sums(screens, known, sums.logarithms[own]):
                    both = known[at] + sums.logarithms[own[row]]
                    found.add(Candidates(chunk.start + a[at], further[b[at]], own[row], both))
    return found.all()


def _with_sums(
    screens: RbfScreens, known: FloatArray, of_sums: FloatArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of known factors and factors of sums that may be below the limit."""
    sums = np.exp(of_sums)
    for chunk in chunks(len(known), _CELLS // max(1, len(sums))):
        factors = screens.alpha * np.exp(known[chunk])
        i, j = np.nonzero(screens.of_means((factors * screens.negative) @ sums.T))
        for some in chunks(len(i), _ROWS):
            keep = screens.of_largest(factors[i[some]] * sums[j[some]])
            yield chunk.start + i[some][keep], j[some][keep]


def most_further(sums: SumsOfNodes, types: Sequence[tuple[int, int]], most: IntArray) -> IntArray:
    """The largest number of edges with each further label, for each type of ends.

    ``most`` is the largest number of edges of each type.
    """
    out = np.zeros((len(sums.most_ends), len(types)), dtype=np.int64)
    for row, ends in zip(out, sums.most_ends * sums.composition, strict=True):
        of_types = [ends[a] // 2 if a == b else min(ends[a], ends[b]) for a, b in types]
        row[:] = np.minimum(of_types, most)
    return out


def chunks(number: int, size: int) -> Iterator[slice]:
    """Parts of at most ``size`` rows each."""
    size = max(1, size)
    for start in range(0, number, size):
        yield slice(start, min(number, start + size))
