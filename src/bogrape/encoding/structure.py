"""`Structure`: the graphs that one model encodes; a space is split into a few structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

from ..constraints import Acyclic, DiameterRange, Rule, Shape, identity_of
from ..graph import Graph


@dataclass(frozen=True)
class Structure:
    """All graphs of one shape under some rules, optionally of one diameter only.

    ``connectivity`` is ``"strong"`` if every node reaches every other (for undirected graphs:
    connected), ``"weak"`` if that holds when directions are ignored, else ``"any"``.

    With ``layers``, only the graphs in which some node has that many nodes at distance 1, 2, ..,
    numbered so that it is node 0 (undirected connected graphs, and no rule may name a node).
    """

    shape: Shape
    connectivity: Literal["any", "weak", "strong"]
    _: KW_ONLY
    rules: tuple[Rule, ...] = ()
    diameter: int | None = None  # of undirected connected graphs
    layers: tuple[int, ...] | None = None

    @property
    def alike(self) -> tuple[int, ...]:
        """The nodes no rule names: renaming them leads to another graph of the structure."""
        named = frozenset[int]().union(*(rule.nodes() for rule in self.rules))
        return tuple(v for v in range(self.shape.n_nodes) if v not in named)

    @property
    def decides_helpers(self) -> bool:
        """True if a graph decides all helper variables of the rules, so that it is one solution."""
        return all(rule.decides_helpers(self.shape) for rule in self.rules)

    def identity(self, graph: Graph) -> str:
        """A string that is equal for two graphs exactly when they are the same under the rules."""
        return identity_of(graph, self.rules)

    def allows(self, graph: Graph) -> bool:
        """True if the graph satisfies the rules that no model knows (`Rule.encoded`)."""
        return all(rule.encoded or rule.holds(graph) for rule in self.rules)

    @property
    def all_alike(self) -> bool:
        """True if no rule names any node."""
        return len(self.alike) == self.shape.n_nodes

    @property
    def acyclic(self) -> bool:
        """True if every graph of the structure is directed and has no cycle."""
        return self.shape.directed and Acyclic() in self.rules

    def by_diameter(self) -> Iterator[Structure]:
        """The same graphs, split by diameter where that is finite; else the structure itself."""
        if self.shape.directed or self.connectivity != "strong":
            yield self
            return
        n = self.shape.n_nodes
        low, high = (0, 0) if n == 1 else (1, n - 1)
        if self.layers is not None:  # any two nodes are reached from node 0
            low, high = max(low, len(self.layers)), min(high, 2 * len(self.layers))
        for rule in self.rules:
            if isinstance(rule, DiameterRange):
                low = max(low, rule.minimum)
                high = high if rule.maximum is None else min(high, rule.maximum)
        for diameter in range(low, high + 1):
            yield replace(self, diameter=diameter)


def structures(
    shapes: Sequence[Shape], connected: bool | str, rules: Sequence[Rule]
) -> list[Structure]:
    """One structure per size, for a space with these shapes, connectivity and rules."""
    out = []
    for shape in shapes:
        connectivity: Literal["any", "weak", "strong"] = "any"
        if connected == "strong" or (connected and not shape.directed):
            connectivity = "strong"
        elif connected:
            connectivity = "weak"
        out.append(Structure(shape, connectivity, rules=tuple(rules)))
    return out
