"""Rules about composition: bonds, heteroatoms, weight, the bounds of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from math import ceil, floor, isfinite
from typing import Any, ClassVar, Self

import numpy as np

from ..batch import Batch
from ..constraints import (
    Atom,
    CycleRange,
    Edge,
    HasFeature,
    HasLabel,
    LabelCount,
    Row,
    Rule,
    Shape,
    edge,
)
from ..constraints.rows import bounded, total
from ..constraints.rule import Excess, Label, over
from ..constraints.words import amount, at_least_or_most
from ..domain import Nouns
from .elements import DATA_SETS, KINDS, MASSES
from .identity import AROMATIC
from .molecule_rule import BOND_NAMES, NOUNS, MoleculeRule, bond, orders

_HYDROGENS = 4  # the first of the five hydrogen features
_UNIT = 1000  # weights are summed as integers, in thousandths of a unit


@dataclass(frozen=True, repr=False)
class BondCount(MoleculeRule):
    """``minimum <= number of bonds of this order <= maximum``; 4 stands for aromatic bonds."""

    order: int
    minimum: int = 0
    maximum: int | None = None

    def __post_init__(self) -> None:
        self._check_whole("order")
        if not 1 <= self.order <= AROMATIC:
            self.refuse("order 1, 2 or 3, or 4 for aromatic", repr(self.order), "order=2")
        self._check_range()

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        kind = BOND_NAMES[self.order - 1]
        return f"Every {nouns.graph} has {amount(self.minimum, self.maximum, kind, f'{kind}s')}."

    def excess(self, batch: Batch) -> Excess:
        """Distance of the number of bonds from its range."""
        count = (orders(batch) == self.order).sum(axis=(1, 2)) // 2
        return over(count, self.minimum, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum <= sum_uv b_uv^order <= maximum``."""
        known = self.order <= max(shape.n_edge_labels, 1)
        pairs = shape.pairs() if known else ()
        if shape.n_edge_labels:
            terms = total(bond(u, v, self.order) for u, v in pairs)
        else:
            terms = total(edge(u, v, False) for u, v in pairs)
        yield from bounded(f"bonds of order {self.order}", terms, self.minimum, self.maximum)


@dataclass(frozen=True, repr=False)
class HeteroatomCount(MoleculeRule):
    """``minimum <= number of atoms other than carbon <= maximum``."""

    label_fields: ClassVar[tuple[str, ...]] = ("carbon",)

    minimum: int = 0
    maximum: int | None = None
    carbon: Label = "C"
    ions: Any = field(default=(), compare=False)  # other labels of carbon, set by `bind`

    def __post_init__(self) -> None:
        self._check_range()
        self._check_label("carbon")

    def parameters(self) -> dict[str, Any]:
        """Without the ions, which follow from the space."""
        return _without_ions(super().parameters())

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the labels of carbon ions."""
        return super(HeteroatomCount, replace(self, ions=_carbon_ions(labels))).bind(labels, shape)

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        n_atoms = amount(self.minimum, self.maximum, nouns.node, nouns.nodes)
        return f"Every {nouns.graph} has {n_atoms} other than carbon."

    def excess(self, batch: Batch) -> Excess:
        """Distance of the number of heteroatoms from its range."""
        count = (~np.isin(batch.labels, [self.index(self.carbon), *self.ions])).sum(axis=1)
        return over(count, self.minimum, self.maximum)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``n - maximum <= sum_v f_vC <= n - minimum``."""
        n = shape.n_nodes
        carbons = [self.index(self.carbon), *self.ions]
        terms = total(HasLabel(v, label) for v in range(n) for label in carbons)
        least = None if self.maximum is None else n - self.maximum
        yield from bounded("carbon atoms", terms, least, n - self.minimum)


def _carbon_ions(labels: Mapping[str, int]) -> tuple[int, ...]:
    """The labels of carbon with a charge."""
    kinds = {i: KINDS[name] for name, i in labels.items() if name in KINDS}
    return tuple(i for i, kind in kinds.items() if kind.element == "C" and kind.charge)


