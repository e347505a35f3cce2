"""All placements of labels on skeletons at once, screened by boxes of counts.

The numbers of pairs of nodes at one distance are packed into one word: each kind of pair (the
labels of its ends) has a digit, whose base is one more than the number of such pairs. So one
product of matrices gives the words of all placements on all skeletons. Few different words occur,
and for each of them the boxes that allow it are a row of bits; a graph is in the boxes whose bits
are set at every distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, FloatArray, IntArray
from ....batch import Batch
from ....counts import distances_batch
from ..bounds.linear_programs import Remainder
from ..bounds.lines_below import LcbOverCounts
from ..distances.coordinates import Coordinates, LabelledDistance
from ..distances.variables import Variables
from ..skeletons.placements import Labels
from ..skeletons.store import Skeletons

_MOST_WORD = 2**52  # a float holds all whole numbers up to here exactly
_DENSE = 2**22  # words that a table has room for
_AT_ONCE = 1_000_000  # placements on skeletons, in a batch
_EVALUATED = 20_000  # placements, at a time

Totals = NDArray[np.int64]  # (B, S): pairs within 1, 2, .. steps, or at these distances
Bits = NDArray[np.uint64]  # (.., words): a bit for each box


def fits_a_word(coordinates: Coordinates) -> bool:
    """True if the numbers of pairs of all kinds at one distance can be packed into one word."""
    return math.prod(_bases(coordinates)) <= _MOST_WORD


def _kinds(coordinates: Coordinates) -> list[tuple[int, int]]:
    return sorted({(path.a, path.b) for path in coordinates.at_labelled_distance})


def _bases(coordinates: Coordinates) -> list[int]:
    return [1 + coordinates.n_pairs(*kind) for kind in _kinds(coordinates)]


@dataclass(frozen=True, eq=False, kw_only=True)
class AllowedParts:
    """Boxes, each with a line below LCB: graphs are of interest where it is below the limit.

    Totals are sums of the variables over all labels.
    """

    low: Totals  # (B, V)
    high: Totals
    cost: FloatArray  # (B, V)
    offset: FloatArray  # (B,), minus the limit
    low_totals: Totals  # (B, S)
    high_totals: Totals
    within: bool

    @classmethod
    def of(cls, variables: Variables, left: Remainder, limit: float) -> AllowedParts:
        """The boxes of a remainder; without lines, all of their graphs are of interest."""
        low, high = (
            np.array([np.rint(getattr(box, end)) for box in left.boxes], dtype=np.int64)
            for end in ("low", "high")
        )
        cost, offset = np.zeros(low.shape), np.full(len(low), -np.inf)
        if left.parts:
            cost = np.array([line.cost for _, line in left.parts])
            offset = np.array([line.offset for _, line in left.parts]) - limit
        places = variables.coordinates.at_distance
        low_totals, high_totals = (
            np.stack([ends[:, list(places[s])].sum(axis=1) for s in sorted(places)], axis=1)
            for ends in (low, high)
        )
        return cls(
            low=low,
            high=high,
            cost=cost,
            offset=offset,
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

    def of_counts(self, counts: IntArray, columns: Sequence[int]) -> BoolArray:
        """For each row of some variables, the boxes whose ranges allow it."""
        above = (self.low[:, columns] <= counts[:, None]).all(axis=2)
        return np.asarray(above & (counts[:, None] <= self.high[:, columns]).all(axis=2))

    def line_parts(self, counts: IntArray, columns: Sequence[int]) -> FloatArray:
        """Contribution of each row of some variables to the line of each box."""
        return np.asarray(counts.astype(float) @ self.cost[:, columns].T)

    def lines_below(self, parts: list[FloatArray], rows: list[IntArray], bits: Bits) -> BoolArray:
        """True for each row with an allowed box whose line is below the limit.

        Lines are sums of ``parts[s][rows[s]]``.
        """
        out = np.zeros(len(bits), dtype=bool)
        left = np.arange(len(bits))
        while len(left):
            box, bits = _first_box(bits)
            of_box = [table[row[left], box] for table, row in zip(parts, rows, strict=True)]
            below = self.offset[box] + np.sum(of_box, axis=0) < 0
            out[left[below]] = True
            again = ~below & bits.any(axis=1)
            left, bits = left[again], bits[again]
        return out


def _first_box(bits: Bits) -> tuple[IntArray, Bits]:
    """The first box whose bit is set in each row, and the bits without it."""
    word = (bits != 0).argmax(axis=1)
    rows = np.arange(len(bits))
    first = bits[rows, word]
    lowest = first & (~first + np.uint64(1))
    rest = bits.copy()
    rest[rows, word] ^= lowest
    return 64 * word + np.log2(lowest.astype(float)).astype(np.int64), rest


def _packed(allowed: BoolArray) -> Bits:
    """Rows of truth values as words; box i is bit ``i % 64`` of word ``i // 64``."""
    words = -(-allowed.shape[1] // 64)
    padded = np.zeros((len(allowed), 64 * words), dtype=bool)
    padded[:, : allowed.shape[1]] = allowed
    packed = np.packbits(padded, axis=1, bitorder="little").view("<u8")
    return packed.astype(np.uint64).reshape(len(allowed), words)


class LabelledSkeletons:
    """Placements of labels on the nodes of skeletons, all with the same composition."""

    def __init__(self, variables: Variables, labels: Labels) -> None:
        coordinates = variables.coordinates
        places = coordinates.at_labelled_distance
        kinds, bases = _kinds(coordinates), _bases(coordinates)
        self._columns = [
            [places[LabelledDistance(s, a, b)] for a, b in kinds]
            for s in range(1, coordinates.longest + 1)
        ]
        self._adds_up = variables.within
        self._labels = labels.astype(np.int64)
        self._u, self._v = np.triu_indices(labels.shape[1], 1)
        self._bases = np.array(bases)
        self._digits = np.cumprod([1, *bases[:-1]])
        self._n_words = math.prod(bases)
        digit = np.zeros((labels.max(initial=0) + 1,) * 2)
        for (a, b), weight in zip(kinds, self._digits, strict=True):
            digit[a, b] = digit[b, a] = weight
        self._of_pairs = digit[self._labels[:, self._u], self._labels[:, self._v]].T.copy()
        self.at_once = max(1, _AT_ONCE // len(labels))  # skeletons

    def within(
        self, skeletons: Skeletons, parts: AllowedParts, lcb: LcbOverCounts, limit: float
    ) -> Batch:
        """The graphs with these skeletons that the parts allow, and with LCB below a limit."""
        adjacency = skeletons.adjacency(slice(None))
        distances = distances_batch(adjacency)[:, self._u, self._v]
        bits = _packed(parts.of_histograms(skeletons.histograms))
        lines: list[FloatArray] = []
        beside = self._variables(parts)
        terms: list[FloatArray] = [lcb.terms(beside)]
        rows: list[IntArray] = []  # rows of the tables, for each distance so far
        skeleton, placement = np.zeros((2, 0), dtype=np.int64)  # those not ruled out
        for s, columns in enumerate(self._columns, start=1):
            at = (distances <= s) if self._adds_up else (distances == s)
            words = at.astype(float) @ self._of_pairs
            kinds, kind = self._distinct(words if s == 1 else words[skeleton, placement])
            counts = self._counts(kinds)
            terms.append(lcb.terms(self._variables(parts, counts, columns)) - terms[0])
            lines.append(parts.line_parts(counts, columns))
            allowed = _packed(parts.of_counts(counts, columns))[kind]
            if s == 1:
                allowed &= bits[:, None]
                skeleton, placement = np.nonzero(allowed.any(axis=2))
                bits, rows = allowed[skeleton, placement], [kind[skeleton, placement]]
                continue
            bits = bits & allowed
            keep = np.flatnonzero(bits.any(axis=1))
            skeleton, placement, bits = skeleton[keep], placement[keep], bits[keep]
            rows = [before[keep] for before in (*rows, kind)]
        keep = np.flatnonzero(parts.lines_below(lines, rows, bits))
        below = [np.zeros(0, dtype=bool)]
        for some in np.array_split(keep, max(1, len(keep) // _EVALUATED)):
            own = terms[0] + sum(t[row[some]] for t, row in zip(terms[1:], rows, strict=True))
            below.append(lcb.values(own) < limit)
        keep = keep[np.concatenate(below)]
        labels = self._labels[placement[keep]]
        no_features = np.zeros((*labels.shape, 0), dtype=bool)
        return Batch(adjacency[skeleton[keep]], labels, no_features, None, directed=False)

    def _variables(
        self, parts: AllowedParts, counts: IntArray | None = None, columns: Sequence[int] = ()
    ) -> FloatArray:
        """Rows of variables with some counts; all pairs are within the longest distance."""
        x = np.zeros((1 if counts is None else len(counts), parts.low.shape[1]))
        if self._adds_up:
            x[:, self._columns[-1]] = self._bases - 1
        if counts is not None:
            x[:, columns] = counts
        return x

    def _distinct(self, words: FloatArray) -> tuple[IntArray, IntArray]:
        """The different words, and the index of each word among them."""
        whole = words.astype(np.int64)
        if self._n_words > _DENSE:
            kinds, kind = np.unique(whole, return_inverse=True)
            return kinds, np.asarray(kind.reshape(whole.shape), dtype=np.int64)
        occurs = np.zeros(self._n_words, dtype=bool)
        occurs[whole] = True
        kinds = np.flatnonzero(occurs).astype(np.int64)
        place = np.zeros(self._n_words, dtype=np.int64)
        place[kinds] = np.arange(len(kinds))
        return kinds, place[whole]

    def _counts(self, words: IntArray) -> IntArray:
        """The number of pairs of each kind in each word."""
        return np.asarray(words[:, None] // self._digits % self._bases)
