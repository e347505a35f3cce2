"""Your own kernels and acquisitions that depend only on the histogram of distances of a graph.

Tables need nothing more than that graphs with equal histograms and attributes have equal values. A
kernel that bounds its values over boxes of counts can be proved in larger spaces, even if it sees
the labels of paths (`bounds.kernel_boxes`).

Your own classes may hold something that cannot be sent to a worker process, such as an open file.
Then pieces are solved in this process, one after another.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

from .....acquisition import EI, LCB, is_monotone
from .....counts import Counts, count
from .....encoding import Structure, structures
from .....errors import SamplingError
from .....graph import Graph
from .....kernel_checks import refuse_false_boxes
from .....kernels import is_built_in
from ....criterion import Criterion
from ....jobs.pool import solve_all
from ....jobs.worker import Job, packed
from ...bounds.kernel_boxes import CountBoxes, KernelBoxes
from ...distances.known import known_of_counts
from ..all_graphs import few_graphs, log_graphs
from ..by_kernel_boxes import solve_by_kernel_boxes
from ..by_listing import solve_by_listing
from ..piece import Answer, Piece
from ..piece_solve import PieceSolve
from ..whole_space import MOST_LISTED
from .histograms import Histograms

_MOST_IN_TABLES = 11  # nodes: histograms of larger graphs are not listed
_QUICKLY_HALVED = 500  # boxes, when a piece is first bounded
_FIRST_HALVED, _MOST_BOUNDED = 100, 100  # boxes per composition, and compositions, in this process
_CHECKED = 32  # random graphs whose kernel values are compared with bounds on them


class OwnHistograms(Histograms):
    """Any acquisition, with any kernel that sees no labels of paths."""

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts criteria without labels of edges and paths, or spaces with one label."""
        if criterion.edge_labelled:
            return False
        return not criterion.labelled or criterion.space.n_labels == 1

    def run(
        self,
        jobs: Sequence[Job],
        deadline: float,
        stop: Callable[[], bool],
        meanwhile: Callable[[], bool],
    ) -> Iterator[tuple[int, Any]]:
        """Run jobs in workers if these can load your own classes, otherwise in this process."""
        own: list[object] = []
        if not isinstance(self.criterion.acquisition, (LCB, EI)):
            own.append(self.criterion.acquisition)
        if not is_built_in(self.criterion.posterior.model.kernel):
            own.append(self.criterion.posterior.model.kernel)
        if all(map(can_be_sent, own)):
            return solve_all(jobs, deadline, stop, meanwhile)
        return solve_here(jobs, deadline, stop, meanwhile)


