"""Lists of sparse graphs and of graphs with a large diameter whose counts lie in some boxes.

Inequalities are weakest for trees and similar graphs, where distances are large and whole numbers
matter most: often no graph has any of a thousand vectors of counts that inequalities allow. But
such graphs have few *skeletons* (connected graphs without labels). With 10 nodes, 12 thousand have
at most three independent cycles, and 3 thousand have a diameter of six or more. The labels of the
composition are placed on each of them in every way, and the graphs whose counts are in a box are
evaluated. The narrower the boxes, the fewer skeletons have a histogram that some box allows, so
halving and listing take turns, and each list has more edges than the one before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
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
from .labelled_skeletons import AllowedParts, LabelledSkeletons
from .piece import Piece
from .piece_solve import PieceSolve

_MOST_SKELETONS = 500_000
_MOST_CYCLES = 7
_MOST_COSTS = 40_000_000  # of pairs of nodes by distance and placement, four bytes each
_FEW_PLACEMENTS = 1_000_000  # labels on skeletons that are listed in a second or so
_PLACEMENT_SECONDS = 8e-9  # roughly, for one box
_TIME_SHARE = 0.6  # of the remaining time, at most
_SECONDS = 2.0  # roughly: with more to list, boxes are halved first


def settle_listed(
    state: PieceSolve, lcb: LcbOverCounts, left: Remainder, limit: float, n_edges: int = 0
) -> tuple[int, list[Box]] | None:
    """Evaluate the graphs of some boxes that can be listed, unless their LCB is above a limit.

    All graphs of interest have at least ``n_edges``. Returns the least number of edges of all
    graphs that were not listed, and the boxes that may hold some of them; ``None`` if there is no
    time to list any.
    """
    variables = lcb.variables
    if not can_be_listed(state.piece, variables):
        return None
    parts = AllowedParts.of(variables, left)
    now = time.monotonic()
    deadline = now + _TIME_SHARE * max(0.0, state.deadline - now)
    try:
        found = _chosen(state.piece, parts, deadline, n_edges)
        if found is None:
            return None
        n_edges, skeletons = found
        labelled = LabelledSkeletons(variables, arrangements(state.piece.composition or ()))
        for some in skeletons:
            for graphs in labelled.below(some, parts, lcb, limit):
                if time.monotonic() > deadline:
                    return None
                state.take_best(graphs, of_the_space=False)
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
    n = structure.shape.n_nodes
    costs = n_arrangements(composition) * (n * (n - 1) // 2) * variables.coordinates.longest
    return costs <= _MOST_COSTS


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
    piece: Piece, parts: AllowedParts, deadline: float, n_edges: int
) -> tuple[int, Sequence[Skeletons]] | None:
    """The least number of edges of graphs that are not listed, and the skeletons to list.

    Those with fewer than ``n_edges`` are of no interest.
    """
    structure, n = piece.structure, piece.structure.shape.n_nodes
    assert piece.composition is not None  # `can_be_listed`
    per_second = 1 / (_PLACEMENT_SECONDS * n_arrangements(piece.composition))
    spare = (deadline - time.monotonic()) * per_second
    enough = spare - _SECONDS * per_second

    def of_interest(skeletons: Skeletons) -> tuple[Skeletons, int]:
        """Those that some part allows, and how many parts allow them in all."""
        if structure.diameter is not None:  # every distance up to the longest occurs
            diameters = (skeletons.histograms > 0).sum(axis=1)
            skeletons = skeletons.select(np.flatnonzero(diameters == structure.diameter))
        allowed = parts.of_histograms(skeletons.histograms)
        return skeletons.select(np.flatnonzero(allowed.any(axis=1))), int(allowed.sum())

    if _is_elongated(piece):
        skeletons, number = of_interest(elongated(n, deadline))
        if number <= spare:
            return n * n, [skeletons]
    out: list[Skeletons] = []
    first = max(0, n_edges - (n - 1))
    for n_cycles in range(first, _most_cycles(n) + 1):
        every = skeletons_of(n, n - 1, range(n_cycles, n_cycles + 1), deadline)
        skeletons, number = of_interest(every)
        spare -= number
        if spare < (enough if out else 0):
            break
        out.append(skeletons)
    return (n - 1 + first + len(out), out) if out else None
