"""Patterns written as SMARTS, in the Kekulé reading.

SMARTS is read on the Kekulé structure of a molecule, which a graph without aromatic bonds
represents: ``C`` is any carbon atom, ``-``, ``=``, ``#`` and ``~`` are bonds of order 1, 2, 3 and
of any order. An atom is an element, a list ``[N,O]``, ``[!C]`` or ``*``, and may ask for hydrogens:
``[OH]``, ``[N;H0,H1]``. Aromatic letters, charges, ring marks and recursion are not supported: see
`bogrape.molecules.smarts_query`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from rdkit import Chem

from ..arrays import IntArray
from ..batch import Batch
from ..constraints import Atom, HasFeature, HasLabel, Row, Shape, edge
from ..constraints.rows import never, total
from .elements import KINDS, MASSES
from .molecule_rule import bond, orders
from .smarts_query import parsed

_HYDROGENS = 4  # the first of the five hydrogen features
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
        """All matches in all graphs, as rows ``(graph, node of atom 0, 1, ...)``."""
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
        """Number of matches in every graph, ``(B,)``."""
        return np.bincount(self.matches(batch)[:, 0], minlength=len(batch))

    def places(self, shape: Shape) -> Iterator[tuple[int, ...]]:
        """Ways to put the pattern on n nodes, one of each class equal by symmetry."""
        symmetry = self.symmetry()
        for place in permutations(range(shape.n_nodes), len(self)):
            if all(place <= tuple(place[i] for i in other) for other in symmetry):
                yield place

    def symmetry(self) -> list[tuple[int, ...]]:
        """Renumberings of the atoms that change nothing."""
        return list(_symmetry(self))

    def statements(self, place: tuple[int, ...], shape: Shape) -> list[list[Atom]]:
        """Conditions for a match at this place: one statement of each list is true."""
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
    """Symmetries of a pattern, found by mapping it onto itself, atom by atom."""
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
    mol = parsed(smarts)
    if mol is None:
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
    """Atoms in an order in which each one is bonded to an earlier one of its fragment."""
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
            if symbol and symbol not in MASSES:
                raise ValueError(f"the atom {text!r}")
            these = {i for i, e in enumerate(elements) if symbol in (None, KINDS[e].element)}
            chosen |= set(range(len(elements))) - these if negated else these
        labels &= chosen
    return (
        None if len(labels) == len(elements) else tuple(sorted(labels)),
        None if len(hydrogens) == 5 else tuple(sorted(hydrogens)),
    )


def nowhere(pattern: Pattern, shape: Shape, name: str) -> Iterator[Row]:
    """Rows that exclude a pattern: not all lists of statements have a true one.

    No list has two, so the sum of all statements counts the lists with a true one.
    """
    for place in pattern.places(shape):
        lists = pattern.statements(place, shape)
        terms = total(atom for one_of in lists for atom in one_of)
        row = f"no {name} at {place}"
        yield Row(row, terms, high=len(lists) - 1) if lists else never(row)
