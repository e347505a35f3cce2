"""`TotalCost`: a budget for the total cost of all edges.

Prices are read as the decimal numbers that were written; see `bogrape.constraints.linear`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations
from math import lcm
from typing import Any, Self

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..domain import GRAPHS, Nouns
from .linear import LARGEST_SUM, decimal
from .rows import Atom, Edge, EdgeLabel, Row, Shape, bounded
from .rule import Excess, Node, Rule, over


@dataclass(frozen=True, repr=False)
class TotalCost(Rule):
    """``sum over the edges of cost(u, v) * price(edge label) <= maximum``.

    Args:
        costs: cost of an edge by its ends, ``{(u, v): cost}`` or a square matrix; for instance the
            length of the cable. If empty, every edge costs 1.
        maximum: the budget.
        edge_labels: price per unit of each edge label, ``{1: 4.0, 2: 9.5}``; for instance the price
            per metre of each type of cable. If empty, costs do not depend on edge labels.
        otherwise: cost of the pairs that ``costs`` leaves out. Without it, a pair left out is an
            error, since it would be free.

    In undirected spaces the cost of (u, v) is that of (v, u).

    >>> TotalCost({("a", "b"): 120, ("a", "c"): 80.5, ("b", "c"): 60}, maximum=200)
    TotalCost(costs=((('a', 'b'), 120), (('a', 'c'), 80.5), (('b', 'c'), 60)), maximum=200)
    """

    costs: Any = ()
    maximum: float = 0
    edge_labels: Any = ()
    otherwise: float | None = None

    def __post_init__(self) -> None:
        self._set("costs", self._checked_costs())
        self._set("edge_labels", self._checked_prices())
        self._set("maximum", self._cost(self.maximum, "maximum"))
        if self.otherwise is not None:
            self._set("otherwise", self._cost(self.otherwise, "otherwise"))
        if not self.costs and not self.edge_labels:
            self.refuse("costs or edge_labels", "neither", "costs={(0, 1): 2.5}")
        if self.otherwise is not None and not self.costs:
            self.refuse("otherwise beside some costs", "no costs", "edge_labels alone")
        self._check_size(sum(self._single(), decimal(self.maximum)) * self.scale)

    def _checked_costs(self) -> tuple[Any, ...]:
        given = _matrix_items(self.costs)
        if given is None:
            self.refuse(
                "costs to map pairs to costs, or a square matrix",
                repr(self.costs),
                "costs={(0, 1): 2.5}",
            )
        made: dict[tuple[Any, Any], float] = {}
        for key, cost in given:
            pair = self._pair(key, "costs")
            if made.setdefault(pair, self._cost(cost, "a cost")) != cost:
                self.refuse("one cost per pair", f"two for {pair}", "keeping one of them")
        return tuple(sorted(made.items(), key=repr))

    def _checked_prices(self) -> tuple[Any, ...]:
        given = self.edge_labels
        items = given.items() if isinstance(given, Mapping) else given
        made: dict[int, float] = {}
        try:
            for key, price in items:
                # TOML has no numbers as keys
                label = self._whole(int(key) if isinstance(key, str) else key, "an edge label")
                made[label] = self._cost(price, "a price")
        except (TypeError, ValueError):
            self.refuse("edge_labels to map labels to prices", repr(given), "edge_labels={1: 4.0}")
        if 0 in made:
            self.refuse("edge labels from 1", "0", "edge_labels={1: 4.0, 2: 9.5}")
        return tuple(sorted(made.items()))

    def _cost(self, value: object, what: str) -> float:
        number = self._number(value, what)
        if number < 0:
            self.refuse(f"{what} >= 0", repr(value), "LinearRule for weights of either sign")
        return number

    def _check_size(self, size: Fraction | int) -> None:
        if size > LARGEST_SUM:
            self.refuse(
                f"costs whose sum is below {LARGEST_SUM:.0e} once scaled to whole numbers",
                f"{float(size):.1e} with the common factor {self.scale:.1e}",
                "rounding them to fewer decimals",
            )

    @cached_property
    def scale(self) -> int:
        """The least factor that makes all costs of single edges and the budget whole numbers."""
        return lcm(*(cost.denominator for cost in (*self._single(), decimal(self.maximum))))

    @property
    def scaled_maximum(self) -> int:
        """The budget on the integer scale of `table`."""
        return int(decimal(self.maximum) * self.scale)

    def _single(self) -> list[Fraction]:
        """All possible costs of one edge."""
        by_pair = [decimal(cost) for _, cost in self.costs] or [Fraction(1)]
        by_pair += [] if self.otherwise is None else [decimal(self.otherwise)]
        by_label = [decimal(price) for _, price in self.edge_labels] or [Fraction(1)]
        return [cost * price for cost in by_pair for price in by_label]

    def nodes(self) -> frozenset[int]:
        """Every node with a cost of its own."""
        return frozenset(v for pair, _ in self.costs for v in pair)

    def located(self, names: Mapping[str, int]) -> Self:
        """With nodes by index; refuse pairs of named nodes without a cost."""
        rule = super().located(names)
        given = {frozenset(pair) for pair, _ in rule.costs}
        ends = list(names.items())
        self._refuse_without_cost(
            [(a, b) for (a, i), (b, j) in combinations(ends, 2) if frozenset((i, j)) not in given]
        )
        return rule

    def _refuse_without_cost(self, pairs: list[tuple[Node, Node]]) -> None:
        if pairs and self.costs and self.otherwise is None:
            more = f" and {len(pairs) - 1} others" if len(pairs) > 1 else ""
            self.refuse(
                "a cost for every pair of nodes",
                f"none for {pairs[0]}{more}",
                "otherwise=... for the cost of the pairs left out",
            )

    def moved(self, locate: Callable[[Node], int]) -> Self:
        """With every node replaced by its index."""
        pairs = [((locate(u), locate(v)), cost) for (u, v), cost in self.costs]
        return replace(self, costs=pairs)

    def undirected(self) -> Self:
        """With ``u < v``; both directions must cost the same."""
        return replace(self, costs=[((min(pair), max(pair)), cost) for pair, cost in self.costs])

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """Refuse edge labels without a price and pairs without a cost."""
        priced = {label for label, _ in self.edge_labels}
        if priced and priced != set(range(1, shape.n_edge_labels + 1)):
            self.refuse(
                f"a price for each of the {shape.n_edge_labels} edge labels of the space",
                f"prices for {sorted(priced)}",
                f"edge_labels={len(priced)} in the space, or a price for each",
            )
        rule = super().bind(labels, shape)
        given = {pair for pair, _ in rule.costs}
        self._refuse_without_cost([pair for pair in shape.pairs() if pair not in given])
        rule._check_size(sum(rule.table(shape.n_nodes, shape.directed).ravel().tolist()))
        return rule

    @cached_property
    def _tables(self) -> dict[tuple[int, bool], IntArray]:
        return {}

    def table(self, n: int, directed: bool) -> IntArray:
        """Scaled cost of each possible edge, ``(edge labels or 1, n, n)``."""
        if (n, directed) not in self._tables:
            base = Fraction(1) if not self.costs else decimal(self.otherwise or 0)
            prices = [decimal(price) for _, price in self.edge_labels] or [Fraction(1)]
            table = np.zeros((len(prices), n, n), dtype=np.int64)
            for k, price in enumerate(prices):
                table[k] = int(base * price * self.scale)
                np.fill_diagonal(table[k], 0)
                for (u, v), given in self.costs:
                    if max(u, v) < n:
                        table[k, u, v] = int(decimal(given) * price * self.scale)
                        if not directed:
                            table[k, v, u] = table[k, u, v]
            self._tables[n, directed] = table
        return self._tables[n, directed]

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        return f"All {nouns.edges} together cost at most {self.maximum:g}."

    def excess(self, batch: Batch) -> Excess:
        """Excess over the budget, in units of the mean cost of an edge."""
        self._check_located()
        if self.edge_labels and batch.edge_labels is None:
            self.refuse("edges with labels", "edges without", "edge_labels=... in the space")
        table = self.table(batch.n_nodes, batch.directed)
        spent = np.zeros(len(batch), dtype=np.int64)
        for k, costs in enumerate(table, start=1):
            there = batch.adjacency
            if batch.edge_labels is not None and self.edge_labels:
                there = batch.edge_labels == k
            spent += (there * costs).sum(axis=(1, 2))
        if not batch.directed:
            spent //= 2
        typical = float(table[table > 0].mean()) if table.any() else 1.0
        return over(spent, -np.inf, self.scaled_maximum) / typical

    def rows(self, shape: Shape) -> Iterator[Row]:
        """One row, scaled to whole numbers."""
        table = self.table(shape.n_nodes, shape.directed)
        terms: list[tuple[Atom, int]] = []
        for u, v in shape.pairs():
            for k, weight in enumerate(table[:, u, v].tolist(), start=1):
                if weight:
                    terms.append((EdgeLabel(u, v, k) if self.edge_labels else Edge(u, v), weight))
        yield from bounded("total cost", tuple(terms), None, self.scaled_maximum)


def _matrix_items(costs: Any) -> list[tuple[Any, Any]] | None:
    """Pairs and costs, from a mapping, a list of both, or the rows of a square matrix."""
    if isinstance(costs, Mapping):
        return list(costs.items())
    if isinstance(costs, np.ndarray):
        costs = costs.tolist()
    if not isinstance(costs, (list, tuple)) or not all(
        isinstance(row, (list, tuple)) for row in costs
    ):
        return None
    if all(len(row) == 2 and isinstance(row[0], (list, tuple)) for row in costs):
        return [(tuple(pair), cost) for pair, cost in costs]
    if any(len(row) != len(costs) for row in costs):
        return None
    return [((u, v), costs[u][v]) for u, v in permutations(range(len(costs)), 2)]