class OwnBoxes(OwnHistograms):
    """A kernel that bounds its values over boxes of counts, with a monotone acquisition."""

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts criteria of `OwnHistograms` whose kernel has bounds over boxes."""
        return super().accepts(criterion) and _has_boxes(criterion)

    def check(self, graphs: Sequence[Graph], seed: int, deadline: float) -> None:
        """Raise if graphs have values outside the bounds declared for boxes around them."""
        space, model = self.criterion.space, self.criterion.posterior.model
        self.criterion.check_declared()
        try:
            drawn = space.sample(_CHECKED, seed=seed, deadline=deadline)
        except SamplingError as error:
            drawn = list(error.graphs)
        graphs = [*graphs, *drawn]
        if not graphs:
            return
        counts = count(graphs, space.n_labels, pairs=model.kernel.labelled)
        rng = np.random.default_rng(seed)
        for width in (0, 1, 3, space.n_max, space.n_max**2):
            low, high = _around(counts, rng, width)
            refuse_false_boxes(model.kernel, counts, low, high, model.counts)

    def quick_bound(self, piece: Piece, value: float) -> float:
        """Bound a piece by a few boxes, unless it is small enough for enumeration or tables."""
        structure = piece.structure
        if few_graphs(structure) or self._in_table(structure):
            return -math.inf
        return self._bound(piece, value, _QUICKLY_HALVED)

    def _bound(self, piece: Piece, value: float, n_most: int) -> float:
        """A bound on a piece, at most ``value``, after halving up to ``n_most`` boxes."""
        coordinates = self.coordinates(piece)
        known = known_of_counts(piece.structure, coordinates, None)
        boxes = KernelBoxes(self.criterion, coordinates, known)
        left = boxes.everything()
        left = CountBoxes(left.low, left.high, boxes.bounds(left))
        left = boxes.of_interest(left, value, n_most, math.inf)
        return float(left.bound.min(initial=value))

    def solve(self, state: PieceSolve) -> Answer:
        """Solve by enumeration if graphs are few, by tables if they are small, else by boxes."""
        structure = state.piece.structure
        if not state.question.relaxed and few_graphs(structure):
            return solve_by_listing(state)
        if self._in_table(structure):
            return super().solve(state)
        return solve_by_kernel_boxes(state)

    def _in_table(self, structure: Structure) -> bool:
        """True if all histograms of a structure can be listed."""
        return structure.shape.n_nodes <= _MOST_IN_TABLES and not self.by_composition


class OwnLabelledBoxes(OwnBoxes):
    """Like `OwnBoxes`, if the kernel sees labels of paths: pieces by composition and diameter."""

    by_composition = True

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts criteria without edge labels, in spaces that are too large to list."""
        space = criterion.space
        sizes = structures([space.shape(n) for n in space.sizes], space.connected, space.rules)
        if all(log_graphs(structure) <= math.log(MOST_LISTED) for structure in sizes):
            return False
        return not criterion.edge_labelled and _has_boxes(criterion)

    def composition_bounds(
        self, structure: Structure, compositions: Sequence[tuple[int, ...]]
    ) -> Sequence[float] | None:
        """Bounds by some boxes each, unless there are many; a worker would take longer to start.

        ``None`` if graphs are few, since enumeration is then quicker.
        """
        if few_graphs(structure):
            return None
        if len(compositions) > _MOST_BOUNDED:
            return super().composition_bounds(structure, compositions)
        pieces = (Piece(structure, composition) for composition in compositions)
        return [self._bound(piece, math.inf, _FIRST_HALVED) for piece in pieces]


def _has_boxes(criterion: Criterion) -> bool:
    """True if the kernel bounds its values, tested on the observed graphs."""
    model = criterion.posterior.model
    if is_built_in(model.kernel) or not is_monotone(criterion.acquisition):
        return False
    return model.kernel.box_bounds(model.counts, model.counts, model.counts) is not None


def _around(counts: Counts, rng: np.random.Generator, width: int) -> tuple[Counts, Counts]:
    """A box of random size around each graph, up to ``width`` on either side of its counts."""
    low, high = {}, {}
    for name in ("lengths", "pairs", "features"):
        at = getattr(counts, name)
        if at is not None:
            low[name] = np.maximum(at - rng.integers(0, width + 1, at.shape), 0)
            high[name] = at + rng.integers(0, width + 1, at.shape)
    return replace(counts, **low), replace(counts, **high)


def can_be_sent(thing: object) -> bool:
    """True if another process can load an object, packed by value or from an importable module."""
    home = thing if hasattr(thing, "__qualname__") else type(thing)
    package = str(getattr(home, "__module__", "__main__")).partition(".")[0]
    by_value = package == "__main__" or "<locals>" in str(getattr(home, "__qualname__", ""))
    if not by_value and PathFinder.find_spec(package) is None:
        return False
    try:
        packed(thing)
    except Exception:  # whatever its __reduce__ or __getstate__ raises
        return False
    return True


def solve_here(
    jobs: Sequence[Job],
    deadline: float,
    stop: Callable[[], bool],
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Any]]:
    """Like `jobs.pool.solve_all`, in this process; ``meanwhile`` is called between jobs only."""
    for index in range(len(jobs)):
        meanwhile()
        left = deadline - time.monotonic()
        if left <= 0 or stop():
            yield index, None
            continue
        job = copy(jobs[index])
        job.time_limit = min(job.time_limit, left)
        yield index, job.solve()
