"""Molecules as an SDF file: structures with properties, as chemists' programs read them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from rdkit import Chem
from rdkit.Chem import rdDepictor

from ..graph import Graph
from .smiles import to_mol


def sdf_text(molecules: Sequence[Graph], properties: Sequence[Mapping[str, str]]) -> str:
    """An SDF text with flat coordinates; texts of properties are put on one line.

    >>> from bogrape.molecules import from_smiles
    >>> text = sdf_text([from_smiles("CCO")], [{"value": "1.5"}])
    >>> text.count("$$$$"), "<value>" in text
    (1, True)
    """
    out = io.StringIO()
    with Chem.SDWriter(out) as writer:
        for graph, known in zip(molecules, properties, strict=True):
            mol = Chem.Mol(to_mol(graph))
            rdDepictor.Compute2DCoords(mol)
            for name, text in known.items():
                # an empty line would end the property, and one of dollars the molecule
                mol.SetProp(name, " ".join(text.split()))
            mol.SetProp("_Name", " ".join(known.get("name", "").split()))
            writer.write(mol)
    return out.getvalue()
