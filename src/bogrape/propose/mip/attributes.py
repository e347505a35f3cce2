"""Rows for labels, features and edge labels, and for the weak connectivity of digraphs.

======================  ===========================================================================
``F[v,l]``              node v has label l (only with more than one label)
``x[v,m]``              node v has feature m
``B[u,v,k]``            the edge u, v has edge label k
``flow[u,v]``           flow from u to v along an edge of either direction (weak connectivity only)
======================  ===========================================================================
"""

from __future__ import annotations

from collections import deque
from itertools import permutations

import numpy as np

from ...graph import Graph
from ...space import GraphSpace
from .linear import Linear, total
from .paths import Paths
from .program import Point, Program


class Attributes:
    """All attributes of a graph: everything besides its edges.

    Rows, in the order they are added (erratum E2: a missing node has no label and no feature):

    * ``one_label[v]``:     sum_l F_vl = A_vv
    * ``feature[v,m]``:     x_vm <= A_vv  (only if the size varies)
    * ``edge_label[u,v]``:  sum_k B_uvk = A_uv
    """

    def __init__(self, program: Program, paths: Paths, space: GraphSpace) -> None:
        self._paths, self._space = paths, space
        A = paths.A
        self.label: dict[tuple[int, int], Linear] = {}
        self.feature: dict[tuple[int, int], Linear] = {}
        self.edge_label: dict[tuple[int, int, int], Linear] = {}
        for v in paths.nodes:
            if space.n_labels == 1:
                self.label[v, 0] = A[v, v]
                continue
            for label in range(space.n_labels):
                self.label[v, label] = program.binary(f"F[{v},{label}]")
            one = total(self.label[v, label] for label in range(space.n_labels))
            program.row(f"one_label[{v}]", one, "==", A[v, v])
        for v in paths.nodes:
            for m in range(space.n_features):
                self.feature[v, m] = program.binary(f"x[{v},{m}]")
                if not A[v, v].is_constant:
                    program.row(f"feature[{v},{m}]", self.feature[v, m], "<=", A[v, v])
        kinds = range(1, space.n_edge_labels + 1)
        for u, v in paths.pairs() if space.n_edge_labels else ():
            for k in kinds:
                self.edge_label[u, v, k] = program.binary(f"B[{u},{v},{k}]")
            one = total(self.edge_label[u, v, k] for k in kinds)
            program.row(f"edge_label[{u},{v}]", one, "==", A[u, v])

    def lift(self, graph: Graph) -> dict[str, float]:
        """The values of all variables for a graph."""
        out: dict[str, float] = {}
        size = graph.n_nodes
        for v in self._paths.nodes:
            if self._space.n_labels > 1:
                for label in range(self._space.n_labels):
                    out[f"F[{v},{label}]"] = float(v < size and graph.labels[v] == label)
            for m in range(self._space.n_features):
                out[f"x[{v},{m}]"] = float(v < size and graph.features[v, m])
        for u, v, k in self.edge_label:
            edge_labels = graph.edge_labels
            there = edge_labels is not None and max(u, v) < size and edge_labels[u, v] == k
            out[f"B[{u},{v},{k}]"] = float(there)
        return out

    def decode(self, values: Point) -> Graph:
        """The graph that the values of all variables describe."""
        matrix = self._paths.decode(values)
        size, space = len(matrix), self._space
        labels = np.zeros(size, dtype=np.int64)
        if space.n_labels > 1:
            weights = [[values[f"F[{v},{a}]"] for a in range(space.n_labels)] for v in range(size)]
            labels = np.argmax(weights, axis=1).astype(np.int64)
        features = np.zeros((size, space.n_features), dtype=bool)
        for v, m in np.ndindex(*features.shape):
            features[v, m] = values[f"x[{v},{m}]"] > 0.5
        edge_labels = np.zeros((size, size), dtype=np.int64) if space.n_edge_labels else None
        if edge_labels is not None:
            for u, v, k in self.edge_label:
                if max(u, v) < size and matrix[u, v] and values[f"B[{u},{v},{k}]"] > 0.5:
                    edge_labels[u, v] = k
                    if not space.directed:
                        edge_labels[v, u] = k
        return Graph(matrix, labels, features, space.directed, edge_labels=edge_labels)


class WeakConnectivity:
    """Digraphs that are connected when directions are ignored: node 0 sends a unit to each node.

    Rows, in the order they are added:

    * ``flow_edge[u,v]``:   flow_uv <= (n - 1) (A_uv + A_vu)
    * ``flow_node[v]``:     sum_u flow_uv - sum_u flow_vu = A_vv, for v >= 1
    """

    def __init__(self, program: Program, paths: Paths) -> None:
        n, A = paths.n_max, paths.A
        self._n = n
        flow = {
            (u, v): program.continuous(f"flow[{u},{v}]", 0, n - 1)
            for u, v in permutations(paths.nodes, 2)
        }
        for u, v in flow:
            limit = (n - 1) * (A[u, v] + A[v, u])
            program.row(f"flow_edge[{u},{v}]", flow[u, v], "<=", limit)
        for v in range(1, n):
            others = [u for u in paths.nodes if u != v]
            gain = total([*(flow[u, v] for u in others), *(-flow[v, u] for u in others)])
            program.row(f"flow_node[{v}]", gain, "==", A[v, v])

    def lift(self, graph: Graph) -> dict[str, float]:
        """Flows along a tree of shortest paths from node 0; zero where no path reaches."""
        joined = graph.adjacency | graph.adjacency.T
        out = {f"flow[{u},{v}]": 0.0 for u, v in permutations(range(self._n), 2)}
        parent: dict[int, int] = {0: 0}
        queue = deque([0])
        order = []
        while queue:
            u = queue.popleft()
            for v in np.flatnonzero(joined[u]).tolist():
                if v not in parent:
                    parent[v] = u
                    order.append(v)
                    queue.append(v)
        below = dict.fromkeys(order, 1.0)
        for v in reversed(order):
            out[f"flow[{parent[v]},{v}]"] = below[v]
            if parent[v]:
                below[parent[v]] += below[v]
        return out
