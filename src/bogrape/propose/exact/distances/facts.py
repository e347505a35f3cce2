"""Facts about distances in graphs that the solver has proved once and that are kept.

A fact says that ``sum_s weights_s h_s <= high`` for every connected undirected graph of one size
and diameter, where ``h_s`` is the number of pairs at distance s; no data and no rules are in it.
The formulas of `distances.histograms` leave far too many pairs at large distances; with
the largest possible ``h_s`` and ``h_s + .. + h_d`` known, counts alone bound the acquisition of
graphs of 15 nodes to within a few per cent.

Facts for small sizes come with the package (``facts.json``, written and checked by
``python -m bogrape.propose.exact.distances.prove_facts``); the engine proves more on demand
(`proof.cutting_planes`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .coordinates import Distance
from .inequality import Inequality, distances

FILE = "facts.json"


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
