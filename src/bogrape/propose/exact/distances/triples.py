r"""How three nodes can lie: rows that tie the numbers of pairs at different distances together.

``Triple(q, s, t)``, with ``q <= s <= t``, is the number of ordered triples of different nodes
(u, v, w) with ``d(u, v) = q``, ``d(u, w) = s`` and ``d(v, w) = t``. It is the same for any order of
the three distances, because any of the nodes may come first, and zero unless ``t <= q + s``. Let
``T(q, s, t)`` be that number for distances in any order, and ``l_s(u)`` the number of nodes at
distance s from u. Then ``sum_u l_s(u) l_t(u)`` is ``sum_q T(q, s, t)``, plus ``2 h_s`` where
``s = t``. In connected undirected graphs with n nodes and diameter d,

* ``thirds``: a pair has ``n - 2`` third nodes, so ``sum_{s,t} T(q, s, t) = 2 (n - 2) h_q``;
* ``between``: ``T(q, i, q - i) >= 2 h_q``, by a node on a shortest path;
* ``around``: ``sum_t T(q, s, t) >= 2 h_q`` for ``s <= d / 2``, rounded up, and ``s != q``: no
  eccentricity is smaller;
* ``behind``: ``sum_t T(q, s + 1, t) <= (D - 1) sum_t T(q, s, t)``, and ``2 (D - 1) h_q`` more on
  the right where ``s = q``. A third node at distance s + 1 from u has a neighbour x at distance s,
  and x has at most D - 1 neighbours that are farther. It is a third node, too, or v;
* ``products``: ``(l_s - 1) (l_t - 1) >= 0`` at nodes of eccentricity t or more, for ``s < t``;
* ``squares``: ``(l - c) (l - c - 1) >= 0`` at these nodes for every whole number c, with ``l`` for
  ``l_s`` or ``l_s + l_{s+1} + ..``; and ``l_s^2 <= L_s l_s`` with the largest possible ``l_s``;
* ``families``: let S be distances above a, the smallest one being z. Around a node u, share out the
  nodes at distances in S to ancestors at distance a: nodes on shortest paths to u. Two nodes at
  distances x and y with the same ancestor are at most ``x + y - 2 a`` apart. There are at most
  ``l_a(u)`` families, and ``g^2 >= (2 c + 1) g - c (c + 1)`` for the size g of each, so

  .. math:: \sum_{x, y \in S} \sum_{q \le x + y - 2a} T(q, x, y) + \sum_{x \in S} 2 h_x
            \ge (2c + 1) \sum_{x \in S} 2 h_x - c (c + 1) \sum_u l_a(u),

  the last sum over nodes of eccentricity z or more. So nodes that are far from u crowd together if
  few nodes are on the way to them.

Without these, many pairs at a large distance do not need many at small ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from .system import Term
from .views import Nodes, Views

_FAMILIES = (1, 2, 3, 4, 5, 7, 9, 12)  # c, for the sizes of families


class Triple(NamedTuple):
    """Ordered triples of nodes at three distances, the smallest one first."""

    q: int
    s: int
    t: int


def most_at_distance(n: int, most_degree: int, s: int) -> int:
    """The largest possible ``l_s(u)``: a node has at most D - 1 nodes behind it."""
    best = 0
    for number in range(1, n):
        total, layer = number, number
        for _ in range(s - 1):
            layer = -(-layer // (most_degree - 1))
            total += layer
        if total > n - 1:
            break
        best = number
    return best


class Triples:
    """The variables and rows of one piece, on top of those of `Views`."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._system = views.system
        self._n, self._d = views.n, views.diameter
        n, d = self._n, self._d
        for q in range(1, d + 1):
            for s in range(q, d + 1):
                for t in range(s, min(d, q + s) + 1):
                    self._system.variable(Triple(q, s, t), n * (n - 1) * (n - 2))

    def rows(self) -> None:
        """All rows."""
        for q in range(1, self._d + 1):
            self._thirds(q)
            self._squares(q, [q])
            self._squares(q, range(q, self._d + 1))
            self._no_larger(q)
        for s, t in product(range(1, self._d + 1), range(1, self._d + 1)):
            if s < t:
                self._products(s, t)
        for a, some in self._families():
            self._crowding(a, some)

    # -- terms --------------------------------------------------------------------------------

    def _triples(self, q: int, s: int, t: int, weight: int = 1) -> list[Term]:
        key = Triple(*sorted((q, s, t)))
        return [(key, weight)] if key in self._system else []

    def _pairs(self, distances: Iterable[int], weight: int = 1) -> list[Term]:
        return [term for s in distances for term in self._views.pairs(s, weight)]

    def _together(self, distances: Sequence[int], weight: int = 1) -> list[Term]:
        """``(sum_s l_s)^2``, added up over all nodes."""
        apart = [
            term
            for q in range(1, self._d + 1)
            for x, y in product(distances, distances)
            for term in self._triples(q, x, y, weight)
        ]
        return [*apart, *self._pairs(distances, weight)]

    def _seen_by(self, least: int, s: int, weight: int) -> list[Term]:
        """``l_s``, added up over the nodes whose eccentricity can be ``least`` or more."""
        some = (own for own in self._views.ranges if own.high >= least)
        return [term for own in some for term in self._views.seen_by(own, s, weight)]

    # -- rows ---------------------------------------------------------------------------------

    def _thirds(self, q: int) -> None:
        """*thirds*, *between*, *around* and *behind*."""
        every = range(1, self._d + 1)
        thirds = [term for s in every for t in every for term in self._triples(q, s, t)]
        self._system.equal([*thirds, *self._pairs([q], 2 - self._n)], 0)
        for i in range(1, q):
            self._system.at_least([*self._triples(q, i, q - i), *self._pairs([q], -1)], 0)
        for s in range(1, (self._d + 1) // 2 + 1):
            if s != q:
                around = [term for t in every for term in self._triples(q, s, t)]
                self._system.at_least([*around, *self._pairs([q], -1)], 0)
        behind = 1 - self._views.most_degree
        for s in range(1, self._d):
            farther = [term for t in every for term in self._triples(q, s + 1, t)]
            nearer = [term for t in every for term in self._triples(q, s, t, behind)]
            other = self._pairs([q], behind) if s == q else []
            self._system.at_most([*farther, *nearer, *other], 0)

    def _products(self, s: int, t: int) -> None:
        terms = [term for q in range(1, self._d + 1) for term in self._triples(q, s, t)]
        terms += self._pairs([t], -1)
        for own in self._views.ranges:
            if own.low >= t:  # elsewhere, l_s l_t >= l_t
                terms += self._views.seen_by(own, s, -1)
                terms += [(Nodes(a, own), 1) for a in self._views.degrees]
        self._system.at_least(terms, 0)

    def _squares(self, s: int, distances: Sequence[int]) -> None:
        together, n = self._together(distances), self._n
        for c in range(1, n - s + 1):
            line = self._pairs(distances, -(2 * c + 1))
            nodes = self._views.nodes(s, c * (c + 1))
            self._system.at_least([*together, *line, *nodes], 0)

    def _no_larger(self, s: int) -> None:
        largest = most_at_distance(self._n, self._views.most_degree, s)
        self._system.at_most([*self._together([s]), *self._pairs([s], -largest)], 0)

    def _families(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Distances of ancestors, and of the nodes that are shared out to them."""
        d = self._d
        for a in range(1, d):
            for z in range(a + 1, d + 1):
                if 2 * (z - a) <= d:
                    yield a, [z]
                    if z < d:
                        yield a, [z, z + 1]
                    if z < d - 1:
                        yield a, range(z, d + 1)

    def _crowding(self, a: int, distances: Sequence[int]) -> None:
        """*families*."""
        close = [
            term
            for x, y in product(distances, distances)
            for q in range(1, min(self._d, x + y - 2 * a) + 1)
            for term in self._triples(q, x, y)
        ]
        ancestors = self._seen_by(distances[0], a, 1)
        for c in _FAMILIES:
            line = self._pairs(distances, -2 * c)
            self._system.at_least(
                [*close, *line, *((key, c * (c + 1) * w) for key, w in ancestors)], 0
            )
