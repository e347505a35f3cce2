"""Fingerprints as counts, and the similarity of molecules by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rdkit import DataStructs
from rdkit.Chem import rdFingerprintGenerator

from ..graph import Graph
from .elements import Elements
from .smiles import to_mol


@cache
def _generator(name: str) -> Any:
    if name == "atom pairs":
        return rdFingerprintGenerator.GetAtomPairGenerator(maxDistance=10)
    radius = {"ECFP4": 2, "FCFP4": 2, "ECFP6": 3}[name]
    features = rdFingerprintGenerator.GetMorganFeatureAtomInvGen()
    return rdFingerprintGenerator.GetMorganGenerator(
        radius=radius, **({"atomInvariantsGenerator": features} if name == "FCFP4" else {})
    )


def fingerprint(mol: Any, name: str) -> Any:
    """Counts of RDKit's fragments: ``ECFP4``, ``FCFP4``, ``ECFP6`` or ``atom pairs``."""
    return _generator(name).GetSparseCountFingerprint(mol)


def similarity_to(target: Any, name: str) -> Callable[[Any], float]:
    """A function: the Tanimoto similarity of a molecule to ``target``, by counts."""
    wanted = fingerprint(target, name)
    return lambda mol: float(DataStructs.TanimotoSimilarity(wanted, fingerprint(mol, name)))


def morgan_counts(graph: Graph, elements: Elements | None = None) -> Mapping[int, int]:
    """Number of occurrences of each fragment of radius up to 3 in a molecule.

    >>> from bogrape.molecules import from_smiles
    >>> sum(morgan_counts(from_smiles("CC")).values())
    3
    """
    counts: Mapping[int, int] = fingerprint(to_mol(graph, elements), "ECFP6").GetNonzeroElements()
    return counts
