"""Checks of the parameters of a space: each returns the normal form or raises an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np

from ..checks import shown, whole
from ..constraints import RULES, Rule
from ..constraints.own import check_own_class
from ..constraints.registry import is_own
from ..domain import Domain, find_domain
from ..errors import InvalidSpaceError

# Limits of a space, checked before anything is allocated. A proposal looks at every pair of nodes,
# and kernels at every pair of labels, so larger spaces than these take hours or all memory.
MAX_NODES = 300
MAX_LABELS = 200
MAX_FEATURES = 1000
MAX_EDGE_LABELS = 20


def too_many(what: str, most: int, got: object) -> InvalidSpaceError:
    """The error for a space beyond the limits."""
    return InvalidSpaceError(f"expected {what} to be at most {most}, got {got}; try a smaller one")


def checked_sizes(n_nodes: object) -> int | tuple[int, int]:
    """One size, or the smallest and the largest."""
    if not isinstance(n_nodes, (tuple, list)):
        return whole(n_nodes, "n_nodes", 1, InvalidSpaceError, MAX_NODES)
    if len(n_nodes) != 2:
        raise InvalidSpaceError(
            f"expected n_nodes to be a number or (smallest, largest), got {shown(n_nodes)}"
        )
    low, high = (whole(n, "a size in n_nodes", 1, InvalidSpaceError, MAX_NODES) for n in n_nodes)
    if low > high:
        raise InvalidSpaceError(
            f"expected n_nodes=(smallest, largest), got {(low, high)}; try {(high, low)}"
        )
    return low if low == high else (low, high)


def checked_nodes(nodes: object) -> tuple[str, ...] | None:
    """Names of the nodes, or ``None`` if they have none."""
    if nodes is None:
        return None
    names = tuple(nodes) if isinstance(nodes, (tuple, list)) else ()
    if len(names) > MAX_NODES:
        raise too_many("the number of nodes", MAX_NODES, len(names))
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidSpaceError(
            f"expected nodes to be a list of non-empty names, got {shown(nodes)}; "
            "try nodes=['core-1', 'core-2'], or n_nodes=... for nodes without names"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidSpaceError(f"expected different names for the nodes, got {twice!r} twice")
    return names


def checked_named_sizes(n_nodes: object, nodes: tuple[str, ...] | None) -> int | tuple[int, int]:
    """The number of nodes: that of their names, if they have names."""
    if nodes is None:
        return checked_sizes(10 if n_nodes is None else n_nodes)
    if n_nodes is not None and checked_sizes(n_nodes) != len(nodes):
        raise InvalidSpaceError(
            f"expected n_nodes to be the number of nodes {len(nodes)}, got {shown(n_nodes)}; "
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
    if len(labels) > MAX_NODES:
        raise too_many("the number of labelled nodes", MAX_NODES, len(labels))
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
                f"expected the label of a node to be a non-empty name, got {shown(label)}"
            )
    return tuple(dict.fromkeys(each)), each


def checked_labels(labels: object) -> int | tuple[str, ...] | None:
    """A number of labels, or their names."""
    if labels is None:
        return None
    if not isinstance(labels, (tuple, list)):
        return whole(
            labels, "labels (a number, a list of names or None)", 1, InvalidSpaceError, MAX_LABELS
        )
    names = tuple(labels)
    if len(names) > MAX_LABELS:
        raise too_many("the number of labels", MAX_LABELS, len(names))
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidSpaceError(
            f"expected labels to be a number or non-empty names, got {shown(labels)}; "
            "try labels=3 or labels=('C', 'N', 'O')"
        )
    if len(set(names)) < len(names):
        raise InvalidSpaceError(f"expected different names for the labels, got {names}")
    return names


def checked_connected(connected: object, directed: bool) -> bool | Literal["strong"]:
    """True, False or "strong"; "weak" is another word for True."""
    if isinstance(connected, (bool, np.bool_)):
        return bool(connected)
    if not isinstance(connected, str) or connected not in ("strong", "weak"):
        raise InvalidSpaceError(
            f"expected connected to be True, False, 'weak' or 'strong', got {shown(connected)}"
        )
    if not directed:
        raise InvalidSpaceError(
            f"expected connected to be True or False for undirected graphs, got {connected!r}; "
            "try connected=True or directed=True"
        )
    return "strong" if connected == "strong" else True


def span(sizes: range) -> str:
    """Sizes as text, such as "5" or "3..5"."""
    return f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"


def checked_rules(rules: object) -> list[Rule]:
    """The rules as a list."""
    out: list[object] | None = None
    if not isinstance(rules, (str, Rule)):
        with suppress(TypeError):
            out = list(rules)  # type: ignore[call-overload]
    if out is None:
        raise InvalidSpaceError(
            f"expected rules to be a list of rules, got {shown(rules)}; "
            f"try rules=[...] with rules from {', '.join(RULES)}"
        )
    return [_checked_rule(rule) for rule in out]


def _checked_rule(rule: object) -> Rule:
    if not isinstance(rule, Rule):
        raise InvalidSpaceError(
            f"expected every rule to be one of {', '.join(RULES)}, got {shown(rule)}; "
            "see bogrape.constraints"
        )
    if is_own(type(rule)):
        check_own_class(rule)
    return rule


def checked_domain(domain: object, label_names: Sequence[str]) -> Domain:
    """The given domain, looked up if it is a name."""
    found = find_domain(domain) if isinstance(domain, str) else domain
    if not isinstance(found, Domain):
        raise InvalidSpaceError(
            f"expected domain to be a Domain or the name of one, got {shown(found)}"
        )
    odd = _unknown_names(found, label_names)
    if odd:
        raise InvalidSpaceError(
            f"expected labels of the domain {found.name!r} "
            f"({', '.join(found.label_names)}), got {', '.join(map(repr, odd))}"
        )
    return found


def domain_of_rules(rules: Sequence[Rule], label_names: Sequence[str]) -> Domain | None:
    """The domain that a rule implies, if all label names belong to it."""
    name = next((rule.domain for rule in rules if rule.domain is not None), None)
    found = None if name is None else find_domain(name)
    return None if found is None or _unknown_names(found, label_names) else found


def _unknown_names(domain: Domain, label_names: Sequence[str]) -> list[str]:
    known = domain.label_names
    return [name for name in label_names if known and name not in known]
