"""`GraphSpace`: sizes, labels, features, direction, connectivity and rules, checked when built."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from typing import Any, Literal

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..batch import Batch
from ..checks import MAX_NODES as MAX_GRAPH
from ..checks import shown, whole
from ..constraints import (
    Acyclic,
    NamedNodes,
    Rule,
    Shape,
    identity_of,
    in_words,
    rule_from_dict,
)
from ..counts import chunks
from ..domain import DIRECTED_GRAPHS, GRAPHS, Domain, Nouns
from ..errors import (
    InvalidInputError,
    InvalidSpaceError,
    NotInSpaceError,
    SamplingError,
)
from ..graph import Graph
from .binding import bound_rules, try_own_rules
from .checks import (
    MAX_EDGE_LABELS,
    MAX_FEATURES,
    checked_connected,
    checked_domain,
    checked_labels,
    checked_named_sizes,
    checked_nodes,
    checked_rules,
    domain_of_rules,
    labels_of_nodes,
    span,
)
from .exchange import from_networkx, read_space, to_networkx
from .propagation import Known, propagate
from .sampler import sample

_TRIED = 6  # size of the graphs that user-defined rules are tried on
_AT_ONCE = 1000  # graphs in a batch, so that memory does not grow with their number
_DERIVED_CELLS = 4_000_000  # entries of the adjacency matrices processed at a time


@dataclass(frozen=True)
class GraphSpace:
    """All graphs of some size, attributes and connectivity that satisfy some rules.

    A space has at most 300 nodes, 200 labels, 1,000 features per node and 20 edge labels.

    Args:
        n_nodes: number of nodes, or ``(smallest, largest)``; by default that of ``nodes``, or 10.
        labels: number of node labels, or their names, or ``None`` for unlabelled nodes. With
            ``nodes`` also ``{node: label}``, which fixes the label of each.
        features: number of additional binary features per node.
        directed: whether edges have a direction.
        connected: ``True`` for connected graphs (weakly, when directed), ``"strong"`` for strongly
            connected ones, ``False`` for any.
        rules: declarative rules from `bogrape.constraints`.
        edge_labels: number of edge labels (1..edge_labels), 0 for edges without labels. Rules see
            edge labels, and so does the kernel ``rbf``. The other kernels do not: two graphs that
            differ in nothing else get the same prediction.
        acyclic: short for the rule ``Acyclic()``: DAGs, or forests when undirected.
        nodes: names of the nodes, for sites that are not interchangeable. Rules may use these
            names, and two graphs are the same only if they are equal node by node. Without names,
            isomorphic graphs are the same. Kernels see the labels of nodes, not their names: if the
            objective depends on which of two sites has an edge, give them different labels.
        domain: what the graphs represent: a `bogrape.domain.Domain` or its name. It changes how
            graphs are shown and written, not which of them are in the space. By default the domain
            of the rules, if one of them has one: `bogrape.molecules.Valence` implies molecules.

    >>> from bogrape.constraints import DegreeRange
    >>> space = GraphSpace(4, labels=("C", "O"), rules=[DegreeRange(maximum=2, label="O")])
    >>> star = Graph([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], labels=[1, 0, 0, 0])
    >>> space.violations(star)
    ["DegreeRange(maximum=2, label='O')"]

    >>> from bogrape.constraints import RequiredEdge
    >>> sites = {"core-1": "router", "core-2": "router", "desk": "switch"}
    >>> stays = RequiredEdge("core-1", "core-2")
    >>> space = GraphSpace(nodes=list(sites), labels=sites, rules=[stays])
    >>> space.count()  # of the four connected graphs on these nodes, all but one have that edge
    3
    """

    n_nodes: int | tuple[int, int] = None  # type: ignore[assignment]  # that of nodes, else 10
    labels: int | tuple[str, ...] | Mapping[str, str] | None = None
    features: int = 0
    directed: bool = False
    connected: bool | Literal["strong", "weak"] = True
    rules: tuple[Rule, ...] = ()
    _: KW_ONLY
    edge_labels: int = 0
    acyclic: bool = False
    nodes: tuple[str, ...] | None = None
    domain: Domain | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._set("nodes", checked_nodes(self.nodes))
        self._set("n_nodes", checked_named_sizes(self.n_nodes, self.nodes))
        by_node: tuple[str, ...] | None = None
        if isinstance(self.labels, Mapping):
            alphabet, by_node = labels_of_nodes(self.labels, self.nodes)
            self._set("labels", alphabet)
        self._set("labels", checked_labels(self.labels))
        self._set("features", whole(self.features, "features", 0, InvalidSpaceError, MAX_FEATURES))
        edge_labels = whole(self.edge_labels, "edge_labels", 0, InvalidSpaceError, MAX_EDGE_LABELS)
        self._set("edge_labels", edge_labels)
        for flag in ("directed", "acyclic"):
            value = getattr(self, flag)
            if not isinstance(value, (bool, np.bool_)):
                raise InvalidSpaceError(f"expected {flag} to be True or False, got {shown(value)}")
            self._set(flag, bool(value))
        self._set("connected", checked_connected(self.connected, self.directed))
        self._bind_rules(by_node)
        if self.domain is None:
            self._set("domain", self._domain_of_rules)
        else:
            self._set("domain", checked_domain(self.domain, self.label_names or ()))
        self._refuse_contradictions()

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # frozen, except while it is being built

    def _bind_rules(self, by_node: tuple[str, ...] | None) -> None:
        rules = bound_rules(
            checked_rules(self.rules),
            self.shape(self.n_max),
            label_names=self.label_names or (),
            nodes=self.nodes,
            labels_by_node=by_node,
            acyclic=self.acyclic,
        )
        self._set("rules", rules)
        self._set("acyclic", Acyclic() in self.rules)
        n = min(self.n_max, max(self.n_min, _TRIED))
        strong = self.connected == "strong"
        try_own_rules(self.rules, self.shape(n), self.interchangeable(n), strong=strong)

    @cached_property
    def _domain_of_rules(self) -> Domain | None:
        return domain_of_rules(self.rules, self.label_names or ())

    def _refuse_contradictions(self) -> None:
        reasons: set[str] = set()
        for n in reversed(self.sizes):
            found = self.known(n).conflict
            if found is None:
                return
            reasons |= found
        nouns = self.nouns
        said = in_words((rule for rule in self.rules if rule.name in reasons), nouns)
        raise InvalidSpaceError(
            f"expected rules that can hold together with {span(self.sizes)} {nouns.nodes}, got "
            f"{' and '.join(sorted(reasons))}; try dropping or loosening one of them"
            f"{f'. In words: {said}' if said else ''}"
        )

    # -- properties ---------------------------------------------------------------------------

    @property
    def n_min(self) -> int:
        """Smallest number of nodes."""
        return self.n_nodes[0] if isinstance(self.n_nodes, tuple) else self.n_nodes

    @property
    def n_max(self) -> int:
        """Largest number of nodes."""
        return self.n_nodes[1] if isinstance(self.n_nodes, tuple) else self.n_nodes

    @property
    def sizes(self) -> range:
        """All numbers of nodes."""
        return range(self.n_min, self.n_max + 1)

    @property
    def n_labels(self) -> int:
        """Number of node labels; 1 when nodes are unlabelled."""
        if isinstance(self.labels, tuple):
            return len(self.labels)
        return self.labels if isinstance(self.labels, int) else 1

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if they have any."""
        return self.labels if isinstance(self.labels, tuple) else None

    @property
    def nouns(self) -> Nouns:
        """Nouns for its graphs, nodes and edges."""
        if self.domain is not None:
            return self.domain.nouns
        return DIRECTED_GRAPHS if self.directed else GRAPHS

    def named(self, graph: Graph) -> Graph:
        """An equal graph that carries the label names of this space.

        >>> GraphSpace(2, labels=("C", "O")).named(Graph([[0, 1], [1, 0]])).label_names
        ('C', 'O')
        """
        names, domain = self.label_names, None if self.domain is None else self.domain.name
        if names is not None and graph.labels.max() >= len(names):
            return graph  # not of this space, which has no name for such a label
        return graph.with_names(names, domain)

    @property
    def fixed_labels(self) -> tuple[str, ...]:
        """The label of each named node, if ``labels`` fixed them; else empty."""
        own = next((rule for rule in self.rules if isinstance(rule, NamedNodes)), None)
        names = self.label_names
        return () if own is None or names is None else tuple(names[int(k)] for k in own.labels)

    @property
    def n_features(self) -> int:
        """Number of binary features beyond the label."""
        return self.features

    @property
    def n_edge_labels(self) -> int:
        """Number of edge labels, 0 for none."""
        return self.edge_labels

    @property
    def checked_rules(self) -> tuple[Rule, ...]:
        """The rules that no solver knows: every graph is checked against them."""
        return tuple(rule for rule in self.rules if not rule.encoded)

    def shape(self, n: int) -> Shape:
        """Properties shared by all graphs of the space with n nodes."""
        return Shape(
            n,
            self.n_labels,
            self.n_features,
            self.n_edge_labels,
            self.directed,
            self.connected is not False,
        )

    def interchangeable(self, n: int) -> tuple[int, ...]:
        """The nodes of a graph with n nodes that no rule names: renaming them changes nothing."""
        named = frozenset[int]().union(*(rule.nodes() for rule in self.rules))
        return tuple(v for v in range(n) if v not in named)

    def identity(self, graph: Graph) -> str:
        """A string that is equal for two graphs exactly when they are the same in this space.

        By default this means isomorphic. A rule may define it differently: molecules are the same
        when their canonical SMILES are equal.
        """
        if not isinstance(graph, Graph):
            raise InvalidInputError(f"expected a bogrape Graph, got {type(graph).__name__}")
        if not self._identifying:
            return graph.canonical_key()
        known = graph.identities  # cached on the graph: studies ask repeatedly
        if self._own_key not in known:
            known[self._own_key] = identity_of(graph, self._identifying)
        return known[self._own_key]

    @cached_property
    def _own_key(self) -> object:
        """A key unique to this object: equal rules may still give a graph different identities."""
        return object()

    @cached_property
    def _identifying(self) -> tuple[Rule, ...]:
        """The rules with their own definition of which graphs are the same."""
        return tuple(rule for rule in self.rules if type(rule).identify is not Rule.identify)

    @property
    def identity_version(self) -> str:
        """Version of the strings from `identity`; different versions cannot be compared."""
        wiser = (rule.identity_version() for rule in self._identifying)
        made_by = [f"igraph {version('igraph')}", *wiser]
        return ", ".join(made_by)

    def with_rules(self, rules: Iterable[Rule]) -> GraphSpace:
        """The same space with exactly these rules (``Acyclic`` only if it is among them).

        The names of nodes, and labels that are fixed by them, are kept.
        """
        own = [rule for rule in self.rules if isinstance(rule, NamedNodes)]
        try:
            all_rules = (*own, *rules)
        except TypeError:
            raise InvalidSpaceError(
                f"expected rules to be a list of rules, got {shown(rules)}"
            ) from None
        return replace(self, rules=all_rules, acyclic=False)

    def known(self, n: int) -> Known:
        """Consequences of the rules for all graphs with n nodes, as found by `propagate`."""
        if n not in self._known:
            self._known[n] = propagate(self.rules, self.shape(n), self.connected == "strong")
        return self._known[n]

    @cached_property
    def _known(self) -> dict[int, Known]:
        return {}

    # -- membership ---------------------------------------------------------------------------

    def contains(self, graph: Graph) -> bool:
        """True if the graph is in the space."""
        return not self._odd_kind(graph) and self.excess(Batch.of([graph]))[0] == 0

    def contains_each(self, graphs: Sequence[Graph]) -> BoolArray:
        """`contains` for many graphs at once."""
        out = np.zeros(len(graphs), dtype=bool)
        alike: dict[int, list[int]] = {}
        for i, graph in enumerate(graphs):
            if not self._odd_kind(graph):
                alike.setdefault(graph.n_nodes, []).append(i)
        for index in alike.values():
            for start in range(0, len(index), _AT_ONCE):
                some = index[start : start + _AT_ONCE]
                out[some] = self.excess(Batch.of([graphs[i] for i in some])) == 0
        return out

    def violations(self, graph: Graph) -> list[str]:
        """Reasons why a graph is not in the space: words or names of rules; empty if it is."""
        odd = self._odd_kind(graph)
        if odd:
            return odd
        batch = Batch.of([graph])
        out = [words for words, excess in self._structural(batch) if excess[0] > 0]
        at_once = [rule for rule in self.rules if not rule.one_by_one]
        out += [rule.name for rule in at_once if rule.excess(batch)[0] > 0]
        if not out:  # these may only be asked about graphs that break nothing else
            broken = (rule for rule in self.rules if rule.one_by_one and rule.excess(batch)[0] > 0)
            out += [rule.name for rule in islice(broken, 1)]
        return out

    def check(self, graph: Graph) -> None:
        """Raise `NotInSpaceError` with all reasons if the graph is not in the space."""
        broken = self.violations(graph)
        if broken:
            raise NotInSpaceError(
                f"expected a graph of the space, got one that breaks: {'; '.join(broken)}; "
                "try space.sample(1) for an example, or fewer rules"
            )

    def enumerate(self, limit: int | None = None) -> list[Graph]:
        """All distinct graphs of the space, smallest first; at most ``limit``.

        Meant for small spaces: the number of graphs grows faster than exponentially with n_nodes.

        >>> [len(GraphSpace(n).enumerate()) for n in (3, 4, 5)]
        [2, 6, 21]
        """
        from ..encoding.enumeration import enumerate_graphs  # late: loads the solver
        from ..encoding.structure import structures

        if limit is not None:
            whole(limit, "limit", 0, InvalidSpaceError)
        out: list[Graph] = []
        for structure in structures(
            [self.shape(n) for n in self.sizes], self.connected, self.rules
        ):
            left = None if limit is None else limit - len(out)
            out += map(self.named, enumerate_graphs(structure, left))
        return out

    def count(self) -> int:
        """Number of graphs that `enumerate` returns."""
        return len(self.enumerate())

    def excess(self, batch: Batch, *, deadline: float = math.inf) -> FloatArray:
        """Violation of the rules by each graph, ``(B,)``: a sum over all rules, 0.0 inside.

        Rules that only say whether they hold are evaluated where nothing else is violated.
        Graphs not reached before the deadline (a `time.monotonic` value) get infinity.
        """
        parts = chunks(len(batch), batch.n_nodes)
        if len(parts) <= 1:
            return self._excess(batch)
        total = np.full(len(batch), np.inf)
        for part in parts:
            if time.monotonic() >= deadline:
                break
            total[part] = self._excess(batch.select(part))
        return total

    def _excess(self, batch: Batch) -> FloatArray:
        total = np.zeros(len(batch))
        for _, excess in self._structural(batch):
            total += excess
        for rule in self.rules:
            if not rule.one_by_one:
                total += rule.excess(batch)
        for rule in self.rules:
            if rule.one_by_one and (inside := np.flatnonzero(total == 0)).size:
                total[inside] = rule.excess(batch.select(inside))
        return total

    def derived(self, batch: Batch, *, deadline: float = math.inf) -> Batch:
        """The graphs, with all attributes set that a rule derives from others.

        Graphs that are not reached before the deadline (a `time.monotonic` value) stay unchanged;
        the first few are always reached.
        """
        if not any(type(rule).derive is not Rule.derive for rule in self.rules):
            return batch
        step = max(1, _DERIVED_CELLS // batch.n_nodes**2)
        if len(batch) <= step:
            return self._derived(batch)
        parts = []
        for start in range(0, len(batch), step):
            part = batch.select(slice(start, start + step))
            late = start > 0 and time.monotonic() >= deadline
            parts.append(part if late else self._derived(part))
        return parts[0].joined(*parts[1:])

    def _derived(self, batch: Batch) -> Batch:
        for rule in self.rules:
            batch = rule.derive(batch)
        return batch

    def _structural(self, batch: Batch) -> list[tuple[str, FloatArray]]:
        """All conditions except rules: size, ranges of labels and edge labels, connectivity."""
        n = batch.n_nodes
        ones = np.ones(len(batch))
        out = []
        if n not in self.sizes:
            off = max(self.n_min - n, n - self.n_max)
            out.append((f"number of nodes {span(self.sizes)}, got {n}", ones * off))
        wrong = (batch.labels >= self.n_labels).sum(axis=1)
        out.append((f"node labels below {self.n_labels}", wrong.astype(float)))
        if batch.edge_labels is not None:
            odd = (batch.edge_labels > self.n_edge_labels).sum(axis=(1, 2))
            out.append((f"edge labels 1..{self.n_edge_labels}", odd.astype(float)))
        if self.connected is not False:
            words = "strongly connected" if self.connected == "strong" else "connected"
            out.append((words, batch.unreached(strong=self.connected == "strong")))
        return out

    def oddities(self, graph: Graph) -> list[str]:
        """Reasons why a model of this space cannot encode the graph; empty if it can.

        Any graph of the right kind with these labels can be learnt from, whatever its size and
        whichever rules it breaks.
        """
        out = self._odd_kind(graph)
        if graph.n_nodes > MAX_GRAPH:
            out.append(f"at most {MAX_GRAPH} nodes, got {graph.n_nodes}")
        if graph.labels.max() >= self.n_labels:
            out.append(f"node labels below {self.n_labels}, got {graph.labels.max()}")
        elif (theirs := graph.label_names) is not None and (mine := self.label_names) is not None:
            used = sorted({(mine[k], theirs[k]) for k in graph.labels.tolist()})
            out += [f"a label called {a!r}, got {b!r}" for a, b in used if a != b]
        return out

    def _odd_kind(self, graph: Graph) -> list[str]:
        """Differences that make the rules meaningless for the graph."""
        if not isinstance(graph, Graph):
            raise InvalidInputError(
                f"expected a bogrape Graph, got {type(graph).__name__}; try Graph.from_networkx"
            )
        out = []
        if graph.directed != self.directed:
            out.append(f"directed={self.directed}, got {graph.directed}")
        if graph.n_features != self.n_features:
            out.append(f"{self.n_features} features per node, got {graph.n_features}")
        if (graph.edge_labels is not None) != (self.n_edge_labels > 0):
            wanted = "with" if self.n_edge_labels else "without"
            out.append(f"edges {wanted} labels")
        return out

    def sample(
        self,
        k: int,
        seed: int = 0,
        *,
        distinct: bool = False,
        n_nodes: int | None = None,
        exclude: Iterable[str] = (),
        deadline: float = math.inf,
    ) -> list[Graph]:
        """k random graphs of the space, of varied size and density; the same for the same seed.

        Args:
            k: number of graphs.
            seed: an integer ``>= 0``.
            distinct: whether all of them must be different (see `identity`).
            n_nodes: draw only graphs of this size.
            exclude: identities of graphs not to return.
            deadline: `time.monotonic` value at which to give up. It does not affect graphs
                found earlier.

        Raises:
            InfeasibleSpaceError: if the space is empty; the error names rules that contradict each
                other.
            SamplingError: if too few graphs were found within the budget, or before the deadline;
                in the latter case ``error.graphs`` holds those found.
        """
        k = whole(k, "the number of graphs", 0)
        seed = whole(seed, "seed", 0)
        if not isinstance(distinct, (bool, np.bool_)):
            raise InvalidInputError(f"distinct must be True or False, got {shown(distinct)}")
        if isinstance(exclude, str) or not isinstance(exclude, Iterable):
            raise InvalidInputError(f"exclude must be a list of strings, got {shown(exclude)}")
        if (
            n_nodes is not None
            and whole(n_nodes, "n_nodes", 1, InvalidSpaceError) not in self.sizes
        ):
            raise InvalidInputError(
                f"expected n_nodes to be {span(self.sizes)}, got {n_nodes!r}; try None for all"
            )
        sizes = tuple(self.sizes) if n_nodes is None else (int(n_nodes),)
        try:
            taken = frozenset(exclude)
        except TypeError:
            raise InvalidInputError(
                f"exclude must hold strings returned by space.identity, got {shown(exclude)}"
            ) from None
        try:
            drawn = sample(
                self, k, seed, sizes, distinct=distinct, exclude=taken, deadline=deadline
            )
            return [self.named(graph) for graph in drawn]
        except SamplingError as error:
            error.graphs = tuple(map(self.named, error.graphs))
            if error.found == 0 and not error.out_of_time and not taken and n_nodes is None:
                from ..encoding.contradiction import refuse_contradiction  # late: loads the solver

                shapes = [self.shape(n) for n in self.sizes]
                refuse_contradiction(shapes, self.connected, self.rules, deadline)
            raise

    # -- conversions --------------------------------------------------------------------------

    def describe(self) -> str:
        """The space in plain words."""
        how = {True: "weakly connected" if self.directed else "connected", False: ""}
        words = [
            "strongly connected" if self.connected == "strong" else how[bool(self.connected)],
            "directed" if self.directed else "undirected",
            f"{self.nouns.graphs} with {span(self.sizes)} {self.nouns.nodes}",
        ]
        lines = [" ".join(filter(None, words)).capitalize()]
        if self.label_names:
            lines.append(f"node labels: {', '.join(self.label_names)}")
        elif self.n_labels > 1:
            lines.append(f"node labels: 0..{self.n_labels - 1}")
        if self.n_features:
            lines.append(f"binary features per node: {self.n_features}")
        if self.n_edge_labels:
            lines.append(
                f"edge labels: 1..{self.n_edge_labels} (only the kernel rbf sees them: predictions "
                "of the others do not depend on edge labels)"
            )
        if self.nodes:
            sites = zip(self.nodes, self.fixed_labels or self.nodes, strict=True)
            said = (name if name == label else f"{name} ({label})" for name, label in sites)
            lines.append(f"nodes: {', '.join(said)} (kernels see labels, not names)")
        rules = [rule for rule in self.rules if not isinstance(rule, NamedNodes)]
        checked = {True: "", False: " (checked graph by graph, not known to solvers)"}
        return "\n  ".join(lines + [f"rule: {rule.name}{checked[rule.encoded]}" for rule in rules])

    def to_networkx(self, graph: Graph) -> Any:
        """The graph as a networkx graph, with the names of this space for nodes and labels.

        >>> space = GraphSpace(nodes=["a", "b"], labels={"a": "router", "b": "switch"})
        >>> space.to_networkx(space.sample(1)[0]).nodes(data=True)
        NodeDataView({'a': {'label': 'router'}, 'b': {'label': 'switch'}})
        """
        self.check(graph)
        return to_networkx(graph, self.nodes, self.label_names)

    def from_networkx(
        self, graph: Any, *, ignore: Sequence[str] = (), edge_label: str | None = None
    ) -> Graph:
        """Read a networkx graph whose nodes have the names of this space, in any order.

        Node attribute ``label`` is the name of a label, or its number; it may be left out where the
        space fixes the labels. For the rest see `Graph.from_networkx`. Use `check` to test whether
        the graph is in the space.
        """
        names, fixed = self.label_names, self.fixed_labels
        return self.named(from_networkx(graph, self.nodes, names, fixed, ignore, edge_label))

    def to_json(self) -> str:
        """A JSON text that `from_json` reads back as an equal space."""
        rules = [rule for rule in self.rules if not isinstance(rule, NamedNodes)]
        data: dict[str, Any] = {
            "n_nodes": self.n_nodes,
            "labels": self.labels,
            "features": self.features,
            "directed": self.directed,
            "connected": self.connected,
            "rules": [rule.to_dict() for rule in rules],
            "edge_labels": self.edge_labels,
        }
        if self.domain is not None and self.domain != self._domain_of_rules:
            data["domain"] = self.domain.name
        if self.nodes is not None:
            data["nodes"] = self.nodes
            if fixed := self.fixed_labels:
                data["labels"] = dict(zip(self.nodes, fixed, strict=True))
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> GraphSpace:
        """Read what `to_json` wrote; anything else is refused with the reason."""
        data = read_space(text)
        rules = data.pop("rules", [])
        return cls(**data, rules=tuple(map(rule_from_dict, rules)))
