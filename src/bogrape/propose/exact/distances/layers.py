r"""Layers around one node, and the cases into which they divide a question about all graphs.

Let ``l_s(v)`` be the number of nodes at distance s from node v, and ``W(v) = sum_s w_s l_s(v)`` for
some weights. Let node 0 be a node with the largest W. Its layers ``(l_1, .., l_e)`` are positive
and sum up to ``n - 1``, so there are few possibilities (`profiles`). The layers restrict how near
and how far apart nodes can be (`bogrape.encoding.layering`), and how large ``w . h`` can be,
because no node has a larger W and every pair counts at both ends: ``2 w . h = sum_v W(v)``
(`largest`). Case by case, the question is far easier for a solver than as a whole. If ``w . h``
must be large, node 0 must be heavy, and few cases remain (`cases`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import numpy as np
from ortools.sat.python import cp_model

from ....encoding import GraphEncoding
from ....encoding.layering import layering
from .coordinates import Distance
from .inequality import Inequality, distances, over_histogram

Layers = tuple[int, ...]

_MOST_PROFILES = 10_000  # to be examined one by one
_IMPOSSIBLE = -(10**15)  # less than any w . h


@dataclass(frozen=True)
class Heaviest:
    """Graphs with ``least <= weights . h <= most``, in which no node has a larger W than node 0.

    Unless layers are given, cases of node 0 with a limit (`largest`) above ``most`` are left out.
    """

    weights: tuple[int, ...]
    least: int
    most: int

    def inequality(self) -> Inequality[Distance]:
        """The limits as an inequality over the numbers of pairs at each distance."""
        return over_histogram("heaviest", self.weights, self.least, self.most)


def cases(
    n: int, diameter: int, heaviest: Heaviest, n_most: int
) -> tuple[list[tuple[Layers, Heaviest]], Heaviest | None]:
    """The most promising layers of node 0, and the rest, which is ``None`` if these are all.

    At most ``n_most`` cases are listed, or more if they tie.
    """
    found, floor = _heavy_profiles(n, diameter, heaviest)
    limits = [(largest(diameter, heaviest.weights, layers), layers) for layers in found]
    limits = sorted((entry for entry in limits if floor <= entry[0] <= heaviest.most), reverse=True)
    rest = floor - 1
    if len(limits) > n_most:
        rest = max(rest, min(limits[n_most][0], limits[0][0] - 1))
    listed = [(layers, replace(heaviest, most=limit)) for limit, layers in limits if limit > rest]
    return listed, replace(heaviest, most=rest) if rest >= heaviest.least else None


def _heavy_profiles(n: int, diameter: int, heaviest: Heaviest) -> tuple[list[Layers], int]:
    """The possible layers of node 0 if ``w . h >= floor``, for a floor at which they are few.

    ``2 w . h = sum_v W(v)``, so the largest W is at least the average.
    """

    def listed(floor: int) -> list[Layers]:
        heavy = -(-2 * floor // n)
        return list(islice(profiles(n, diameter, heaviest.weights, heavy), _MOST_PROFILES + 1))

    found, floor = listed(heaviest.least), heaviest.least
    if len(found) <= _MOST_PROFILES:
        return found, floor
    low, high = floor, heaviest.most + 1
    found, floor = [], high
    while high - low > 1:
        middle = (low + high) // 2
        fewer = listed(middle)
        if len(fewer) <= _MOST_PROFILES:
            found, floor, high = fewer, middle, middle
        else:
            low = middle
    return found, floor


def profiles(n: int, diameter: int, weights: Sequence[int], least: int) -> Iterator[Layers]:
    """All ``(l_1, .., l_e)``, ``e <= diameter``, with ``weights . l >= least``."""

    @cache
    def best(s: int, left: int) -> float:
        """Largest weight of ``left`` nodes in the layers from s + 1 on, none of them empty."""
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


def largest(diameter: int, weights: Sequence[int], layers: Layers) -> int:
    """Upper bound on ``weights . h`` if node 0 has these layers and no node has a larger W.

    A node u in layer i has a node at every distance up to its farthest; those at 1, .., i are on
    its way to node 0, in the layers i - 1, .., 0. All others count at their best possible distance.
    """
    known = layering(layers)
    own = int(np.dot(weights[: len(layers)], layers))
    # [i, j]: number of nodes in class j, without a node of class i itself
    others = known.size - np.eye(len(known.size), dtype=np.int64)
    distances = np.arange(1, diameter + 1)
    weight = np.array(weights, dtype=float)
    # axes: the farthest distance of u, the class of u, the class that it sees, a distance
    far = np.minimum(known.far, distances[:, None, None])
    can_be = (known.near[..., None] <= distances) & (distances <= far[..., None])
    best = np.where(can_be, weight, -np.inf).max(axis=-1)
    most = np.where(others > 0, best * np.maximum(others, 1), 0.0).sum(axis=-1)
    beyond = distances > known.layer[:, None]
    on_the_way = known.layer[:, None] - known.layer
    may_be_it = beyond[:, None] | (on_the_way[..., None] == distances)
    may_be_it = can_be & may_be_it & (others > 0)[..., None]
    loss = np.where(may_be_it, best[..., None] - weight, np.inf).min(axis=2)
    needed = distances <= distances[:, None, None]
    top = (most - np.where(needed, loss, 0.0).sum(axis=-1)).max(axis=0)
    if not np.isfinite(top[1:]).all():
        return _IMPOSSIBLE
    total = own + known.size[1:] @ np.minimum(top[1:], own)
    return int(total) // 2


def inequalities(diameter: int, layers: Layers) -> Iterator[Inequality[Distance]]:
    """Limits on the number of pairs at distance s or more if some node has these layers."""
    known = layering(layers)
    pairs = np.triu(np.outer(known.size, known.size), 1)
    pairs += np.diag(known.size * (known.size - 1) // 2)
    far = np.minimum(known.far, diameter)
    for s in range(2, diameter + 1):
        weights = dict.fromkeys(distances(diameter)[s - 1 :], 1)
        low, high = int(pairs[known.near >= s].sum()), int(pairs[far >= s].sum())
        yield Inequality(f"layers[{s}]", weights, low, high)


def put_heaviest_first(encoding: GraphEncoding, heaviest: Heaviest) -> None:
    """Add rows to an encoding with layers: no W exceeds that of node 0, and their sum is large."""
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
        # a variable, so that a low W of one node is propagated to the others at once
        W = model.new_int_var(lightest, own, f"W[{u}]")
        model.add(weight == W)
        everyone.append(W)
    model.add(cp_model.LinearExpr.sum(everyone) >= 2 * heaviest.least)
