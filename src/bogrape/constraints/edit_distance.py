"""`EditDistance`: at most a given number of edits from a given graph of the same size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..arrays import IntArray
from ..batch import Batch
from ..domain import GRAPHS, Nouns
from ..errors import BoGrapeError
from ..graph import Graph
from .rows import Atom, EdgeLabel, HasFeature, HasLabel, Row, Shape, bounded, edge, never
from .rule import Excess, Label, Rule, over

_FEW = 6  # most edges listed in messages
_DRAWN_EDITS = 2  # per node: up to this many, graphs are sampled by editing the given one


@dataclass(frozen=True, repr=False)
class EditDistance(Rule):
    """At most ``maximum`` edits turn the given graph into this one.

    An edit adds an edge, removes one, or changes its label; changes the label of a node; or changes
    one feature of a node. Reversing an arc takes two edits. Nodes are neither added nor
    removed: graphs of other sizes are excluded.

    `excess` and `rows` compare node v with node v. In a space without names for nodes, a graph
    satisfies the rule if *some* numbering of it does, and then this is the graph edit distance up
    to isomorphism. Where other rules refer to nodes by number or name, one numbering must satisfy
    all of them: nodes 0, 1, ... of the given graph are those the other rules call 0, 1, ...

    Args:
        graph: the given graph, its JSON text, or the data in that text.
        maximum: the largest number of edits.
        count_features: whether changing a feature is an edit. If features follow from edges
            and labels, as in molecules, it should not be.

    >>> square = Graph([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    >>> rule = EditDistance(square, maximum=1)
    >>> rule
    EditDistance(4 nodes, edges 0-1 0-3 1-2 2-3, maximum=1)
    >>> from bogrape import GraphSpace
    >>> GraphSpace(4, rules=[rule]).count()  # the square, with a diagonal, or without one edge
    3
    """

    graph: Any
    maximum: int
    count_features: bool = True

    def __post_init__(self) -> None:
        self._set("graph", self._given_graph())
        self._check_whole("maximum")
        if not isinstance(self.count_features, (bool, np.bool_)):
            self.refuse(
                "count_features to be True or False",
                repr(self.count_features),
                "count_features=False",
            )
        self._set("count_features", bool(self.count_features))

    def _given_graph(self) -> Graph:
        given, reason = self.graph, f"{self.graph!r:.100}"
        if isinstance(given, Graph):
            return given
        try:
            if isinstance(given, (Mapping, str)):
                return Graph.from_json(given if isinstance(given, str) else json.dumps(given))
        except (BoGrapeError, TypeError, ValueError) as error:
            reason = str(error)[:200]
        return self.refuse("a graph or its JSON", reason, "graph=Graph(...)")

    # -- parameters ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Short text that names the rule with its parameters."""
        if not isinstance(self.graph, Graph):  # only in an error message
            return type(self).__name__
        sign = ">" if self.graph.directed else "-"
        pairs = [f"{u}{sign}{v}" for u, v in self.graph.edges()]
        more = f" ... {len(pairs)} in all" if len(pairs) > _FEW else ""
        features = "" if self.count_features else ", count_features=False"
        return (
            f"EditDistance({self.graph.n_nodes} nodes, edges "
            f"{' '.join(pairs[:_FEW]) or 'none'}{more}, maximum={self.maximum}{features})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Type and parameters as plain JSON values; ``rule_from_dict`` reads them back."""
        data = super().to_dict()
        return {**data, "graph": json.loads(self.graph.to_json(names=True))}

    def nodes(self) -> frozenset[int]:
        """Every node of the given graph."""
        return frozenset(range(self.graph.n_nodes))

    def direction_needed(self) -> bool | None:
        """The direction of the given graph."""
        return bool(self.graph.directed)

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the labels of the space, checked against its kind of graphs."""
        graph = self.graph
        if graph.n_nodes > shape.n_nodes:
            self.refuse(
                f"a graph of at most {shape.n_nodes} nodes, as in the space",
                f"one of {graph.n_nodes}",
                "a graph of the space",
            )
        self._check_features(shape.n_features)
        top = 0 if graph.edge_labels is None else int(graph.edge_labels.max(initial=0))
        if (graph.edge_labels is not None) != (shape.n_edge_labels > 0) or (
            top > shape.n_edge_labels
        ):
            wanted = f"labels 1..{shape.n_edge_labels}" if shape.n_edge_labels else "no labels"
            got = "no labels" if graph.edge_labels is None else f"labels up to {top}"
            self.refuse(f"edges with {wanted}", got, "a graph of the space")
        return super().bind(labels, shape)

    def _check_features(self, n_features: int) -> None:
        if self.count_features and self.graph.n_features != n_features:
            self.refuse(
                f"graphs with {self.graph.n_features} features per node, as the given one",
                f"{n_features} features",
                "another graph, or count_features=False",
            )

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """With every label replaced by its index, by its name if the graph has label names."""
        graph, names = self.graph, self.graph.label_names
        used = {int(k): resolve(int(k) if names is None else names[k]) for k in set(graph.labels)}
        made = Graph(
            graph.adjacency,
            [int(used[int(k)]) for k in graph.labels],
            graph.features,
            graph.directed,
            edge_labels=graph.edge_labels,
        )
        return replace(self, graph=made)

    # -- meaning ------------------------------------------------------------------------------

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        edits = "one edit away" if self.maximum == 1 else f"{self.maximum} edits away"
        return (
            f"At most {edits} from a given {nouns.graph} of {self.graph.n_nodes} {nouns.nodes} "
            f"(an edit changes one of the {nouns.edges} or the label of one of the {nouns.nodes})."
        )

    def edits(self, batch: Batch) -> IntArray:
        """Number of edits from the given graph, for graphs of its size."""
        self._check_direction(batch.directed)
        self._check_features(batch.features.shape[2])
        graph = self.graph
        if batch.edge_labels is None or graph.edge_labels is None:
            differs = batch.adjacency != graph.adjacency
        else:
            differs = batch.edge_labels != graph.edge_labels
        out = differs.sum(axis=(1, 2)) // (1 if graph.directed else 2)
        out = out + (batch.labels != graph.labels).sum(axis=1)
        if self.count_features:
            out = out + (batch.features != graph.features).sum(axis=(1, 2))
        return np.asarray(out)

    def excess(self, batch: Batch) -> Excess:
        """Edits beyond the maximum; for graphs of another size, the difference in size."""
        if batch.n_nodes != self.graph.n_nodes:
            return np.full(len(batch), float(abs(batch.n_nodes - self.graph.n_nodes)))
        return over(self.edits(batch), 0.0, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """One row: the number of differences from the given graph."""
        graph, n = self.graph, self.graph.n_nodes
        name = f"edits from a given graph of {n} nodes"
        if shape.n_nodes != n:
            yield never(name)
            return
        there: list[Atom] = []  # what is true of the given graph: an edit when it is not
        absent: list[Atom] = []
        for u, v in shape.pairs():
            if not graph.adjacency[u, v]:
                absent.append(edge(u, v, shape.directed))
            elif graph.edge_labels is None:
                there.append(edge(u, v, shape.directed))
            else:
                there.append(EdgeLabel(u, v, int(graph.edge_labels[u, v])))
        if shape.n_labels > 1:
            there += [HasLabel(v, int(label)) for v, label in enumerate(graph.labels)]
        if self.count_features:
            for (v, m), bit in np.ndenumerate(graph.features):
                (there if bit else absent).append(HasFeature(v, m))
        terms = tuple((atom, 1) for atom in absent) + tuple((atom, -1) for atom in there)
        yield from bounded(name, terms, None, self.maximum - len(there))

    # -- sampling -----------------------------------------------------------------------------

    def draw(
        self, rules: Sequence[Rule], shape: Shape, k: int, rng: np.random.Generator
    ) -> Batch | None:
        """k graphs made from the given one by at most ``maximum`` random edits."""
        graph, n = self.graph, self.graph.n_nodes
        if shape.n_nodes != n or self.maximum > _DRAWN_EDITS * n:
            return None
        cells = (graph.adjacency if graph.edge_labels is None else graph.edge_labels).astype(int)
        cells = np.repeat(cells[None], k, axis=0)
        labels = np.repeat(graph.labels[None], k, axis=0)
        features = np.zeros((k, n, shape.n_features), dtype=bool)
        if graph.n_features == shape.n_features:
            features[:] = graph.features
        pairs = np.array(list(shape.pairs()), dtype=int).reshape(-1, 2)
        free_features = shape.n_features if self.count_features else 0
        n_places = np.array([len(pairs), n * (shape.n_labels > 1), n * free_features])
        wanted = rng.integers(0, self.maximum + 1, size=k)
        for step in range(self.maximum if n_places.sum() else 0):
            place = rng.integers(n_places.sum(), size=k)
            kind = np.where(wanted > step, np.searchsorted(n_places.cumsum(), place, "right"), -1)
            i = np.flatnonzero(kind == 0)
            u, v = pairs[place[i]].T
            # any value but the present one: 0 for no edge, then the labels of edges
            others = rng.integers(1, max(1, shape.n_edge_labels) + 1, size=len(i))
            values = (cells[i, u, v] + others) % (max(1, shape.n_edge_labels) + 1)
            cells[i, u, v] = values
            if not shape.directed:
                cells[i, v, u] = values
            i = np.flatnonzero(kind == 1)
            v = place[i] - n_places[0]
            others = rng.integers(1, max(2, shape.n_labels), size=len(i))
            labels[i, v] = (labels[i, v] + others) % shape.n_labels
            i = np.flatnonzero(kind == 2)
            v, m = np.divmod(place[i] - n_places[:2].sum(), max(1, free_features))
            features[i, v, m] ^= True
        edge_labels = cells if shape.n_edge_labels else None
        batch = Batch(cells > 0, labels, features, edge_labels, shape.directed)
        for rule in rules:
            batch = rule.derive(batch)
        return batch
