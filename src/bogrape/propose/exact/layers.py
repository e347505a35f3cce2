r"""Cases into which a claim about all graphs falls: the layers around one node.

Let ``l_s(v)`` be the number of nodes at distance s from node v, and ``W(v) = sum_s w_s l_s(v)``.
Every pair counts at both of its ends, so ``sum_v W(v) = 2 w . h``. A graph beyond the claim
``w . h <= high`` therefore has a node with ``W >= 2 (high + 1) / n``; take one with the largest W
for node 0, so that no other node has more. Its layers ``(l_1, .., l_e)`` are positive and sum up to
``n - 1``: there are few ways (`profiles`), a formula refutes many of them at once (`largest`), and
the rest are far easier for a solver, one by one, than all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

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


def largest(diameter: int, weights: Sequence[int], layers: Layers) -> int:
    """A limit on ``weights . h`` if node 0 has these layers and no node has a larger W.

    Two nodes in layers i <= j are at least ``j - i`` apart and, if layer ``k <= i`` is a single
    node, at most ``i + j - 2 k``: there is a way from that node to each of them.
    """
    sizes = np.array([1, *layers])
    singles = np.flatnonzero(sizes == 1)
    best = np.zeros((len(sizes), len(sizes)), dtype=np.int64)
    for i in range(len(sizes)):
        cut = singles[singles <= i].max()
        for j in range(i, len(sizes)):
            near, far = max(1, j - i), min(diameter, i + j - 2 * cut)
            best[i, j] = best[j, i] = max(weights[near - 1 : max(near, far)])
    most = best @ sizes - best.diagonal()  # a node is no pair with itself
    own = int(np.dot(weights[: len(layers)], layers))
    return int(sizes @ np.minimum(most, own)) // 2
