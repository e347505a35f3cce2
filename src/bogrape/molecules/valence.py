"""`Valence`: ties the features of atoms to elements and bonds.

Notation: ``c_v`` is the valence of the element of atom v, ``d_v`` its number of heavy neighbours,
``o_uv`` the order of a bond and ``h_v`` the number of hydrogens at v. Then

    c_v = sum_u o_uv + h_v = d_v + h_v + #double bonds + 2 * #triple bonds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np
from rdkit import rdBase

from ..arrays import BoolArray, IntArray
from ..batch import Batch
from ..constraints import HasFeature, HasLabel, NodeKind, Row, Rule, Shape, edge
from ..constraints.rows import Terms, total
from ..constraints.rule import Excess
from ..domain import Nouns
from ..graph import Graph
from .build import build
from .elements import VALENCES
from .identity import BONDS, HYDROGENS, canonical_smiles, valences_of
from .molecule_rule import NOUNS, MoleculeRule, bond, orders

N_FEATURES = 11
NEIGHBOURS, DOUBLE, TRIPLE = 0, 9, 10  # where the other blocks of features begin
_MOST = 6  # the largest valence


def features(labels: IntArray, order: IntArray, valences: Sequence[int]) -> BoolArray:
    """The eleven features of every atom, ``(..., n, 11)``, from elements and bonds.

    An overloaded atom has no hydrogens; one without neighbours has no neighbour bit.
    """
    degree = (order > 0).sum(axis=-1)
    hydrogens = np.asarray(valences)[labels] - order.sum(axis=-1)
    return np.concatenate(
        [
            degree[..., None] == np.arange(1, 5),
            np.maximum(hydrogens, 0)[..., None] == np.arange(5),
            (order == 2).any(axis=-1)[..., None],
            (order == 3).any(axis=-1)[..., None],
        ],
        axis=-1,
    )


def atom_rows(v: int, shape: Shape, valences: Sequence[int], further: Terms = ()) -> Iterator[Row]:
    """For atom v: one-hot blocks, degree, bond flags, valence.

    ``further`` are terms, with the factor -1, for anything else that takes up valence.
    """
    others = [u for u in range(shape.n_nodes) if u != v]
    near = [HasFeature(v, NEIGHBOURS + i) for i in range(4)]
    hydrogens = [HasFeature(v, HYDROGENS + i) for i in range(5)]
    yield Row(f"one number of neighbours[{v}]", total(near), 1, 1)
    yield Row(f"one number of hydrogens[{v}]", total(hydrogens), 1, 1)
    counted: Terms = tuple((atom, -i) for i, atom in enumerate(near, start=1))
    edges = total(edge(u, v, False) for u in others)
    yield Row(f"neighbours[{v}]", (*edges, *counted), 0, 0)
    multiple: dict[int, Terms] = {}
    for k, flag in ((2, DOUBLE), (3, TRIPLE)):
        bonds = total(bond(u, v, k) for u in others) if k <= shape.n_edge_labels else ()
        multiple[k] = bonds
        says = HasFeature(v, flag)
        for atom, _ in bonds:
            yield Row(f"flag {k}[{v}] is set", ((says, 1), (atom, -1)), low=0)
        yield Row(f"flag {k}[{v}] has a bond", (*bonds, (says, -1)), low=0)
        room: Terms = tuple((HasLabel(v, label), -(c // k)) for label, c in enumerate(valences))
        if bonds:  # implied by the last row; it tightens relaxations
            yield Row(f"bonds of order {k}[{v}]", (*bonds, *room), high=0)
    valence: Terms = tuple((HasLabel(v, t), c) for t, c in enumerate(valences))
    used = tuple((atom, -i) for i, atom in enumerate(hydrogens) if i)
    double = tuple((atom, -1) for atom, _ in multiple[2])
    triple = tuple((atom, -2) for atom, _ in multiple[3])
    terms = (*valence, *counted, *used, *double, *triple, *further)
    yield Row(f"valence[{v}]", terms, 0, 0)


@dataclass(frozen=True, repr=False)
class Valence(MoleculeRule):
    """Atoms have as many bonds as their element's valence, and features that fit their bonds.

    ``valences`` gives the valence of every label. In a space whose labels are elements, graphs with
    the same canonical SMILES are the same molecule.
    """

    derives_features: ClassVar[bool] = True
    domain: ClassVar[str | None] = "molecules"

    valences: Any
    elements: Any = field(default=(), compare=False)  # of the space, set by `bind`

    def __post_init__(self) -> None:
        if not isinstance(self.valences, (list, tuple)) or not self.valences:
            self.refuse("one valence per label", repr(self.valences), "valences=(4, 3, 2)")
        made = tuple(self._whole(c, "a valence") for c in self.valences)
        if not all(1 <= c <= _MOST for c in made):
            self.refuse(f"valences 1..{_MOST}", repr(made), "other elements")
        self._set("valences", made)

    def parameters(self) -> dict[str, Any]:
        """The valences; elements follow from the space."""
        return {"valences": self.valences}

    def features_named(self) -> frozenset[int]:
        """All eleven features."""
        return frozenset(range(N_FEATURES))

    def bind(self, labels: Any, shape: Shape) -> Valence:
        """The rule, checked against the labels, features and edge labels of a space."""
        if len(self.valences) != shape.n_labels:
            self.refuse(
                f"{shape.n_labels} valences", f"{len(self.valences)}", "one valence per label"
            )
        if shape.n_features != N_FEATURES or not 1 <= shape.n_edge_labels <= 3:
            self.refuse(
                f"features={N_FEATURES} and edge_labels 1..3",
                f"features={shape.n_features} and edge_labels={shape.n_edge_labels}",
                "molecule_space",
            )
        fit = len(labels) == len(self.valences) and all(
            VALENCES.get(name) == valence
            for name, valence in zip(labels, self.valences, strict=True)
        )
        named = replace(self, elements=tuple(labels)) if fit else self
        return super(Valence, named).bind(labels, shape)

    def identify(self, graph: Graph) -> str | None:
        """The canonical SMILES; for a graph that is not a molecule, its canonical key, marked.

        ``None`` if the labels do not stand for elements.
        """
        return _identity(graph, self.elements) if self.elements else None

    def identity_version(self) -> str:
        """The version of RDKit, on which canonical SMILES depend."""
        return f"RDKit {rdBase.rdkitVersion}"

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        names = self.elements or [f"label {i}" for i in range(len(self.valences))]
        each = ", ".join(f"{name} {c}" for name, c in zip(names, self.valences, strict=True))
        return f"Every {nouns.node} has the valence of its element, hydrogens included: {each}."

    def excess(self, batch: Batch) -> Excess:
        """Bond orders beyond the valences, summed over the atoms, + number of wrong features."""
        labels = np.minimum(batch.labels, len(self.valences) - 1)  # the space checks others
        order = orders(batch)
        overload = order.sum(axis=2) - np.asarray(self.valences)[labels]
        wrong = features(labels, order, self.valences) != batch.features
        alone = ~batch.adjacency.any(axis=2)
        degree = batch.adjacency.sum(axis=2)
        out = np.maximum(overload, 0) + wrong.sum(axis=2) + alone + np.maximum(degree - 4, 0)
        out += np.maximum(-overload - 4, 0)  # more hydrogens than there are features for
        return np.asarray(out.sum(axis=1), dtype=float)

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For every atom, in this order: one-hot blocks, degree, bond flags, valence."""
        for v in range(shape.n_nodes):
            yield from atom_rows(v, shape, self.valences)

    def node_kinds(self, shape: Shape) -> tuple[NodeKind, ...]:
        """Every element with every number of bonds of each order that its valence allows."""
        orders = np.arange(1, shape.n_edge_labels + 1)
        out = []
        for label, valence in enumerate(self.valences):
            for ends in product(range(5), repeat=len(orders)):
                if 1 <= sum(ends) <= 4 and np.dot(ends, orders) <= valence:
                    bonds = np.repeat(orders, ends)[None]
                    bits = features(np.array([label]), bonds, self.valences)[0]
                    out.append(NodeKind(label, sum(ends), tuple(bits.tolist()), ends))
        return tuple(out)

    def derive(self, batch: Batch) -> Batch:
        """The batch with multiple bonds of overloaded atoms reduced and all features derived."""
        order = relieved(batch.labels, orders(batch), np.asarray(self.valences))
        bits = features(batch.labels, order, self.valences)
        return replace(batch, features=bits, edge_labels=order)

    def draw(
        self, rules: Sequence[Rule], shape: Shape, k: int, rng: np.random.Generator
    ) -> Batch | None:
        """k random molecules that satisfy the valences, the counts of elements and a scaffold."""
        labels, order = build(rules, shape, self.valences, k, rng)
        bits = features(labels, order, self.valences)
        return Batch(order > 0, labels, bits, order, False)


