"""One piece of the proof, and what is known of it.

A piece is a `Structure` (a size, perhaps a diameter, perhaps the layers around its heaviest node,
see `distances.layers`) and perhaps a composition (how many nodes have each label).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....encoding import Structure
from ....graph import Graph
from ....kernels import Kernel
from ....posterior import Posterior
from ...units import PROOF, room
from ..bounds.lines_below import Surface, surface_of
from ..distances.coordinates import Coordinates
from ..distances.facts import Fact
from ..distances.layers import Heaviest
from ..distances.remembered import Rows


@dataclass(frozen=True)
class Piece:
    """What one solve is about."""

    structure: Structure
    composition: tuple[int, ...] | None = None
    heaviest: Heaviest | None = None  # why node 0 is node 0

    @property
    def longest(self) -> int:
        """The longest distance a graph of the piece can have."""
        diameter = self.structure.diameter
        return self.structure.shape.n_nodes - 1 if diameter is None else diameter

    def matches(self, graph: Graph) -> bool:
        """Whether a graph has the size, the diameter and the composition of the piece."""
        shape, diameter = self.structure.shape, self.structure.diameter
        if graph.n_nodes != shape.n_nodes:
            return False
        if diameter is not None and graph.distances().max() != diameter:
            return False
        numbers = np.bincount(graph.labels, minlength=shape.n_labels)
        return self.composition in (None, tuple(numbers.tolist()))

    def surface(self, posterior: Posterior, kappa: float) -> Surface:
        """LCB over the counts of this piece."""
        complete = self.structure.connectivity == "strong"
        coordinates = self.coordinates(posterior.model.kernel)
        return surface_of(posterior, coordinates, kappa, complete=complete)

    def coordinates(self, kernel: Kernel) -> Coordinates:
        """The counts that decide the kernel on graphs of this piece."""
        return Coordinates.of(
            self.structure.shape,
            labelled=kernel.labelled,
            longest=self.longest,
            composition=self.composition,
        )


@dataclass(frozen=True)
class Answer:
    """What is known of a piece: ``bound <= every value``, and the best graph below the cut-off."""

    proved: bool
    bound: float  # valid for graphs of the piece that are not excluded
    graph: Graph | None = None
    value: float = math.inf
    n_solves: int = 0
    missing: Rows | None = None  # rows of counts that were shown to have no graph
    counts: tuple[int, ...] | None = None  # the best counts, if no graph is behind them
    facts: tuple[Fact, ...] = ()  # new facts about all graphs of this size and diameter


@dataclass
class Open:
    """A piece that is not settled, and the best bound known for it."""

    piece: Piece
    bound: float
    can_be_cut: bool = True
    can_be_split: bool = True
    tried: float = 0.0  # seconds
    counts: tuple[int, ...] | None = None  # the best ones, with no graph behind them


def slack(value: float) -> float:
    """What floating point may do to a proved bound near a value."""
    return room(PROOF, value)


def with_room(value: float) -> float:
    """A little above a value: rounding cannot make an open piece look settled."""
    return value + slack(value)
