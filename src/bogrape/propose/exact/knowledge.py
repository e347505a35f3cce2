"""What earlier steps have proved about bare graphs, kept for later ones.

Whether a graph with given numbers of pairs at each distance exists depends on no data, so a row of
counts that a proof has ruled out for a structure stays ruled out. Every step of a study asks about
much the same rows: those near the best of the posterior. Only structures without attributes are
remembered (`FreeAttributes.bare`), in the memory of this process, and only so many.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from ...encoding import Structure

Rows = NDArray[np.int16]

_MOST_STRUCTURES = 256
_MOST_ROWS = 500_000  # of one structure; 16 bytes or so each


class Knowledge:
    """Rows of counts that no graph of a structure has."""

    def __init__(self) -> None:
        self._missing: OrderedDict[Structure, Rows] = OrderedDict()

    def missing(self, structure: Structure) -> Rows | None:
        """The rows known to have no graph."""
        return self._missing.get(structure)

    def learn(self, structure: Structure, rows: Rows) -> None:
        """Remember that no graph of the structure has any of these counts."""
        before = self._missing.pop(structure, None)
        if before is not None:
            rows = np.unique(np.concatenate([before, rows]), axis=0)
        self._missing[structure] = rows[-_MOST_ROWS:]
        while len(self._missing) > _MOST_STRUCTURES:
            self._missing.popitem(last=False)


def is_among(rows: NDArray[np.int64], known: Rows | None) -> NDArray[np.bool_]:
    """Which rows are among the known ones."""
    if known is None or not len(known) or not rows.shape[1]:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(np.isin(_keys(rows), _keys(known)))


def _keys(rows: NDArray[np.int64] | Rows) -> NDArray[np.void]:
    packed = np.ascontiguousarray(rows, dtype=np.int16)
    return packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()
