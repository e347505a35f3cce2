"""The meaning of every rule by its documentation, decided by counting, removing and walking.

A rule is a pair ``(name, arguments)``, with the arguments that are passed to the rule of the
package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from attack.graphs import Kind, Matrix, Plain, classes, distances

Arguments = Mapping[str, Any]
RuleText = tuple[str, Arguments]


@dataclass(frozen=True)
class Names:
    """Names by which rules may refer to nodes and labels."""

    nodes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def node(self, called: int | str) -> int:
        return self.nodes.index(called) if isinstance(called, str) else called

    def label(self, called: int | str) -> int:
        return self.labels.index(called) if isinstance(called, str) else called


def holds(rule: RuleText, graph: Plain, names: Names) -> bool:
    """True if the graph satisfies the rule."""
    name, arguments = rule
    return _RULES[name](arguments, graph, names)


def names_nodes(rule: RuleText) -> bool:
    """True if the rule can distinguish one node from another."""
    name, arguments = rule
    if name == "DegreeRange":
        return arguments.get("node") is not None
    if name == "TotalCost":
        return bool(arguments.get("costs"))
    return name not in {
        "NumberOfEdges",
        "LabelCount",
        "ForbiddenAdjacency",
        "DiameterRange",
        "CycleRange",
        "Acyclic",
        "TwoConnected",
    }


# -- single rules -------------------------------------------------------------------------------


def _in_range(arguments: Arguments, value: float) -> bool:
    low, high = arguments.get("minimum", 0), arguments.get("maximum")
    return low <= value and (high is None or value <= high)


def _degrees(arguments: Arguments, graph: Plain, names: Names) -> bool:
    only, label = arguments.get("node"), arguments.get("label")
    direction = arguments.get("direction")
    for v in range(graph.n):
        if only is not None and v != names.node(only):
            continue
        if label is not None and graph.labels[v] != names.label(label):
            continue
        leaving = sum(1 for u, _ in graph.edges() if u == v)
        entering = sum(1 for _, u in graph.edges() if u == v)
        if graph.directed and direction is not None:
            degree = leaving if direction == "out" else entering
        else:
            degree = leaving + entering
        if not _in_range(arguments, degree):
            return False
    return True


def _label_count(arguments: Arguments, graph: Plain, names: Names) -> bool:
    label = names.label(arguments["label"])
    return _in_range(arguments, sum(1 for own in graph.labels if own == label))


def _fixed_label(arguments: Arguments, graph: Plain, names: Names) -> bool:
    node = names.node(arguments["node"])
    return node < graph.n and graph.labels[node] == names.label(arguments["label"])


def _ends(arguments: Arguments, graph: Plain, names: Names) -> tuple[int, int] | None:
    """The two nodes, or None if the graph lacks one of them."""
    u, v = names.node(arguments["u"]), names.node(arguments["v"])
    return (u, v) if u < graph.n and v < graph.n else None


def _required_edge(arguments: Arguments, graph: Plain, names: Names) -> bool:
    ends = _ends(arguments, graph, names)
    return ends is not None and graph.bonds[ends[0]][ends[1]] > 0


def _forbidden_edge(arguments: Arguments, graph: Plain, names: Names) -> bool:
    ends = _ends(arguments, graph, names)
    return ends is None or graph.bonds[ends[0]][ends[1]] == 0


def _forbidden_adjacency(arguments: Arguments, graph: Plain, names: Names) -> bool:
    a, b = names.label(arguments["label_a"]), names.label(arguments["label_b"])
    ends = [(graph.labels[u], graph.labels[v]) for u, v in graph.edges()]
    return (a, b) not in ends and (b, a) not in ends


def _required_subgraph(arguments: Arguments, graph: Plain, names: Names) -> bool:
    wanted = {(names.node(u), names.node(v)) for u, v in arguments["edges"]}
    if not graph.directed:
        wanted |= {(v, u) for u, v in wanted}
    labels = arguments.get("labels", {})
    part = {v for pair in wanted for v in pair} | {names.node(v) for v in labels}
    if max(part) >= graph.n:
        return False
    if any(graph.labels[names.node(v)] != names.label(label) for v, label in labels.items()):
        return False
    for u, v in itertools.permutations(part, 2):
        there = graph.bonds[u][v] > 0
        if (u, v) in wanted and not there:
            return False
        if arguments.get("induced") and there and (u, v) not in wanted:
            return False
    return True


def _diameter(arguments: Arguments, graph: Plain, _: Names) -> bool:
    return _in_range(arguments, max(map(max, distances(graph.bonds))))


def _n_cycles(graph: Plain) -> int:
    """Number of edges that close a cycle when edges are added one by one."""
    part = list(range(graph.n))
    closing = 0
    for u, v in graph.edges():
        if part[u] == part[v]:
            closing += 1
        old, new = part[u], part[v]
        part = [new if p == old else p for p in part]
    return closing


def _acyclic(_: Arguments, graph: Plain, __: Names) -> bool:
    if not graph.directed:
        return _n_cycles(graph) == 0
    left = set(range(graph.n))
    while left:
        sources = {v for v in left if not any(graph.bonds[u][v] for u in left)}
        if not sources:
            return False
        left -= sources
    return True


def _linear(arguments: Arguments, graph: Plain, names: Names) -> bool:
    total = Decimal(0)
    for (u, v), weight in arguments.get("edges", {}).items():
        a, b = names.node(u), names.node(v)
        if a < graph.n and b < graph.n and graph.bonds[a][b]:
            total += _decimal(weight)
    for (v, label), weight in arguments.get("labels", {}).items():
        if names.node(v) < graph.n and graph.labels[names.node(v)] == names.label(label):
            total += _decimal(weight)
    for (v, feature), weight in arguments.get("features", {}).items():
        if names.node(v) < graph.n and graph.features[names.node(v)][feature]:
            total += _decimal(weight)
    low, high = arguments.get("minimum"), arguments.get("maximum")
    return (low is None or _decimal(low) <= total) and (high is None or total <= _decimal(high))


def _decimal(number: float) -> Decimal:
    """The number as it is written: 0.1 is a tenth."""
    return Decimal(repr(number))


def _total_cost(arguments: Arguments, graph: Plain, names: Names) -> bool:
    costs = {
        (names.node(u), names.node(v)): _decimal(cost)
        for (u, v), cost in arguments.get("costs", {}).items()
    }
    prices = arguments.get("edge_labels", {})
    total = Decimal(0)
    for u, v in graph.edges():
        cost = Decimal(1)
        if costs:
            otherwise = _decimal(arguments.get("otherwise") or 0)
            cost = costs.get((u, v), otherwise)
            if not graph.directed:
                cost = costs.get((u, v), costs.get((v, u), otherwise))
        if prices:
            cost *= _decimal(prices[graph.bonds[u][v]])
        total += cost
    return total <= _decimal(arguments["maximum"])


def _without_node(bonds: Matrix, v: int) -> Matrix:
    kept = [u for u in range(len(bonds)) if u != v]
    return tuple(tuple(bonds[a][b] for b in kept) for a in kept)


def _without_edge(bonds: Matrix, pair: tuple[int, int]) -> Matrix:
    gone = {pair, pair[::-1]}
    n = range(len(bonds))
    return tuple(tuple(0 if (a, b) in gone else bonds[a][b] for b in n) for a in n)


def _one_part(bonds: Matrix) -> bool:
    return max(map(max, distances(bonds))) < math.inf


def _two_connected(arguments: Arguments, graph: Plain, _: Names) -> bool:
    if graph.n == 1 or not _one_part(graph.bonds):
        return False
    if arguments.get("kind", "node") == "node":
        return all(_one_part(_without_node(graph.bonds, v)) for v in range(graph.n))
    return all(_one_part(_without_edge(graph.bonds, pair)) for pair in graph.edges())


def _paths(graph: Plain, u: int, v: int) -> list[frozenset[Any]]:
    """The edges of every path from u to v that meets no node twice."""
    found: list[frozenset[Any]] = []

    def walk(route: list[int]) -> None:
        if route[-1] == v:
            steps = list(itertools.pairwise(route))
            found.append(frozenset(steps if graph.directed else map(frozenset, steps)))
            return
        for w in range(graph.n):
            if graph.bonds[route[-1]][w] and w not in route:
                walk([*route, w])

    walk([u])
    return found


def _most_disjoint(paths: Sequence[frozenset[Any]]) -> int:
    """The largest number of these paths no two of which share an edge."""
    best = 0
    for i, path in enumerate(paths):
        best = max(best, 1 + _most_disjoint([p for p in paths[i + 1 :] if not p & path]))
    return best


def _disjoint_paths(arguments: Arguments, graph: Plain, names: Names) -> bool:
    ends = _ends(arguments, graph, names)
    return ends is not None and _most_disjoint(_paths(graph, *ends)) >= arguments.get("minimum", 2)


def _maximum_distance(arguments: Arguments, graph: Plain, names: Names) -> bool:
    ends = _ends(arguments, graph, names)
    return ends is not None and distances(graph.bonds)[ends[0]][ends[1]] <= arguments.get(
        "maximum", 1
    )


def _edit_distance(arguments: Arguments, graph: Plain, _: Names) -> bool:
    given = arguments["graph"]
    if given["n_nodes"] != graph.n:
        return False
    pairs = [tuple(pair) if graph.directed else tuple(sorted(pair)) for pair in given["edges"]]
    theirs = dict(zip(pairs, given.get("edge_labels", [1] * len(pairs)), strict=True))
    ours = {(u, v): graph.bonds[u][v] for u, v in graph.edges()}
    edits = sum(ours.get(pair, 0) != theirs.get(pair, 0) for pair in {*ours, *theirs})
    nothing: list[list[int]] = [[]] * graph.n
    given_labels = given.get("labels", [0] * graph.n)
    edits += sum(a != b for a, b in zip(graph.labels, given_labels, strict=True))
    if arguments.get("count_features", True):
        for own, wanted in zip(graph.features, given.get("features", nothing), strict=True):
            edits += sum(a != b for a, b in zip(own, wanted, strict=True))
    return edits <= int(arguments["maximum"])


def _named_nodes(arguments: Arguments, graph: Plain, names: Names) -> bool:
    labels = arguments["labels"]
    return graph.n == len(names.nodes) and (
        not labels or graph.labels == tuple(map(names.label, labels))
    )


_RULES: dict[str, Callable[[Arguments, Plain, Names], bool]] = {
    "NumberOfEdges": lambda arguments, graph, _: _in_range(arguments, len(graph.edges())),
    "DegreeRange": _degrees,
    "LabelCount": _label_count,
    "FixedLabel": _fixed_label,
    "RequiredEdge": _required_edge,
    "ForbiddenEdge": _forbidden_edge,
    "ForbiddenAdjacency": _forbidden_adjacency,
    "RequiredSubgraph": _required_subgraph,
    "DiameterRange": _diameter,
    "CycleRange": lambda arguments, graph, _: _in_range(arguments, _n_cycles(graph)),
    "Acyclic": _acyclic,
    "LinearRule": _linear,
    "TotalCost": _total_cost,
    "TwoConnected": _two_connected,
    "DisjointPaths": _disjoint_paths,
    "MaximumDistance": _maximum_distance,
    "EditDistance": _edit_distance,
    "NamedNodes": _named_nodes,
}
ALL_RULES = frozenset(_RULES)


# -- whole spaces -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlainSpace:
    """A space as its documentation describes it."""

    kind: Kind
    sizes: range
    connected: bool | str
    rules: tuple[RuleText, ...]
    names: Names

    def contains(self, graph: Plain) -> bool:
        """True if a graph of this kind, with its present numbering, is in the space."""
        return (
            graph.n in self.sizes
            and self._is_connected(graph)
            and all(holds(rule, graph, self.names) for rule in self.rules)
        )

    def _is_connected(self, graph: Plain) -> bool:
        if self.connected is False:
            return True
        bonds = graph.bonds
        if graph.directed and self.connected != "strong":
            nodes = range(graph.n)
            bonds = tuple(tuple(int(bonds[u][v] or bonds[v][u]) for v in nodes) for u in nodes)
        return _one_part(bonds)

    def identity(self, graph: Plain) -> Any:
        """A key that equal graphs share: node by node if nodes have names, else by isomorphism."""
        if self.names.nodes:
            return graph
        return graph.n, classes(self.kind, graph.n).of[graph]

    def everything(self) -> dict[Any, Plain]:
        """One graph of the space for each identity."""
        out: dict[Any, Plain] = {}
        by_node = bool(self.names.nodes) or any(map(names_nodes, self.rules))
        for n in self.sizes:
            for index, orbit in enumerate(classes(self.kind, n).members):
                if not self._is_connected(orbit[0]):
                    continue
                for graph in orbit if by_node else orbit[:1]:
                    if self.contains(graph):
                        out[graph if self.names.nodes else (n, index)] = graph
                        if not self.names.nodes:
                            break
        return out
