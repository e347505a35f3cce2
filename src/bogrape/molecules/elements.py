"""Elements, their valences and masses, and the node features of a molecule.

A molecule is a `Graph` of its heavy atoms. Labels are elements, edge labels 1, 2, 3 are bond
orders, and every atom has eleven further features,

    neighbours 1..4  |  hydrogens 0..4  |  in a double bond  |  in a triple bond,

all of which follow from labels and bonds. With the four labels of QM7 or QM9 these are the
fifteen features of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidSpaceError
from ..space import GraphSpace

VALENCES = {
    **{"H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 3},
    **{"S": 2, "Cl": 1, "Se": 2, "Br": 1, "I": 1},
}
MASSES = {  # u, the standard atomic weights of IUPAC to three decimals
    **{"H": 1.008, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999, "F": 18.998, "Si": 28.085},
    **{"P": 30.974, "S": 32.06, "Cl": 35.45, "Se": 78.971, "Br": 79.904, "I": 126.904},
}
DATA_SETS = {"qm7": ("C", "N", "O", "S"), "qm9": ("C", "N", "O", "F")}

Elements = str | Sequence[str] | GraphSpace


def elements_of(elements: Elements) -> tuple[str, ...]:
    """The symbols that labels 0, 1, ... stand for: of a data set, a space, or as they are given.

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
        if elements not in DATA_SETS:
            raise InvalidSpaceError(
                f"expected {' or '.join(map(repr, DATA_SETS))} or a list of elements, got "
                f"{elements!r:.60}; try ('C', 'N', 'O')"
            )
        return DATA_SETS[elements]
    if not isinstance(elements, (list, tuple)) or not elements:
        raise InvalidSpaceError(f"expected a list of elements, got {elements!r:.60}")
    known = [symbol for symbol in VALENCES if symbol != "H"]
    for symbol in elements:
        if not isinstance(symbol, str) or symbol not in known:
            raise InvalidSpaceError(
                f"expected elements with a valence rule, got {symbol!r:.60}; try some of "
                f"{', '.join(known)} (hydrogens are counted, they are not nodes)"
            )
    if len(set(elements)) < len(elements):
        raise InvalidSpaceError(f"expected different elements, got {tuple(elements)}")
    return tuple(elements)
