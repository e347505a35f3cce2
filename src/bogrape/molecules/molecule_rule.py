"""What the rules about molecules share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..constraints import EdgeLabel, Rule
from ..domain import Nouns

NOUNS = Nouns(
    graph="molecule", graphs="molecules", node="atom", nodes="atoms", edge="bond", edges="bonds"
)
BOND_NAMES = ("single bond", "double bond", "triple bond", "aromatic bond")  # 1, 2, 3, 4


class MoleculeRule(Rule):
    """A rule of this package; ``rule_from_dict`` finds it by the package's name."""

    package: ClassVar[str] = "molecules"

    def direction_needed(self) -> bool | None:
        """Bonds have no direction."""
        return False


def orders(batch: Batch) -> IntArray:
    """Kinds of bonds ``(B, n, n)``: orders 1, 2, 3, or 4 for aromatic; 0 where there is none.

    Graphs without edge labels have single bonds.
    """
    return batch.adjacency.astype(np.int64) if batch.edge_labels is None else batch.edge_labels


def bond(u: int, v: int, k: int) -> EdgeLabel:
    """The atom "u and v are joined by a bond of kind k"."""
    return EdgeLabel(min(u, v), max(u, v), k)
