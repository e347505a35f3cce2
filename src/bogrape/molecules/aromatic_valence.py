"""`AromaticValence`: the rule of spaces in which a molecule and its Kekulé forms are one graph.

Edge label 4 is an aromatic bond. Notation as in `bogrape.molecules.valence`; in addition, ``a_v``
is 1 if one of the aromatic bonds at v is a double bond in every Kekulé form, else 0. Then

    c_v = d_v + h_v + #double bonds + 2 * #triple bonds + a_v.

RDKit decides which bonds are aromatic. Its model cannot be written as rows, so solvers know only
the valences, and every graph they find is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from rdkit import rdBase

from ..arrays import BoolArray, IntArray
from ..batch import Batch
from ..constraints import Aux, HasFeature, HasLabel, Row, Rule, Shape
from ..constraints.rows import total
from ..constraints.rule import Excess
from ..domain import Nouns
from ..graph import Graph
from .aromaticity import carbons, disagreements, with_aromatic_bonds, without_aromatic_bonds
from .build import build
from .elements import LABELS, VALENCES
from .identity import AROMATIC, HYDROGENS, canonical_smiles
from .molecule_rule import NOUNS, MoleculeRule, bond, orders
from .valence import DOUBLE, N_FEATURES, TRIPLE, atom_rows, relieved

N_AROMATIC_FEATURES = N_FEATURES + 1
AROMATIC_FEATURE = N_FEATURES  # the last: in an aromatic bond


def hydrogens_of(features: BoolArray) -> IntArray:
    """The number of hydrogens of every atom, ``(..., n)``, from the features."""
    return np.asarray(features[..., HYDROGENS : HYDROGENS + 5].argmax(axis=-1))


def aromatic_features(degree: IntArray, kinds: IntArray, hydrogens: IntArray) -> BoolArray:
    """The twelve features of every atom, ``(..., n, 12)``."""
    flags = [(kinds == kind).any(axis=-1)[..., None] for kind in (2, 3, AROMATIC)]
    near = degree[..., None] == np.arange(1, 5)
    return np.concatenate([near, hydrogens[..., None] == np.arange(5), *flags], axis=-1)


@dataclass(frozen=True, repr=False)
class AromaticValence(MoleculeRule):
    """Atoms have the valence of their label, and bonds are aromatic where RDKit says so.

    ``elements`` are the labels of the space. A Kekulé form of an aromatic molecule does not satisfy
    the rule: the molecule has one graph, with aromatic bonds.
    """

    derives_features: ClassVar[bool] = True
    domain: ClassVar[str | None] = "molecules"

    elements: Any = ()

    def __post_init__(self) -> None:
        known = isinstance(self.elements, (list, tuple)) and all(
            isinstance(name, str) and name in LABELS for name in self.elements
        )
        if not known:
            self.refuse("labels of atoms", repr(self.elements), f"some of {', '.join(LABELS)}")
        self._set("elements", tuple(self.elements))

    @property
    def valences(self) -> tuple[int, ...]:
        """The valence of every label."""
        if not self.elements:
            self.refuse("a space that names elements", "the rule alone", "space.violations(graph)")
        return tuple(VALENCES[name] for name in self.elements)

    @property
    def encoded(self) -> bool:
        """False: rows cover valences, not aromaticity."""
        return False

    def features_named(self) -> frozenset[int]:
        """All twelve features."""
        return frozenset(range(N_AROMATIC_FEATURES))

    def bind(self, labels: Any, shape: Shape) -> AromaticValence:
        """The rule with the labels of the space, checked against its features and edge labels."""
        rule = self if self.elements else replace(self, elements=tuple(labels))
        if not rule.elements or len(rule.elements) != shape.n_labels:
            self.refuse(f"{shape.n_labels} elements", f"{len(rule.elements)}", "molecule_space")
        if shape.n_features != N_AROMATIC_FEATURES or shape.n_edge_labels != AROMATIC:
            self.refuse(
                f"features={N_AROMATIC_FEATURES} and edge_labels={AROMATIC}",
                f"features={shape.n_features} and edge_labels={shape.n_edge_labels}",
                "molecule_space(aromatic=True)",
            )
        return super(AromaticValence, rule).bind(labels, shape)

    def identify(self, graph: Graph) -> str | None:
        """The canonical SMILES; for a graph that is not a molecule, its canonical key, marked.

        A molecule has one graph, so molecules are identical exactly if graphs are isomorphic.
        """
        if graph.n_features != N_AROMATIC_FEATURES or graph.edge_labels is None or graph.directed:
            return f"graph {graph.canonical_key()}"
        if graph.labels.max() >= len(self.elements) or graph.edge_labels.max() > AROMATIC:
            return f"graph {graph.canonical_key()}"
        text = canonical_smiles(graph, self.elements) if self.holds(graph) else None
        return f"graph {graph.canonical_key()}" if text is None else text

    def identity_version(self) -> str:
        """The version of RDKit, on which canonical SMILES depend."""
        return f"RDKit {rdBase.rdkitVersion}"

    def describe(self, nouns: Nouns = NOUNS) -> str:
        """The rule as a sentence."""
        each = ", ".join(f"{name} {VALENCES[name]}" for name in self.elements)
        return (
            f"Every {nouns.node} has the valence of its label, hydrogens included ({each}), and "
            f"{nouns.edges} are aromatic where RDKit perceives them so."
        )

    def excess(self, batch: Batch) -> Excess:
        """Number of wrong bonds and features; if there are none, 1 if RDKit disagrees."""
        labels = np.minimum(batch.labels, len(self.valences) - 1)  # the space checks others
        kinds = orders(batch)
        degree = batch.adjacency.sum(axis=2)
        hydrogens = hydrogens_of(batch.features)
        used = degree + hydrogens + (kinds == 2).sum(axis=2) + 2 * (kinds == 3).sum(axis=2)
        missing = np.asarray(self.valences)[labels] - used
        aromatic = (kinds == AROMATIC).sum(axis=2)
        wrong = aromatic_features(degree, kinds, hydrogens) != batch.features
        out = np.maximum(-missing, 0) + np.maximum(missing - (aromatic > 0), 0) + wrong.sum(axis=2)
        out = out + (degree == 0) + np.maximum(degree - 4, 0) + (kinds > AROMATIC).any(axis=2)
        total = np.asarray(out.sum(axis=1), dtype=float)
        inside = np.flatnonzero(total == 0)
        found = disagreements(labels[inside], kinds[inside], hydrogens[inside], self.elements)
        total[inside[list(found)]] = 1.0
        return total

    def rows(self, shape: Shape) -> Iterator[Row]:
        """For every atom: one-hot blocks, degree, bond flags, valence, and rows for aromatic atoms:

        ``a_v <= aromatic_v``; an aromatic atom has two bonds in its ring, aromatic ones or a triple
        one as in benzyne; aromatic carbon has a multiple bond in every Kekulé form.
        """
        n = shape.n_nodes
        for v in range(n):
            others = [u for u in range(n) if u != v]
            says, inside = HasFeature(v, AROMATIC_FEATURE), Aux(f"{self.name}.double[{v}]")
            aromatic = total(bond(u, v, AROMATIC) for u in others)
            for atom, _ in aromatic:
                yield Row(f"aromatic[{v}] is set", ((says, 1), (atom, -1)), low=0)
            within_ring = (*aromatic, *total(bond(u, v, 3) for u in others), (says, -2))
            yield Row(f"aromatic[{v}] has two bonds", within_ring, low=0)
            yield Row(f"aromatic double[{v}]", ((says, 1), (inside, -1)), low=0)
            multiple = (inside, HasFeature(v, DOUBLE), HasFeature(v, TRIPLE))
            carbon = total(HasLabel(v, label) for label in carbons(self.elements))
            terms = (*total(multiple), (says, -1), *((atom, -1) for atom, _ in carbon))
            yield Row(f"aromatic carbon has a multiple bond[{v}]", terms, low=-1)
            yield from atom_rows(v, shape, self.valences, further=((inside, -1),))

    def derive(self, batch: Batch) -> Batch:
        """The batch with bonds of overloaded atoms reduced, aromatic bonds and features derived."""
        valences = np.asarray(self.valences)
        hydrogens = hydrogens_of(batch.features)
        kinds = orders(batch)
        order = without_aromatic_bonds(batch.labels, kinds, hydrogens, valences)
        return self._dressed(batch.labels, relieved(batch.labels, order, valences))

    def draw(
        self, rules: Sequence[Rule], shape: Shape, k: int, rng: np.random.Generator
    ) -> Batch | None:
        """k random molecules that satisfy the valences, the counts of elements and a scaffold."""
        return self._dressed(*build(rules, shape, self.valences, k, rng))

    def _dressed(self, labels: IntArray, order: IntArray) -> Batch:
        """Molecules with these labels and bond orders, aromatic bonds and features derived."""
        hydrogens = np.asarray(self.valences)[labels] - order.sum(axis=2)
        hydrogens = np.maximum(hydrogens, 0)
        kinds = with_aromatic_bonds(labels, order, hydrogens, self.elements)
        bits = aromatic_features((order > 0).sum(axis=2), kinds, hydrogens)
        return Batch(order > 0, labels, bits, kinds, False)
