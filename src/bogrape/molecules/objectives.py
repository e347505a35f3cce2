"""Common molecular properties as objectives, computed by RDKit from a graph or SMILES.

Each takes a graph (with the elements its labels stand for) or a SMILES text, and can be used in
`minimize`, with `Study.tell` and, as ``bogrape.molecules.objectives:qed``, in study files. Graphs
of a space, and of a study, have the names of their elements. To maximise an objective, give the
study ``direction="maximize"``.
"""

from __future__ import annotations

from typing import Any

from rdkit.Chem import QED, rdMolDescriptors

from ..graph import Graph
from .alerts import n_alerts
from .elements import Elements
from .properties import synthetic_accessibility as accessibility_of
from .smiles import read_smiles, to_mol


def _mol(molecule: Graph | str, elements: Elements | None) -> Any:
    return read_smiles(molecule) if isinstance(molecule, str) else to_mol(molecule, elements)


def qed(molecule: Graph | str, elements: Elements | None = None) -> float:
    """Quantitative estimate of drug-likeness, 0 to 1 (Bickerton et al. 2012).

    >>> round(qed("CCO"), 2)
    0.41
    """
    return float(QED.qed(_mol(molecule, elements)))  # type: ignore[no-untyped-call]


def log_p(molecule: Graph | str, elements: Elements | None = None) -> float:
    """Octanol–water partition coefficient, estimated by Wildman and Crippen's atom types."""
    return float(rdMolDescriptors.CalcCrippenDescriptors(_mol(molecule, elements))[0])


def tpsa(molecule: Graph | str, elements: Elements | None = None) -> float:
    """Topological polar surface area in square ångström (Ertl et al. 2000; N and O)."""
    return float(rdMolDescriptors.CalcTPSA(_mol(molecule, elements)))


def molecular_weight(molecule: Graph | str, elements: Elements | None = None) -> float:
    """Molecular weight in g/mol."""
    return float(rdMolDescriptors._CalcMolWt(_mol(molecule, elements)))


def synthetic_accessibility(molecule: Graph | str, elements: Elements | None = None) -> float:
    """Synthetic accessibility, 1 (easy) to 10 (hard), by Ertl and Schuffenhauer 2009."""
    return accessibility_of(_mol(molecule, elements))


def structural_alerts(
    molecule: Graph | str, elements: Elements | None = None, catalogue: str = "BRENK"
) -> float:
    """Number of alerts of one of RDKit's catalogues: a penalty, if a rule is too strict.

    >>> structural_alerts("CC=O"), structural_alerts("CCO")
    (1.0, 0.0)
    """
    return float(n_alerts(_mol(molecule, elements), catalogue))
