"""Tables of edges by the labels of their ends, for many placements of labels at once.

A table holds the number of edges for each pair of labels at their ends. It is encoded as one whole
number to which every edge adds a term, so one product of matrices gives the tables of all
placements on all skeletons. A hundred million placements have some hundred thousand tables.

If edges have labels 1, 2, .., those with labels from 2 on have tables of their own, *further
tables*; all other edges have label 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ....arrays import FloatArray, IntArray

_MOST_NUMBERS = 30_000_000  # larger numbers are compared, not looked up
_MOST_TABLES = 300_000
_LARGEST = 2.0**52  # products of floating-point numbers are exact up to here


class TooManyTables(Exception):
    """There are too many tables to be numbered or listed."""


class EdgeTables:
    """The tables of graphs with one composition and one number of edges."""

    def __init__(
        self, types: Sequence[tuple[int, int]], composition: Sequence[int], n_edges: int
    ) -> None:
        self.n_edges = n_edges
        numbers = np.array(
            [composition[a] * (composition[b] - (a == b)) // (1 + (a == b)) for a, b in types]
        )
        self.most: IntArray = np.minimum(numbers, n_edges)  # edges of each type
        self._rest = int(self.most.argmax())  # this type has all edges that the others do not
        self._weights = np.zeros(len(types))
        size = 1
        for t in np.flatnonzero(self.most).tolist():
            if t != self._rest:
                self._weights[t] = size
                size *= int(self.most[t]) + 1
        if size > _LARGEST:
            raise TooManyTables
        self._size = size

    def weights(self, types: IntArray) -> FloatArray:
        """The terms that edges of these types add to the number of a table."""
        return np.asarray(self._weights[types])

    def numbers(self, weights: FloatArray, edges: FloatArray) -> IntArray:
        """The number of the table of each placement (rows) on each skeleton (columns).

        Args:
            weights: see `weights`, (Q, pairs).
            edges: which pairs of nodes each skeleton joins, (S, pairs).
        """
        return (weights @ edges.T).astype(np.int64)

    def tables(self, numbers: IntArray) -> IntArray:
        """The tables with these numbers: edges of each type, (C, types)."""
        out = np.zeros((len(numbers), len(self.most)), dtype=np.int64)
        rest = numbers
        for t in np.flatnonzero(self._weights).tolist():
            rest, out[:, t] = np.divmod(rest, int(self.most[t]) + 1)
        out[:, self._rest] = self.n_edges - out.sum(axis=1)
        return out

    def distinct(self, parts: Iterator[IntArray]) -> IntArray:
        """All numbers that occur, ascending."""
        if self._size > _MOST_NUMBERS:
            found = [np.unique(part) for part in parts]
            return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
        seen = np.zeros(self._size, dtype=bool)
        for part in parts:
            seen[part.ravel()] = True
        return np.flatnonzero(seen)

    def places(self, numbers: IntArray, among: IntArray) -> IntArray:
        """Index of each number in an ascending list; -1 if it is not there."""
        if self._size > _MOST_NUMBERS:
            places = np.minimum(np.searchsorted(among, numbers), max(0, len(among) - 1))
            return np.where(among[places] == numbers, places, -1) if len(among) else places - 1
        table = np.full(self._size, -1, dtype=np.int32)
        table[among] = np.arange(len(among))
        return np.asarray(table[numbers], dtype=np.int64)


@lru_cache(maxsize=256)
def further_tables(
    totals: tuple[int, ...], most: tuple[tuple[int, ...], ...], n_types: int
) -> IntArray:
    """All tables of the edges with each label from 2 on, (Q, labels, types).

    Args:
        totals: number of edges with each of these labels.
        most: for each of them, the largest number of each type of ends.
        n_types: number of types.
    """
    out = np.zeros((1, 0, n_types), dtype=np.int64)
    for total, caps in zip(totals, most, strict=True):
        part = _shared_out(total, caps)
        if len(out) * len(part) > _MOST_TABLES:
            raise TooManyTables
        i, j = np.divmod(np.arange(len(out) * len(part)), max(1, len(part)))
        out = np.concatenate([out[i], part[j][:, None]], axis=1)
    return out


@lru_cache(maxsize=1024)
def _shared_out(total: int, caps: tuple[int, ...]) -> IntArray:
    """All ways to write a number as an ordered sum of numbers within these limits."""
    rows, left = np.zeros((1, 0), dtype=np.int64), np.array([total])
    for i, cap in enumerate(caps):
        least = np.maximum(left - sum(caps[i + 1 :]), 0)  # the others cannot hold more
        choices = np.maximum(np.minimum(left, cap) - least + 1, 0)
        if choices.sum() > _MOST_TABLES:
            raise TooManyTables
        index = np.repeat(np.arange(len(rows)), choices)
        value = np.arange(len(index)) - np.repeat(np.cumsum(choices) - choices, choices)
        value += least[index]
        rows, left = np.column_stack([rows[index], value]), left[index] - value
    return np.asarray(rows[left == 0])
