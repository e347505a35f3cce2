"""Substructures: patterns written as SMARTS, required or forbidden.

SMARTS is read on the Kekulé structure of a molecule, which is what a graph holds: ``C`` is any
carbon atom, ``-``, ``=``, ``#`` and ``~`` are bonds of order 1, 2, 3 and of any order. An atom is
an element, a list ``[N,O]``, ``[!C]`` or ``*``, and may ask for hydrogens: ``[OH]``, ``[N;H0,H1]``.
Aromatic letters, charges, ring marks and recursion are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from typing import Any, Self

import numpy as np
from rdkit import Chem, rdBase

from ..arrays import IntArray
from ..batch import Batch
from ..constraints import Atom, Aux, HasFeature, HasLabel, Row, Shape, edge
from ..constraints.rows import never, total
from ..constraints.rule import Excess
from ..domain import Nouns
from .elements import VALENCES
from .molecule_rule import NOUNS, MoleculeRule, bond, orders

_HYDROGENS = 4  # the first of the five hydrogen features
_MOST_PLACES = 300_000  # ways to place a pattern for which rows are written
ANY_ORDER = (1, 2, 3)
_SYMBOL = re.compile(r"(!?)(?:#(\d+)|([A-Z][a-z]?)|(\*))")


@dataclass(frozen=True)
class Pattern:
    """Atoms with the labels and hydrogens they may have (``None``: any), bonds with their orders.

    Every atom after the first of its fragment is bonded to an earlier one.
    """

    labels: tuple[tuple[int, ...] | None, ...]
    hydrogens: tuple[tuple[int, ...] | None, ...]
    bonds: tuple[tuple[int, int, tuple[int, ...]], ...]

    def __len__(self) -> int:
        return len(self.labels)

    def matches(self, batch: Batch) -> IntArray:
        """Every way the pattern lies in every graph: rows ``(graph, node of atom 0, 1, ...)``."""
        order = orders(batch)
        found: IntArray = np.arange(len(batch))[:, None]
        for atom in range(len(self)):
            graph = found[:, 0]
            fits = np.ones((len(found), batch.n_nodes), dtype=bool)
            wanted, hydrogens = self.labels[atom], self.hydrogens[atom]
            if wanted is not None:
                fits &= np.isin(batch.labels[graph], wanted)
            if hydrogens is not None:
                columns = [_HYDROGENS + h for h in hydrogens]
                fits &= np.asarray(batch.features[:, :, columns].any(axis=2))[graph]
            for u, v, allowed in self.bonds:
                if v == atom:
                    fits &= np.isin(order[graph, found[:, u + 1]], allowed)
            for earlier in range(atom):
                fits[np.arange(len(found)), found[:, earlier + 1]] = False
            row, node = np.nonzero(fits)
            found = np.column_stack([found[row], node])
        return found

    def count(self, batch: Batch) -> IntArray:
        """How many ways there are in every graph, ``(B,)``."""
        return np.bincount(self.matches(batch)[:, 0], minlength=len(batch))

    def places(self, shape: Shape) -> Iterator[tuple[int, ...]]:
        """Ways to put the pattern on n nodes, one of each class that its symmetry makes equal."""
        symmetry = self.symmetry()
        for place in permutations(range(shape.n_nodes), len(self)):
            if all(place <= tuple(place[i] for i in other) for other in symmetry):
                yield place

    def symmetry(self) -> list[tuple[int, ...]]:
        """Renumberings of the atoms that change nothing."""
        return list(_symmetry(self))

    def statements(self, place: tuple[int, ...], shape: Shape) -> list[list[Atom]]:
        """What must be true for the pattern to lie there: one statement of each list."""
        out: list[list[Atom]] = []
        for atom, v in enumerate(place):
            labels, hydrogens = self.labels[atom], self.hydrogens[atom]
            if labels is not None:
                out.append([HasLabel(v, label) for label in labels])
            if hydrogens is not None:
                out.append([HasFeature(v, _HYDROGENS + h) for h in hydrogens])
        for i, j, allowed in self.bonds:
            if allowed == ANY_ORDER or not shape.n_edge_labels:
                out.append([edge(place[i], place[j], False)])
            else:
                out.append([bond(place[i], place[j], k) for k in allowed])
        return out


@cache
def _symmetry(pattern: Pattern) -> tuple[tuple[int, ...], ...]:
    """Found by placing the pattern, atom by atom, on itself."""
    n = len(pattern)
    kinds = list(zip(pattern.labels, pattern.hydrogens, strict=True))
    between = {frozenset(pair[:2]): pair[2] for pair in pattern.bonds}
    found: list[tuple[int, ...]] = [()]
    for atom in range(n):
        found = [
            (*image, v)
            for image in found
            for v in range(n)
            if v not in image
            and kinds[v] == kinds[atom]
            and all(
                between.get(frozenset((atom, u))) == between.get(frozenset((v, w)))
                for u, w in enumerate(image)
            )
        ]
    return tuple(found)


@cache
def read_smarts(smarts: str, elements: tuple[str, ...]) -> Pattern:
    """The pattern of a SMARTS text; `ValueError` says what cannot be read."""
    with rdBase.BlockLogs():
        mol = (
            Chem.MolFromSmarts(smarts) if smarts.isascii() and smarts.split() == [smarts] else None
        )
    if mol is None or mol.GetNumAtoms() == 0:
        raise ValueError("a text that is not SMARTS")
    order = _connected_order(mol)
    rank = {v: i for i, v in enumerate(order)}
    atoms = [_atom(mol.GetAtomWithIdx(v).GetSmarts(), elements) for v in order]
    bonds = []
    for item in _bonds(mol):
        text = str(item.GetSmarts())
        if text not in ("", "-", "=", "#", "~"):
            raise ValueError(f"the bond {text!r}")
        allowed = {"=": (2,), "#": (3,), "~": ANY_ORDER}.get(text, (1,))
        u, v = sorted((rank[item.GetBeginAtomIdx()], rank[item.GetEndAtomIdx()]))
        bonds.append((u, v, allowed))
    return Pattern(tuple(a for a, _ in atoms), tuple(h for _, h in atoms), tuple(sorted(bonds)))


def _bonds(mol: Any) -> Any:
    return mol.GetBonds()


def _connected_order(mol: Any) -> list[int]:
    """Atoms in an order in which each one touches an earlier one of its fragment."""
    out: list[int] = []
    for fragment in Chem.GetMolFrags(mol):
        queue = [fragment[0]]
        while queue:
            v = queue.pop(0)
            if v not in out:
                out.append(v)
                queue += [a.GetIdx() for a in mol.GetAtomWithIdx(v).GetNeighbors()]
    return out


def _atom(
    text: str, elements: tuple[str, ...]
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    labels: set[int] = set(range(len(elements)))
    hydrogens: set[int] = set(range(5))
    body = text[1:-1] if text.startswith("[") else text
    # a hydrogen count may follow a symbol directly: [OH2] is O&H2
    body = (
        re.sub(r"(?<=[A-Za-z*\d])H(?=\d|$|[;&,])", "&H", body) if not body.startswith("H") else body
    )
    for part in re.split("[;&]", body.replace("&&", "&")):
        options = part.split(",")
        if all(re.fullmatch(r"H\d?", option) for option in options):
            hydrogens &= {int(option[1:] or 1) for option in options}
            continue
        chosen: set[int] = set()
        for option in options:
            match = _SYMBOL.fullmatch(option)
            if match is None:
                raise ValueError(f"the atom {text!r}")
            negated, number, symbol, _ = match.groups()
            if number:
                symbol = Chem.GetPeriodicTable().GetElementSymbol(int(number))
            if symbol and symbol not in VALENCES:
                raise ValueError(f"the atom {text!r}")
            these = {i for i, e in enumerate(elements) if symbol in (None, e)}
            chosen |= set(range(len(elements))) - these if negated else these
        labels &= chosen
    return (
        None if len(labels) == len(elements) else tuple(sorted(labels)),
        None if len(hydrogens) == 5 else tuple(sorted(hydrogens)),
    )


@dataclass(frozen=True, repr=False)
class _Substructure(MoleculeRule):
    """Common ground of the two rules: a SMARTS text, and the elements of the space."""

    smarts: str
    elements: Any = ()

    def __post_init__(self) -> None:
        if not isinstance(self.smarts, str) or not self.smarts:
            self.refuse("a SMARTS text", repr(self.smarts), "smarts='[OH]'")
        self._set("elements", tuple(self.elements))
        try:
            read_smarts(self.smarts, self.elements or tuple(VALENCES))
        except (ValueError, RuntimeError) as error:
            self.refuse(
                "elements, lists of them, hydrogen counts and the bonds - = # ~",
                str(error),
                "Kekulé bonds instead of aromatic ones, see bogrape.molecules.smarts",
            )

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """With the elements of the space."""
        rule = self if self.elements else replace(self, elements=tuple(labels))
        if not rule.elements:
            self.refuse("labels that are elements", "labels without names", "molecule_space")
        if len(rule.elements) != shape.n_labels:
            self.refuse(f"{shape.n_labels} elements", f"{len(rule.elements)}", "one a label")
        if any(hydrogens is not None for hydrogens in rule.pattern.hydrogens):
            rule._check_features(shape.n_features)
        ways = np.prod([float(shape.n_nodes - i) for i in range(len(rule.pattern))])
        if ways / len(rule.pattern.symmetry()) > _MOST_PLACES:
            self.refuse(
                f"a pattern with at most {_MOST_PLACES} places on {shape.n_nodes} atoms",
                f"{len(rule.pattern)} atoms",
                "a smaller pattern, or Scaffold",
            )
        return super(_Substructure, rule).bind(labels, shape)

    @property
    def pattern(self) -> Pattern:
        """The pattern over the labels of the space."""
        if not self.elements:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")
        return read_smarts(self.smarts, self.elements)


@dataclass(frozen=True, repr=False)
class ForbiddenSubstructure(_Substructure):
    """The pattern lies nowhere in the molecule."""

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        return f"The substructure {self.smarts} does not occur."

    def excess(self, batch: Batch) -> Excess:
        """How many ways there are to find it."""
        return self.pattern.count(batch) / len(self.pattern.symmetry())

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For every place: not all its statements are true."""
        yield from nowhere(self.pattern, shape, self.smarts)


@dataclass(frozen=True, repr=False)
class RequiredSubstructure(_Substructure):
    """The pattern lies somewhere in the molecule."""

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        return f"The substructure {self.smarts} occurs."

    def excess(self, batch: Batch) -> Excess:
        """1 where it does not."""
        return np.asarray(self.pattern.count(batch) == 0, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``here_p = 1`` exactly when all statements of place p are true; one of them is."""
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


def nowhere(pattern: Pattern, shape: Shape, name: str) -> Iterator[Row]:
    """Every list of statements holds at most one true one, so their sum counts true lists."""
    for place in pattern.places(shape):
        lists = pattern.statements(place, shape)
        terms = total(atom for one_of in lists for atom in one_of)
        row = f"no {name} at {place}"
        yield Row(row, terms, high=len(lists) - 1) if lists else never(row)
