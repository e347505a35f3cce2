"""`MOLECULES`: molecules as a `Domain`."""

from __future__ import annotations

from typing import Any

from ..domain import Domain, TextFormat
from ..graph import Graph
from .drawing import svg
from .elements import LABELS
from .molecule_rule import BOND_NAMES, NOUNS
from .smiles import from_smiles, to_smiles


def _read(text: str, space: Any) -> Graph:
    return from_smiles(text, space)


MOLECULES = Domain(
    name="molecules",
    nouns=NOUNS,
    label_names=LABELS,
    edge_label_names=BOND_NAMES,
    feature_phrases=(
        *("with 1 neighbour", *(f"with {n} neighbours" for n in (2, 3, 4))),
        *("without hydrogen", "with 1 hydrogen", *(f"with {n} hydrogens" for n in (2, 3, 4))),
        *("in a double bond", "in a triple bond", "in an aromatic bond"),
    ),
    draw=svg,
    text=TextFormat(name="SMILES", write=to_smiles, read=_read),
)
