"""SMARTS as RDKit reads it, as far as labels, features and bonds of a graph decide it.

A SMARTS atom is a formula over statements such as "carbon, not aromatic", "two hydrogens", "in a
ring". In a graph, an atom has a *state*: its label, its numbers of neighbours and hydrogens, and,
where bonds can be aromatic, whether it is. Some statements are decided by the state; others (rings,
recursive patterns) are not, and count as *unknown*. With three truth values every formula has two
sets of states: those in which it *must* be true and those in which it *may* be. If both are the
same for all atoms and bonds, the graph decides where the pattern matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from rdkit import Chem, rdBase

from .elements import KINDS
from .identity import AROMATIC

Truth = bool | None  # None: unknown
_LONGEST = 4000  # characters; the longest pattern of RDKit's catalogues has 1213
_NEVER_AROMATIC = ("F", "Cl", "Br", "I")
_AROMATIC_LETTERS = {"b", "c", "n", "o", "p", "s", "se", "as", "te", "si"}
_NUMBERED = re.compile(r"([DdHhXxvRrzZ^])(\d*)(\{.*?\})?")
_CHARGE = re.compile(r"(\+\+*|--*)(\d*)")
_SYMBOL = re.compile(r"Cl|Br|Si|Se|[A-Z][a-z]?|se|as|te|si|[a-z]")
_LARGEST_STATES = (range(1, 5), range(5))  # neighbours, hydrogens


@dataclass(frozen=True, slots=True)
class State:
    """Properties of one atom in a graph. ``aromatic`` is None for Kekulé bonds."""

    label: str
    neighbours: int
    hydrogens: int
    aromatic: Truth


class NotSmarts(ValueError):
    """A text that RDKit cannot read."""


def parsed(smarts: str) -> Any:
    """The pattern of a SMARTS text, as parsed by RDKit; ``None`` if it is invalid.

    The parser recurses: texts of a hundred thousand characters overflow the stack of the process.
    """
    plain = len(smarts) <= _LONGEST and smarts.isascii() and smarts.split() == [smarts]
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmarts(smarts) if plain else None
    return None if mol is None or mol.GetNumAtoms() == 0 else mol


@cache
def query(smarts: str) -> Any:
    """RDKit's query molecule of a SMARTS text."""
    mol = parsed(smarts)
    if mol is None:
        raise NotSmarts("a text that is not SMARTS")
    for atom in mol.GetAtoms():
        atom.SetAtomMapNum(0)
    Chem.FastFindRings(mol)
    return mol


def states(elements: tuple[str, ...], aromatic: bool) -> Iterator[State]:
    """All states of atoms with these labels."""
    marks: tuple[Truth, ...] = (False, True) if aromatic else (None,)
    for label, near, hydrogens, mark in product(elements, *_LARGEST_STATES, marks):
        if near + hydrogens <= KINDS[label].valence:
            never = KINDS[label].element in _NEVER_AROMATIC or near == 1
            if not (never and mark):
                yield State(label, near, hydrogens, False if never else mark)


def atom_truth(text: str, state: State) -> Truth:
    """True if an atom in this state satisfies a SMARTS atom, as `Atom.GetSmarts` writes it."""
    body = text[1:-1] if text.startswith("[") else text
    if text == "[H]" or re.match(r"H[+-]?$|\d", body):
        return None  # hydrogen itself, or an isotope
    return _Formula(body, state).low()


def bond_truth(text: str, kind: int, aromatic: bool) -> Truth:
    """True if a bond of this kind satisfies a SMARTS bond.

    Without ``aromatic`` bonds in the graph, a single or double bond may be aromatic.
    """
    if text == "":
        return _unwritten(kind, aromatic)
    lows: list[Truth] = []
    for part in text.split(";"):
        options: list[Truth] = []
        for option in part.split(","):
            truths: list[Truth] = []
            for sign in re.findall(r"!*[^!&]", option):
                found = _one_bond(sign[-1], kind, aromatic)
                truths.append(_not(found) if sign.count("!") % 2 else found)
            options.append(_every(truths))
        lows.append(_not(_every([_not(option) for option in options])))
    return _every(lows)


