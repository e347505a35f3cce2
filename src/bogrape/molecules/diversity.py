"""Diversity of molecules: Tanimoto similarity of Morgan fingerprints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rdkit.Chem import rdFingerprintGenerator

from ..errors import InvalidInputError
from ..graph import Graph
from .elements import Elements
from .smiles import to_mol


def mean_similarity(graphs: Sequence[Graph], elements: Elements | None = None) -> float:
    """Mean Tanimoto similarity over all pairs (Morgan, radius 2, 2048 bits); small is diverse."""
    if len(graphs) < 2:
        raise InvalidInputError(f"expected at least two molecules, got {len(graphs)}")
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = [generator.GetFingerprintAsNumPy(to_mol(graph, elements)) for graph in graphs]
    F = np.array(bits, dtype=np.float32)
    shared = F @ F.T
    size = F.sum(axis=1)
    similarity = shared / (size[:, None] + size[None, :] - shared)
    return float(similarity[np.triu_indices(len(graphs), 1)].mean())
