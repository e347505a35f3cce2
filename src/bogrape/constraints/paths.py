"""Rules about paths and cycles: diameter, number of independent cycles, no cycles at all.

They are in a separate module because they depend on the whole graph: through distances, and in rows
through the atoms ``w_uv^s``, "v is within s steps of u". Import them from `bogrape.constraints`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..domain import GRAPHS, Nouns
from .rows import Aux, Edge, Row, Shape, bounded, never, total, within
from .rule import Excess, Rule, over
from .words import amount


@dataclass(frozen=True, repr=False)
class DiameterRange(Rule):
    """``minimum <= max_uv d(u, v) <= maximum``; infinite when a pair has no path.

    In directed graphs every ordered pair counts, so a finite maximum requires strong connectivity.
    """

    minimum: int = 0
    maximum: int | None = None

    def __post_init__(self) -> None:
        self._check_range()

    def describe(self, nouns: Nouns = GRAPHS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        n_steps = amount(self.minimum, self.maximum, "step", "steps")
        return f"The longest of all shortest paths has {n_steps}."

    def excess(self, batch: Batch) -> Excess:
        """Missing steps of the diameter, plus excess steps summed over the pairs."""
        n, distance = batch.n_nodes, batch.distances  # n stands for "no path"
        longest = distance.max(axis=(1, 2))
        out = np.where(longest < n, np.maximum(0.0, self.minimum - longest), 0.0)
        if self.maximum is not None:
            # a sum, not the maximum: a search then improves with every pair brought closer
            out += np.maximum(0, distance - min(self.maximum, n - 1)).sum(axis=(1, 2))
        return out

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``sum_uv w_uv^maximum = pairs`` and ``sum_uv w_uv^(minimum - 1) <= pairs - 1``."""
        pairs = list(shape.pairs())
        if self.maximum is not None and pairs:
            name = f"diameter<={self.maximum}"
            if self.maximum == 0:
                yield never(name)
            elif shape.directed or not shape.connected or self.maximum < shape.n_nodes - 1:
                near = total(within(u, v, self.maximum, shape) for u, v in pairs)
                yield Row(name, near, low=len(pairs))
        name = f"diameter>={self.minimum}"
        if self.minimum > 0 and not pairs:
            yield never(name)
        elif self.minimum > 1:
            near = total(within(u, v, self.minimum - 1, shape) for u, v in pairs)
            yield Row(name, near, high=len(pairs) - 1)


@dataclass(frozen=True, repr=False)
class CycleRange(Rule):
    """``minimum <= m - n + c <= maximum`` with m edges, n nodes, c components; undirected only.

    This is the number of independent cycles: 0 for a forest, 1 with one ring, and so on.
    """

    minimum: int = 0
    maximum: int | None = None

    def __post_init__(self) -> None:
        self._check_range()

    def direction_needed(self) -> bool | None:
        """False: undirected only, since independent cycles mean something else in digraphs."""
        return False

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        n_cycles = amount(self.minimum, self.maximum, "independent cycle", "independent cycles")
        return f"Every {nouns.graph} has {n_cycles}."

    def excess(self, batch: Batch) -> Excess:
        """Number of missing or surplus cycles."""
        self._check_direction(batch.directed)
        return over(_independent_cycles(batch), self.minimum, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum + n - 1 <= sum e_uv <= maximum + n - 1`` when connected. Otherwise

        ``minimum + n - 1 <= sum e_uv + sum_{v>=1} root_v <= maximum + n - 1``, where ``root_v``
        says that v is the first node of its component: ``root_v = 1`` exactly when
        ``sum_{u<v} w_uv^(n-1) = 0`` (node 0 is always one).
        """
        self._check_direction(shape.directed)
        n = shape.n_nodes
        roots = [] if shape.connected else [Aux(f"{self.name}.root[{v}]") for v in range(1, n)]
        terms = total([*(Edge(u, v) for u, v in shape.pairs()), *roots])
        high = None if self.maximum is None else self.maximum + n - 1
        main = list(bounded("edges + components", terms, self.minimum + n - 1, high))
        yield from main
        for v, root in enumerate(roots if main else [], start=1):
            earlier = total(within(u, v, n - 1, shape) for u in range(v))
            name = f"{root.name} is first of its component"
            yield Row(name, earlier, high=0, when=((root, True),))
            yield Row(f"not {name}", earlier, low=1, when=((root, False),))


@dataclass(frozen=True, repr=False)
class Acyclic(Rule):
    """No cycle: a directed acyclic graph, or a forest when undirected."""

    def describe(self, nouns: Nouns = GRAPHS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        return "There are no cycles."

    def excess(self, batch: Batch) -> Excess:
        """Number of independent cycles; when directed, of pairs of nodes that reach each other."""
        if not batch.directed:
            return _independent_cycles(batch).astype(float)
        reach = batch.distances < batch.n_nodes
        mutual = (reach & reach.transpose(0, 2, 1)).sum(axis=(1, 2)) - batch.n_nodes
        return np.asarray(mutual / 2.0)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``w_uv^(n-1) + w_vu^(n-1) <= 1`` for all ``u < v``; undirected: no independent cycle."""
        if not shape.directed:
            yield from CycleRange(maximum=0).rows(shape)
            return
        s = shape.n_nodes - 1
        for u, v in combinations(range(shape.n_nodes), 2):
            both = total((within(u, v, s, shape), within(v, u, s, shape)))
            yield Row(f"no cycle through {u} and {v}", both, high=1)


def _independent_cycles(batch: Batch) -> IntArray:
    """``m - n + c``; the components c are the nodes that no earlier node reaches."""
    n = batch.n_nodes
    reach = np.tril(batch.distances < n, -1)  # [v, u] with u < v: u and v are in one component
    components = (~reach.any(axis=2)).sum(axis=1)
    edges = batch.adjacency.sum(axis=(1, 2)) // 2
    return np.asarray(edges - n + components, dtype=np.int64)
