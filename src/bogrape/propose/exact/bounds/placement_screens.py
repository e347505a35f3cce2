r"""Quick bounds on all placements of labels on a skeleton, before those that pass are evaluated.

A screen bounds mean and variance of every placement of one composition on every skeleton of a
batch, in single precision with a margin for rounding. With 10 atoms one placement in a thousand
passes, or fewer.

*SP* (`LinearScreen`). Given composition and skeleton, mean and variance have bounds that are sums
over pairs of nodes. The mean is such a sum. As in `lines_below`, the variance
:math:`|z|^2 - |Bz|^2` is at most

.. math:: \sum_{s,t} w_t\, h_{st}\, x_{st} + c + |b|^2 - 2\, b^\top B z ,

where :math:`x_{st} \le h_{st}` is the number of pairs of type t at distance s, so that
:math:`x_{st}^2 \le h_{st} x_{st}`, and b is any vector. A placement is a row of zeros and ones, one
for each pair of nodes and type, and a skeleton is a column of the terms that these add. So all
placements on all skeletons are one product of matrices, a hundredth of a microsecond for each.

*ESP* (`ExponentialScreen`). The exponents of the kernel are linear in counts, and for any c

.. math:: \sigma^2 \le k(x, x) - 2\, c^\top k(x) + c^\top K c .

Both b and c are chosen for labels that are spread evenly over the pairs of each skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ....arrays import FloatArray, IntArray
from ....posterior import FunctionPosterior, WeightPosterior
from .placement_values import OfComposition, PlacementValues

Single = NDArray[np.float32]

_PLACEMENTS = 2_048  # at a time
_SKELETONS = 512
_ROWS = 1_500  # placements on skeletons that are bounded together
_PRECISE = 0.5  # standard deviations: means lower by this let hardly any more placements pass
_UNIT = 2.0**-24  # half the distance from 1 to the next number in single precision


class PlacementScreen(Protocol):
    """Bounds on the values of placements."""

    def below(
        self, distances: IntArray, types: IntArray, of: OfComposition, value: float
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs of skeletons and placements that may have a value below a limit.

        Args:
            distances: of the pairs of nodes of each skeleton, (S, pairs).
            types: of the pairs of nodes in each placement, (Q, pairs), all of one composition.
            of: bounds for that composition.
            value: the limit.
        """


def placement_screen(values: PlacementValues) -> PlacementScreen:
    """The screen for these values."""
    linear = isinstance(values.criterion.posterior, WeightPosterior)
    return LinearScreen(values) if linear else ExponentialScreen(values)


