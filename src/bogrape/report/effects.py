r"""Drivers of the prediction: effects of small exchanges in the observed graphs.

Counts of a graph cannot change one at a time: with the number of nodes fixed, one O more is one
other label less. So an effect belongs to an *exchange*, a small change from one graph of the space
to another with the same number of nodes: a label replaced, an edge added, an edge moved, ...

The effect of a kind of exchange is the mean change of the function over all such exchanges
drawn in the observed graphs, :math:`\delta = \sum_q v_q f(x_q)`, each graph with equal weight.
Under the posterior it is normal with, for ``k`` the prior covariance and ``K`` that of the
observations, noise included,

.. math:: \mathrm E\,\delta = c^\top K^{-1} y,\qquad
          \mathrm{var}\,\delta = v^\top k(Q,Q)\,v - c^\top K^{-1} c,\qquad c = k(X,Q)\,v .
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np

from ..arrays import FloatArray, IntArray
from ..batch import Batch
from ..counts import Counts, concatenate
from ..graph import Graph
from ..kernels import Kernel
from ..left_out import Inverse
from ..propose.local.moves import EDGE_LABEL, FEATURE, FLIP, RELABEL, REWIRE, SWAP, MoveTable
from ..space import GraphSpace

Kind = Literal["label", "edge", "closer", "neighbours", "feature", "edge label"]

MOST_GRAPHS = 60  # observed graphs in which exchanges are drawn
MOST_NODES = 60  # of a graph in which exchanges are drawn
_DRAWS = 16  # exchanges of each kind of move drawn in each graph
_MOST_LABELS = 5  # the most frequent ones are compared with each other
_CHANCE = 0.05  # probability of reporting any effect if there is none
_LEAST = 1e-6  # in standard deviations of the observations; smaller effects are rounding errors


@dataclass(frozen=True)
class Exchange:
    """A kind of small change at a fixed number of nodes.

    ``parts`` depend on the kind. ``label``: the label that goes and the one that comes.
    ``neighbours``: the two labels that become neighbours more often. ``feature``: the feature
    that a node gains. ``edge label``: the label of an edge that goes and the one that comes.
    """

    kind: Kind
    parts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Effect:
    """Mean change of the predicted value with an exchange, in the user's units."""

    exchange: Exchange
    mean: float
    std: float
    n_graphs: int


@dataclass
class _Drawn:
    """Drawn exchanges of one kind: graph, row before, row after and direction of each."""

    graph: list[int]
    before: list[int]
    after: list[int]
    sign: list[float]


def find_effects(
    inverse: Inverse, space: GraphSpace, graphs: Sequence[Graph], *, widening: float, seed: int
) -> list[Effect]:
    """Effects that are larger than their uncertainty, largest first.

    Args:
        inverse: inverse covariance of the fitted Gaussian process.
        space: exchanges never leave it.
        graphs: the observed graphs; those outside the space, or too large, are skipped.
        widening: factor for standard deviations that leave-one-out shows to be too small.
        seed: for the choice of exchanges.
    """
    counts, kinds = _draw(space, graphs, inverse.model.kernel, seed)
    if counts is None:
        return []
    from scipy.special import ndtri

    # Bonferroni: one comparison per kind, so that chance findings are not reported.
    needed = float(ndtri(1 - _CHANCE / (2 * len(kinds))))
    out = []
    for exchange, drawn in kinds.items():
        mean, std = contrast(inverse, counts, _weights(drawn, len(counts)))
        effect = Effect(exchange, mean, widening * std, len(set(drawn.graph)))
        if abs(mean) > max(needed * effect.std, _LEAST * inverse.model.y_scale):
            out.append(effect)
    return sorted(out, key=lambda effect: -abs(effect.mean))


def contrast(inverse: Inverse, counts: Counts, weights: FloatArray) -> tuple[float, float]:
    """Posterior mean and standard deviation of a weighted sum of function values."""
    model = inverse.model
    rows = np.flatnonzero(weights)
    queries, v = counts.rows(rows), weights[rows]
    c = v @ model.cross(queries)
    # `cross` compares with the observations of a model: here those are the queries themselves.
    prior = float(v @ replace(model, counts=queries).cross(queries) @ v)
    variance = max(0.0, prior - float(c @ (inverse @ c)))
    return model.y_scale * float(c @ (inverse @ model.y)), model.y_scale * variance**0.5


def _weights(drawn: _Drawn, n: int) -> FloatArray:
    """Weights of the rows; each graph counts once, whatever the number of its exchanges."""
    share = Counter(drawn.graph)
    out = np.zeros(n)
    for graph, before, after, sign in zip(
        drawn.graph, drawn.before, drawn.after, drawn.sign, strict=True
    ):
        weight = sign / (share[graph] * len(share))
        out[after] += weight
        out[before] -= weight
    return out


# -- exchanges --------------------------------------------------------------------------------


