"""The space in pieces: sizes, compositions and diameters that could hold something better.

Every graph has one size; with SP or ESP it belongs to one *composition* (how many nodes have
each label); if it is connected and undirected, it has one diameter. The pieces cover the space and
do not overlap. Those whose bound does not beat the incumbent are settled here, without a solver of
integers: by `bounds.quick_bounds`, and pieces with a composition by linear programs
(`bounds.linear_programs`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....acquisition import LCB
from ....encoding import Structure, structures
from ....posterior import WeightPosterior
from ...criterion import Criterion
from ...jobs.pool import solve_all
from ..bounds.linear_form import count_form
from ..bounds.linear_programs import Lines
from ..bounds.quick_bounds import composition_bounds, corner_bound, has_corners, norm_bound
from ..distances.coordinates import Position
from ..distances.facts import Fact
from ..distances.free_attributes import compositions, count_compositions
from ..distances.inequality import Inequality
from ..distances.known import known_of_counts, shared_out
from ..distances.remembered import remembered
from .all_graphs import few_graphs
from .piece import Open, Piece, with_room

_MOST_COMPOSITIONS = 200_000
_COMPOSITION_SECONDS = 5e-5  # that a piece takes at least, whatever becomes of it
_MOST_HALVED = 300  # boxes of counts, in one piece
_TIME_SHARE = 0.5  # of the time left, at most


def open_pieces(
    objective: Criterion, value: float, deadline: float, stop: Callable[[], bool] = lambda: False
) -> list[Open]:
    """The pieces that could hold a value below the incumbent's, most promising first.

    Pieces that are not reached in time stay whole, under the bound they have.
    """
    now = time.monotonic()
    limit = _TIME_SHARE * max(0.0, deadline - now)
    space, weakest = objective.space, norm_bound(objective)
    sizes = structures([space.shape(n) for n in space.sizes], space.connected, space.rules)
    facts = {structure: _facts(structure) for structure in sizes}
    by_composition = objective.posterior.model.kernel.labelled and isinstance(
        objective.acquisition, LCB
    )
    whole = [Open(Piece(structure), weakest) for structure in sizes]
    if by_composition:
        whole = _by_composition(objective, whole, limit)
    whole = sorted((item for item in whole if item.bound < value), key=lambda item: item.bound)
    tasks = [
        DiameterTask(item, objective, value, facts[item.piece.structure], limit) for item in whole
    ]
    out: list[Open] = []
    if by_composition:
        for index, parts in solve_all(tasks, now + limit, stop):
            out += [whole[index]] if parts is None else parts
    else:
        for item, task in zip(whole, tasks, strict=True):
            task.time_limit = now + limit - time.monotonic()
            out += [item] if task.time_limit <= 0 or stop() else task.solve()
    return sorted(out, key=lambda item: item.bound)


def _by_composition(objective: Criterion, whole: Sequence[Open], limit: float) -> list[Open]:
    """The pieces of each size by composition, as far as they can be looked at in so many seconds.

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
            out += _compositions_of(objective, item)
    return out


def _compositions_of(objective: Criterion, item: Open) -> list[Open]:
    structure, shape = item.piece.structure, item.piece.structure.shape
    posterior, acquisition = objective.posterior, objective.acquisition
    assert isinstance(acquisition, LCB)
    if posterior.model.kernel.exponential and few_graphs(structure):
        return [item]  # to look at all of them is quicker
    table = compositions(shape.n_nodes, shape.n_labels)
    if not isinstance(posterior, WeightPosterior):
        return [Open(Piece(structure, row), item.bound) for row in table]
    bounds = composition_bounds(posterior, shape, np.array(table), acquisition.kappa)
    return [
        Open(Piece(structure, row), max(item.bound, float(bound)))
        for row, bound in zip(table, bounds, strict=True)
    ]


def _facts(structure: Structure) -> dict[Structure, tuple[Fact, ...]]:
    """The parts of a structure by diameter, and what is known of each."""
    return {part: remembered.facts(part) for part in structure.by_diameter()}


@dataclass
class DiameterTask:
    """Split a piece by diameter and bound the parts; what cannot be settled so is the answer."""

    item: Open
    objective: Criterion
    value: float  # only smaller values are of interest
    facts: Mapping[Structure, tuple[Fact, ...]]
    time_limit: float

    def solve(self) -> list[Open]:
        """The parts that could hold a smaller value."""
        deadline = time.monotonic() + self.time_limit
        piece, bound = self.item.piece, self.item.bound
        kernel = self.objective.posterior.model.kernel
        out: list[Open] = []
        tangents: Sequence[Any] = ()
        if piece.composition is not None:
            bound = max(bound, self._by_corners(piece))
            if bound < self.value < math.inf:
                known = shared_out(piece.structure, piece.coordinates(kernel))
                linear, tangents = self._by_programs(piece, known, deadline)
                bound = max(bound, linear)
        for structure in self.facts if bound < self.value else ():
            part, of_part = replace(piece, structure=structure), bound
            if time.monotonic() < deadline:
                of_part = max(bound, self._by_corners(part))
            if of_part < self.value < math.inf and piece.composition is not None:
                facts = self.facts[structure]
                known = known_of_counts(structure, part.coordinates(kernel), None, facts)
                linear, tangents = self._by_programs(part, known, deadline, tangents)
                of_part = max(of_part, linear)
            if of_part < self.value:
                out.append(Open(part, of_part))
        return out

    def _by_corners(self, piece: Piece) -> float:
        posterior, acquisition = self.objective.posterior, self.objective.acquisition
        if not isinstance(posterior, WeightPosterior) or not isinstance(acquisition, LCB):
            return -math.inf
        if not has_corners(piece.structure, piece.coordinates(posterior.model.kernel)):
            return -math.inf
        form = count_form(posterior, piece.coordinates(posterior.model.kernel))
        return corner_bound(form, piece.structure, acquisition.kappa, with_room(self.value))

    def _by_programs(
        self,
        piece: Piece,
        known: Iterable[Inequality[Position]],
        deadline: float,
        start: Sequence[Any] = (),
    ) -> tuple[float, Sequence[Any]]:
        posterior, acquisition = self.objective.posterior, self.objective.acquisition
        assert isinstance(acquisition, LCB)
        lines = Lines(piece.surface(posterior, acquisition.kappa), known)
        left = lines.branched(with_room(self.value), deadline, _MOST_HALVED, start)
        return left.bound, left.tangents
