"""`LinearRule`: bounds on a weighted sum of edges, labels and features.

Weights are read as the decimal numbers that were written, and the sum is scaled to integers, so
that ``0.1 + 0.2 <= 0.3`` is true here, in the search and in every solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, Self

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..domain import GRAPHS, Nouns
from .rows import Atom, HasFeature, HasLabel, Row, Shape, bounded, edge
from .rule import Excess, Label, Node, Rule, over
from .words import at_least_or_most

# The scaled sum stays well within 64-bit integers, even if a solver multiplies it further.
LARGEST_SUM = 10**12


@dataclass(frozen=True, repr=False)
class LinearRule(Rule):
    r"""``minimum <= sum_uv a_uv e_uv + sum_vl b_vl f_vl + sum_vm c_vm x_vm <= maximum``.

    Args:
        edges: weights ``{(u, v): a}``; of arcs when directed. Nodes by number, or by name in a
            space that names them.
        labels: weights ``{(node, label): b}``.
        features: weights ``{(node, feature): c}``, features counted from 0 after the labels.
        minimum, maximum: bounds of the sum; at least one of them.

    A node that the graph does not have contributes 0. Weights are kept as sorted tuples.

    >>> LinearRule(labels={(0, "C"): 12, (0, "N"): 14.5}, maximum=14)
    LinearRule(labels=(((0, 'C'), 12), ((0, 'N'), 14.5)), maximum=14)
    """

    edges: Any = ()
    labels: Any = ()
    features: Any = ()
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        checks = {
            "edges": lambda key: self._pair(key, "edges"),
            "labels": lambda key: (self._node(key[0], "a node"), self._label(key[1], "a label")),
            "features": lambda key: (
                self._node(key[0], "a node"),
                self._whole(key[1], "a feature"),
            ),
        }
        for field, check in checks.items():
            self._set(field, self._weights(field, check))
        for field in ("minimum", "maximum"):
            if getattr(self, field) is not None:
                self._set(field, self._number(getattr(self, field), field))
        self._check_bounds()

    def _weights(self, field: str, check: Callable[[Any], Any]) -> tuple[Any, ...]:
        given = getattr(self, field)
        items = list(given.items()) if isinstance(given, Mapping) else given
        if not isinstance(items, (list, tuple)) or not all(
            isinstance(item, (list, tuple))
            and len(item) == 2
            and isinstance(item[0], (list, tuple))
            and len(item[0]) == 2
            for item in items
        ):
            self.refuse(f"{field} to map pairs to weights", repr(given), f"{field}={{(0, 1): 2}}")
        made = [(check(key), self._number(weight, "a weight")) for key, weight in items]
        if len({key for key, _ in made}) < len(made):
            self.refuse(f"every pair of {field} once", "one of them twice", "adding the weights up")
        return tuple(sorted(made, key=repr))

    def _check_bounds(self) -> None:
        low, high = self.minimum, self.maximum
        if low is None and high is None:
            self.refuse("a minimum or a maximum", "neither", "maximum=0")
        if low is not None and high is not None and low > high:
            self.refuse("minimum <= maximum", f"{low} > {high}", "swapping them")
        if not self.edges and not self.labels and not self.features:
            self.refuse("at least one weight", "none", "edges={(0, 1): 1}")
        size = sum(abs(decimal(c)) for c in self._numbers())
        if size * self.scale > LARGEST_SUM:
            self.refuse(
                f"weights whose sum is below {LARGEST_SUM:.0e} once scaled to whole numbers",
                f"{float(size * self.scale):.1e} with the common factor {self.scale:.1e}",
                "rounding them to fewer decimals",
            )

    def _numbers(self) -> list[float]:
        bounds = [b for b in (self.minimum, self.maximum) if b is not None]
        return [c for part in (self.edges, self.labels, self.features) for _, c in part] + bounds

    @cached_property  # used with every batch, and slow for hundreds of weights
    def scale(self) -> int:
        """The least factor that makes all weights and bounds whole numbers."""
        return lcm(*(decimal(c).denominator for c in self._numbers()))

    def nodes(self) -> frozenset[int]:
        """Every node with a weight."""
        return frozenset(v for (u, w), _ in self.edges for v in (u, w)) | {
            v for part in (self.labels, self.features) for (v, _), _ in part
        }

    def features_named(self) -> frozenset[int]:
        """Every feature with a weight."""
        return frozenset(feature for (_, feature), _ in self.features)

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """With every label replaced by its index."""
        spots = [((v, resolve(label)), weight) for (v, label), weight in self.labels]
        return replace(self, labels=_merged(spots))

    def moved(self, locate: Callable[[Node], int]) -> Self:
        """With every node replaced by its index."""
        return replace(
            self,
            edges=_merged([((locate(u), locate(v)), weight) for (u, v), weight in self.edges]),
            labels=_merged([((locate(v), label), weight) for (v, label), weight in self.labels]),
            features=_merged([((locate(v), m), weight) for (v, m), weight in self.features]),
        )

    def undirected(self) -> Self:
        """With ``u < v``, the weights of (u, v) and (v, u) added up."""
        pairs = [((min(pair), max(pair)), weight) for pair, weight in self.edges]
        return replace(self, edges=_merged(pairs))

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        kinds = ((self.edges, nouns.edges), (self.labels, "labels"), (self.features, "features"))
        what = " and ".join(f"{len(terms)} {kind}" for terms, kind in kinds if terms)
        return f"A weighted sum of {what} is {at_least_or_most(self.minimum, self.maximum)}."

    def excess(self, batch: Batch) -> Excess:
        """Distance of the sum from its bounds, in integer arithmetic without rounding."""
        self._check_located()
        self._check_features(batch.features.shape[2])
        n, scale = batch.n_nodes, self.scale
        value = np.zeros(len(batch), dtype=np.int64)
        if self.edges:
            u, v, weights = self._scaled_edges
            some = np.maximum(u, v) < n
            value += batch.adjacency[:, u[some], v[some]] @ weights[some]
        for (v, label), weight in self.labels:
            index = self.index(label)
            if v < n:
                value += int(decimal(weight) * scale) * (batch.labels[:, v] == index)
        for (v, feature), weight in self.features:
            if v < n:
                value += int(decimal(weight) * scale) * batch.features[:, v, feature]
        low, high = self._scaled_bounds()
        return over(value, -np.inf if low is None else low, high) / scale

    @cached_property
    def _scaled_edges(self) -> tuple[IntArray, IntArray, IntArray]:
        """Both ends of the edges with a weight, and their weights as integers."""
        pairs = np.array([pair for pair, _ in self.edges], dtype=np.int64)
        weights = [int(decimal(weight) * self.scale) for _, weight in self.edges]
        return pairs[:, 0], pairs[:, 1], np.array(weights, dtype=np.int64)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """One row, scaled to whole numbers."""
        weights: dict[Atom, int] = {}
        parts: list[tuple[Atom, int, float]] = [
            (edge(u, v, shape.directed), max(u, v), c) for (u, v), c in self.edges
        ]
        parts += [(HasLabel(v, self.index(label)), v, c) for (v, label), c in self.labels]
        parts += [(HasFeature(v, feature), v, c) for (v, feature), c in self.features]
        for atom, top, weight in parts:
            if top < shape.n_nodes:
                weights[atom] = weights.get(atom, 0) + int(decimal(weight) * self.scale)
        low, high = self._scaled_bounds()
        terms = tuple((atom, weight) for atom, weight in weights.items() if weight)
        yield from bounded("weighted sum", terms, low, high)

    def _scaled_bounds(self) -> tuple[int | None, int | None]:
        low, high = (
            None if bound is None else int(decimal(bound) * self.scale)
            for bound in (self.minimum, self.maximum)
        )
        return low, high


def decimal(number: float) -> Fraction:
    """The number as it is written in decimal: 0.1 is 1/10."""
    return Fraction(repr(number))


def _merged(items: list[tuple[tuple[Any, Any], float]]) -> dict[tuple[Any, Any], float]:
    """Weights by pair, those of equal pairs added up."""
    sums: dict[tuple[Any, Any], Fraction] = {}
    for pair, weight in items:
        sums[pair] = sums.get(pair, Fraction(0)) + decimal(weight)
    return {pair: int(c) if c.denominator == 1 else float(c) for pair, c in sums.items()}
