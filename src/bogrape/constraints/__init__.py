"""Declarative rules for the graphs of a space.

=====================  ========================================================================
`NumberOfEdges`        number of edges (arcs when directed)
`DegreeRange`          degree of all nodes, of one node, or of the nodes of one label
`LabelCount`           number of nodes with a label
`FixedLabel`           the label of one node
`RequiredEdge`         an edge between two named nodes
`ForbiddenEdge`        no edge between two named nodes
`ForbiddenAdjacency`   no edge between nodes of two labels
`RequiredSubgraph`     given edges and labels on named nodes
`DiameterRange`        the longest of all shortest paths
`CycleRange`           number of independent cycles; 0 is a forest, or a tree when connected
`Acyclic`              no cycle; a DAG when directed
`LinearRule`           a weighted sum of edges, labels and features
`TotalCost`            a budget for all edges, by their ends and their edge labels
`TwoConnected`         no single node, or no single edge, whose failure cuts the graph in two
`DisjointPaths`        a number of paths between two named nodes that share no edge
`MaximumDistance`      the length of a shortest path between two named nodes
`EditDistance`         number of edits between a given graph and this one
=====================  ========================================================================

A rule refers to a node by its number, or by its name in a `GraphSpace(nodes=[...])`. In a space
without names all numberings of a graph are the same graph, so such a rule only requires *some*
numbering that satisfies it: ``RequiredEdge(0, 1)`` alone means "there is an edge".

If a graph is too small to have a node that a rule names, rules that *require or fix* something are
violated, and rules that *forbid or bound* something are satisfied.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InvalidSpaceError
from ..graph import Graph
from ..import_path import load_object
from .connectivity import DisjointPaths, MaximumDistance, TwoConnected
from .cost import TotalCost
from .edges_and_labels import (
    DegreeRange,
    FixedLabel,
    ForbiddenAdjacency,
    ForbiddenEdge,
    LabelCount,
    NumberOfEdges,
    RequiredEdge,
    RequiredSubgraph,
)
from .edit_distance import EditDistance
from .linear import LinearRule
from .named_nodes import NamedNodes
from .node_kind import NodeKind
from .paths import Acyclic, CycleRange, DiameterRange
from .registry import PLACE, find_rule, register_rule
from .rows import Atom, Aux, Edge, EdgeLabel, HasFeature, HasLabel, Row, Shape, Within, edge, within
from .rule import NamedLabel, NamedNode, Rule
from .words import in_words

__all__ = [
    "RULES",
    "Acyclic",
    "Atom",
    "Aux",
    "CycleRange",
    "DegreeRange",
    "DiameterRange",
    "DisjointPaths",
    "Edge",
    "EdgeLabel",
    "EditDistance",
    "FixedLabel",
    "ForbiddenAdjacency",
    "ForbiddenEdge",
    "HasFeature",
    "HasLabel",
    "LabelCount",
    "LinearRule",
    "MaximumDistance",
    "NamedLabel",
    "NamedNode",
    "NamedNodes",
    "NodeKind",
    "NumberOfEdges",
    "RequiredEdge",
    "RequiredSubgraph",
    "Row",
    "Rule",
    "Shape",
    "TotalCost",
    "TwoConnected",
    "Within",
    "edge",
    "identity_of",
    "in_words",
    "register_rule",
    "rule_from_dict",
    "within",
]

RULES: dict[str, type[Rule]] = {
    kind.__name__: kind
    for kind in (
        NumberOfEdges,
        DegreeRange,
        LabelCount,
        FixedLabel,
        RequiredEdge,
        ForbiddenEdge,
        ForbiddenAdjacency,
        RequiredSubgraph,
        DiameterRange,
        CycleRange,
        Acyclic,
        LinearRule,
        TotalCost,
        TwoConnected,
        DisjointPaths,
        MaximumDistance,
        EditDistance,
    )
}


def identity_of(graph: Graph, rules: Iterable[Rule]) -> str:
    """A text that is equal for two graphs if and only if they are the same under these rules.

    The first rule whose `Rule.identify` gives a text decides; if there is none, isomorphic graphs
    are the same.
    """
    for rule in rules:
        text = rule.identify(graph)
        if text is not None:
            return text
    return graph.canonical_key()


def rule_from_dict(data: Any) -> Rule:
    """Read what `Rule.to_dict` wrote.

    >>> rule_from_dict({"rule": "DegreeRange", "maximum": 4, "label": "C"})
    DegreeRange(maximum=4, label='C')
    """
    if not isinstance(data, dict) or "rule" not in data:
        raise InvalidSpaceError(
            f"expected a rule as {{'rule': name, parameter: value, ...}}, got {data!r}; "
            f"names are {', '.join(RULES)}"
        )
    if isinstance(data["rule"], str) and ":" in data["rule"]:
        return _own_rule(data)
    kind = _rule_named(data["rule"])
    body = {key: value for key, value in data.items() if key != "rule"}
    try:
        return kind(**body)
    except TypeError:
        valid = ", ".join(kind.__dataclass_fields__)  # type: ignore[attr-defined]
        raise InvalidSpaceError(
            f"{kind.__name__}: expected parameters from {valid}, got {sorted(body)}"
        ) from None


def _own_rule(data: dict[str, Any]) -> Rule:
    """A custom rule, from its import path and parameters."""
    kind = find_rule(data)
    if not isinstance(kind, type) or not issubclass(kind, Rule):
        raise InvalidSpaceError(
            f"expected {data['rule']!r:.100} to be a rule, got {type(kind).__name__}; try a class "
            "that derives from bogrape.constraints.Rule"
        )
    body = {key: _tuples(value) for key, value in data.items() if key not in ("rule", PLACE)}
    try:
        return kind(**body)
    except (TypeError, ValueError) as error:
        raise InvalidSpaceError(
            f"{data['rule']}: expected valid parameters, got {body}: {error}"
        ) from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# Packages with rules of their own, named as "molecules.Valence"; loaded when needed.
_PACKAGES = {"molecules": "bogrape.molecules:RULES"}


def _rule_named(name: object) -> type[Rule]:
    """The class of rule with this name; the error for an unknown name lists the valid ones."""
    package, _, short = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    prefix, known = "", RULES
    if package in _PACKAGES:
        prefix, known = f"{package}.", load_object(_PACKAGES[package], "the rules")
    if short not in known or package not in ("", *_PACKAGES):
        raise InvalidSpaceError(
            f"expected the name of a rule, got {name!r:.100}; try one of "
            f"{', '.join(f'{prefix}{rule}' for rule in known)}"
        )
    return known[short]
