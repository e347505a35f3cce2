"""Limits on properties that RDKit computes: `Property`, and the set of rules `drug_like`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdkit import rdBase
from rdkit.Chem import QED, rdMolDescriptors

from ..batch import Batch
from ..checks import is_number
from ..constraints import CycleRange, Rule
from ..constraints.rule import Excess, over
from ..constraints.words import at_least_or_most
from ..domain import Nouns
from .alerts import StructuralAlerts
from .composition import HeteroatomCount, MolecularWeight
from .molecule_rule import NOUNS, AskedOfRdkit
from .molecules_of_batches import molecule

_DECIMALS = 6  # sums over atoms differ in the last digits when atoms are numbered otherwise
Range = tuple[float | None, float | None]


def synthetic_accessibility(mol: Any) -> float:
    """Synthetic accessibility, 1 (easy) to 10 (hard), by Ertl and Schuffenhauer 2009."""
    from rdkit.Contrib.SA_Score import sascorer  # late: reads a file of fragments

    with rdBase.BlockLogs():
        return float(sascorer.calculateScore(mol))


PROPERTIES: dict[str, tuple[str, Callable[[Any], float]]] = {
    "log_p": ("logP (Crippen)", lambda mol: rdMolDescriptors.CalcCrippenDescriptors(mol)[0]),
    "tpsa": ("polar surface area", rdMolDescriptors.CalcTPSA),
    "rotatable_bonds": ("number of rotatable bonds", rdMolDescriptors.CalcNumRotatableBonds),
    "h_bond_donors": ("number of hydrogen-bond donors", rdMolDescriptors.CalcNumHBD),
    "h_bond_acceptors": ("number of hydrogen-bond acceptors", rdMolDescriptors.CalcNumHBA),
    "aromatic_rings": ("number of aromatic rings", rdMolDescriptors.CalcNumAromaticRings),
    "fraction_csp3": ("share of sp3 carbon", rdMolDescriptors.CalcFractionCSP3),
    "qed": ("QED", QED.qed),
    "synthetic_accessibility": ("synthetic accessibility score", synthetic_accessibility),
}


@dataclass(frozen=True, repr=False)
class Property(AskedOfRdkit):
    """``minimum <= quantity <= maximum``, as RDKit computes it.

    ``quantity`` is one of `PROPERTIES`, rounded to six decimals. None of them is linear in atoms
    and bonds, so every graph is checked.
    """

    quantity: str
    minimum: float | None = None
    maximum: float | None = None
    elements: Any = ()  # set by `bind`

    def __post_init__(self) -> None:
        if self.quantity not in PROPERTIES:
            self.refuse(f"one of {', '.join(PROPERTIES)}", repr(self.quantity), "quantity='log_p'")
        for name in ("minimum", "maximum"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and np.isfinite(value)):
                self.refuse(f"{name} to be a number", repr(value), f"{name}=5")
        if self.minimum is None and self.maximum is None:
            self.refuse("a minimum or a maximum", "neither", "maximum=5")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            self.refuse("minimum <= maximum", f"{self.minimum} > {self.maximum}", "swapping them")
        self._set("elements", tuple(self.elements))

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        bounds = at_least_or_most(self.minimum, self.maximum)
        return f"The {PROPERTIES[self.quantity][0]} is {bounds}."

    def excess(self, batch: Batch) -> Excess:
        """Distance of the property from its range; 1 for invalid molecules."""
        if not self.elements:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")
        out = np.ones(len(batch))
        compute = PROPERTIES[self.quantity][1]
        low = -np.inf if self.minimum is None else round(self.minimum, _DECIMALS)
        high = None if self.maximum is None else round(self.maximum, _DECIMALS)
        for i in range(len(batch)):
            mol = molecule(batch, i, self.elements)
            if mol is not None:
                out[i] = over(np.array([round(compute(mol), _DECIMALS)]), low, high)[0]
        return out


def drug_like(
    *,
    weight: Range | None = (None, 500.0),
    log_p: Range | None = (None, 5.0),
    tpsa: Range | None = (None, 140.0),
    rotatable_bonds: int | None = 10,
    h_bond_donors: int | None = 5,
    h_bond_acceptors: int | None = 10,
    rings: int | None = 6,
    heteroatoms: tuple[int, int | None] | None = (1, 15),
    accessibility: float | None = 6.0,
    alerts: tuple[str, ...] = (),
) -> list[Rule]:
    """Rules of drug-likeness: those of Lipinski and Veber, and others of medicinal chemistry.

    Args:
        weight, log_p, tpsa: lowest and highest value (``None``: no limit).
        rotatable_bonds, h_bond_donors, h_bond_acceptors, rings: maximum numbers.
        heteroatoms: minimum and maximum number of atoms other than carbon.
        accessibility: the highest synthetic-accessibility score.
        alerts: catalogues none of whose alerts may occur, such as ``("BRENK", "PAINS")``.

    ``None`` leaves a rule out. Weight, rings and heteroatoms are linear in the atoms and bonds of a
    graph, so solvers know them; all others are checked.

    >>> [type(rule).__name__ for rule in drug_like(log_p=None, tpsa=None)][:3]
    ['MolecularWeight', 'CycleRange', 'HeteroatomCount']
    """
    out: list[Rule] = []
    if weight is not None:
        out.append(MolecularWeight(*weight))
    if rings is not None:
        out.append(CycleRange(maximum=rings))
    if heteroatoms is not None:
        out.append(HeteroatomCount(*heteroatoms))
    ranges = {
        "log_p": log_p,
        "tpsa": tpsa,
        "rotatable_bonds": None if rotatable_bonds is None else (None, rotatable_bonds),
        "h_bond_donors": None if h_bond_donors is None else (None, h_bond_donors),
        "h_bond_acceptors": None if h_bond_acceptors is None else (None, h_bond_acceptors),
        "synthetic_accessibility": None if accessibility is None else (None, accessibility),
    }
    out += [Property(name, *limits) for name, limits in ranges.items() if limits is not None]
    out += [StructuralAlerts(name) for name in alerts]
    return out
