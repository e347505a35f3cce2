"""Graphs as RDKit molecules. Graphs with the same canonical SMILES are the same molecule.

Two Kekulé forms of an aromatic molecule are two graphs that are not isomorphic, but have one
SMILES. With aromatic bonds (edge label 4) they are one graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rdkit import Chem, rdBase

from ..graph import Graph
from .elements import KINDS, VALENCES

BONDS = {1: Chem.BondType.SINGLE, 2: Chem.BondType.DOUBLE, 3: Chem.BondType.TRIPLE}
AROMATIC = 4  # the edge label of an aromatic bond
BONDS_AND_AROMATIC = {**BONDS, AROMATIC: Chem.BondType.AROMATIC}
HYDROGENS = 4  # the first of the five hydrogen features


def unchecked_mol(graph: Graph, symbols: tuple[str, ...]) -> Any:
    """The graph as a sanitised RDKit ``Mol``; raises RDKit's own error if it is refused.

    Labels and edge labels must stand for elements and bonds, which is not checked.
    """
    assert graph.edge_labels is not None
    kinds = graph.edge_labels.tolist()
    bonds = [(u, v, kinds[u][v]) for u, v in graph.edges()]
    return assembled(
        [symbols[label] for label in graph.labels.tolist()],
        bonds,
        graph.features[:, HYDROGENS : HYDROGENS + 5].argmax(axis=1).tolist(),
    )


def assembled(
    names: Sequence[str], bonds: Iterable[tuple[int, int, int]], hydrogens: Sequence[int]
) -> Any:
    """A sanitised ``Mol`` of atoms with these labels, bonds ``(u, v, edge label)`` and hydrogens.

    RDKit counts the hydrogens of ordinary atoms itself; those of ions, of atoms with an unusual
    valence and of aromatic atoms are given, since they do not follow from the element.
    """
    mol = Chem.RWMol()
    bonds = list(bonds)
    given = {atom for *ends, kind in bonds if kind == AROMATIC for atom in ends}
    for v, name in enumerate(names):
        kind = KINDS[name]
        atom = Chem.Atom(kind.element)
        if kind.charge:
            atom.SetFormalCharge(kind.charge)
        if v in given or name != kind.element:
            atom.SetNoImplicit(True)
            atom.SetNumExplicitHs(hydrogens[v])
        if v in given:
            atom.SetIsAromatic(True)
        mol.AddAtom(atom)
    for i, (u, v, k) in enumerate(bonds):
        mol.AddBond(u, v, BONDS_AND_AROMATIC[k])
        if k == AROMATIC:
            mol.GetBondWithIdx(i).SetIsAromatic(True)
    with rdBase.BlockLogs():
        Chem.SanitizeMol(mol)
    return mol.GetMol()


def canonical_smiles(graph: Graph, symbols: tuple[str, ...]) -> str | None:
    """The canonical SMILES of a graph whose bonds fit its elements; ``None`` if there is none."""
    try:
        return str(Chem.MolToSmiles(unchecked_mol(graph, symbols)))
    except (ValueError, RuntimeError):
        return None


def valences_of(symbols: Sequence[str]) -> list[int]:
    """The valence of every label."""
    return [VALENCES[symbol] for symbol in symbols]
