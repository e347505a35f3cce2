"""Labels of atoms, their valences and masses, and the node features of a molecule.

A molecule is a `Graph` of its heavy atoms. A label is an element with a formal charge and one
valence: ``C``, ``N+`` (four bonds), ``O-`` (one), ``S(6)`` (sulphur with six, as in sulphones). So
the hydrogens of an atom follow from its label and its bonds. Edge labels 1, 2, 3 are bond orders,
and every atom has eleven further features,

    neighbours 1..4  |  hydrogens 0..4  |  in a double bond  |  in a triple bond,

all of which follow from labels and bonds. With the four labels of QM7 or QM9 these are the
fifteen features of the paper. Spaces with aromatic bonds, edge label 4, have a twelfth: aromatic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidSpaceError
from ..space import GraphSpace

MASSES = {  # u, the standard atomic weights of IUPAC to three decimals
    **{"H": 1.008, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999, "F": 18.998, "Si": 28.085},
    **{"P": 30.974, "S": 32.06, "Cl": 35.45, "Se": 78.971, "Br": 79.904, "I": 126.904},
}


@dataclass(frozen=True, slots=True)
class AtomKind:
    """Element, charge and valence of a label."""

    element: str
    charge: int
    valence: int  # bonds to heavy atoms, counted by their order, and to hydrogens


def _kinds() -> dict[str, AtomKind]:
    neutral = {"H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 3}
    neutral |= {"S": 2, "Cl": 1, "Se": 2, "Br": 1, "I": 1}
    out = {name: AtomKind(name, 0, valence) for name, valence in neutral.items()}
    cations = {"C": 3, "N": 4, "O": 3, "P": 4, "S": 3, "Se": 3, "I": 2}
    anions = {"B": 4, "C": 3, "N": 2, "O": 1, "S": 1, "Se": 1}
    out |= {f"{name}+": AtomKind(name, 1, valence) for name, valence in cations.items()}
    out |= {f"{name}-": AtomKind(name, -1, valence) for name, valence in anions.items()}
    higher = (("P", 5), ("S", 4), ("S", 6), ("Se", 4), ("Se", 6), ("I", 3))
    for element, valence in higher:
        out[f"{element}({valence})"] = AtomKind(element, 0, valence)
    return out


KINDS = _kinds()
VALENCES = {name: kind.valence for name, kind in KINDS.items()}
LABELS = tuple(name for name in KINDS if name != "H")  # hydrogens are counted, they are not nodes
LABEL_OF = {kind: name for name, kind in KINDS.items()}

DATA_SETS = {"qm7": ("C", "N", "O", "S"), "qm9": ("C", "N", "O", "F")}
ALPHABETS = {
    **DATA_SETS,
    "organic": (
        *("C", "N", "O", "F", "P", "S", "Cl", "Br", "I"),
        *("C-", "N+", "N-", "O+", "O-", "S+", "S-", "P+", "P(5)", "S(4)", "S(6)"),
    ),
}

Elements = str | Sequence[str] | GraphSpace


def elements_of(elements: Elements) -> tuple[str, ...]:
    """Names of labels 0, 1, ... of a data set or a space, or as given.

    >>> elements_of("qm9")
    ('C', 'N', 'O', 'F')
    """
    if isinstance(elements, GraphSpace):
        if elements.label_names is None:
            raise InvalidSpaceError(
                "expected a space of molecules, got one whose labels have no names; "
                "try molecule_space('qm7')"
            )
        elements = elements.label_names
    if isinstance(elements, str):
        if elements not in ALPHABETS:
            raise InvalidSpaceError(
                f"expected {' or '.join(map(repr, ALPHABETS))} or a list of elements, got "
                f"{elements!r:.60}; try ('C', 'N', 'O')"
            )
        return ALPHABETS[elements]
    if not isinstance(elements, (list, tuple)) or not elements:
        raise InvalidSpaceError(f"expected a list of elements, got {elements!r:.60}")
    for symbol in elements:
        if not isinstance(symbol, str) or symbol not in LABELS:
            raise InvalidSpaceError(
                f"expected elements with a valence rule, got {symbol!r:.60}; try some of "
                f"{', '.join(LABELS)} (hydrogens are counted, they are not nodes)"
            )
    if len(set(elements)) < len(elements):
        raise InvalidSpaceError(f"expected different elements, got {tuple(elements)}")
    return tuple(elements)