class _Formula:
    """A recursive descent over one bracket atom; ``;`` binds weakest, ``&`` strongest."""

    def __init__(self, body: str, state: State) -> None:
        self.body, self.state, self.at = body, state, 0

    def low(self) -> Truth:
        """Truth of the whole formula; unknown if a part of it cannot be read."""
        try:
            found = self._all(";", self._or)
        except _Unread:
            return None
        return found if self.at == len(self.body) else None

    def _or(self) -> Truth:
        return _not(self._all(",", lambda: _not(self._high())))

    def _all(self, separator: str, part: Any) -> Truth:
        out: Truth = part()
        while self._next(separator):
            out = _and(out, part())
        return out

    def _high(self) -> Truth:
        out = self._negated()
        while self._next("&") or (self.at < len(self.body) and self.body[self.at] not in ",;"):
            out = _and(out, self._negated())
        return out

    def _negated(self) -> Truth:
        return _not(self._negated()) if self._next("!") else self._primitive()

    def _next(self, sign: str) -> bool:
        found = self.body.startswith(sign, self.at)
        self.at += found
        return found

    def _primitive(self) -> Truth:
        state, kind = self.state, KINDS[self.state.label]
        if self.body.startswith("$(", self.at):
            self._skip_parentheses()
            return None
        if self._next("*"):
            return True
        if found := self._match(re.compile(r"#(\d+)")):
            number = Chem.GetPeriodicTable().GetAtomicNumber(kind.element)
            return number == int(found[1])
        if found := self._match(_CHARGE):
            size = int(found[2]) if found[2] else len(found[1])
            return kind.charge == (size if found[1].startswith("+") else -size)
        symbol = _SYMBOL.match(self.body, self.at)
        if (found := _NUMBERED.match(self.body, self.at)) and not _is_element(symbol):
            self.at = found.end()
            return None if found[3] else _numbered(found[1], found[2], state)
        if symbol is None:
            raise _Unread
        self.at = symbol.end()
        return _element(symbol[0], state)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.body, self.at)
        if found:
            self.at = found.end()
        return found

    def _skip_parentheses(self) -> None:
        depth, self.at = 0, self.at + 1
        while self.at < len(self.body):
            depth += {"(": 1, ")": -1}.get(self.body[self.at], 0)
            self.at += 1
            if depth == 0:
                return
        raise _Unread


class _Unread(Exception):
    pass


def _is_element(symbol: re.Match[str] | None) -> bool:
    """True if letters that could be a count, like the H of Hg, are an element of two letters."""
    return symbol is not None and len(symbol[0]) == 2 and symbol[0][0].isupper()


def _element(symbol: str, state: State) -> Truth:
    if symbol in ("A", "a"):
        return _not(state.aromatic) if symbol == "A" else state.aromatic
    aromatic = symbol in _AROMATIC_LETTERS
    if not aromatic and not symbol[0].isupper():
        raise _Unread
    if KINDS[state.label].element != symbol.capitalize():
        return False
    return state.aromatic if aromatic else _not(state.aromatic)


def _numbered(letter: str, digits: str, state: State) -> Truth:
    kind, n = KINDS[state.label], int(digits or 1)
    match letter:
        case "D":
            return state.neighbours == n
        case "H":
            return state.hydrogens == n
        case "X":
            return state.neighbours + state.hydrogens == n
        case "v" if state.aromatic is False:
            return kind.valence == n
        case "R" | "r" | "x":
            return _in_ring(digits, state)
    return None


def _in_ring(digits: str, state: State) -> Truth:
    """Ends of chains are in no ring, aromatic atoms are in one; of others it is unknown."""
    if state.neighbours == 1:
        return digits == "0"
    if state.aromatic and digits in ("", "0"):
        return digits == ""
    return None


def _unwritten(kind: int, aromatic: bool) -> Truth:
    """Truth of an unwritten bond: single or aromatic, as is every Kekulé single bond."""
    if kind in (1, AROMATIC):
        return True
    return None if kind == 2 and not aromatic else False


def _one_bond(sign: str, kind: int, aromatic: bool) -> Truth:
    if sign == "~":
        return True
    if sign == "@":
        return True if kind == AROMATIC else None
    written = {"-": 1, "=": 2, "#": 3, ":": AROMATIC}.get(sign)
    if written is None:
        return None  # directions, or anything else
    if aromatic or 3 in (kind, written):
        return kind == written
    return None if kind == written or written == AROMATIC else False


def _and(a: Truth, b: Truth) -> Truth:
    return _every([a, b])


def _not(a: Truth) -> Truth:
    return None if a is None else not a


def _every(truths: list[Truth]) -> Truth:
    if any(truth is False for truth in truths):
        return False
    return None if any(truth is None for truth in truths) else True
