r"""The posterior of a linear kernel as a function of a few integer counts.

SSP and SP are linear kernels, so with ``x`` the integer counts of a graph of known size (see
`Coordinates`) the standardised posterior is

.. math:: \mu(x) = w_0 + w^\top x, \qquad \sigma(x) = \| R x + r_0 \| ,

a linear function and the norm of an affine one. `PosteriorOverCounts.of` computes
``w_0, w, R, r_0`` from the weight-space posterior: with ``z = C (x, 1)`` and
``S = I - B^\top B`` it factors
:math:`C^\top S C` by its eigenvalues, so R has no more rows than there are counts, however many
observations there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray, IntArray
from ....kernels import node_features, path_features
from ....posterior import FittedModel, WeightPosterior
from ..distances.coordinates import Coordinates


@dataclass(frozen=True, eq=False, kw_only=True)
class PosteriorOverCounts:
    """Standardised mean ``w0 + w x`` and standard deviation ``|R x + r0|`` of counts x."""

    coordinates: Coordinates
    w0: float
    w: FloatArray
    R: FloatArray
    r0: FloatArray
    slack: float  # what rounding and eigenvalues left out can add to the standard deviation
    cells: FloatArray  # the variance is cells . (x, 1)^2 - |projected (x, 1)|^2, too
    projected: FloatArray

    @classmethod
    def of(cls, posterior: WeightPosterior, coordinates: Coordinates) -> PosteriorOverCounts:
        """The posterior over the counts of graphs of one shape."""
        weights, basis = embedded(posterior, coordinates)
        columns = _columns(posterior.model, coordinates)  # z = columns @ (x, 1)
        projected = basis @ columns
        gram = columns.T @ columns - projected.T @ projected
        values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        keep = values > 1e-13 * max(values[-1], 1e-300)
        factor = (vectors[:, keep] * np.sqrt(values[keep])).T
        n, n_extra = coordinates.shape.n_nodes, coordinates.shape.n_features
        reach = math.hypot(coordinates.n_pairs(), n * math.sqrt(1 + n_extra), 1)  # |(x, 1)| at most
        # the subtraction above loses digits: what it may be off by counts as left out, too
        lost = float(np.abs(values[~keep]).sum()) + 16 * np.finfo(float).eps * float(
            np.linalg.norm(columns) ** 2
        )
        slack = math.sqrt(lost) * reach
        linear = weights @ columns
        return cls(
            coordinates=coordinates,
            w0=float(linear[-1]),
            w=linear[:-1],
            R=factor[:, :-1],
            r0=factor[:, -1],
            slack=slack,
            cells=(columns**2).sum(axis=0),  # counts share no cell: the columns are orthogonal
            projected=projected,
        )

    def mean(self, x: IntArray) -> FloatArray:
        """Standardised mean at each x."""
        return np.asarray(self.w0 + x @ self.w)

    def std(self, x: IntArray) -> FloatArray:
        """Standardised deviation at each x."""
        return np.asarray(np.linalg.norm(x @ self.R.T + self.r0, axis=-1))


def embedded(posterior: WeightPosterior, coordinates: Coordinates) -> tuple[FloatArray, FloatArray]:
    """Weights, and ``B`` with ``S = I - B'B``, over all cells a graph of this shape can have."""
    rows = np.vstack(
        [posterior.weights, np.sqrt(1.0 - posterior.shrink)[:, None] * posterior.basis]
    )
    out = _padded(rows, posterior.path_shape, posterior.model, coordinates)
    return out[0], out[1:]


def cell_columns(fitted: FittedModel, coordinates: Coordinates) -> tuple[FloatArray, FloatArray]:
    """The matrices of ``P / n^2`` and of the scaled ``N`` as functions of ``(x, 1)``."""
    columns = _columns(fitted, coordinates)
    n_cells = _n_cells(fitted, coordinates)
    return columns[:n_cells] / math.sqrt(fitted.alpha), columns[n_cells:]


