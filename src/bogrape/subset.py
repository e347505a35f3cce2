"""Selection of observations for the model when there are too many.

The cost of kernels without a finite feature vector grows with the cube of the observations, and a
few of them carry most of the information. Of n observations a quarter are the best ones, since
proposals are similar to them; a quarter are the latest, so that new information is always
used; the rest cover the space: one after another, the one farthest from all chosen before it. The
choice depends only on the observations and their order.
"""

from __future__ import annotations

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .counts import Counts
from .kernels import node_features, path_features

_CANDIDATES_EACH = 4  # considered for each one that fills the space


def representative(
    counts: Counts, y: FloatArray, n: int, to_beat: BoolArray | None = None
) -> IntArray:
    """Positions, ascending, of n observations to use for a model.

    Args:
        counts: counts of all observations; distances are those of path lengths and node features.
        y: their values; smaller is better.
        n: number to choose, at least four.
        to_beat: observations that may be the best value; the best of them is always chosen.
    """
    if len(y) <= n:
        return np.arange(len(y))
    chosen = np.zeros(len(y), dtype=bool)
    if to_beat is not None and to_beat.any():
        chosen[np.flatnonzero(to_beat)[np.argmin(y[to_beat])]] = True
    chosen[np.argsort(y, kind="stable")[: n // 4]] = True
    chosen[len(y) - n // 4 :] = True
    left = np.flatnonzero(~chosen)
    n_left = n - int(chosen.sum())
    # enough candidates, spread evenly over time
    n_candidates = min(len(left), _CANDIDATES_EACH * n_left)
    candidates = left[np.linspace(0, len(left) - 1, n_candidates).round().astype(np.int64)]
    points = _coordinates(counts)
    chosen[candidates[_spread(points[candidates], points[chosen], n_left)]] = True
    return np.flatnonzero(chosen)


def in_words(n_used: int, n_observations: int) -> str:
    """One sentence on how many observations a model uses, and which.

    >>> in_words(1000, 10_000)[:52]
    'The model uses 1,000 of 10,000 observations: a quart'
    """
    if n_used >= n_observations:
        return f"The model uses all {n_observations:,} observations."
    return (
        f"The model uses {n_used:,} of {n_observations:,} observations: a quarter of these are the "
        "best ones, a quarter the latest, and the others fill the space."
    )


def _spread(points: FloatArray, taken: FloatArray, n: int) -> IntArray:
    """Positions of n points, each the farthest from those taken or chosen before."""
    nearest = squared_distances(points, taken).min(axis=1)
    out = np.empty(n, dtype=np.int64)
    for i in range(n):
        # Distances tie often; a rounded comparison keeps the choice the same on every machine.
        out[i] = np.argmax(np.round(nearest, 12))
        nearest = np.minimum(nearest, ((points - points[out[i]]) ** 2).sum(axis=1))
        nearest[out[i]] = -1.0  # stays lowest, since no distance is smaller
    return out


def squared_distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Squared distances between all rows of one matrix and all rows of another."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.asarray(np.maximum(squares - 2.0 * left @ right.T, 0.0))


def _coordinates(counts: Counts) -> FloatArray:
    paths = path_features(counts, labelled=False)
    return np.concatenate([paths, node_features(counts, counts.features.shape[1])], axis=1)
