"""The sums of labels and features that the nodes of a skeleton can have.

A node's hydrogens and multiple bonds are not free: an atom of label l with d neighbours and extra
bond orders e has ``valence(l) - d - e`` hydrogens. So every node is of one of a few *kinds*
(`bogrape.constraints.NodeKind`), and given how many nodes have each degree, the sums over all nodes
are those of some choice of a kind for each. They also obey the limits of the rules, and every edge
has two ends: the number of ends with one edge label is even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ....arrays import FloatArray, IntArray
from ....constraints import NodeKind, Shape
from ....encoding import Structure
from .limits import Columns, Limit, allowed_kinds, rows_of, uniform_limits

_MOST_SUMS = 3_000_000  # for one choice of degrees


class TooManySums(Exception):
    """There are too many sums to be listed."""


@dataclass(frozen=True, eq=False)
class NodeSums:
    """The kinds of nodes of a structure, and the limits on their sums."""

    columns: Columns
    kinds: tuple[NodeKind, ...]
    limits: tuple[Limit, ...]
    _partial: dict[tuple[int, ...], IntArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, structure: Structure) -> NodeSums | None:
        """Kinds and limits of a structure; ``None`` if nodes have features that no rule decides."""
        shape = structure.shape
        kinds = next(
            (found for rule in structure.rules if (found := rule.node_kinds(shape)) is not None),
            _all_kinds(shape),
        )
        if kinds is None:
            return None
        columns = Columns(shape, has_ends=all(kind.ends for kind in kinds))
        rows = rows_of(structure)
        kinds = allowed_kinds((k for k in kinds if k.degree < shape.n_nodes), rows, columns)
        return cls(columns, kinds, tuple(uniform_limits(rows, columns)))

    @property
    def most_degree(self) -> int:
        """The largest degree of any kind of node."""
        return max((kind.degree for kind in self.kinds), default=0)

    def n_cycles(self) -> range:
        """Numbers of independent cycles that a connected graph can have within the limits."""
        n = self.columns.shape.n_nodes
        low, high = n - 1, n * self.most_degree // 2
        for limit in self.limits:
            weight = int(limit.weights[-1])  # twice the number of edges is the sum of degrees
            if weight and not limit.weights[:-1].any():
                ends = sorted((limit.low / (2 * weight), limit.high / (2 * weight)))
                low = max(low, math.ceil(ends[0])) if ends[0] > -math.inf else low
                high = min(high, math.floor(ends[1])) if ends[1] < math.inf else high
        return range(low - n + 1, high - n + 2)

    def sums(self, degrees: tuple[int, ...]) -> IntArray:
        """All sums ``(N_1, .., N_M)`` for given numbers of nodes by degree, one per row."""
        return np.asarray(np.unique(self._allowed(degrees)[:, : self.columns.end], axis=0))

    def sums_with_ends(self, degrees: tuple[int, ...]) -> IntArray:
        """Like `sums`, with the numbers of ends by edge label, if kinds of nodes have them."""
        return np.asarray(np.unique(self._allowed(degrees)[:, : self.columns.degree], axis=0))

    def _allowed(self, degrees: tuple[int, ...]) -> IntArray:
        keys = self._keys(degrees)
        rows = self._rows(keys, degrees)
        keep = np.ones(len(rows), dtype=bool)
        for limit in self.limits:
            total = rows @ limit.weights
            keep &= (total >= limit.low) & (total <= limit.high)
        ends = rows[:, self.columns.end : self.columns.degree]
        keep &= (ends % 2 == 0).all(axis=1)
        return rows[keep]

    # -- sums encoded as one number each ------------------------------------------------------

    @cached_property
    def _table(self) -> IntArray:
        """The columns of each kind."""
        return np.array([self.columns.of(kind) for kind in self.kinds])

    @cached_property
    def _ceilings(self) -> tuple[Limit, ...]:
        """Limits that also hold for every subset of the nodes."""
        return tuple(
            limit for limit in self.limits if limit.high < math.inf and limit.weights.min() >= 0
        )

    @cached_property
    def _given_degrees(self) -> IntArray:
        """The degree of each kind, one-hot."""
        degree = self._table[:, -1]
        return np.asarray(degree[:, None] == np.unique(degree), dtype=np.int64)

    @cached_property
    def _independent(self) -> list[int]:
        """Columns that determine the others, given the number of nodes of each degree."""
        known, chosen = self._given_degrees, []
        for column in range(self._table.shape[1]):
            wider = np.column_stack([known, self._table[:, column]])
            if np.linalg.matrix_rank(wider) > np.linalg.matrix_rank(known):
                known = wider
                chosen.append(column)
        return chosen

    @cached_property
    def _all_columns(self) -> FloatArray:
        """The matrix that turns numbers of degrees and independent columns into all columns."""
        basis = np.column_stack([self._given_degrees, self._table[:, self._independent]])
        out, *_ = np.linalg.lstsq(basis.astype(float), self._table.astype(float), rcond=None)
        assert np.allclose(basis @ out, self._table, rtol=0, atol=1e-9)
        return np.asarray(out)

    @cached_property
    def _weights(self) -> IntArray:
        """Place values of the independent columns, which are the digits of a key."""
        n = self.columns.shape.n_nodes
        bases = [1 + n * int(self._table[:, i].max(initial=0)) for i in self._independent]
        if math.prod(bases) >= 2**62:
            raise TooManySums
        return np.array([math.prod(bases[:i]) for i in range(len(bases))], dtype=np.int64)

    def _rows(self, keys: IntArray, degrees: tuple[int, ...]) -> IntArray:
        """All columns of the sums with these keys."""
        chosen, weights = self._independent, self._weights
        digits = np.empty((len(keys), len(chosen)), dtype=np.int64)
        rest = keys
        for i in reversed(range(len(chosen))):
            digits[:, i], rest = np.divmod(rest, weights[i])
        seen = np.unique(self._table[:, -1])
        numbers = np.broadcast_to([degrees[d - 1] for d in seen], (len(keys), len(seen)))
        columns = np.column_stack([numbers, digits]) @ self._all_columns
        return np.asarray(np.rint(columns), dtype=np.int64)

    def _keys(self, degrees: tuple[int, ...]) -> IntArray:
        """The keys of all sums, built one node at a time; intermediate results are cached."""
        known = self._partial.get(degrees)
        if known is not None:
            return known
        last = max((d for d, number in enumerate(degrees) if number), default=None)
        if last is None:
            out = np.zeros(1, dtype=np.int64)
        else:
            fewer = (*degrees[:last], degrees[last] - 1, *degrees[last + 1 :])
            of_kinds = self._table[self._table[:, -1] == last + 1][:, self._independent]
            before, one = self._keys(fewer), of_kinds @ self._weights
            if len(before) * len(one) > 10 * _MOST_SUMS:
                raise TooManySums
            out = np.unique(before[:, None] + one)
            out = self._below_ceilings(out, degrees)
        if len(out) > _MOST_SUMS:
            raise TooManySums
        self._partial[degrees] = out
        return out

    def _below_ceilings(self, keys: IntArray, degrees: tuple[int, ...]) -> IntArray:
        rows = self._rows(keys, degrees)
        keep = np.ones(len(rows), dtype=bool)
        for limit in self._ceilings:
            keep &= rows @ limit.weights <= limit.high
        return keys[keep]


def _all_kinds(shape: Shape) -> tuple[NodeKind, ...] | None:
    """Every label with every degree; ``None`` if nodes have features."""
    if shape.n_features:
        return None
    degrees = range(1, shape.n_nodes) if shape.n_nodes > 1 else (0,)
    return tuple(NodeKind(label, d) for label in range(shape.n_labels) for d in degrees)
