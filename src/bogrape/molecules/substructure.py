"""Substructures written as SMARTS, required or forbidden.

A text is read in one of two ways. In RDKit's *reading*, it means what it means in RDKit: ``C`` is
carbon that is not aromatic, and so on. As far as labels, features and bonds of a graph decide where
the pattern matches (`bogrape.molecules.smarts_query`), solvers know it; the rest is checked by
RDKit on every graph they find. The Kekulé reading (`bogrape.molecules.smarts`) takes the bonds of a
graph as they are, ``C`` for any carbon, and supports little more than elements and bonds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import perm
from typing import Any, Self

import numpy as np
from rdkit import Chem, rdBase

from ..batch import Batch
from ..constraints import Aux, Row, Shape
from ..constraints.rows import never, total
from ..constraints.rule import Excess
from ..domain import Nouns
from .elements import LABELS
from .identity import AROMATIC
from .molecule_rule import NOUNS, MoleculeRule
from .molecules_of_batches import molecule
from .smarts import Pattern, nowhere, read_smarts
from .smarts_places import Places, places
from .smarts_query import NotSmarts, query

READINGS = ("kekule", "rdkit")
_MOST_KEKULE_PLACES = 300_000  # ways to place a pattern for which rows are written


@dataclass(frozen=True, repr=False)
class _Substructure(MoleculeRule):
    """Base class of the two rules: a SMARTS text, its reading, and the labels of the space."""

    smarts: str
    elements: Any = ()
    reading: str = ""  # chosen by `bind`
    known_to_solvers: bool = field(default=False, compare=False)  # set by `bind`

    def __post_init__(self) -> None:
        if not isinstance(self.smarts, str) or not self.smarts:
            self.refuse("a SMARTS text", repr(self.smarts), "smarts='[OH]'")
        if self.reading not in ("", *READINGS):
            self.refuse(f"one of {', '.join(READINGS)}", repr(self.reading), "leaving it out")
        self._set("elements", tuple(self.elements))
        try:
            query(self.smarts)
        except NotSmarts as error:
            self.refuse("a pattern that RDKit reads", str(error), "checking its brackets")
        if self.elements and not self.reading:  # as stored before there were two readings
            self._set("reading", self._readings()[0])
        if self.reading == "kekule" and "kekule" not in self._readings():
            self.refuse(
                "elements, lists of them, hydrogen counts and the bonds - = # ~ in the Kekulé "
                "reading",
                _kekule_problem(self.smarts, self.elements or LABELS) or "",
                "reading='rdkit'",
            )

    def _readings(self) -> list[str]:
        """The possible readings, that of the Kekulé structure first."""
        problem = _kekule_problem(self.smarts, self.elements or LABELS)
        return ["rdkit"] if problem else ["kekule", "rdkit"]

    def parameters(self) -> dict[str, Any]:
        """The text, its reading if it is not the default, and the labels."""
        out: dict[str, Any] = {"smarts": self.smarts}
        if self.elements:
            out["elements"] = self.elements
        if self.reading and not (self.elements and self.reading == self._readings()[0]):
            out["reading"] = self.reading
        return out

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the labels of the space, and the reading that suits it."""
        reading = self.reading
        if shape.n_edge_labels == AROMATIC:
            if reading == "kekule" and not self.elements:
                self.refuse("aromatic bonds read as RDKit does", "kekule", "reading='rdkit'")
            reading = "rdkit"
        elif not reading:
            usual = self._readings()[0]
            reading = "rdkit" if _may_overlook(self.smarts) else usual
        rule = replace(self, elements=self.elements or tuple(labels), reading=reading)
        if not rule.elements:
            self.refuse("labels that are elements", "labels without names", "molecule_space")
        if len(rule.elements) != shape.n_labels:
            self.refuse(f"{shape.n_labels} elements", f"{len(rule.elements)}", "one per label")
        if reading == "kekule":
            rule._check_kekule(shape)
        else:
            unknown = [name for name in rule.elements if name not in LABELS]
            if unknown:
                self.refuse("labels that are atoms", repr(unknown), "molecule_space")
            rule = replace(rule, known_to_solvers=rule._places(shape).exact)
        return super(_Substructure, rule).bind(labels, shape)

    def _check_kekule(self, shape: Shape) -> None:
        if any(hydrogens is not None for hydrogens in self.pattern.hydrogens):
            self._check_features(shape.n_features)
        if len(self.pattern) > shape.n_nodes:
            return  # it has no place, and computing its symmetry would take long
        ways = perm(shape.n_nodes, len(self.pattern)) / len(self.pattern.symmetry())
        if ways > _MOST_KEKULE_PLACES:
            self.refuse(
                f"a pattern with at most {_MOST_KEKULE_PLACES} places on {shape.n_nodes} atoms",
                f"{len(self.pattern)} atoms",
                "reading='rdkit', a smaller pattern, or Scaffold",
            )

    @property
    def encoded(self) -> bool:
        """True if solvers know the rule: always in the Kekulé reading."""
        return self.reading != "rdkit" or self.known_to_solvers

    @property
    def one_by_one(self) -> bool:
        """True in RDKit's reading: RDKit can only check molecules, so after all other rules."""
        return self.reading == "rdkit"

    @property
    def pattern(self) -> Pattern:
        """The pattern over the labels of the space, in the Kekulé reading."""
        self._check_bound()
        return read_smarts(self.smarts, self.elements)

    def sketch(self) -> Pattern | None:
        """A pattern to build molecules around, if there is a simple one."""
        self._check_bound()
        if self.reading == "kekule":
            return self.pattern
        return _kekule_sketch(self.smarts, self.elements)

    def _check_bound(self) -> None:
        if not self.elements:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")

    def _places(self, shape: Shape) -> Places:
        return places(self.smarts, self.elements, shape)

    def _found_by_rdkit(self, batch: Batch) -> Excess:
        """1 if RDKit finds the pattern, 0 if not, NaN if the graph is not a molecule."""
        self._check_bound()
        out = np.full(len(batch), np.nan)
        for i in range(len(batch)):
            mol = molecule(batch, i, self.elements)
            if mol is not None:
                out[i] = mol.HasSubstructMatch(query(self.smarts))
        return out


