"""Structural alerts: RDKit's catalogues of groups that chemists avoid, as one rule.

RDKit's catalogues are PAINS (with A, B, C), BRENK, NIH, ZINC and those of ChEMBL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import perm
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import FilterCatalog

from ..batch import Batch
from ..constraints import Row, Shape
from ..constraints.rule import Excess
from ..constraints.words import amount
from ..domain import Nouns
from ..errors import InvalidInputError
from .molecule_rule import NOUNS, AskedOfRdkit
from .molecules_of_batches import molecule
from .smarts_places import places

_PICKLED = b"\xef\xbe\xad\xde"  # how RDKit's stored molecules begin
_MOST_PLACES = 500  # of an alert that solvers know: small alerts are the most frequent

CATALOGUES = tuple(sorted(FilterCatalog.FilterCatalogParams.FilterCatalogs.names))


def catalogue(name: str) -> Any:
    """RDKit's catalogue of this name."""
    if name not in CATALOGUES:
        raise InvalidInputError(f"expected one of {', '.join(CATALOGUES)}, got {name!r:.60}")
    return _catalogue(name)


@cache
def _catalogue(name: str) -> Any:
    kind = FilterCatalog.FilterCatalogParams.FilterCatalogs.names[name]
    return FilterCatalog.FilterCatalog(kind)


@cache
def alert_smarts(name: str = "BRENK") -> dict[str, str]:
    """The SMARTS of every alert of a catalogue by its description.

    Alerts that combine several patterns are left out; BRENK has none.

    >>> alert_smarts("BRENK")["peroxide"]
    'OO'
    """
    entries = catalogue(name)
    out: dict[str, str] = {}
    for i in range(entries.GetNumEntries()):
        entry = entries.GetEntryWithIdx(i)
        stored = entry.Serialize()
        at = stored.find(_PICKLED)
        if at >= 0 and _is_one_pattern(stored[:at]):
            out[entry.GetDescription()] = str(Chem.MolToSmarts(Chem.Mol(stored[at:])))
    return out


def _is_one_pattern(head: bytes) -> bool:
    """True if the header of a stored entry marks it as a single pattern that must occur."""
    return head.split(b"\n")[-1].startswith(b"1 0 0 ")


@dataclass(frozen=True, repr=False)
class StructuralAlerts(AskedOfRdkit):
    """At most ``maximum`` alerts of a catalogue occur in a molecule.

    RDKit's `FilterCatalog` decides. Solvers know the small alerts only, so every graph is checked.
    """

    catalogue: str = "BRENK"
    maximum: int = 0
    elements: Any = ()  # set by `bind`

    def __post_init__(self) -> None:
        if self.catalogue not in CATALOGUES:
            self.refuse(
                f"one of {', '.join(CATALOGUES)}", f"{self.catalogue!r:.60}", "catalogue='BRENK'"
            )
        self._check_whole("maximum")
        self._set("elements", tuple(self.elements))

    @property
    def encoded(self) -> bool:
        """False: rows cover some alerts only."""
        return False

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        if self.maximum == 0:
            return f"No structural alert of {self.catalogue} occurs."
        alerts = amount(0, self.maximum, "structural alert", "structural alerts")
        return f"Every {nouns.graph} has {alerts} of {self.catalogue}."

    def excess(self, batch: Batch) -> Excess:
        """Number of alerts beyond the maximum; 1 for graphs that are not molecules."""
        if not self.elements:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")
        out = np.ones(len(batch))
        for i in range(len(batch)):
            mol = molecule(batch, i, self.elements)
            if mol is not None:
                out[i] = max(0, n_alerts(mol, self.catalogue, self.maximum) - self.maximum)
        return out

    def rows(self, shape: Shape) -> Iterator[Row]:
        """Small alerts do not occur anywhere."""
        for smarts in alert_smarts(self.catalogue).values() if self.maximum == 0 else ():
            where = places(smarts, self.elements, shape)
            if perm(shape.n_nodes, len(where.atoms)) <= _MOST_PLACES:
                yield from where.nowhere(f"{self.name}.{smarts}")


def n_alerts(mol: Any, name: str, enough: int | None = None) -> int:
    """Number of alerts of a catalogue in an RDKit ``Mol``; with ``enough=0``, 1 if any occurs."""
    entries = catalogue(name)
    if enough == 0:
        return int(entries.HasMatch(mol))
    return len(entries.GetMatches(mol))
