"""Lists of sparse graphs and of graphs with a large diameter whose counts lie in some boxes.

Inequalities are weakest for trees and similar graphs, where distances are large and whole numbers
matter most: often no graph has any of a thousand vectors of counts that inequalities allow. But
such graphs have few *skeletons* (connected graphs without labels). With 10 nodes, 12 thousand have
at most three independent cycles, and 3 thousand have a diameter of six or more. The labels of the
composition are placed on each of them in every way, and the graphs whose counts are in a box are
evaluated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from ..bounds.linear_programs import Remainder
from ..bounds.lines_below import Box, LcbOverCounts
from ..distances.coordinates import Distance, Position
from ..distances.inequality import Inequality, distances_by_position
from ..distances.variables import Variables
from ..skeletons.canonical import MOST_NODES
from ..skeletons.elongated import elongated, least_listed
from ..skeletons.placements import arrangements, n_arrangements
from ..skeletons.store import Skeletons, estimated_number, skeletons_of
from .labelled_skeletons import AllowedParts, LabelledSkeletons, fits_a_word
from .piece import Piece
from .piece_solve import PieceSolve

_MOST_SKELETONS = 60_000
_MOST_CYCLES = 5
_MOST_PLACEMENTS = 16_000_000  # labels on skeletons, of one piece
_FEW_PLACEMENTS = 1_000_000  # listed in a second or so
_PLACEMENT_SECONDS = 1e-6  # roughly
_TIME_SHARE = 0.6  # of the remaining time, at most


def settle_listed(
    state: PieceSolve, lcb: LcbOverCounts, left: Remainder, limit: float
) -> tuple[int, list[Box]] | None:
    """Evaluate the graphs of some boxes that can be listed, unless their LCB is above a limit.

    Returns the least number of edges of all other graphs, and the boxes that may hold some of them;
    ``None`` if there is no time to list any.
    """
    variables = lcb.variables
    if not can_be_listed(state.piece, variables):
        return None
    parts = AllowedParts.of(variables, left, limit)
    now = time.monotonic()
    deadline = now + _TIME_SHARE * max(0.0, state.deadline - now)
    try:
        found = _chosen(state.piece, parts, deadline)
        if found is None:
            return None
        n_edges, skeletons = found
        labelled = LabelledSkeletons(variables, arrangements(state.piece.composition or ()))
        for some in _shares(skeletons, labelled.at_once):
            if time.monotonic() > deadline:
                return None
            state.take_best(labelled.within(some, parts, lcb, limit), of_the_space=False)
    except TimeoutError:
        return None
    most = parts.high_totals[:, 0]
    return n_edges, [box for box, edges in zip(left.boxes, most, strict=True) if edges >= n_edges]


def at_least(n_edges: int, variables: Variables) -> Inequality[Position]:
    """The inequality that graphs with at least this many edges obey."""
    return distances_by_position(
        Inequality("not sparse", {Distance(1): 1}, low=n_edges), variables.coordinates
    )


def can_be_listed(piece: Piece, variables: Variables) -> bool:
    """True if graphs of a piece are skeletons with labels, and nothing else."""
    structure, composition = piece.structure, piece.composition
    plain = not structure.shape.directed and structure.connectivity == "strong"
    labels_only = not variables.coordinates.nodes and not structure.shape.n_edge_labels
    small = 2 <= structure.shape.n_nodes <= MOST_NODES and structure.layers is None
    if not (plain and labels_only and small and structure.all_alike and composition is not None):
        return False
    return fits_a_word(variables.coordinates)


def soon_listed(piece: Piece, variables: Variables, deadline: float) -> bool:
    """True if it takes little time to list all graphs of a piece, as their diameter is large."""
    if not (can_be_listed(piece, variables) and _is_elongated(piece)):
        return False
    try:
        histograms = elongated(piece.structure.shape.n_nodes, deadline).histograms
    except TimeoutError:
        return False
    number = int(((histograms > 0).sum(axis=1) == piece.structure.diameter).sum())
    return number * n_arrangements(piece.composition or ()) <= _FEW_PLACEMENTS


def _is_elongated(piece: Piece) -> bool:
    """True if the diameter of a piece is so large that all its graphs can be listed."""
    least, diameter = least_listed(piece.structure.shape.n_nodes), piece.structure.diameter
    return least is not None and diameter is not None and diameter >= least


@lru_cache(maxsize=32)
def _most_cycles(n_nodes: int) -> int:
    """The largest number of independent cycles of listed skeletons; -1 if not even trees are."""
    found = -1
    for n_cycles in range(_MOST_CYCLES + 1):
        if estimated_number(n_nodes, n_nodes - 1, range(n_cycles + 1)) > _MOST_SKELETONS:
            break
        found = n_cycles
    return found


def _chosen(
    piece: Piece, parts: AllowedParts, deadline: float
) -> tuple[int, Sequence[Skeletons]] | None:
    """The least number of edges of graphs that are not listed, and the skeletons to list."""
    structure, n = piece.structure, piece.structure.shape.n_nodes
    assert piece.composition is not None  # `can_be_listed`
    in_time = (deadline - time.monotonic()) / _PLACEMENT_SECONDS
    spare = min(_MOST_PLACEMENTS, in_time) / n_arrangements(piece.composition)

    def of_interest(skeletons: Skeletons) -> Skeletons:
        if structure.diameter is not None:  # every distance up to the longest occurs
            diameters = (skeletons.histograms > 0).sum(axis=1)
            skeletons = skeletons.select(np.flatnonzero(diameters == structure.diameter))
        return skeletons.select(
            np.flatnonzero(parts.of_histograms(skeletons.histograms).any(axis=1))
        )

    if _is_elongated(piece):
        skeletons = of_interest(elongated(n, deadline))
        if len(skeletons) <= spare:
            return n * n, [skeletons]
    out: list[Skeletons] = []
    for n_cycles in range(_most_cycles(n) + 1):
        skeletons = of_interest(skeletons_of(n, n - 1, range(n_cycles, n_cycles + 1), deadline))
        spare -= len(skeletons)
        if spare < 0:
            break
        out.append(skeletons)
    return (n - 1 + len(out), out) if out else None


def _shares(parts: Iterable[Skeletons], size: int) -> Iterator[Skeletons]:
    for part in parts:
        for start in range(0, len(part), size):
            yield part.select(slice(start, start + size))
