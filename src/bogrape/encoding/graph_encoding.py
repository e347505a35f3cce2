"""`GraphEncoding`: all graphs of a `Structure` as a CP-SAT model.

The model says which pairs are within s steps of each other, and derives everything from that:

=============================  =====================================================================
variable                       meaning
=============================  =====================================================================
``within[u, v, s]``            the distance from u to v is at most s; ``s = 1`` is the edge itself
``before[u, v, w]``            w is the node before v on some shortest path from u to v
``label[v, l]``                node v has label l
``feature[v, m]``              node v has feature m
``edge_label[u, v, k]``        the edge u, v has edge label k
``level[v, s]``                v is within s steps of node 0 when directions are ignored
``nearer[w, v]``               w is nearer to node 0 than v; ``parent[w, v]``: and a neighbour of v
=============================  =====================================================================

Rows, in the order they are added:

* ``monotone``:  within[u,v,s-1] implies within[u,v,s];
* ``step``:      within[u,w,s-1] and edge w,v imply within[u,v,s];
* ``long step``: within[u,w,a] and within[w,v,b] imply within[u,v,a+b] (implied; it propagates);
* ``support``:   a connected pair that is not adjacent has some before[u,v,w], which implies edge
  w,v and, whenever within[u,v,s], also within[u,w,s-1];
* ``connected``: the connectivity of the structure;
* ``attributes``: one label per node, one edge label per edge;
* ``diameter``:  no pair is farther apart, and one pair is that far;
* ``symmetry``:  see `bogrape.encoding.symmetry`; only among nodes that no rule names;
* ``rules``:     the rows of every rule (`Rule.rows`).

By induction on s the first four rows leave exactly one value for every within[u,v,s], given the
edges: step forces it true when a path of length s exists, support forces it false otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ..arrays import BoolArray
from ..constraints import Shape
from ..constraints.rows import Atom, Aux, Edge, EdgeLabel, HasFeature, HasLabel, Row, Within
from ..counts import distances_batch
from ..graph import Graph
from .structure import Structure
from .symmetry import Literal, fixed_within, symmetry_rows


class GraphEncoding:
    """A CP-SAT model of all graphs of a structure.

    Args:
        structure: the graphs to encode.
        attributes: whether nodes carry labels and features; without them the model is about bare
            graphs, for callers that choose attributes separately.
        symmetry: whether to leave out renumbered copies of a graph if the rules allow it.
        unique: whether every variable must be decided by the graph (for enumeration); otherwise
            ``before`` may pick any one witness, which makes a smaller model.
        skeleton: the edges, ``(n, n)``, if given. Then all distances are decided, and the model
            is about labels and features alone; the skeleton must be connected if graphs are.
    """

    def __init__(
        self,
        structure: Structure,
        *,
        attributes: bool = True,
        symmetry: bool = True,
        unique: bool = False,
        skeleton: BoolArray | None = None,
    ) -> None:
        self.structure = structure
        self.shape: Shape = structure.shape
        self.model = cp_model.CpModel()
        self.symmetry = symmetry
        self.has_attributes = attributes
        self._unique = unique
        self._has_skeleton = skeleton is not None
        self._variables: dict[tuple[Any, ...], Any] = {}
        self._within: dict[tuple[int, int, int], Literal] = {}
        n, diameter = self.shape.n_nodes, structure.diameter
        self._everywhere = structure.connectivity == "strong"
        # beyond this many steps nothing new can be reached
        self.longest = (n - 1) if diameter is None else diameter
        self._fixed = fixed_within(structure) if symmetry and skeleton is None else None
        if skeleton is not None:
            distances = distances_batch(skeleton[None])[0].tolist()
            # the skeleton fixes the numbering, so there are no renumbered copies to leave out
            self._fixed = lambda u, v, s: bool(distances[u][v] <= s)
            self.symmetry = False
            self._add_attributes()
        else:
            self._add_paths()
            self._add_connectivity()
            self._add_attributes()
            self._add_diameter()
            if symmetry:
                symmetry_rows(self)
        for rule in structure.rules:
            for row in rule.rows(self.shape):
                self.add_row(row, rule.name)

    # -- variables ----------------------------------------------------------------------------

    def within(self, u: int, v: int, s: int) -> Literal:
        """The literal "v is at most s steps from u"."""
        key = u, v, s
        if key not in self._within:
            self._within[key] = self._new_within(u, v, s)
        return self._within[key]

    def _new_within(self, u: int, v: int, s: int) -> Literal:
        if u == v:
            return s >= 0
        if s <= 0:
            return False
        if s >= self.longest:
            if self._everywhere:
                return True
            s = self.longest
        if not self.shape.directed and u > v:
            u, v = v, u
        if self._fixed is not None:
            decided = self._fixed(u, v, s)
            if decided is not None:
                return decided
        return self._variable("within", u, v, s)

    def edge(self, u: int, v: int) -> Literal:
        """The literal "there is an edge from u to v"."""
        return self.within(u, v, 1)

    def label(self, v: int, label: int) -> Literal:
        """The literal "node v has this label"."""
        return True if self.shape.n_labels == 1 else self._variable("label", v, label)

    def feature(self, v: int, feature: int) -> Literal:
        """The literal "node v has this feature"."""
        return self._variable("feature", v, feature)

    def edge_label(self, u: int, v: int, k: int) -> Literal:
        """The literal "the edge u, v exists and has edge label k"."""
        if not self.shape.directed and u > v:
            u, v = v, u
        if self._has_skeleton and not self.edge(u, v):
            return False
        return self._variable("edge_label", u, v, k)

    def _variable(self, *key: Any) -> Any:
        if key not in self._variables:
            name = f"{key[0]}[{','.join(map(str, key[1:]))}]"
            self._variables[key] = self.model.new_bool_var(name)
        return self._variables[key]

    def atom(self, atom: Atom) -> Literal:
        """The literal for an atom of `bogrape.constraints`."""
        match atom:
            case Edge(u, v):
                return self.edge(u, v)
            case Within(u, v, s):
                return self.within(u, v, s)
            case HasLabel(v, label):
                return self.label(v, label)
            case HasFeature(v, feature):
                return self.feature(v, feature)
            case EdgeLabel(u, v, k):
                return self.edge_label(u, v, k)
            case Aux(name):
                return self._variable("aux", name)

    def degree(self, v: int) -> Any:
        """Linear expression: number of edges at v (arcs in and out when directed)."""
        ends = [self.edge(v, w) for w in self._others(v)]
        if self.shape.directed:
            ends += [self.edge(w, v) for w in self._others(v)]
        return self.total(ends)

    def _others(self, *nodes: int) -> list[int]:
        return [w for w in range(self.shape.n_nodes) if w not in nodes]

    def ordered_pairs(self) -> list[tuple[int, int]]:
        """All ``(u, v)`` with ``u != v``."""
        return [(u, v) for u in range(self.shape.n_nodes) for v in self._others(u)]

    # -- clauses with decided literals --------------------------------------------------------

    @staticmethod
    def negated(literal: Literal) -> Literal:
        """The opposite literal."""
        return (not literal) if isinstance(literal, bool) else literal.negated()

    @staticmethod
    def total(literals: Iterable[Literal]) -> Any:
        """Sum of literals as a linear expression (a plain int when all are decided)."""
        literals = list(literals)
        constant = sum(1 for literal in literals if literal is True)
        free = [literal for literal in literals if not isinstance(literal, bool)]
        return cp_model.LinearExpr.sum(free) + constant if free else constant

    def clause(self, *literals: Literal) -> None:
        """Require that at least one of the literals holds."""
        if any(literal is True for literal in literals):
            return
        self.model.add_bool_or([x for x in literals if not isinstance(x, bool)])

    def add_if(self, conditions: Iterable[Literal], constraint: Any) -> None:
        """Add a linear constraint that is enforced if all conditions hold."""
        conditions = list(conditions)
        if any(condition is False for condition in conditions) or constraint is True:
            return
        free = [condition for condition in conditions if not isinstance(condition, bool)]
        self.model.add(constraint).only_enforce_if(free)

    def defined(self, key: tuple[Any, ...], define: Callable[[Any], None]) -> Any:
        """The variable with this key; at first use it is created and ``define`` adds its rows."""
        if key not in self._variables:
            define(self._variable(*key))
        return self._variables[key]

    def all_of(self, key: tuple[Any, ...], literals: Sequence[Literal]) -> Literal:
        """The literal "all of these hold"; a variable with this key, if it needs one."""
        if any(literal is False for literal in literals):
            return False
        free = [literal for literal in literals if literal is not True]
        if len(free) <= 1:
            return free[0] if free else True

        def define(both: Any) -> None:
            for literal in free:
                self.clause(both.negated(), literal)
            self.clause(both, *map(self.negated, free))

        return self.defined(key, define)

    def add_row(self, row: Row, owner: str = "") -> None:
        """Add one row of a rule, enforced when its ``when`` holds."""
        conditions = [
            self.atom(atom) if value else self.negated(self.atom(atom)) for atom, value in row.when
        ]
        if any(condition is False for condition in conditions):
            return
        conditions = [c for c in conditions if not isinstance(c, bool)]
        constant, variables, weights = 0, [], []
        for atom, weight in row.terms:
            literal = self.atom(atom)
            if isinstance(literal, bool):
                constant += int(weight) * literal
            else:
                variables.append(literal)
                weights.append(int(weight))
        low = -math.inf if row.low == -math.inf else math.ceil(row.low) - constant
        high = math.inf if row.high == math.inf else math.floor(row.high) - constant
        if not variables:
            if not low <= 0 <= high:
                self.model.add_bool_or([c.negated() for c in conditions])
            return
        expression = cp_model.LinearExpr.weighted_sum(variables, weights)
        for constraint in (
            *([expression >= int(low)] if low > -math.inf else []),
            *([expression <= int(high)] if high < math.inf else []),
        ):
            added = self.model.add(constraint).with_name(f"{owner}: {row.name}")
            if conditions:
                added.only_enforce_if(conditions)

    # -- rows ---------------------------------------------------------------------------------

    def _add_paths(self) -> None:
        pairs = [(u, v) for u, v in self.ordered_pairs() if self.shape.directed or u < v]
        for u, v in pairs:
            self.edge(u, v)  # every place for an edge gets its variable, even if no row uses it
            for s in range(2, self.longest + 1):
                self.clause(self.negated(self.within(u, v, s - 1)), self.within(u, v, s))
        for u, v in self.ordered_pairs():
            if self.within(u, v, self.longest) is not False:
                self._add_steps(u, v)
                self._add_support(u, v)

    def _add_steps(self, u: int, v: int) -> None:
        for w in self._others(u, v):
            if (edge := self.edge(w, v)) is not False:
                for s in range(2, self.longest + 1):
                    self.clause(
                        self.negated(self.within(u, w, s - 1)),
                        self.negated(edge),
                        self.within(u, v, s),
                    )
            if not self.shape.directed and u > v:
                continue
            for a in range(2, self.longest - 1):
                for b in range(2, self.longest - a + 1):
                    if a + b == self.longest and self._everywhere:
                        break
                    self.clause(
                        self.negated(self.within(u, w, a)),
                        self.negated(self.within(w, v, b)),
                        self.within(u, v, a + b),
                    )

    def _add_support(self, u: int, v: int) -> None:
        adjacent = self.edge(u, v)
        if adjacent is True:
            return
        witnesses = []
        for w in self._others(u, v):
            if self.edge(w, v) is False or self.within(u, w, self.longest) is False:
                continue
            before = self._variable("before", u, v, w)
            witnesses.append(before)
            self.clause(before.negated(), self.edge(w, v))
            self.clause(before.negated(), self.negated(adjacent))
            self.clause(before.negated(), self.within(u, v, self.longest))
            for s in range(2, self.longest + 1):
                near, nearer = self.within(u, v, s), self.within(u, w, s - 1)
                self.clause(before.negated(), self.negated(near), nearer)
                if self._unique:
                    # an edge w,v with w nearer to u than v is a witness whether it is needed or not
                    self.clause(
                        before,
                        self.negated(self.edge(w, v)),
                        self.negated(nearer),
                        self.within(u, v, s - 1),
                    )
        reached = self.within(u, v, self.longest)
        self.clause(*witnesses, adjacent, self.negated(reached))

    def _add_connectivity(self) -> None:
        n = self.shape.n_nodes
        if self.structure.connectivity != "weak" or n == 1:
            return  # `within` enforces "strong"; "any" requires nothing
        touching = {}
        for u in range(n):
            for v in range(u + 1, n):
                either = self._variable("touching", u, v)
                forth, back = self.edge(u, v), self.edge(v, u)
                self.clause(either.negated(), forth, back)
                self.clause(either, self.negated(forth))
                self.clause(either, self.negated(back))
                touching[u, v] = touching[v, u] = either
        level: dict[tuple[int, int], Literal] = {(v, 0): v == 0 for v in range(n)}
        for s in range(1, n):
            for v in range(n):
                if v == 0:
                    level[v, s] = True
                    continue
                reasons = [level[v, s - 1]]
                for w in self._others(v):
                    both = [level[w, s - 1], touching[w, v]]
                    reasons.append(self.all_of(("step", w, v, s), both))
                level[v, s] = self._variable("level", v, s)
                self.clause(level[v, s].negated(), *reasons)
                for reason in reasons:
                    self.clause(level[v, s], self.negated(reason))
        for v in range(1, n):
            self.clause(level[v, n - 1])

    def _add_attributes(self) -> None:
        if self.has_attributes:
            for v in range(self.shape.n_nodes):
                if self.shape.n_labels > 1:
                    self.model.add_exactly_one(
                        [self.label(v, k) for k in range(self.shape.n_labels)]
                    )
                for feature in range(self.shape.n_features):
                    self.feature(v, feature)
        if self.shape.n_edge_labels:
            for u, v in self.shape.pairs():
                labels = [self.edge_label(u, v, k + 1) for k in range(self.shape.n_edge_labels)]
                if not self._has_skeleton or self.edge(u, v):
                    self.model.add(self.total(labels) == self.total([self.edge(u, v)]))

    def _add_diameter(self) -> None:
        diameter, n = self.structure.diameter, self.shape.n_nodes
        if diameter is None or n == 1:
            return
        self.clause(
            *(
                self.negated(self.within(u, v, diameter - 1))
                for u, v in self.ordered_pairs()
                if u < v
            )
        )

    # -- graphs in and out --------------------------------------------------------------------

    def decode(self, value: Callable[[Any], int]) -> Graph:
        """The graph that a solution stands for; ``value`` gives the value of a variable."""

        def holds(literal: Literal) -> bool:
            return literal if isinstance(literal, bool) else bool(value(literal))

        n, shape = self.shape.n_nodes, self.shape
        adjacency = np.zeros((n, n), dtype=bool)
        for u, v in self.ordered_pairs():
            adjacency[u, v] = holds(self.edge(u, v))
        labels = np.zeros(n, dtype=np.int64)
        features = np.zeros((n, shape.n_features), dtype=bool)
        if self.has_attributes:
            for v in range(n):
                labels[v] = next(k for k in range(shape.n_labels) if holds(self.label(v, k)))
                features[v] = [holds(self.feature(v, m)) for m in range(shape.n_features)]
        edge_labels = None
        if shape.n_edge_labels:
            edge_labels = np.zeros((n, n), dtype=np.int64)
            for u, v in self.ordered_pairs():
                if adjacency[u, v]:
                    orders = range(1, shape.n_edge_labels + 1)
                    edge_labels[u, v] = next(k for k in orders if holds(self.edge_label(u, v, k)))
        return Graph(adjacency, labels, features, shape.directed, edge_labels=edge_labels)

    def forbid(self, graph: Graph) -> None:
        """Exclude this graph in its given numbering."""
        same: list[Literal] = []
        for u, v in self.shape.pairs():
            literal = self.edge(u, v)
            same.append(literal if graph.adjacency[u, v] else self.negated(literal))
            if graph.edge_labels is not None and graph.adjacency[u, v]:
                same.append(self.edge_label(u, v, int(graph.edge_labels[u, v])))
        if self.has_attributes:
            for v in range(self.shape.n_nodes):
                same.append(self.label(v, int(graph.labels[v])))
                for m in range(self.shape.n_features):
                    literal = self.feature(v, m)
                    same.append(literal if graph.features[v, m] else self.negated(literal))
        self.clause(*map(self.negated, same))

    def lift(self, graph: Graph) -> dict[Any, int]:
        """Values of all variables that the graph decides (helpers of rules are left to the solver).

        The graph must have the right shape, but need not satisfy the rows.
        """
        distance = graph.distances()
        around = np.minimum(graph.adjacency | graph.adjacency.T, 1)
        hops = Graph(around).distances()[0]
        out = {}
        for (kind, *index), variable in self._variables.items():
            match kind, index:
                case "within", [u, v, s]:
                    out[variable] = int(distance[u, v] <= s)
                case "before", [u, v, w]:
                    shorter = distance[u, v] >= 2 and distance[u, w] == distance[u, v] - 1
                    finite = math.isfinite(distance[u, v])
                    out[variable] = int(finite and shorter and bool(graph.adjacency[w, v]))
                case "label", [v, label]:
                    out[variable] = int(graph.labels[v] == label)
                case "feature", [v, feature]:
                    out[variable] = int(graph.features[v, feature])
                case "edge_label", [u, v, k]:
                    edge_labels = graph.edge_labels
                    out[variable] = int(edge_labels is not None and edge_labels[u, v] == k)
                case "touching", [u, v]:
                    out[variable] = int(around[u, v])
                case "level", [v, s]:
                    out[variable] = int(hops[v] <= s)
                case "step", [w, v, s]:
                    out[variable] = int(hops[w] <= s - 1 and around[w, v])
                case "nearer", [w, v]:
                    out[variable] = int(hops[w] < hops[v])
                case "parent", [w, v]:
                    out[variable] = int(hops[w] < hops[v] and around[w, v])
        return out
