"""`Scaffold`: a fixed part of a molecule, with positions where more may be attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..batch import Batch
from ..constraints import Atom, HasLabel, Row, Shape, edge
from ..constraints.rows import never, total
from ..constraints.rule import Excess, Label
from .base import MoleculeRule, bond, orders


@dataclass(frozen=True, repr=False)
class Scaffold(MoleculeRule):
    """Atoms 0, 1, ... are these elements with exactly these bonds between them.

    Args:
        labels: the elements of its atoms.
        bonds: triples ``(u, v, order)``.
        open: the atoms that may have bonds to the rest of the molecule.

    `scaffold` makes one from SMILES.
    """

    labels: Any
    bonds: Any
    open: Any

    def __post_init__(self) -> None:
        if not isinstance(self.labels, (list, tuple)) or not self.labels:
            self.refuse("one element an atom", repr(self.labels), "scaffold('C1CC1*')")
        self._set("labels", tuple(self._label(label, "a label") for label in self.labels))
        made = []
        for item in self.bonds if isinstance(self.bonds, (list, tuple)) else [None]:
            if not isinstance(item, (list, tuple)) or len(item) != 3:
                self.refuse("bonds as (u, v, order)", repr(item), "bonds=[(0, 1, 1)]")
            u, v = sorted(self._pair(item[:2], "a bond"))
            order = self._whole(item[2], "an order")
            if not 1 <= order <= 3 or v >= len(self.labels):
                self.refuse("orders 1..3 between its atoms", repr(item), "bonds=[(0, 1, 1)]")
            made.append((u, v, order))
        if len({pair[:2] for pair in made}) < len(made):
            self.refuse("every bond once", "one of them twice", "removing it")
        self._set("bonds", tuple(sorted(made)))
        if not isinstance(self.open, (list, tuple)):
            self.refuse("open to be a list of atoms", repr(self.open), "open=[0]")
        free = tuple(sorted({self._whole(v, "an open atom") for v in self.open}))
        if free and free[-1] >= self.n_atoms:
            self.refuse(f"open atoms below {self.n_atoms}", repr(free[-1]), "open=[0]")
        self._set("open", free)

    @property
    def n_atoms(self) -> int:
        """How many atoms it fixes."""
        return len(self.labels)

    def nodes(self) -> frozenset[int]:
        """Its atoms."""
        return frozenset(range(self.n_atoms))

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """With every element replaced by its index."""
        return replace(self, labels=tuple(map(resolve, self.labels)))

    def _closed(self) -> list[int]:
        return [v for v in range(self.n_atoms) if v not in self.open]

    def excess(self, batch: Batch) -> Excess:
        """Elements and bonds that differ, + bonds from closed atoms to the rest."""
        k, n = self.n_atoms, batch.n_nodes
        if n < k:
            return np.full(len(batch), float(k - n))
        wanted = np.zeros((k, k), dtype=np.int64)
        for u, v, order in self.bonds:
            wanted[u, v] = wanted[v, u] = order
        labels = [self.index(label) for label in self.labels]
        out = (batch.labels[:, :k] != labels).sum(axis=1)
        out = out + (orders(batch)[:, :k, :k] != wanted).sum(axis=(1, 2)) // 2
        outside = batch.adjacency[:, self._closed(), k:].sum(axis=(1, 2))
        return np.asarray(out + outside, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """Its elements and bonds; no other bonds between its atoms or from closed ones."""
        k, n = self.n_atoms, shape.n_nodes
        if n < k:
            yield never(f"scaffold of {k} atoms")
            return
        parts: list[Atom] = [HasLabel(v, self.index(label)) for v, label in enumerate(self.labels)]
        for u, v, order in self.bonds:
            parts.append(bond(u, v, order) if shape.n_edge_labels else edge(u, v, False))
        for part in parts:
            yield Row(f"scaffold: {part}", ((part, 1),), low=1)
        bonded = {pair[:2] for pair in self.bonds}
        free = [(u, v) for u in range(k) for v in range(u + 1, k) if (u, v) not in bonded]
        if free:
            yield Row("scaffold: no other bond", total(edge(*e, False) for e in free), high=0)
        shut = total(edge(u, v, False) for u in self._closed() for v in range(k, n))
        if shut:
            yield Row("scaffold: closed positions", shut, high=0)
