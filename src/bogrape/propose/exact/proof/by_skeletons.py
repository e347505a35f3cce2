"""Settle a whole size by its skeletons, which are few if degrees are limited.

1. All skeletons are listed (`skeletons.store`), and grouped by their histogram of distances and
   their degrees: molecules of 10 atoms have 33,840 skeletons in 5,668 groups.
2. For every group all sums of node features are listed (`skeletons.node_sums`), and every histogram
   is evaluated with every sum. Those that do not beat the incumbent are settled.
3. Of the remaining groups, the most promising comes first. On each of its skeletons a solver places
   labels, features and edge labels under all rules, with the best of the remaining sums that can
   be placed.

*Exact:* every connected graph of the space has one of the skeletons, and its nodes are of the kinds
that the rules allow; its value is that of its histogram and its sums. Graphs that a solver finds
are checked against the rules and evaluated again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....arrays import BoolArray, IntArray
from ....batch import Batch
from ....constraints.rows import EdgeLabel, HasFeature, HasLabel, Row
from ....encoding import Structure, structures
from ...jobs.pool import n_workers, solve_all
from ...proposal import Request
from ..bounds.placement_values import PlacementValues
from ..bounds.rbf_factors import RbfFactors
from ..bounds.separate_values import SeparateValues
from ..skeletons.canonical import MOST_NODES
from ..skeletons.node_sums import NodeSums, TooManySums
from ..skeletons.store import Skeletons, estimated_number, skeletons_of
from .by_placements import TooManyPlacements, promising_placements
from .by_rbf_placements import promising_rbf_placements
from .piece import Answer
from .placing import Group, Placing, Smallest, Task
from .strategy import Strategy

_TIME_SHARE = 0.9  # of the remaining time
_LISTING_SHARE = 0.5  # of that, for listing skeletons
_MOST_SKELETONS = 4_000_000
_AT_ONCE = 2_000_000  # values


def settle_by_skeletons(
    strategy: Strategy,
    value: float,
    request: Request,
    meanwhile: Callable[[], bool] = lambda: False,
) -> Mapping[int, Answer]:
    """Answers for the sizes whose skeletons can be listed: is there a value below ``value``?

    For ``meanwhile`` see `solve_all`.
    """
    space = strategy.criterion.space
    shapes = [space.shape(n) for n in space.sizes]
    deadline = time.monotonic() + _TIME_SHARE * (request.deadline - time.monotonic())
    jobs = []
    for structure in structures(shapes, space.connected, space.rules):
        values = strategy.skeleton_values(structure.shape.n_nodes)
        if values is None or not has_skeletons(structure):
            continue
        n_parts = n_workers() if isinstance(values, (PlacementValues, RbfFactors)) else 1
        for i in range(n_parts):
            job = SolveBySkeletons(
                structure=structure,
                values=values,
                value=value,
                excluded=request.excluded,
                seed=request.seed,
                time_limit=deadline - time.monotonic(),
                part=i,
                n_parts=n_parts,
            )
            jobs.append(job)
    found: dict[int, list[Answer | None]] = {}
    for index, answer in solve_all(jobs, deadline, request.stop, meanwhile):
        found.setdefault(jobs[index].structure.shape.n_nodes, []).append(answer)
    return {n: _together(answers) for n, answers in found.items() if any(answers)}


def _together(answers: Sequence[Answer | None]) -> Answer:
    """Combined answer for a size whose skeletons were divided among workers."""
    there = [answer for answer in answers if answer is not None]
    best = min(there, key=lambda answer: answer.value)
    whole = len(there) == len(answers)
    return Answer(
        proved=whole and all(answer.proved for answer in there),
        bound=min(answer.bound for answer in there) if whole else -math.inf,
        graph=best.graph,
        value=best.value,
        n_solves=sum(answer.n_solves for answer in there),
    )


def has_skeletons(structure: Structure) -> bool:
    """True if rules limit the degrees in a structure, and no rule names a node."""
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


@dataclass(kw_only=True)
class SolveBySkeletons:
    """Job that finds the best graph of a size that beats a value, and a bound.

    The answer is ``None`` if there are too many skeletons, or no time to list them.
    """

    structure: Structure
    values: SeparateValues | RbfFactors
    value: float  # only smaller values are of interest
    excluded: Collection[str]
    seed: int
    time_limit: float
    part: int = 0  # of ``n_parts`` into which the skeletons are divided
    n_parts: int = 1

    def solve(self) -> Answer | None:
        """The answer; its bound holds for all graphs of the size that are not excluded."""
        deadline = time.monotonic() + self.time_limit
        try:
            sums = NodeSums.of(self.structure)
            assert sums is not None
            skeletons = self._skeletons(sums, deadline)
            if skeletons is None:
                return None
            left, group = self._promising(skeletons, sums, deadline)
        except (TimeoutError, TooManySums, TooManyPlacements):
            return None
        task = Task(
            structure=self.structure,
            criterion=self.values.criterion,
            value=self.value,
            excluded=self.excluded,
            seed=self.seed,
            deadline=deadline,
        )
        return Placing(task, left, group).run()

    def _promising(
        self, skeletons: Skeletons, sums: NodeSums, deadline: float
    ) -> tuple[Smallest, Group]:
        values, value = self.values, self.value
        if not isinstance(values, (PlacementValues, RbfFactors)):
            return _promising(skeletons, sums, values, value, deadline)
        own = skeletons.select(_share(skeletons, self.part, self.n_parts))
        if isinstance(values, RbfFactors):
            return promising_rbf_placements(own, sums, values, value, deadline)
        return promising_placements(own, sums, values, value, deadline)

    def _skeletons(self, sums: NodeSums, deadline: float) -> Skeletons | None:
        n, cycles = self.structure.shape.n_nodes, sums.n_cycles()
        number = estimated_number(n, sums.most_degree, cycles, deadline)
        until = time.monotonic() + _LISTING_SHARE * (deadline - time.monotonic())
        if number > _MOST_SKELETONS:
            return None
        found = skeletons_of(n, sums.most_degree, cycles, until)
        return found.select(_allowed(self.structure, found))


def _share(skeletons: Skeletons, part: int, n_parts: int) -> BoolArray:
    """Mask of one part; skeletons with equal degrees share work, so they are in the same part."""
    _, kind_of = np.unique(skeletons.degrees, axis=0, return_inverse=True)
    part_of = np.zeros(int(kind_of.max(initial=-1)) + 1, dtype=np.int64)
    part_of[np.argsort(-np.bincount(kind_of), kind="stable")] = np.arange(len(part_of)) % n_parts
    return np.asarray(part_of[kind_of] == part)


def _allowed(structure: Structure, skeletons: Skeletons) -> BoolArray:
    """Mask of skeletons that satisfy the rules on edges and distances alone."""
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


def _promising(
    skeletons: Skeletons,
    sums: NodeSums,
    values: SeparateValues,
    value: float,
    deadline: float,
) -> tuple[Smallest, Group]:
    """All histograms and sums that could have a value below ``value``, and their skeletons."""
    pairs = np.concatenate([skeletons.degrees, skeletons.histograms], axis=1)
    pairs, group_of = np.unique(pairs, axis=0, return_inverse=True)
    n_degrees = skeletons.degrees.shape[1]
    degrees, kind_of = np.unique(pairs[:, :n_degrees], axis=0, return_inverse=True)
    left = Smallest(value, 1, sums.columns.end)
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
            left.add(some[i][:, None], table[j], values.values(histograms[i], table[j]))

    def group(key: tuple[int, ...]) -> Iterator[tuple[BoolArray, IntArray | None]]:
        for adjacency in skeletons.adjacency(np.flatnonzero(group_of == key[0])):
            yield adjacency, None

    return left, group
