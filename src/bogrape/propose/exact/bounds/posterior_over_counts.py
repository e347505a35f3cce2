r"""The posterior of a linear kernel as a function of a few integer counts, and bounds on it.

SSP and SP are linear kernels, so with ``x`` the integer counts of a graph of known size (see
`Coordinates`) the standardised posterior is

.. math:: \mu(x) = w_0 + w^\top x, \qquad \sigma(x) = \| R x + r_0 \| ,

a linear function and the norm of an affine one. `PosteriorOverCounts.of` computes
``w_0, w, R, r_0`` from the weight-space posterior: with ``z = C (x, 1)`` and
``S = I - B^\top B`` it factors
:math:`C^\top S C` by its eigenvalues, so R has no more rows than there are counts, however many
observations there are.

Two bounds on LCB follow that need no solver:

*Corners.* Given the number of nodes of each label, the pairs of each type (labels a, b) are spread
over the distances 1..d: x lies in a product of simplices, cut down by the lower bounds of
`distances.histograms`. LCB is concave in x, so its minimum over that set is at a corner.

*Compositions.* For the labelled kernel SP all compositions are bounded at once: the mean is at
least the sum over types of (number of pairs) x (smallest weight of that type), and the variance at
most ``|z|^2`` with every type's pairs at one distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from ....arrays import FloatArray, IntArray
from ....constraints import Shape
from ....encoding import Structure
from ....kernels import node_features, path_features
from ....posterior import FittedModel, WeightPosterior
from ..distances import histograms
from ..distances.coordinates import Coordinates

_MOST_NODE_CORNERS = 100_000  # choices of labels and features
_MOST_CORNERS = 3_000  # partial corners kept at once


@dataclass(frozen=True, eq=False, kw_only=True)
class PosteriorOverCounts:
    """Standardised mean ``w0 + w x`` and standard deviation ``|R x + r0|`` of counts x."""

    coordinates: Coordinates
    w0: float
    w: FloatArray
    R: FloatArray
    r0: FloatArray
    slack: float  # what rounding and dropped eigenvalues can add to the standard deviation
    cells: FloatArray  # the variance is also cells . (x, 1)^2 - |projected (x, 1)|^2
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
        # the subtraction above loses digits: its error is treated like dropped eigenvalues
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
    """``P / n^2`` and the scaled ``N`` of the observations, over all cells of this shape."""
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
    """Rows over the cells of the data, padded to all cells a graph of this shape can have."""
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


# -- bounds -------------------------------------------------------------------------------------


def has_corners(structure: Structure, coordinates: Coordinates) -> bool:
    """True if `corner_bound` applies; far quicker than computing its form."""
    if structure.connectivity != "strong" or not coordinates.paths:
        return False
    shape = coordinates.shape
    if shape.n_labels * 2**shape.n_features > _MOST_NODE_CORNERS:
        return False
    return coordinates.composition is not None or len({p[1:] for p in coordinates.paths}) == 1


def corner_bound(
    form: PosteriorOverCounts, structure: Structure, kappa: float, value: float = math.inf
) -> float:
    """A standardised lower bound on LCB over a piece; minus infinity if there is none.

    A corner is a choice in each block (a type of pairs, the nodes). Blocks are decided one after
    another, the largest first; those that remain can lower the mean by no more than their smallest
    parts and raise the deviation by no more than their largest norms. Partial corners that cannot
    come below ``value`` are dropped, so the bound is at most that; if too many remain, it stops
    early.
    """
    coordinates = form.coordinates
    if not has_corners(structure, coordinates):
        return -math.inf
    blocks: dict[tuple[int, ...], list[int]] = {}
    for i, path in enumerate(coordinates.paths):
        blocks.setdefault(path[1:], []).append(i)
    parts = []
    for types, index in blocks.items():
        corners = _block_corners(coordinates, structure, types, len(blocks))
        parts.append((corners @ form.w[index], corners @ form.R[:, index].T))
    parts.sort(key=lambda part: -float(np.linalg.norm(part[1], axis=1).max(initial=0.0)))
    nodes = np.array(_node_corners(coordinates), dtype=np.int64)
    of_nodes = slice(len(coordinates.paths), len(coordinates))
    parts.append((nodes @ form.w[of_nodes], nodes @ form.R[:, of_nodes].T))

    lowest = [float(means.min(initial=math.inf)) for means, _ in parts]
    widest = [float(np.linalg.norm(spreads, axis=1).max(initial=0.0)) for _, spreads in parts]
    mean, spread = np.array([form.w0]), form.r0[None]
    for done, (means, spreads) in enumerate(parts, start=1):
        mean = (mean[:, None] + means).ravel()
        spread = (spread[:, None] + spreads).reshape(len(mean), len(form.r0))
        std = np.linalg.norm(spread, axis=1) + sum(widest[done:]) + form.slack
        lower = mean + sum(lowest[done:]) - kappa * std - 1e-9
        keep = lower < value
        mean, spread, lower = mean[keep], spread[keep], lower[keep]
        if len(mean) > _MOST_CORNERS:
            break
    return float(lower.min(initial=value))


def _block_corners(
    coordinates: Coordinates, structure: Structure, types: tuple[int, ...], n_blocks: int
) -> IntArray:
    total = coordinates.n_pairs(*types)
    base = np.zeros(coordinates.longest, dtype=np.int64)
    if n_blocks == 1 and structure.diameter is not None:
        base = histograms.lower_bounds(structure.shape.n_nodes, structure.diameter)
    spare = total - int(base.sum())
    if spare < 0:
        return np.zeros((0, len(base)), dtype=np.int64)
    return base + spare * np.eye(len(base), dtype=np.int64)


def _node_corners(coordinates: Coordinates) -> list[tuple[int, ...]]:
    shape = coordinates.shape
    n = shape.n_nodes
    extras = list(product((0, n), repeat=shape.n_features))
    if coordinates.composition is not None:
        return extras
    labels = [
        tuple(n if k == a else 0 for k in range(shape.n_labels)) for a in range(shape.n_labels)
    ]
    return [(*a, *b) for a in labels for b in extras]


def composition_bounds(
    posterior: WeightPosterior, shape: Shape, table: IntArray, kappa: float
) -> FloatArray:
    """Standardised lower bounds on LCB with the SP kernel, one per composition in the table."""
    fitted = posterior.model
    n, n_labels = shape.n_nodes, shape.n_labels
    coordinates = Coordinates.of(shape, labelled=True, longest=n - 1)
    weights, _ = embedded(posterior, coordinates)
    cells = weights[: n * n_labels**2].reshape(n, n_labels, n_labels)
    path_scale = math.sqrt(fitted.alpha) / n**2
    node_scale = math.sqrt(fitted.beta / fitted.n_features) / n
    mean = path_scale * table @ cells[0].diagonal()
    variance = (path_scale**2) * (table**2).sum(axis=1).astype(float)
    if fitted.beta:
        of_nodes = weights[n * n_labels**2 :]
        extra = of_nodes[n_labels:]
        mean = mean + node_scale * (table @ of_nodes[:n_labels])
        mean = mean + node_scale * n * np.minimum(extra, 0.0).sum()
        variance = variance + node_scale**2 * ((table**2).sum(axis=1) + len(extra) * n**2)
    # A pair without a path contributes nothing, hence the zero among the weights to choose from.
    least = cells[1:].min(axis=0, initial=0.0 if not shape.connected or shape.directed else np.inf)
    for a in range(n_labels):
        for b in range(n_labels):
            pairs = table[:, a] * (table[:, b] - (a == b))
            floor = least[a, b]
            if not shape.directed:
                both = cells[1:, a, b] + cells[1:, b, a]
                floor = both.min(initial=0.0 if not shape.connected else np.inf) / 2
            mean = mean + path_scale * pairs * (floor if np.isfinite(floor) else 0.0)
            variance = variance + path_scale**2 * pairs.astype(float) ** 2
    return np.asarray(_with_room(mean - kappa * np.sqrt(variance)))


def _with_room(values: FloatArray) -> FloatArray:
    """Bounds with room for rounding."""
    return values - 1e-9 * (1.0 + np.abs(values))
