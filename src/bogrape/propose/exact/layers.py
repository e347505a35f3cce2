r"""Layers around one node: cases into which a question about all graphs falls.

Let ``l_s(v)`` be the number of nodes at distance s from node v, and ``W(v) = sum_s w_s l_s(v)`` for
some weights. Take a node with the largest W for node 0. Its layers ``(l_1, .., l_e)`` are positive
and sum up to ``n - 1``, so there are few ways (`profiles`). With the layers given much is known:
how near and how far nodes of two layers can be (`rows`), and how large ``w . h`` can be, because no
node has a larger W and every pair counts at both ends: ``2 w . h = sum_v W(v)`` (`largest`). What
is left is far easier for a solver, case by case, than all of it together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from ...encoding import GraphEncoding

IntArray = NDArray[np.int64]
Layers = tuple[int, ...]


def profiles(n: int, diameter: int, weights: Sequence[int], least: int) -> Iterator[Layers]:
    """All ``(l_1, .., l_e)``, ``e <= diameter``, with ``weights . l >= least``."""

    def extended(start: Layers, left: int, value: int) -> Iterator[Layers]:
        if left == 0:
            if value >= least:
                yield start
            return
        s = len(start)
        if s == diameter or value + left * max(weights[s:]) < least:
            return
        for size in range(1, left + 1):
            yield from extended((*start, size), left - size, value + size * weights[s])

    yield from extended((), n - 1, 0)


def unit(diameter: int, s: int) -> Layers:
    """Weights for which W is the number of nodes at distance s."""
    return tuple(int(t == s) for t in range(1, diameter + 1))


def n_profiles(n: int, diameter: int, s: int) -> int:
    """How many profiles there are of nodes that have a node at distance s."""
    return sum(comb(n - 2, e - 1) for e in range(s, diameter + 1))


def _distances(diameter: int, layers: Layers) -> tuple[IntArray, IntArray, IntArray]:
    """Sizes of the layers, from 0; and how near and how far nodes of two layers can be.

    Nodes in layers i <= j are at least ``j - i`` apart and, if layer ``k <= i`` is a single node,
    at most ``i + j - 2 k``: there is a way from that node to each of them.
    """
    sizes = np.array([1, *layers])
    index = np.arange(len(sizes))
    low = np.minimum.outer(index, index)
    high = np.maximum.outer(index, index)
    cut = np.maximum.accumulate(np.where(sizes == 1, index, 0))
    near = np.maximum(1, high - low)
    far = np.clip(high + low - 2 * cut[low], near, diameter)
    return sizes, near, far


def largest(diameter: int, weights: Sequence[int], layers: Layers) -> int:
    """A limit on ``weights . h`` if node 0 has these layers and no node has a larger W."""
    sizes, near, far = _distances(diameter, layers)
    best = np.array(
        [
            [max(weights[a - 1 : b]) for a, b in zip(from_, to, strict=True)]
            for from_, to in zip(near.tolist(), far.tolist(), strict=True)
        ]
    )
    most = best @ sizes - best.diagonal()  # a node is no pair with itself
    own = int(np.dot(weights[: len(layers)], layers))
    return int(sizes @ np.minimum(most, own)) // 2


def rows(diameter: int, layers: Layers) -> Iterator[tuple[int, int, int]]:
    """``(s, low, high)``: there are at least and at most so many pairs at distance s or more."""
    sizes, near, far = _distances(diameter, layers)
    pairs = np.triu(np.outer(sizes, sizes), 1) + np.diag(sizes * (sizes - 1) // 2)
    for s in range(2, diameter + 1):
        yield s, int(pairs[near >= s].sum()), int(pairs[far >= s].sum())


def put_heaviest_first(encoding: GraphEncoding, weights: Sequence[int]) -> None:
    """Add rows to an encoding with layers: no node has a larger W than node 0."""
    layers = encoding.structure.layers
    assert layers is not None
    own = int(np.dot(weights[: len(layers)], layers))
    falls = np.append(weights, 0)[:-1] - np.append(weights, 0)[1:]
    n = encoding.shape.n_nodes
    for u in range(1, n):
        total = sum(
            int(fall) * encoding.total(encoding.within(u, v, s) for v in range(n) if v != u)
            for s, fall in enumerate(falls, start=1)
            if fall
        )
        if not isinstance(total, int):
            encoding.model.add(total <= own)
