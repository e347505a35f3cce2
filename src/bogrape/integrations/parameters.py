"""The graphs of a space as flat named parameters, as used by Optuna and Ax.

==================  ================================================================================
``n_nodes``         number of nodes, if the space has graphs of several sizes
``node 3``          label of node 3, if nodes have labels: its name, or its number
``node 3 bit 0``    feature 0 of node 3: 0 or 1; absent where a rule derives the features, as
                    that of valence does for molecules
``edge 3-5``        1 if there is an edge, else 0; with edge labels, the label, or 0 for no edge
``edge 3>5``        the same for an arc of a directed graph
==================  ================================================================================

Names of nodes replace their numbers: ``edge [core-1]-[desk]``. Parameters of nodes that a graph
does not have are absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..batch import Batch
from ..errors import InvalidInputError
from ..graph import Graph
from ..space import GraphSpace

Value = str | int
Choices = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class GraphParameters:
    """The parameters of the graphs of a space; `of` writes a graph, `graph` reads it back.

    Args:
        space: the graphs.
        prefix: prefix of all names, to distinguish them from other parameters.

    >>> parameters = GraphParameters(GraphSpace(3, labels=("C", "O")))
    >>> parameters.of(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], labels=[0, 1, 0]))
    {'node 0': 'C', 'node 1': 'O', 'node 2': 'C', 'edge 0-1': 1, 'edge 0-2': 0, 'edge 1-2': 1}
    """

    space: GraphSpace
    prefix: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.space, GraphSpace):
            raise InvalidInputError(
                f"space must be a GraphSpace, got {type(self.space).__name__}; "
                "try GraphSpace(n_nodes=10)"
            )
        if not isinstance(self.prefix, str):
            raise InvalidInputError(f"prefix must be a string, got {self.prefix!r:.100}")

    @property
    def size_name(self) -> str | None:
        """The parameter for the number of nodes; ``None`` if all graphs have the same."""
        return f"{self.prefix}n_nodes" if len(self.space.sizes) > 1 else None

    @cached_property
    def choices(self) -> Choices:
        """The values of each parameter, for graphs of the largest size."""
        return self.choices_at(self.space.n_max)

    def choices_at(self, n: int) -> dict[str, tuple[Value, ...]]:
        """The values of each parameter of a graph with n nodes."""
        out: dict[str, tuple[Value, ...]] = {}
        if self.size_name is not None:
            out[self.size_name] = tuple(self.space.sizes)
        if self.space.n_labels > 1:
            out |= {self._node(v): self._labels for v in range(n)}
        for v in range(n):
            out |= {self._bit(v, k): (0, 1) for k in range(self._n_bits)}
        values = tuple(range(max(1, self.space.n_edge_labels) + 1))
        out |= {self._edge(u, v): values for u, v in self._pairs(n)}
        return out

    def of(self, graph: Graph) -> dict[str, Value]:
        """The parameters of a graph."""
        n = graph.n_nodes
        out: dict[str, Value] = {}
        if self.size_name is not None:
            out[self.size_name] = n
        if self.space.n_labels > 1:
            out |= {self._node(v): self._labels[k] for v, k in enumerate(graph.labels.tolist())}
        for v, bits in enumerate(graph.features.astype(int).tolist()):
            out |= {self._bit(v, k): bit for k, bit in enumerate(bits[: self._n_bits])}
        cells = graph.adjacency if graph.edge_labels is None else graph.edge_labels
        out |= {self._edge(u, v): int(cells[u, v]) for u, v in self._pairs(n)}
        return out

    def graph(self, values: Mapping[str, Any]) -> Graph:
        """The graph with these parameters; other parameters may be among them."""
        n = self.space.n_max
        if self.size_name is not None:
            n = int(self._given(values, self.size_name, tuple(self.space.sizes)))
        known = {
            name: self._given(values, name, choices) for name, choices in self.choices_at(n).items()
        }
        space = self.space
        labels = np.zeros(n, dtype=np.int64)
        if space.n_labels > 1:
            labels[:] = [self._labels.index(known[self._node(v)]) for v in range(n)]
        features = np.zeros((n, space.n_features), dtype=bool)
        for v in range(n):
            for k in range(self._n_bits):
                features[v, k] = bool(known[self._bit(v, k)])
        cells = np.zeros((n, n), dtype=np.int64)
        for u, v in self._pairs(n):
            cells[u, v] = known[self._edge(u, v)]
            if not space.directed:
                cells[v, u] = cells[u, v]
        edge_labels = cells if space.n_edge_labels else None
        made = Graph(cells > 0, labels, features, space.directed, edge_labels=edge_labels)
        if self._n_bits < space.n_features:
            made = space.derived(Batch.of([made])).graph(0)
        return space.named(made)

    def _given(self, values: Mapping[str, Any], name: str, choices: tuple[Value, ...]) -> Any:
        if name not in values:
            raise InvalidInputError(
                f"expected the parameters of a graph of the space, but {name!r} is missing; "
                "GraphParameters(space).of(graph) gives all of them"
            )
        value = values[name]
        if isinstance(value, (bool, np.bool_)) or value not in choices:
            shown = ", ".join(map(repr, choices[:6])) + (", ..." if len(choices) > 6 else "")
            raise InvalidInputError(f"parameter {name!r}: expected one of {shown}, got {value!r}")
        return value

    @cached_property
    def _n_bits(self) -> int:
        """Number of features per node that are not derived by a rule."""
        if any(rule.derives_features for rule in self.space.rules):
            return 0
        return self.space.n_features

    # -- names --------------------------------------------------------------------------------

    @cached_property
    def _labels(self) -> tuple[Value, ...]:
        return self.space.label_names or tuple(range(self.space.n_labels))

    def _pairs(self, n: int) -> Iterator[tuple[int, int]]:
        for u in range(n):
            for v in range(0 if self.space.directed else u + 1, n):
                if u != v:
                    yield u, v

    @cached_property
    def _names(self) -> tuple[str, ...]:
        named = self.space.nodes
        if named is None or any(mark in name for name in named for mark in "[]"):  # ambiguous
            return tuple(map(str, range(self.space.n_max)))
        return tuple(f"[{name}]" for name in named)

    def _node(self, v: int) -> str:
        return f"{self.prefix}node {self._names[v]}"

    def _bit(self, v: int, k: int) -> str:
        return f"{self._node(v)} bit {k}"

    def _edge(self, u: int, v: int) -> str:
        arrow = ">" if self.space.directed else "-"
        return f"{self.prefix}edge {self._names[u]}{arrow}{self._names[v]}"
