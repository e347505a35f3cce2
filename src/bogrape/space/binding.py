"""Binding rules to a space: names become numbers, and user-defined rules are tried out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..batch import Batch
from ..constraints import Acyclic, NamedNodes, Rule, Shape
from ..constraints.own import check_own_meaning, trial_graphs
from ..constraints.registry import is_own


def bound_rules(
    rules: Sequence[Rule],
    shape: Shape,
    *,
    label_names: Sequence[str],
    nodes: tuple[str, ...] | None,
    labels_by_node: tuple[str, ...] | None,
    acyclic: bool,
) -> tuple[Rule, ...]:
    """The rules with names replaced by numbers, and those implied by other arguments of the space.

    ``shape`` is that of the largest graphs.
    """
    rules = list(rules)
    if acyclic and Acyclic() not in rules:
        rules.append(Acyclic())
    if nodes is not None:
        others = [rule for rule in rules if not isinstance(rule, NamedNodes)]
        rules = [_named_nodes(rules, nodes, labels_by_node), *others]
    names = {name: i for i, name in enumerate(label_names)}
    sites = {name: i for i, name in enumerate(nodes or ())}
    bound = (rule.located(sites).bind(names, shape) for rule in rules)
    return tuple(dict.fromkeys(bound))  # a repeated rule adds nothing


def _named_nodes(
    rules: Sequence[Rule], nodes: tuple[str, ...], labels_by_node: tuple[str, ...] | None
) -> NamedNodes:
    """The rule that tells nodes apart, with these labels or those kept from a copied space."""
    kept = next((rule for rule in rules if isinstance(rule, NamedNodes)), None)
    if labels_by_node is None and kept is not None and kept.names == nodes:
        return kept
    return NamedNodes(nodes, labels_by_node or ())


def try_own_rules(
    rules: Sequence[Rule], shape: Shape, interchangeable: tuple[int, ...], *, strong: bool
) -> None:
    """Try user-defined rules on a few graphs; `holds` only on those it would be asked about."""
    own = [rule for rule in rules if is_own(type(rule))]
    if not own:
        return
    graphs = trial_graphs(shape, strong)
    batch = Batch.of(graphs)
    others = (rule.excess(batch) for rule in rules if not rule.one_by_one)
    inside = [graphs[i] for i in np.flatnonzero(sum(others, np.zeros(len(graphs))) == 0)]
    for rule in own:
        tried = inside if rule.one_by_one else graphs
        if tried:
            check_own_meaning(rule, tried, shape, interchangeable)
