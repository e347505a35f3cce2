"""What has been proved about the distances in graphs, once and for all.

A *fact* says that ``sum_s weights_s h_s <= high`` for every connected undirected graph of one size
and diameter, where ``h_s`` is the number of pairs at distance s; no data and no rules are in it.
The formulas of `distances.histograms` leave far too many pairs at large distances; with
the largest possible ``h_s`` and ``h_s + .. + h_d`` known, counts alone bound the acquisition of
graphs of 15 nodes to within a few per cent.

Facts for small sizes come with the package (``facts.json``, written and checked by
``python -m bogrape.propose.exact.distances.prove_facts``); the engine proves more on demand
(`proof.cutting_planes`).

`Learnt` keeps those, and more: whether a graph with given numbers of pairs at each distance exists
depends on no data, so a histogram that a proof has ruled out for a structure stays ruled out. Every
step of a study asks about much the same histograms: those near the best of the posterior. Only
structures without attributes are kept (`FreeAttributes.bare`), in the memory of this process, and
only so many.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, IntArray
from ....encoding import Structure
from .coordinates import Distance
from .inequality import Inequality, distances

FILE = "facts.json"

SmallHistograms = NDArray[np.int16]  # one per row

_MOST_STRUCTURES = 256
_MOST_FACTS = 300  # of one size and diameter
_MOST_HISTOGRAMS = 500_000  # of one structure; 16 bytes or so each


@dataclass(frozen=True)
class Fact:
    """``weights[0] h_1 + weights[1] h_2 + .. <= high``; as many weights as the diameter."""

    weights: tuple[int, ...]
    high: int

    def inequality(self, name: str = "fact") -> Inequality[Distance]:
        """The fact as an inequality over the distances that take part in it."""
        weights = {
            s: weight
            for s, weight in zip(distances(len(self.weights)), self.weights, strict=True)
            if weight
        }
        return Inequality(name, weights, high=self.high)


def known_facts(n: int, diameter: int) -> tuple[Fact, ...]:
    """The facts about connected graphs of this size and diameter that come with the package."""
    return _table().get((n, diameter), ())


@cache
def _table() -> dict[tuple[int, int], tuple[Fact, ...]]:
    return parse((resources.files(__package__) / FILE).read_text(encoding="ascii"))


def parse(text: str) -> dict[tuple[int, int], tuple[Fact, ...]]:
    """Facts by size and diameter from what `dump` wrote."""
    return {
        (int(n), int(diameter)): tuple(Fact(tuple(row[:-1]), row[-1]) for row in rows)
        for n, by_diameter in json.loads(text).items()
        for diameter, rows in by_diameter.items()
    }


def dump(table: Mapping[tuple[int, int], Sequence[Fact]]) -> str:
    """Facts as JSON: size, diameter, then rows of the weights followed by the limit."""
    sizes = sorted({n for n, _ in table})
    blocks = []
    for n in sizes:
        lines = []
        for (size, diameter), facts in sorted(table.items()):
            if size == n and facts:
                rows = json.dumps([[*fact.weights, fact.high] for fact in facts])
                lines.append(f'  "{diameter}": {rows.replace(" ", "")}')
        blocks.append(f'"{n}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


# -- what is learnt while the engine works -------------------------------------------------------


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
