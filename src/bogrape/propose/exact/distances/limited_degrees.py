r"""Inequalities from limits on degrees, as in molecules and in networks with few ports.

The *kind* of a node is its label, its features and its degree; rules allow only some kinds
(`skeletons.node_sums`). Connected undirected graphs of n such nodes obey

* ``kinds``: linear inequalities that hold for every kind hold for the mean over the nodes. A row of
  whole numbers w with ``low <= w . kind <= high`` for all kinds gives ``n low <= w . sums <= n
  high``. The rows are the facets of the convex hull of the kinds, so only the fact that sums are
  whole numbers is lost.
* ``cherries``: ``h_2 <= sum_v d_v (d_v - 1) / 2``, the number of paths with two edges. This number
  is one more column of the kinds.
* ``growth``: ``h_{s+1} <= (D - 1) h_s`` with D the largest degree. *Proof.* Seen from a node u, a
  node at distance s has a neighbour that is nearer to u, and so at most D - 1 that are farther.
  With labels it holds for all nodes u with label a, and D is that of the label at the other end.
* ``ends``: nodes with a label have no more edges than their largest degree.
* ``limits``: those of rules about sums over all nodes and edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ....arrays import FloatArray, IntArray
from ....encoding import Structure
from ..skeletons.limits import Limit
from ..skeletons.node_sums import NodeSums
from .coordinates import Attribute, Coordinates, Distance, Position
from .inequality import Inequality

_MOST_KINDS = 200
_MOST_FACETS = 400
_LARGEST_WEIGHT = 60
_ROUNDING = 1e-6


def of_limited_degrees(
    structure: Structure, coordinates: Coordinates
) -> Iterator[Inequality[Position]]:
    """All of these inequalities, if rules limit the degrees and name no node."""
    sums = sums_of(structure)
    if sums is None or not coordinates.paths:
        return
    places, columns = _Places(coordinates), sums.columns
    for i, limit in enumerate(sums.limits):
        if not limit.weights[columns.end : columns.degree].any():
            of_nodes = limit.weights[[*range(columns.end), columns.degree]]
            row = Limit(np.append(of_nodes, 0), limit.low, limit.high)
            yield from places.of_nodes(f"limit[{i}]", row)
    for i, row in enumerate(_facets(sums)):
        yield from places.of_nodes(f"kinds[{i}]", row)
    most = np.zeros(columns.shape.n_labels, dtype=np.int64)
    for kind in sums.kinds:
        most[kind.label] = max(most[kind.label], kind.degree)
    yield from places.growth(most)


def sums_of(structure: Structure) -> NodeSums | None:
    """The kinds of nodes that rules allow; ``None`` if they limit no degrees or name nodes."""
    structure = replace(structure, diameter=None, layers=None)
    connected = structure.connectivity == "strong" and not structure.shape.directed
    if not structure.rules or not connected or structure.shape.n_nodes < 2:
        return None
    return _cached_sums(structure)


@lru_cache(maxsize=64)
def _cached_sums(structure: Structure) -> NodeSums | None:
    sums = NodeSums.of(structure) if structure.all_alike else None
    if sums is None or not sums.kinds or len(sums.kinds) > _MOST_KINDS:
        return None
    return sums


# -- facets -----------------------------------------------------------------------------------


_known_facets: dict[tuple[object, int], tuple[Limit, ...]] = {}


def _facets(sums: NodeSums) -> tuple[Limit, ...]:
    """Limits on labels, features, degrees and paths with two edges, summed over all nodes.

    A limit on a sum that includes the paths is an upper one, in which their weight is positive.
    """
    key = sums.kinds, sums.columns.shape.n_nodes
    if key not in _known_facets:
        if len(_known_facets) > 64:
            _known_facets.clear()
        _known_facets[key] = tuple(_limits_of_kinds(sums))
    return _known_facets[key]


def _limits_of_kinds(sums: NodeSums) -> Iterator[Limit]:
    n, end = sums.columns.shape.n_nodes, sums.columns.end
    rows = [[*sums.columns.of(kind)[:end], kind.degree] for kind in sums.kinds]
    table = np.unique([[*row, row[-1] * (row[-1] - 1) // 2] for row in rows], axis=0)
    free, relations = _independent(table)
    for weights in (*relations, *_normals(table, free)):
        if weights[-1] < 0:
            weights = -weights
        values = table @ weights
        low, high = n * int(values.min()), n * int(values.max())
        # h_2 is at most the number of paths with two edges: only upper limits remain
        yield Limit(weights, -math.inf if weights[-1] else low, high)


def _normals(table: IntArray, free: list[int]) -> Iterator[IntArray]:
    """Normals of the facets of the convex hull of some points, in independent columns."""
    from scipy.spatial import ConvexHull, QhullError

    points = table[:, free].astype(float)
    if not free:
        return
    if len(free) == 1:
        yield _spread([1], free, table.shape[1])
        return
    try:
        normals = np.unique(np.round(ConvexHull(points).equations[:, :-1], 9), axis=0)
    except QhullError:
        return
    for normal in normals[:_MOST_FACETS]:
        whole = _whole(normal)
        if whole is not None:
            # both ends are limits; if the last column takes part, only one of them is used
            yield _spread(whole, free, table.shape[1])


def _whole(normal: FloatArray) -> list[int] | None:
    """Whole numbers in the same proportion."""
    least = float(np.abs(normal)[np.abs(normal) > _ROUNDING].min())
    for factor in range(1, 13):
        scaled = normal / least * factor
        whole = np.rint(scaled)
        if np.abs(scaled - whole).max() < 1e-4 and np.abs(whole).max() <= _LARGEST_WEIGHT:
            return [int(w) for w in whole]
    return None


def _spread(weights: list[int], places: list[int], width: int) -> IntArray:
    out = np.zeros(width, dtype=np.int64)
    out[places] = weights
    return out


def _independent(table: IntArray) -> tuple[list[int], list[IntArray]]:
    """Independent columns, and relations in whole numbers that give the others.

    A relation has the same value for all rows. The columns are independent of constants, too.
    """
    chosen: list[int] = []
    relations = []
    for column in range(table.shape[1]):
        known = np.column_stack([np.ones(len(table), dtype=np.int64), table[:, chosen]])
        solved = _solve(known, table[:, column])
        if solved is None:
            chosen.append(column)
            continue
        scale = math.lcm(*(x.denominator for x in solved))
        relation = np.zeros(table.shape[1], dtype=np.int64)
        relation[column] = scale
        relation[chosen] = [-int(x * scale) for x in solved[1:]]
        relations.append(relation)
    return chosen, relations


def _solve(matrix: IntArray, target: IntArray) -> list[Fraction] | None:
    """x with ``matrix @ x = target``, the columns being independent; ``None`` if there is none."""
    width = matrix.shape[1]
    rows = [
        [Fraction(int(x)) for x in row]
        for row in np.unique(np.column_stack([matrix, target]), axis=0)
    ]
    for column in range(width):
        pivot = next(i for i in range(column, len(rows)) if rows[i][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        first = rows[column] = [x / rows[column][column] for x in rows[column]]
        for i, row in enumerate(rows):
            if i != column and row[column]:
                factor = row[column]
                rows[i] = [x - factor * y for x, y in zip(row, first, strict=True)]
    if any(row[width] for row in rows[width:]):
        return None
    return [row[width] for row in rows[:width]]


# -- positions --------------------------------------------------------------------------------


class _Places:
    """Inequalities over the counts of a piece."""

    def __init__(self, coordinates: Coordinates) -> None:
        self._coordinates = coordinates

    def of_nodes(self, name: str, limit: Limit) -> Iterator[Inequality[Position]]:
        """A limit on labels, features, the sum of degrees and paths with two edges."""
        coordinates, settled = self._coordinates, 0
        *of_attributes, of_degrees, of_cherries = limit.weights.tolist()
        out: dict[Position, int] = {}
        # the sum of degrees is twice the number of edges
        for s, weight in ((1, 2 * of_degrees), (2, of_cherries)):
            for i in coordinates.at_distance.get(Distance(s), ()) if weight else ():
                out[i] = weight
        for m, weight in enumerate(of_attributes):
            place = coordinates.at_attribute.get(Attribute(m))
            if place is not None and weight:
                out[place] = weight
            elif weight:  # a label, whose number of nodes the composition gives
                assert coordinates.composition is not None
                settled += weight * coordinates.composition[m]
        if out:
            yield Inequality(name, out, limit.low - settled, limit.high - settled)

    def growth(self, most: IntArray) -> Iterator[Inequality[Position]]:
        """*growth*, with the largest degree of each label."""
        coordinates = self._coordinates
        if not coordinates.labelled:
            largest = int(most.max())
            for s in range(1, coordinates.longest if coordinates.paths else 0):
                ((near,), (far,)) = (coordinates.at_distance[Distance(t)] for t in (s, s + 1))
                yield Inequality(f"growth[{s}]", {far: 1, near: 1 - largest}, high=0)
            return
        labels = sorted({a for _, *ends in coordinates.paths for a in ends})
        at = coordinates.at_labelled_distance
        place = {(s, a, b): at[key] for key in at for s, a, b in (key, (key.s, key.b, key.a))}
        for a in labels:
            for s in range(1, coordinates.longest):
                out: dict[Position, int] = {}
                for b in labels:
                    twice = 2 if a == b else 1  # as ends of ordered pairs
                    out[place[s + 1, a, b]] = twice
                    out[place[s, a, b]] = twice * (1 - int(most[b]))
                yield Inequality(f"growth[{s},{a}]", out, high=0)
            yield from self._ends(a, labels, place, int(most[a]))

    def _ends(
        self, a: int, labels: list[int], place: Mapping[tuple[int, int, int], Position], most: int
    ) -> Iterator[Inequality[Position]]:
        """*ends*, for the nodes with one label."""
        composition = self._coordinates.composition
        if composition is not None:
            out = {place[1, a, b]: 2 if a == b else 1 for b in labels}
            yield Inequality(f"ends[{a}]", out, high=most * composition[a])
