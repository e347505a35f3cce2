"""Checks of the parameters of a space: each returns the normal form or says what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Literal

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


def checked_nodes(nodes: object) -> tuple[str, ...] | None:
    """Names of the nodes, or ``None`` where they have none."""
    if nodes is None:
        return None
    names = tuple(nodes) if isinstance(nodes, (tuple, list)) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidSpaceError(
            f"expected nodes to be a list of non-empty names, got {nodes!r}; "
            "try nodes=['core-1', 'core-2'], or n_nodes=... for nodes without names"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidSpaceError(f"expected different names for the nodes, got {twice!r} twice")
    return names


def checked_named_sizes(n_nodes: object, nodes: tuple[str, ...] | None) -> int | tuple[int, int]:
    """The number of nodes: that of their names, where they have some."""
    if nodes is None:
        return checked_sizes(10 if n_nodes is None else n_nodes)
    if n_nodes is not None and checked_sizes(n_nodes) != len(nodes):
        raise InvalidSpaceError(
            f"expected n_nodes to be the number of nodes {len(nodes)}, got {n_nodes!r}; "
            "leave n_nodes out"
        )
    return len(nodes)


def labels_of_nodes(
    labels: Mapping[Any, Any], nodes: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The alphabet in order of first appearance, and the label of every node."""
    if nodes is None:
        raise InvalidSpaceError(
            "expected labels by node only together with nodes=[...], got no names of nodes; "
            "try nodes=list(labels), or labels=('C', 'N', 'O')"
        )
    missing = [name for name in nodes if name not in labels]
    unknown = [name for name in labels if name not in nodes]
    if missing or unknown:
        wrong = f"none for {missing[0]!r}" if missing else f"one for {unknown[0]!r}"
        raise InvalidSpaceError(
            f"expected labels to have one label for each of the {len(nodes)} nodes, got {wrong}"
        )
    each = tuple(labels[name] for name in nodes)
    for label in each:
        if not isinstance(label, str) or not label:
            raise InvalidSpaceError(
                f"expected the label of a node to be a non-empty name, got {label!r}"
            )
    return tuple(dict.fromkeys(each)), each


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