@lru_cache(maxsize=4096)  # observed and excluded graphs are asked for again and again
def _identity(graph: Graph, elements: tuple[str, ...]) -> str:
    text = canonical_smiles(graph, elements) if _is_molecule(graph, elements) else None
    return f"graph {graph.canonical_key()}" if text is None else text  # SMILES contain no spaces


def _is_molecule(graph: Graph, elements: tuple[str, ...]) -> bool:
    """True if bonds and features fit the elements: `Valence.excess` for one graph."""
    order, labels = graph.edge_labels, graph.labels
    if order is None or graph.directed or graph.n_features != N_FEATURES:
        return False
    if labels.max() >= len(elements) or order.max() > max(BONDS):
        return False
    valences = valences_of(elements)
    hydrogens = np.asarray(valences)[labels] - order.sum(axis=1)
    if (hydrogens < 0).any() or (hydrogens > 4).any():
        return False
    return bool((features(labels, order, valences) == graph.features).all())


def relieved(labels: IntArray, order: IntArray, valences: IntArray) -> IntArray:
    """Bond orders with multiple bonds at overloaded atoms lowered as far as needed and possible."""
    order = order.copy()
    room = valences[labels]
    n = order.shape[1]
    graphs = np.arange(len(order))
    while True:
        overload = np.maximum(order[graphs].sum(axis=2) - room[graphs], 0)
        graphs, overload = graphs[overload.any(axis=1)], overload[overload.any(axis=1)]
        gain = (overload[:, :, None] + overload[:, None, :]) * (order[graphs] > 1)
        useful = gain.any(axis=(1, 2))
        graphs, gain = graphs[useful], gain[useful]
        if not graphs.size:
            return order
        u, v = np.divmod(gain.reshape(len(graphs), n * n).argmax(axis=1), n)
        order[graphs, u, v] -= 1
        order[graphs, v, u] -= 1
