"""Rules for one suggestion, which `Study.ask` takes in addition to those of the space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..constraints import EditDistance, Rule
from ..errors import InvalidInputError, UnsupportedError
from ..graph import Graph
from ..space import GraphSpace
from ..trial import UNDER, Trial


def as_rules(rules: Iterable[Rule], what: str) -> tuple[Rule, ...]:
    """Rules as a tuple."""
    try:
        return tuple(rules)
    except TypeError:
        raise InvalidInputError(f"{what} must be a list of rules, got {rules!r:.100}") from None


def rules_of(
    space: GraphSpace, rules: Iterable[Rule], near: Graph | Trial | None, edits: int | None
) -> tuple[Rule, ...]:
    """All rules of a suggestion; ``near`` and ``edits`` add one."""
    given = as_rules(rules, "rules")
    if near is None and edits is None:
        return given
    if near is None or edits is None:
        missing, there = ("near", "edits") if near is None else ("edits", "near")
        raise InvalidInputError(
            f"expected near and edits together, got {there} without {missing}; "
            "try ask(near=study.best.graph, edits=2)"
        )
    graph = near.graph if isinstance(near, Trial) else near
    if not isinstance(graph, Graph):
        raise InvalidInputError(
            f"near must be a Graph or a Trial, got {type(near).__name__}; try near=study.best.graph"
        )
    # if features follow from edges and labels, changing a bond would count several times
    counted = not any(rule.derives_features for rule in space.rules)
    return (*given, EditDistance(graph, edits, count_features=counted))


def restricted(space: GraphSpace, rules: Sequence[Rule]) -> GraphSpace:
    """The part of a space that satisfies further rules; the identity of graphs is unchanged."""
    for rule in rules:
        if isinstance(rule, Rule) and type(rule).identify is not Rule.identify:
            if rule in space.rules:
                continue
            raise InvalidInputError(
                "expected rules for one suggestion that do not decide which graphs are the same, "
                f"got {rule.name}, which does; add it to the rules of the GraphSpace instead"
            )
    # first: the rules of a suggestion are narrower, and may be able to draw graphs directly
    return space.with_rules([*rules, *space.rules])


def recorded(rules: Iterable[Rule]) -> dict[str, Any]:
    """Stored form of the rules a trial was suggested under, for its ``details``."""
    stored: list[dict[str, Any]] = []
    for rule in rules:
        try:
            stored.append(rule.to_dict())
        except UnsupportedError:  # a user-defined rule that only this program has
            stored.append({"rule": type(rule).__name__, "name": rule.name})
    return {UNDER: stored} if stored else {}
