"""`NetCharge`: limits on the sum of the formal charges of a molecule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..batch import Batch
from ..checks import is_whole
from ..constraints import HasLabel, Row, Shape
from ..constraints.rows import bounded
from ..constraints.rule import Excess, over
from ..domain import Nouns
from .elements import KINDS
from .molecule_rule import NOUNS, MoleculeRule


@dataclass(frozen=True, repr=False)
class NetCharge(MoleculeRule):
    """``minimum <= sum of the formal charges <= maximum``; neutral molecules by default."""

    minimum: int = 0
    maximum: int = 0
    charges: Any = field(default=(), compare=False)  # of the labels of the space, set by `bind`

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum"):
            if not is_whole(getattr(self, name)):
                self.refuse(f"{name} to be an integer", repr(getattr(self, name)), f"{name}=0")
        if self.minimum > self.maximum:
            self.refuse("minimum <= maximum", f"{self.minimum} > {self.maximum}", "swapping them")
        self._set("charges", tuple(self.charges))

    def parameters(self) -> dict[str, Any]:
        """The limits; charges follow from the space."""
        limits = {"minimum": self.minimum, "maximum": self.maximum}
        return {name: value for name, value in limits.items() if value}

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the charges of the labels."""
        unknown = [name for name in labels if name not in KINDS]
        if unknown or not labels:
            self.refuse("labels that are atoms", repr(unknown), "molecule_space")
        charges = tuple(KINDS[name].charge for name in labels)
        return super(NetCharge, replace(self, charges=charges)).bind(labels, shape)

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        if self.minimum == self.maximum:
            return f"The net charge is {self.minimum}."
        return f"The net charge is between {self.minimum} and {self.maximum}."

    def _checked_charges(self) -> tuple[int, ...]:
        if not self.charges:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")
        return tuple(self.charges)

    def excess(self, batch: Batch) -> Excess:
        """Distance of the charge from its range."""
        charges = np.array(self._checked_charges())
        labels = np.minimum(batch.labels, len(charges) - 1)
        return over(charges[labels].sum(axis=1), self.minimum, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum <= sum_vl q_l f_vl <= maximum``."""
        charged = [(label, q) for label, q in enumerate(self._checked_charges()) if q]
        terms = tuple((HasLabel(v, label), q) for v in range(shape.n_nodes) for label, q in charged)
        if terms or self.minimum > 0 or self.maximum < 0:
            yield from bounded("net charge", terms, self.minimum, self.maximum)