def _without_ions(parameters: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if key != "ions"}


@dataclass(frozen=True, repr=False)
class NoAdjacentHeteroatoms(MoleculeRule):
    """Every bond has a carbon atom on at least one end."""

    label_fields: ClassVar[tuple[str, ...]] = ("carbon",)

    carbon: Label = "C"
    ions: Any = field(default=(), compare=False)  # other labels of carbon, set by `bind`

    def __post_init__(self) -> None:
        self._check_label("carbon")

    def parameters(self) -> dict[str, Any]:
        """Without the ions, which follow from the space."""
        return _without_ions(super().parameters())

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the labels of carbon ions."""
        named = replace(self, ions=_carbon_ions(labels))
        return super(NoAdjacentHeteroatoms, named).bind(labels, shape)

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        return f"Every {nouns.edge} has a carbon {nouns.node} at one end or both."

    def excess(self, batch: Batch) -> Excess:
        """Number of bonds between heteroatoms."""
        other = ~np.isin(batch.labels, [self.index(self.carbon), *self.ions])
        between = batch.adjacency & other[:, :, None] & other[:, None, :]
        return np.asarray(between.sum(axis=(1, 2)) // 2, dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``e_uv <= f_uC + f_vC``."""
        carbons = [self.index(self.carbon), *self.ions]
        for u, v in shape.pairs():
            ends = tuple((HasLabel(end, label), -1) for end in (u, v) for label in carbons)
            yield Row(f"a carbon in bond[{u},{v}]", ((Edge(u, v), 1), *ends), high=0)


