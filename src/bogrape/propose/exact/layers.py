r"""Layers around one node: cases into which a question about all graphs falls.

Let ``l_s(v)`` be the number of nodes at distance s from node v, and ``W(v) = sum_s w_s l_s(v)`` for
some weights. Take a node with the largest W for node 0. Its layers ``(l_1, .., l_e)`` are positive
and sum up to ``n - 1``, so there are few ways (`profiles`). With the layers given much is known:
how near and how far nodes of two layers can be (`rows`), and how large ``w . h`` can be, because no
node has a larger W and every pair counts at both ends: ``2 w . h = sum_v W(v)`` (`largest`). What
is left is far easier for a solver, case by case, than all of it together. If ``w . h`` must be at
least so much, node 0 is heavier than most, and few ways are left (`cases`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from ...encoding import GraphEncoding

IntArray = NDArray[np.int64]
Layers = tuple[int, ...]


@dataclass(frozen=True)
class Heaviest:
    """Graphs with ``weights . h >= least``, in which no node has a larger W than node 0."""

    weights: tuple[int, ...]
    least: int


def cases(n: int, diameter: int, heaviest: Heaviest, most: int) -> list[Layers] | None:
    """All layers that node 0 can have, most promising first; ``None`` if they are too many."""
    weights, least = heaviest.weights, heaviest.least
    heavy = -(-2 * least // n)  # 2 w . h = sum_v W(v), so the largest W is at least the average
    found = list(islice(profiles(n, diameter, weights, heavy), most + 1))
    if len(found) > most:
        return None
    limits = [(largest(diameter, weights, layers), layers) for layers in found]
    return [layers for limit, layers in sorted(limits, reverse=True) if limit >= least]


def profiles(n: int, diameter: int, weights: Sequence[int], least: int) -> Iterator[Layers]:
    """All ``(l_1, .., l_e)``, ``e <= diameter``, with ``weights . l >= least``."""

    @cache
    def best(s: int, left: int) -> float:
        """The most that so many nodes can weigh from layer s + 1 on, none of them empty."""
        if left == 0:
            return 0
        if s == diameter:
            return -math.inf
        return max(size * weights[s] + best(s + 1, left - size) for size in range(1, left + 1))

    def extended(start: Layers, left: int, needed: int) -> Iterator[Layers]:
        s = len(start)
        if best(s, left) < needed:
            return
        if left == 0:
            yield start
        for size in range(1, left + 1):
            yield from extended((*start, size), left - size, needed - size * weights[s])

    yield from extended((), n - 1, least)


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


def put_heaviest_first(encoding: GraphEncoding, heaviest: Heaviest) -> None:
    """Add rows to an encoding with layers: no node has a larger W than node 0, and their sum."""
    layers, n = encoding.structure.layers, encoding.shape.n_nodes
    assert layers is not None
    weights, model = heaviest.weights, encoding.model
    own = int(np.dot(weights[: len(layers)], layers))
    lightest = min(weights) * (n - 1)
    falls = np.append(weights, 0)[:-1] - np.append(weights, 0)[1:]
    everyone = []
    for u in range(n):
        weight = sum(
            int(fall) * encoding.total(encoding.within(u, v, s) for v in range(n) if v != u)
            for s, fall in enumerate(falls, start=1)
            if fall
        )
        # a variable, so that what one node lacks is at once asked of the others
        W = model.new_int_var(lightest, own, f"W[{u}]")
        model.add(weight == W)
        everyone.append(W)
    model.add(cp_model.LinearExpr.sum(everyone) >= 2 * heaviest.least)
