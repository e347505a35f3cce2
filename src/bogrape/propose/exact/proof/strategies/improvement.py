"""EI with the kernels that see labels, by LCB with several kappas (`bounds.ei_chords`).

All bounds on LCB with a kernel serve EI. No graph of a piece has more than a given EI if, for each
of a few chords, none has an LCB below some limit; the strategy for LCB can prove that. Coarse
chords settle most pieces by bounds and linear programs. The others are solved with finer chords, so
that few graphs lie between EI and its chords.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from .....acquisition import EI, LCB
from .....encoding import Structure
from ....criterion import Criterion
from ...bounds.ei_chords import Chord, chords, whole_range
from ...bounds.linear_programs import Lines, Remainder, Renamed
from ...bounds.lines_below import Box, LcbOverCounts, quick_bound
from ...distances.coordinates import Position
from ...distances.inequality import Inequality
from ..all_graphs import few_graphs
from ..by_listing import solve_by_listing
from ..piece import Answer, Piece, with_room
from ..piece_solve import PieceSolve
from ..strategy import Strategy
from .exponential import ExponentialLabelledLCB
from .linear import LinearLabelledLCB
from .rbf import RbfLCB

_COARSE, _MOST_COARSE = 0.02, 6  # chords: distance from EI in largest deviations, largest number
_FINE, _MOST_FINE = 0.005, 12
_LIMITS = 64  # number of different limits on deviations
_ROOM_OF_DEVIATIONS = 1e-3  # relative to the largest: room for rounding


class _ByChords(Strategy):
    """EI with a kernel whose strategy for LCB proves bounds within compositions."""

    by_composition = True
    of_lcb: ClassVar[type[Strategy]]

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        acquisition = cast("EI", criterion.standard_acquisition)
        self._goal = criterion.observed.standard_best - acquisition.xi
        self._largest = criterion.largest_deviation

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """EI where the strategy for LCB applies and deviations are bounded."""
        if type(criterion.acquisition) is not EI or criterion.largest_deviation == math.inf:
            return False
        return cls.of_lcb.accepts(replace(criterion, acquisition=LCB(1.0)))

    def lcb(self, chord: Chord) -> Strategy:
        """The strategy for the LCB of a chord."""
        return self.of_lcb(replace(self.criterion, acquisition=LCB(chord.kappa)))

    def coarse(self, value: float, largest: float) -> tuple[Chord, ...]:
        """A few chords for all deviations of a piece, up to the largest."""
        apart = _COARSE * self._largest
        return chords(self._goal, value, largest, apart=apart, n_most=_MOST_COARSE)

    def fine(self, value: float, largest: float) -> tuple[Chord, ...]:
        """More chords, closer to EI."""
        apart = _FINE * self._largest
        return chords(self._goal, value, largest, apart=apart, n_most=_MOST_FINE)

    def over_counts(self, piece: Piece) -> LcbsOverCounts:
        """The LCB of each chord, over the counts of a piece."""

        def of_chord(chord: Chord) -> LcbOverCounts:
            return cast("LcbOverCounts", self.lcb(chord).lcb_over_counts(piece))

        return LcbsOverCounts(self._largest, of_chord)

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float] | None:
        """By one LCB, with any kappa, as no value to beat is known yet.

        ``None`` if graphs are so few that enumeration is quicker.
        """
        if few_graphs(structure):
            return None
        chord = whole_range(self._goal, math.inf, self._largest)
        bounds = self.lcb(chord).composition_bounds(structure, compositions)
        if bounds is None:
            return super().composition_bounds(structure, compositions)
        return [chord.value(bound) for bound in bounds]

    def quick_bound(self, piece: Piece, value: float) -> float:
        """By one chord for all deviations, or by several if that is not enough."""
        if not math.isfinite(value):
            return -math.inf
        bound = self._quick_bound(piece, value, [whole_range(self._goal, value, self._largest)])
        if -math.inf < bound < value:
            some = self.coarse(value, self._largest)
            bound = max(bound, self._quick_bound(piece, value, some))
        return bound

    def _quick_bound(self, piece: Piece, value: float, some: Iterable[Chord]) -> float:
        return min(
            chord.value(self.lcb(chord).quick_bound(piece, chord.limit(value))) for chord in some
        )

    def lines(self, piece: Piece, inequalities: Iterable[Inequality[Position]]) -> LinesOfChords:
        """Lines below LCB, for each of the coarse chords."""
        return LinesOfChords(self, self.over_counts(piece), list(inequalities))

    def known_of_whole(self, piece: Piece) -> Iterator[Inequality[Position]]:
        """As for LCB."""
        return self.lcb(whole_range(self._goal, math.inf, self._largest)).known_of_whole(piece)

    def solve(self, state: PieceSolve) -> Answer:
        """By LCB, chord by chord; without a composition by enumeration."""
        if state.piece.composition is None:
            return state.open() if state.question.relaxed else solve_by_listing(state)
        if state.best_value == math.inf:
            if state.question.relaxed:
                return state.open()
            if (graph := state.graph_with()) is None:
                return state.settled()
            state.best_graph, state.best_value = graph, self.criterion.of_graph(graph)
        lines = self.lines(state.piece, state.inequalities())
        left = lines.left(with_room(state.best_value), state.deadline, self.most_halved)
        return self._solve_chords(state, left, lines.over_counts.largest)

    def _solve_chords(self, state: PieceSolve, left: Sequence[Left], largest: float) -> Answer:
        """Solve what lines leave of coarse chords by the fine ones that cover their ranges."""
        fine = self.fine(state.best_value, largest)
        parts = [(wide, part) for wide in left for part in fine if wide.chord.overlaps(part)]
        bound, counts, end = math.inf, None, state.deadline
        for i, (wide, part) in enumerate(parts):
            now = time.monotonic()
            state.deadline = now + (end - now) / (len(parts) - i)
            state.chord, state.of_interest = part, []
            answer = self.lcb(part).solve(state)
            if not answer.proved and max(answer.bound, wide.bound) < bound:
                bound, counts = max(answer.bound, wide.bound), answer.counts
        state.chord, state.deadline = None, end
        return state.settled() if bound == math.inf else state.open(bound, counts)


class LinearLabelledEI(_ByChords):
    """EI with SP."""

    of_lcb = LinearLabelledLCB
    bounds_counts = True


class ExponentialLabelledEI(_ByChords):
    """EI with ESP."""

    of_lcb = ExponentialLabelledLCB


class RbfEI(_ByChords):
    """EI with the kernel ``rbf`` in spaces with labels of nodes and none of edges.

    Deviations vary little within a composition, so chords cover only those of one composition.
    """

    of_lcb = RbfLCB
    most_halved_whole = RbfLCB.most_halved_whole
    most_halved = RbfLCB.most_halved
    least_seconds = RbfLCB.least_seconds

    def __init__(self, criterion: Criterion) -> None:
        super().__init__(criterion)
        self._lcb = RbfLCB(replace(criterion, acquisition=LCB(1.0)))

    def over_counts(self, piece: Piece) -> LcbsOverCounts:
        """The LCB of each chord; they share most of their terms."""
        lcb = self._lcb.lcb_over_counts(piece)
        steps = lcb.most_std() / self._largest + _ROOM_OF_DEVIATIONS
        # few different limits, so that many pieces share chords
        largest = min(math.ceil(steps * _LIMITS) / _LIMITS, 1.0) * self._largest
        return LcbsOverCounts(largest, lambda chord: lcb.of(chord.kappa, chord.high))

    def quick_bound(self, piece: Piece, value: float) -> float:
        """By one chord for the deviations of the piece, or by several if that is not enough."""
        if piece.composition is None or not math.isfinite(value):
            return -math.inf
        lcbs = self.over_counts(piece)
        connected = piece.structure.connectivity == "strong"

        def least(some: Iterable[Chord]) -> float:
            bounds = (
                chord.value(quick_bound(lcbs.of(chord), chord.limit(value), connected=connected))
                for chord in some
            )
            return min(bounds)

        bound = least([whole_range(self._goal, value, lcbs.largest)])
        if -math.inf < bound < value:
            bound = max(bound, least(self.coarse(value, lcbs.largest)))
        return bound

    def lines_of_whole(self, piece: Piece) -> LinesOfChords:
        """Lines over a program that pieces share if only the names of their labels differ."""
        counts = self._lcb.program_of_whole(piece)
        known = list(self.known_of_whole(piece)) if counts is None else counts
        return LinesOfChords(self, self.over_counts(piece), known)


@dataclass(frozen=True, eq=False)
class LcbsOverCounts:
    """The LCB of each chord over the counts of a piece, and a limit on the deviations there."""

    largest: float
    of: Callable[[Chord], LcbOverCounts]


@dataclass(frozen=True, eq=False)
class Left:
    """A chord with graphs that lines do not settle."""

    chord: Chord
    bound: float  # on their values
    tangents: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class LinesOfChords:
    """Lines below LCB over the counts of a piece, for each of the coarse chords."""

    strategy: _ByChords
    over_counts: LcbsOverCounts
    counts: Sequence[Inequality[Position]] | Renamed

    def branched(
        self, value: float, deadline: float, n_most: int, start: Sequence[Any] = ()
    ) -> Remainder:
        """As `Lines.branched`, for EI; the tangents are the open chords, with theirs."""
        left = self.left(value, deadline, n_most, start)
        bound = min((part.bound for part in left), default=value)
        everything = Box(np.zeros(0), np.zeros(0))
        box = everything if left else None
        return Remainder(bound=bound, box=box, tangents=tuple(left), x=None)

    def left(
        self, value: float, deadline: float, n_most: int, start: Sequence[Left] = ()
    ) -> list[Left]:
        """The chords with graphs that may have smaller values than this.

        All chords are tried first; then boxes are halved for those that are still open. If that
        does not settle one of them, the piece stays open whatever the others give.
        """
        begin = {part.chord: part.tangents for part in start}
        below: dict[Chord, Lines] = {}
        out = []
        shared: Lines | None = None
        for chord in self.strategy.coarse(value, self.over_counts.largest):
            lcb = self.over_counts.of(chord)
            shared = Lines(lcb, self.counts) if shared is None else shared.of(lcb)
            below[chord] = shared
            first = shared.best(chord.limit(value), deadline, begin.get(chord, ()))
            if first.bound < chord.limit(value):
                out.append(Left(chord, chord.value(first.bound), first.tangents))
        for part in sorted(out, key=lambda part: part.bound) if n_most else ():
            limit = part.chord.limit(value)
            found = below[part.chord].branched(limit, deadline, n_most, part.tangents)
            out.remove(part)
            if found.box is not None:
                bound = max(part.bound, part.chord.value(found.bound))
                return [Left(part.chord, bound, found.tangents), *out]
        return out
