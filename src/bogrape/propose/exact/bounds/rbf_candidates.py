"""Combinations of edge tables, further tables and sums over nodes that may be below a limit.

All have the same composition, and paths are not counted yet: a combination is dropped if no paths
could bring it below the limit. See `rbf_factors` for the factors, and `rbf_screens` for the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    most = _most_further(screens, edges, sums)
    logs = screens.factors.of_edges(tables, sums.composition)
    none = np.zeros(0, dtype=np.int64)
    n_labels, n_types = sums.further.shape[1], len(screens.factors.types)
    found = [(none, np.zeros((0, n_labels, n_types), dtype=np.int64), none, logs[:0])]
    number = 0
    for totals in np.unique(sums.further, axis=0):
        own = np.flatnonzero((sums.further == totals).all(axis=1))
        further = further_tables(tuple(totals.tolist()), most, n_types)
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
                    found.append((chunk.start + a[at], further[b[at]], own[row], both))
                    number += len(at)
                if number > MOST_CANDIDATES:
                    raise TooManyCandidates
    table, further, rows, both = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(table, kind="stable")
    return Candidates(table[order], further[order], rows[order], both[order])


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


def _most_further(
    screens: RbfScreens, edges: EdgeTables, sums: SumsOfNodes
) -> tuple[tuple[int, ...], ...]:
    """The largest number of edges with each further label, for each type of ends."""
    out = []
    for ends in sums.most_ends * sums.composition:
        of_types = [
            ends[a] // 2 if a == b else min(ends[a], ends[b]) for a, b in screens.factors.types
        ]
        out.append(tuple(np.minimum(of_types, edges.most).tolist()))
    return tuple(out)


def chunks(number: int, size: int) -> Iterator[slice]:
    """Parts of at most ``size`` rows each."""
    size = max(1, size)
    for start in range(0, number, size):
        yield slice(start, min(number, start + size))
