"""`Scaffold`: a fixed part of a molecule, with positions where more may be attached.

Without its scaffold, a molecule falls into connected *branches*. With ``keep_rings``, a branch is
bonded either to one ring atom of the scaffold, by one bond, or to one other atom of the scaffold,
by any number of bonds. Equivalently, no ring with an atom outside the scaffold has a ring atom, or
two atoms, of the scaffold: a path inside a branch closes such a ring if it ends at two atoms of the
scaffold, or at one ring atom by two bonds.

Aromatic atoms then stay aromatic. RDKit counts the electrons of a ring from the bonds of its atoms
and from the rings it is fused to. Neither changes, because an aromatic atom has room for one more
single bond at most, in place of a hydrogen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

import networkx as nx
import numpy as np

from ..arrays import BoolArray, IntArray
from ..batch import Batch
from ..constraints import Atom, Aux, Edge, HasLabel, Row, Shape, edge, within
from ..constraints.rows import never, total
from ..constraints.rule import Excess, Label
from ..constraints.words import called
from ..counts import distances_batch
from ..domain import Nouns
from .aromaticity import perceived
from .elements import VALENCES
from .identity import AROMATIC
from .molecule_rule import NOUNS, MoleculeRule, bond, orders


@dataclass(frozen=True, repr=False)
class Scaffold(MoleculeRule):
    """Atoms 0, 1, ... are these elements with exactly these bonds between them.

    Args:
        labels: the elements of its atoms.
        bonds: triples ``(u, v, order)``.
        open: the atoms that may have bonds to the rest of the molecule.
        keep_rings: whether its ring system is preserved: no ring that reaches beyond the scaffold
            has a ring atom, or two atoms, of the scaffold.

    In spaces with aromatic bonds, bonds that are aromatic in the fragment alone are aromatic in the
    molecule, too.

    `scaffold` creates one from SMILES.
    """

    labels: Any
    bonds: Any
    open: Any
    keep_rings: bool = False
    aromatic: Any = field(default=(), compare=False)  # pairs of atoms, set by `bind`

    def __post_init__(self) -> None:
        if not isinstance(self.labels, (list, tuple)) or not self.labels:
            self.refuse("one element per atom", repr(self.labels), "scaffold('C1CC1*')")
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
        if not isinstance(self.keep_rings, bool):
            self.refuse("keep_rings to be True or False", repr(self.keep_rings), "keep_rings=True")
        if self.keep_rings and not nx.is_connected(_skeleton(self.n_atoms, self.bonds)):
            self.refuse("one connected fragment to keep rings of", "several", "keep_rings=False")

    def parameters(self) -> dict[str, Any]:
        """Without the aromatic bonds, which follow from the others."""
        return {key: value for key, value in super().parameters().items() if key != "aromatic"}

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the aromatic bonds of the fragment alone, if the space has such bonds."""
        rule = self
        names = {index: name for name, index in labels.items()}
        atoms = [names.get(label, label) for label in self.labels]
        if shape.n_edge_labels == AROMATIC and all(name in VALENCES for name in atoms):
            rule = replace(self, aromatic=_aromatic_bonds(tuple(atoms), self.bonds))
        return super(Scaffold, rule).bind(labels, shape)

    def kinds(self) -> tuple[tuple[int, int, int], ...]:
        """Its bonds as edge labels of the space: orders, or 4 for aromatic ones."""
        return tuple(
            (u, v, AROMATIC if (u, v) in self.aromatic else order) for u, v, order in self.bonds
        )

    @property
    def n_atoms(self) -> int:
        """Number of atoms it fixes."""
        return len(self.labels)

    def nodes(self) -> frozenset[int]:
        """Its atoms."""
        return frozenset(range(self.n_atoms))

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """The rule with every element replaced by its index."""
        return replace(self, labels=tuple(map(resolve, self.labels)))

    def _closed(self) -> list[int]:
        return [v for v in range(self.n_atoms) if v not in self.open]

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        symbols = "".join(map(called, self.labels))
        out = f"The first {self.n_atoms} {nouns.nodes} ({symbols}) are the scaffold"
        places = ", ".join(map(str, self.open)) or "none"
        out += f"; open positions: {places}"
        return f"{out}{'; its ring system is preserved' if self.keep_rings else ''}."

    def excess(self, batch: Batch) -> Excess:
        """Number of elements and bonds that differ, and of bonds from closed atoms to the rest."""
        k, n = self.n_atoms, batch.n_nodes
        if n < k:
            return np.full(len(batch), float(k - n))
        wanted = np.zeros((k, k), dtype=np.int64)
        for u, v, kind in self.kinds():
            wanted[u, v] = wanted[v, u] = kind
        labels = [self.index(label) for label in self.labels]
        out = (batch.labels[:, :k] != labels).sum(axis=1)
        out = out + (orders(batch)[:, :k, :k] != wanted).sum(axis=(1, 2)) // 2
        out = out + batch.adjacency[:, self._closed(), k:].sum(axis=(1, 2))
        if self.keep_rings:
            out = out + self.ties(batch.adjacency)
        return np.asarray(out, dtype=float)

    def ties(self, adjacency: BoolArray) -> IntArray:
        """Bonds and atoms by which branches are tied to the scaffold more than once, ``(B,)``."""
        if adjacency.shape[1] == self.n_atoms:
            return np.zeros(len(adjacency), dtype=np.int64)
        branch = self._same_branch(adjacency)
        ring, chain = self._anchors()
        to_rings = adjacency[:, self.n_atoms :, ring].sum(axis=2)
        to_chain = adjacency[:, self.n_atoms :, chain].astype(np.int64)
        ties = (branch @ to_rings[..., None])[..., 0] + (branch @ to_chain > 0).sum(axis=2)
        first = branch.argmax(axis=2) == np.arange(branch.shape[1])  # each branch once
        return np.asarray((np.maximum(ties - 1, 0) * first).sum(axis=1))

    def _same_branch(self, adjacency: BoolArray) -> IntArray:
        """1 for atoms outside the scaffold in the same branch, else 0, ``(B, n - k, n - k)``."""
        rest = adjacency[:, self.n_atoms :, self.n_atoms :]
        return np.asarray(distances_batch(rest) < rest.shape[1], dtype=np.int64)

    def _anchors(self) -> tuple[list[int], list[int]]:
        """Open atoms in rings of the scaffold, and the other open atoms."""
        rings = _ring_atoms(self.n_atoms, self.bonds)
        return [v for v in self.open if v in rings], [v for v in self.open if v not in rings]

    def bridges(self, adjacency: BoolArray) -> BoolArray:
        """Pairs of atoms between which a new bond would change the rings, ``(B, n, n)``.

        The graphs must satisfy the rule.
        """
        k, (graphs, n, _) = self.n_atoms, adjacency.shape
        group = np.tile(np.arange(n), (graphs, 1))  # a bond inside a group changes no ring
        if n == k:
            return np.asarray(group[:, :, None] != group[:, None, :])
        branch = self._same_branch(adjacency)
        group[:, k:] = k + branch.argmax(axis=2)
        for v in self._anchors()[1]:
            here = (branch @ adjacency[:, k:, v, None])[..., 0] > 0
            group[:, k:][here] = v
        return np.asarray(group[:, :, None] != group[:, None, :])

    def rows(self, shape: Shape) -> Iterator[Row]:
        """Its elements and bonds; no other bonds between its atoms or from closed ones.

        With ``keep_rings``, ``branch[w,r] = 1`` exactly when the branch of atom w has the root r:
        the atom bonded to a ring of the scaffold, or the other atom of the scaffold it is bonded to

        * every w has one root;
        * ``branch[w,w]`` is the number of bonds from w to rings of the scaffold, so at most one;
        * a bond from w to another atom r of the scaffold makes r the root of w;
        * bonded atoms have the same root.
        """
        k, n = self.n_atoms, shape.n_nodes
        if n < k:
            yield never(f"scaffold of {k} atoms")
            return
        parts: list[Atom] = [HasLabel(v, self.index(label)) for v, label in enumerate(self.labels)]
        for u, v, kind in self.kinds():
            parts.append(bond(u, v, kind) if shape.n_edge_labels else edge(u, v, False))
        for part in parts:
            yield Row(f"scaffold: {part}", ((part, 1),), low=1)
        bonded = {pair[:2] for pair in self.bonds}
        free = [(u, v) for u in range(k) for v in range(u + 1, k) if (u, v) not in bonded]
        if free:
            yield Row("scaffold: no other bond", total(edge(*e, False) for e in free), high=0)
        shut = total(edge(u, v, False) for u in self._closed() for v in range(k, n))
        if shut:
            yield Row("scaffold: closed positions", shut, high=0)
        if self.keep_rings:
            yield from self._branches(shape)

    def _branches(self, shape: Shape) -> Iterator[Row]:
        ring, chain = self._anchors()
        outside = range(self.n_atoms, shape.n_nodes)
        roots = [*outside, *chain]

        def branch(w: int, root: int) -> Aux:
            return Aux(f"{self.name}.branch[{w},{root}]")

        for w in outside:
            one = total(branch(w, root) for root in roots)
            if shape.connected:
                yield Row(f"scaffold: one root[{w}]", one, 1, 1)
            else:
                reached = within(0, w, shape.n_nodes - 1, shape)
                yield Row(f"scaffold: one root if attached[{w}]", (*one, (reached, -1)), 0, 0)
            bonds = total(edge(u, w, False) for u in ring)
            yield Row(f"scaffold: one bond to a ring[{w}]", (*bonds, (branch(w, w), -1)), 0, 0)
            for root in chain:
                terms = ((Edge(root, w), 1), (branch(w, root), -1))
                yield Row(f"scaffold: bonded to its root[{w},{root}]", terms, high=0)
            for x in outside:
                for root in roots if x != w else ():
                    same = ((branch(w, root), 1), (branch(x, root), -1), (edge(w, x, False), 1))
                    yield Row(f"scaffold: same root[{w},{x},{root}]", same, high=1)


@cache
def _aromatic_bonds(
    names: tuple[str, ...], bonds: tuple[tuple[int, int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """The bonds that are aromatic in the molecule of these atoms and bonds."""
    used = [sum(order for *ends, order in bonds if v in ends) for v in range(len(names))]
    hydrogens = tuple(max(0, VALENCES[name] - n) for name, n in zip(names, used, strict=True))
    found = perceived(tuple(range(len(names))), bonds, hydrogens, names)
    return tuple((u, v) for u, v, kind in found if kind == AROMATIC)


def _skeleton(n_atoms: int, bonds: tuple[tuple[int, int, int], ...]) -> Any:
    graph: Any = nx.Graph()
    graph.add_nodes_from(range(n_atoms))
    graph.add_edges_from(pair[:2] for pair in bonds)
    return graph


@cache
def _ring_atoms(n_atoms: int, bonds: tuple[tuple[int, int, int], ...]) -> frozenset[int]:
    """The atoms of a scaffold that are in one of its rings."""
    blocks = nx.biconnected_components(_skeleton(n_atoms, bonds))
    return frozenset().union(*(block for block in blocks if len(block) > 2))
