r"""The acquisition for kernels with separate parts for paths and nodes: SSP and ESSP, LCB or EI.

The kernel is a function of the histogram of distances plus one of the sums of node features. So the
mean, the prior variance and the vector :math:`v`, whose square the observations subtract from the
variance, are sums, too:

.. math:: \mu = \mu_h + \mu_N, \qquad
          \sigma^2 = (k_h - |v_h|^2) + (k_N - |v_N|^2) - 2\, v_h^\top v_N ,

and :math:`v_N` is linear in N. All histograms with all sums are evaluated by one product of thin
matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....acquisition import EI, LCB
from ....arrays import FloatArray, IntArray
from ....counts import Counts
from ....kernels import feature_cross, feature_diagonal, is_published
from ....posterior import FunctionPosterior, WeightPosterior
from ...criterion import Criterion

_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Part:
    """Contributions of paths or nodes to the posterior, one row per graph."""

    mean: FloatArray  # (B,)
    prior: FloatArray  # (B,)
    taken: FloatArray  # (B, r): observations subtract its square from the prior
    rounded: float  # rounding error of the mean, in standard deviations


class SeparateValues:
    """Acquisition values of histograms and sums of node features, for graphs of one size."""

    def __init__(self, criterion: Criterion, n_nodes: int) -> None:
        self.criterion = criterion
        self.n_nodes = n_nodes

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB and EI, which are monotone, with a kernel of separate parts."""
        kernel = criterion.posterior.model.kernel
        known = type(criterion.posterior) in (WeightPosterior, FunctionPosterior)
        separate = is_published(kernel) and not kernel.labelled
        return type(criterion.acquisition) in (LCB, EI) and known and separate

    def lower_bounds(self, histograms: IntArray, sums: IntArray) -> FloatArray:
        """A bound just below the value of every histogram (rows) with every sum (columns)."""
        return self.of_parts(self._of_paths(histograms), self.of_nodes(sums))

    def of_parts(self, paths: Part, nodes: Part) -> FloatArray:
        """A bound just below the value of every part of paths (rows) and of nodes (columns)."""
        variance = (paths.prior - (paths.taken**2).sum(axis=1))[:, None] - 2.0 * (
            paths.taken @ nodes.taken.T
        )
        variance += nodes.prior - (nodes.taken**2).sum(axis=1)
        prior = paths.prior.max(initial=0.0) + nodes.prior.max(initial=0.0)
        np.maximum(variance, 0.0, out=variance)
        std = np.sqrt(variance + self.lost * prior)
        mean = (paths.mean - paths.rounded - nodes.rounded)[:, None] + nodes.mean
        values = self.criterion.of_prediction(mean.ravel(), std.ravel())
        return values.reshape(mean.shape)

    @cached_property
    def lost(self) -> float:
        """Share of the prior variance that covers the rounding error of the variance.

        The observations are nearly dependent in function space, so digits are lost there. Whatever
        passes the bound is evaluated again, so a generous share costs little.
        """
        posterior = self.criterion.posterior
        if isinstance(posterior, WeightPosterior):
            return 1e-12 * (1 + len(posterior.basis))
        assert isinstance(posterior, FunctionPosterior)
        factor = posterior.factor
        return 8 * _EPSILON * len(factor) * float(np.linalg.cond(factor))

    def values(self, histograms: IntArray, sums: IntArray) -> FloatArray:
        """The value of each histogram with the sums of the same row."""
        if not len(histograms):
            return np.zeros(0)
        return self.criterion.of_counts(self._counts(histograms, sums))

    def _counts(self, histograms: IntArray, sums: IntArray) -> Counts:
        n, number = self.n_nodes, len(histograms)
        lengths = np.column_stack([np.full(number, n), 2 * histograms.astype(np.int64)])
        sizes = np.full(number, n)
        return Counts(sizes, lengths, None, sums.astype(np.int64), self.criterion.space.n_labels)

    def _of_paths(self, histograms: IntArray) -> Part:
        n_columns = self.criterion.space.n_labels + self.criterion.space.n_features
        counts = self._counts(histograms, np.zeros((len(histograms), n_columns), dtype=np.int64))
        posterior, model = self.criterion.posterior, self.criterion.posterior.model
        if isinstance(posterior, WeightPosterior):
            return self._weighted(counts)
        return self.projected(
            model.alpha * model.kernel.cross(counts, model.counts),
            model.alpha * model.kernel.diagonal(counts),
        )

    def of_nodes(self, sums: IntArray) -> Part:
        """The part of sums of node features."""
        # without paths, even those of a node to itself, only the feature kernel remains
        counts = self._counts(np.zeros((len(sums), self.n_nodes - 1), dtype=np.int64), sums)
        counts.lengths[:] = 0
        posterior, model = self.criterion.posterior, self.criterion.posterior.model
        if isinstance(posterior, WeightPosterior):
            return self._weighted(counts)
        if not model.beta:
            none = np.zeros(len(sums))
            return Part(none, none, np.zeros((len(sums), len(model.y))), 0.0)
        known = counts.with_labels(model.counts.n_labels)
        return self.projected(
            model.beta * feature_cross(known, model.counts, model.n_features),
            model.beta * feature_diagonal(counts, model.n_features),
        )

    def _weighted(self, counts: Counts) -> Part:
        """A part in weight space."""
        posterior = self.criterion.posterior
        assert isinstance(posterior, WeightPosterior)
        z = posterior.features(counts)
        taken = (z @ posterior.basis.T) * np.sqrt(1.0 - posterior.shrink)
        rounded = rounding(z, posterior.weights)
        return Part(z @ posterior.weights, posterior.model.diagonal(counts), taken, rounded)

    def projected(self, cross: FloatArray, prior: FloatArray) -> Part:
        """A part in function space, from its covariance with the observations."""
        from scipy.linalg import solve_triangular

        posterior = self.criterion.posterior
        assert isinstance(posterior, FunctionPosterior)
        taken = solve_triangular(posterior.factor, cross.T, lower=True, check_finite=False).T
        rounded = rounding(cross, posterior.weights)
        return Part(cross @ posterior.weights, prior, taken, rounded)


def rounding(rows: FloatArray, weights: FloatArray) -> float:
    """Rounding error of ``rows @ weights``, here and wherever it is recomputed."""
    largest = float((np.abs(rows) @ np.abs(weights)).max(initial=0.0))
    return 4 * _EPSILON * (2 + len(weights)) * largest
