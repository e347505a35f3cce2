"""Rules about the parts of a graph: edges, degrees, labels and named nodes.

If a graph is too small to have a node that a rule names, rules that *require or fix* something are
violated, and rules that *forbid or bound* something are satisfied. Import them from
`bogrape.constraints`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..batch import Batch
from ..domain import GRAPHS, Nouns
from .rows import (
    Atom,
    Edge,
    HasLabel,
    Row,
    Shape,
    bounded,
    edge,
    never,
    total,
)
from .rule import Excess, Label, Node, Rule, over
from .words import amount, called, capitalised, with_article

_MOST_LISTED = 12  # most edges or labels of a subgraph listed in words


@dataclass(frozen=True, repr=False)
class NumberOfEdges(Rule):
    """``minimum <= m <= maximum`` for the number of edges m (of arcs when directed)."""

    minimum: int = 0
    maximum: int | None = None

    def __post_init__(self) -> None:
        self._check_range()

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        n_edges = amount(self.minimum, self.maximum, nouns.edge, nouns.edges)
        return f"Every {nouns.graph} has {n_edges}."

    def excess(self, batch: Batch) -> Excess:
        """Number of missing or surplus edges."""
        entries = batch.adjacency.sum(axis=(1, 2))
        return over(entries if batch.directed else entries // 2, self.minimum, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum <= sum_uv e_uv <= maximum``."""
        terms = total(Edge(u, v) for u, v in shape.pairs())
        yield from bounded("edges", terms, self.minimum, self.maximum)


@dataclass(frozen=True, repr=False)
class DegreeRange(Rule):
    """``minimum <= degree(v) <= maximum`` for every node v that has the given label or index.

    In directed graphs ``direction`` picks the arcs "in", "out" or, by default, both added up.
    """

    label_fields: ClassVar[tuple[str, ...]] = ("label",)
    node_fields: ClassVar[tuple[str, ...]] = ("node",)

    minimum: int = 0
    maximum: int | None = None
    node: Any = None
    label: Label | None = None
    direction: Literal["in", "out"] | None = None

    def __post_init__(self) -> None:
        self._check_range()
        self._check_node("node", optional=True)
        self._check_label("label", optional=True)
        if self.direction not in (None, "in", "out"):
            self.refuse("direction 'in', 'out' or None", repr(self.direction), "None for in + out")

    def nodes(self) -> frozenset[int]:
        """The given node, if any."""
        return frozenset() if self.node is None else frozenset({self.node})

    def direction_needed(self) -> bool | None:
        """True if a direction is given, since only arcs have one."""
        return True if self.direction else None

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        who = f"Every {nouns.node}"
        if self.node is not None:
            who = f"{capitalised(nouns.node)} {called(self.node)}"
        if self.label is not None:
            label = f"labelled {called(self.label)}"
            who += f" {label}" if self.node is None else f", if {label},"
        which = {"in": "incoming ", "out": "outgoing ", None: ""}[self.direction]
        n_edges = amount(self.minimum, self.maximum, which + nouns.edge, which + nouns.edges)
        return f"{who} has {n_edges}."

    def excess(self, batch: Batch) -> Excess:
        """Violation of the degree bounds, summed over the nodes concerned."""
        self._check_located()
        n = batch.n_nodes
        chosen = slice(0, n) if self.node is None else slice(self.node, self.node + 1)
        leaving = batch.adjacency[:, chosen].sum(axis=2)
        entering = batch.adjacency[:, :, chosen].sum(axis=1)
        degree = leaving if not batch.directed or self.direction == "out" else entering
        if batch.directed and self.direction is None:
            degree = leaving + entering
        concerned = np.ones_like(degree, dtype=bool)
        if self.label is not None:
            concerned &= batch.labels[:, chosen] == self.index(self.label)
        wrong = over(degree, self.minimum, self.maximum) * concerned
        return np.asarray(wrong.sum(axis=1))

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For each node concerned: ``minimum <= sum_u e_uv <= maximum``, if it has the label."""
        for v in range(shape.n_nodes) if self.node is None else sorted(self.nodes()):
            if v >= shape.n_nodes:
                continue
            others = [u for u in range(shape.n_nodes) if u != v]
            atoms: list[Atom] = []
            if not shape.directed or self.direction != "in":
                atoms += [edge(v, u, shape.directed) for u in others]
            if shape.directed and self.direction != "out":
                atoms += [Edge(u, v) for u in others]
            when = () if self.label is None else ((HasLabel(v, self.index(self.label)), True),)
            yield from bounded(f"degree[{v}]", total(atoms), self.minimum, self.maximum, when)


@dataclass(frozen=True, repr=False)
class LabelCount(Rule):
    """``minimum <= N_label <= maximum`` for the number of nodes with a label."""

    label_fields: ClassVar[tuple[str, ...]] = ("label",)

    label: Label
    minimum: int = 0
    maximum: int | None = None

    def __post_init__(self) -> None:
        self._check_label("label")
        self._check_range()

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        n_nodes = amount(self.minimum, self.maximum, nouns.node, nouns.nodes)
        return f"Every {nouns.graph} has {n_nodes} labelled {called(self.label)}."

    def excess(self, batch: Batch) -> Excess:
        """Number of missing or surplus nodes with the label."""
        count = (batch.labels == self.index(self.label)).sum(axis=1)
        return over(count, self.minimum, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum <= sum_v f_vl <= maximum``."""
        label = self.index(self.label)
        terms = total(HasLabel(v, label) for v in range(shape.n_nodes))
        yield from bounded(f"nodes of label {self.label!r}", terms, self.minimum, self.maximum)


