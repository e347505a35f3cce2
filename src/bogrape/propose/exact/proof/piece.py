"""One piece of the space, the questions asked about it, and the answers.

A piece is a `Structure` (a size, possibly a diameter, possibly the layers around its heaviest node,
see `distances.layers`), possibly with a composition (how many nodes have each label).

Some results are *learnt* and kept. Whether a graph with a given histogram exists does not depend on
the data, so a histogram that a proof has ruled out for a structure stays ruled out. Successive
steps of a study ask about much the same histograms, those near the best of the posterior. Only
structures without attributes are kept (`FreeAttributes.bare`), in the memory of this process, and
only a limited number.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, IntArray
from ....encoding import Structure
from ....graph import Graph
from ...values import PROOF, room
from ..distances.coordinates import Coordinates
from ..distances.histograms import Fact, known_facts
from ..distances.layers import Heaviest

SmallHistograms = NDArray[np.int16]  # one per row

_LONGER = 1.5  # times as long, for a solve to be repeated
_MOST_STRUCTURES = 256
_MOST_FACTS = 300  # of one size and diameter
_MOST_HISTOGRAMS = 500_000  # of one structure; 16 bytes or so each


@dataclass(frozen=True)
class Piece:
    """A part of the space that is settled as a whole."""

    structure: Structure
    composition: tuple[int, ...] | None = None
    heaviest: Heaviest | None = None  # weights under which node 0 is the heaviest

    @property
    def longest(self) -> int:
        """The longest distance a graph of the piece can have."""
        diameter = self.structure.diameter
        return self.structure.shape.n_nodes - 1 if diameter is None else diameter

    def matches(self, graph: Graph) -> bool:
        """True if a graph has the size, the diameter and the composition of the piece."""
        shape, diameter = self.structure.shape, self.structure.diameter
        if graph.n_nodes != shape.n_nodes:
            return False
        if diameter is not None and graph.distances().max() != diameter:
            return False
        numbers = np.bincount(graph.labels, minlength=shape.n_labels)
        return self.composition in (None, tuple(numbers.tolist()))

    def coordinates(self, *, labelled: bool) -> Coordinates:
        """The counts that decide a kernel on graphs of this piece."""
        return Coordinates.of(
            self.structure.shape,
            labelled=labelled,
            longest=self.longest,
            composition=self.composition,
        )


@dataclass(frozen=True, eq=False)
class Boxes:
    """Ranges of a piece's variables that hold all counts of interest, kept from solve to solve."""

    low: NDArray[np.int16]  # (B, V)
    high: NDArray[np.int16]
    n_edges: int  # graphs with fewer have been examined


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question to solve: does any graph of a piece have a value below ``value``?"""

    piece: Piece
    value: float  # only smaller values are of interest
    excluded: Collection[str] = ()
    known: Collection[tuple[int, ...]] = ()  # counts whose graphs need not be found
    seed: int = 0
    missing: SmallHistograms | None = None  # histograms known to have no graph
    facts: tuple[Fact, ...] = ()  # about all graphs of this size and diameter
    relaxed: bool = False  # bound the counts alone, whether or not a graph has them
    boxes: Boxes | None = None  # those that remained after an earlier solve


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Result for a piece: ``bound <= every value``, and the best graph below the cut-off."""

    proved: bool
    bound: float  # valid for graphs of the piece that are not excluded
    graph: Graph | None = None
    value: float = math.inf
    n_solves: int = 0
    missing: SmallHistograms | None = None  # histograms that were shown to have no graph
    counts: tuple[int, ...] | None = None  # the best counts, if the question was relaxed
    facts: tuple[Fact, ...] = ()  # new facts about all graphs of this size and diameter
    boxes: Boxes | None = None  # nothing of interest is outside of them


@dataclass
class Open:
    """A piece that is not settled, and the best bound known for it."""

    piece: Piece
    bound: float
    can_be_cut: bool = True
    can_be_split: bool = True
    tried: float = 0.0  # seconds
    reached: tuple[float, ...] = ()  # `progress` when it was last tried
    n_slow: int = 0  # slow bounds
    counts: tuple[int, ...] | None = None  # the best ones of the relaxed question
    boxes: Boxes | None = None

    @property
    def progress(self) -> tuple[float, ...]:
        """What a next solve would begin with; empty if it would begin afresh."""
        if self.boxes is None:
            return ()
        return self.bound, len(self.boxes.low), self.boxes.n_edges

    def in_vain(self, seconds: float) -> bool:
        """True if a solve of this length would repeat one that did not settle the piece."""
        return seconds < _LONGER * self.tried and self.progress in ((), self.reached)


def slack(value: float) -> float:
    """Allowance for rounding in a proved bound near a value."""
    return room(PROOF, value)


def with_room(value: float) -> float:
    """A value plus its slack, so that rounding cannot make an open piece look settled."""
    return value + slack(value)


# -- what is learnt -----------------------------------------------------------------------------


class Learnt:
    """Histograms that no graph of a structure has, and facts about distances."""

    def __init__(self) -> None:
        self._missing: OrderedDict[Structure, SmallHistograms] = OrderedDict()
        self._facts: dict[tuple[int, int], dict[Fact, None]] = {}

    def facts(self, structure: Structure) -> tuple[Fact, ...]:
        """Known inequalities for distances in graphs of this size and diameter."""
        if structure.diameter is None:
            return ()
        key = structure.shape.n_nodes, structure.diameter
        return (*known_facts(*key), *self._facts.get(key, ()))

    def learn_facts(self, structure: Structure, facts: tuple[Fact, ...]) -> None:
        """Remember new facts, a limited number per size and diameter."""
        if facts and structure.diameter is not None:
            key = structure.shape.n_nodes, structure.diameter
            kept = [*self._facts.get(key, ()), *facts][-_MOST_FACTS:]
            self._facts[key] = dict.fromkeys(kept)

    def missing(self, structure: Structure) -> SmallHistograms | None:
        """The histograms known to have no graph."""
        return self._missing.get(structure)

    def learn_missing(self, structure: Structure, histograms: SmallHistograms) -> None:
        """Remember that no graph of the structure has any of these histograms."""
        before = self._missing.pop(structure, None)
        if before is not None:
            histograms = np.unique(np.concatenate([before, histograms]), axis=0)
        self._missing[structure] = histograms[-_MOST_HISTOGRAMS:]
        while len(self._missing) > _MOST_STRUCTURES:
            self._missing.popitem(last=False)


learnt = Learnt()  # shared by all proposals of this process: it depends on no data


def is_among(histograms: IntArray, known: SmallHistograms | None) -> BoolArray:
    """Mask of the histograms that are among the known ones."""
    if known is None or not len(known) or not histograms.shape[1]:
        return np.zeros(len(histograms), dtype=bool)
    return np.asarray(np.isin(_keys(histograms), _keys(known)))


def _keys(histograms: IntArray | SmallHistograms) -> NDArray[np.void]:
    packed = np.ascontiguousarray(histograms, dtype=np.int16)
    return packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()
