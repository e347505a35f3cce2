"""The counts of `Coordinates` as variables of a CP-SAT model, with or without a graph behind them.

`count_rows` lists what is known of the counts of all graphs (`lengths`, `triangles` and
`connections` beside), `bare_counts` makes variables that obey such rows: a relaxation that is
solved in no time. `graph_counts` ties the same variables to the edges and labels of a
`GraphEncoding`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from ortools.sat.python import cp_model

from ....encoding import GraphEncoding, Structure
from . import connections, layers, lengths, triangles
from .coordinates import Coordinates
from .facts import Fact
from .free_attributes import FreeAttributes

Row = tuple[dict[int, int], float, float]  # low <= sum weight x <= high, by position in x


def bare_counts(model: Any, coordinates: Coordinates, rows: Iterable[Row]) -> list[Any]:
    """Variables for the counts that obey rows."""
    upper = coordinates.upper()
    counts = [
        model.new_int_var(0, int(top), f"count{key}")
        for key, top in zip([*coordinates.paths, *coordinates.nodes], upper, strict=True)
    ]
    for weights, low, high in rows:
        expression = cp_model.LinearExpr.weighted_sum(
            [counts[i] for i in weights], list(weights.values())
        )
        if low > -math.inf:
            model.add(expression >= int(low))
        if high < math.inf:
            model.add(expression <= int(high))
    return counts


def count_rows(
    structure: Structure,
    coordinates: Coordinates,
    free: FreeAttributes | None,
    facts: Sequence[Fact] = (),
) -> Iterator[Row]:
    """What the counts of every graph of the structure satisfy."""
    yield from _path_rows(structure, coordinates, facts)
    place = {m: len(coordinates.paths) + j for j, m in enumerate(coordinates.nodes)}
    shape = structure.shape
    if coordinates.composition is None:
        yield {place[k]: 1 for k in range(shape.n_labels)}, shape.n_nodes, shape.n_nodes
    for row in free.rows if free is not None else ():
        yield {i: int(row.weights[m]) for m, i in place.items()}, row.low, row.high


def _path_rows(
    structure: Structure, coordinates: Coordinates, facts: Sequence[Fact]
) -> Iterator[Row]:
    by_length: dict[int, list[int]] = {}
    for i, path in enumerate(coordinates.paths):
        by_length.setdefault(path[0], []).append(i)
    yield from type_rows(structure, coordinates)
    known_types = coordinates.composition is not None or len(by_length) == len(coordinates.paths)
    if known_types and structure.connectivity == "strong" and not structure.shape.directed:
        yield from _near_rows(structure, coordinates)
    for weights, low, high in length_rows(structure, facts):
        yield {i: weights[s] for s in weights for i in by_length[s]}, low, high


def length_rows(
    structure: Structure, facts: Sequence[Fact]
) -> Iterator[tuple[dict[int, int], float, float]]:
    """Rows ``low <= sum weight_s h_s <= high`` that all graphs of the structure satisfy."""
    n, diameter = structure.shape.n_nodes, structure.diameter
    if diameter is None or n == 1:
        return
    for _, weights, low, high in lengths.rows(n, diameter, facts):
        yield weights, low, high
    if structure.layers is not None:
        for s, fewest, most in layers.rows(diameter, structure.layers):
            yield dict.fromkeys(range(s, diameter + 1), 1), fewest, most


def type_rows(structure: Structure, coordinates: Coordinates) -> Iterator[Row]:
    """The pairs of a type (the labels of their ends) are shared out over the distances."""
    by_type: dict[tuple[int, ...], list[int]] = {}
    for i, path in enumerate(coordinates.paths):
        by_type.setdefault(path[1:], []).append(i)
    if coordinates.composition is None and len(by_type) > 1:
        return  # nobody knows how many there are of each
    for types, members in by_type.items():
        total = coordinates.n_pairs(*types)
        least = total if structure.connectivity == "strong" else -math.inf
        yield dict.fromkeys(members, 1), least, total


def _near_rows(structure: Structure, coordinates: Coordinates) -> Iterator[Row]:
    """What is known of pairs by the labels of their ends, in connected undirected graphs."""
    sizes = {0: coordinates.shape.n_nodes}
    if coordinates.composition is not None:
        sizes = dict(enumerate(coordinates.composition))
    place = {path: i for i, path in enumerate(coordinates.paths)}
    longest = coordinates.longest
    for weights, low in chain(
        triangles.rows(sizes, longest), connections.rows(sizes, longest, structure.diameter)
    ):
        at = {place.get(key, place.get(key[:1])): w for key, w in weights.items() if w}
        yield {i: weight for i, weight in at.items() if i is not None}, low, math.inf


def graph_counts(encoding: GraphEncoding, coordinates: Coordinates, counts: list[Any]) -> None:
    """Tie count variables to the graph of an encoding."""
    model, shape = encoding.model, encoding.shape
    paths = dict(zip(coordinates.paths, counts, strict=False))
    nodes = dict(zip(coordinates.nodes, counts[len(coordinates.paths) :], strict=True))
    if coordinates.paths and len(coordinates.paths[0]) == 3:
        _typed_counts(encoding, coordinates, paths)
    else:
        places = [(u, v) for u, v in encoding.ordered_pairs() if shape.directed or u < v]
        before: Any = 0
        for s in range(1, coordinates.longest + 1):
            now = encoding.total(encoding.within(u, v, s) for u, v in places)
            model.add(paths[(s,)] == now - before)
            before = now
    if encoding.has_attributes:
        _node_counts(encoding, coordinates, nodes)


def _node_counts(encoding: GraphEncoding, coordinates: Coordinates, nodes: dict[int, Any]) -> None:
    shape, model = encoding.shape, encoding.model
    everyone = range(shape.n_nodes)
    for label in range(shape.n_labels):
        total = encoding.total(encoding.label(v, label) for v in everyone)
        if coordinates.composition is not None:
            if not isinstance(total, int):
                model.add(total == coordinates.composition[label])
        else:
            model.add(nodes[label] == total)
    for m in range(shape.n_features):
        total = encoding.total(encoding.feature(v, m) for v in everyone)
        model.add(nodes[shape.n_labels + m] == total)


def _typed_counts(
    encoding: GraphEncoding, coordinates: Coordinates, paths: dict[tuple[int, ...], Any]
) -> None:
    """Pairs within s steps, split by the labels of their ends (erratum E7, in cumulative form)."""
    model, shape = encoding.model, encoding.shape
    types = sorted({key[1:] for key in coordinates.paths})
    places = [(u, v) for u, v in encoding.ordered_pairs() if shape.directed or u < v]
    if len(types) == 1 and coordinates.composition is not None:
        before: Any = 0
        for s in range(1, coordinates.longest + 1):
            now = encoding.total(encoding.within(u, v, s) for u, v in places)
            model.add(paths[(s, *types[0])] == now - before)
            before = now
        return
    near: dict[tuple[int, tuple[int, ...]], list[Any]] = {}
    for u, v in places:
        kinds = {kind: _is_type(encoding, u, v, kind) for kind in types}
        model.add_exactly_one(kinds.values())
        for s in range(1, coordinates.longest + 1):
            within = encoding.within(u, v, s)
            for kind, is_kind in kinds.items():
                if within is False:
                    continue
                if within is True:
                    near.setdefault((s, kind), []).append(is_kind)
                    continue
                both = model.new_bool_var(f"near[{u},{v},{s},{kind}]")
                model.add_implication(both, is_kind)
                model.add_implication(both, within)
                model.add_bool_or([both, is_kind.negated(), within.negated()])
                near.setdefault((s, kind), []).append(both)
    for kind in types:
        earlier: Any = 0
        for s in range(1, coordinates.longest + 1):
            now = encoding.total(near.get((s, kind), []))
            model.add(paths[(s, *kind)] == now - earlier)
            earlier = now


def _is_type(encoding: GraphEncoding, u: int, v: int, kind: tuple[int, ...]) -> Any:
    """The literal "u and v have these two labels" (in this order when directed)."""
    a, b = kind
    model = encoding.model
    out = model.new_bool_var(f"type[{u},{v},{a},{b}]")

    def label(node: int, k: int) -> Any:
        return encoding.label(node, k)

    if encoding.shape.directed or a == b:
        for literal in (label(u, a), label(v, b)):
            encoding.clause(out.negated(), literal)
        encoding.clause(out, encoding.negated(label(u, a)), encoding.negated(label(v, b)))
        return out
    for node in (u, v):
        encoding.clause(out.negated(), label(node, a), label(node, b))
    for k in (a, b):
        encoding.clause(out.negated(), label(u, k), label(v, k))
        encoding.clause(out.negated(), encoding.negated(label(u, k)), encoding.negated(label(v, k)))
    encoding.clause(out, encoding.negated(label(u, a)), encoding.negated(label(v, b)))
    encoding.clause(out, encoding.negated(label(u, b)), encoding.negated(label(v, a)))
    return out
