r"""Inequalities for the numbers of pairs at each distance in connected undirected graphs.

Let ``h_s`` be the number of unordered pairs at distance s in a connected graph with n nodes and
diameter d. Then

* ``contiguous``: ``h_s >= d - s + 1`` (the pairs on a path of length d);
* ``spread``: ``h_s >= n - s`` for ``s < d`` and ``s <= ceil(d / 2)``. *Proof.* Let P be a shortest
  path of length d. A node v off P has distance at least d/2 from one end of P, and distances from v
  to neighbours on P differ by at most one; so if v is within s of P, some node of P is at distance
  exactly s from v. If v is farther, take the node at distance s on a shortest path from v to P; it
  is off P and nearer to P than v. Assign each such pair to its end that is off P and farther from
  P: the pairs of different v are different, and so are the ``d - s + 1`` pairs on P.
* ``Ore``: ``h_1 <= d + (n - d - 1)(n - d + 4) / 2`` (Ore, 1968);
* ``tail``: ``sum_{t >= s} h_t <= n (n - s) / 2``: a node with a node at distance s or more has one
  at each smaller distance, itself included;
* ``far``: a smaller limit on the same sum where s is near d (`_far_by_middles`);
* ``path``: ``sum_{t >= s} h_t <= (n - s + 1) (n - s) / 2``, the number in a path, for any diameter.
  *Proof* by induction on n. Some node can be removed without disconnecting the graph. It is at
  distance s or more from at most ``n - s`` nodes, because some node is at each smaller distance,
  and its removal can only increase the distances among the others.
* ``fact``: ``sum_s weights_s h_s <= high``, which the solver has proved for all graphs of one n and
  d, once and for all.

The formulas allow far too many pairs at large distances; once the largest possible ``h_s`` and
``h_s + .. + h_d`` are known, counts alone bound the acquisition of graphs of 15 nodes to within a
few per cent.
Facts for small sizes come with the package (``facts.json``, written and checked by
``python -m bogrape.propose.exact.distances.prove_facts``); the engine proves more on demand
(`proof.cutting_planes`). They depend neither on data nor on rules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from ....arrays import IntArray
from .coordinates import Distance
from .inequality import Inequality, distances

FILE = "facts.json"


def lower_bounds(n: int, diameter: int) -> IntArray:
    """Smallest possible ``h_1 .. h_d`` (*contiguous* and *spread*)."""
    s = np.arange(1, diameter + 1)
    bound = diameter - s + 1
    spread = (s < diameter) & (s <= (diameter + 1) // 2)
    bound = np.where(spread, np.maximum(bound, n - s), bound)
    bound[0] = max(bound[0], n - 1)
    return bound.astype(np.int64)


def most_edges(n: int, diameter: int) -> int:
    """*Ore*: the largest number of edges."""
    if diameter == 1:
        return n * (n - 1) // 2
    return diameter + (n - diameter - 1) * (n - diameter + 4) // 2


def most_far(n: int, diameter: int, s: int) -> int:
    """*tail*, *path* and *far*: the largest number of pairs at distance s or more."""
    if s <= 1:
        return n * (n - 1) // 2
    return min(most_far_of_all(n, s), _far_by_middles(n, diameter, s))


def most_far_of_all(n: int, s: int) -> int:
    """*path*, which is never above *tail*, for graphs of any diameter."""
    s = max(1, s)
    return (n - s + 1) * (n - s) // 2


@cache
def _far_by_middles(n: int, diameter: int, s: int) -> int:
    r"""A limit on the number e of *far* pairs, those at distance s or more (*far*).

    Let f(u) be the number of nodes far from u. A far pair at distance m has ``2s - 1 - m`` nodes on
    a shortest path that are far from neither end: at least ``q = 2s - 1 - d`` *middles*.

    *Zeros.* Let ``z`` nodes have f = 0. Around a node u with f(u) > 0 and eccentricity m take the q
    layers ``m - s < i < s + m - d``, which are among the first s - 1. If such a layer is a single
    node w, all of its distances are below s: on the far side they are at most m - i, and to x on
    the side of u at most ``d - (m - i)``, because every path from x to the last layer runs through
    w. So w is a zero, and at most z of these layers are single nodes:
    ``f(u) <= n - s - max(0, q - z)``.

    *Cliques* (after Moon and Moser). Let ``N_k`` be the number of sets of k nodes pairwise far, so
    that ``N_2 = e``, and ``N_1 = n - z``. In such a set Q let ``q_k`` nodes be far from at most
    k - 2 of Q. Adding up, over all Q, the nodes far from all of Q but one gives

    .. math:: k^2 N_k^2 / N_{k-1} \le N_k (n - q_k) + (k^2 - 1) N_{k+1} .

    ``q_2 >= q``, and every further node of Q brings the nodes at distance i from it on a shortest
    path to another one, ``d - s < i < s - d/2``: they are near both, and by the triangle inequality
    they are none of those counted before. The balls of radius ``(s - 1) // 2`` around Q are
    disjoint, and if s is even some node lies outside all of them, which limits k.
    """
    q = max(0, 2 * s - 1 - diameter)
    beside = max(0, (2 * s - diameter + 1) // 2 - 1 - (diameter - s))
    radius = (s - 1) // 2
    ratio = 0.0  # N_{k+1} / N_k, from the largest k down
    for k in range(max(2, (n - (s % 2 == 0)) // (radius + 1)), 1, -1):
        ratio = max(0.0, n - q - (k - 2) * beside + (k * k - 1) * ratio) / (k * k)
    best = 0.0
    for zeros in range(n):
        by_zeros = 0.5 * (n - zeros) * max(0, n - s - max(0, q - zeros))
        best = max(best, min(by_zeros, (n - zeros) * ratio))
    return math.floor(best + 1e-9)


def most_at(n: int, diameter: int, s: int) -> int:
    """*Ore* and *tail*: the largest number of pairs at distance s."""
    return most_edges(n, diameter) if s == 1 else most_far(n, diameter, s)


def possible_histograms(
    n: int,
    diameter: int,
    facts: Sequence[Fact] = (),
    limit: int | None = None,
    rng: np.random.Generator | None = None,
) -> IntArray | None:
    """All ``(h_1, .., h_d)`` that satisfy the conditions above, in lexicographic order.

    If more than ``limit`` beginnings of histograms would have to be kept at once, the result is
    ``None`` or, with a generator, a random sample.
    """
    bounds = lower_bounds(n, diameter)
    found = np.zeros((1, 0), dtype=np.int64)
    left = np.array([n * (n - 1) // 2], dtype=np.int64)
    for s in range(1, diameter + 1):
        rest = int(bounds[s:].sum())
        high = np.minimum(left - rest, most_at(n, diameter, s))
        must = left if s == diameter else left - most_far(n, diameter, s + 1)
        low = np.maximum(bounds[s - 1], must)
        if limit is not None and int(np.maximum(high - low + 1, 0).sum()) > 2 * limit:
            if rng is None:
                return None  # too many even to generate
            drawn = rng.random(len(found)) < 2 * limit / np.maximum(high - low + 1, 0).sum()
            found, left, low, high = found[drawn], left[drawn], low[drawn], high[drawn]
        found, left = extended(found, left, low, high)
        possible = np.ones(len(found), dtype=bool)
        for fact in facts:
            weights = np.array(fact.weights)
            # the remaining pairs add at least this much, whatever their distances
            to_come = weights[s:].min(initial=0) * left if s < diameter else 0
            possible &= found @ weights[:s] + to_come <= fact.high
        found, left = found[possible], left[possible]
        if limit is not None and rng is None and len(found) > limit:
            return None
    return found


def extended(
    beginnings: IntArray, left: IntArray, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """Every beginning followed by every number between its ``low`` and ``high``.

    The second array is the number of pairs that are ``left`` for larger distances.
    """
    n_choices = np.maximum(high - low + 1, 0)
    owner = np.repeat(np.arange(len(beginnings)), n_choices)
    first = np.repeat(np.cumsum(n_choices) - n_choices, n_choices)
    chosen = low[owner] + np.arange(len(owner)) - first
    return np.column_stack([beginnings[owner], chosen]), left[owner] - chosen


def general_histograms(n_pairs: int, longest: int, limit: int) -> IntArray | None:
    """All ``(h_1, .., h_longest)`` with a sum of at most ``n_pairs`` and no gaps.

    For graphs that may be directed or disconnected; ``None`` if there are more than ``limit``.
    """
    found = np.zeros((1, 0), dtype=np.int64)
    left = np.array([n_pairs], dtype=np.int64)
    for s in range(1, longest + 1):
        ended = (found[:, -1] == 0) if s > 1 else np.zeros(1, dtype=bool)
        high = np.where(ended, 0, left)
        if int((high + 1).sum()) > limit:
            return None
        found, left = extended(found, left, np.zeros(len(found), dtype=np.int64), high)
    return found


def inequalities_of_all(n: int) -> Iterator[Inequality[Distance]]:
    """Inequalities for any diameter: enough edges, and *path*."""
    every = distances(n - 1)
    yield Inequality("edges", {every[0]: 1}, low=n - 1)
    for s in every[1:]:
        high = float(most_far_of_all(n, s))
        yield Inequality(f"path[{s}]", dict.fromkeys(every[s - 1 :], 1), high=high)


def inequalities(
    n: int, diameter: int, facts: Sequence[Fact] = ()
) -> Iterator[Inequality[Distance]]:
    """The conditions as inequalities, named as above."""
    every = distances(diameter)
    for s, low in zip(every, lower_bounds(n, diameter), strict=True):
        yield Inequality(f"spread[{s}]", {s: 1}, float(low), float(most_at(n, diameter, s)))
    for s in every[1:]:
        high = float(most_far(n, diameter, s))
        yield Inequality(f"tail[{s}]", dict.fromkeys(every[s - 1 :], 1), high=high)
    for i, fact in enumerate(facts):
        yield fact.inequality(f"fact[{i}]")


# -- facts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """``weights[0] h_1 + weights[1] h_2 + .. <= high``, one weight per distance up to d."""

    weights: tuple[int, ...]
    high: int

    def inequality(self, name: str = "fact") -> Inequality[Distance]:
        """The fact as an inequality over the distances with a weight."""
        weights = {
            s: weight
            for s, weight in zip(distances(len(self.weights)), self.weights, strict=True)
            if weight
        }
        return Inequality(name, weights, high=self.high)


def known_facts(n: int, diameter: int) -> tuple[Fact, ...]:
    """The facts about connected graphs of this size and diameter that come with the package."""
    return _table().get((n, diameter), ())


@cache
def _table() -> dict[tuple[int, int], tuple[Fact, ...]]:
    return parse((resources.files(__package__) / FILE).read_text(encoding="ascii"))


def parse(text: str) -> dict[tuple[int, int], tuple[Fact, ...]]:
    """Facts by size and diameter, from the output of `dump`."""
    return {
        (int(n), int(diameter)): tuple(Fact(tuple(row[:-1]), row[-1]) for row in rows)
        for n, by_diameter in json.loads(text).items()
        for diameter, rows in by_diameter.items()
    }


def dump(table: Mapping[tuple[int, int], Sequence[Fact]]) -> str:
    """Facts as JSON: size, diameter, then rows of the weights followed by the limit."""
    sizes = sorted({n for n, _ in table})
    blocks = []
    for n in sizes:
        lines = []
        for (size, diameter), facts in sorted(table.items()):
            if size == n and facts:
                rows = json.dumps([[*fact.weights, fact.high] for fact in facts])
                lines.append(f'  "{diameter}": {rows.replace(" ", "")}')
        blocks.append(f'"{n}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"
