"""`NamedNodes`: the rule that distinguishes the nodes of a space by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..batch import Batch
from ..domain import GRAPHS, Nouns
from ..graph import Graph
from .rows import HasLabel, Row, Shape, total
from .rule import Excess, Label, Rule
from .words import called


@dataclass(frozen=True, repr=False)
class NamedNodes(Rule):
    """Node v is the site ``names[v]`` and, where ``labels`` are given, has the label ``labels[v]``.

    `GraphSpace(nodes=[...])` adds this rule. It names every node, so that no two of them are
    treated as interchangeable, and identifies graphs node by node instead of up to isomorphism.
    """

    names: Any
    labels: Any = ()

    @property
    def name(self) -> str:
        """Short text for messages."""
        some = ", ".join(self.names[:3]) + (", ..." if len(self.names) > 3 else "")
        return f"{'labels' if self.labels else 'names'} of the nodes {some}"

    def nodes(self) -> frozenset[int]:
        """Every node."""
        return frozenset(range(len(self.names)))

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """With every label replaced by its index."""
        return replace(self, labels=tuple(map(resolve, self.labels)))

    def identify(self, graph: Graph) -> str | None:
        """A text of the graph node by node."""
        return graph.to_json()

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        labels = [f" ({called(label)})" for label in self.labels] or [""] * len(self.names)
        sites = [f"{name}{label}" for name, label in zip(self.names, labels, strict=True)]
        return f"The {nouns.nodes} are {', '.join(sites)}."

    def excess(self, batch: Batch) -> Excess:
        """Number of nodes with a wrong label, missing nodes and surplus nodes."""
        n = len(self.names)
        if batch.n_nodes != n:
            return np.full(len(batch), float(abs(batch.n_nodes - n)))
        if not self.labels:
            return np.zeros(len(batch))
        return np.asarray((batch.labels != self._indices).sum(axis=1), dtype=float)

    def derive(self, batch: Batch) -> Batch:
        """The graphs with the given labels of the nodes."""
        if not self.labels or batch.n_nodes != len(self.names):
            return batch
        labels = np.broadcast_to(self._indices, batch.labels.shape).copy()
        return replace(batch, labels=labels)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``sum_v f_v,labels[v] >= n``."""
        if self.labels and shape.n_labels > 1:
            atoms = total(HasLabel(v, int(label)) for v, label in enumerate(self._indices))
            yield Row("labels of the nodes", atoms, low=len(self.names))

    @property
    def _indices(self) -> list[int]:
        return [self.index(label) for label in self.labels]
