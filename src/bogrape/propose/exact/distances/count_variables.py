"""The counts of `Coordinates` as variables of a CP-SAT model, with or without a graph.

`bare_counts` makes variables that obey the known inequalities on counts (`known.py`), a relaxation
that is solved almost instantly. `graph_counts` ties the same variables to the edges and labels of a
`GraphEncoding`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ortools.sat.python import cp_model

from ....encoding import GraphEncoding
from .coordinates import Coordinates, Position
from .inequality import Inequality


def bare_counts(
    model: Any, coordinates: Coordinates, inequalities: Iterable[Inequality[Position]]
) -> list[Any]:
    """Variables for counts that obey inequalities."""
    upper = coordinates.upper()
    counts = [
        model.new_int_var(0, int(top), f"count{key}")
        for key, top in zip([*coordinates.paths, *coordinates.nodes], upper, strict=True)
    ]
    for known in inequalities:
        expression = cp_model.LinearExpr.weighted_sum(
            [counts[i] for i in known.weights], list(known.weights.values())
        )
        if known.low > -math.inf:
            model.add(expression >= int(known.low))
        if known.high < math.inf:
            model.add(expression <= int(known.high))
    return counts


def graph_counts(encoding: GraphEncoding, coordinates: Coordinates, counts: list[Any]) -> None:
    """Tie count variables to the graph of an encoding."""
    model, shape = encoding.model, encoding.shape
    paths = dict(zip(coordinates.paths, counts, strict=False))
    nodes = dict(zip(coordinates.nodes, counts[len(coordinates.paths) :], strict=True))
    if coordinates.labelled:
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
    """The literal "u and v have these two labels" (in this order if directed)."""
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
