"""Labels and features that can be chosen independently of the edges.

Of the attributes, SSP and ESSP see only how many nodes have each. If no rule ties attributes to
edges or to single nodes, any numbers that obey the rules on them are possible on any graph, so the
model need not decide which node has which label: it is much smaller and has the same optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from ....arrays import IntArray
from ....constraints import Rule, Shape
from ....constraints.rows import HasFeature, HasLabel, Row
from ....encoding import Structure
from ....graph import Graph
from .coordinates import Attribute
from .inequality import Inequality


@dataclass(frozen=True)
class FreeAttributes:
    """A structure with free attributes: its bare part, and limits on the sums of attributes."""

    bare: Structure
    inequalities: tuple[Inequality[Attribute], ...]

    def sums(self, limit: int) -> IntArray | None:
        """All allowed ``(N_1, .., N_M)``, one per row; ``None`` if more than ``limit``."""
        shape = self.bare.shape
        n, extras = shape.n_nodes, range(shape.n_nodes + 1)
        n_total = count_compositions(n, shape.n_labels) * (n + 1) ** shape.n_features
        if n_total > limit:
            return None
        labels = compositions(n, shape.n_labels)
        rest = list(product(extras, repeat=shape.n_features))
        table = np.array([(*first, *second) for first in labels for second in rest], dtype=np.int64)
        keep = np.ones(len(table), dtype=bool)
        for inequality in self.inequalities:
            total = table @ inequality.dense(_attributes(shape))
            keep &= (total >= inequality.low) & (total <= inequality.high)
        return table[keep]

    def dress(self, graph: Graph, sums: Sequence[int]) -> Graph:
        """The bare graph with attributes that have these sums, assigned in the order of nodes."""
        shape = self.bare.shape
        labels = np.repeat(np.arange(shape.n_labels), sums[: shape.n_labels])
        features = np.zeros((shape.n_nodes, shape.n_features), dtype=bool)
        for m in range(shape.n_features):
            features[: sums[shape.n_labels + m], m] = True
        return Graph(
            graph.adjacency, labels, features, graph.directed, edge_labels=graph.edge_labels
        )


def free_attributes(structure: Structure) -> FreeAttributes | None:
    """Separate the attributes of a structure; ``None`` if some rule ties them to the graph."""
    bare: list[Rule] = []
    limits: list[Inequality[Attribute]] = []
    for rule in structure.rules:
        found = list(rule.rows(structure.shape))
        if not any(_mentions_attributes(row) for row in found):
            bare.append(rule)
            continue
        for row in found:
            on_sums = _on_sums(row, structure.shape)
            if on_sums is None:
                return None
            limits.append(on_sums)
    return FreeAttributes(replace(structure, rules=tuple(bare)), tuple(limits))


def _mentions_attributes(row: Row) -> bool:
    atoms = [atom for atom, _ in (*row.terms, *row.when)]
    return any(isinstance(atom, (HasLabel, HasFeature)) for atom in atoms)


def _on_sums(row: Row, shape: Shape) -> Inequality[Attribute] | None:
    """The row of a rule as an inequality on sums over all nodes, if it treats them alike."""
    if row.when:
        return None
    table = np.zeros((shape.n_nodes, shape.n_labels + shape.n_features), dtype=np.int64)
    for atom, weight in row.terms:
        match atom:
            case HasLabel(v, label):
                table[v, label] += weight
            case HasFeature(v, feature):
                table[v, shape.n_labels + feature] += weight
            case _:
                return None
    if (table != table[0]).any():
        return None
    weights = dict(zip(_attributes(shape), table[0].tolist(), strict=True))
    return Inequality(row.name, weights, row.low, row.high)


def _attributes(shape: Shape) -> list[Attribute]:
    return [Attribute(m) for m in range(shape.n_labels + shape.n_features)]


def count_compositions(total: int, parts: int) -> int:
    """Number of ways to write ``total`` as a sum of ``parts`` ordered numbers >= 0."""
    out = 1
    for i in range(1, parts):
        out = out * (total + i) // i
    return out


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write ``total`` as a sum of ``parts`` ordered numbers >= 0."""
    out = []
    for bars in combinations(range(total + parts - 1), parts - 1):
        ends = (-1, *bars, total + parts - 1)
        out.append(tuple(ends[i + 1] - ends[i] - 1 for i in range(parts)))
    return out
