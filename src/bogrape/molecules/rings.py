"""Limits on the size of rings.

`SmallestRing` limits every ring, `LargestRing` the smallest ring of every bond. RDKit has both
quantities, too: no ring of its ring information is smaller than m, and
``RingInfo.MinBondRingSize`` of no bond exceeds k.

`LargestRing` depends on distances alone. Let uv be a bond on some ring and C a smallest ring
through it. Two atoms of C are no closer in the molecule than along C: a detour would close a
smaller ring through uv. So an atom w opposite to the bond shows how large C is,

* odd, ``|C| = 2s + 1``:  ``d(u, w) = d(v, w) = s``;
* even, ``|C| = 2s``:     ``d(v, w) = s``, and two neighbours of v, one of them u, are s - 1 from w.

Conversely each of the two closes a ring through uv of at most that size, since the shortest paths
from w use uv only once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..constraints import Atom, Aux, Edge, Row, Shape, within
from ..constraints.rows import Terms, total
from ..constraints.rule import Excess
from ..constraints.words import amount
from ..domain import Nouns
from .molecule_rule import NOUNS, MoleculeRule
from .smarts import ANY_ORDER, Pattern, nowhere

_LARGEST = 8  # of `minimum`: all smaller rings are forbidden one by one


@dataclass(frozen=True, repr=False)
class SmallestRing(MoleculeRule):
    """No ring has fewer than ``minimum`` atoms."""

    minimum: int

    def __post_init__(self) -> None:
        self._check_whole("minimum")
        if self.minimum > _LARGEST:
            self.refuse(f"minimum <= {_LARGEST}", repr(self.minimum), "minimum=5")

    def _rings(self, n: int) -> list[Pattern]:
        return [ring(size) for size in range(3, min(self.minimum, n + 1))]

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        return f"Rings have {amount(self.minimum, None, nouns.node, nouns.nodes)}."

    def excess(self, batch: Batch) -> Excess:
        """Number of rings that are too small."""
        out = np.zeros(len(batch))
        for pattern in self._rings(batch.n_nodes):
            out += pattern.count(batch) / (2 * len(pattern))
        return out

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For every ring that is too small: not all its bonds exist."""
        for pattern in self._rings(shape.n_nodes):
            yield from nowhere(pattern, shape, f"ring of {len(pattern)}")


def ring(size: int) -> Pattern:
    """A ring of any atoms and bonds."""
    chain = tuple((i, i + 1, ANY_ORDER) for i in range(size - 1))
    return Pattern((None,) * size, (None,) * size, (*chain, (0, size - 1, ANY_ORDER)))


