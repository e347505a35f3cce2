"""All ways to put labels on the nodes of skeletons with the same degrees.

The labels that a node can have depend on its degree alone, so skeletons whose nodes are numbered by
degree share their placements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ....arrays import IntArray
from .node_sums import NodeSums

Labels = NDArray[np.int8]  # (Q, n): nodes in ascending order of their degrees


def by_degree(sums: NodeSums, degrees: tuple[int, ...]) -> list[dict[tuple[int, ...], None]]:
    """For each degree, all ways to divide its nodes among the labels: the number of each label."""
    n_labels = sums.columns.shape.n_labels
    out = []
    for d, number in enumerate(degrees, start=1):
        labels = sorted({kind.label for kind in sums.kinds if kind.degree == d})
        shared: dict[tuple[int, ...], None] = {}
        for part in _shares(number, len(labels)):
            numbers = [0] * n_labels
            for label, count in zip(labels, part, strict=True):
                numbers[label] = count
            shared[tuple(numbers)] = None
        out.append(shared)
    return out


def _shares(total: int, n_parts: int) -> Iterator[tuple[int, ...]]:
    if n_parts == 0:
        if total == 0:
            yield ()
        return
    if n_parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _shares(total - first, n_parts - 1):
            yield (first, *rest)


def tables(
    sums: NodeSums, degrees: tuple[int, ...], compositions: IntArray
) -> Iterator[list[tuple[int, ...]]]:
    """All numbers of nodes by degree and label, for graphs of these compositions."""
    allowed = set(map(tuple, compositions.tolist()))
    most = compositions.max(axis=0, initial=0)
    options = by_degree(sums, degrees)

    def extended(table: list[tuple[int, ...]], total: IntArray) -> Iterator[list[tuple[int, ...]]]:
        if len(table) == len(options):
            if tuple(total.tolist()) in allowed:
                yield table
            return
        for numbers in options[len(table)]:
            more = total + numbers
            if (more <= most).all():
                yield from extended([*table, numbers], more)

    yield from extended([], np.zeros(len(most), dtype=np.int64))


def n_placements(sums: NodeSums, degrees: tuple[int, ...], compositions: IntArray) -> int:
    """Number of placements."""
    return sum(
        math.prod(n_arrangements(numbers) for numbers in table)
        for table in tables(sums, degrees, compositions)
    )


def n_arrangements(numbers: tuple[int, ...]) -> int:
    out, left = 1, sum(numbers)
    for number in numbers:
        out *= math.comb(left, number)
        left -= number
    return out


def placements(
    sums: NodeSums, degrees: tuple[int, ...], compositions: IntArray
) -> Iterator[Labels]:
    """All placements with these compositions, one part at a time."""
    for table in tables(sums, degrees, compositions):
        out = np.zeros((1, 0), dtype=np.int8)
        for numbers in table:
            block = arrangements(numbers)
            rows, columns = np.divmod(np.arange(len(out) * len(block)), len(block))
            out = np.concatenate([out[rows], block[columns]], axis=1)
        yield out


@lru_cache(maxsize=4096)
def arrangements(numbers: tuple[int, ...]) -> Labels:
    """All orders of nodes with a given number of each label."""
    size = sum(numbers)
    out = np.full((1, size), -1, dtype=np.int8)
    for label, number in enumerate(numbers):
        left = int((out[0] < 0).sum())
        chosen = np.array(list(combinations(range(left), number)), dtype=np.int64)
        free = np.nonzero(out < 0)[1].reshape(len(out), left)
        rows, columns = np.divmod(np.arange(len(out) * len(chosen)), len(chosen))
        out = out[rows]
        np.put_along_axis(out, free[rows[:, None], chosen[columns]], np.int8(label), axis=1)
    out.setflags(write=False)
    return out