class LinearScreen:
    """The screen for SP."""

    def __init__(self, values: PlacementValues) -> None:
        posterior = values.criterion.posterior
        assert isinstance(posterior, WeightPosterior)
        self._values = values
        self._alpha = posterior.model.alpha

    def below(
        self, distances: IntArray, types: IntArray, of: OfComposition, value: float
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """See `PlacementScreen`."""
        for first in range(0, len(distances), _SKELETONS):
            some = distances[first : first + _SKELETONS]
            columns, constants = self._columns(some, of)
            for start in range(0, len(types), _PLACEMENTS):
                rows = self._rows(types[start : start + _PLACEMENTS])
                sums = (rows @ columns).astype(float).reshape(len(rows), 2, len(some))
                sums += constants
                std = np.sqrt(np.maximum(sums[:, 1], 0.0)) + of.most_apart
                bounds = self._values.criterion.of_prediction(sums[:, 0].ravel(), std.ravel())
                j, i = np.nonzero(bounds.reshape(std.shape) < value)
                yield first + i, start + j

    def _rows(self, types: IntArray) -> Single:
        """The types of the pairs, one-hot, in one row per placement."""
        n_types = len(self._values.types)
        rows = np.zeros((len(types), types.shape[1] * n_types), dtype=np.float32)
        places = types + n_types * np.arange(types.shape[1])
        np.put_along_axis(rows, places, np.float32(1.0), axis=1)
        return rows

    def _columns(self, distances: IntArray, of: OfComposition) -> tuple[Single, FloatArray]:
        """For each skeleton, the terms of pairs in mean and variance, and constants to add.

        The columns are those of the means, then those of the variances.
        """
        values, n = self._values, self._values.n_nodes
        of_pairs, of_nodes = values.linear_maps
        number, n_pairs = distances.shape
        composition = of.composition.astype(float)
        histograms = _histograms(distances, n)
        pairs_of_type = _pairs_of_type(values, composition)
        shape = number, n - 1, len(values.types)
        most = np.minimum(histograms[:, :, None], pairs_of_type).reshape(number, -1)
        beside = composition @ of_nodes
        taken = beside[1:] + of.nodes.taken[of.centre]
        chosen = _evenly(values, histograms, of) @ of_pairs[:, 1:] + taken  # b, one per skeleton
        squares = self._alpha / n**4
        of_variance = squares * most * values.squares - 2.0 * chosen @ of_pairs[:, 1:].T
        variance = squares * (composition**2).sum() + float(of.nodes.prior[of.centre])
        variance += (chosen * (chosen - 2.0 * taken)).sum(axis=1)
        variance += values.lost * (self._alpha + float(of.nodes.prior[of.centre]))
        mean = np.full(number, beside[0] + of.least_mean - values.rounded_mean)
        which = np.arange(number)[:, None], distances - 1
        of_mean = np.broadcast_to(of_pairs[:, 0].reshape(shape[1:]), shape)
        columns, rounded = [], []
        for each in (of_mean, of_variance.reshape(shape)):
            # rounding of sums over all pairs in single precision, in any order
            largest = (np.abs(each).max(axis=2) * histograms).sum(axis=1)
            rounded.append(2 * (n_pairs + 2) * _UNIT * largest)
            columns.append(each.astype(np.float32)[which].reshape(number, -1))
        constants = np.array([mean - rounded[0], variance + rounded[1]])
        return np.concatenate(columns).T, constants


class ExponentialScreen:
    """The screen for ESP, in single precision if that is precise enough."""

    def __init__(self, values: PlacementValues) -> None:
        posterior = values.criterion.posterior
        assert isinstance(posterior, FunctionPosterior)
        self._values = values
        self._factor = posterior.factor
        self._alpha = posterior.model.alpha
        self._weights = posterior.weights * self._alpha
        self._of_pairs, self._of_nodes = values.linear_maps
        # upper bounds on the exponentials: exponents are sums over pairs and over nodes
        n = values.n_nodes
        self._most = np.exp(
            np.abs(self._of_pairs).max(axis=0) * (n * (n - 1) / 2)
            + np.abs(self._of_nodes).max(axis=0) * n
        )
        single = self._lost(self._weights, np.float32) < _PRECISE
        self._type = np.float32 if single else np.float64

    def below(
        self, distances: IntArray, types: IntArray, of: OfComposition, value: float
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """See `PlacementScreen`."""
        predictors, variances = self._predictors(distances, of)
        mean = of.least_mean - self._lost(self._weights, self._type)
        n_placements = max(1, min(len(types), _ROWS))
        n_skeletons = max(1, _ROWS // n_placements)
        for start in range(0, len(types), n_placements):
            rows = types[start : start + n_placements]
            for first in range(0, len(distances), n_skeletons):
                some = slice(first, first + n_skeletons)
                means, taken, prior = self._sums(distances[some], rows, predictors[some], of)
                variance = variances[some, None] + prior - taken
                std = np.sqrt(np.maximum(variance, 0.0)) + of.most_apart
                bounds = self._values.criterion.of_prediction((means + mean).ravel(), std.ravel())
                i, j = np.nonzero(bounds.reshape(std.shape) < value)
                yield first + i, start + j

    def _lost(self, weights: FloatArray, kind: type[np.floating[Any]]) -> FloatArray:
        """Upper bound on the rounding error of ``exp(exponents) @ weights``."""
        n = self._values.n_nodes
        unit = float(np.finfo(kind).eps)
        # sums over pairs and nodes, rounded maps, the exponential, and the sum over observations
        roundings = (n * n + n) * np.log(self._most) + 8.0 + len(self._most)
        return np.asarray(np.abs(weights) @ (self._most * roundings * unit))

    def _predictors(self, distances: IntArray, of: OfComposition) -> tuple[FloatArray, FloatArray]:
        """For each skeleton, ``2 alpha c`` and the constant part of the variance."""
        values = self._values
        at_nodes = of.composition @ self._of_nodes
        histograms = _histograms(distances, values.n_nodes)
        taken, prior = of.nodes.taken[of.centre], float(of.nodes.prior[of.centre])
        cross = self._alpha * np.exp(_evenly(values, histograms, of) @ self._of_pairs + at_nodes)
        towards = solve_triangular(self._factor, cross.T, lower=True, check_finite=False).T + taken
        # any c is valid, so its own rounding errors do not matter
        c = solve_triangular(self._factor.T, towards.T, lower=False, check_finite=False).T
        through = c @ self._factor
        variances = prior + (through * (through - 2.0 * taken)).sum(axis=1)
        predictors = 2.0 * self._alpha * c
        variances += self._lost(predictors, self._type)
        lost = values.lost * (self._alpha * np.exp(1.0) + prior)
        return predictors.astype(self._type), variances + lost

    def _sums(
        self, distances: IntArray, types: IntArray, predictors: FloatArray, of: OfComposition
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For each skeleton with each placement: mean, twice ``c.k``, and ``k(x, x)``."""
        values, kind = self._values, self._type
        n, width, shape = values.n_nodes, values.width, (len(distances), len(types))
        n_rows = shape[0] * shape[1]
        of_skeletons = (distances - 1) * len(values.types)
        of_skeletons += (width * shape[1]) * np.arange(shape[0])[:, None]
        of_placements = types + width * np.arange(shape[1])[:, None]
        cells = of_skeletons[:, None, :] + of_placements
        counts = np.bincount(cells.ravel(), minlength=n_rows * width).reshape(n_rows, width)
        numbers = counts.astype(kind)
        exponents = numbers @ self._of_pairs.astype(kind)
        exponents += (of.composition @ self._of_nodes).astype(kind)
        kernel = np.exp(exponents, out=exponents)
        mean = kernel @ self._weights.astype(kind)
        # one predictor per skeleton, for all of its placements
        taken = kernel.reshape(*shape, -1) @ predictors[:, :, None]
        squares = np.square(numbers, out=numbers) @ values.squares.astype(kind)  # whole numbers
        squares = squares.astype(float) + (of.composition.astype(float) ** 2).sum()
        prior = self._alpha * np.exp(squares / n**4)
        return mean.astype(float).reshape(shape), taken[:, :, 0].astype(float), prior.reshape(shape)


def _histograms(distances: IntArray, n: int) -> IntArray:
    """Pairs of nodes at the distances 1, 2, .., n - 1, of each skeleton."""
    places = distances - 1 + (n - 1) * np.arange(len(distances))[:, None]
    counts = np.bincount(places.ravel(), minlength=len(distances) * (n - 1))
    return counts.reshape(len(distances), n - 1)


def _pairs_of_type(values: PlacementValues, composition: FloatArray) -> FloatArray:
    """Number of pairs of nodes of each type."""
    return np.array(
        [composition[a] * (composition[b] - (a == b)) / (1 + (a == b)) for a, b in values.types]
    )


def _evenly(values: PlacementValues, histograms: IntArray, of: OfComposition) -> FloatArray:
    """The counts of each skeleton if every distance had its share of pairs of each type."""
    shares = _pairs_of_type(values, of.composition.astype(float))
    shares /= values.n_nodes * (values.n_nodes - 1) / 2
    return np.asarray((histograms[:, :, None] * shares).reshape(len(histograms), -1))