@dataclass(frozen=True, repr=False)
class LargestRing(MoleculeRule):
    """Every ring bond lies in a ring of at most ``maximum`` atoms.

    Fused and bridged rings count one by one: decalin satisfies 6, though its rim is a ring of ten.
    If no ring of the SSSR, the smallest set of smallest rings, has more than ``maximum`` atoms, the
    rule holds. Where it holds, a larger ring of the SSSR can only be one all of whose bonds are
    shared with smaller rings, such as the inner rim of a closed belt of small rings.
    """

    maximum: int

    def __post_init__(self) -> None:
        self._check_whole("maximum")
        if self.maximum < 3:
            self.refuse(
                "maximum >= 3", repr(self.maximum), "CycleRange(maximum=0) for no ring at all"
            )

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        n_atoms = amount(0, self.maximum, nouns.node, nouns.nodes)
        return f"Every ring {nouns.edge} lies in a ring of {n_atoms}."

    def excess(self, batch: Batch) -> Excess:
        """Number of bonds whose smallest ring is too large."""
        if self.maximum >= batch.n_nodes:
            return np.zeros(len(batch))
        sizes = bond_ring_sizes(batch)
        too_large = (sizes > self.maximum) & (sizes < _NONE)
        return np.asarray(too_large.sum(axis=(1, 2)) // 2, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """With ``D = d(v, w) - d(u, w)``, read off the atoms "within s steps", in this order:

        * For atoms u, v and a third one w, exactly one of three helpers is 1 if u and v are bonded
          (and w can be reached), else none: ``step[v,u,w]`` if ``D = 1``, so that u is a first step
          from v towards w, ``step[u,v,w]`` if ``D = -1``, and ``odd[u,v,w]`` if ``D = 0``.
        * ``even[v,w] = 1`` exactly when two first steps or more lead from v to w, and
          ``small_even[v,w] = 1`` exactly when, in addition, ``d(v, w) <= k // 2``.
        * ``small[u,v] = 1`` when either shows a ring through uv, however large:
          ``step[v,u,w] + even[v,w] - 1 <= small[u,v]`` and ``odd[u,v,w] <= small[u,v]``.
        * Then one of them shows a ring of at most k: ``small[u,v]`` is at most the sum over w of
          ``step[v,u,w] * small_even[v,w]`` and of ``odd[u,v,w] * (d(v, w) <= (k - 1) // 2)``.
        * If connected, ``sum small[u,v] >= m - n + 1``, the number of independent rings (implied).

        All helpers are decided by the graph, and there are O(n^3) of them.
        """
        if self.maximum < shape.n_nodes:
            yield from _Rows(self, shape)


_NONE = np.iinfo(np.int64).max  # the size of the smallest ring of a bond that is in none


def bond_ring_sizes(batch: Batch) -> IntArray:
    """The size of the smallest ring of every bond, ``(B, n, n)``; `_NONE` where there is none."""
    adjacency, distance, n = batch.adjacency, batch.distances, batch.n_nodes
    size = np.full(adjacency.shape, _NONE)
    for w in range(n):
        far = distance[:, :, w]
        reached = adjacency & (far < n)[:, :, None]
        odd = reached & (far[:, :, None] == far[:, None, :])
        np.minimum(size, 2 * far[:, :, None] + 1, out=size, where=odd)
        step = reached & (far[:, :, None] == far[:, None, :] + 1)  # [v, u]: from v towards w
        even = step & (step.sum(axis=2) >= 2)[:, :, None]
        np.minimum(size, 2 * far[:, :, None], out=size, where=even)
    return np.asarray(np.minimum(size, size.transpose(0, 2, 1)))


class _Rows:
    """The rows of `LargestRing` for one shape."""

    def __init__(self, rule: LargestRing, shape: Shape) -> None:
        self.name, self.k, self.shape = rule.name, rule.maximum, shape
        n = shape.n_nodes
        self.nodes = range(n)
        # sum_s w_uv^s = n - d(u, v), and 0 without a path
        self.near: dict[tuple[int, int], Terms] = {
            (u, v): total(within(u, v, s, shape) for s in range(1, n))
            for u, v in permutations(self.nodes, 2)
        }
        self.far: dict[tuple[int, int], Terms] = {
            pair: tuple((atom, -1) for atom, _ in terms) for pair, terms in self.near.items()
        }

    def step(self, v: int, u: int, w: int) -> Aux:
        return Aux(f"{self.name}.step[{v},{u},{w}]")

    def even(self, v: int, w: int, kind: str = "even") -> Aux:
        return Aux(f"{self.name}.{kind}[{v},{w}]")

    def __iter__(self) -> Iterator[Row]:
        for u, v in combinations(self.nodes, 2):
            for w in self.nodes:
                if w not in (u, v):
                    yield from self._cases(u, v, w)
        for v, w in permutations(self.nodes, 2):
            steps = total(self.step(v, u, w) for u in self.nodes if u not in (v, w))
            even, small_even = self.even(v, w), self.even(v, w, "small_even")
            yield Row(f"{even.name}: two steps", steps, low=2, when=((even, True),))
            yield Row(f"not {even.name}: one step", steps, high=1, when=((even, False),))
            yield from _product(small_even, even, within(v, w, self.k // 2, self.shape))
        for u, v in combinations(self.nodes, 2):
            yield from self._smallest(u, v)
        if self.shape.connected:
            pairs = list(combinations(self.nodes, 2))
            bonds: Terms = tuple((Edge(u, v), -1) for u, v in pairs)
            in_rings = total(self.small(u, v) for u, v in pairs)
            name = f"{self.name}: bonds more than in a tree"
            yield Row(name, in_rings + bonds, low=1 - len(self.nodes))

    def odd(self, u: int, v: int, w: int) -> Aux:
        return Aux(f"{self.name}.odd[{u},{v},{w}]")

    def small(self, u: int, v: int) -> Aux:
        return Aux(f"{self.name}.small[{u},{v}]")

    def _cases(self, u: int, v: int, w: int) -> Iterator[Row]:
        to, back, odd = self.step(v, u, w), self.step(u, v, w), self.odd(u, v, w)
        terms = (*total((to, back, odd)), (Edge(u, v), -1))
        name = f"{self.name}: distances of bond[{u},{v}] from {w}"
        if self.shape.connected:
            yield Row(name, terms, 0, 0)
        else:
            reached = within(u, w, self.shape.n_nodes - 1, self.shape)
            yield Row(f"{name} if there is one", terms, high=0)
            yield Row(f"{name} if reached", terms, low=0, when=((reached, True),))
            yield Row(f"{odd.name} if reached", ((reached, 1), (odd, -1)), low=0)
        difference = self.near[u, w] + self.far[v, w]
        yield Row(f"{to.name} is closer", difference, low=1, when=((to, True),))
        yield Row(f"{back.name} is closer", difference, high=-1, when=((back, True),))
        yield Row(f"{odd.name} is as close", difference, 0, 0, when=((odd, True),))

    def _smallest(self, u: int, v: int) -> Iterator[Row]:
        small = self.small(u, v)
        shown: list[Aux] = []
        for w in self.nodes:
            if w in (u, v):
                continue
            step, odd = self.step(v, u, w), self.odd(u, v, w)
            ring_of_even = ((step, 1), (self.even(v, w), 1), (small, -1))
            yield Row(f"{small.name} if even at {w}", ring_of_even, high=1)
            yield Row(f"{small.name} if odd at {w}", ((odd, 1), (small, -1)), high=0)
            near = within(v, w, (self.k - 1) // 2, self.shape)
            for kind, part, other in (
                ("even", step, self.even(v, w, "small_even")),
                ("odd", odd, near),
            ):
                shown.append(Aux(f"{self.name}.shown_{kind}[{u},{v},{w}]"))
                yield from _product(shown[-1], part, other)
        yield Row(f"{small.name}: a ring of at most {self.k}", (*total(shown), (small, -1)), low=0)


def _product(both: Aux, a: Atom, b: Atom) -> Iterator[Row]:
    """``both = a * b``."""
    yield Row(f"{both.name} needs one", ((a, 1), (both, -1)), low=0)
    yield Row(f"{both.name} needs the other", ((b, 1), (both, -1)), low=0)
    yield Row(f"{both.name} needs no more", ((a, 1), (b, 1), (both, -1)), high=1)