@dataclass(frozen=True, repr=False)
class FixedLabel(Rule):
    """Node ``node`` exists and has label ``label``."""

    label_fields: ClassVar[tuple[str, ...]] = ("label",)
    node_fields: ClassVar[tuple[str, ...]] = ("node",)

    node: Any
    label: Label

    def __post_init__(self) -> None:
        self._check_node("node")
        self._check_label("label")

    def nodes(self) -> frozenset[int]:
        """The node."""
        return frozenset({self.node})

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        return f"{capitalised(nouns.node)} {called(self.node)} is labelled {called(self.label)}."

    def excess(self, batch: Batch) -> Excess:
        """1 when the label differs or the node is missing."""
        self._check_located()
        label = self.index(self.label)
        if self.node >= batch.n_nodes:
            return np.ones(len(batch))
        return np.asarray(batch.labels[:, self.node] != label, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``f_vl >= 1``."""
        name, label = f"label[{self.node}]={self.label!r}", self.index(self.label)
        there = self.node < shape.n_nodes
        yield Row(name, ((HasLabel(self.node, label), 1),), low=1) if there else never(name)


@dataclass(frozen=True, repr=False)
class NamedPair(Rule):
    """Base class of rules on one pair of nodes."""

    node_fields: ClassVar[tuple[str, ...]] = ("u", "v")

    u: Any
    v: Any

    def __post_init__(self) -> None:
        u, v = self._pair((self.u, self.v), "u, v")
        self._set("u", u)
        self._set("v", v)

    def ends(self, nouns: Nouns) -> str:
        """Both nodes in words: ``node a to node b``."""
        return f"{nouns.node} {called(self.u)} to {nouns.node} {called(self.v)}"

    def nodes(self) -> frozenset[int]:
        """Both ends."""
        return frozenset({self.u, self.v})

    def undirected(self) -> Self:
        """With ``u < v``."""
        return replace(self, u=min(self.u, self.v), v=max(self.u, self.v))


@dataclass(frozen=True, repr=False)
class RequiredEdge(NamedPair):
    """The edge between u and v exists (the arc from u to v when directed).

    In a space without ``nodes=[...]`` nodes have no identity, and it only requires some edge.
    """

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        return f"{capitalised(with_article(nouns.edge))} goes from {self.ends(nouns)}."

    def excess(self, batch: Batch) -> Excess:
        """1 when the edge or one of its nodes is missing."""
        self._check_located()
        if max(self.u, self.v) >= batch.n_nodes:
            return np.ones(len(batch))
        return (~batch.adjacency[:, self.u, self.v]).astype(float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``e_uv >= 1``."""
        name = f"edge[{self.u},{self.v}]==1"
        if max(self.u, self.v) >= shape.n_nodes:
            yield never(name)
        else:
            yield Row(name, ((edge(self.u, self.v, shape.directed), 1),), low=1)


@dataclass(frozen=True, repr=False)
class ForbiddenEdge(NamedPair):
    """There is no edge between u and v (no arc from u to v when directed)."""

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        return f"No {nouns.edge} goes from {self.ends(nouns)}."

    def excess(self, batch: Batch) -> Excess:
        """1 when the edge exists."""
        self._check_located()
        if max(self.u, self.v) >= batch.n_nodes:
            return np.zeros(len(batch))
        return batch.adjacency[:, self.u, self.v].astype(float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``e_uv <= 0``."""
        if max(self.u, self.v) < shape.n_nodes:
            terms = ((edge(self.u, self.v, shape.directed), 1),)
            yield Row(f"edge[{self.u},{self.v}]==0", terms, high=0)


@dataclass(frozen=True, repr=False)
class ForbiddenAdjacency(Rule):
    """No edge joins a node of ``label_a`` and one of ``label_b`` (no arc in either direction)."""

    label_fields: ClassVar[tuple[str, ...]] = ("label_a", "label_b")

    label_a: Label
    label_b: Label

    def __post_init__(self) -> None:
        self._check_label("label_a")
        self._check_label("label_b")

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        ends = f"labelled {called(self.label_a)} and {called(self.label_b)}"
        return f"No {nouns.edge} joins {nouns.nodes} {ends}."

    def excess(self, batch: Batch) -> Excess:
        """Number of edges between the two labels."""
        a = batch.labels == self.index(self.label_a)
        b = batch.labels == self.index(self.label_b)
        between = (a[:, :, None] & b[:, None, :]) | (b[:, :, None] & a[:, None, :])
        entries = (batch.adjacency & between).sum(axis=(1, 2))
        return np.asarray(entries if batch.directed else entries // 2, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``e_uv + f_ua + f_vb <= 2`` and, for two labels, ``e_uv + f_ub + f_va <= 2``."""
        a, b = self.index(self.label_a), self.index(self.label_b)
        for u, v in shape.pairs():
            for x, y in {(a, b), (b, a)}:
                terms = total((Edge(u, v), HasLabel(u, x), HasLabel(v, y)))
                name = f"no edge[{u},{v}] from label {self.label_a!r} to {self.label_b!r}"
                yield Row(name if x == a else f"{name}, reversed", terms, high=2)


@dataclass(frozen=True, repr=False)
class RequiredSubgraph(Rule):
    """The named nodes have these edges and labels; with ``induced``, no other edges among them.

    ``labels`` maps nodes to labels; it may name nodes without any of these edges.
    """

    edges: Any  # pairs of nodes; kept as a sorted tuple of pairs
    labels: Any = ()  # mapping node -> label; kept as a sorted tuple of (node, label)
    induced: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.induced, bool):
            self.refuse("induced to be True or False", repr(self.induced), "induced=False")
        if not isinstance(self.edges, (list, tuple, set, frozenset)):
            self.refuse("edges to be a list of pairs", repr(self.edges), "edges=[(0, 1)]")
        edges = {self._pair(e, "an edge") for e in self.edges}
        self._set("edges", tuple(sorted(edges, key=_order)))
        try:
            labels = dict(self.labels or ())
        except (TypeError, ValueError):
            self.refuse("labels to map nodes to labels", repr(self.labels), "labels={0: 1}")
        self._set(
            "labels",
            tuple(
                (self._node(v, "a node of labels"), self._label(labels[v], f"the label of {v}"))
                for v in sorted(labels, key=_order)
            ),
        )
        if not self.nodes():
            self.refuse("at least one edge or label", "none", "edges=[(0, 1)]")

    def nodes(self) -> frozenset[int]:
        """All nodes on its edges or with a label."""
        return frozenset(v for e in self.edges for v in e) | {v for v, _ in self.labels}

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """With every label replaced by its index."""
        return replace(self, labels={v: resolve(label) for v, label in self.labels})

    def moved(self, locate: Callable[[Node], int]) -> Self:
        """With every node replaced by its index; refuse two labels for one node."""
        labels: dict[int, Label] = {}
        for v, label in self.labels:
            if labels.setdefault(locate(v), label) != label:
                self.refuse("one label per node", f"two for {locate(v)!r}", "keeping one of them")
        edges = [(locate(u), locate(v)) for u, v in self.edges]
        return replace(self, edges=edges, labels=labels)

    def undirected(self) -> Self:
        """With ``u < v`` in every edge."""
        return replace(self, edges=[tuple(sorted(e)) for e in self.edges])

    def forbidden(self, directed: bool) -> list[tuple[int, int]]:
        """Pairs of its nodes that must not be joined: the others, when ``induced``."""
        if not self.induced:
            return []
        pairs = (permutations if directed else combinations)(sorted(self.nodes()), 2)
        reverse = () if directed else [(v, u) for u, v in self.edges]
        return [pair for pair in pairs if pair not in {*self.edges, *reverse}]

    def describe(self, nouns: Nouns = GRAPHS) -> str:
        """The rule as a sentence."""
        edges = [f"{called(u)}–{called(v)}" for u, v in self.edges]
        labels = [f"{nouns.node} {called(v)} is {called(label)}" for v, label in self.labels]
        out = f"These {nouns.edges} are there: {_listed(edges)}" if edges else ""
        out += ("; " if edges and labels else "") + _listed(labels)
        others = f"; and no other {nouns.edges} between those {nouns.nodes}"
        return f"{capitalised(out)}{others if self.induced else ''}."

    def excess(self, batch: Batch) -> Excess:
        """Number of missing edges, missing or wrong labels, and surplus edges."""
        self._check_located()
        n = batch.n_nodes
        out = np.zeros(len(batch))
        for pairs, wanted in ((self.edges, True), (self.forbidden(batch.directed), False)):
            there = np.array([e for e in pairs if max(e) < n], dtype=np.int64).reshape(-1, 2)
            found = batch.adjacency[:, there[:, 0], there[:, 1]]
            out += (found != wanted).sum(axis=1) + (len(pairs) - len(there)) * wanted
        for v, label in self.labels:
            right = self.index(label)
            out += 1 if v >= n else batch.labels[:, v] != right
        return out

    def rows(self, shape: Shape) -> Iterator[Row]:
        """All its edges and labels sum to their number; the forbidden pairs sum to 0."""
        name = f"subgraph on {sorted(self.nodes())}"
        if max(self.nodes()) >= shape.n_nodes:
            yield never(name)
            return
        needed: set[Atom] = {edge(u, v, shape.directed) for u, v in self.edges}
        needed |= {HasLabel(v, self.index(label)) for v, label in self.labels}
        ordered = sorted(needed, key=repr)
        yield Row(f"{name}: edges and labels", total(ordered), low=len(ordered))
        others = self.forbidden(shape.directed)
        if others:
            atoms = total(edge(u, v, shape.directed) for u, v in others)
            yield Row(f"{name}: no other edges", atoms, high=0)


def _listed(items: list[str]) -> str:
    """The items, or the first of many."""
    more = len(items) - _MOST_LISTED
    return ", ".join(items[:_MOST_LISTED]) + (f", and {more} more" if more > 0 else "")


def _order(key: Any) -> Any:
    """A sorting key for nodes or pairs of them: numbers by value, before names."""
    parts = key if isinstance(key, tuple) else (key,)
    return [(isinstance(part, str), part) for part in parts]
