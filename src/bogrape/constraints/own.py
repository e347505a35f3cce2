"""Tests of custom rules on a few graphs when a space is created, to find mistakes early.

An inconsistent rule would silently make searches and proofs wrong: its rows may differ from its
meaning, or its meaning may depend on the numbering of nodes although the space has no names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import NoReturn

import numpy as np

from ..batch import Batch
from ..errors import InvalidSpaceError
from ..graph import Graph
from .rows import Atom, Aux, Edge, EdgeLabel, HasFeature, HasLabel, Row, Shape, Within
from .rule import Rule

_NUMBERS, _FEW_NUMBERS = 20, 4  # most numbers of edges tried
_EACH = 2  # graphs per number of edges
_LARGE = 20  # nodes from which on fewer graphs are tried


def check_own_class(rule: Rule) -> None:
    """Raise `InvalidSpaceError` unless the rule is plain data that cannot change."""
    remedy = f"@dataclass(frozen=True) above class {type(rule).__name__}, with tuples for lists"
    try:
        hash(rule)
    except TypeError as error:
        rule.refuse("a frozen dataclass", f"one that can change ({error})", remedy)
    if not is_dataclass(rule) and vars(rule):
        names = ", ".join(vars(rule))
        rule.refuse("parameters as fields of a dataclass", f"attributes {names}", remedy)


def trial_graphs(shape: Shape, strong: bool) -> list[Graph]:
    """Graphs of all densities; connected, or strongly connected, as the space requires."""
    rng = np.random.default_rng(0)
    at_most = _NUMBERS if shape.n_nodes < _LARGE else _FEW_NUMBERS
    numbers = np.linspace(0, len(list(shape.pairs())), at_most, dtype=int)
    return [_random(shape, m, strong, rng) for m in np.unique(numbers) for _ in range(_EACH)]


def check_own_meaning(
    rule: Rule, graphs: Sequence[Graph], shape: Shape, alike: Sequence[int]
) -> None:
    """Raise `InvalidSpaceError` if the rule contradicts itself on these graphs.

    The graphs have this shape; ``alike`` are the nodes that may be renumbered.
    """
    rng = np.random.default_rng(0)
    inside = _inside(rule, graphs)
    try:
        one_by_one = [bool(rule.holds(graph)) for graph in graphs]
    except Exception as error:
        _refuse_raised(rule, "holds", error)
    if one_by_one != inside:
        rule.refuse(
            "holds(graph) exactly where excess(batch) is 0",
            "graphs on which they differ",
            "to define one of them only",
        )
    if _inside(rule, [_renumbered(graph, alike, rng) for graph in graphs]) != inside:
        rule.refuse(
            "the same answer for a graph however its nodes are numbered",
            "another one after renumbering",
            "nodes() to return the nodes that the rule names, or GraphSpace(nodes=[...])",
        )
    rows = list(rule.rows(shape))
    if any(isinstance(atom, Aux) for row in rows for atom, _ in (*row.terms, *row.when)):
        return  # helpers may have any value that the rows allow
    for graph, holds in zip(graphs, inside, strict=True):
        encoded = all(_satisfies(row, graph) for row in rows)
        if encoded != holds and (rule.encoded or holds):
            words = {True: "a graph that keeps", False: "a graph that breaks"}
            rule.refuse(
                "rows equivalent to holds(graph) or excess(batch)",
                f"{words[encoded]} the rows and {words[holds].removeprefix('a graph that ')} the "
                f"rule: {graph.to_json()}",
                "to compare both on it, or to leave out rows",
            )


def _inside(rule: Rule, graphs: Sequence[Graph]) -> list[bool]:
    try:
        excess = np.asarray(rule.excess(Batch.of(graphs)), dtype=float)
    except Exception as error:
        name = "holds" if type(rule).excess is Rule.excess else "excess"
        _refuse_raised(rule, name, error)
    if excess.shape != (len(graphs),) or not (excess >= 0).all():
        rule.refuse(
            "excess(batch) to be one number >= 0 for each graph",
            f"{excess!r:.80}",
            "0.0 where the rule holds, more where it does not",
        )
    return [bool(value == 0) for value in excess]


def _refuse_raised(rule: Rule, name: str, error: Exception) -> NoReturn:
    if isinstance(error, InvalidSpaceError):
        raise error
    rule.refuse(
        f"{name} to work for every graph that satisfies the rest of the space",
        f"{type(error).__name__}: {error}",
        "to handle this case",
    )


def _random(shape: Shape, n_edges: int, strong: bool, rng: np.random.Generator) -> Graph:
    """A graph with this number of edges, plus those it needs to be connected if required."""
    n = shape.n_nodes
    edges = np.zeros((n, n), dtype=bool)
    pairs = np.array(list(shape.pairs()), dtype=int).reshape(-1, 2)
    edges[tuple(rng.permutation(pairs)[:n_edges].T)] = True
    order = rng.permutation(n)
    if shape.connected and strong and shape.directed:
        edges[order, np.roll(order, 1)] = n > 1
    elif shape.connected:
        parents = [order[rng.integers(0, i)] for i in range(1, n)]
        edges[parents, order[1:]] = True
    if not shape.directed:
        edges |= edges.T
    kinds = rng.integers(1, max(1, shape.n_edge_labels) + 1, (n, n))
    kinds = kinds if shape.directed else np.maximum(kinds, kinds.T)
    return Graph(
        edges,
        rng.integers(0, shape.n_labels, n),
        rng.random((n, shape.n_features)) < 0.5,
        shape.directed,
        edge_labels=np.where(edges, kinds, 0) if shape.n_edge_labels else None,
    )


def _renumbered(graph: Graph, alike: Sequence[int], rng: np.random.Generator) -> Graph:
    order = np.arange(graph.n_nodes)
    order[list(alike)] = rng.permutation(list(alike))
    return graph.permuted(order.tolist())


def _satisfies(row: Row, graph: Graph) -> bool:
    if any(_true(atom, graph) != wanted for atom, wanted in row.when):
        return True
    return bool(row.low <= sum(c * _true(atom, graph) for atom, c in row.terms) <= row.high)


def _true(atom: Atom, graph: Graph) -> bool:
    match atom:
        case Edge(u, v):
            return bool(graph.adjacency[u, v])
        case HasLabel(v, label):
            return bool(graph.labels[v] == label)
        case HasFeature(v, feature):
            return bool(graph.features[v, feature])
        case EdgeLabel(u, v, k):
            return graph.edge_labels is not None and bool(graph.edge_labels[u, v] == k)
        case Within(u, v, s):
            return bool(graph.distances()[u, v] <= s)
    raise AssertionError(atom)
