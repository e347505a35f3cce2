"""Graphs as RDKit molecules, and which graphs are the same molecule: those with the same SMILES.

Two Kekulé forms of an aromatic molecule are two graphs that are not isomorphic, with one SMILES.
"""

from __future__ import annotations

from typing import Any

from rdkit import Chem, rdBase

from ..graph import Graph

BONDS = {1: Chem.BondType.SINGLE, 2: Chem.BondType.DOUBLE, 3: Chem.BondType.TRIPLE}


def unchecked_mol(graph: Graph, symbols: tuple[str, ...]) -> Any:
    """The graph as a sanitised RDKit ``Mol``; RDKit's own error if it refuses.

    The caller vouches for labels and edge labels that stand for elements and bonds.
    """
    mol = Chem.RWMol()
    for label in graph.labels.tolist():
        mol.AddAtom(Chem.Atom(symbols[label]))
    assert graph.edge_labels is not None
    orders = graph.edge_labels.tolist()
    for u, v in graph.edges():
        mol.AddBond(u, v, BONDS[orders[u][v]])
    with rdBase.BlockLogs():
        Chem.SanitizeMol(mol)
    return mol.GetMol()


def canonical_smiles(graph: Graph, symbols: tuple[str, ...]) -> str | None:
    """The canonical SMILES of a graph whose bonds fit its elements; ``None`` if there is none."""
    try:
        return str(Chem.MolToSmiles(unchecked_mol(graph, symbols)))
    except (ValueError, RuntimeError):
        return None
