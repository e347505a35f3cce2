"""Checks of the parameters of a space: each returns the normal form or says what was expected."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np

from ..errors import InvalidInputError, InvalidSpaceError


def whole(
    value: object, what: str, least: int, error: type[InvalidInputError] = InvalidSpaceError
) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise error(f"expected {what} to be an integer >= {least}, got {value!r}")
    return int(value)


def checked_sizes(n_nodes: object) -> int | tuple[int, int]:
    """One size, or the smallest and the largest."""
    if not isinstance(n_nodes, (tuple, list)):
        return whole(n_nodes, "n_nodes", 1)
    if len(n_nodes) != 2:
        raise InvalidSpaceError(
            f"expected n_nodes to be a number or (smallest, largest), got {n_nodes!r}"
        )
    low, high = (whole(n, "a size in n_nodes", 1) for n in n_nodes)
    if low > high:
        raise InvalidSpaceError(
            f"expected n_nodes=(smallest, largest), got {(low, high)}; try {(high, low)}"
        )
    return low if low == high else (low, high)


def checked_labels(labels: object) -> int | tuple[str, ...] | None:
    """A number of labels, or their names."""
    if labels is None:
        return None
    if not isinstance(labels, (tuple, list)):
        return whole(labels, "labels (a number, a list of names or None)", 1)
    names = tuple(labels)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidSpaceError(
            f"expected labels to be a number or non-empty names, got {labels!r}; "
            "try labels=3 or labels=('C', 'N', 'O')"
        )
    if len(set(names)) < len(names):
        raise InvalidSpaceError(f"expected different names for the labels, got {names}")
    return names


def checked_connected(connected: object, directed: bool) -> bool | Literal["strong"]:
    """True, False or "strong"; "weak" is another word for True."""
    if isinstance(connected, (bool, np.bool_)):
        return bool(connected)
    if connected not in ("strong", "weak"):
        raise InvalidSpaceError(
            f"expected connected to be True, False, 'weak' or 'strong', got {connected!r}"
        )
    if not directed:
        raise InvalidSpaceError(
            f"expected connected to be True or False for undirected graphs, got {connected!r}; "
            "try connected=True or directed=True"
        )
    return "strong" if connected == "strong" else True


def span(sizes: range) -> str:
    """Sizes as people write them."""
    return f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"
