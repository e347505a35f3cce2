"""LCB with the kernel ``rbf``: pieces by composition and diameter, bounded by linear programs.

Within a composition the numbers of nodes with each label are given, and the exponents of the kernel
are sums of squares of linear functions of the counts (`bounds.rbf_lines`). Where the kernel
compares labels of edges, graphs with equal counts may have different values, so such spaces have no
strategy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from .....acquisition import LCB
from .....arrays import IntArray
from .....encoding import Structure
from .....kernels import RBF
from .....posterior import FunctionPosterior
from ....criterion import Criterion
from ...bounds.linear_programs import Lines, Program, Renamed
from ...bounds.rbf_lines import RbfLcbOverCounts, rbf_composition_bounds, rbf_variables
from ...distances.coordinates import Coordinates, LabelledDistance, Position
from ...distances.inequality import Inequality
from ...distances.known import known_of_counts, most_far
from ..all_graphs import few_graphs
from ..by_integers import solve_by_integers, wants_lines
from ..by_listing import solve_by_listing
from ..piece import Answer, Piece
from ..piece_solve import PieceSolve
from ..strategy import Branching, Strategy

_LARGEST_SHARED = 150  # counts: larger programs take more memory than they save time


class RbfLCB(Strategy):
    """LCB with the kernel ``rbf`` in spaces with labels of nodes and none of edges."""

    by_composition = True
    # programs are larger than those of other kernels, and parts of one diameter have smaller ones
    most_halved_whole = 40
    most_halved = 8
    least_seconds = 4.0  # boxes are halved, and sparse graphs listed

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        self._posterior = cast("FunctionPosterior", criterion.posterior)
        self._kappa = cast("LCB", criterion.acquisition).kappa

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """LCB with the kernel ``rbf``, unless it compares labels of edges.

        With one label for all nodes a table of histograms is far quicker than lines.
        """
        model = criterion.posterior.model
        of_functions = isinstance(criterion.posterior, FunctionPosterior)
        known = type(model.kernel) is RBF and not model.beta and not criterion.edge_labelled
        lines = of_functions and known and criterion.space.n_labels > 1
        return type(criterion.acquisition) is LCB and lines

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float] | None:
        """By the norm of the mean; ``None`` if graphs are so few that enumeration is quicker."""
        if few_graphs(structure):
            return None
        bounds = rbf_composition_bounds(self._posterior, np.array(compositions), self._kappa)
        return [float(bound) for bound in bounds]

    def quick_bound(self, piece: Piece, value: float) -> float:
        """By lines alone, without linear programs."""
        if piece.composition is None:
            return -math.inf
        return self.lcb_over_counts(piece).quick_bound(value)

    def lcb_over_counts(self, piece: Piece) -> RbfLcbOverCounts:
        """LCB over the counts of a piece."""
        return RbfLcbOverCounts(
            self._posterior,
            self.coordinates(piece),
            self._kappa,
            connected=piece.structure.connectivity == "strong",
            most_far=most_far(piece.structure),
        )

    def lines_of_whole(self, piece: Piece) -> Branching | None:
        """Lines over a program that pieces share if only the names of their labels differ."""
        counts = self.program_of_whole(piece)
        if counts is None:
            return super().lines_of_whole(piece)
        return Lines(self.lcb_over_counts(piece), counts)

    def program_of_whole(self, piece: Piece) -> Renamed | None:
        """The program for a piece, unless it is too large to be kept."""
        coordinates = self.coordinates(piece)
        if piece.composition is None or len(coordinates) > _LARGEST_SHARED:
            return None
        order = np.argsort(-np.array(piece.composition), kind="stable")
        sizes = tuple(piece.composition[label] for label in order)
        # labels are renamed, so rules, which may name some, are left out
        program = _shared_program(replace(piece.structure, rules=()), sizes)
        return Renamed(program, _places(coordinates, order))

    def known_of_whole(self, piece: Piece) -> Iterator[Inequality[Position]]:
        """All known inequalities: most compositions are settled as a whole, not by diameter."""
        return known_of_counts(piece.structure, self.coordinates(piece), None)

    def solve(self, state: PieceSolve) -> Answer:
        """By lines below LCB in a composition, else by enumeration."""
        if state.piece.composition is not None and wants_lines(state):
            lcb, chord = self.lcb_over_counts(state.piece), state.chord
            if chord is not None:
                lcb = lcb.of(chord.kappa, chord.high)
            return solve_by_integers(state, lcb=lcb)
        return state.open() if state.question.relaxed else solve_by_listing(state)


@lru_cache(maxsize=40)
def _shared_program(structure: Structure, sizes: tuple[int, ...]) -> Program:
    """Counts of the graphs with given numbers of nodes per label, the most frequent label first."""
    variables = rbf_variables(Piece(structure, sizes).coordinates(labelled=True))
    return Program(known_of_counts(structure, variables.coordinates, None), variables)


def _places(coordinates: Coordinates, order: IntArray) -> IntArray:
    """Positions of the counts once labels are renamed by their place in an order."""
    name = {int(label): i for i, label in enumerate(order)}
    sizes = tuple((coordinates.composition or ())[label] for label in order)
    directed = coordinates.shape.directed
    there = Coordinates.of(
        coordinates.shape, labelled=True, longest=coordinates.longest, composition=sizes
    ).at_labelled_distance
    out: list[int] = []
    for s, a, b in coordinates.paths:
        ends = (name[a], name[b]) if directed else sorted((name[a], name[b]))
        out.append(there[LabelledDistance(s, *ends)])
    out += range(len(coordinates.paths), len(coordinates))
    return np.array(out, dtype=np.int64)
