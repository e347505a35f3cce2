r"""A neural-architecture cell: a directed acyclic graph of operations, trained and validated.

The cell has one ``input``, one ``output`` and operations between them, each on a path from input to
output (as in NAS-Bench-101, with at most 9 arcs for 7 nodes). It maps a point :math:`x \in R^4` to
16 numbers. With the states :math:`h_u` of its predecessors, a node computes

* ``relu``: :math:`\max(0, \sum_u h_u W)`,
* ``sine``: :math:`\sin(\sum_u h_u W)`,
* ``gate``: :math:`\prod_u \tanh(h_u W)`,
* ``skip`` and ``output``: :math:`\sum_u h_u`; ``input``: :math:`x W_{in}`.

``W`` is random, drawn once for each operation and each depth (longest path from the input), so
that the value does not depend on the numbering of nodes. Nothing inside the cell is trained: a
ridge regression in closed form reads the target off the output of 128 points, and the objective is
the mean squared error on 128 others, relative to the variance of the target. The seed draws
weights, points and the target, a random sum of products of sines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..arrays import FloatArray
from ..constraints import Acyclic, DegreeRange, LabelCount, NumberOfEdges, Rule
from ..graph import Graph
from ..space import GraphSpace
from . import Problem, register

OPERATIONS = ("input", "output", "relu", "sine", "gate", "skip")
N_INPUTS = 4
N_STATES = 16
N_POINTS = 128  # to train on; as many to validate
RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class CellError:
    """The objective: relative validation error of a cell.

    Attributes:
        points: training points, then validation points.
        target: their values, of mean 0 and variance 1.
        enter: weights of the input.
        weights: by operation and depth.
    """

    points: FloatArray
    target: FloatArray
    enter: FloatArray
    weights: FloatArray

    @classmethod
    def random(cls, seed: int, n_nodes: int) -> CellError:
        """Data and weights drawn from a seed."""
        rng = np.random.default_rng(seed)
        points = rng.uniform(-1.0, 1.0, (2 * N_POINTS, N_INPUTS))
        waves = [np.sin(points @ rng.normal(0.0, 2.0, (N_INPUTS, 6))) for _ in range(2)]
        target = (waves[0] * waves[1]) @ rng.normal(size=6)
        shape = (len(OPERATIONS), n_nodes, N_STATES, N_STATES)
        return cls(
            points,
            (target - target.mean()) / target.std(),
            rng.normal(0.0, 1.0, (N_INPUTS, N_STATES)),
            rng.normal(0.0, np.sqrt(2.0 / N_STATES), shape),
        )

    def __call__(self, graph: Graph) -> float:
        states = self.states(graph)
        train, validate = states[:N_POINTS], states[N_POINTS:]
        centre = train.mean(axis=0)
        design = np.column_stack([np.ones(N_POINTS), train - centre])
        penalty = RIDGE * N_POINTS * np.diag([0.0, *np.ones(N_STATES)])
        readout = np.linalg.solve(design.T @ design + penalty, design.T @ self.target[:N_POINTS])
        predicted = np.column_stack([np.ones(N_POINTS), validate - centre]) @ readout
        truth = self.target[N_POINTS:]
        return float(np.mean((predicted - truth) ** 2) / np.var(truth))

    def states(self, graph: Graph) -> FloatArray:
        """State of the output node for every point."""
        depths: dict[int, int] = {}
        states: dict[int, FloatArray] = {}
        out = OPERATIONS.index("output")
        for v in _topological(graph):
            before = np.flatnonzero(graph.adjacency[:, v])
            depths[v] = 1 + max((depths[int(u)] for u in before), default=-1)
            states[v] = self._node(
                OPERATIONS[graph.labels[v]], depths[v], [states[int(u)] for u in before]
            )
        return states[int(np.flatnonzero(graph.labels == out)[0])]

    def _node(self, operation: str, depth: int, before: list[FloatArray]) -> FloatArray:
        weight = self.weights[OPERATIONS.index(operation), depth]
        if operation == "input":
            return np.asarray(self.points @ self.enter)
        if operation == "gate":
            return np.asarray(np.prod([np.tanh(h @ weight) for h in before], axis=0))
        total = np.sum(before, axis=0)
        if operation == "relu":
            return np.asarray(np.maximum(total @ weight, 0.0))
        return np.asarray(np.sin(total @ weight) if operation == "sine" else total)


def _topological(graph: Graph) -> list[int]:
    """Nodes such that arcs lead forwards; ties in any order."""
    left, order = graph.adjacency.sum(axis=0), []
    ready = [int(v) for v in np.flatnonzero(left == 0)]
    while ready:
        u = ready.pop()
        order.append(u)
        left = left - graph.adjacency[u]
        ready += [int(v) for v in np.flatnonzero(graph.adjacency[u]) if left[v] == 0]
    return order


def cell_space(n_nodes: int) -> GraphSpace:
    """Cells with that many nodes: every operation lies on a path from the input to the output."""
    rules: list[Rule] = [
        Acyclic(),
        LabelCount("input", 1, 1),
        LabelCount("output", 1, 1),
        DegreeRange(0, 0, label="input", direction="in"),
        DegreeRange(0, 0, label="output", direction="out"),
        NumberOfEdges(n_nodes - 1, n_nodes + 2),
    ]
    for label in OPERATIONS:
        if label != "input":
            rules.append(DegreeRange(1, None, label=label, direction="in"))
        if label != "output":
            rules.append(DegreeRange(1, None, label=label, direction="out"))
    return GraphSpace(n_nodes, labels=OPERATIONS, directed=True, rules=tuple(rules))


def cell_problem(seed: int, *, n_nodes: int) -> Problem:
    """Minimise the validation error of a cell."""
    return Problem(
        name=f"cell-{n_nodes}",
        space=cell_space(n_nodes),
        objective=CellError.random(seed, n_nodes),
        seed=seed,
    )


for _n_nodes in (7, 10):
    register(f"cell-{_n_nodes}")(partial(cell_problem, n_nodes=_n_nodes))
