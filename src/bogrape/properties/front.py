"""Pareto fronts and the volume they dominate. All coordinates are minimised here."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..errors import InvalidInputError


def nondominated(points: ArrayLike) -> BoolArray:
    """True if no other point is at least as small in every coordinate and smaller in one.

    Equal points do not dominate each other.

    >>> nondominated([[1, 4], [2, 2], [3, 3], [4, 1]]).tolist()
    [True, True, False, True]
    """
    rows = _points(points)
    out = np.ones(len(rows), dtype=bool)
    for i, row in enumerate(rows):
        better = (rows <= row).all(axis=1) & (rows < row).any(axis=1)
        out[i] = not better.any()
    return out


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """Volume of the region that the points dominate, up to the reference point.

    Points that are not below the reference in every coordinate do not count.

    >>> hypervolume([[1, 3], [2, 1]], reference=[4, 4])
    7.0
    """
    rows, end = _points(points), np.asarray(reference, dtype=float)
    if end.ndim != 1 or not np.isfinite(end).all() or (len(rows) and rows.shape[1] != len(end)):
        raise InvalidInputError(
            f"expected a reference point with {rows.shape[1]} finite coordinates, got {reference!r}"
        )
    if not len(rows):
        return 0.0
    rows = rows[(rows < end).all(axis=1)]
    return _volume(rows[nondominated(rows)], end) if len(rows) else 0.0


def _volume(rows: FloatArray, end: FloatArray) -> float:
    """The volume, by slices along the last coordinate, down to two coordinates."""
    if not len(rows):
        return 0.0
    if len(end) == 1:
        return float(end[0] - rows.min())
    if len(end) == 2:
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        floors = np.minimum.accumulate(rows[:, 1])
        widths = np.diff(np.append(rows[:, 0], end[0]))
        return float(widths @ (end[1] - floors))
    levels = np.append(np.unique(rows[:, -1]), end[-1])
    total = 0.0
    for low, high in pairwise(levels):
        flat = rows[rows[:, -1] <= low, :-1]
        total += float(high - low) * _volume(flat[nondominated(flat)], end[:-1])
    return total


def _points(points: ArrayLike) -> FloatArray:
    rows = np.asarray(points, dtype=float)
    if rows.size == 0:
        return rows.reshape(0, rows.shape[1] if rows.ndim == 2 else 0)
    if rows.ndim != 2 or np.isnan(rows).any():
        raise InvalidInputError(
            f"expected one row of numbers per point, got an array of shape {rows.shape}"
        )
    return rows
