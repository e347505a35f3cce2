"""`Rule`: what every declarative rule about graphs has in common, and the checks of its parameters.

A rule has ONE meaning, `Rule.excess` over a whole batch of graphs or `Rule.holds` of one graph, and
at most ONE encoding, `Rule.rows`, that says the same to a solver. Everything else is derived from
its parameters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..batch import Batch
from ..checks import is_number, is_whole
from ..domain import GRAPHS, Nouns
from ..errors import InvalidSpaceError, UnsupportedError
from ..graph import Graph
from .asked import excess_of
from .node_kind import NodeKind
from .registry import is_own, stored_name
from .rows import Aux, Row, Shape

Label = int | str
Node = int | str
Excess = FloatArray
_LARGEST = 2**53  # of a whole number: floats hold all of them up to here


class _Named(int):
    """An index that remembers its name, so that messages can use it."""

    name: str

    def __new__(cls, index: int, name: str) -> Self:
        """Number ``index``, called ``name``."""
        made = super().__new__(cls, index)
        made.name = name
        return made

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]
        return int(self), self.name

    def __repr__(self) -> str:
        return repr(self.name)

    __str__ = __repr__


class NamedLabel(_Named):
    """A label as messages call it: 'C', not 0."""


class NamedNode(_Named):
    """A node as messages call it: 'core-1', not 0."""


class Rule:
    """A rule about graphs: a frozen dataclass with one meaning and at most one encoding.

    A rule of your own gives its meaning by `holds`, for one graph, or by `excess`, for many graphs
    at once. With `rows` solvers know it; without, it is *checked* graph by graph.
    """

    label_fields: ClassVar[tuple[str, ...]] = ()  # parameters that hold one label each
    node_fields: ClassVar[tuple[str, ...]] = ()  # parameters that hold one node each
    derives_features: ClassVar[bool] = False  # whether `derive` decides all features
    package: ClassVar[str] = ""  # the part of bogrape that brings the rule, if not this one
    domain: ClassVar[str | None] = None  # of the spaces with this rule, unless they name another

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given = [name for name in ("holds", "excess") if name in vars(cls)]
        for base in cls.__mro__[1:]:
            if given and base is not Rule and {"holds", "excess"} & vars(base).keys():
                raise InvalidSpaceError(
                    f"{cls.__name__}: expected a rule that derives from Rule itself to give its "
                    f"own meaning ({given[0]}), got one that derives from {base.__name__}, whose "
                    "rows say something else; try class "
                    f"{cls.__name__}(Rule), and both rules in the space"
                )

    # -- meaning ------------------------------------------------------------------------------

    def excess(self, batch: Batch) -> Excess:
        """How far each graph is from satisfying the rule, ``(B,)``; 0.0 exactly when it holds."""
        return excess_of(self, self.holds, batch)

    def holds(self, graph: Graph) -> bool:
        """Whether one graph satisfies the rule.

        A rule that gives its meaning here is asked only about graphs that are in a space otherwise.
        """
        if type(self).excess is Rule.excess:
            self.refuse("holds(graph) or excess(batch)", "neither", "to define one of them")
        return bool(self.excess(Batch.of([graph]))[0] == 0)

    def rows(self, shape: Shape) -> Iterator[Row]:  # noqa: ARG002
        """The same meaning as linear rows, for graphs of exactly ``shape.n_nodes`` nodes."""
        return iter(())

    @property
    def one_by_one(self) -> bool:
        """Whether a space asks it last, about few graphs: by default, if it has `holds` only."""
        return type(self).excess is Rule.excess

    @property
    def encoded(self) -> bool:
        """Whether `rows` say all that the rule means, so that solvers know it.

        Otherwise every graph that a solver offers is checked. A rule whose rows merely follow from
        it, and rule out some graphs early, sets ``encoded = False``.
        """
        return type(self).rows is not Rule.rows

    def describe(self, nouns: Nouns = GRAPHS) -> str:  # noqa: ARG002
        """The rule as a sentence, for reports and messages; a rule without words gives its name."""
        return f"Rule: {self.name}."

    def nodes(self) -> frozenset[int]:
        """The nodes the rule names; it treats all others alike."""
        return frozenset()

    # -- which graphs are the same ------------------------------------------------------------

    def identify(self, graph: Graph) -> str | None:  # noqa: ARG002
        """A text that is equal for two graphs exactly when they stand for the same thing.

        ``None``, the default, leaves the question to isomorphism. A rule that knows better (two
        Kekulé forms are one molecule; named sites cannot be exchanged) answers for the whole space.
        """
        return None

    def identity_version(self) -> str:
        """What the texts of `identify` depend on: stored keys of another version are renewed."""
        return type(self).__name__

    def decides_helpers(self, shape: Shape) -> bool:  # noqa: ARG002
        """Whether the rows leave one value only to each `Aux` of theirs, given the graph."""
        return True

    def helpers(self, graph: Graph) -> Mapping[Aux, bool]:  # noqa: ARG002
        """Values of the helpers that the rows do not decide, for a graph that satisfies them."""
        return {}

    # -- help for searches and samplers, for rules that tie attributes together ----------------

    def derive(self, batch: Batch) -> Batch:
        """The graphs with attributes that follow from others, by this rule, set accordingly."""
        return batch

    def draw(
        self,
        rules: Sequence[Rule],  # noqa: ARG002
        shape: Shape,  # noqa: ARG002
        k: int,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Batch | None:
        """k random graphs likely to satisfy the rules, from a rule that knows a way; else None."""
        return None

    def node_kinds(self, shape: Shape) -> tuple[NodeKind, ...] | None:  # noqa: ARG002
        """All that a node can be, from a rule that ties features to edges; else None.

        Proofs rely on it: a node of a graph that satisfies the rule must be of one of these kinds.
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
        """True if the rule speaks of directed graphs only, False of undirected ones, else None."""
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

    def refuse(self, expected: str, got: str, remedy: str) -> NoReturn:
        """Raise, saying what was expected, what came and what to try."""
        raise InvalidSpaceError(f"{self.name}: expected {expected}, got {got}; try {remedy}")

    # -- parameters ---------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        if not is_dataclass(self):
            return {}
        out = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is MISSING or _differs(value, field.default):
                out[field.name] = value
        return out

    @property
    def name(self) -> str:
        """Short text that names the rule with its parameters."""
        body = ", ".join(f"{key}={_show(value)}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({body})"

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:  # of rules without parameters; dataclasses have theirs
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def to_dict(self) -> dict[str, Any]:
        """Type and parameters as plain JSON values; ``rule_from_dict`` reads them back."""
        if is_own(type(self)):
            return {**stored_name(type(self)), **self._stored_parameters()}
        body = {key: _plain(value) for key, value in self.parameters().items()}
        prefix = f"{self.package}." if self.package else ""
        return {"rule": prefix + type(self).__name__, **body}

    def _stored_parameters(self) -> dict[str, Any]:
        """All of them: defaults in code of the user's own may change without notice."""
        if not is_dataclass(self):
            return {}
        names = [field.name for field in fields(self) if field.init]
        body = {name: _plain(getattr(self, name)) for name in names}
        try:
            json.dumps(body)
        except (TypeError, ValueError) as error:
            raise UnsupportedError(
                f"{self.name}: expected parameters that can be stored (numbers, texts, tuples of "
                f"these), got {error}; try such parameters, or a study without storage"
            ) from None
        return body

    # -- checks, called from __post_init__ ----------------------------------------------------

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # frozen: only while it is being built

    def _check_whole(self, field: str, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is None and optional:
            return
        self._set(field, self._whole(value, field))

    def _whole(self, value: object, what: str) -> int:
        if not is_whole(value) or value < 0:
            self.refuse(f"{what} to be an integer >= 0", repr(value), f"{what}=0 or more")
        if int(value) > _LARGEST:
            self.refuse(f"{what} to be at most {_LARGEST}", f"{value!r:.40}", "a smaller number")
        return int(value)

    def _check_range(self) -> None:
        self._check_whole("minimum")
        self._check_whole("maximum", optional=True)
        low, high = self.minimum, self.maximum  # type: ignore[attr-defined]
        if high is not None and low > high:
            self.refuse("minimum <= maximum", f"{low} > {high}", "swapping them")

    def _check_label(self, field: str, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is not None or not optional:
            self._set(field, self._label(value, field))

    def _label(self, value: object, what: str) -> Label:
        if isinstance(value, (NamedLabel, str)) and value != "":
            return value
        if not is_whole(value) or value < 0:
            self.refuse(f"{what} to be a name or an integer >= 0", repr(value), f"{what}=0")
        return int(value)

    def _check_node(self, field: str, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is not None or not optional:
            self._set(field, self._node(value, field))

    def _node(self, value: object, what: str) -> Any:
        """A node: its number, or its name in a space that names nodes."""
        if isinstance(value, (NamedNode, str)) and value != "":
            return value
        return self._whole(value, what)

    def _pair(self, value: object, what: str) -> tuple[Any, Any]:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            self.refuse(f"{what} to be a pair of nodes", repr(value), f"{what}=(0, 1)")
        u, v = (self._node(node, f"a node of {what}") for node in value)
        if u == v:
            self.refuse(f"two different nodes in {what}", f"{u} twice", "removing the self-loop")
        return u, v

    def _number(self, value: object, what: str) -> int | float:
        if not is_number(value) or math.isinf(value):
            self.refuse(f"{what} to be a finite number", repr(value), f"{what} as int or float")
        return int(value) if is_whole(value) else float(value)


def over(value: NDArray[Any], low: float, high: float | None) -> Excess:
    """``max(0, low - value, value - high)``."""
    out = np.maximum(0.0, low - value)
    return out if high is None else np.maximum(out, value - float(high))


def _differs(value: object, default: object) -> bool:
    try:
        return bool(value != default)
    except (TypeError, ValueError):  # an array, in the message that refuses it
        return True


def _show(value: object) -> str:
    """Tuples as people write them; a long list is cut, since names end up in messages."""
    if isinstance(value, tuple) and len(value) > 6:
        return f"[{', '.join(map(_show, value[:5]))}, ... {len(value)} in all]"
    if isinstance(value, tuple):
        body = ", ".join(map(_show, value))
        return f"({body},)" if len(value) == 1 else f"({body})"
    return repr(value)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.name if isinstance(value, _Named) else value
