"""Random molecules, built directly: required parts, elements, a tree, rings, multiple bonds.

All molecules of a batch are built together; loops run over atoms and bonds, never over molecules.
Valences, a scaffold and limits on ring sizes are always respected; counts of elements, rings and
multiple bonds and required substructures almost always. The caller has to check all other rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ..arrays import BoolArray, IntArray
from ..constraints import CycleRange, LabelCount, Rule, Shape
from ..counts import distances_batch
from .composition import BondCount, DataSetBounds
from .draft import Draft, drafts
from .rings import LargestRing, SmallestRing
from .scaffold import Scaffold
from .substructure import RequiredSubstructure

_DRAFTS = 64  # different drafts in a batch
_REDRAWS = 20  # rounds of redrawing elements whose counts are out of range


def build(
    rules: Sequence[Rule], shape: Shape, valences: Sequence[int], k: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Labels ``(k, n)`` and bond orders ``(k, n, n)`` of k random molecules."""
    n = shape.n_nodes
    rules = list(_at(rules, n))
    scaffolds = [rule for rule in rules if isinstance(rule, Scaffold)]
    sketches = [rule.sketch() for rule in rules if isinstance(rule, RequiredSubstructure)]
    required = [sketch for sketch in sketches if sketch is not None]
    low, high = _label_range(rules, shape)
    made = drafts(
        scaffolds, required, valences=valences, most=high, n=n, k=min(k, _DRAFTS), rng=rng
    )
    which = rng.integers(len(made), size=k) if len(made) > 1 else np.zeros(k, dtype=np.int64)
    given = np.stack([draft.labels for draft in made])[which]
    site = _Site(_labels(given, low, high, rng), valences, made, which, rng)
    site.grow_tree(first=max((s.n_atoms for s in scaffolds), default=0))
    fewest, most = _range(rules, CycleRange, n // 2)
    kept = [scaffold for scaffold in scaffolds if scaffold.keep_rings]
    site.close_rings(fewest, most, *_ring_sizes(rules, n), kept)
    for order in range(2, min(shape.n_edge_labels, 3) + 1):
        few, many = _range([r for r in rules if _counts(r, order)], BondCount, n // 2)
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


def _label_range(rules: Sequence[Rule], shape: Shape) -> tuple[IntArray, IntArray]:
    """Smallest and largest number of atoms of each element."""
    low = np.zeros(shape.n_labels, dtype=np.int64)
    high = np.full(shape.n_labels, shape.n_nodes)
    for rule in rules:
        if isinstance(rule, LabelCount):
            label = rule.index(rule.label)
            low[label] = max(low[label], rule.minimum)
            if rule.maximum is not None:
                high[label] = min(high[label], rule.maximum)
    return low, high


def _labels(given: IntArray, low: IntArray, high: IntArray, rng: np.random.Generator) -> IntArray:
    """Random elements where none is given, redrawn while their counts are out of range."""
    (k, n), n_labels = given.shape, len(low)
    middle = np.maximum((low + np.minimum(high, n)) / 2.0, 1e-9)
    share = middle / middle.sum()
    labels = np.zeros((k, n), dtype=np.int64)
    again = np.arange(k)
    for _ in range(_REDRAWS):
        drawn = rng.choice(n_labels, size=(len(again), n), p=share)
        labels[again] = np.where(given[again] >= 0, given[again], drawn)
        counts = (labels[again][:, :, None] == np.arange(n_labels)).sum(axis=1)
        again = again[((counts < low) | (counts > high)).any(axis=1)]
        if not again.size:
            break
    return labels


class _Site:
    """Molecules under construction: bonds so far and the valence each atom has left.

    ``made[which[i]]`` is the draft of molecule i.
    """

    def __init__(
        self,
        labels: IntArray,
        valences: Sequence[int],
        made: Sequence[Draft],
        which: IntArray,
        rng: np.random.Generator,
    ) -> None:
        self.labels, self.rng = labels, rng
        self.order = np.stack([draft.order for draft in made])[which]
        self.fixed = np.stack([draft.fixed for draft in made])[which]
        self.piece = np.stack([draft.pieces() for draft in made])[which]
        self.n_rings = np.array([draft.n_rings() for draft in made])[which]
        hydrogens = np.stack([draft.hydrogens for draft in made])[which]
        spare = np.asarray(valences, dtype=np.int64)[labels] - self.order.sum(axis=2)
        self.spare = np.maximum(spare - np.maximum(hydrogens, 0), 0)
        # with an exact number of hydrogens, the remaining valence must become bonds
        self.hungry = (hydrogens >= 0) & (self.spare > 0)
        self.everyone = np.arange(len(labels))

    def _bond(self, graphs: IntArray, u: IntArray, v: IntArray) -> None:
        """Add a bond, or raise its order by one."""
        self.order[graphs, u, v] += 1
        self.order[graphs, v, u] += 1
        self.spare[graphs, u] -= 1
        self.spare[graphs, v] -= 1

    def grow_tree(self, first: int) -> None:
        """Join pieces in random order, those with one free valence last, so that a place remains.

        A piece is an atom, or the atoms that the draft connects; atoms 0..first-1 are joined.
        """
        k, n = self.labels.shape
        joined = np.tile(np.arange(n) < first, (k, 1))
        same = self.piece[:, :, None] == self.piece[:, None, :]
        ends = (same * self.spare[:, None, :]).sum(axis=2) == 1
        turn = np.argsort(self.rng.random((k, n)) + ends - 2.0 * joined, axis=1)
        for step in range(n):
            node = turn[:, step]
            own = same[self.everyone, node]
            room = self.spare > 0
            key = self.rng.random((k, n)) + self.hungry
            host = (key * (joined & room)).argmax(axis=1)
            guest = (key * (own & room)).argmax(axis=1)
            new = ~joined[self.everyone, node]
            new &= (joined & room).any(axis=1) & (own & room).any(axis=1)
            graphs = self.everyone[new]
            self._bond(graphs, host[new], guest[new])
            joined |= own

    def close_rings(
        self, fewest: int, most: int, smallest: int, largest: int, kept: Sequence[Scaffold]
    ) -> None:
        """Add a random number of bonds between atoms not bonded yet, to close rings of these sizes.

        The new bond and all bonds that were in no ring before are then in a ring of that size. The
        rings of the scaffolds ``kept`` do not change.
        """

        def places() -> BoolArray:
            free: BoolArray = (self.order == 0) & ~self.fixed
            if smallest > 3 or largest < self.labels.shape[1]:
                size = distances_batch(self.order > 0) + 1
                free &= (size >= smallest) & (size <= largest)
            for scaffold in kept:
                free &= ~scaffold.bridges(self.order > 0)
            return free

        self._repeat(
            np.maximum(fewest - self.n_rings, 0), np.maximum(most - self.n_rings, 0), places
        )

    def raise_bonds(self, order: int, fewest: int, most: int) -> None:
        """Raise a random number of bonds from one order less to this order."""
        there = (self.order == order).sum(axis=(1, 2)) // 2
        self._repeat(fewest, most, lambda: (self.order == order - 1) & ~self.fixed, there)

    def _repeat(
        self,
        fewest: IntArray | int,
        most: IntArray | int,
        allowed: Callable[[], BoolArray],
        there: IntArray | int = 0,
    ) -> None:
        k, n = self.labels.shape
        # few more often than many: the sum over rings and orders is limited by the valences
        share = self.rng.random(k) ** 2
        target = fewest + np.floor(share * (np.maximum(most, fewest) - fewest + 1)).astype(np.int64)
        target = np.minimum(target, most) - there
        upper = np.triu(np.ones((n, n), dtype=bool), 1)
        for step in range(int(target.max(initial=0))):
            room = self.spare > 0
            places = allowed() & upper & room[:, :, None] & room[:, None, :]
            places[step >= target] = False
            some = np.flatnonzero(places.any(axis=(1, 2)))
            if not some.size:
                return
            hungry = self.hungry[some]
            keys = self.rng.random((len(some), n, n)) + hungry[:, :, None] + hungry[:, None, :]
            keys *= places[some]
            u, v = np.divmod(keys.reshape(len(some), n * n).argmax(axis=1), n)
            self._bond(some, u, v)
