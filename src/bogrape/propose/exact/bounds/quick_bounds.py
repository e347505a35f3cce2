r"""Bounds that need no solver: what the posterior alone forbids.

*Corners.* Given the number of nodes of each label, the pairs of each type (labels a, b) are spread
over the distances 1..d: x lies in a product of simplices, cut down by the lower bounds of
`distances.histograms`. LCB is concave in x, so its minimum over that set is at a corner.

*Compositions.* For the labelled kernel SP every way to share out labels is bounded at once: the
mean is at least the sum over types of (number of pairs) x (smallest weight of that type), and the
variance at most ``|z|^2`` with every type's pairs at one distance.

*Norm.* For any kernel, with f the posterior mean as a function in its Hilbert space,
``mean(x) >= -|f| sqrt(k(x, x))`` and ``std(x) <= sqrt(k(x, x))``.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from ....acquisition import name_of
from ....arrays import FloatArray, IntArray
from ....constraints import Shape
from ....encoding import Structure
from ....errors import InvalidInputError
from ....posterior import WeightPosterior
from ...criterion import Criterion
from ...values import PROOF, room
from ..distances import histograms
from ..distances.coordinates import Coordinates
from .posterior_over_counts import PosteriorOverCounts, embedded

_MOST_NODE_CORNERS = 100_000  # choices of labels and features
_MOST_CORNERS = 3_000  # beginnings of corners kept at once


def has_corners(structure: Structure, coordinates: Coordinates) -> bool:
    """Whether `corner_bound` has anything to say; far quicker than to make its form."""
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
    another, the largest first; what is left can lower the mean by no more than its smallest part
    and raise the deviation by no more than its largest norm. Beginnings that cannot come below
    ``value`` are dropped, so the bound is at most that; with too many left the work stops early.
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
    posterior: WeightPosterior,
    shape: Shape,
    table: IntArray,
    kappa: float,
) -> FloatArray:
    """Standardised lower bounds on LCB with the SP kernel, one a row of label numbers."""
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
    # A pair without a path counts for nothing, hence the zero among the weights to choose from.
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


def norm_bound(objective: Criterion) -> float:
    """A lower bound on the acquisition of every graph."""
    fitted = objective.posterior.model
    norm = objective.posterior.norm * (1 + 1e-3)
    top = fitted.kernel.largest()
    if top is None:
        return -math.inf
    n_extra = objective.space.n_features
    largest = math.sqrt(
        fitted.alpha * top + fitted.beta * (1 + n_extra) / max(1, fitted.n_features)
    )
    return objective.lower_bound(-largest * norm, largest)


def refuse_false_bound(objective: Criterion, bound: float, value: float) -> None:
    """Raise if a graph is below a bound on all graphs: what was declared cannot be true."""
    if value >= bound - room(PROOF, bound):
        return
    raise InvalidInputError(
        f"acquisition {name_of(objective.acquisition)} (monotone = True) and kernel "
        f"{objective.posterior.model.kernel.name!r} (largest) declare that no value is below "
        f"{objective.units.value(bound):.6g}, but a graph has {objective.units.value(value):.6g}; "
        "remove the declaration that is not true"
    )
