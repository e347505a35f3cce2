"""`PathCounts`: the counts that the kernels use, as columns of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...checks import whole
from ...counts import Counts, count
from ...errors import InvalidInputError
from ...graph import Graph


class PathCounts(TransformerMixin, BaseEstimator):
    """Turns graphs into rows of counts: pairs of nodes by distance, nodes by label and feature.

    Args:
        labelled: whether pairs are also counted by the labels of their ends.
        nodes: whether nodes are counted by their labels and features.
        edges: whether edges are counted by their labels and those of their ends.
        shares: whether counts of pairs are divided by the square of the number of nodes, and those
            of nodes by their number. The inner product of two rows of shares of pairs is the kernel
            SSP, or SP if ``labelled``.
        n_labels: number of node labels; by default that of the graphs it is fitted to.
        handle_unknown: what to do with labels and distances that did not occur during fitting:
            ``"error"`` refuses them, ``"ignore"`` leaves them out.
        sparse_output: whether to return a sparse matrix.

    Attributes:
        n_labels_, n_lengths_, n_edge_labels_, n_extra_: numbers of labels, distances (0 included),
            edge labels and features of nodes.
    """

    def __init__(
        self,
        *,
        labelled: bool = True,
        nodes: bool = True,
        edges: bool = False,
        shares: bool = False,
        n_labels: int | None = None,
        handle_unknown: Literal["error", "ignore"] = "error",
        sparse_output: bool = True,
    ) -> None:
        self.labelled = labelled
        self.nodes = nodes
        self.edges = edges
        self.shares = shares
        self.n_labels = n_labels
        self.handle_unknown = handle_unknown
        self.sparse_output = sparse_output

    def fit(self, X: Sequence[Graph], y: Any = None) -> PathCounts:  # noqa: ARG002
        """Find the distances and labels that occur."""
        if self.handle_unknown not in ("error", "ignore"):
            raise InvalidInputError(
                f"handle_unknown must be 'error' or 'ignore', got {self.handle_unknown!r:.100}"
            )
        n_labels = None if self.n_labels is None else whole(self.n_labels, "n_labels", 1)
        counts = self._count(X, n_labels)
        self.n_labels_ = counts.n_labels
        self.n_lengths_ = int(counts.lengths.shape[1])
        self.n_edge_labels_ = counts.n_edge_labels
        self.n_extra_ = counts.n_extra
        self._feature_names = self._names()
        return self

    def transform(self, X: Sequence[Graph]) -> Any:
        """One row per graph: a sparse matrix, or an array."""
        from scipy.sparse import csr_array

        check_is_fitted(self)
        counts = self._count(X, None)
        self._check_known(counts)
        shape = (self.n_lengths_, self.n_labels_, self.n_edge_labels_)
        counts = counts.padded(*shape)
        s, k, b = (slice(number) for number in (shape[0], shape[1], shape[2] + 1))
        squares = counts.sizes[:, None].astype(float) ** 2 if self.shares else 1.0
        sizes = counts.sizes[:, None].astype(float) if self.shares else 1.0
        of_pairs = counts.lengths[:, s]
        if self.labelled:
            assert counts.pairs is not None
            of_pairs = counts.pairs[:, s, k, k]
        parts = [of_pairs.reshape(len(counts), -1) / squares]
        if self.nodes:
            parts.append(counts.with_labels(self.n_labels_).features / sizes)
        if self.edges:
            assert counts.edges is not None
            parts.append(counts.edges[:, b, k, k].reshape(len(counts), -1) / squares)
        rows = np.hstack(parts)
        return csr_array(rows) if self.sparse_output else rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Names of the columns, for instance ``pairs 2 steps apart 0-1``."""
        check_is_fitted(self)
        return np.array(self._feature_names, dtype=object)

    def _count(self, graphs: Sequence[Graph], n_labels: int | None) -> Counts:
        return count(graphs, n_labels, pairs=self.labelled, edges=self.edges)

    def _check_known(self, counts: Counts) -> None:
        if counts.n_extra != self.n_extra_:
            raise InvalidInputError(
                f"expected graphs with {self.n_extra_} features of nodes, as those it was fitted "
                f"to, got {counts.n_extra}"
            )
        if self.handle_unknown == "ignore":
            return
        for what, got, known in (
            ("labels", counts.n_labels, self.n_labels_),
            ("distances up to", counts.lengths.shape[1] - 1, self.n_lengths_ - 1),
            ("edge labels up to", counts.n_edge_labels, self.n_edge_labels_),
        ):
            if got > known:
                raise InvalidInputError(
                    f"expected {what} {known}, as in the graphs it was fitted to, got {got}; try "
                    "handle_unknown='ignore', or fit it to graphs that have them"
                )

    def _names(self) -> list[str]:
        labels, steps = range(self.n_labels_), range(self.n_lengths_)
        ends = [f" {a}-{b}" for a in labels for b in labels]
        of_pairs = ends if self.labelled else [""]
        names = [f"pairs {s} steps apart{e}" for s in steps for e in of_pairs]
        if self.nodes:
            names += [f"nodes labelled {a}" for a in labels]
            names += [f"nodes with feature {k}" for k in range(self.n_extra_)]
        if self.edges:
            kinds = range(self.n_edge_labels_ + 1)
            names += [f"edges labelled {kind}{e}" for kind in kinds for e in ends]
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags
