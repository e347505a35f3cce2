"""Rules of the space as rows, symmetry-breaking rows, and rows that forbid single graphs.

Every rule is written as rows over atoms for graphs of exactly one size
(`bogrape.constraints.rows`); here atoms become variables, and the rows of size N bind if the graph
has N nodes. No rule needs special treatment.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from ...constraints import Aux, Edge, EdgeLabel, HasFeature, HasLabel, Within
from ...constraints import Row as RuleRow
from ...constraints.rows import Atom
from ...graph import Graph
from ...space import GraphSpace
from .attributes import Attributes
from .counting import Distances
from .linear import Linear, as_linear, total
from .paths import Paths
from .program import Program


class Rules:
    """The rules of a space.

    Rows, in the order they are added, for each rule, each size N and each row of the rule that says
    ``low <= sum c atom <= high`` whenever some atoms have given values:

    * ``rule: row@N low``:   sum c atom >= low - (low - least) * unmet
    * ``rule: row@N high``:  sum c atom <= high + (most - high) * unmet

    with ``unmet`` the number of unmet conditions (the size is one of them) and ``least``, ``most``
    the smallest and largest possible sum. The helpers of a rule are binary variables ``helper@N``.
    """

    def __init__(
        self,
        program: Program,
        space: GraphSpace,
        paths: Paths,
        attributes: Attributes,
        distances: Distances,
    ) -> None:
        self._program, self._space = program, space
        self._paths, self._attributes, self._distances = paths, attributes, distances
        self._helpers: dict[str, Linear] = {}
        self._rows: dict[int, list[RuleRow]] = {}
        for n in space.sizes:
            self._rows[n] = []
            for i, rule in enumerate(space.rules):
                for j, row in enumerate(rule.rows(space.shape(n))):
                    self._rows[n].append(row)
                    self._add(f"rule[{i}.{j}] {rule.name}: {row.name}@{n}", row, n)

    def atom(self, atom: Atom, n: int) -> Linear:
        """The variable, or sum of variables, of an atom."""
        match atom:
            case Edge(u, v):
                return self._paths.A[u, v]
            case HasLabel(v, label):
                return self._attributes.label[v, label]
            case HasFeature(v, feature):
                return self._attributes.feature[v, feature]
            case EdgeLabel(u, v, k):
                return self._attributes.edge_label[u, v, k]
            case Within(u, v, s):
                return self._distances.within(u, v, s)
            case Aux(name):
                full = f"{name}@{n}"
                if full not in self._helpers:
                    self._helpers[full] = self._program.binary(full)
                return self._helpers[full]

    def _add(self, name: str, row: RuleRow, n: int) -> None:
        unmet = 1 - self._paths.size_is(n)
        for atom, value in row.when:
            literal = self.atom(atom, n)
            unmet = unmet + (1 - literal if value else literal)
        terms = total(c * self.atom(atom, n) for atom, c in row.terms)
        least = sum(c for _, c in row.terms if c < 0)
        most = sum(c for _, c in row.terms if c > 0)
        if row.low > least:
            self._program.row(f"{name} low", terms, ">=", row.low - (row.low - least) * unmet)
        if row.high < most:
            self._program.row(f"{name} high", terms, "<=", row.high + (most - row.high) * unmet)

    def lift(self, graph: Graph, values: dict[str, float]) -> dict[str, float]:
        """Values of the helper variables, found row by row.

        The rows of a rule determine its helpers, some of them through others, or the rule computes
        their values (`Rule.helpers`); helpers of other sizes are 0.
        """
        n = graph.n_nodes
        known: dict[Atom, float] = {}
        for rule in self._space.rules:
            known.update((helper, float(value)) for helper, value in rule.helpers(graph).items())
        for row in self._rows[n]:
            for atom, _ in (*row.terms, *row.when):
                if not isinstance(atom, Aux) and atom not in known:
                    known[atom] = round(self._program.evaluate(self.atom(atom, n), values))
        waiting = [row for row in self._rows[n] if any(a not in known for a in _atoms(row))]
        while waiting:
            before = len(known)
            for row in waiting:
                _decide(row, known)
            waiting = [row for row in waiting if any(a not in known for a in _atoms(row))]
            if len(known) == before:
                break
        out = dict.fromkeys(self._helpers, 0.0)
        out.update({f"{a.name}@{n}": value for a, value in known.items() if isinstance(a, Aux)})
        return out


def _atoms(row: RuleRow) -> list[Atom]:
    return [atom for atom, _ in (*row.terms, *row.when)]


def _decide(row: RuleRow, known: dict[Atom, float]) -> None:
    """Record the atoms for which this row leaves only one value."""
    if any(known.get(atom, wanted) != wanted for atom, wanted in row.when):
        return
    free = [(atom, c) for atom, c in row.terms if atom not in known]
    least = sum(c * known.get(atom, float(c < 0)) for atom, c in row.terms)
    most = sum(c * known.get(atom, float(c > 0)) for atom, c in row.terms)
    switches = [(atom, wanted) for atom, wanted in row.when if atom not in known]
    if len(switches) == 1 and (least > row.high or most < row.low):
        ((atom, wanted),) = switches
        known[atom] = float(not wanted)
    elif not switches:
        for atom, c in free:
            if least + abs(c) > row.high:
                known[atom] = float(c < 0)
            elif most - abs(c) < row.low:
                known[atom] = float(c > 0)


class Symmetry:
    """Rows that leave out renumbered copies of a graph, for nodes that no rule tells apart.

    Rows, in the order they are added:

    * ``parent[v]``, v >= 1: sum_{u<v} A_uv >= A_vv, if all graphs are connected and no rule names a
      node: nodes can be numbered outwards from node 0. For weakly connected digraphs either
      direction counts.
    * ``degree_order[u,v]`` otherwise: the degree of u is at least that of v, for neighbours u < v
      in the list of nodes that no rule names.
    """

    def __init__(self, program: Program, space: GraphSpace, paths: Paths) -> None:
        self._space = space
        A, n = paths.A, paths.n_max
        free = space.interchangeable(n)
        self.by_parent = space.connected is not False and len(free) == n
        if self.by_parent:
            both = space.directed and space.connected != "strong"
            for v in range(1, n):
                before = [A[u, v] for u in range(v)] + [A[v, u] for u in range(v) if both]
                program.row(f"parent[{v}]", total(before), ">=", A[v, v])
            return
        for u, v in pairwise(free):
            left, right = (
                total([A[x, w] for w in range(n) if w != x] + [A[w, x] for w in range(n) if w != x])
                for x in (u, v)
            )
            program.row(f"degree_order[{u},{v}]", left, ">=", right)

    def ordered(self, graph: Graph) -> Graph:
        """The same graph, renumbered so that it satisfies the rows."""
        n, matrix = graph.n_nodes, graph.adjacency
        if self.by_parent:
            steps = matrix if self._space.connected == "strong" else matrix | matrix.T
            order, queue = [0], deque([0])
            while queue:
                for v in np.flatnonzero(steps[queue.popleft()]).tolist():
                    if v not in order:
                        order.append(v)
                        queue.append(v)
            return graph.permuted(order) if len(order) == n else graph
        free = [v for v in self._space.interchangeable(self._space.n_max) if v < n]
        degree = matrix.sum(axis=0) + matrix.sum(axis=1)
        by_degree = sorted(free, key=lambda v: -int(degree[v]))
        order = list(range(n))
        for spot, v in zip(free, by_degree, strict=True):
            order[spot] = v
        return graph.permuted(order)


def forbid(program: Program, name: str, graph: Graph, paths: Paths, attributes: Attributes) -> None:
    """Forbid one numbered graph.

    Row ``name``: at least one of its edges, labels, features, edge labels or its size is different.
    """
    n = graph.n_nodes
    same: list[tuple[Linear, bool]] = [(paths.size_is(n), True)]
    if graph.edge_labels is None:
        same += [
            (paths.A[u, v], bool(graph.adjacency[u, v])) for u, v in paths.pairs() if max(u, v) < n
        ]
    else:
        same += [
            (b, bool(graph.edge_labels[u, v] == k))
            for (u, v, k), b in attributes.edge_label.items()
            if max(u, v) < n
        ]
    same += [
        (f, True)
        for (v, label), f in attributes.label.items()
        if v < n and graph.labels[v] == label
    ]
    same += [(x, bool(graph.features[v, m])) for (v, m), x in attributes.feature.items() if v < n]
    changes = total(1 - x if there else x for x, there in same)
    program.row(name, changes if not changes.is_constant else as_linear(0.0), ">=", 1)
