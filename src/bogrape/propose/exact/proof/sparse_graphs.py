"""Graphs with few independent cycles, listed: those whose counts lie in some boxes.

What is known of counts is weakest for trees and their like, where distances are large and whole
numbers matter most: of a thousand counts that inequalities allow, often no graph has any. But such
graphs have few *skeletons* (connected graphs without labels): 12 thousand of 10 nodes have at most
three independent cycles. So all of them are looked at: those with a histogram of distances that
some box allows get their labels in every way, and graphs in a box are evaluated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, FloatArray, IntArray
from ....batch import Batch
from ....counts import distances_batch
from ..bounds.linear_programs import Remainder
from ..bounds.lines_below import Box
from ..distances.coordinates import Distance, LabelledDistance, Position
from ..distances.inequality import Inequality, distances_by_position
from ..distances.variables import Variables
from ..skeletons.canonical import MOST_NODES
from ..skeletons.placements import Labels, arrangements, n_arrangements
from ..skeletons.store import Skeletons, estimated_number, skeletons_of
from .piece import Piece
from .piece_solve import PieceSolve

_MOST_SKELETONS = 60_000
_MOST_CYCLES = 5
_MOST_PLACEMENTS = 6_000_000  # labels on skeletons, of one piece
_AT_ONCE = 50_000

Totals = NDArray[np.int64]  # (B, S): pairs within 1, 2, .. steps, or at these distances


def settle_sparse(
    state: PieceSolve, variables: Variables, left: Remainder, limit: float
) -> tuple[int, list[Box]] | None:
    """Evaluate the sparse graphs of some boxes, unless a line says LCB is not below a limit.

    Returns how many edges the other graphs have at least, and the boxes that may hold some of them;
    ``None`` if not even trees can be listed in the time there is.
    """
    if not can_be_listed(state.piece, variables):
        return None
    listing = _Listing.of(state.piece, variables, left, limit)
    try:
        found = listing.sparse(state.deadline)
        if found is None:
            return None
        n_edges, skeletons = found
        for batch in listing.graphs(skeletons, state.deadline):
            state.take_best(batch, of_the_space=False)
    except TimeoutError:
        return None
    most = listing.high[:, 0]
    return n_edges, [box for box, edges in zip(left.boxes, most, strict=True) if edges >= n_edges]


def at_least(n_edges: int, variables: Variables) -> Inequality[Position]:
    """The counts of graphs with at least this many edges."""
    return distances_by_position(
        Inequality("not sparse", {Distance(1): 1}, low=n_edges), variables.coordinates
    )


def can_be_listed(piece: Piece, variables: Variables) -> bool:
    """Whether graphs of a piece are skeletons with labels, and no more than that."""
    structure, composition = piece.structure, piece.composition
    plain = not structure.shape.directed and structure.connectivity == "strong"
    labels_only = not variables.coordinates.nodes and not structure.shape.n_edge_labels
    small = 2 <= structure.shape.n_nodes <= MOST_NODES and structure.layers is None
    return plain and labels_only and small and structure.all_alike and composition is not None


@lru_cache(maxsize=32)
def _most_cycles(n_nodes: int) -> int:
    """Up to how many independent cycles skeletons are listed; -1 if not even trees are."""
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
    parts: _Parts
    # ranges of each box: of the sums of variables over all labels
    low: Totals
    high: Totals

    @classmethod
    def of(cls, piece: Piece, variables: Variables, left: Remainder, limit: float) -> _Listing:
        parts = _Parts.of(left, limit)
        places = variables.coordinates.at_distance
        low, high = (
            np.stack([ends[:, list(places[s])].sum(axis=1) for s in sorted(places)], axis=1)
            for ends in (parts.low, parts.high)
        )
        return cls(piece=piece, variables=variables, parts=parts, low=low, high=high)

    @property
    def composition(self) -> tuple[int, ...]:
        """Number of nodes with each label."""
        assert self.piece.composition is not None  # `can_be_listed`
        return self.piece.composition

    def sparse(self, deadline: float) -> tuple[int, list[tuple[Skeletons, IntArray]]] | None:
        """Skeletons with few enough edges to look at all placements of labels.

        They come in groups, each with the boxes that it may have graphs in, and with the least
        number of edges of all others.
        """
        n = self.piece.structure.shape.n_nodes
        spare = _MOST_PLACEMENTS / n_arrangements(self.composition)
        out: list[tuple[Skeletons, IntArray]] = []
        n_edges = n - 1
        for n_cycles in range(_most_cycles(n) + 1):
            groups = self._groups(skeletons_of(n, n - 1, range(n_cycles, n_cycles + 1), deadline))
            spare -= sum(len(skeletons) for skeletons, _ in groups)
            if spare < 0:
                break
            out, n_edges = [*out, *groups], n_edges + 1
        return (n_edges, out) if n_edges >= n else None

    def _groups(self, skeletons: Skeletons) -> list[tuple[Skeletons, IntArray]]:
        """Those that some boxes allow, by their histograms."""
        diameter = self.piece.structure.diameter
        if diameter is not None:  # every distance up to the longest is there
            skeletons = skeletons.select((skeletons.histograms > 0).sum(axis=1) == diameter)
        totals = skeletons.histograms[:, : self.low.shape[1]].astype(np.int64)
        if self.variables.within:
            totals = totals.cumsum(axis=1)
        of_kind, kind = np.unique(totals, axis=0, return_inverse=True)
        out = []
        for i, row in enumerate(of_kind):
            inside = (self.low <= row).all(axis=1) & (row <= self.high).all(axis=1)
            if inside.any():
                out.append((skeletons.select(kind == i), np.flatnonzero(inside)))
        return out

    def graphs(
        self, groups: Iterable[tuple[Skeletons, IntArray]], deadline: float
    ) -> Iterator[Batch]:
        """The graphs with these skeletons."""
        labelled = _Labelled(self.variables, arrangements(self.composition))
        each = max(1, _AT_ONCE // len(labelled))
        for skeletons, boxes in groups:
            for start in range(0, len(skeletons), each):
                if time.monotonic() > deadline:
                    raise TimeoutError
                adjacency = skeletons.adjacency(slice(start, start + each))
                batch = labelled.within(adjacency, self.parts.select(boxes))
                if len(batch):
                    yield batch


@dataclass(frozen=True, eq=False)
class _Parts:
    """Boxes, each with a line below LCB; only where it is below the limit there may be graphs."""

    low: Totals  # (B, V)
    high: Totals
    cost: FloatArray  # (B, V)
    offset: FloatArray  # (B,), less the limit

    @classmethod
    def of(cls, left: Remainder, limit: float) -> _Parts:
        low, high = (
            np.array([np.rint(getattr(box, end)) for box in left.boxes], dtype=np.int64)
            for end in ("low", "high")
        )
        cost, offset = np.zeros(low.shape), np.full(len(low), -np.inf)
        if left.parts:
            cost = np.array([line.cost for _, line in left.parts])
            offset = np.array([line.offset for _, line in left.parts]) - limit
        return cls(low, high, cost, offset)

    def select(self, chosen: IntArray) -> _Parts:
        """Some of them."""
        return _Parts(self.low[chosen], self.high[chosen], self.cost[chosen], self.offset[chosen])

    def hold(self, x: Totals) -> BoolArray:
        """For each row of variables whether it is in a box, and the line there below the limit."""
        out = np.zeros(len(x), dtype=bool)
        for low, high, cost, offset in zip(
            self.low, self.high, self.cost, self.offset, strict=True
        ):
            left = np.flatnonzero(~out)
            left = left[((x[left] >= low) & (x[left] <= high)).all(axis=1)]
            out[left] = x[left] @ cost + offset < 0
        return out


class _Labelled:
    """All placements of labels on skeletons, and the counts they lead to."""

    def __init__(self, variables: Variables, labels: Labels) -> None:
        places = variables.coordinates.at_labelled_distance
        self._kinds = sorted({(path.a, path.b) for path in places})
        self._columns = [
            [places[LabelledDistance(s, a, b)] for a, b in self._kinds]
            for s in range(1, variables.coordinates.longest + 1)
        ]
        self._adds_up = variables.within
        self._labels = labels.astype(np.int64)
        self._u, self._v = np.triu_indices(labels.shape[1], 1)
        ends = np.sort(np.stack([labels[:, self._u], labels[:, self._v]]), axis=0)
        of_kind = [(ends[0] == a) & (ends[1] == b) for a, b in self._kinds]
        # (pairs, kinds of pairs, placements): whole numbers, which 32 bits hold exactly
        self._of_kind = np.array(of_kind).transpose(2, 0, 1).astype(np.float32)

    def __len__(self) -> int:
        return len(self._labels)

    def within(self, adjacency: BoolArray, parts: _Parts) -> Batch:
        """The graphs with these skeletons that the parts hold."""
        distances = distances_batch(adjacency)[:, self._u, self._v]
        least, most = parts.low.min(axis=0), parts.high.max(axis=0)
        fits = np.ones((len(adjacency), len(self)), dtype=bool)
        for s, columns in enumerate(self._columns, start=1):
            numbers = self._numbers(distances, s)
            low, high = (ends[columns][:, None].astype(np.float32) for ends in (least, most))
            fits &= ((numbers >= low) & (numbers <= high)).all(axis=1)
        skeleton, placement = np.nonzero(fits)
        variables = np.zeros((len(skeleton), len(least)), dtype=np.int64)
        for s, columns in enumerate(self._columns, start=1):
            variables[:, columns] = self._numbers(distances, s)[skeleton, :, placement]
        keep = parts.hold(variables)
        skeleton, placement = skeleton[keep], placement[keep]
        labels = self._labels[placement]
        no_features = np.zeros((*labels.shape, 0), dtype=bool)
        return Batch(adjacency[skeleton], labels, no_features, None, directed=False)

    def _numbers(self, distances: IntArray, s: int) -> NDArray[np.float32]:
        """Number of pairs of each kind within s steps, or at distance s: all placements."""
        at = (distances <= s) if self._adds_up else (distances == s)
        flat = at.astype(np.float32) @ self._of_kind.reshape(len(self._u), -1)
        return np.asarray(flat.reshape(len(at), len(self._kinds), -1))
