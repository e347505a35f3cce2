"""Molecules as graphs: SMILES in and out, spaces of molecules, rules, oracles, pictures.

Needs RDKit: ``pip install 'bogrape[molecules]'``.
"""

from __future__ import annotations

from ..constraints import Rule
from ..errors import MissingExtraError

try:
    import rdkit as _rdkit  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "molecules need RDKit, which is not installed; try pip install 'bogrape[molecules]'"
    ) from None

from .aromatic_valence import AromaticValence
from .composition import (
    BondCount,
    DataSetBounds,
    HeteroatomCount,
    MolecularWeight,
    NoAdjacentHeteroatoms,
)
from .data import Dataset, load_qm7, load_qm9
from .diversity import mean_similarity
from .domain import MOLECULES
from .drawing import draw
from .oracles import Oracle, load_oracle
from .rings import LargestRing, SmallestRing
from .scaffold import Scaffold
from .smarts import ForbiddenSubstructure, RequiredSubstructure
from .smiles import from_mol, from_smiles, to_mol, to_smiles
from .space import molecule_space, scaffold
from .valence import Valence

__all__ = [
    "MOLECULES",
    "RULES",
    "AromaticValence",
    "BondCount",
    "DataSetBounds",
    "Dataset",
    "ForbiddenSubstructure",
    "HeteroatomCount",
    "LargestRing",
    "MolecularWeight",
    "NoAdjacentHeteroatoms",
    "Oracle",
    "RequiredSubstructure",
    "Scaffold",
    "SmallestRing",
    "Valence",
    "draw",
    "from_mol",
    "from_smiles",
    "load_oracle",
    "load_qm7",
    "load_qm9",
    "mean_similarity",
    "molecule_space",
    "scaffold",
    "to_mol",
    "to_smiles",
]

RULES: dict[str, type[Rule]] = {
    kind.__name__: kind
    for kind in (
        Valence,
        AromaticValence,
        BondCount,
        DataSetBounds,
        HeteroatomCount,
        NoAdjacentHeteroatoms,
        MolecularWeight,
        Scaffold,
        RequiredSubstructure,
        ForbiddenSubstructure,
        SmallestRing,
        LargestRing,
    )
}
