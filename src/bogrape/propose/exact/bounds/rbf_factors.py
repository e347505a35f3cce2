r"""The kernel ``rbf`` between graphs of one size and the observations, as a product of factors.

Its exponent is a sum over groups of counts, which depend on different parts of a graph:

.. math:: k_i = \alpha\; e^{u_i(N)}\; e^{v_i(X)}\; e^{p_i(M) + \langle X, M \rangle}\; e^{d_i(P)}

with N the sums of labels and features over the nodes, X the table of edges by the labels of their
ends, M those of the edges with labels from 2 on, and P the paths of other lengths. The product of X
and M appears because the table of the edges with label 1 is X minus all of M. It does not depend on
the observation, so all X with all M are one product of matrices.

Coordinates are counts of unordered pairs, by *types* (labels a <= b of the ends), scaled so that
squared distances are those of ordered pairs.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from ....acquisition import EI, LCB
from ....arrays import FloatArray, IntArray
from ....counts import Counts
from ....groups import N_NEAR, divisors, group_counts
from ....kernels import RBF
from ....posterior import FunctionPosterior
from ...criterion import Criterion

_EPSILON = float(np.finfo(float).eps)
_LARGEST_EXPONENT = 500.0  # so factors and their products neither overflow nor underflow


class TooSharp(Exception):
    """Factors of the kernel are too small, or too large, for floating-point numbers."""


class RbfFactors:
    """Logarithms of the factors for graphs of one size: rows with one number per observation.

    Graphs are connected, and all their edges have labels from 1 on.
    """

    def __init__(self, criterion: Criterion, n_nodes: int) -> None:
        self.criterion = criterion
        self.n_nodes = n_nodes
        space, model = criterion.space, criterion.posterior.model
        assert isinstance(model.kernel, RBF)
        self.n_labels, self.n_edge_labels = space.n_labels, space.n_edge_labels
        self.types = list(combinations_with_replacement(range(self.n_labels), 2))
        self.width = (n_nodes - 1) * len(self.types)
        self.weights = model.kernel.weights
        counts = model.counts
        n_lengths = max(n_nodes, counts.lengths.shape[1])
        self._observed = counts.padded(n_lengths, self.n_labels, self.n_edge_labels)
        same = np.array([a == b for a, b in self.types])
        self.units = np.where(same, 2.0, np.sqrt(2.0))  # coordinate of one unordered pair

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB and EI with ``rbf``, in spaces whose edges have labels that it compares."""
        posterior = criterion.posterior
        known = type(posterior) is FunctionPosterior and not posterior.model.beta
        compared = type(posterior.model.kernel) is RBF and criterion.edge_labelled
        return type(criterion.acquisition) in (LCB, EI) and known and compared

    @cached_property
    def rounded(self) -> float:
        """Rounding error of the logarithm of a product of factors."""
        # the squared counts of each row of a group are at most one
        rows = {"farther": self._observed.lengths.shape[1], "features": self._n_features + 1}
        total = sum(weight * rows.get(group, 1) for group, weight in self.weights.items())
        return float(100.0 * _EPSILON * (1.0 + total) * (1.0 + self.width))

    # -- logarithms of factors ----------------------------------------------------------------

    def of_sums(self, sums: IntArray) -> FloatArray:
        """Factors of the sums of labels and features over the nodes, and of all pairs they form."""
        n, numbers = self.n_nodes, sums[:, : self.n_labels].astype(float)
        out = self._log("labels", numbers / n**2, self.of_group["labels"])
        joined = numbers[:, [a for a, _ in self.types]] * numbers[:, [b for _, b in self.types]]
        joined *= self.units / np.where([a == b for a, b in self.types], 2.0, 1.0)
        out += self._log("farther", joined / n**2, self.of_group["farther"][:, 0])
        if self._n_features:
            features = sums[:, self.n_labels : self.n_labels + self._n_features] / n
            out += self._log("features", features, self.of_group["features"])
        return out

    def of_edges(self, tables: IntArray | FloatArray, composition: IntArray) -> FloatArray:
        """Factors of tables of edges, as if all edges had label 1."""
        n = self.n_nodes
        scaled = tables * self.units
        near = (scaled + self.of_nodes(composition)) / n**2
        out = self._log("within_1", near, self.of_group["within_1"])
        labels = self.of_group["edge_labels"]
        out += self._log("edge_labels", scaled / n**2, labels[:, 1])
        if labels.shape[1]:  # edges without labels, which no graph of the space has
            none = np.zeros((1, len(self.types)))
            out += self._log("edge_labels", none, labels[:, 0])
        return _checked(out)

    def of_further(self, further: IntArray | FloatArray) -> FloatArray:
        """Factors of tables of edges with labels from 2 on, (Q, labels, types)."""
        scaled = further * self.units / self.n_nodes**2
        moved = scaled.sum(axis=1)  # from label 1 to others
        labels = self.of_group["edge_labels"]
        weight = self.weights.get("edge_labels", 0.0)
        out = -0.5 * weight * ((moved**2).sum(axis=1)[:, None] + 2.0 * moved @ labels[:, 1].T)
        for k in range(labels.shape[1] - 2):
            ours = scaled[:, k] if k < scaled.shape[1] else np.zeros_like(moved)
            out += self._log("edge_labels", ours, labels[:, k + 2])
        return _checked(out)

    def between(self, tables: IntArray, further: IntArray) -> FloatArray:
        """Factors of each table of edges together with each of further labels, (C, Q)."""
        moved = further.sum(axis=1) * self.units**2
        weight = self.weights.get("edge_labels", 0.0) / self.n_nodes**4
        return _checked(weight * (tables @ moved.T))

    def of_paths(self, counts: FloatArray, composition: IntArray) -> FloatArray:
        """Factors of paths longer than one edge.

        Args:
            counts: numbers of pairs of nodes, by distance and type, (B, width).
            composition: number of nodes with each label.
        """
        n, nodes = self.n_nodes, self.of_nodes(composition)
        within = counts.reshape(len(counts), n - 1, -1).cumsum(axis=1)
        within *= self.units / n**2
        nodes = nodes / n**2
        parts = []
        for s in range(2, N_NEAR):
            near = within[:, min(s, n - 1) - 1] + nodes
            parts.append(math.sqrt(self.weights.get(f"within_{s}", 0.0)) * near)
        for s in range(N_NEAR, n - 1):
            beyond = within[:, -1] - within[:, s - 1]
            parts.append(math.sqrt(self.weights.get("farther", 0.0)) * beyond)
        scaled, (observed, squares) = np.concatenate(parts, axis=1), self.observed_paths
        out = scaled @ observed.T
        out -= 0.5 * np.einsum("ij,ij->i", scaled, scaled)[:, None]
        out -= squares
        return np.asarray(np.minimum(out, 0.0, out=out))

    @cached_property
    def observed_paths(self) -> tuple[FloatArray, FloatArray]:
        """Observations in the coordinates of longer paths, and half of their squares."""
        parts = [
            math.sqrt(self.weights.get(f"within_{s}", 0.0)) * self.of_group[f"within_{s}"]
            for s in range(2, N_NEAR)
        ]
        farther = math.sqrt(self.weights.get("farther", 0.0)) * self.of_group["farther"][:, 1:]
        number = max(0, self.n_nodes - 1 - N_NEAR)  # graphs of this size have no longer paths
        common = farther[:, :number].reshape(len(farther), -1)
        parts.append(common)
        observed = np.concatenate(parts, axis=1)
        squares = (observed**2).sum(axis=1) + (farther[:, number:] ** 2).sum(axis=(1, 2))
        return observed, 0.5 * squares

    def _log(self, group: str, ours: FloatArray, theirs: FloatArray) -> FloatArray:
        weight = self.weights.get(group, 0.0)
        squares = (ours**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1) - 2.0 * ours @ theirs.T
        return np.asarray(-0.5 * weight * np.maximum(squares, 0.0))

    # -- observations -------------------------------------------------------------------------

    @property
    def _n_features(self) -> int:
        return self._observed.n_extra

    def of_nodes(self, composition: IntArray) -> FloatArray:
        """Contribution of the pairs of a node and itself to the coordinates of types."""
        return np.array([float(composition[a]) if a == b else 0.0 for a, b in self.types])

    @cached_property
    def of_group(self) -> dict[str, FloatArray]:
        """Coordinates of the observations in each group, in one row or in several."""
        groups = ["labels", *(f"within_{s}" for s in range(1, N_NEAR)), "farther", "edge_labels"]
        observed = self._observed
        if self._n_features:
            groups.append("features")
        out: dict[str, FloatArray] = {}
        n_all = observed.n_labels
        for group, rows in group_counts(observed, groups).items():
            shares = rows / divisors(observed, group)[:, None]
            if group in ("labels", "features"):
                out[group] = shares[:, : self.n_labels] if group == "labels" else shares
                continue
            out[group] = self._folded(shares.reshape(len(rows), -1, n_all, n_all))
            if group.startswith("within"):
                out[group] = out[group][:, 0]
        return out

    def _folded(self, cells: FloatArray) -> FloatArray:
        """Cells of ordered pairs (..., L, L), which are symmetric, as coordinates of types."""
        a, b = np.array(self.types).T
        return np.asarray(cells[..., a, b] * np.where(a == b, 1.0, np.sqrt(2.0)))

    # -- exact --------------------------------------------------------------------------------

    def exact(self, counts: FloatArray, sums: IntArray, further: IntArray) -> FloatArray:
        """The values of graphs with these counts of pairs, sums and further tables, one per row."""
        size, number = self.n_nodes, len(counts)
        if not number:
            return np.zeros(0)
        a, b = np.array(self.types).T
        pairs = np.zeros((number, size, self.n_labels, self.n_labels), dtype=np.int64)
        by_type = counts.round().astype(np.int64).reshape(number, size - 1, -1)
        pairs[:, 1:, a, b] += by_type
        pairs[:, 1:, b, a] += by_type
        label = np.arange(self.n_labels)
        pairs[:, 0, label, label] = sums[:, : self.n_labels]
        edges = np.zeros((number, self.n_edge_labels + 1, *pairs.shape[2:]), dtype=np.int64)
        of_labels = np.concatenate(
            [(by_type[:, 0] - further.sum(axis=1))[:, None], further], axis=1
        )
        edges[:, 1:, a, b] += of_labels
        edges[:, 1:, b, a] += of_labels
        return self.criterion.of_counts(
            Counts(
                np.full(number, size),
                pairs.sum(axis=(2, 3)),
                pairs,
                sums[:, : self.n_labels + self._n_features],
                self.n_labels,
                edges,
            )
        )


def _checked(logarithms: FloatArray) -> FloatArray:
    if np.abs(logarithms).max(initial=0.0) > _LARGEST_EXPONENT:
        raise TooSharp
    return logarithms
