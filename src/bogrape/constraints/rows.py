"""Linear rows over yes/no statements about a graph: the form in which solvers read rules.

An *atom* is a statement about a graph that is true (1) or false (0): "the edge u-v exists", "node
v has label l", "v is at most s steps from u". A `Row` bounds a weighted sum of atoms,

    low  <=  sum_i c_i * atom_i  <=  high        (whenever every atom in ``when`` has its value),

with integers ``c_i``. A rule gives its rows for graphs of exactly one size; the exact
engine and the MIP translate atoms into their own variables; neither depends on particular rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from math import inf


@dataclass(frozen=True, slots=True)
class Shape:
    """Properties shared by all graphs of one problem."""

    n_nodes: int
    n_labels: int = 1
    n_features: int = 0
    n_edge_labels: int = 0
    directed: bool = False
    connected: bool = True  # every graph is known to be (at least weakly) connected

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The pairs that can have an edge: ``u < v``, or all ``u != v`` when directed."""
        nodes = range(self.n_nodes)
        return permutations(nodes, 2) if self.directed else combinations(nodes, 2)


# -- atoms ------------------------------------------------------------------------------------
# Data classes, not named tuples: Edge(0, 1) and HasLabel(0, 1) must be different dictionary keys.


@dataclass(frozen=True, slots=True)
class Edge:
    """The edge between u and v exists (``u < v``), or the arc from u to v when directed."""

    u: int
    v: int


@dataclass(frozen=True, slots=True)
class HasLabel:
    """Node v has this label."""

    v: int
    label: int


@dataclass(frozen=True, slots=True)
class HasFeature:
    """Node v has this feature (counted from 0, labels not included)."""

    v: int
    feature: int


@dataclass(frozen=True, slots=True)
class EdgeLabel:
    """The edge u, v exists and has edge label k, ``k >= 1``."""

    u: int
    v: int
    k: int


@dataclass(frozen=True, slots=True)
class Within:
    """The distance from u to v is at most s; false for a pair without a path.

    ``u < v`` when undirected. Rules use it with ``2 <= s <= n_nodes - 1``: see `within`.
    """

    u: int
    v: int
    s: int


@dataclass(frozen=True, slots=True)
class Aux:
    """A 0/1 helper of a rule, identified by its name; the rule's rows determine its value."""

    name: str


Atom = Edge | HasLabel | HasFeature | EdgeLabel | Within | Aux


def edge(u: int, v: int, directed: bool) -> Edge:
    """The atom "edge u, v", with ``u < v`` unless directed."""
    return Edge(u, v) if directed or u < v else Edge(v, u)


def within(u: int, v: int, s: int, shape: Shape) -> Edge | Within:
    """The atom "v is at most s steps from u" for ``u != v`` and ``s >= 1``, in its simplest form.

    One step is an edge, and no shortest path has more than ``n_nodes - 1`` of them.
    """
    if s == 1 or shape.n_nodes == 2:
        return edge(u, v, shape.directed)
    if not shape.directed and u > v:
        u, v = v, u
    return Within(u, v, min(s, shape.n_nodes - 1))


# -- rows -------------------------------------------------------------------------------------

Terms = tuple[tuple[Atom, int], ...]
When = tuple[tuple[Atom, bool], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """``low <= sum c * atom <= high`` whenever all atoms in ``when`` have their values."""

    name: str
    terms: Terms
    low: float = -inf
    high: float = inf
    when: When = ()


def never(name: str, when: When = ()) -> Row:
    """A row that no graph satisfies: an empty sum that should be 1."""
    return Row(name, (), low=1, when=when)


def total(atoms: Iterable[Atom]) -> Terms:
    """The sum of some atoms, all with weight 1."""
    return tuple((atom, 1) for atom in atoms)


def bounded(
    name: str, terms: Terms, low: float | None, high: float | None, when: When = ()
) -> Iterator[Row]:
    """The row ``low <= sum <= high``; none if it always holds, `never` for an empty sum.

    ``name`` describes the sum; the name of the row adds the effective bounds.
    """
    least = sum(c for _, c in terms if c < 0)
    most = sum(c for _, c in terms if c > 0)
    lower = -inf if low is None or low <= least else low
    upper = inf if high is None or high >= most else high
    if lower == -inf and upper == inf:
        return
    text = f"{name}{_bounds(lower, upper)}" + "".join(f" if {_say(*c)}" for c in when)
    yield Row(text, terms, lower, upper, when) if terms else never(text, when)


def _bounds(low: float, high: float) -> str:
    if low == high:
        return f"=={low:g}"
    if low == -inf:
        return f"<={high:g}"
    return f">={low:g}" if high == inf else f" in {low:g}..{high:g}"


def _say(atom: Atom, value: bool) -> str:
    return f"{atom}" if value else f"not {atom}"
