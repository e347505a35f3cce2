"""Settle a whole size by its skeletons: degree-limited graphs have few, and distances follow.

1. All skeletons are listed (`skeletons.store`), and grouped by their histogram of distances and
   their degrees: molecules of 10 atoms have 33,840 skeletons in 5,668 groups.
2. For every group all sums of node features are listed (`skeletons.node_sums`), and every histogram
   is evaluated with every sum. What does not beat the incumbent is settled.
3. Of what is left, the most promising group comes first. On each of its skeletons a solver places
   labels, features and edge labels under all rules, so that the sums are among those left, the best
   of them if it can.

*Exact:* every connected graph of the space has one of the skeletons, and its nodes are of the kinds
that the rules allow; its value is that of its histogram and its sums. Graphs that a solver offers
are checked against the rules and evaluated again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....arrays import BoolArray, FloatArray, IntArray
from ....batch import Batch
from ....constraints.rows import EdgeLabel, HasFeature, HasLabel, Row
from ....encoding import GraphEncoding, Structure, structures
from ....encoding.cpsat import has_solution, new_solver
from ....graph import Graph
from ...jobs.pool import solve_all
from ...request import Request
from ...units import TIE, room
from ..bounds.separate_values import SeparateValues
from ..skeletons.canonical import MOST_NODES
from ..skeletons.node_sums import NodeSums, TooManySums
from ..skeletons.store import Skeletons, estimated_number, skeletons_of
from .piece import Answer
from .piece_solve import OutOfTime
from .strategy import Strategy

_TIME_SHARE = 0.9  # of the time that is left
_LISTING_SHARE = 0.5  # of that, for skeletons that are not known yet
_MOST_SKELETONS = 4_000_000
_AT_ONCE = 2_000_000  # values
_MOST_LEFT = 1_000_000  # histograms with sums that are kept to be placed


def settle_by_skeletons(strategy: Strategy, value: float, request: Request) -> Mapping[int, Answer]:
    """For each size whose skeletons can be listed, what they tell of values below ``value``."""
    space = strategy.criterion.space
    jobs = []
    for structure in structures(
        [space.shape(n) for n in space.sizes], space.connected, space.rules
    ):
        values = strategy.skeleton_values(structure.shape.n_nodes)
        if values is not None and has_skeletons(structure):
            left = _TIME_SHARE * (request.deadline - time.monotonic())
            jobs.append(
                SolveBySkeletons(structure, values, value, request.excluded, request.seed, left)
            )
    deadline = time.monotonic() + _TIME_SHARE * (request.deadline - time.monotonic())
    answers = solve_all(jobs, deadline, request.stop)
    return {
        jobs[index].structure.shape.n_nodes: answer
        for index, answer in answers
        if answer is not None
    }


def has_skeletons(structure: Structure) -> bool:
    """Whether rules limit the degrees in a structure, and no rule names a node."""
    shape = structure.shape
    if shape.directed or structure.connectivity != "strong" or not structure.all_alike:
        return False
    if not 2 <= shape.n_nodes <= MOST_NODES or structure.diameter is not None:
        return False
    sums = NodeSums.of(structure)
    if sums is None or not sums.kinds:
        return False
    tied = any(rule.node_kinds(shape) is not None for rule in structure.rules)
    return tied or sums.most_degree < shape.n_nodes - 1


@dataclass
class SolveBySkeletons:
    """A job: the best graph of a size that beats a value, and a bound.

    The answer is ``None`` if there are too many skeletons, or no time to list them.
    """

    structure: Structure
    values: SeparateValues
    value: float  # only smaller values are of interest
    excluded: Collection[str]
    seed: int
    time_limit: float

    def solve(self) -> Answer | None:
        """The answer; its bound holds for all graphs of the size that are not excluded."""
        deadline = time.monotonic() + self.time_limit
        try:
            sums = NodeSums.of(self.structure)
            assert sums is not None
            skeletons = self._skeletons(sums, deadline)
            if skeletons is None:
                return None
            left = Promising.of(skeletons, sums, self.values, self.value, deadline)
        except (TimeoutError, TooManySums):
            return None
        return _Placing(self, left, deadline).run()

    def _skeletons(self, sums: NodeSums, deadline: float) -> Skeletons | None:
        n, cycles = self.structure.shape.n_nodes, sums.n_cycles()
        number = estimated_number(n, sums.most_degree, cycles, deadline)
        until = time.monotonic() + _LISTING_SHARE * (deadline - time.monotonic())
        if number > _MOST_SKELETONS:
            return None
        found = skeletons_of(n, sums.most_degree, cycles, until)
        return found.select(_allowed(self.structure, found))


def _allowed(structure: Structure, skeletons: Skeletons) -> BoolArray:
    """Which skeletons satisfy the rules that speak of edges and distances alone."""
    shape = structure.shape
    bare = [rule for rule in structure.rules if rule.encoded and not rule.one_by_one]
    bare = [rule for rule in bare if not _mentions_attributes(rule.rows(shape))]
    out = np.ones(len(skeletons), dtype=bool)
    for start in range(0, len(skeletons) if bare else 0, 10_000):
        part = slice(start, start + 10_000)
        adjacency = skeletons.adjacency(part)
        size = len(adjacency)
        batch = Batch(
            adjacency,
            np.zeros((size, shape.n_nodes), dtype=np.int64),
            np.zeros((size, shape.n_nodes, shape.n_features), dtype=bool),
            adjacency.astype(np.int64) if shape.n_edge_labels else None,
            False,
        )
        for rule in bare:
            out[part] &= rule.excess(batch) == 0
    return out


def _mentions_attributes(rows: Iterable[Row]) -> bool:
    kinds = (HasLabel, HasFeature, EdgeLabel)
    return any(isinstance(atom, kinds) for row in rows for atom, _ in (*row.terms, *row.when))


@dataclass(frozen=True, eq=False)
class Promising:
    """Groups of skeletons, with the sums that could beat the incumbent on them."""

    skeletons: Skeletons
    members: list[IntArray]  # of each group: its skeletons
    groups: IntArray  # (R,): the group of each row below, whose values ascend
    sums: IntArray  # (R, M)
    values: FloatArray  # (R,)
    complete_below: float  # all with a smaller value are here

    @classmethod
    def of(
        cls,
        skeletons: Skeletons,
        sums: NodeSums,
        values: SeparateValues,
        value: float,
        deadline: float,
    ) -> Promising:
        """All that could have a value below ``value``, or the best of them if they are many."""
        pairs = np.concatenate([skeletons.degrees, skeletons.histograms], axis=1)
        pairs, group_of = np.unique(pairs, axis=0, return_inverse=True)
        order = np.argsort(group_of, kind="stable")
        members = np.split(order, np.searchsorted(group_of[order], np.arange(1, len(pairs))))
        n_degrees = skeletons.degrees.shape[1]
        degrees, kind_of = np.unique(pairs[:, :n_degrees], axis=0, return_inverse=True)
        left = _Smallest(value)
        for k, numbers in enumerate(degrees):
            if time.monotonic() > deadline:
                raise TimeoutError
            of_kind = np.flatnonzero(kind_of == k)
            table = sums.sums(tuple(numbers.tolist()))
            each = max(1, _AT_ONCE // max(1, len(table)))
            for start in range(0, len(of_kind) if len(table) else 0, each):
                some = of_kind[start : start + each]
                histograms = pairs[some, n_degrees:].astype(np.int64)
                i, j = np.nonzero(values.lower_bounds(histograms, table) < left.below)
                left.add(some[i], table[j], values.values(histograms[i], table[j]))
        return cls(skeletons, members, *left.ascending(sums.columns.end), left.below)


class _Smallest:
    """Rows with the smallest values below a limit, which falls when there are too many of them."""

    def __init__(self, below: float) -> None:
        self.below = below
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._number = 0

    def add(self, groups: IntArray, sums: IntArray, values: FloatArray) -> None:
        """Add the rows below the limit."""
        keep = values < self.below
        self._parts.append((groups[keep], sums[keep], values[keep]))
        self._number += int(keep.sum())
        if self._number > _MOST_LEFT:
            groups, sums, values = self.ascending(sums.shape[1])
            self.below = float(values[_MOST_LEFT // 2])
            smaller = values < self.below
            self._parts = [(groups[smaller], sums[smaller], values[smaller])]
            self._number = len(self._parts[0][0])

    def ascending(self, n_columns: int) -> tuple[IntArray, IntArray, FloatArray]:
        """All rows in ascending order of their values."""
        none = np.zeros(0, dtype=np.int64), np.zeros((0, n_columns), dtype=np.int64), np.zeros(0)
        groups, sums, values = map(np.concatenate, zip(none, *self._parts, strict=True))
        order = np.argsort(values, kind="stable")
        return groups[order], sums[order], values[order]


class _Placing:
    """Labels are placed on skeletons, the most promising first."""

    def __init__(self, job: SolveBySkeletons, left: Promising, deadline: float) -> None:
        self.job, self.left, self.deadline = job, left, deadline
        self.best_graph: Graph | None = None
        self.best_value = job.value
        self.n_solves = 0

    def run(self) -> Answer:
        """Place whatever beats the best graph so far, until nothing is left or time is up."""
        left = self.left
        seen: set[int] = set()
        bound = self.best_value
        try:
            for group, value in zip(left.groups.tolist(), left.values.tolist(), strict=True):
                if value >= self._to_beat:
                    break
                if group not in seen:
                    bound = value
                    seen.add(group)
                    self._settle_group(group)
        except OutOfTime:
            return self._answer(proved=False, bound=bound)
        if self._to_beat > left.complete_below:
            return self._answer(proved=False, bound=left.complete_below)
        return self._answer(proved=True, bound=self.best_value)

    @property
    def _to_beat(self) -> float:
        """Only what is smaller is of interest: values that differ by less are one value."""
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
        """Leave nothing in a group that beats the best graph."""
        chosen = self.left.groups == group
        sums, values = self.left.sums[chosen], self.left.values[chosen]
        for adjacency in self.left.skeletons.adjacency(self.left.members[group]):
            self._settle_skeleton(adjacency, sums[values < self._to_beat])

    def _settle_skeleton(self, adjacency: BoolArray, sums: IntArray) -> None:
        """Place what has one of these sums, the best first, until nothing better is left."""
        if not len(sums):
            return
        encoding = GraphEncoding(self.job.structure, skeleton=adjacency)
        rank = _rank(encoding, sums)
        encoding.model.minimize(rank)
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise OutOfTime
            solver = new_solver(left, seed=self.job.seed)
            self.n_solves += 1
            status = solver.solve(encoding.model)
            if status == cp_model.INFEASIBLE:
                return
            if not has_solution(status):
                raise OutOfTime
            graph = encoding.decode(solver.value)
            value = self.job.values.criterion.of_graph(graph)
            may_be_proposed = self._may_be_proposed(graph)
            if may_be_proposed and value < self.best_value:
                self.best_graph, self.best_value = graph, value
            if may_be_proposed and status == cp_model.OPTIMAL:
                return  # it has the best sums that can be placed
            encoding.forbid(graph)

    def _may_be_proposed(self, graph: Graph) -> bool:
        identity = self.job.values.criterion.space.identity(graph)
        return identity not in self.job.excluded and self.job.structure.allows(graph)


def _rank(encoding: GraphEncoding, sums: IntArray) -> Any:
    """A variable for which of these sums, in this order, the graph has."""
    shape, model = encoding.shape, encoding.model
    columns = []
    for m in range(sums.shape[1]):
        if m < shape.n_labels:
            nodes = [encoding.label(v, m) for v in range(shape.n_nodes)]
        else:
            nodes = [encoding.feature(v, m - shape.n_labels) for v in range(shape.n_nodes)]
        total = model.new_int_var(0, shape.n_nodes, f"sum[{m}]")
        model.add(total == encoding.total(nodes))
        columns.append(total)
    rank = model.new_int_var(0, len(sums) - 1, "rank")
    rows = np.column_stack([sums, np.arange(len(sums))])
    model.add_allowed_assignments([*columns, rank], rows.tolist())
    return rank