def _draw(
    space: GraphSpace, graphs: Sequence[Graph], kernel: Kernel, seed: int
) -> tuple[Counts | None, dict[Exchange, _Drawn]]:
    """Counts of graphs before and after exchanges, and the exchanges of each kind."""
    rng, labelled = np.random.default_rng(seed), kernel.labelled
    suitable = [g for g in graphs if g.n_nodes <= MOST_NODES and space.contains(g)]
    chosen = np.linspace(0, len(suitable) - 1, min(MOST_GRAPHS, len(suitable))).round().astype(int)
    suitable = [suitable[i] for i in chosen.tolist()]
    frequent = _frequent_labels(suitable)
    tables: dict[int, MoveTable] = {}
    parts: list[Counts] = []
    kinds: dict[Exchange, _Drawn] = defaultdict(lambda: _Drawn([], [], [], []))
    n_rows = 0
    for number, graph in enumerate(suitable):
        table = tables.setdefault(graph.n_nodes, MoveTable.of(space, graph.n_nodes))
        index = _some_moves(table, frequent, rng)
        if not len(index):
            continue
        before = Batch.of([graph])
        after = table.apply(before.select(np.zeros(len(index), dtype=np.int64)), index, rng)
        inside = np.flatnonzero(space.excess(after) == 0)
        both = before.joined(after.select(inside))
        for row, move in enumerate(table.rows[index[inside]].tolist(), start=1):
            for exchange, sign in _classify(both, row, move, frequent, labelled):
                drawn = kinds[exchange]
                drawn.graph.append(number)
                drawn.before.append(n_rows)
                drawn.after.append(n_rows + row)
                drawn.sign.append(sign)
        edges = kernel.edge_labelled
        parts.append(both.counts(space.n_labels, pairs=labelled, edges=edges))
        n_rows += len(both)
    return (reduce(concatenate, parts) if kinds else None), dict(kinds)


def _frequent_labels(graphs: Sequence[Graph]) -> list[int]:
    """The labels that are compared, most frequent first."""
    total = Counter(label for graph in graphs for label in graph.labels.tolist())
    return [label for label, _ in sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))][
        :_MOST_LABELS
    ]


def _some_moves(table: MoveTable, frequent: Sequence[int], rng: np.random.Generator) -> IntArray:
    """Rows of the table: the number of moves of each kind in an exchange."""
    kind = table.rows[:, 0]
    out = []
    for move in (FLIP, REWIRE, RELABEL, SWAP, FEATURE, EDGE_LABEL):
        there = kind == move
        if move == RELABEL:
            there &= np.isin(table.rows[:, 2], frequent)
        index = np.flatnonzero(there)
        out.append(rng.permutation(index)[: _DRAWS * (4 if move == REWIRE else 1)])
    return np.concatenate(out)


def _classify(
    batch: Batch, row: int, move: Sequence[int], frequent: Sequence[int], labelled: bool
) -> Iterator[tuple[Exchange, float]]:
    """Exchanges that turn the graph of row 0 into the graph of another row, with direction."""
    kind, a, b, *_ = move
    old, new = batch.adjacency[[0, row]]
    rewired = old != new
    edge_labels = batch.edge_labels
    changed = np.zeros_like(rewired) if edge_labels is None else edge_labels[0] != edge_labels[row]
    if (changed & ~rewired).any() and kind != EDGE_LABEL:
        return  # a rule has also lowered an edge label: two changes at once
    labels = batch.labels[:, a][[0, row]].tolist()
    if kind == FLIP and rewired.any():
        yield Exchange("edge"), 1.0 if new[a, b] else -1.0
    elif kind == REWIRE and rewired.any():
        closer = int(batch.distances[0].sum() - batch.distances[row].sum())
        if closer:
            yield Exchange("closer"), float(np.sign(closer))
    elif kind == RELABEL and labels[0] != labels[1] and labels[0] in frequent:
        # Named after the rarer label: "an O instead of a C".
        gone, come = sorted(labels, key=frequent.index)
        yield Exchange("label", (gone, come)), 1.0 if labels[1] == come else -1.0
    elif kind == SWAP and labelled and labels[0] != labels[1]:
        yield from _new_neighbours(batch, row, frequent)
    elif kind == FEATURE:
        yield Exchange("feature", (b,)), 1.0 if batch.features[row, a, b] else -1.0
    elif (
        kind == EDGE_LABEL
        and edge_labels is not None
        and changed.sum() == (1 if batch.directed else 2)
    ):
        gone, come = sorted((int(edge_labels[0, a, b]), int(edge_labels[row, a, b])))
        yield Exchange("edge label", (gone, come)), 1.0 if edge_labels[row, a, b] == come else -1.0


def _new_neighbours(
    batch: Batch, row: int, frequent: Sequence[int]
) -> Iterator[tuple[Exchange, float]]:
    """Pairs of labels that are neighbours more, or less, often than before."""
    known = sorted(frequent)
    members = [batch.labels[[0, row]] == label for label in known]
    joined = (batch.adjacency[[0, row]] | batch.adjacency[[0, row]].transpose(0, 2, 1)).astype(int)
    for i, first in enumerate(known):
        for j in range(i, len(known)):
            edges = np.einsum("bu,buv,bv->b", members[i], joined, members[j])
            if edges[0] != edges[1]:
                yield (
                    Exchange("neighbours", (first, known[j])),
                    1.0 if edges[1] > edges[0] else -1.0,
                )
