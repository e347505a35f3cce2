r"""Which copy of a graph the model keeps, where the rules treat nodes alike.

*Undirected, one diameter δ, no rule names a node.* Call ``far(u)`` the number of nodes at distance
δ from u. Of all ways to number the nodes keep one with

* node 0 largest in ``(far, degree)``;
* node δ of the largest degree among the nodes at distance δ from node 0;
* nodes ``0, 1, .., δ`` a shortest path (so its distances are decided: |i - j|);
* the other nodes in the order of their distance from node 0, and of falling degree among equals.

Every graph has such a numbering: choose node 0, then node δ, then any shortest path between them,
then sort the rest. Each choice is free of the ones after it, so nothing is lost.

*The same, with given layers around node 0.* Which node is node 0 is for the caller to say. Let
there be e layers: node e is one of the largest degree in the last, nodes ``0, 1, .., e`` are a
shortest path, and the others follow layer by layer, with falling degree in each. Then a pair in
layers i and j is at least ``|i - j|`` and at most ``i + j`` apart, which decides much beforehand.

*Directed acyclic, no rule names a node.* Keep topological numberings: arcs go upwards only.

*Otherwise.* Nodes that no rule names are numbered by falling degree. Any graph can be renumbered so
among those nodes, and the rules cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .structure import Structure

if TYPE_CHECKING:
    from .graph_encoding import GraphEncoding


def fixed_within(structure: Structure) -> Callable[[int, int, int], bool | None] | None:
    """What the numbering decides of "v is within s steps of u" beforehand; ``None`` if nothing."""
    diameter = structure.diameter
    if structure.layers is not None:
        return _decided_by_layers(structure.layers)
    if diameter is not None and structure.all_alike:
        return lambda u, v, s: abs(u - v) <= s if max(u, v) <= diameter else None
    if structure.acyclic and structure.all_alike:
        return lambda u, v, s: False if u > v else None  # noqa: ARG005
    return None


def symmetry_rows(encoding: GraphEncoding) -> None:
    """Add the rows that keep one numbering, or a few, of each graph."""
    structure = encoding.structure
    if structure.layers is not None:
        _sorted_layers(encoding, structure.layers)
    elif structure.diameter is not None and structure.all_alike:
        _planted_path(encoding, structure.diameter)
    elif not (structure.acyclic and structure.all_alike):
        for u, v in pairwise(structure.alike):
            encoding.model.add(encoding.degree(u) >= encoding.degree(v))


def layer_of_nodes(layers: Sequence[int]) -> list[int]:
    """The layer of every node in the numbering: a path through all layers, then the others."""
    path = range(len(layers) + 1)
    return [*path, *(i for i, size in enumerate(layers, start=1) for _ in range(size - 1))]


def _decided_by_layers(layers: Sequence[int]) -> Callable[[int, int, int], bool | None]:
    layer, last = layer_of_nodes(layers), len(layers)

    def decided(u: int, v: int, s: int) -> bool | None:
        if abs(layer[u] - layer[v]) > s:
            return False
        if max(u, v) <= last or layer[u] + layer[v] <= s:
            return True
        return None

    return decided


def _sorted_layers(encoding: GraphEncoding, layers: Sequence[int]) -> None:
    layer, last = layer_of_nodes(layers), len(layers)
    degree = [encoding.degree(v) for v in range(len(layer))]
    for v in range(last + 1, len(layer)):
        if layer[v] == last:
            encoding.model.add(degree[v] <= degree[last])
        if v + 1 < len(layer) and layer[v] == layer[v + 1]:
            encoding.model.add(degree[v] >= degree[v + 1])


def _planted_path(encoding: GraphEncoding, diameter: int) -> None:
    n, model = encoding.shape.n_nodes, encoding.model
    if diameter < 2:
        return  # the complete graph has one numbering as it is
    degree = [encoding.degree(v) for v in range(n)]
    far = [
        encoding.total(
            encoding.negated(encoding.within(u, v, diameter - 1)) for v in range(n) if v != u
        )
        for u in range(n)
    ]
    for u in range(1, n):
        model.add(n * far[u] + degree[u] <= n * far[0] + degree[0])
    for v in range(diameter + 1, n):
        beyond = encoding.negated(encoding.within(0, v, diameter - 1))
        model.add(degree[v] <= degree[diameter]).only_enforce_if(beyond)
    for v in range(diameter + 1, n - 1):
        for s in range(1, diameter + 1):
            nearer = encoding.within(0, v, s)
            encoding.clause(encoding.negated(encoding.within(0, v + 1, s)), nearer)
            same_layer = [
                literal
                for literal in (
                    encoding.within(0, v, s),
                    encoding.within(0, v + 1, s),
                    encoding.negated(encoding.within(0, v, s - 1)),
                    encoding.negated(encoding.within(0, v + 1, s - 1)),
                )
                if not isinstance(literal, bool)
            ]
            model.add(degree[v] >= degree[v + 1]).only_enforce_if(same_layer)
