"""Sparse graphs and graphs of a large diameter, listed: those whose counts lie in some boxes.

Inequalities are weakest for trees and similar graphs, where distances are large and whole numbers
matter most: of a thousand counts that inequalities allow, often no graph has any. But such graphs
have few *skeletons* (connected graphs without labels). Of 10 nodes, 12 thousand have at most three
independent cycles, and 3 thousand have a diameter of six or more. Each of them gets the labels of
the composition in every way, and the graphs whose counts are in a box are evaluated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....arrays import IntArray
from ....batch import Batch
from ..bounds.linear_programs import Remainder
from ..bounds.lines_below import Box
from ..distances.variables import Variables
from ..skeletons.canonical import MOST_NODES
from ..skeletons.elongated import elongated, least_listed
from ..skeletons.placements import arrangements, n_arrangements
from ..skeletons.store import Skeletons, estimated_number, skeletons_of
from .labelled_skeletons import AllowedParts, LabelledSkeletons, fits_a_word
from .piece import Listed, Piece
from .piece_solve import PieceSolve

_MOST_SKELETONS = 60_000
_MOST_CYCLES = 5
_MOST_PLACEMENTS = 16_000_000  # labels on skeletons, of one piece


def settle_listed(
    state: PieceSolve, variables: Variables, left: Remainder, limit: float
) -> tuple[Listed, list[Box]] | None:
    """Evaluate the graphs of some boxes that can be listed, unless a line is above a limit there.

    Returns which graphs these are, and the boxes that may hold some of the others; ``None`` if none
    can be listed in the time there is.
    """
    if not can_be_listed(state.piece, variables):
        return None
    try:
        listing = _Listing.of(state.piece, variables, left, limit, state.deadline)
        if listing is None:
            return None
        for batch in listing.graphs(state.deadline):
            state.take_best(batch, of_the_space=False)
    except TimeoutError:
        return None
    listed, diameter = listing.listed, state.piece.structure.diameter
    if listed.has_all_of(diameter):
        return listed, []
    most = listing.parts.high_totals[:, 0]
    boxes = [box for box, edges in zip(left.boxes, most, strict=True) if edges >= listed.n_edges]
    return listed, boxes


def can_be_listed(piece: Piece, variables: Variables) -> bool:
    """True if graphs of a piece are skeletons with labels, and nothing else."""
    structure, composition = piece.structure, piece.composition
    plain = not structure.shape.directed and structure.connectivity == "strong"
    labels_only = not variables.coordinates.nodes and not structure.shape.n_edge_labels
    small = 2 <= structure.shape.n_nodes <= MOST_NODES and structure.layers is None
    if not (plain and labels_only and small and structure.all_alike and composition is not None):
        return False
    return fits_a_word(variables.coordinates)


@lru_cache(maxsize=32)
def _most_cycles(n_nodes: int) -> int:
    """The largest number of independent cycles of listed skeletons; -1 if not even trees are."""
    found = -1
    for n_cycles in range(_MOST_CYCLES + 1):
        if estimated_number(n_nodes, n_nodes - 1, range(n_cycles + 1)) > _MOST_SKELETONS:
            break
        found = n_cycles
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class _Listing:
    """The graphs of a piece whose counts are in one of some boxes."""

    piece: Piece
    variables: Variables
    parts: AllowedParts
    skeletons: Sequence[Skeletons]
    listed: Listed

    @classmethod
    def of(
        cls,
        piece: Piece,
        variables: Variables,
        left: Remainder,
        limit: float,
        deadline: float,
    ) -> _Listing | None:
        """As many skeletons as there is time to look at all placements of labels on."""
        parts = AllowedParts.of(variables, left, limit)
        structure, n = piece.structure, piece.structure.shape.n_nodes
        assert piece.composition is not None  # `can_be_listed`
        spare = _MOST_PLACEMENTS / n_arrangements(piece.composition)

        def of_interest(skeletons: Skeletons, longest: int | None) -> Skeletons:
            diameters = (skeletons.histograms > 0).sum(axis=1)
            chosen = np.ones(len(skeletons), dtype=bool)
            if structure.diameter is not None:
                chosen &= diameters == structure.diameter
            if longest is not None:
                chosen &= diameters < longest
            skeletons = skeletons.select(chosen)
            return skeletons.select(parts.of_histograms(skeletons.histograms).any(axis=1))

        chosen: list[Skeletons] = []
        listed = Listed()
        longest = least_listed(n)
        if longest is not None:
            skeletons = of_interest(elongated(n, deadline), None)
            if len(skeletons) <= spare:
                spare -= len(skeletons)
                chosen, listed = [skeletons], Listed(n - 1, longest)
        if listed.has_all_of(structure.diameter):
            return cls(
                piece=piece, variables=variables, parts=parts, skeletons=chosen, listed=listed
            )
        for n_cycles in range(_most_cycles(n) + 1):
            found = skeletons_of(n, n - 1, range(n_cycles, n_cycles + 1), deadline)
            skeletons = of_interest(found, listed.diameter)
            spare -= len(skeletons)
            if spare < 0:
                break
            chosen.append(skeletons)
            listed = Listed(n + n_cycles, listed.diameter)
        if listed == Listed():
            return None
        return cls(piece=piece, variables=variables, parts=parts, skeletons=chosen, listed=listed)

    def graphs(self, deadline: float) -> Iterator[Batch]:
        """The graphs with these skeletons."""
        labels = arrangements(self.piece.composition or ())
        labelled = LabelledSkeletons(self.variables, labels)
        for skeletons in _joined(self.skeletons):
            for start in range(0, len(skeletons), labelled.at_once):
                if time.monotonic() > deadline:
                    raise TimeoutError
                some = skeletons.select(slice(start, start + labelled.at_once))
                batch = labelled.within(some, self.parts)
                if len(batch):
                    yield batch


def _joined(parts: Iterable[Skeletons]) -> Iterator[Skeletons]:
    """The parts that are not empty."""
    return (part for part in parts if len(part))
