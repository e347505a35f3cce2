"""What earlier steps have proved about bare graphs, kept for later ones.

Whether a graph with given numbers of pairs at each distance exists depends on no data, so a
histogram that a proof has ruled out for a structure stays ruled out. Every step of a study asks
about much the same histograms: those near the best of the posterior. Only structures without
attributes are kept (`FreeAttributes.bare`), in the memory of this process, and only so many.

Facts about all graphs of a size and diameter (`distances.facts`) are kept as well.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, IntArray
from ....encoding import Structure
from .facts import Fact, known_facts

SmallHistograms = NDArray[np.int16]  # one per row

_MOST_STRUCTURES = 256
_MOST_FACTS = 300  # of one size and diameter
_MOST_HISTOGRAMS = 500_000  # of one structure; 16 bytes or so each


class Learnt:
    """Histograms that no graph of a structure has, and facts about distances."""

    def __init__(self) -> None:
        self._missing: OrderedDict[Structure, SmallHistograms] = OrderedDict()
        self._facts: dict[tuple[int, int], dict[Fact, None]] = {}

    def facts(self, structure: Structure) -> tuple[Fact, ...]:
        """What is known of the distances in graphs of this size and diameter."""
        if structure.diameter is None:
            return ()
        key = structure.shape.n_nodes, structure.diameter
        return (*known_facts(*key), *self._facts.get(key, ()))

    def learn_facts(self, structure: Structure, facts: tuple[Fact, ...]) -> None:
        """Remember new facts, the latest so many of one size and diameter."""
        if facts and structure.diameter is not None:
            key = structure.shape.n_nodes, structure.diameter
            kept = [*self._facts.get(key, ()), *facts][-_MOST_FACTS:]
            self._facts[key] = dict.fromkeys(kept)

    def missing(self, structure: Structure) -> SmallHistograms | None:
        """The histograms known to have no graph."""
        return self._missing.get(structure)

    def learn_missing(self, structure: Structure, histograms: SmallHistograms) -> None:
        """Remember that no graph of the structure has any of these histograms."""
        before = self._missing.pop(structure, None)
        if before is not None:
            histograms = np.unique(np.concatenate([before, histograms]), axis=0)
        self._missing[structure] = histograms[-_MOST_HISTOGRAMS:]
        while len(self._missing) > _MOST_STRUCTURES:
            self._missing.popitem(last=False)


learnt = Learnt()  # shared by all proposals of this process: it depends on no data


def is_among(histograms: IntArray, known: SmallHistograms | None) -> BoolArray:
    """Which histograms are among the known ones."""
    if known is None or not len(known) or not histograms.shape[1]:
        return np.zeros(len(histograms), dtype=bool)
    return np.asarray(np.isin(_keys(histograms), _keys(known)))


def _keys(histograms: IntArray | SmallHistograms) -> NDArray[np.void]:
    packed = np.ascontiguousarray(histograms, dtype=np.int16)
    return packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()
