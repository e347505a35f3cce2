r"""The acquisition over placements of labels: SP and ESP, with LCB or EI.

As in `separate_values`, paths and nodes have separate parts. A placement of labels on a skeleton
decides the part of the paths; the sums N of node features are still open. The posterior deviation
is a seminorm of the feature vectors, so that for any sums :math:`N_0`

.. math:: \sigma(P, N) \le \sigma(P, N_0) + \sigma(0, N - N_0) ,

where the last term does not depend on the placement. This rules out most placements whatever their
sums are; the others are evaluated with each of the sums.

Counts are those of unordered pairs of nodes by distance and type, ``(s, {a, b})``: half as many
numbers as ``P``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from ....acquisition import EI, LCB
from ....arrays import FloatArray, IntArray
from ....counts import Counts
from ....kernels import is_published, path_features
from ....posterior import FunctionPosterior, WeightPosterior
from ...criterion import Criterion
from .separate_values import Part, SeparateValues, rounding

_CENTRES = 40  # sums that are tried as N_0


@dataclass(frozen=True, eq=False, kw_only=True)
class OfComposition:
    """Bounds for all graphs with one composition whose nodes have given degrees."""

    composition: IntArray  # (L,)
    sums: IntArray  # (R, M): the possible sums
    nodes: Part  # the part of each
    centre: int  # index of N_0 among them
    least_mean: float  # lower bound on what the sums add to the mean
    most_apart: float  # upper bound on what they add to the deviation, beyond that of N_0


class PlacementValues(SeparateValues):
    """Acquisition values of labelled counts and sums of node features, for graphs of one size."""

    def __init__(self, criterion: Criterion, n_nodes: int) -> None:
        super().__init__(criterion, n_nodes)
        self.n_labels = criterion.space.n_labels
        self.types = list(combinations_with_replacement(range(self.n_labels), 2))
        self.width = (n_nodes - 1) * len(self.types)

    @classmethod
    def accepts(cls, criterion: Criterion) -> bool:
        """Accepts LCB and EI, which are monotone, with SP or ESP."""
        kernel = criterion.posterior.model.kernel
        known = type(criterion.posterior) in (WeightPosterior, FunctionPosterior)
        separate = is_published(kernel) and kernel.labelled
        return type(criterion.acquisition) in (LCB, EI) and known and separate

    # -- sums ---------------------------------------------------------------------------------

    def of_composition(self, sums: IntArray) -> OfComposition:
        """Bounds for sums with the same labels."""
        nodes = self.of_nodes(sums)
        chosen = np.arange(0, len(sums), max(1, len(sums) // _CENTRES))
        apart = self._apart(sums, nodes, chosen)
        column = int(apart.max(axis=0).argmin())
        centre, apart = int(chosen[column]), apart[:, column]
        least, most = float(nodes.mean.min()), float(apart.max())
        acquisition = self.criterion.acquisition
        if type(acquisition) is LCB:  # bound mean and deviation of the same sums together
            least, most = float((nodes.mean - acquisition.kappa * apart).min()), 0.0
        return OfComposition(
            composition=sums[0, : self.n_labels],
            sums=sums,
            nodes=nodes,
            centre=centre,
            least_mean=least - nodes.rounded,
            most_apart=most,
        )

    def _apart(self, sums: IntArray, nodes: Part, chosen: IntArray) -> FloatArray:
        """``sigma(0, N - N_0)`` of all sums N (rows) and some N_0 (columns)."""
        model = self.criterion.posterior.model
        between = sums[:, None].astype(float) - sums[chosen]
        prior = (between**2).sum(axis=2) * model.beta / (self.n_nodes**2 * model.n_features)
        # the vectors taken are linear in the sums
        taken = ((nodes.taken[:, None] - nodes.taken[chosen]) ** 2).sum(axis=2)
        lost = self.lost * 4.0 * float(nodes.prior.max())
        return np.asarray(np.sqrt(np.maximum(prior - taken, 0.0) + lost * (prior > 0)))

    # -- counts -------------------------------------------------------------------------------

    def bounds(self, counts: FloatArray, of: OfComposition) -> FloatArray:
        """Lower bounds on the values of labelled counts, whatever their sums are.

        Args:
            counts: numbers of pairs of nodes, by distance and type, (B, width).
            of: the composition that they have.
        """
        compositions = np.broadcast_to(of.composition, (len(counts), self.n_labels))
        paths = self.of_counts(counts, compositions)
        taken, prior = of.nodes.taken[of.centre], float(of.nodes.prior[of.centre])
        both = paths.taken + taken
        variance = paths.prior + prior - np.einsum("ij,ij->i", both, both)
        std = np.sqrt(np.maximum(variance, 0.0) + self.lost * (paths.prior + prior))
        mean = paths.mean - paths.rounded + of.least_mean
        return self.criterion.of_prediction(mean, std + of.most_apart)

    def of_counts(self, counts: FloatArray, compositions: IntArray) -> Part:
        """The part of paths of each row of counts with the composition of the same row."""
        model = self.criterion.posterior.model
        of_pairs, of_nodes = self.linear_maps
        linear = counts @ of_pairs + compositions @ of_nodes
        squares = (counts**2) @ self.squares + (compositions**2).sum(axis=1)
        prior = squares / self.n_nodes**4
        if isinstance(self.criterion.posterior, FunctionPosterior):
            return self.projected(model.alpha * np.exp(linear), model.alpha * np.exp(prior))
        rounded = self.rounded_mean
        return Part(linear[:, 0], model.alpha * prior, linear[:, 1:], rounded)

    @cached_property
    def squares(self) -> FloatArray:
        """Factor of each squared count in ``|P|^2``: two cells, or one cell of twice the count."""
        of_types = [4.0 if a == b else 2.0 for a, b in self.types]
        return np.tile(of_types, self.n_nodes - 1)

    @cached_property
    def _units(self) -> Counts:
        """Counts of a single pair of nodes of each distance and type, then of a single node."""
        number = self.width + self.n_labels
        pairs = np.zeros((number, self.n_nodes, self.n_labels, self.n_labels), dtype=np.int64)
        for s in range(1, self.n_nodes):
            for t, (a, b) in enumerate(self.types):
                row = (s - 1) * len(self.types) + t
                pairs[row, s, a, b] += 1
                pairs[row, s, b, a] += 1
        for a in range(self.n_labels):
            pairs[self.width + a, 0, a, a] = 1
        n_columns = self.n_labels + self.criterion.space.n_features
        return Counts(
            np.full(number, self.n_nodes),
            pairs.sum(axis=(2, 3)),
            pairs,
            np.zeros((number, n_columns), dtype=np.int64),
            self.n_labels,
        )

    @cached_property
    def linear_maps(self) -> tuple[FloatArray, FloatArray]:
        """Linear maps of counts, and of compositions.

        In weight space they give the mean and `Part.taken`; in function space, the exponents of the
        kernel.
        """
        posterior = self.criterion.posterior
        if isinstance(posterior, WeightPosterior):
            z = posterior.features(self._units)
            taken = (z @ posterior.basis.T) * np.sqrt(1.0 - posterior.shrink)
            out = np.column_stack([z @ posterior.weights, taken])
        else:
            observed = path_features(posterior.model.counts, labelled=True)
            units = path_features(self._units, labelled=True)
            common = tuple(
                slice(min(a, b)) for a, b in zip(observed.shape[1:], units.shape[1:], strict=True)
            )
            out = (
                units[(slice(None), *common)].reshape(len(units), -1)
                @ observed[(slice(None), *common)].reshape(len(observed), -1).T
            )
        return out[: self.width], out[self.width :]

    @cached_property
    def rounded_mean(self) -> float:
        """Rounding error of the mean in weight space, for any counts."""
        posterior = self.criterion.posterior
        assert isinstance(posterior, WeightPosterior)
        largest = np.sqrt(posterior.model.alpha) * np.ones((1, len(posterior.weights)))
        return rounding(largest, posterior.weights)

    # -- exact --------------------------------------------------------------------------------

    def exact(self, counts: FloatArray, sums: IntArray) -> FloatArray:
        """The value of each row of counts with the sums of the same row."""
        if not len(counts):
            return np.zeros(0)
        units = self._units.pairs
        assert units is not None
        pairs = counts.round().astype(np.int64) @ units[: self.width].reshape(self.width, -1)
        pairs = pairs.reshape(len(counts), *units.shape[1:])
        label = np.arange(self.n_labels)
        pairs[:, 0, label, label] = sums[:, : self.n_labels]
        sizes = np.full(len(counts), self.n_nodes)
        lengths = pairs.sum(axis=(2, 3))
        return self.criterion.of_counts(Counts(sizes, lengths, pairs, sums, self.n_labels))

    def _counts(self, histograms: IntArray, sums: IntArray) -> Counts:
        counts = super()._counts(histograms, sums)
        none = np.zeros((len(sums), 1, self.n_labels, self.n_labels), dtype=np.int64)
        return replace(counts, pairs=none)
