"""Random molecules, built directly: elements, a tree, rings, multiple bonds.

All molecules of a batch are built together; loops run over atoms and bonds, never over molecules.
Valences, a scaffold and limits on ring sizes are always respected, counts of elements, rings and
multiple bonds almost always; whatever else a space asks for is for the caller to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ..arrays import BoolArray, IntArray
from ..constraints import CycleRange, LabelCount, Rule, Shape
from ..counts import distances_batch
from .composition import BondCount, DataSetBounds
from .rings import LargestRing, SmallestRing
from .scaffold import Scaffold

_REDRAWS = 20  # rounds of redrawing elements whose counts are out of range


def build(
    rules: Sequence[Rule], shape: Shape, valences: Sequence[int], k: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Labels ``(k, n)`` and bond orders ``(k, n, n)`` of k random molecules."""
    rules = list(_at(rules, shape.n_nodes))
    scaffolds = [rule for rule in rules if isinstance(rule, Scaffold)]
    site = _Site(_labels(rules, scaffolds, shape, k, rng), valences, rng)
    for scaffold in scaffolds:
        site.place(scaffold)
    site.grow_tree()
    fewest, most = _range(rules, CycleRange, shape.n_nodes // 2)
    made = sum(len(s.bonds) - s.n_atoms + 1 for s in scaffolds)
    site.close_rings(max(fewest - made, 0), max(most - made, 0), *_ring_sizes(rules, shape.n_nodes))
    for order in range(2, shape.n_edge_labels + 1):
        few, many = _range([r for r in rules if _counts(r, order)], BondCount, shape.n_nodes // 2)
        site.raise_bonds(order, few, many)
    return site.labels, site.order


def _at(rules: Iterable[Rule], n: int) -> Iterator[Rule]:
    for rule in rules:
        if isinstance(rule, DataSetBounds):
            yield from rule.at(n)
        else:
            yield rule


def _counts(rule: Rule, order: int) -> bool:
    return isinstance(rule, BondCount) and rule.order == order


def _range(rules: Sequence[Rule], kind: type[CycleRange | BondCount], most: int) -> tuple[int, int]:
    found = [rule for rule in rules if isinstance(rule, kind)]
    low = max((rule.minimum for rule in found), default=0)
    high = min((rule.maximum for rule in found if rule.maximum is not None), default=most)
    return low, max(low, high)


def _ring_sizes(rules: Sequence[Rule], n: int) -> tuple[int, int]:
    smallest = max((rule.minimum for rule in rules if isinstance(rule, SmallestRing)), default=3)
    largest = min((rule.maximum for rule in rules if isinstance(rule, LargestRing)), default=n)
    return smallest, largest


def _labels(
    rules: Sequence[Rule],
    scaffolds: Sequence[Scaffold],
    shape: Shape,
    k: int,
    rng: np.random.Generator,
) -> IntArray:
    """Random elements, redrawn where their counts are out of range."""
    n, n_labels = shape.n_nodes, shape.n_labels
    low, high = np.zeros(n_labels, dtype=np.int64), np.full(n_labels, n)
    for rule in rules:
        if isinstance(rule, LabelCount):
            label = rule.index(rule.label)
            low[label] = max(low[label], rule.minimum)
            high[label] = min(high[label], n if rule.maximum is None else rule.maximum)
    middle = np.maximum((low + np.minimum(high, n)) / 2.0, 1e-9)
    share = middle / middle.sum()
    labels = np.zeros((k, n), dtype=np.int64)
    again = np.arange(k)
    for _ in range(_REDRAWS):
        labels[again] = rng.choice(n_labels, size=(len(again), n), p=share)
        for scaffold in scaffolds:
            fixed = [scaffold.index(label) for label in scaffold.labels]
            labels[again, : len(fixed)] = fixed
        counts = (labels[again][:, :, None] == np.arange(n_labels)).sum(axis=1)
        again = again[((counts < low) | (counts > high)).any(axis=1)]
        if not again.size:
            break
    return labels


class _Site:
    """Molecules under construction: bonds so far and the valence each atom has left."""

    def __init__(self, labels: IntArray, valences: Sequence[int], rng: np.random.Generator) -> None:
        self.labels, self.rng = labels, rng
        k, n = labels.shape
        self.order = np.zeros((k, n, n), dtype=np.int64)
        self.spare = np.asarray(valences, dtype=np.int64)[labels]
        self.joined = np.zeros((k, n), dtype=bool)
        self.fixed = np.zeros((n, n), dtype=bool)  # bonds of a scaffold, not to be changed
        self.everyone = np.arange(k)

    def place(self, scaffold: Scaffold) -> None:
        """The bonds of a scaffold; its closed atoms have nothing left."""
        n_atoms = scaffold.n_atoms
        for u, v, order in scaffold.bonds:
            self.order[:, u, v] = self.order[:, v, u] = order
            self.spare[:, [u, v]] -= order
        self.fixed[:n_atoms, :n_atoms] = True
        self.joined[:, :n_atoms] = True
        closed = [v for v in range(n_atoms) if v not in scaffold.open]
        self.spare[:, closed] = 0
        np.maximum(self.spare, 0, out=self.spare)

    def _bond(self, graphs: IntArray, u: IntArray, v: IntArray) -> None:
        """One more bond, or one order more."""
        self.order[graphs, u, v] += 1
        self.order[graphs, v, u] += 1
        self.spare[graphs, u] -= 1
        self.spare[graphs, v] -= 1

    def grow_tree(self) -> None:
        """Atoms join in random order, those of valence 1 last: so a place is always left."""
        k, n = self.labels.shape
        ends = self.spare == 1
        turn = np.argsort(self.rng.random((k, n)) + ends - 2.0 * self.joined, axis=1)
        for step in range(n):
            node = turn[:, step]
            open_ = self.joined & (self.spare > 0)
            host = (self.rng.random((k, n)) * open_).argmax(axis=1)
            new = ~self.joined[self.everyone, node] & open_.any(axis=1)
            graphs = self.everyone[new]
            self._bond(graphs, host[new], node[new])
            self.joined[self.everyone, node] = True

    def close_rings(self, fewest: int, most: int, smallest: int, largest: int) -> None:
        """A random number of bonds between atoms not bonded yet, that close rings of these sizes.

        The new bond and all bonds that were in no ring before are then in a ring of that size.
        """

        def places() -> BoolArray:
            free: BoolArray = (self.order == 0) & ~self.fixed
            if smallest > 3 or largest < self.labels.shape[1]:
                size = distances_batch(self.order > 0) + 1
                free &= (size >= smallest) & (size <= largest)
            return free

        self._repeat(fewest, most, places)

    def raise_bonds(self, order: int, fewest: int, most: int) -> None:
        """A random number of bonds of one order less is raised to this order."""
        there = (self.order == order).sum(axis=(1, 2)) // 2
        self._repeat(fewest, most, lambda: (self.order == order - 1) & ~self.fixed, there)

    def _repeat(
        self,
        fewest: int,
        most: int,
        allowed: Callable[[], BoolArray],
        there: IntArray | int = 0,
    ) -> None:
        k, n = self.labels.shape
        # few more often than many: the sum over rings and orders is limited by the valences
        share = self.rng.random(k) ** 2
        target = fewest + np.floor(share * (max(most, fewest) - fewest + 1)).astype(np.int64)
        target = np.minimum(target, most) - there
        upper = np.triu(np.ones((n, n), dtype=bool), 1)
        for step in range(int(target.max(initial=0))):
            room = self.spare > 0
            places = allowed() & upper & room[:, :, None] & room[:, None, :]
            places[step >= target] = False
            some = np.flatnonzero(places.any(axis=(1, 2)))
            if not some.size:
                return
            keys = self.rng.random((len(some), n, n)) * places[some]
            u, v = np.divmod(keys.reshape(len(some), n * n).argmax(axis=1), n)
            self._bond(some, u, v)