@dataclass(frozen=True, repr=False)
class MolecularWeight(MoleculeRule):
    """``minimum <= molecular weight <= maximum`` in g/mol, hydrogens included.

    ``masses``, one per label, default to those of the elements that the labels name.
    """

    minimum: float | None = None
    maximum: float | None = None
    masses: Any = ()

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum"):
            value = getattr(self, name)
            if value is None:
                continue
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not isfinite(value) or not 0 <= value <= 1e6:
                self.refuse(f"{name} to be a weight in g/mol", repr(value), f"{name}=100")
        if self.minimum is None and self.maximum is None:
            self.refuse("a minimum or a maximum", "neither", "maximum=150")
        if None not in (self.minimum, self.maximum) and self.minimum > self.maximum:  # type: ignore[operator]
            self.refuse("minimum <= maximum", f"{self.minimum} > {self.maximum}", "swapping them")
        good = isinstance(self.masses, (list, tuple)) and all(
            isinstance(m, (int, float)) and 0 < m < 1000 for m in self.masses
        )
        if not good:
            self.refuse("masses to be numbers", repr(self.masses), "leaving them out")
        self._set("masses", tuple(float(m) for m in self.masses))

    def features_named(self) -> frozenset[int]:
        """The five numbers of hydrogens."""
        return frozenset(range(_HYDROGENS, _HYDROGENS + 5))

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with the masses of the labels."""
        rule = self
        if not self.masses:
            missing = [name for name in labels if name not in KINDS]
            if not labels or missing:
                self.refuse("labels that are elements", repr(missing), "masses=(12.011, ...)")
            rule = replace(self, masses=[MASSES[KINDS[name].element] for name in labels])
        if len(rule.masses) != shape.n_labels:
            self.refuse(f"{shape.n_labels} masses", f"{len(rule.masses)}", "one per label")
        return super(MolecularWeight, rule).bind(labels, shape)

    def _weights(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if not self.masses:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")
        return np.array([round(mass * _UNIT) for mass in self.masses], dtype=np.int64)

    def _bounds(self) -> tuple[int | None, int | None]:
        low = None if self.minimum is None else ceil(round(self.minimum * _UNIT, 6))
        return low, None if self.maximum is None else floor(round(self.maximum * _UNIT, 6))

    def describe(self, nouns: Nouns = NOUNS) -> str:  # noqa: ARG002
        """The rule as a sentence."""
        weight = at_least_or_most(self.minimum, self.maximum)
        return f"The molecular weight is {weight} g/mol, hydrogens included."

    def excess(self, batch: Batch) -> Excess:
        """Distance of the weight from its range."""
        weights = self._weights()
        hydrogens = batch.features[:, :, _HYDROGENS : _HYDROGENS + 5] @ np.arange(5)
        labels = np.minimum(batch.labels, len(weights) - 1)
        weight = weights[labels].sum(axis=1) + round(MASSES["H"] * _UNIT) * hydrogens.sum(axis=1)
        low, high = self._bounds()
        return over(weight, -np.inf if low is None else low, high) / _UNIT

    def rows(self, shape: Shape) -> Iterator[Row]:
        """``minimum <= sum_vl m_l f_vl + m_H sum_vi i x_vi <= maximum`` in thousandths."""
        weights = self._weights()
        terms: list[tuple[Atom, int]] = []
        for v in range(shape.n_nodes):
            terms += [(HasLabel(v, label), int(m)) for label, m in enumerate(weights)]
            mass = round(MASSES["H"] * _UNIT)
            terms += [(HasFeature(v, _HYDROGENS + i), i * mass) for i in range(1, 5)]
        yield from bounded("weight in mg/mol", tuple(terms), *self._bounds())


@cache
def limits(data_set: str, n: int) -> tuple[Rule, ...]:
    """The bounds of the paper's case study for n heavy atoms, as rules.

    >>> limits("qm7", 7)[3]
    LabelCount(label='S', maximum=1)
    """
    if data_set == "qm7":
        most = {"N": max(1, 3 * n // 7), "O": max(1, n // 3), "S": max(1, n // 7)}
        carbon, rings = -(-n // 2), n // 2
    else:
        most = {"N": 3 * n // 5, "O": 4 * n // 7, "F": 4 * n // 5}
        carbon, rings = -(-n // 5), 2 * n // 3
    return (
        LabelCount("C", carbon),
        *(LabelCount(symbol, maximum=high) for symbol, high in most.items()),
        CycleRange(maximum=rings),
        BondCount(2, maximum=n // 2),
        BondCount(3, maximum=n // 2),
    )


@dataclass(frozen=True, repr=False)
class DataSetBounds(MoleculeRule):
    """The bounds of `limits` for the size of each graph, for spaces with several sizes."""

    data_set: str

    def __post_init__(self) -> None:
        if self.data_set not in DATA_SETS:
            self.refuse(f"one of {', '.join(DATA_SETS)}", repr(self.data_set), "data_set='qm7'")

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule; an error unless the labels are those of the data set, in their order."""
        if tuple(labels) != DATA_SETS[self.data_set]:
            self.refuse(f"labels {DATA_SETS[self.data_set]}", f"{tuple(labels)}", "those labels")
        return super().bind(labels, shape)

    def at(self, n: int) -> tuple[Rule, ...]:
        """The rules for n atoms, labels resolved."""
        elements = DATA_SETS[self.data_set]
        names = {symbol: label for label, symbol in enumerate(elements)}
        shape = Shape(n, len(elements), 11, 3)
        return tuple(rule.bind(names, shape) for rule in limits(self.data_set, n))

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        name = self.data_set.upper()
        return f"Elements, rings and multiple {nouns.edges} are within the bounds of {name}."

    def excess(self, batch: Batch) -> Excess:
        """Sum over the rules for this size."""
        parts = [rule.excess(batch) for rule in self.at(batch.n_nodes)]
        return np.asarray(np.sum(parts, axis=0))

    def rows(self, shape: Shape) -> Iterator[Row]:
        """The rows of the rules for this size."""
        return chain.from_iterable(rule.rows(shape) for rule in self.at(shape.n_nodes))