@dataclass(frozen=True, repr=False)
class ForbiddenSubstructure(_Substructure):
    """The pattern does not occur in the molecule.

    ``reading`` is ``"rdkit"``, for SMARTS as RDKit reads it, or ``"kekule"``, for bonds and atoms
    as the graph has them. By default it is RDKit's in spaces with aromatic bonds, and for all texts
    that the Kekulé reading does not support, or for which it may miss matches.
    """

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        return f"The substructure {self.smarts} does not occur."

    def excess(self, batch: Batch) -> Excess:
        """Number of matches; in RDKit's reading, 1 if there is one."""
        if self.reading == "rdkit":
            return np.nan_to_num(self._found_by_rdkit(batch), nan=1.0)
        return self.pattern.count(batch) / len(self.pattern.symmetry())

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For every place: not all its statements are true."""
        if self.reading == "rdkit":
            yield from self._places(shape).nowhere(self.name)
        else:
            yield from nowhere(self.pattern, shape, self.smarts)


@dataclass(frozen=True, repr=False)
class RequiredSubstructure(_Substructure):
    """The pattern occurs in the molecule; ``reading`` as in `ForbiddenSubstructure`."""

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        return f"The substructure {self.smarts} occurs."

    def excess(self, batch: Batch) -> Excess:
        """1 if the pattern does not occur, else 0."""
        if self.reading == "rdkit":
            return np.asarray(self._found_by_rdkit(batch) != 1.0, dtype=float)
        return np.asarray(self.pattern.count(batch) == 0, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``here_p = 1`` exactly when all statements of place p are true; one of them is."""
        if self.reading == "rdkit":
            yield from self._places(shape).somewhere(self.name)
            return
        if len(self.pattern) > shape.n_nodes:
            yield never(f"{self.smarts} somewhere")
            return
        helpers = []
        for place in self.pattern.places(shape):
            here = Aux(f"{self.name}.here{list(place)}")
            helpers.append(here)
            lists = self.pattern.statements(place, shape)
            for one_of in lists:
                name = f"{self.smarts} at {place}: {one_of}"
                yield Row(name, (*total(one_of), (here, -1)), low=0)
            every = total(atom for one_of in lists for atom in one_of)
            high = len(lists) - 1
            yield Row(f"{self.smarts} at {place}", (*every, (here, -1)), high=high)
        yield Row(f"{self.smarts} somewhere", total(helpers), low=1)


# -- which reading ----------------------------------------------------------------------------


@cache
def _kekule_problem(smarts: str, elements: tuple[str, ...]) -> str | None:
    """The part of a SMARTS that the Kekulé reading does not support; ``None`` without one."""
    try:
        read_smarts(smarts, elements)
    except (ValueError, RuntimeError) as error:
        return str(error)
    return None


@cache
def _may_overlook(smarts: str) -> bool:
    """True if the Kekulé reading may miss what RDKit finds.

    RDKit's unwritten bonds may be aromatic, which only matters between atoms that may be, too.
    """
    mol = query(smarts)
    letters = [atom.GetSmarts().strip("[]")[:1].isalpha() for atom in mol.GetAtoms()]
    return any(
        not (item.GetSmarts() or letters[item.GetBeginAtomIdx()] or letters[item.GetEndAtomIdx()])
        for item in mol.GetBonds()
    )


@cache
def _kekule_sketch(smarts: str, elements: tuple[str, ...]) -> Pattern | None:
    """A Kekulé form of a pattern that is also the SMILES of a molecule of these elements."""
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smarts)
        if mol is None or not mol.GetNumAtoms():
            return None
        Chem.Kekulize(mol, clearAromaticFlags=True)
    try:
        return read_smarts(Chem.MolToSmiles(mol, kekuleSmiles=True), elements)
    except (ValueError, RuntimeError):
        return None
