r"""`DagGP`: a Gaussian process for directed acyclic graphs of operations, such as architectures.

The nodes of a graph are coloured in four ways, and the graph is described by how many of its nodes
have each colour:

==================  ================================================================================
``labels``          the label
``ends``            the label, and whether anything follows the node
``levels``          the longest path that leads to the node, and the longest that leaves it
``neighbourhoods``  the label, and the labels of all predecessors and of all successors: one step of
                    Weisfeiler and Lehman
==================  ================================================================================

With :math:`c_g` the counts of group g, and :math:`c_g^0, v_g` their mean and mean squared distance
over random graphs of the space,

.. math:: k = \alpha \exp\Bigl(-\tfrac12 \sum_g \frac{\|c_g - c'_g\|^2}{v_g\,\ell_g^2}\Bigr)
    + \sum_g \beta_g \frac{(c_g - c_g^0)^\top (c'_g - c_g^0)}{v_g / 2} .

The linear part learns from few observations the effect of each operation in each place, the other
part the effects of combinations. Ends, levels and neighbourhoods are not functions of the path
counts that the package's kernels read, so proposals of this model are not proved unless all graphs
of the space can be enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular
from threadpoolctl import threadpool_limits

from .arrays import BoolArray, FloatArray, IntArray
from .batch import Batch
from .checks import positive
from .errors import FitError, InvalidInputError, SamplingError
from .fitting import HOPELESS, NOISE_BOUNDS, NOISE_PRIOR, smallest
from .graph import Graph
from .joint_fitting import likelihood_of
from .kernel import LogNormal
from .observed_values import (
    checked_noise,
    checked_observations,
    standardise,
    standardised_noise,
)
from .posterior import cholesky
from .space import GraphSpace

GROUPS = ("labels", "ends", "levels", "neighbourhoods")
_TYPICAL_GRAPHS = 300  # random graphs of the space that counts are centred and scaled by
_TOGETHER = 2048  # graphs that are predicted at a time

_ALPHA = LogNormal(0.0, 1.0)
_LENGTH = LogNormal(0.3, 1.0)  # as for the kernel `rbf`
_BETA = LogNormal(-math.log(len(GROUPS)) - 0.5, 1.5)
_PRIORS: Mapping[str, LogNormal] = {
    "alpha": _ALPHA,
    **{f"length_{group}": _LENGTH for group in GROUPS},
    **{f"beta_{group}": _BETA for group in GROUPS},
    "noise": NOISE_PRIOR,
}
_BOUNDS = dict.fromkeys(_PRIORS, (0.0001, 100.0)) | {"noise": NOISE_BOUNDS}


def colours(batch: Batch, n_labels: int) -> dict[str, IntArray]:
    """For each group the colour of every node, as a row of whole numbers: (B, n, columns)."""
    arcs = batch.adjacency
    label = batch.labels[:, :, None]
    follows = np.asarray(arcs.any(axis=2))[:, :, None]
    of_labels = (label == np.arange(n_labels)).astype(np.int64)
    before, after = arcs.swapaxes(1, 2) @ of_labels, arcs @ of_labels
    levels = np.stack([_longest(arcs.swapaxes(1, 2)), _longest(arcs)], axis=2)
    return {
        "labels": label,
        "ends": np.concatenate([label, follows], axis=2),
        "levels": levels,
        "neighbourhoods": np.concatenate([label, before, after], axis=2),
    }


def _longest(arcs: BoolArray) -> IntArray:
    """Length of the longest path that starts in each node, (B, n)."""
    n_graphs, n, _ = arcs.shape
    out = np.zeros((n_graphs, n), dtype=np.int64)
    for _ in range(n):
        longer = np.where(arcs, out[:, None, :] + 1, 0).max(axis=2)
        if (longer == out).all():
            return out
        out = longer
    raise InvalidInputError(
        "DagGP: expected acyclic graphs, got one with a cycle; try the rule Acyclic(), or GraphGP"
    )


@dataclass(frozen=True, eq=False)
class Histograms:
    """Number of nodes of each known colour, per graph.

    Attributes:
        counts: (B, known colours).
        squares: sums of the squares of the numbers of *all* colours, known or not, (B,).
    """

    counts: FloatArray
    squares: FloatArray


@dataclass(frozen=True, eq=False)
class Scale:
    """Reference of a group: known colours, mean counts and mean squared distance."""

    known: Mapping[bytes, int]
    mean: FloatArray
    typical: float

    def histograms(self, rows: IntArray) -> Histograms:
        """Count the colours of a batch of graphs."""
        n_graphs, n, width = rows.shape
        flat = np.ascontiguousarray(rows.reshape(-1, width), dtype=np.int64)
        different, place = np.unique(flat, axis=0, return_inverse=True)
        place = place.reshape(n_graphs, n)
        squares = (place[:, :, None] == place[:, None, :]).sum(axis=(1, 2))
        column = np.array([self.known.get(row.tobytes(), len(self.known)) for row in different])
        bins = column[place] + (len(self.known) + 1) * np.arange(n_graphs)[:, None]
        counts = np.bincount(bins.ravel(), minlength=n_graphs * (len(self.known) + 1))
        counts = counts.reshape(n_graphs, -1)[:, :-1]
        return Histograms(counts.astype(float), squares.astype(float))

    def squared_distances(self, left: Histograms, right: Histograms) -> FloatArray:
        """Squared distances relative to the typical one; colours on the right must be known."""
        # whole numbers, so none of them depends on the batch
        cross = left.counts @ right.counts.T
        return (left.squares[:, None] + right.squares - 2.0 * cross) / self.typical

    def products(self, left: Histograms, right: Histograms) -> FloatArray:
        """Inner products of centred counts, relative to the typical squared length."""
        cross = (left.counts @ right.counts.T) - (left.counts @ self.mean)[:, None]
        return (cross - right.counts @ self.mean + self.mean @ self.mean) / (0.5 * self.typical)

    def lengths(self, graphs: Histograms) -> FloatArray:
        """The inner product of each graph with itself."""
        own = graphs.squares - 2.0 * (graphs.counts @ self.mean) + self.mean @ self.mean
        return np.asarray(own / (0.5 * self.typical))


Described = dict[str, Histograms]


class DagGP:
    """A Gaussian process on counts of operations, ends, levels and neighbourhoods.

    A surrogate for ``Study(space, surrogate=DagGP(space))`` and `FittedSurrogate`. A study in a
    database needs a function that makes it, defined at the top of a module or script: ``def
    model(): return DagGP(space)`` and ``Study(space, database, surrogate=model)``. In searches over
    trained architectures it was ahead of the package's kernels (``docs/results.md``); proposals are
    `heuristic` unless the space is small. A fit costs some fifty decompositions of a matrix of the
    observations, so it is meant for some hundreds of them.

    Args:
        space: directed acyclic graphs, with labels but without features or edge labels. Counts are
            centred and scaled by 300 random graphs of it.
        cap: values that are worse than the median by more than this multiple of the typical
            distance count as that bad and no worse (see `GraphGP`), since architectures that fail
            to train would dominate the fit; ``None`` takes every value as it is.
    """

    def __init__(self, space: GraphSpace, *, cap: float | None = 3.0) -> None:
        if not isinstance(space, GraphSpace) or not space.directed:
            raise InvalidInputError(
                "DagGP: expected a GraphSpace of directed graphs, got "
                f"{'undirected ones' if isinstance(space, GraphSpace) else type(space).__name__}"
            )
        self.space = space
        self.cap = None if cap is None else positive(cap, "cap")
        self._fitted: _Fitted | None = None

    def fit(
        self, graphs: Sequence[Graph], y: ArrayLike, *, noise: ArrayLike | None = None
    ) -> DagGP:
        """Fit amplitudes, length scales and noise by the largest posterior density; returns self.

        ``noise`` contains variances of the values, NaN where unknown, added to the fitted noise.
        """
        values = checked_observations(graphs, y)
        known = checked_noise(noise, len(values))
        standard = standardise(values, None, known, self.cap)
        own = np.zeros(len(values)) if known is None else standardised_noise(known, standard.scale)
        with threadpool_limits(1):
            scales = _scales(_typical_graphs(self.space), graphs, self.space.n_labels)
            described = _described(graphs, scales, self.space.n_labels)
            terms = _Terms.of(scales, described, described)
            theta = _most_likely(terms, standard.y, own)
            factor = cholesky(terms.covariance(theta) + np.diag(theta["noise"] + own))
            weights = cho_solve((factor, True), standard.y)
        self._fitted = _Fitted(
            scales=scales,
            described=described,
            theta=theta,
            factor=factor,
            weights=weights,
            mean=standard.mean,
            unit=standard.scale,
        )
        return self

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation, without noise, of each graph."""
        fitted = self._needed()
        means, stds = [], []
        with threadpool_limits(1):
            for start in range(0, len(graphs), _TOGETHER):
                part = graphs[start : start + _TOGETHER]
                described = _described(part, fitted.scales, self.space.n_labels)
                terms = _Terms.of(fitted.scales, described, fitted.described)
                cross = terms.covariance(fitted.theta)
                half = solve_triangular(fitted.factor, cross.T, lower=True)
                own = fitted.theta["alpha"] + sum(
                    fitted.theta[f"beta_{group}"] * scale.lengths(described[group])
                    for group, scale in fitted.scales.items()
                )
                variance = np.maximum(own - np.einsum("ij,ij->j", half, half), 0.0)
                means.append(fitted.mean + fitted.unit * (cross @ fitted.weights))
                stds.append(fitted.unit * np.sqrt(variance))
        return np.concatenate([np.zeros(0), *means]), np.concatenate([np.zeros(0), *stds])

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Fitted ``alpha``, ``length_...`` and ``beta_...`` of the groups, and ``noise``."""
        return dict(self._needed().theta)

    def _needed(self) -> _Fitted:
        if self._fitted is None:
            raise FitError("this DagGP has no data yet; call fit(graphs, y) first")
        return self._fitted


@dataclass(frozen=True, eq=False, kw_only=True)
class _Fitted:
    scales: Mapping[str, Scale]
    described: Described
    theta: Mapping[str, float]
    factor: FloatArray
    weights: FloatArray
    mean: float
    unit: float


@dataclass(frozen=True, eq=False)
class _Terms:
    """Squared distances and inner products of two sets of graphs, by group."""

    squares: Mapping[str, FloatArray]
    products: Mapping[str, FloatArray]

    @classmethod
    def of(cls, scales: Mapping[str, Scale], left: Described, right: Described) -> _Terms:
        return cls(
            {g: scale.squared_distances(left[g], right[g]) for g, scale in scales.items()},
            {g: scale.products(left[g], right[g]) for g, scale in scales.items()},
        )

    def stationary(self, theta: Mapping[str, float]) -> FloatArray:
        """The Gaussian part of the kernel, ``alpha exp(...)``."""
        total = sum(square / theta[f"length_{g}"] ** 2 for g, square in self.squares.items())
        return np.asarray(theta["alpha"] * np.exp(-0.5 * total))

    def covariance(self, theta: Mapping[str, float]) -> FloatArray:
        """The kernel: the Gaussian part plus the linear one."""
        linear = sum(theta[f"beta_{g}"] * product for g, product in self.products.items())
        return np.asarray(self.stationary(theta) + linear)

    def derivatives(self, theta: Mapping[str, float]) -> Iterator[tuple[str, FloatArray]]:
        """Derivatives of the kernel by the logarithm of each of its hyperparameters."""
        stationary = self.stationary(theta)
        yield "alpha", stationary
        for g, square in self.squares.items():
            yield f"length_{g}", stationary * square / theta[f"length_{g}"] ** 2
        for g, product in self.products.items():
            yield f"beta_{g}", theta[f"beta_{g}"] * product


def _most_likely(terms: _Terms, y: FloatArray, own_noise: FloatArray) -> dict[str, float]:
    """Hyperparameters of the largest posterior density."""
    groups = tuple(terms.squares)
    names = [
        *("alpha", *(f"length_{g}" for g in groups), *(f"beta_{g}" for g in groups)),
        "noise",
    ]
    mean = np.array([_PRIORS[name].mean for name in names])
    deviation = np.array([_PRIORS[name].deviation for name in names])
    logs = np.log([_BOUNDS[name] for name in names])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        values = dict(zip(names, np.exp(theta).tolist(), strict=True))
        noise = values["noise"]
        covariance = terms.covariance(values) + np.diag(noise + own_noise)
        parts = [*(part for _, part in terms.derivatives(values)), noise * np.eye(len(y))]
        try:
            value, slope = likelihood_of(covariance, parts, y)
        except FitError:
            return HOPELESS, np.zeros(len(names))
        off = (theta - mean) / deviation
        return 0.5 * float(off @ off) - value, off / deviation - slope

    theta, _ = smallest(loss, logs, [np.clip(mean, logs[:, 0], logs[:, 1])])
    return dict(zip(names, np.exp(theta).tolist(), strict=True))


def _by_size(graphs: Sequence[Graph]) -> Iterator[tuple[IntArray, Batch]]:
    """Batches of graphs of one size, with their positions; refuses graphs of other kinds."""
    for graph in graphs:
        if not graph.directed or graph.n_features or graph.edge_labels is not None:
            raise InvalidInputError(
                "DagGP: expected directed graphs whose nodes have labels only, got "
                f"{'directed' if graph.directed else 'undirected'} ones with {graph.n_features} "
                f"features and {'no' if graph.edge_labels is None else 'some'} edge labels; try "
                "GraphGP"
            )
    sizes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
    for n in np.unique(sizes):
        where = np.flatnonzero(sizes == n)
        yield where, Batch.of([graphs[int(i)] for i in where])


@lru_cache(maxsize=16)
def _typical_graphs(space: GraphSpace) -> tuple[Graph, ...]:
    """Random graphs of the space, always the same ones; fewer if the sampler finds no more."""
    try:
        return tuple(space.sample(_TYPICAL_GRAPHS, seed=0))
    except SamplingError as error:
        return tuple(error.graphs)


def _scales(typical: Sequence[Graph], observed: Sequence[Graph], n_labels: int) -> dict[str, Scale]:
    """Scales of the groups in which typical graphs differ, with the colours of all graphs."""
    known: dict[str, dict[bytes, int]] = {group: {} for group in GROUPS}
    for _, batch in _by_size([*typical, *observed]):
        for group, rows in colours(batch, n_labels).items():
            for row in np.unique(rows.reshape(-1, rows.shape[2]).astype(np.int64), axis=0):
                known[group].setdefault(row.tobytes(), len(known[group]))
    out = {}
    typical = typical if len(typical) > 1 else observed
    for group in GROUPS:
        width = len(known[group])
        scale = Scale(known[group], np.zeros(width), 1.0)
        counts = _described(typical, {group: scale}, n_labels)[group].counts
        distance = 2.0 * float(counts.var(axis=0).sum())
        if distance > 0:
            out[group] = Scale(known[group], counts.mean(axis=0), distance)
    if not out:
        raise InvalidInputError(
            "DagGP: expected a space of graphs that differ in labels or in structure, got "
            f"{len(typical)} random graphs that are alike; try GraphGP"
        )
    return out


def _described(graphs: Sequence[Graph], scales: Mapping[str, Scale], n_labels: int) -> Described:
    """The histograms of graphs of any sizes."""
    counts = {group: np.zeros((len(graphs), len(s.known))) for group, s in scales.items()}
    squares = {group: np.zeros(len(graphs)) for group in scales}
    for where, batch in _by_size(graphs):
        rows = colours(batch, n_labels)
        for group, scale in scales.items():
            found = scale.histograms(rows[group])
            counts[group][where], squares[group][where] = found.counts, found.squares
    return {group: Histograms(counts[group], squares[group]) for group in scales}
