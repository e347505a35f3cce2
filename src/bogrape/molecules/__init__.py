"""Molecules as graphs: SMILES in and out, spaces of molecules, rules, oracles, pictures.

Needs RDKit: ``pip install 'bogrape[molecules]'``.
"""

from __future__ import annotations

from ..constraints import Rule
from .composition import (
    BondCount,
    DataSetBounds,
    HeteroatomCount,
    MolecularWeight,
    NoAdjacentHeteroatoms,
)
from .scaffold import Scaffold
from .smarts import ForbiddenSubstructure, RequiredSubstructure, SmallestRing
from .smiles import from_mol, from_smiles, to_mol, to_smiles
from .space import molecule_space, scaffold
from .valence import Valence

__all__ = [
    "RULES",
    "BondCount",
    "DataSetBounds",
    "ForbiddenSubstructure",
    "HeteroatomCount",
    "MolecularWeight",
    "NoAdjacentHeteroatoms",
    "RequiredSubstructure",
    "Scaffold",
    "SmallestRing",
    "Valence",
    "from_mol",
    "from_smiles",
    "molecule_space",
    "scaffold",
    "to_mol",
    "to_smiles",
]

RULES: dict[str, type[Rule]] = {
    kind.__name__: kind
    for kind in (
        Valence,
        BondCount,
        DataSetBounds,
        HeteroatomCount,
        NoAdjacentHeteroatoms,
        MolecularWeight,
        Scaffold,
        RequiredSubstructure,
        ForbiddenSubstructure,
        SmallestRing,
    )
}
