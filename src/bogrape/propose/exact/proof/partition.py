"""Divides the space into pieces: sizes, compositions and diameters that may hold a better graph.

Every graph has one size; with SP or ESP it belongs to one *composition* (how many nodes have
each label); if it is connected and undirected, it has one diameter. The pieces cover the space and
do not overlap. Those whose bound does not beat the incumbent are settled here, without an integer
solver: by quick bounds of the strategy, and pieces with a composition by linear programs
(`bounds.linear_programs`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....encoding import Structure, structures
from ..distances.free_attributes import compositions, count_compositions
from ..distances.histograms import Fact
from ..distances.known import known_of_counts
from ..skeletons.limits import possible_compositions
from .piece import Answer, Open, Piece, learnt, with_room
from .strategy import Branching, Strategy

_MOST_COMPOSITIONS = 200_000
_COMPOSITION_SECONDS = 5e-5  # least time per piece, even if it is settled at once
_TIME_SHARE = 0.5  # of the remaining time, at most
_AT_ONCE, _AT_ONCE_BY_PROGRAMS = 25, 4  # pieces per job


def open_pieces(
    strategy: Strategy,
    value: float,
    deadline: float,
    stop: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], bool] = lambda: False,
    known: Mapping[int, Answer] | None = None,
) -> list[Open]:
    """The pieces that could hold a value below the incumbent's, most promising first.

    Pieces that are not reached in time stay whole, with the bound they have. For ``meanwhile`` see
    `solve_all`; ``known`` holds earlier answers, by size.
    """
    known = known or {}
    now = time.monotonic()
    limit = _TIME_SHARE * max(0.0, deadline - now)
    space, weakest = strategy.criterion.space, strategy.criterion.weakest_bound()
    settled = {n for n, answer in known.items() if answer.proved}
    shapes = [space.shape(n) for n in space.sizes if n not in settled]
    sizes = structures(shapes, space.connected, space.rules)
    facts = {structure: _facts(structure) for structure in sizes}
    bounds = {n: answer.bound for n, answer in known.items()}
    whole = [
        Open(Piece(structure), max(weakest, bounds.get(structure.shape.n_nodes, weakest)))
        for structure in sizes
    ]
    if strategy.by_composition:
        whole = _by_composition(strategy, whole, limit)
    whole = _still_open(whole, value)
    if strategy.by_composition:
        for by_programs in (False, True):  # a quick bound for all pieces before any program
            bounded = BoundPieces.shares(strategy, whole, value, limit, by_programs=by_programs)
            answers = strategy.run(bounded, now + limit, stop, meanwhile)
            for index, found in answers:
                for item, bound in zip(bounded[index].items, found or (), strict=False):
                    item.bound = max(item.bound, bound)
            whole = _still_open(whole, value)
    jobs = [
        SplitByDiameter(item, strategy, value, facts[item.piece.structure], limit) for item in whole
    ]
    out: list[Open] = []
    if strategy.by_composition:
        for index, parts in strategy.run(jobs, now + limit, stop, meanwhile):
            out += [whole[index]] if parts is None else parts
    else:
        for item, job in zip(whole, jobs, strict=True):
            job.time_limit = now + limit - time.monotonic()
            out += [item] if job.time_limit <= 0 or stop() else job.solve()
    return sorted(out, key=lambda item: item.bound)


def _still_open(items: Iterable[Open], value: float) -> list[Open]:
    return sorted((item for item in items if item.bound < value), key=lambda item: item.bound)


def _by_composition(strategy: Strategy, whole: Sequence[Open], limit: float) -> list[Open]:
    """The pieces of each size, divided by composition if there is time to examine them.

    Sizes that have too many compositions stay whole.
    """
    out: list[Open] = []
    left = limit / _COMPOSITION_SECONDS
    for item in whole:
        shape = item.piece.structure.shape
        number = count_compositions(shape.n_nodes, shape.n_labels)
        if number > min(_MOST_COMPOSITIONS, left):
            out.append(item)
        else:
            left -= number
            out += _compositions_of(strategy, item)
    return out


def _compositions_of(strategy: Strategy, item: Open) -> list[Open]:
    structure, shape = item.piece.structure, item.piece.structure.shape
    table = possible_compositions(structure, compositions(shape.n_nodes, shape.n_labels))
    if not table:
        return []
    bounds = strategy.composition_bounds(structure, table)
    if bounds is None:
        return [item]
    return [
        Open(Piece(structure, row), max(item.bound, bound))
        for row, bound in zip(table, bounds, strict=True)
    ]


def _facts(structure: Structure) -> dict[Structure, tuple[Fact, ...]]:
    """The parts of a structure by diameter, with the facts about each."""
    return {part: learnt.facts(part) for part in structure.by_diameter()}


@dataclass
class BoundPieces:
    """Job that bounds some pieces with a composition, undivided, as far as time allows."""

    strategy: Strategy
    items: Sequence[Open]
    value: float  # only smaller values are of interest
    by_programs: bool  # by one linear program each, otherwise by a quick bound
    time_limit: float

    @classmethod
    def shares(
        cls,
        strategy: Strategy,
        items: Sequence[Open],
        value: float,
        limit: float,
        *,
        by_programs: bool,
    ) -> list[BoundPieces]:
        """Jobs for the pieces with a composition."""
        some = [item for item in items if item.piece.composition is not None]
        size = _AT_ONCE_BY_PROGRAMS if by_programs else _AT_ONCE
        parts = [some[i : i + size] for i in range(0, len(some), size)] if value < math.inf else []
        return [cls(strategy, part, value, by_programs, limit) for part in parts]

    def solve(self) -> list[float]:
        """Bounds for the pieces, in order, until time runs out."""
        deadline = time.monotonic() + self.time_limit
        out: list[float] = []
        for item in self.items:
            if time.monotonic() > deadline:
                break
            out.append(self._by_programs(item, deadline) if self.by_programs else self._quick(item))
        return out

    def _quick(self, item: Open) -> float:
        return self.strategy.quick_bound(item.piece, self.value)

    def _by_programs(self, item: Open, deadline: float) -> float:
        lines = self.strategy.lines_of_whole(item.piece)
        if lines is None:
            return -math.inf
        return lines.branched(with_room(self.value), deadline, 0).bound


@dataclass
class SplitByDiameter:
    """Job that splits a piece by diameter and returns the parts that bounds do not settle."""

    item: Open
    strategy: Strategy
    value: float  # only smaller values are of interest
    facts: Mapping[Structure, tuple[Fact, ...]]
    time_limit: float

    def solve(self) -> list[Open]:
        """The parts that could hold a smaller value."""
        deadline = time.monotonic() + self.time_limit
        piece, bound, strategy = self.item.piece, self.item.bound, self.strategy
        out: list[Open] = []
        tangents: Sequence[Any] = ()
        if piece.composition is not None and bound < self.value < math.inf:
            lines, most = strategy.lines_of_whole(piece), strategy.most_halved_whole
            linear, tangents = self._by_programs(lines, deadline, most)
            bound = max(bound, linear)
        for structure in self.facts if bound < self.value else ():
            part, of_part = replace(piece, structure=structure), bound
            if time.monotonic() < deadline:
                of_part = max(bound, strategy.quick_bound(part, self.value))
            if of_part < self.value < math.inf and piece.composition is not None:
                facts = self.facts[structure]
                known = known_of_counts(structure, strategy.coordinates(part), None, facts)
                lines, most = strategy.lines(part, known), strategy.most_halved
                linear, tangents = self._by_programs(lines, deadline, most, tangents)
                of_part = max(of_part, linear)
            if of_part < self.value:
                out.append(Open(part, of_part))
        return out

    def _by_programs(
        self,
        lines: Branching | None,
        deadline: float,
        most_halved: int,
        start: Sequence[Any] = (),
    ) -> tuple[float, Sequence[Any]]:
        if lines is None:
            return -math.inf, start
        left = lines.branched(with_room(self.value), deadline, most_halved, start)
        return left.bound, left.tangents
