"""Choice of the proof: one strategy per family of kernels and acquisitions.

A strategy answers every question of a proof that depends on the kernel or the acquisition: how the
space is partitioned, how a piece is bounded before any solver sees it, how it is solved, and what
the certificate may claim. The schedule, the jobs and the cutting planes rely on the strategy alone;
`SolvePiece` is the job that asks it about a piece. A new family is a new file in ``strategies`` and
one line of `proof.engine.STRATEGIES`.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ....arrays import FloatArray
from ....encoding import Structure
from ....graph import Graph
from ...criterion import Criterion
from ...jobs.pool import solve_all
from ...jobs.worker import Job
from ...proposal import Status
from ..bounds.linear_programs import Lines, Remainder
from ..bounds.lines_below import LcbOverCounts
from ..bounds.placement_values import PlacementValues
from ..bounds.rbf_factors import RbfFactors
from ..bounds.separate_values import SeparateValues
from ..distances.coordinates import Coordinates, Position
from ..distances.inequality import Inequality
from ..distances.known import shared_out
from ..distances.limited_degrees import of_limited_degrees
from .piece import Answer, Piece, Question
from .piece_solve import OutOfTime, PieceSolve

_SLOW_SHARE = 0.85  # of a job's time: a program may be a little late


class Branching(Protocol):
    """Lines below the values over counts, and boxes of counts to halve."""

    def branched(
        self, value: float, deadline: float, n_most: int, start: Sequence[Any] = ()
    ) -> Remainder:
        """Halve boxes in which values could be below ``value``, the worst first."""


class Strategy(ABC):
    """Proof for the criteria of one family."""

    by_composition: ClassVar[bool] = False  # pieces fix how many nodes have each label
    bounds_counts: ClassVar[bool] = False  # relaxed pieces have bounds, which facts can tighten
    # boxes of counts, when a piece is first bounded: as a whole, and for a part of one diameter
    most_halved_whole: ClassVar[int] = 300
    most_halved: ClassVar[int] = 300
    # seconds per piece: with less time, a solve that looks for graphs is mostly in vain
    least_seconds: ClassVar[float] = 1.0
    has_cases: ClassVar[bool] = False  # pieces can be divided by the layers around a node
    only_skeletons: ClassVar[bool] = False  # a size can be bounded by its skeletons only

    def __init__(self, criterion: Criterion) -> None:
        self.criterion = criterion

    @classmethod
    @abstractmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """True if this is the strategy for a criterion."""

    def check(self, graphs: Sequence[Graph], seed: int, deadline: float) -> None:  # noqa: B027
        """Raise if a declaration of the criterion is false for these graphs, or for random ones.

        Drawing those may take until the deadline.
        """

    # -- partition ----------------------------------------------------------------------------

    def composition_bounds(
        self,
        structure: Structure,  # noqa: ARG002
        compositions: Sequence[tuple[int, ...]],
    ) -> Sequence[float] | None:
        """A bound for each composition of a structure; ``None`` if it is best left whole."""
        return [-math.inf] * len(compositions)

    def quick_bound(self, piece: Piece, value: float) -> float:  # noqa: ARG002
        """A bound on a piece that takes hardly any time, of interest up to ``value`` only."""
        return -math.inf

    def has_slow_bound(self, piece: Piece) -> bool:  # noqa: ARG002
        """True if there is a bound on a piece that takes seconds, and is worth it."""
        return False

    def slow_bound(self, piece: Piece, value: float, seconds: float) -> float:
        """That bound, of interest up to ``value`` only."""
        raise NotImplementedError(f"{type(self).__name__} has no slow bounds")

    def lines(self, piece: Piece, inequalities: Iterable[Inequality[Position]]) -> Branching | None:
        """Linear functions below the values over counts that obey inequalities, or ``None``."""
        lcb = self.lcb_over_counts(piece)
        return None if lcb is None else Lines(lcb, inequalities)

    def lines_of_whole(self, piece: Piece) -> Branching | None:
        """Like `lines`, for a piece before it is split by diameter."""
        return self.lines(piece, self.known_of_whole(piece))

    def lcb_over_counts(self, piece: Piece) -> LcbOverCounts | None:  # noqa: ARG002
        """LCB as a function of the counts of a piece; ``None`` if there are no lines below it."""
        return None

    def known_of_whole(self, piece: Piece) -> Iterator[Inequality[Position]]:
        """Inequalities for programs about a piece before it is split by diameter."""
        coordinates = self.coordinates(piece)
        yield from shared_out(piece.structure, coordinates)
        yield from of_limited_degrees(piece.structure, coordinates)

    def skeleton_values(self, n_nodes: int) -> SeparateValues | RbfFactors | None:
        """The values over all skeletons of a size; ``None`` if they do not follow from counts."""
        kinds = (SeparateValues, PlacementValues, RbfFactors)
        accepting = (kind for kind in kinds if kind.accepts(self.criterion))
        kind = next(accepting, None)
        return None if kind is None else kind(self.criterion, n_nodes)

    # -- pieces -------------------------------------------------------------------------------

    def coordinates(self, piece: Piece) -> Coordinates:
        """The counts that decide the value of a graph of the piece."""
        return piece.coordinates(labelled=self.criterion.labelled)

    def counts(self, piece: Piece, graph: Graph) -> tuple[int, ...]:
        """The counts of a graph of the piece."""
        return self.coordinates(piece).values(graph)

    def run(
        self,
        jobs: Sequence[Job],
        deadline: float,
        stop: Callable[[], bool],
        meanwhile: Callable[[], bool],
    ) -> Iterator[tuple[int, Any]]:
        """Run jobs about pieces in workers, like `jobs.pool.solve_all`."""
        return solve_all(jobs, deadline, stop, meanwhile)

    @abstractmethod
    def solve(self, state: PieceSolve) -> Answer:
        """Answer the question about a piece, as far as time allows."""

    # -- cases, for families that have them ---------------------------------------------------

    def gradient(self, piece: Piece, counts: Sequence[int]) -> FloatArray:
        """Gradient with respect to the numbers of pairs at each distance, near some counts."""
        raise NotImplementedError(f"{type(self).__name__} has no cases")

    def least_weight(self, state: PieceSolve, weights: tuple[int, ...], most: int) -> int | None:
        """The smallest ``weights . h <= most`` of histograms that can beat the question's value.

        ``most + 1`` or more if there are none, ``None`` if that is unknown.
        """
        raise NotImplementedError(f"{type(self).__name__} has no cases")

    # -- certificate --------------------------------------------------------------------------

    def claim(self, *, proved: bool, bound: float) -> Status:
        """Status of the proposal, depending on whether all pieces were settled."""
        if proved:
            return "optimal"
        return "heuristic" if bound == -math.inf else "time_limit"


@dataclass
class SolvePiece:
    """Job that finds the best graph of a piece that beats a value, if any, and a bound."""

    strategy: Strategy
    question: Question
    time_limit: float

    def solve(self) -> Answer:
        """The answer; its bound holds for all graphs of the piece that are not excluded."""
        state = self.state()
        try:
            return self.strategy.solve(state)
        except OutOfTime:
            return state.open()

    def state(self) -> PieceSolve:
        """A new solve, whose time starts now."""
        deadline = time.monotonic() + self.time_limit
        return PieceSolve(self.question, self.strategy.criterion, deadline)


@dataclass
class BoundSlowly:
    """The job of bounding a piece in seconds."""

    strategy: Strategy
    piece: Piece
    value: float  # only smaller values are of interest
    time_limit: float

    def solve(self) -> float:
        """The bound, or as much of it as there is time for."""
        return self.strategy.slow_bound(self.piece, self.value, _SLOW_SHARE * self.time_limit)
