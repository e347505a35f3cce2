"""`Rule`: the base class of all declarative rules for graphs.

A rule has *one* meaning, `Rule.excess` for a batch of graphs or `Rule.holds` for one graph, and at
most *one* encoding of it for solvers, `Rule.rows`. Everything else is derived from its parameters
(`bogrape.constraints.parameters`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..batch import Batch
from ..domain import GRAPHS, Nouns
from ..errors import InvalidSpaceError
from ..graph import Graph
from .asked import excess_of
from .node_kind import NodeKind
from .parameters import Label as Label
from .parameters import NamedLabel as NamedLabel
from .parameters import NamedNode as NamedNode
from .parameters import Node as Node
from .parameters import Parametrised
from .rows import Aux, Row, Shape

Excess = FloatArray


class Rule(Parametrised):
    """A rule about graphs: a frozen dataclass with one meaning and at most one encoding.

    A custom rule defines its meaning by `holds`, for one graph, or by `excess`, for many graphs at
    once. With `rows` solvers can use it; without, it is *checked* graph by graph.
    """

    label_fields: ClassVar[tuple[str, ...]] = ()  # parameters that hold one label each
    node_fields: ClassVar[tuple[str, ...]] = ()  # parameters that hold one node each
    derives_features: ClassVar[bool] = False  # True if `derive` determines all features
    domain: ClassVar[str | None] = None  # default domain of spaces with this rule

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given = [name for name in ("holds", "excess") if name in vars(cls)]
        for base in cls.__mro__[1:]:
            if given and base is not Rule and {"holds", "excess"} & vars(base).keys():
                raise InvalidSpaceError(
                    f"{cls.__name__}: a rule that defines its own meaning ({given[0]}) must "
                    f"derive from Rule directly, got one derived from {base.__name__}, whose rows "
                    "encode another condition; try class "
                    f"{cls.__name__}(Rule), and add both rules to the space"
                )

    # -- meaning ------------------------------------------------------------------------------

    def excess(self, batch: Batch) -> Excess:
        """Violation of the rule by each graph, ``(B,)``; 0.0 exactly when the rule holds."""
        return excess_of(self, self.holds, batch)

    def holds(self, graph: Graph) -> bool:
        """True if one graph satisfies the rule.

        It is called only with graphs that satisfy the rest of the space.
        """
        if type(self).excess is Rule.excess:
            self.refuse("holds(graph) or excess(batch)", "neither", "to define one of them")
        return bool(self.excess(Batch.of([graph]))[0] == 0)

    def rows(self, shape: Shape) -> Iterator[Row]:  # noqa: ARG002
        """The same meaning as linear rows, for graphs of exactly ``shape.n_nodes`` nodes."""
        return iter(())

    @property
    def one_by_one(self) -> bool:
        """True if a space checks it last, on few graphs; by default, if it only has `holds`."""
        return type(self).excess is Rule.excess

    @property
    def encoded(self) -> bool:
        """True if `rows` express the whole rule, so that solvers enforce it.

        Otherwise every graph from a solver is checked. A rule whose rows are only necessary
        conditions, which rule out some graphs early, sets ``encoded = False``.
        """
        return type(self).rows is not Rule.rows

    def describe(self, nouns: Nouns = GRAPHS) -> str:  # noqa: ARG002
        """The rule as a sentence, for reports and messages; by default it contains its name."""
        return f"Rule: {self.name}."

    def nodes(self) -> frozenset[int]:
        """The nodes the rule names; it treats all others alike."""
        return frozenset()

    # -- which graphs are the same ------------------------------------------------------------

    def identify(self, graph: Graph) -> str | None:  # noqa: ARG002
        """A text that is equal for two graphs exactly when they represent the same object.

        ``None``, the default, leaves the question to isomorphism. A rule for which isomorphism
        is wrong (two Kekulé forms are one molecule; named sites cannot be exchanged) answers for
        the whole space.
        """
        return None

    def identity_version(self) -> str:
        """Version of the texts of `identify`; stored keys of other versions are recomputed."""
        return type(self).__name__

    def decides_helpers(self, shape: Shape) -> bool:  # noqa: ARG002
        """True if, given the graph, the rows determine the value of each `Aux`."""
        return True

    def helpers(self, graph: Graph) -> Mapping[Aux, bool]:  # noqa: ARG002
        """Values of the helpers that the rows do not determine, for a graph that satisfies them."""
        return {}

    # -- help for searches and samplers, for rules that relate attributes ----------------------

    def derive(self, batch: Batch) -> Batch:
        """The graphs with all attributes set that this rule derives from others."""
        return batch

    def draw(
        self,
        rules: Sequence[Rule],  # noqa: ARG002
        shape: Shape,  # noqa: ARG002
        k: int,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Batch | None:
        """k random graphs likely to satisfy the rules; ``None`` if the rule cannot draw them."""
        return None

    def node_kinds(self, shape: Shape) -> tuple[NodeKind, ...] | None:  # noqa: ARG002
        """All possible kinds of nodes, if the rule relates features to edges; otherwise ``None``.

        Proofs rely on it: every node of a graph that satisfies the rule must be of these kinds.
        """
        return None

    # -- use in a space -----------------------------------------------------------------------

    def bind(self, labels: Mapping[str, int], shape: Shape) -> Self:
        """The rule with label names resolved, checked against the largest shape of a space."""
        self._check_located()
        if self.nodes() and max(self.nodes()) >= shape.n_nodes:
            self.refuse(
                f"nodes 0..{shape.n_nodes - 1}", f"node {max(self.nodes())}", "a larger n_nodes"
            )
        self._check_direction(shape.directed)
        self._check_features(shape.n_features)
        rule = self.relabelled(lambda label: self._resolve(label, labels, shape))
        return rule if shape.directed else rule.undirected()

    def relabelled(self, resolve: Callable[[Label], int]) -> Self:
        """The rule with every label replaced by its index."""
        given = {field: getattr(self, field) for field in self.label_fields}
        known = {field: resolve(label) for field, label in given.items() if label is not None}
        return replace(self, **known) if known else self  # type: ignore[type-var]

    def located(self, names: Mapping[str, int]) -> Self:
        """The rule with the names of nodes replaced by indices that remember them."""
        return self.moved(lambda node: self._locate(node, names))

    def moved(self, locate: Callable[[Node], int]) -> Self:
        """The rule with every node replaced by its index."""
        given = {field: getattr(self, field) for field in self.node_fields}
        known = {field: locate(node) for field, node in given.items() if node is not None}
        return replace(self, **known) if known else self  # type: ignore[type-var]

    def undirected(self) -> Self:
        """The rule with pairs of nodes sorted: u < v."""
        return self

    def direction_needed(self) -> bool | None:
        """True if the rule needs directed graphs, False if undirected ones, else None."""
        return None

    def features_named(self) -> frozenset[int]:
        """The features the rule names."""
        return frozenset()

    def _check_direction(self, directed: bool) -> None:
        needed = self.direction_needed()
        if needed is not None and needed != directed:
            words = {True: "directed", False: "undirected"}
            self.refuse(f"{words[needed]} graphs", f"{words[directed]} ones", f"directed={needed}")

    def _check_features(self, n_features: int) -> None:
        top = max(self.features_named(), default=-1)
        if top >= n_features:
            self.refuse(f"features below {n_features}", f"feature {top}", f"features={top + 1}")

    def _resolve(self, label: Label, labels: Mapping[str, int], shape: Shape) -> int:
        valid = ", ".join(map(repr, labels)) if labels else f"0..{shape.n_labels - 1}"
        remedy = f"one of {valid}, or a space with more labels"
        if isinstance(label, str):
            if label not in labels:
                self.refuse("a label of the space", repr(label), remedy)
            return NamedLabel(labels[label], label)
        if label >= shape.n_labels:
            self.refuse(f"labels below {shape.n_labels}", f"label {label!r}", remedy)
        names = {index: name for name, index in labels.items()}
        return NamedLabel(label, names[label]) if label in names else int(label)

    def _locate(self, node: Node, names: Mapping[str, int]) -> int:
        if isinstance(node, str):
            if not names:
                self.refuse(
                    "nodes by number",
                    f"the name {node!r}",
                    "GraphSpace(nodes=[...]), which names them",
                )
            if node not in names:
                near = get_close_matches(node, names, 1)
                valid = ", ".join(map(repr, names))
                self.refuse("a node of the space", repr(node), f"{near[0]!r}" if near else valid)
            return NamedNode(names[node], node)
        called = {index: name for name, index in names.items()}
        return NamedNode(node, called[node]) if node in called else int(node)

    def _check_located(self) -> None:
        """Refuse names of nodes where there are only numbers."""
        for node in self.nodes():
            if isinstance(node, str):
                self.refuse(
                    "nodes by number, or in a GraphSpace that names them",
                    f"the name {node!r} outside of a space",
                    "space.violations(graph), or GraphSpace(nodes=[...])",
                )

    def index(self, label: Label) -> int:
        """The index of a resolved label."""
        if isinstance(label, str):
            self.refuse(
                "labels by index, or in a GraphSpace that names them",
                f"the name {label!r} outside of a space",
                "space.violations(graph), or the index of the label",
            )
        return int(label)


def over(value: NDArray[Any], low: float, high: float | None) -> Excess:
    """``max(0, low - value, value - high)``."""
    out = np.maximum(0.0, low - value)
    return out if high is None else np.maximum(out, value - float(high))
