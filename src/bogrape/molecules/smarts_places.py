"""SMARTS in RDKit's reading as rows: what must or may be true for a match at a place.

A *place* gives every atom of the pattern a node. There, each atom and each bond is a *statement*, a
sum of atoms of `bogrape.constraints.rows` that is 1 when it is true, else 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import perm
from typing import Any

from ..constraints import Atom, Aux, HasFeature, HasLabel, Row, Shape, edge
from ..constraints.rows import Terms, never, total
from .identity import AROMATIC, HYDROGENS
from .molecule_rule import bond
from .smarts_query import State, atom_truth, bond_truth, query, states

_MOST_PLACES = 20_000  # for which rows are written; beyond, the pattern is checked only
_AROMATIC_FEATURE = 11
_NEIGHBOURS = 0  # where the features of one to four neighbours begin


@dataclass(frozen=True, slots=True)
class Statement:
    """``constant + sum of terms``: 1 when it is true, else 0."""

    terms: Terms
    constant: int = 0


@dataclass(frozen=True)
class AtomSets:
    """The states in which one atom of the pattern must be true, and those in which it may be."""

    text: str
    must: frozenset[State]
    may: frozenset[State]


@dataclass(frozen=True)
class BondSets:
    """The kinds in which the bond between atoms u and v must be true, and those in which it may."""

    u: int
    v: int
    must: frozenset[int]
    may: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Places:
    """Positions of a pattern in graphs of one shape."""

    smarts: str
    elements: tuple[str, ...]
    shape: Shape
    atoms: tuple[AtomSets, ...]
    bonds: tuple[BondSets, ...]

    @property
    def parts(self) -> tuple[AtomSets | BondSets, ...]:
        """Atoms and bonds."""
        return (*self.atoms, *self.bonds)

    @property
    def few(self) -> bool:
        """True if rows are written."""
        return perm(self.shape.n_nodes, len(self.atoms)) <= _MOST_PLACES

    @property
    def impossible(self) -> bool:
        """True if the pattern occurs in no graph of the shape."""
        return len(self.atoms) > self.shape.n_nodes or not all(part.may for part in self.parts)

    @property
    def exact(self) -> bool:
        """True if the rows express the pattern completely."""
        decided = all(part.must == part.may for part in self.parts)
        return self.impossible or (self.few and decided)

    def nowhere(self, name: str) -> Iterator[Row]:
        """Rows that exclude every place where the pattern must match."""
        if self.impossible or not self.few or not all(part.must for part in self.parts):
            return
        encoder = _Encoder(self, name, "must")
        yield from encoder.definitions()
        seen = set()
        for place in permutations(range(self.shape.n_nodes), len(self.atoms)):
            statements = encoder.statements(place)
            terms = tuple(term for statement in statements for term in statement.terms)
            same = frozenset(terms)
            if same in seen:  # another numbering of the pattern's own atoms
                continue
            seen.add(same)
            high = len(statements) - 1 - sum(statement.constant for statement in statements)
            yield Row(f"no {self.smarts} at {place}", terms, high=high) if terms else never(name)

    def somewhere(self, name: str) -> Iterator[Row]:
        """Rows that require a place where the pattern may match."""
        if self.impossible:
            yield never(f"{self.smarts} somewhere")
        if self.impossible or not self.few:
            return
        encoder = _Encoder(self, name, "may")
        yield from encoder.definitions()
        helpers = []
        for place in permutations(range(self.shape.n_nodes), len(self.atoms)):
            here = Aux(f"{name}.here{list(place)}")
            helpers.append(here)
            statements = encoder.statements(place)
            for i, one in enumerate(statements):
                row = f"{self.smarts} at {place}: {i}"
                yield Row(row, (*one.terms, (here, -1)), low=-one.constant)
            every = tuple(term for one in statements for term in one.terms)
            high = len(statements) - 1 - sum(one.constant for one in statements)
            yield Row(f"{self.smarts} at {place}", (*every, (here, -1)), high=high)
        yield Row(f"{self.smarts} somewhere", total(helpers), low=1)


@cache
def places(smarts: str, elements: tuple[str, ...], shape: Shape) -> Places:
    """The places of a pattern in graphs with these labels."""
    mol = query(smarts)
    aromatic = shape.n_edge_labels == AROMATIC
    possible = tuple(states(elements, aromatic))
    kinds = range(1, shape.n_edge_labels + 1)
    atoms = []
    for atom in mol.GetAtoms():
        text = str(atom.GetSmarts())
        truth = {state: atom_truth(text, state) for state in possible}
        atoms.append(AtomSets(text, _where(truth, True), _where(truth, True, None)))
    bonds = []
    for item in _bonds(mol):
        text = str(item.GetSmarts())
        known = {kind: bond_truth(text, kind, aromatic) for kind in kinds}
        ends = item.GetBeginAtomIdx(), item.GetEndAtomIdx()
        bonds.append(BondSets(*ends, _where(known, True), _where(known, True, None)))
    return Places(
        smarts=smarts, elements=elements, shape=shape, atoms=tuple(atoms), bonds=tuple(bonds)
    )


def _bonds(mol: Any) -> Any:
    return mol.GetBonds()


def _where(truth: dict[Any, bool | None], *values: bool | None) -> frozenset[Any]:
    return frozenset(key for key, value in truth.items() if value in values)


class _Encoder:
    """The statements of a pattern, and helpers for those that are not a plain sum."""

    def __init__(self, where: Places, name: str, which: str) -> None:
        self.shape, self.name, self.elements = where.shape, name, where.elements
        self.aromatic = self.shape.n_edge_labels == AROMATIC
        self.possible = frozenset(states(self.elements, self.aromatic))
        self.atoms = [(atom.text, getattr(atom, which)) for atom in where.atoms]
        self.bonds = [(item.u, item.v, getattr(item, which)) for item in where.bonds]
        self.boxes = {text: self._boxes(wanted) for text, wanted in self.atoms}

    def statements(self, place: tuple[int, ...]) -> list[Statement]:
        """Conditions at a place; none of them is always true."""
        out: list[Statement] = []
        for (text, _), v in zip(self.atoms, place, strict=True):
            boxes = self.boxes[text]
            if len(boxes) == 1:
                out += self._box(boxes[0], v)
            else:
                out.append(Statement(((self._helper(text, v), 1),)))
        for i, j, kinds in self.bonds:
            u, v = place[i], place[j]
            if len(kinds) == self.shape.n_edge_labels:
                out.append(Statement(((edge(u, v, False), 1),)))
            else:
                out.append(Statement(total(bond(u, v, kind) for kind in sorted(kinds))))
        return out

    def definitions(self) -> Iterator[Row]:
        """Helpers are true exactly when one of their boxes is; boxes exclude each other."""
        for text, boxes in self.boxes.items():
            for v in range(self.shape.n_nodes) if len(boxes) > 1 else ():
                helper, parts = self._helper(text, v), []
                for b, box in enumerate(boxes):
                    inside = Aux(f"{helper.name}.{b}")
                    parts.append(inside)
                    statements = self._box(box, v)
                    for one in statements:
                        terms = (*one.terms, (inside, -1))
                        yield Row(f"{inside.name} needs it", terms, low=-one.constant)
                    every = tuple(term for one in statements for term in one.terms)
                    high = len(statements) - 1 - sum(one.constant for one in statements)
                    yield Row(f"{inside.name} if all", (*every, (inside, -1)), high=high)
                yield Row(f"{helper.name} is one of them", (*total(parts), (helper, -1)), 0, 0)

    def _helper(self, text: str, v: int) -> Aux:
        return Aux(f"{self.name}.{text}[{v}]")

    def _boxes(self, wanted: frozenset[State]) -> list[frozenset[State]]:
        """The states as a disjoint union of boxes: sets that are a product of their coordinates."""
        if self._is_box(wanted):
            return [wanted]
        groups: dict[Any, set[State]] = {}
        by_label: dict[tuple[str, Any], set[tuple[int, int]]] = {}
        for s in wanted:
            by_label.setdefault((s.label, s.aromatic), set()).add((s.neighbours, s.hydrogens))
        for s in wanted:
            alike = frozenset(by_label[s.label, s.aromatic])
            near = frozenset(d for d, h in alike if h == s.hydrogens)
            groups.setdefault((s.aromatic, alike, near), set()).add(s)
        out = []
        for group in map(frozenset, groups.values()):
            out += [group] if self._is_box(group) else [frozenset((s,)) for s in group]
        return out

    def _is_box(self, wanted: frozenset[State]) -> bool:
        sides = [{key(s) for s in wanted} for key in _SIDES]
        inside = (
            s
            for s in self.possible
            if all(key(s) in side for key, side in zip(_SIDES, sides, strict=True))
        )
        return frozenset(inside) == wanted

    def _box(self, box: frozenset[State], v: int) -> list[Statement]:
        """One statement per coordinate that is not free."""
        out = []
        index = {name: label for label, name in enumerate(self.elements)}
        atoms: list[Any] = [
            lambda label: HasLabel(v, index[label]),
            lambda near: HasFeature(v, _NEIGHBOURS + near - 1),
            lambda hydrogens: HasFeature(v, HYDROGENS + hydrogens),
        ]
        for key, atom in zip(_SIDES[:3], atoms, strict=True):
            here = {key(s) for s in box}
            if here != {key(s) for s in self.possible}:
                chosen: list[Atom] = [atom(value) for value in sorted(here)]
                out.append(Statement(total(chosen)))
        marks = {s.aromatic for s in box}
        if self.aromatic and len(marks) == 1:
            says = HasFeature(v, _AROMATIC_FEATURE)
            out.append(Statement(((says, 1),)) if True in marks else Statement(((says, -1),), 1))
        return out


_SIDES: tuple[Any, ...] = (
    lambda s: s.label,
    lambda s: s.neighbours,
    lambda s: s.hydrogens,
    lambda s: s.aromatic,
)
