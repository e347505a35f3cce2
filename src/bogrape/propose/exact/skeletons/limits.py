"""Limits that rules set on one node and on sums over all nodes, read off their rows.

Rows are linear, so two kinds of them can be understood without knowing the rule:

* *local* rows involve only one node, and all of its edges alike: they limit the possible kinds of
  nodes;
* *uniform* rows involve all nodes alike and all pairs of nodes alike: they limit sums, such as the
  numbers of nodes with each label, of edges, or of edges with each label.

All other rows are ignored here, which can only admit more graphs; every graph found is checked
against the rules themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....arrays import IntArray
from ....constraints import Edge, EdgeLabel, HasFeature, HasLabel, NodeKind, Row, Shape
from ....encoding import Structure


@dataclass(frozen=True, eq=False)
class Limit:
    """``low <= weights . sums <= high``, over the columns of `Columns`."""

    weights: IntArray
    low: float
    high: float


@dataclass(frozen=True)
class Columns:
    """The columns that are summed over nodes: labels, features, ends by edge label, degrees."""

    shape: Shape
    has_ends: bool

    def __len__(self) -> int:
        return self.degree + 1

    @property
    def feature(self) -> int:
        """The column of the first feature."""
        return self.shape.n_labels

    @property
    def end(self) -> int:
        """The column of the ends of edges with the first edge label."""
        return self.shape.n_labels + self.shape.n_features

    @property
    def degree(self) -> int:
        """The column of the degrees, the last one."""
        return self.end + (self.shape.n_edge_labels if self.has_ends else 0)

    def of(self, kind: NodeKind) -> IntArray:
        """The columns of a node of this kind."""
        out = np.zeros(len(self), dtype=np.int64)
        out[kind.label] = 1
        out[self.feature : self.end] = kind.features
        if self.has_ends:
            out[self.end : self.degree] = kind.ends
        out[self.degree] = kind.degree
        return out


def rows_of(structure: Structure) -> list[Row]:
    """The rows of all rules."""
    return [row for rule in structure.rules for row in rule.rows(structure.shape)]


def uniform_limits(rows: Iterable[Row], columns: Columns) -> Iterator[Limit]:
    """The uniform rows, as limits on twice the sums over all nodes and edges."""
    shape = columns.shape
    n, n_pairs = shape.n_nodes, shape.n_nodes * (shape.n_nodes - 1) // 2
    for row in rows:
        seen: dict[int, list[int]] = {}
        for atom, weight in row.terms:
            match atom:
                case HasLabel(_, label):
                    seen.setdefault(label, []).append(2 * weight)
                case HasFeature(_, feature):
                    seen.setdefault(columns.feature + feature, []).append(2 * weight)
                case EdgeLabel(_, _, k) if columns.has_ends:  # an edge has two ends
                    seen.setdefault(columns.end + k - 1, []).append(weight)
                case Edge():
                    seen.setdefault(columns.degree, []).append(weight)
                case _:
                    break
        else:
            sizes = {i: n if i < columns.end else n_pairs for i in seen}
            alike = all(len(w) == sizes[i] and len(set(w)) == 1 for i, w in seen.items())
            if not row.when and alike and len(set(row.terms)) == len(row.terms):
                weights = np.zeros(len(columns), dtype=np.int64)
                for i, found in seen.items():
                    weights[i] = found[0]
                yield Limit(weights, 2 * row.low, 2 * row.high)


def possible_compositions(
    structure: Structure, compositions: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """The numbers of nodes with each label that rules on such numbers alone allow."""
    columns = Columns(structure.shape, has_ends=False)
    limits = list(uniform_limits(rows_of(structure), columns))
    table = np.zeros((len(compositions), len(columns)), dtype=np.int64)
    table[:, : columns.feature] = compositions
    keep = np.ones(len(table), dtype=bool)
    for limit in limits:
        if not limit.weights[columns.feature :].any():
            totals = table @ limit.weights  # both are twice the sums
            keep &= (totals >= limit.low) & (totals <= limit.high)
    return [row for row, kept in zip(compositions, keep, strict=True) if kept]


def allowed_kinds(
    kinds: Iterable[NodeKind], rows: Iterable[Row], columns: Columns
) -> tuple[NodeKind, ...]:
    """The kinds that satisfy all rows about node 0 alone."""
    local = [row for row in rows if _is_local(row, columns)]
    return tuple(kind for kind in kinds if all(_holds(row, kind) for row in local))


def _is_local(row: Row, columns: Columns) -> bool:
    """True if a row involves node 0 alone, and all of its edges alike."""
    weights: dict[object, list[int]] = {}
    for atom, weight in row.terms:
        match atom:
            case HasLabel(0, _) | HasFeature(0, _):
                continue
            case Edge(0, _):
                weights.setdefault("edge", []).append(weight)
            case EdgeLabel(0, _, k) if columns.has_ends:
                weights.setdefault(k, []).append(weight)
            case _:
                return False
    others = columns.shape.n_nodes - 1
    alike = all(len(w) == others and len(set(w)) == 1 for w in weights.values())
    of_node = all(isinstance(atom, (HasLabel, HasFeature)) and atom.v == 0 for atom, _ in row.when)
    return alike and of_node and len(set(row.terms)) == len(row.terms)


def _holds(row: Row, kind: NodeKind) -> bool:
    def value(atom: object) -> int:
        match atom:
            case HasLabel(_, label):
                return int(kind.label == label)
            case HasFeature(_, feature):
                return int(kind.features[feature])
        raise TypeError(f"expected a statement about a node, got {atom}")

    if any(value(atom) != wanted for atom, wanted in row.when):
        return True
    total, ends, degree = 0, {}, 0
    for atom, weight in row.terms:
        match atom:
            case Edge():
                degree = weight
            case EdgeLabel(_, _, k):
                ends[k] = weight
            case _:
                total += weight * value(atom)
    total += degree * kind.degree + sum(w * kind.ends[k - 1] for k, w in ends.items())
    return bool(row.low <= total <= row.high)
