r"""What nodes of each degree and eccentricity see, where degrees are limited.

For connected undirected graphs with n nodes, diameter d and largest degree D. Nodes are told apart
by their degree a and by the range E of their eccentricity, the distance to a farthest node, which
is at least ``d / 2``. Hidden variables are

* ``Kind(i)``, the nodes of the i-th kind that rules allow, and ``Nodes(a, E)``;
* ``Seen(a, E, b, s)``, the pairs (u, v) at distance s with u of degree a and eccentricity in E and
  v of degree b. Pairs are ordered throughout;
* ``Both(E, F, s)``, the pairs at distance s with eccentricities in E and F.

Let ``l_s(u)`` be the number of nodes at distance s from u. The rows, besides those that only add
up:

* ``views``: every u has ``n - 1`` other nodes, a of them at distance 1, and ``l_s(u) >= 1`` for s
  up to its eccentricity;
* ``growth``: ``l_{s+1}(u) <= sum of deg(v) - 1`` over the v at distance s, as a neighbour of v is
  nearer to u. The same holds for the other end of pairs, and with eccentricities: those of
  neighbours differ by at most one;
* ``leaves``: the neighbour of a leaf has an eccentricity less by one (three nodes or more);
* ``middles``: take a node u of eccentricity m, t with ``d < 2 t`` and ``t <= m``, and a layer i
  around u with ``m - t < i < t + m - d``. It has two nodes, or a single one of eccentricity below
  t. *Proof.* Let w be the only node at distance i from u. To a node beyond, w is at most m - i < t
  away. From a node x that is not, every path to a node at distance m from u runs through w, so
  ``d(x, w) <= d - (m - i) < t``.
* ``ends``: at least two nodes have eccentricity d.

Every number here can be read off a graph; a test does so for all graphs of up to seven nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from ....encoding import Structure
from ..skeletons.node_sums import NodeSums
from .coordinates import Coordinates, Distance, Position
from .inequality import Inequality
from .system import System, Term


class Range(NamedTuple):
    """Eccentricities from ``low`` to ``high``."""

    low: int
    high: int

    def near(self, other: Range, s: int) -> bool:
        """True if nodes of both ranges can be s steps apart."""
        apart = max(self.low - other.high, other.low - self.high)
        return apart <= s <= min(self.high, other.high)


class Kind(NamedTuple):
    """The nodes of a kind."""

    place: int


class Nodes(NamedTuple):
    """The nodes of a degree and a range of eccentricities."""

    degree: int
    range: Range


class Seen(NamedTuple):
    """Pairs by the degree and range of the first node, the degree of the other, the distance."""

    degree: int
    range: Range
    other: int
    s: int


class Both(NamedTuple):
    """Pairs by the ranges of both nodes, the smaller one first, and the distance."""

    range: Range
    other: Range
    s: int


def ranges(diameter: int, most: int) -> list[Range]:
    """All eccentricities in ``most`` ranges or fewer, the largest ones each by itself."""
    least = (diameter + 1) // 2
    first = max(least, diameter - most + 1)
    return [Range(least, first), *(Range(e, e) for e in range(first + 1, diameter + 1))]


class Views:
    """The variables and rows of one piece."""

    def __init__(
        self,
        structure: Structure,
        sums: NodeSums,
        coordinates: Coordinates,
        most_ranges: int,
    ) -> None:
        if structure.diameter is None:
            raise ValueError("expected a structure with a diameter")
        self.n, self.diameter = structure.shape.n_nodes, structure.diameter
        self.coordinates = coordinates
        self.most_degree = sums.most_degree
        self.degrees = range(1, sums.most_degree + 1)
        self.ranges = ranges(self.diameter, most_ranges)
        self.system = System(int(top) for top in coordinates.upper())
        self._sums = sums
        self._variables()

    def rows(self, known: Iterable[Inequality[Position]]) -> None:
        """All rows, those of known inequalities over the counts first."""
        self.system.add(known)
        self._of_kinds()
        self._totals()
        for own in self.ranges:
            self._views(own)
            self._growth_of_other_end(own)
            self._middles(own)

    # -- terms --------------------------------------------------------------------------------

    def pairs(self, s: int, weight: int = 1) -> list[Term]:
        """Ordered pairs at distance s."""
        if not 1 <= s <= self.diameter:
            return []
        (place,) = self.coordinates.at_distance[Distance(s)]
        return [(place, 2 * weight)]

    def nodes(self, least: int, weight: int = 1) -> list[Term]:
        """Nodes of some eccentricities, of all that can be ``least`` or more."""
        some = (own for own in self.ranges if own.high >= least)
        return [(Nodes(a, own), weight) for own in some for a in self.degrees]

    def seen_by(self, own: Range, s: int, weight: int = 1) -> list[Term]:
        """Pairs at distance s whose first node is in a range."""
        return [
            term
            for a, b in product(self.degrees, self.degrees)
            for term in self._seen(a, own, b, s, weight)
        ]

    def _seen(self, a: int, own: Range, b: int, s: int, weight: int) -> list[Term]:
        key = Seen(a, own, b, s)
        return [(key, weight)] if weight and key in self.system else []

    def _both(self, own: Range, other: Range, s: int, weight: int) -> list[Term]:
        key = Both(min(own, other), max(own, other), s)
        return [(key, weight)] if key in self.system else []

    # -- variables and rows -------------------------------------------------------------------

    def _variables(self) -> None:
        n, system = self.n, self.system
        for i in range(len(self._sums.kinds)):
            system.variable(Kind(i), n)
        for own, a in product(self.ranges, self.degrees):
            system.variable(Nodes(a, own), n)
            for s, b in product(range(1, own.high + 1), self.degrees):
                system.variable(Seen(a, own, b, s), n * (n - 1))
        for own, other in product(self.ranges, self.ranges):
            for s in range(1, self.diameter + 1):
                if own <= other and own.near(other, s):
                    system.variable(Both(own, other, s), n * (n - 1))

    def _of_kinds(self) -> None:
        sums, system = self._sums, self.system
        kinds, columns = sums.kinds, sums.columns
        table = [columns.of(kind).tolist() for kind in kinds]
        system.equal(((Kind(i), 1) for i in range(len(kinds))), self.n)
        for m, place in self.coordinates.at_attribute.items():
            of_kinds = [(Kind(i), row[int(m)]) for i, row in enumerate(table)]
            system.equal([*of_kinds, (place, -1)], 0)
        for a in self.degrees:
            of_kinds = [(Kind(i), 1) for i, kind in enumerate(kinds) if kind.degree == a]
            system.equal([*of_kinds, *((Nodes(a, own), -1) for own in self.ranges)], 0)
        for limit in sums.limits:
            totals = [
                (Kind(i), sum(w * x for w, x in zip(limit.weights.tolist(), row, strict=True)))
                for i, row in enumerate(table)
            ]
            system.between(totals, limit.low, limit.high)

    def _totals(self) -> None:
        system, degrees = self.system, self.degrees
        for s in range(1, self.diameter + 1):
            everyone = [term for own in self.ranges for term in self.seen_by(own, s)]
            system.equal([*everyone, *self.pairs(s, -1)], 0)
            for a, b in product(degrees, degrees):
                if a < b:  # the same pairs, seen from both ends
                    there = [t for own in self.ranges for t in self._seen(a, own, b, s, 1)]
                    back = [t for own in self.ranges for t in self._seen(b, own, a, s, -1)]
                    system.equal([*there, *back], 0)
        if self.n > 2:
            system.equal([t for own in self.ranges for t in self._seen(1, own, 1, 1, 1)], 0)
        system.at_least(((Nodes(a, self.ranges[-1]), 1) for a in degrees), 2)

    def _views(self, own: Range) -> None:
        """*views*, and *growth* from a node outwards."""
        system, degrees = self.system, self.degrees
        for s in range(1, own.high + 1):
            by_range = [t for other in self.ranges for t in self._both(own, other, s, -1)]
            system.equal([*self.seen_by(own, s), *by_range], 0)
        for a in degrees:
            layers = [
                [t for b in degrees for t in self._seen(a, own, b, s, 1)]
                for s in range(1, own.high + 1)
            ]
            here = Nodes(a, own)
            system.equal([*(t for layer in layers for t in layer), (here, 1 - self.n)], 0)
            system.equal([*layers[0], (here, -a)], 0)
            for layer in layers[: own.low]:
                system.at_least([*layer, (here, -1)], 0)
            for s, layer in enumerate(layers[1:], start=1):
                nearer = [t for b in degrees for t in self._seen(a, own, b, s, 1 - b)]
                system.at_most([*layer, *nearer], 0)

    def _growth_of_other_end(self, own: Range) -> None:
        """*growth* and *leaves*, for the nodes of a range as seen by others."""
        system, degrees = self.system, self.degrees
        beside = [other for other in self.ranges if own.near(other, 1)]
        nearer_centre = [r for r in self.ranges if r.low < own.high and r.high >= own.low - 1]
        for b, s in product(degrees, range(1, own.high)):
            farther = [t for a in degrees for t in self._seen(a, own, b, s + 1, 1)]
            before = [t for r in beside for a in degrees for t in self._seen(a, r, b, s, 1 - a)]
            system.at_most([*farther, *before], 0)
            if self.n > 2:
                of_neighbours = [
                    t for r in nearer_centre for a in degrees for t in self._seen(a, r, b, s, 1 - a)
                ]
                system.at_most([*self._seen(1, own, b, s + 1, 1), *of_neighbours], 0)
        for other, s in product(self.ranges, range(1, self.diameter)):
            before = [t for r in beside for t in self._both(r, other, s, 1 - self.most_degree)]
            system.at_most([*self._both(own, other, s + 1, 1), *before], 0)

    def _middles(self, own: Range) -> None:
        """*middles*, for all eccentricities of a range at once."""
        d = self.diameter
        twice = [(Nodes(a, own), -2) for a in self.degrees]
        for t in range(d // 2 + 1, own.low + 1):
            small = [r for r in self.ranges if r.low < t]
            for i in range(own.high - t + 1, t + own.low - d):
                zeros = [term for r in small for term in self._both(own, r, i, 1)]
                self.system.at_least([*self.seen_by(own, i), *zeros, *twice], 0)
