"""Drafts of molecules: scaffolds and required substructures, placed on the atoms.

A scaffold has a fixed place, atoms 0, 1, ... A required substructure may be anywhere, and may
overlap a scaffold or another substructure, so it is placed by a random search with backtracking:
atom by atom, each on an atom placed before or on a new one. `build` completes the draft.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import BoolArray, IntArray
from .scaffold import Scaffold
from .smarts import Pattern

_TRIES = 8  # searches for a place of one substructure
_STEPS = 400  # atoms tried in one search


@dataclass(frozen=True)
class Draft:
    """Some atoms and bonds of a molecule with n atoms."""

    labels: IntArray  # (n,), -1 where the element is open
    order: IntArray  # (n, n), 0 where there is no bond yet
    fixed: BoolArray  # (n, n), pairs whose bond, or its absence, must not change
    hydrogens: IntArray  # (n,), the exact number, -1 where it is open

    @classmethod
    def empty(cls, n: int) -> Draft:
        """Nothing placed yet."""
        return cls(
            labels=np.full(n, -1),
            order=np.zeros((n, n), dtype=np.int64),
            fixed=np.zeros((n, n), dtype=bool),
            hydrogens=np.full(n, -1),
        )

    def copy(self) -> Draft:
        """A copy of the draft with its own arrays."""
        return Draft(*(getattr(self, name).copy() for name in self.__dataclass_fields__))

    @property
    def placed(self) -> BoolArray:
        """Mask of the atoms whose element is known."""
        return np.asarray(self.labels >= 0)

    def pieces(self) -> IntArray:
        """A number for each atom, the same for atoms connected by bonds of the draft."""
        n = len(self.labels)
        reach = np.eye(n, dtype=np.int64) + (self.order > 0)
        for _ in range(n.bit_length()):
            reach = np.minimum(reach @ reach, 1)
        return np.asarray(reach.argmax(axis=1))

    def can_grow(self, valences: Sequence[int]) -> bool:
        """True if every piece can be bonded to the others, or is the whole molecule."""
        piece = self.pieces()
        used = self.order.sum(axis=1) + np.maximum(self.hydrogens, 0)
        spare = np.where(self.placed, np.asarray(valences)[self.labels] - used, 1)
        return not piece.any() or bool((np.bincount(piece, spare)[np.unique(piece)] > 0).all())

    def n_rings(self) -> int:
        """Number of independent rings closed by its bonds."""
        bonds = int((self.order > 0).sum()) // 2
        return bonds - len(self.labels) + len(np.unique(self.pieces()))


def drafts(
    scaffolds: Sequence[Scaffold],
    required: Sequence[Pattern],
    *,
    valences: Sequence[int],
    most: IntArray,
    n: int,
    k: int,
    rng: np.random.Generator,
) -> list[Draft]:
    """Up to k drafts with n atoms, at most ``most[label]`` of each element.

    A substructure for which no place was found is left out.
    """
    first = Draft.empty(n)
    for scaffold in scaffolds:
        _put(first, scaffold, valences)
    if not required:
        return [first]
    out = []
    for _ in range(k):
        draft = first
        for i in rng.permutation(len(required)):
            draft = _with(draft, required[i], scaffolds, valences, most, rng) or draft
        out.append(draft)
    return out


def _put(draft: Draft, scaffold: Scaffold, valences: Sequence[int]) -> None:
    inside = slice(0, scaffold.n_atoms)
    draft.labels[inside] = [scaffold.index(label) for label in scaffold.labels]
    for u, v, order in scaffold.bonds:
        draft.order[u, v] = draft.order[v, u] = order
    draft.fixed[inside, inside] = True
    for v in range(scaffold.n_atoms):
        if v not in scaffold.open:  # filled up with hydrogens
            draft.hydrogens[v] = max(valences[draft.labels[v]] - int(draft.order[v].sum()), 0)


def _with(
    draft: Draft,
    pattern: Pattern,
    scaffolds: Sequence[Scaffold],
    valences: Sequence[int],
    most: IntArray,
    rng: np.random.Generator,
) -> Draft | None:
    """The draft with the pattern placed, too; ``None`` if no place was found."""
    for _ in range(_TRIES):
        search = _Search(draft.copy(), pattern, valences, most, rng)
        if search.place(0):
            made = search.draft
            fused = any(s.keep_rings and s.ties(made.order[None] > 0)[0] for s in scaffolds)
            if not fused and made.can_grow(valences):
                return made
    return None


class _Search:
    """One search for a place of a pattern; changes ``draft``, and restores it on backtracking."""

    def __init__(
        self,
        draft: Draft,
        pattern: Pattern,
        valences: Sequence[int],
        most: IntArray,
        rng: np.random.Generator,
    ) -> None:
        self.draft, self.pattern, self.rng = draft, pattern, rng
        self.valences, self.most = valences, most
        self.image: list[int] = []
        self.steps = 0
        self.overlap = float(rng.random())  # how strongly atoms placed before are preferred
        self.labels = [
            range(len(valences)) if wanted is None else wanted for wanted in pattern.labels
        ]

    def place(self, atom: int) -> bool:
        """Find places for this atom of the pattern and all later ones."""
        if atom == len(self.pattern):
            return True
        for v, label, hydrogens in self._options(atom):
            self.steps += 1
            if self.steps > _STEPS:
                return False
            before = self.draft.labels[v], self.draft.hydrogens[v]
            self.draft.labels[v], self.draft.hydrogens[v] = label, hydrogens
            added = self._bonds(atom, v)
            if added is not None:
                self.image.append(v)
                if self.place(atom + 1):
                    return True
                self.image.pop()
                self._unset(added, v)
            self.draft.labels[v], self.draft.hydrogens[v] = before
        return False

    def _options(self, atom: int) -> Iterator[tuple[int, int, int]]:
        """Nodes with a label and a number of hydrogens that suit this atom, in random order."""
        draft, wanted = self.draft, self.pattern.hydrogens[atom]
        free = np.flatnonzero(~draft.placed)
        new = [int(self.rng.choice(free))] if free.size else []  # all new atoms are alike
        old = [int(v) for v in np.flatnonzero(draft.placed) if v not in self.image]
        counts = np.bincount(draft.labels[draft.placed], minlength=len(self.valences))
        found: list[tuple[float, tuple[int, int, int]]] = []
        for v in new + old:
            known, exact = int(draft.labels[v]), int(draft.hydrogens[v])
            for label in self.labels[atom] if known < 0 else (known,):
                if label not in self.labels[atom] or (
                    known < 0 and counts[label] >= self.most[label]
                ):
                    continue
                choices = (exact,) if wanted is None else wanted
                if exact >= 0:
                    choices = (exact,) if exact in choices else ()
                key = self.rng.random() - (self.overlap if known >= 0 else 0.0)
                found += [(key, (v, label, h)) for h in self.rng.permutation(choices).tolist()]
        for _, option in sorted(found, key=lambda item: item[0]):
            yield option

    def _bonds(self, atom: int, v: int) -> list[int] | None:
        """Add the bonds of this atom to earlier ones; ``None``, and no change, if they do not fit.

        Returns the atoms that were not bonded to v before.
        """
        added: list[int] = []
        good = self._room(v) >= 0
        for i, j, allowed in self.pattern.bonds if good else ():
            if j != atom:
                continue
            u = self.image[i]
            order = int(self.draft.order[u, v])
            if order or self.draft.fixed[u, v]:
                good = order in allowed
            else:
                fit = [k for k in allowed if k <= min(self._room(u), self._room(v))]
                good = bool(fit)
                if good:
                    self.draft.order[u, v] = self.draft.order[v, u] = self.rng.choice(fit)
                    self.draft.fixed[u, v] = self.draft.fixed[v, u] = True
                    added.append(u)
            if not good:
                break
        if good:
            return added
        self._unset(added, v)
        return None

    def _unset(self, added: list[int], v: int) -> None:
        self.draft.order[added, v] = self.draft.order[v, added] = 0
        self.draft.fixed[added, v] = self.draft.fixed[v, added] = False

    def _room(self, v: int) -> int:
        """Free valence of v; negative if its bonds exceed its valence."""
        draft = self.draft
        used = draft.order[v].sum() + max(draft.hydrogens[v], 0)
        return int(self.valences[draft.labels[v]] - used)
