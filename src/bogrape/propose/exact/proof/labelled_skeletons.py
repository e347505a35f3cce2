"""All placements of labels on skeletons at once, screened by lines below LCB.

In a box of counts LCB is above a line, which is a sum over pairs of nodes: each adds the cost of
its distance and of its labels. A skeleton is a row of ones, which say at which distance each pair
is, and a placement of labels is a column of costs, so one product of matrices has the lines of all
placements on all skeletons, a few nanoseconds each. Few of them are below the value to beat. Their
counts are compared with the box, and their LCB is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, FloatArray, IntArray
from ....batch import Batch
from ....counts import distances_batch
from ..bounds.linear_programs import Remainder
from ..bounds.lines_below import Box, LcbOverCounts, Line
from ..distances.coordinates import Coordinates
from ..distances.variables import Variables
from ..skeletons.placements import Labels
from ..skeletons.store import Skeletons

_AT_ONCE = 8_000_000  # placements on skeletons in a product of matrices
_EVALUATED = 20_000  # placements, at a time
_ROUNDING = 2e-5  # relative, of single precision in sums of some thousand terms

Totals = NDArray[np.int64]  # (B, S): pairs within 1, 2, .. steps, or at these distances
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False, kw_only=True)
class AllowedParts:
    """Boxes, each with a line below LCB; totals are sums of the variables over all labels."""

    parts: Sequence[tuple[Box, Line]]
    low_totals: Totals
    high_totals: Totals
    within: bool

    @classmethod
    def of(cls, variables: Variables, left: Remainder) -> AllowedParts:
        """The boxes of a remainder; without lines, nothing is known about their graphs."""
        blind = Line(np.zeros(len(variables.coordinates)), -np.inf)
        parts = left.parts or [(box, blind) for box in left.boxes]
        places = variables.coordinates.at_distance
        low_totals, high_totals = (
            np.rint(
                [[ends[list(places[s])].sum() for s in sorted(places)] for ends in every]
            ).astype(np.int64)
            for every in ([box.low for box, _ in parts], [box.high for box, _ in parts])
        )
        return cls(
            parts=parts,
            low_totals=low_totals,
            high_totals=high_totals,
            within=variables.within,
        )

    def of_histograms(self, histograms: NDArray[np.uint8]) -> BoolArray:
        """For each histogram of distances, the boxes that allow it by their totals alone."""
        totals = histograms[:, : self.low_totals.shape[1]].astype(np.int64)
        if self.within:
            totals = totals.cumsum(axis=1)
        of_kind, kind = np.unique(totals, axis=0, return_inverse=True)
        above = np.all(self.low_totals <= of_kind[:, None], axis=2)
        allowed = above & np.all(of_kind[:, None] <= self.high_totals, axis=2)
        return np.asarray(allowed[kind.ravel()])


class LabelledSkeletons:
    """Placements of labels on the nodes of skeletons, all with the same composition."""

    def __init__(self, variables: Variables, labels: Labels) -> None:
        self._variables = variables
        self._labels = labels.astype(np.int64)
        self._u, self._v = np.triu_indices(labels.shape[1], 1)
        self._places = _places(variables.coordinates, int(labels.max(initial=0)) + 1)
        self._ends = labels[:, self._u], labels[:, self._v]  # each (placements, pairs)
        self._at_once = max(1, _AT_ONCE // len(labels))  # skeletons

    def below(
        self, skeletons: Skeletons, allowed: AllowedParts, lcb: LcbOverCounts, limit: float
    ) -> Iterator[Batch]:
        """The graphs with these skeletons that the parts allow, and with LCB below a limit."""
        in_part = allowed.of_histograms(skeletons.histograms)
        for (box, line), of_part in zip(allowed.parts, in_part.T, strict=True):
            costs, most = self._costs(line, limit)
            chosen = np.flatnonzero(of_part)
            for first in range(0, len(chosen), self._at_once):
                adjacency = skeletons.adjacency(chosen[first : first + self._at_once])
                distances = distances_batch(adjacency)[:, self._u, self._v]
                yield from self._evaluated(
                    adjacency, distances, self._hits(distances, costs, most), box, lcb, limit
                )

    def _costs(self, line: Line, limit: float) -> tuple[Singles, float]:
        """The costs of pairs, (distances x pairs, placements), and how large sums may be."""
        cost = np.append(self._variables.cost_of_counts(line.cost), 0.0)
        most = limit - line.offset
        most += _ROUNDING * float(np.abs(cost).max(initial=0.0)) * len(self._u)
        singles = cost.astype(np.float32)
        rows = [singles[places][self._ends].T for places in self._places[1:]]
        return np.concatenate(rows), most

    def _hits(self, distances: IntArray, costs: Singles, most: float) -> tuple[IntArray, IntArray]:
        """Skeletons and placements on which the line is below the limit."""
        lengths = np.arange(1, len(self._places), dtype=distances.dtype)
        is_at = (distances[:, None, :] == lengths[:, None]).astype(np.float32)
        sums = is_at.reshape(len(distances), -1) @ costs
        rows, placements = np.nonzero(sums < most)
        return rows, placements

    def _evaluated(
        self,
        adjacency: BoolArray,
        distances: IntArray,
        hits: tuple[IntArray, IntArray],
        box: Box,
        lcb: LcbOverCounts,
        limit: float,
    ) -> Iterator[Batch]:
        """Those hits whose counts are in the box and whose LCB is below the limit."""
        n_parts = max(1, len(hits[0]) // _EVALUATED)
        for some in np.array_split(np.arange(len(hits[0])), n_parts):
            row, placement = hits[0][some], hits[1][some]
            x = self._variables.of_counts(self._counts(distances[row], placement))
            inside = ((box.low <= x) & (x <= box.high)).all(axis=1)
            row, placement, x = row[inside], placement[inside], x[inside]
            is_below = lcb.values(lcb.terms(x)) < limit
            labels = self._labels[placement[is_below]]
            no_features = np.zeros((*labels.shape, 0), dtype=bool)
            yield Batch(adjacency[row[is_below]], labels, no_features, None, directed=False)

    def _counts(self, distances: IntArray, placement: IntArray) -> FloatArray:
        """Counts of graphs, one row per graph."""
        width = len(self._variables.coordinates) + 1  # the last is for pairs that do not count
        ends = self._ends[0][placement], self._ends[1][placement]
        place = self._places[np.minimum(distances, len(self._places) - 1), ends[0], ends[1]]
        flat = place + width * np.arange(len(place))[:, None]
        counts = np.bincount(flat.ravel(), minlength=width * len(place))
        return np.asarray(counts.reshape(len(place), width)[:, :-1], dtype=float)


def _places(coordinates: Coordinates, n_labels: int) -> IntArray:
    """The position of the count of each pair, by its distance and labels.

    Pairs farther apart than the longest distance of the coordinates have the last one.
    """
    nowhere = len(coordinates)
    out = np.full((coordinates.longest + 1, n_labels, n_labels), nowhere, dtype=np.int64)
    for (s, a, b), place in coordinates.at_labelled_distance.items():
        out[s, a, b] = out[s, b, a] = place
    return out
