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

from .alerts import StructuralAlerts, alert_smarts
from .aromatic_valence import AromaticValence
from .charge import NetCharge
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
from .properties import PROPERTIES, Property, drug_like
from .rings import LargestRing, SmallestRing
from .scaffold import Scaffold
from .smiles import from_mol, from_smiles, to_mol, to_smiles
from .space import molecule_space, scaffold
from .substructure import ForbiddenSubstructure, RequiredSubstructure
from .valence import Valence

__all__ = [
    "MOLECULES",
    "PROPERTIES",
    "RULES",
    "AromaticValence",
    "BondCount",
    "DataSetBounds",
    "Dataset",
    "ForbiddenSubstructure",
    "HeteroatomCount",
    "LargestRing",
    "MolecularWeight",
    "NetCharge",
    "NoAdjacentHeteroatoms",
    "Oracle",
    "Property",
    "RequiredSubstructure",
    "Scaffold",
    "SmallestRing",
    "StructuralAlerts",
    "Valence",
    "alert_smarts",
    "draw",
    "drug_like",
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
        NetCharge,
        Property,
        StructuralAlerts,
    )
}
