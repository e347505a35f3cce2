"""Base class of rules about molecules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..constraints import EdgeLabel, Rule, Shape
from ..domain import Nouns
from .elements import LABELS

NOUNS = Nouns(
    graph="molecule", graphs="molecules", node="atom", nodes="atoms", edge="bond", edges="bonds"
)
BOND_NAMES = ("single bond", "double bond", "triple bond", "aromatic bond")  # 1, 2, 3, 4


class MoleculeRule(Rule):
    """A rule of this package; ``rule_from_dict`` finds it by the package's name."""

    package: ClassVar[str] = "molecules"

    def direction_needed(self) -> bool | None:
        """False: bonds have no direction."""
        return False


class AskedOfRdkit(MoleculeRule):
    """A rule that RDKit decides, molecule by molecule; its dataclass has a field ``elements``."""

    elements: Any  # names of the labels, set by `bind`

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the labels of the space."""
        rule = self if self.elements else replace(self, elements=tuple(labels))  # type: ignore[type-var]
        if not rule.elements or any(name not in LABELS for name in rule.elements):
            self.refuse("labels that are atoms", repr(tuple(labels)), "molecule_space")
        return super(AskedOfRdkit, rule).bind(labels, shape)

    @property
    def one_by_one(self) -> bool:
        """True: RDKit can only check molecules, so it comes after all other rules."""
        return True


def orders(batch: Batch) -> IntArray:
    """Kinds of bonds ``(B, n, n)``: orders 1, 2, 3, or 4 for aromatic; 0 where there is none.

    Graphs without edge labels have single bonds.
    """
    return batch.adjacency.astype(np.int64) if batch.edge_labels is None else batch.edge_labels


def bond(u: int, v: int, k: int) -> EdgeLabel:
    """The atom "u and v are joined by a bond of kind k"."""
    return EdgeLabel(min(u, v), max(u, v), k)
