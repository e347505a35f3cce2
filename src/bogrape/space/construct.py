"""Random graphs built to respect the simple rules: the first half of sampling.

A graph is built in this order: labels, required edges, a random spanning tree (or ears, if strongly
connected), further edges up to a random number. Forbidden edges, label counts, the number of
edges, upper bounds on degrees and a budget are respected as far as a greedy builder can, and no
node is left with one edge where graphs must be two-connected; `sampler` repairs what this builder
misses. All graphs of a batch are built together: loops run over nodes or places for edges, never
over graphs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..batch import Batch
from ..constraints import (
    Acyclic,
    CycleRange,
    DegreeRange,
    DiameterRange,
    Edge,
    ForbiddenAdjacency,
    HasFeature,
    HasLabel,
    LabelCount,
    Rule,
    Shape,
    TotalCost,
    TwoConnected,
)
from .propagation import Known

_LOOK_EVERY = 16  # places between two checks of the clock


class OutOfTime(Exception):
    """The time was up before the graphs were built."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Data of a space at one size that the builder needs."""

    shape: Shape
    rules: tuple[Rule, ...]
    known: Known
    strong: bool
    deadline: float = math.inf  # `time.monotonic` value at which building is given up

    @cached_property
    def slots(self) -> IntArray:
        """Places for an edge, ``(P, 2)``, in the order of `Shape.pairs`."""
        free = ~np.eye(self.shape.n_nodes, dtype=bool)
        return np.argwhere(free if self.shape.directed else np.triu(free))

    def decided(self, value: bool) -> BoolArray:
        """Places that must (True) or must not (False) hold an edge, ``(P,)``."""
        return np.array(
            [self.known.value.get(Edge(int(u), int(v))) is value for u, v in self.slots], dtype=bool
        )

    @cached_property
    def forest(self) -> bool:
        """True if undirected graphs must not have a cycle."""
        return not self.shape.directed and any(
            isinstance(rule, Acyclic) or (isinstance(rule, CycleRange) and rule.maximum == 0)
            for rule in self.rules
        )

    @cached_property
    def dag(self) -> bool:
        """True if arcs must not form a cycle."""
        return self.shape.directed and any(isinstance(rule, Acyclic) for rule in self.rules)

    @cached_property
    def most_edges(self) -> int:
        """An upper bound on the number of edges, from the rules and the diameter."""
        n, most = self.shape.n_nodes, self.known.n_edges[1]
        for rule in self.rules:
            d = rule.minimum if isinstance(rule, DiameterRange) else 0
            if 2 <= d < n and self.shape.connected and not self.shape.directed:
                most = min(most, d + (n - d - 1) * (n - d + 4) // 2)  # Ore 1968
        if self.forest:
            most = min(most, n - 1)
        return int(min(most, len(self.slots)))

    @cached_property
    def apart(self) -> BoolArray:
        """Pairs of labels that must not be adjacent, ``(L, L)``."""
        out = np.zeros((self.shape.n_labels,) * 2, dtype=bool)
        for rule in self.rules:
            if isinstance(rule, ForbiddenAdjacency):
                a, b = rule.index(rule.label_a), rule.index(rule.label_b)
                out[a, b] = out[b, a] = True
        return out

    @cached_property
    def labels_fixed(self) -> bool:
        """True if the rules decide the label of every node."""
        decided = {
            atom.v
            for atom, value in self.known.value.items()
            if isinstance(atom, HasLabel) and value
        }
        return len(decided) == self.shape.n_nodes

    @cached_property
    def two_connected(self) -> bool:
        """True if every node needs two edges, so that losing one does not cut it off."""
        wanted = any(isinstance(rule, TwoConnected) for rule in self.rules)
        return wanted and self.shape.n_nodes > 2

    @cached_property
    def budget(self) -> TotalCost | None:
        """The tightest rule on the total cost."""
        rules = [rule for rule in self.rules if isinstance(rule, TotalCost)]
        return min(rules, key=lambda rule: rule.maximum, default=None)

    @cached_property
    def costs(self) -> IntArray:
        """Cost of an edge with each edge label, ``(edge labels or 1, n, n)``; 0 if no budget."""
        n = self.shape.n_nodes
        if self.budget is None:
            return np.zeros((1, n, n), dtype=np.int64)
        return self.budget.table(n, self.shape.directed)

    def caps(self, labels: IntArray, direction: str | None) -> IntArray:
        """Largest degree the rules allow each node, ``(B, n)``."""
        out = np.full(labels.shape, 2 * self.shape.n_nodes)
        for rule in self.rules:
            if not isinstance(rule, DegreeRange) or rule.maximum is None:
                continue
            if rule.direction != direction:
                continue
            concerned = np.ones(labels.shape, dtype=bool)
            if rule.node is not None:
                concerned &= np.arange(labels.shape[1]) == rule.node
            if rule.label is not None:
                concerned &= labels == rule.index(rule.label)
            out[concerned] = np.minimum(out[concerned], rule.maximum)
        return out


def build(recipe: Recipe, k: int, rng: np.random.Generator, skew: float = 1.0) -> Batch:
    """k random graphs; ``skew`` above 1 prefers sparse ones, below 1 dense ones."""
    labels = _labels(recipe, k, rng)
    site = _Site(recipe, labels, rng)
    site.place_required()
    target = site.targets(rng.random(k) ** skew)
    if recipe.strong:
        site.add_ears(rng)
    elif recipe.shape.connected:
        site.join()
    elif recipe.forest:
        site.join(target)
    if recipe.two_connected:
        site.fill(target, least_degree=2)
    if not recipe.forest:
        site.fill(target)
    return site.batch(_features(recipe, k, rng), rng)


def _labels(recipe: Recipe, k: int, rng: np.random.Generator) -> IntArray:
    """Random labels that respect decided ones and, node by node, the counts of labels."""
    n, n_labels = recipe.shape.n_nodes, recipe.shape.n_labels
    possible = np.ones((n, n_labels), dtype=bool)
    for atom, value in recipe.known.value.items():
        if isinstance(atom, HasLabel):
            possible[atom.v, atom.label] &= value
    low, high = _label_ranges(recipe.rules, n_labels, n)
    if possible.all() and not low.any() and (high >= n).all():
        return rng.integers(n_labels, size=(k, n))
    labels = np.zeros((k, n), dtype=np.int64)
    counts = np.zeros((k, n_labels), dtype=np.int64)
    # nodes with few choices first, the others in random order
    order = np.argsort(possible.sum(axis=1) + rng.random((k, n)), axis=1)
    everyone = np.arange(k)
    for step in range(n):
        node = order[:, step]
        missing = np.maximum(low - counts, 0)
        pressed = missing.sum(axis=1) >= n - step  # only missing labels are allowed
        open_ = possible[node] & (counts < high) & ((missing > 0) | ~pressed[:, None])
        wishes = open_ * 2.0 + possible[node] + rng.random((k, n_labels)) / 2
        chosen = wishes.argmax(axis=1)
        labels[everyone, node] = chosen
        counts[everyone, chosen] += 1
    return labels


def _label_ranges(rules: Sequence[Rule], n_labels: int, n: int) -> tuple[IntArray, IntArray]:
    low, high = np.zeros(n_labels, dtype=np.int64), np.full(n_labels, n)
    for rule in rules:
        if isinstance(rule, LabelCount):
            label = rule.index(rule.label)
            low[label] = max(low[label], rule.minimum)
            if rule.maximum is not None:
                high[label] = min(high[label], rule.maximum)
    return low, high


def _features(recipe: Recipe, k: int, rng: np.random.Generator) -> BoolArray:
    features = rng.random((k, recipe.shape.n_nodes, recipe.shape.n_features)) < 0.5
    for atom, value in recipe.known.value.items():
        if isinstance(atom, HasFeature):
            features[:, atom.v, atom.feature] = value
    return features


class _Site:
    """A batch of graphs under construction: edges so far, and how many more each node may get."""

    def __init__(self, recipe: Recipe, labels: IntArray, rng: np.random.Generator) -> None:
        k, n = labels.shape
        self.recipe, self.labels = recipe, labels
        self.adjacency = np.zeros((k, n, n), dtype=bool)
        self.n_edges = np.zeros(k, dtype=np.int64)
        self.spare = recipe.caps(labels, None)
        self.spare_out = recipe.caps(labels, "out")
        self.spare_in = recipe.caps(labels, "in")
        self.capped = bool(
            min(self.spare.min(), self.spare_out.min(), self.spare_in.min()) < 2 * n - 2
        )
        self.component = np.tile(np.arange(n), (k, 1))
        self.everyone = np.arange(k)
        self.allowed = self._allowed(rng)
        self.sequence = np.argsort(self._keys(rng), axis=1)
        self.cheapest = recipe.costs.min(axis=0)
        self.left = np.full(k, 0 if recipe.budget is None else recipe.budget.scaled_maximum)

    def _keys(self, rng: np.random.Generator) -> FloatArray:
        """Random keys, the smallest tried first; cheap places tend to come first under a budget."""
        keys = rng.random(self.allowed.shape)
        if self.recipe.budget is not None:
            u, v = self.recipe.slots.T
            costs = self.recipe.costs.min(axis=0)[u, v] / max(1.0, float(self.recipe.costs.mean()))
            taste = rng.choice([0.0, 1.0, 2.0, 4.0], size=(len(keys), 1))
            keys = -np.log1p(-keys) * np.maximum(costs, 1e-6) ** taste
        return keys

    def _allowed(self, rng: np.random.Generator) -> BoolArray:
        """Places where an edge may go, ``(k, P)``: by the rules, the labels, the order of a DAG."""
        u, v = self.recipe.slots.T
        out = ~self.recipe.decided(False) & ~self.recipe.apart[self.labels[:, u], self.labels[:, v]]
        if self.recipe.dag:
            rank = self._order(rng)
            out &= rank[:, u] < rank[:, v]
        return np.asarray(out, dtype=bool)

    def _order(self, rng: np.random.Generator) -> FloatArray:
        """Random numbers that increase along every required arc."""
        rank = rng.random(self.labels.shape)
        required = self.recipe.slots[self.recipe.decided(True)]
        for _ in range(self.recipe.shape.n_nodes if len(required) else 0):
            for u, v in required:
                late = rank[:, v] <= rank[:, u]
                rank[late, v] = rank[late, u] + rng.random(int(late.sum())) + 1e-9
        return rank

    def places(self) -> Iterator[IntArray]:
        """The next place of each graph in its random order, until the deadline."""
        for number, place in enumerate(self.sequence.T):
            if number % _LOOK_EVERY == 0 and time.monotonic() >= self.recipe.deadline:
                raise OutOfTime
            yield place

    def place(self, graphs: IntArray, u: IntArray, v: IntArray) -> None:
        """Add the edge u, v to the given graphs."""
        self.left[graphs] -= self.cheapest[u, v]
        self.adjacency[graphs, u, v] = True
        if not self.recipe.shape.directed:
            self.adjacency[graphs, v, u] = True
        self.n_edges[graphs] += 1
        self.spare[graphs, u] -= 1
        self.spare[graphs, v] -= 1
        self.spare_out[graphs, u] -= 1
        self.spare_in[graphs, v] -= 1

    def merge(self, graphs: IntArray, u: IntArray, v: IntArray) -> None:
        """Merge the components of u and v."""
        kept = self.component[graphs, u][:, None]
        gone = self.component[graphs, v][:, None]
        part = self.component[graphs]
        self.component[graphs] = np.where(part == gone, kept, part)

    def room(self, u: IntArray, v: IntArray) -> BoolArray:
        """True if the degrees of u and v allow one more edge, ``(k,)``."""
        b = self.everyone
        return np.asarray(
            (np.minimum(self.spare[b, u], self.spare[b, v]) > 0)
            & (self.spare_out[b, u] > 0)
            & (self.spare_in[b, v] > 0)
        )

    def place_required(self) -> None:
        """Add the edges that every graph must have."""
        for u, v in self.recipe.slots[self.recipe.decided(True)]:
            ends = np.full(len(self.everyone), u), np.full(len(self.everyone), v)
            self.place(self.everyone, *ends)
            self.merge(self.everyone, *ends)

    def targets(self, share: FloatArray) -> IntArray:
        """A number of edges for each graph, between the fewest and the most possible."""
        n = self.recipe.shape.n_nodes
        tree = n - 1 if self.recipe.shape.connected else 0
        low = np.maximum(self.n_edges, max(int(self.recipe.known.n_edges[0]), tree))
        high = np.minimum(self.recipe.most_edges, self.allowed.sum(axis=1))
        if self.capped:
            high = np.minimum(high, np.maximum(self.spare, 0).sum(axis=1) // 2 + self.n_edges)
        width = np.maximum(high - low, 0)
        return np.asarray(low + np.minimum((share * (width + 1)).astype(np.int64), width))

    def join(self, target: IntArray | None = None) -> None:
        """Kruskal in random order: an edge wherever it joins two components, up to ``target``."""
        b = self.everyone
        for place in self.places():
            u, v = self.recipe.slots[place].T
            here, there = self.component[b, u], self.component[b, v]
            ok = self.allowed[b, place] & (here != there)
            if target is not None:
                ok &= self.n_edges < target
            if self.capped:
                # a component without a free degree could never be joined to the rest
                joint = (self.component == here[:, None]) | (self.component == there[:, None])
                left = (self.spare * joint).sum(axis=1) > 2
                ok &= self.room(u, v) & (left | joint.all(axis=1) | (target is not None))
            graphs = np.flatnonzero(ok)
            if len(graphs):
                self.place(graphs, u[graphs], v[graphs])
                self.merge(graphs, u[graphs], v[graphs])

    def add_ears(self, rng: np.random.Generator) -> None:
        """Build random strongly connected digraphs by ears.

        Nodes are added in random order. An ear leaves a node that is already present, runs through
        the next few new ones, and returns to one of those present before it.
        """
        b, n = self.everyone, self.recipe.shape.n_nodes
        order = np.argsort(rng.random(self.labels.shape), axis=1)
        spare_ears = np.clip(self.recipe.most_edges - n, 0, max(n - 2, 0))
        share = rng.integers(spare_ears + 1, size=len(b)) / max(n - 2, 1)
        starts = rng.random((len(b), n + 1)) < share[:, None]
        starts[:, 1] = starts[:, n] = True
        first = np.zeros(len(b), dtype=np.int64)  # how many nodes were there before this ear
        for step in range(1, n):
            begins, ends = starts[:, step], starts[:, step + 1]
            first = np.where(begins, step, first)
            before = (rng.random(len(b)) * step).astype(np.int64)
            source = order[b, np.where(begins, before, step - 1)]
            self._arc(b, source, order[:, step])
            home = order[b, (rng.random(len(b)) * first).astype(np.int64)]
            self._arc(np.flatnonzero(ends), order[ends, step], home[ends])

    def _arc(self, graphs: IntArray, u: IntArray, v: IntArray) -> None:
        n = self.recipe.shape.n_nodes
        place = u * (n - 1) + v - (v > u)  # position of (u, v) in permutations(range(n), 2)
        new = self.allowed[graphs, place] & ~self.adjacency[graphs, u, v]
        self.place(graphs[new], u[new], v[new])

    def fill(self, target: IntArray, least_degree: int | None = None) -> None:
        """Further edges in random order, up to ``target`` and as far as a budget allows.

        With ``least_degree``, only edges with an end of smaller degree, regardless of the target.
        """
        b = self.everyone
        if self.capped or least_degree is not None or self.recipe.budget is not None:
            degree = self.adjacency.sum(axis=2)
            for place in self.places():
                u, v = self.recipe.slots[place].T
                ok = self.allowed[b, place] & ~self.adjacency[b, u, v]
                if least_degree is None:
                    ok &= self.n_edges < target
                else:
                    ok &= np.minimum(degree[b, u], degree[b, v]) < least_degree
                if self.recipe.budget is not None:
                    ok &= self.left >= self.cheapest[u, v]
                graphs = np.flatnonzero(ok & self.room(u, v))
                self.place(graphs, u[graphs], v[graphs])
                degree[graphs, u[graphs]] += 1
                if not self.recipe.shape.directed:
                    degree[graphs, v[graphs]] += 1
            return
        u, v = self.recipe.slots[self.sequence].transpose(2, 0, 1)
        rows = b[:, None]
        free = np.take_along_axis(self.allowed, self.sequence, axis=1) & ~self.adjacency[rows, u, v]
        free &= np.cumsum(free, axis=1) <= (target - self.n_edges)[:, None]
        graphs, place = np.nonzero(free)
        self.adjacency[graphs, u[free], v[free]] = True
        if not self.recipe.shape.directed:
            self.adjacency[graphs, v[free], u[free]] = True

    def batch(self, features: BoolArray, rng: np.random.Generator) -> Batch:
        """The finished graphs."""
        edge_labels = draw_edge_labels(self.adjacency, self.recipe.shape, rng)
        if edge_labels is not None and len(self.recipe.costs) > 1:
            edge_labels = self._affordable(edge_labels, rng)
        return Batch(self.adjacency, self.labels, features, edge_labels, self.recipe.shape.directed)

    def _affordable(self, edge_labels: IntArray, rng: np.random.Generator) -> IntArray:
        """The labels, with the cheapest on as many random edges as needed to stay within budget."""
        u, v = self.recipe.slots[np.argsort(rng.random(len(self.recipe.slots)))].T
        costs = self.recipe.costs[:, u, v]
        drawn = edge_labels[:, u, v]
        there = drawn > 0
        price = np.take_along_axis(costs[None], np.maximum(drawn - 1, 0)[:, None], axis=1)[:, 0]
        saving = np.where(there, price - costs.min(axis=0), 0)
        over = saving.sum(axis=1) - self.left  # `left` counts the cheapest label on every edge
        changed = there & (np.cumsum(saving, axis=1) - saving < over[:, None])
        drawn = np.where(changed, costs.argmin(axis=0) + 1, drawn)
        out = edge_labels.copy()
        out[:, u, v] = drawn
        if not self.recipe.shape.directed:
            out[:, v, u] = drawn
        return out


def draw_edge_labels(
    adjacency: BoolArray, shape: Shape, rng: np.random.Generator
) -> IntArray | None:
    """Random edge labels where there are edges."""
    if not shape.n_edge_labels:
        return None
    edge_labels = rng.integers(1, shape.n_edge_labels + 1, size=adjacency.shape)
    if not shape.directed:
        upper = np.triu(edge_labels)
        edge_labels = upper + upper.transpose(0, 2, 1)
    return np.asarray(edge_labels * adjacency, dtype=np.int64)
