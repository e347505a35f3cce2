"""Places labels and features on skeletons, the last step of a proof by skeletons.

Candidates that could beat the incumbent are given as sums of node features on groups of skeletons.
The most promising group comes first, and a solver places labels, features and edge labels on each
of its skeletons under all rules. Graphs that it finds are checked and evaluated again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any, Protocol

import numpy as np
from ortools.sat.python import cp_model

from ....arrays import BoolArray, FloatArray, IntArray
from ....encoding import GraphEncoding, Structure
from ....encoding.cpsat import has_solution, new_solver
from ....graph import Graph
from ...criterion import Criterion
from ...values import TIE, room
from .piece import Answer
from .piece_solve import OutOfTime

_MOST_LEFT = 1_000_000  # rows kept for placing


class Group(Protocol):
    """The skeletons of a key."""

    def __call__(self, key: tuple[int, ...]) -> Iterator[tuple[BoolArray, IntArray | None]]:
        """Adjacency of each skeleton, (n, n), with the labels of its nodes if they are given."""


class Smallest:
    """Rows with values below a limit, which is lowered if there are too many of them.

    A row has a key (the group of skeletons), the sums of node features, and their value.
    """

    def __init__(self, below: float, n_keys: int, n_columns: int) -> None:
        self.below = below
        keys, sums = (np.zeros((0, k), dtype=np.int64) for k in (n_keys, n_columns))
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = [(keys, sums, np.zeros(0))]
        self._number = 0

    def add(self, keys: IntArray, sums: IntArray, values: FloatArray) -> None:
        """Add the rows below the limit."""
        keep = values < self.below
        self._parts.append((keys[keep], sums[keep], values[keep]))
        self._number += int(keep.sum())
        if self._number > _MOST_LEFT:
            keys, sums, values = self.ascending()
            self.below = float(values[_MOST_LEFT // 2])
            smaller = values < self.below
            self._parts = [(keys[smaller], sums[smaller], values[smaller])]
            self._number = int(smaller.sum())

    def ascending(self) -> tuple[IntArray, IntArray, FloatArray]:
        """All rows in ascending order of their values."""
        keys, sums, values = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.argsort(values, kind="stable")
        return keys[order], sums[order], values[order]


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """The conditions of a placement task."""

    structure: Structure
    criterion: Criterion
    value: float  # only smaller values are of interest
    excluded: Collection[str]
    seed: int
    deadline: float


class Placing:
    """Places labels on skeletons, the most promising first."""

    def __init__(self, task: Task, left: Smallest, group: Group) -> None:
        self.task, self.group = task, group
        keys, self.sums, self.values = left.ascending()
        self.complete_below = left.below  # all rows with smaller values are here
        self.keys, self.group_of = np.unique(keys, axis=0, return_inverse=True)
        self.best_graph: Graph | None = None
        self.best_value = task.value
        self.n_solves = 0

    def run(self) -> Answer:
        """Settle all rows that beat the best graph so far, as long as there is time."""
        seen: set[int] = set()
        bound = self.best_value
        try:
            for group, value in zip(self.group_of.tolist(), self.values.tolist(), strict=True):
                if value >= self._to_beat:
                    break
                if group not in seen:
                    bound = value
                    seen.add(group)
                    self._settle_group(group)
        except OutOfTime:
            return self._answer(proved=False, bound=bound)
        if self._to_beat > self.complete_below:
            return self._answer(proved=False, bound=self.complete_below)
        return self._answer(proved=True, bound=self.best_value)

    @property
    def _to_beat(self) -> float:
        """Only smaller values are of interest: this is the best value minus the room for ties."""
        if not math.isfinite(self.best_value):
            return self.best_value
        return self.best_value - room(TIE, self.best_value)

    def _answer(self, *, proved: bool, bound: float) -> Answer:
        return Answer(
            proved=proved,
            bound=min(bound, self.best_value),
            graph=self.best_graph,
            value=self.best_value,
            n_solves=self.n_solves,
        )

    def _settle_group(self, group: int) -> None:
        """Settle a group, so that nothing in it beats the best graph."""
        chosen = self.group_of == group
        sums, values = self.sums[chosen], self.values[chosen]
        for adjacency, labels in self.group(tuple(self.keys[group].tolist())):
            left = sums[values < self._to_beat]
            if len(left):
                self._settle_skeleton(adjacency, labels, left)

    def _settle_skeleton(
        self, adjacency: BoolArray, labels: IntArray | None, sums: IntArray
    ) -> None:
        """Find a graph with the best of these sums that can be placed and proposed."""
        encoding = GraphEncoding(self.task.structure, skeleton=adjacency)
        for v, label in enumerate([] if labels is None else labels.tolist()):
            encoding.clause(encoding.label(v, label))
        encoding.model.minimize(_rank(encoding, labels, sums))
        while True:
            left = self.task.deadline - time.monotonic()
            if left <= 0:
                raise OutOfTime
            solver = new_solver(left, seed=self.task.seed)
            self.n_solves += 1
            status = solver.solve(encoding.model)
            if status == cp_model.INFEASIBLE:
                return
            if not has_solution(status):
                raise OutOfTime
            graph = encoding.decode(solver.value)
            may_be_proposed = self._may_be_proposed(graph)
            value = self.task.criterion.of_graph(graph)
            if may_be_proposed and value < self.best_value:
                self.best_graph, self.best_value = graph, value
            if may_be_proposed and status == cp_model.OPTIMAL:
                return  # it has the best sums that can be placed
            encoding.forbid(graph)

    def _may_be_proposed(self, graph: Graph) -> bool:
        identity = self.task.criterion.space.identity(graph)
        return identity not in self.task.excluded and self.task.structure.allows(graph)


def _rank(encoding: GraphEncoding, labels: IntArray | None, sums: IntArray) -> Any:
    """A variable: the index of the graph's sums among these."""
    model, columns = encoding.model, []
    for m, terms in enumerate(_summed(encoding, labels, sums.shape[1])):
        total = model.new_int_var(0, len(terms), f"sum[{m}]")
        model.add(total == encoding.total(terms))
        columns.append(total)
    rank = model.new_int_var(0, len(sums) - 1, "rank")
    rows = np.column_stack([sums, np.arange(len(sums))])
    model.add_allowed_assignments([*columns, rank], rows.tolist())
    return rank


def _summed(encoding: GraphEncoding, labels: IntArray | None, width: int) -> Iterator[list[Any]]:
    """The terms of each column: labels and features of nodes, then edges with further labels.

    The latter are counted by the labels of their ends, if these are given.
    """
    shape = encoding.shape
    nodes = range(shape.n_nodes)
    for label in range(shape.n_labels):
        yield [encoding.label(v, label) for v in nodes]
    for feature in range(shape.n_features):
        yield [encoding.feature(v, feature) for v in nodes]
    if width == shape.n_labels + shape.n_features:
        return
    assert labels is not None
    for k in range(2, shape.n_edge_labels + 1):
        for ends in combinations_with_replacement(range(shape.n_labels), 2):
            yield [
                encoding.edge_label(u, v, k)
                for u, v in combinations(nodes, 2)
                if tuple(sorted((int(labels[u]), int(labels[v])))) == ends
            ]