def observed_cells(fitted: FittedModel, coordinates: Coordinates) -> tuple[FloatArray, FloatArray]:
    """The same of the observations, over all cells a graph of this shape can have."""
    paths = path_features(fitted.counts, labelled=fitted.kernel.labelled)
    rows = paths.reshape(len(paths), -1)
    if fitted.beta:
        nodes = math.sqrt(fitted.beta) * node_features(fitted.counts, fitted.n_features)
        rows = np.concatenate([rows, nodes], axis=1)
    out = _padded(rows, paths.shape[1:], fitted, coordinates)
    n_cells = _n_cells(fitted, coordinates)
    return out[:, :n_cells], out[:, n_cells:]


def _n_cells(fitted: FittedModel, coordinates: Coordinates) -> int:
    shape = coordinates.shape
    return shape.n_nodes * (shape.n_labels**2 if fitted.kernel.labelled else 1)


def _padded(
    rows: FloatArray, cells: tuple[int, ...], fitted: FittedModel, coordinates: Coordinates
) -> FloatArray:
    """Rows over the cells that occur in the data, over all that a graph of this shape can have."""
    shape = coordinates.shape
    full = (shape.n_nodes, *(shape.n_labels,) * (len(cells) - 1))
    n_cells, n_known = math.prod(full), math.prod(cells)
    n_labels = fitted.counts.n_labels
    n_columns = n_cells + (shape.n_labels + shape.n_features if fitted.beta else 0)
    out = np.zeros((len(rows), n_columns))
    paths = np.zeros((len(rows), *full))
    common = tuple(slice(min(a, b)) for a, b in zip(cells, full, strict=True))
    known = rows[:, :n_known].reshape(len(rows), *cells)
    paths[(slice(None), *common)] = known[(slice(None), *common)]
    out[:, :n_cells] = paths.reshape(len(rows), -1)
    if fitted.beta:
        shared = min(n_labels, shape.n_labels)
        out[:, n_cells : n_cells + shared] = rows[:, n_known : n_known + shared]
        out[:, n_cells + shape.n_labels :] = rows[:, n_known + n_labels :]
    return out


def _columns(fitted: FittedModel, coordinates: Coordinates) -> FloatArray:
    """The matrix C of ``z = C (x, 1)``."""
    shape = coordinates.shape
    n, n_labels = shape.n_nodes, shape.n_labels
    labelled = fitted.kernel.labelled
    full = (n, n_labels, n_labels) if labelled else (n,)
    n_cells = math.prod(full)
    n_columns = n_cells + (n_labels + shape.n_features if fitted.beta else 0)
    path_scale = math.sqrt(fitted.alpha) / n**2
    node_scale = math.sqrt(fitted.beta / fitted.n_features) / n
    out = np.zeros((n_columns, len(coordinates) + 1))
    both = 1 if shape.directed else 2  # an unordered pair is two ordered ones
    for i, path in enumerate(coordinates.paths):
        if not labelled:
            out[path[0], i] = both * path_scale
        else:
            s, a, b = path
            out[np.ravel_multi_index((s, a, b), full), i] += path_scale
            if not shape.directed:
                out[np.ravel_multi_index((s, b, a), full), i] += path_scale

    def zero_length(label: int) -> int:
        return int(np.ravel_multi_index((0, label, label), full)) if labelled else 0

    for j, m in enumerate(coordinates.nodes, start=len(coordinates.paths)):
        if labelled and m < n_labels:
            out[zero_length(m), j] = path_scale
        if fitted.beta:
            out[n_cells + m, j] = node_scale
    if not labelled:
        out[0, -1] = n * path_scale
    if coordinates.composition is not None:
        for label, number in enumerate(coordinates.composition):
            if labelled:
                out[zero_length(label), -1] = number * path_scale
            if fitted.beta:
                out[n_cells + label, -1] = number * node_scale
    return out
