"""Aromatic bonds: from alternating single and double bonds to edge label 4, and back.

RDKit decides what is aromatic. Its model considers whole systems of fused rings, so RDKit is called
for each graph with a ring that could be aromatic. The answers are cached, since a search returns to
the same graphs all the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np
from rdkit import Chem

from ..arrays import BoolArray, IntArray
from .elements import KINDS
from .identity import AROMATIC, BONDS_AND_AROMATIC, assembled

Bonds = tuple[tuple[int, int, int], ...]  # (u, v, edge label)
_KIND_OF = {kind: label for label, kind in BONDS_AND_AROMATIC.items()}


def bonds_of(kinds: IntArray) -> Bonds:
    """The bonds of one graph, from its matrix of edge labels."""
    u, v = np.nonzero(np.triu(kinds))
    return tuple(zip(u.tolist(), v.tolist(), kinds[u, v].tolist(), strict=True))


def carbons(elements: Sequence[str]) -> list[int]:
    """Labels of atoms that give electrons to an aromatic ring only through multiple bonds."""
    return [label for label, name in enumerate(elements) if name in ("C", "Si")]


def may_be_aromatic(labels: IntArray, kinds: IntArray, elements: Sequence[str]) -> BoolArray:
    """Mask ``(B,)`` of graphs that may have aromatic bonds; few false positives.

    All atoms of an aromatic ring give electrons, carbon only with a multiple bond. If the other
    atoms and then all chains are removed from a graph, nothing remains without such a ring.
    """
    carbon = np.isin(labels, carbons(elements))
    taking_part = ~carbon | (kinds >= 2).any(axis=2)
    bonded = kinds > 0
    while True:
        degree = (bonded & taking_part[:, None, :]).sum(axis=2)
        chain = taking_part & (degree < 2)
        if not chain.any():
            return np.asarray(taking_part.any(axis=1))
        taking_part &= ~chain


@lru_cache(maxsize=1 << 16)
def agrees(
    labels: tuple[int, ...], bonds: Bonds, hydrogens: tuple[int, ...], elements: tuple[str, ...]
) -> bool:
    """True if RDKit, given this molecule, calls the same bonds aromatic and changes nothing."""
    names = [elements[label] for label in labels]
    try:
        mol = assembled(names, bonds, hydrogens)
        if read_bonds(mol) != bonds:
            return False
        Chem.Kekulize(mol, clearAromaticFlags=True)
    except (ValueError, RuntimeError):
        return False
    return all(
        atom.GetFormalCharge() == KINDS[name].charge
        and atom.GetTotalNumHs() == hydrogens[atom.GetIdx()]
        and atom.GetTotalValence() == KINDS[name].valence
        and not atom.GetNumRadicalElectrons()
        for atom, name in zip(mol.GetAtoms(), names, strict=True)
    )


def read_bonds(mol: Any) -> Bonds:
    """The bonds of a ``Mol``, as edge labels."""
    found = []
    for bond in mol.GetBonds():
        u, v = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        found.append((u, v, _KIND_OF.get(bond.GetBondType(), 0)))
    return tuple(sorted(found))


@lru_cache(maxsize=1 << 16)
def perceived(
    labels: tuple[int, ...], bonds: Bonds, hydrogens: tuple[int, ...], elements: tuple[str, ...]
) -> Bonds:
    """The bonds of a molecule of single, double and triple bonds, with aromatic ones marked.

    If RDKit refuses the molecule, or would change it, the bonds are returned unchanged.
    """
    try:
        mol = assembled([elements[label] for label in labels], bonds, hydrogens)
    except (ValueError, RuntimeError):
        return bonds
    found = read_bonds(mol)
    changed = any(
        k != AROMATIC and k != old for (*_, k), (*_, old) in zip(found, bonds, strict=True)
    )
    return bonds if changed else found


def with_aromatic_bonds(
    labels: IntArray, order: IntArray, hydrogens: IntArray, elements: tuple[str, ...]
) -> IntArray:
    """Edge labels ``(B, n, n)`` of molecules given by bond orders, aromatic bonds marked."""
    kinds = order.copy()
    for i in np.flatnonzero(may_be_aromatic(labels, order, elements)):
        counted = tuple(hydrogens[i].tolist())
        for u, v, kind in perceived(
            tuple(labels[i].tolist()), bonds_of(order[i]), counted, elements
        ):
            kinds[i, u, v] = kinds[i, v, u] = kind
    return kinds


def without_aromatic_bonds(
    labels: IntArray, kinds: IntArray, hydrogens: IntArray, valences: IntArray
) -> IntArray:
    """Bond orders of graphs some of whose bonds are marked aromatic, correctly or not.

    As many aromatic bonds as possible become double, at atoms that have a valence left for it.
    If ``hydrogens``, those of the graph before it was changed, took that valence, an atom gets no
    double bond unless a neighbour needs it; carbon always gets one if possible.
    """
    order = np.where(kinds == AROMATIC, 1, kinds)
    marked = kinds == AROMATIC
    spare = valences[labels] - order.sum(axis=2)
    needs = (spare > 0) & ((valences[labels] >= 4) | (spare > hydrogens))
    for i in np.flatnonzero(marked.any(axis=(1, 2))):
        u, v = np.nonzero(np.triu(marked[i]))
        pairs = zip(u.tolist(), v.tolist(), strict=True)
        kept = tuple((a, b) for a, b in pairs if spare[i, a] > 0 and spare[i, b] > 0)
        need = tuple(sorted({w for pair in kept for w in pair if needs[i, w]}))
        for a, b in _matching(kept, need):
            order[i, a, b] = order[i, b, a] = 2
    return order


@lru_cache(maxsize=1 << 14)
def _matching(
    pairs: tuple[tuple[int, int], ...], need: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """Disjoint pairs that cover as many of the atoms in ``need`` as possible."""
    graph: Any = nx.Graph()
    for a, b in pairs:
        graph.add_edge(a, b, weight=(a in need) + (b in need))
    return tuple(nx.max_weight_matching(graph))


def disagreements(
    labels: IntArray, kinds: IntArray, hydrogens: IntArray, elements: tuple[str, ...]
) -> Iterator[int]:
    """Indices of graphs whose aromatic bonds are not RDKit's, or that RDKit would rewrite."""
    rewritten = [i for i, name in enumerate(elements) if name == "P(5)"]  # as an ylide, sometimes
    asked = may_be_aromatic(labels, kinds, elements) | (kinds == AROMATIC).any(axis=(1, 2))
    asked |= np.isin(labels, rewritten).any(axis=1)
    for i in np.flatnonzero(asked).tolist():
        counted = tuple(hydrogens[i].tolist())
        if not agrees(tuple(labels[i].tolist()), bonds_of(kinds[i]), counted, elements):
            yield i
