"""`Graph`: a small attributed graph that cannot change.

A graph has nodes ``0..n-1``, an adjacency matrix without self-loops, one integer *label* per node
(the one-hot class of the paper), any number of further binary node *features*, optional integer
*edge labels* (1 and up; in molecules, bond orders) and a direction flag. It is checked when it is
built, frozen afterwards, and usable as a dictionary key.

Two notions of sameness:

* ``a == b``: the same matrices, node by node;
* ``a.canonical_key() == b.canonical_key()``: isomorphic, respecting labels, features, edge labels
  and direction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import display
from .arrays import BoolArray, FloatArray, IntArray
from .checks import (
    adjacency_matrix,
    edge_label_matrix,
    feature_matrix,
    label_vector,
)
from .errors import InvalidGraphError
from .graph_readers import NAMES, read_json, read_networkx


class Graph:
    """An attributed graph, frozen and hashable.

    Args:
        adjacency: square 0/1 matrix with an empty diagonal; symmetric unless ``directed``.
        labels: one integer ``>= 0`` per node; all zero by default.
        features: ``n_nodes`` rows of 0/1 values beyond the label; none by default.
        directed: whether ``adjacency[u, v]`` is an arc from ``u`` to ``v``.
        edge_labels: matrix of integers, ``>= 1`` exactly on edges; ``None`` for no edge labels.
        label_names: names of labels 0, 1, ... They do not affect equality, and JSON keeps them only
            on request.

    >>> path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], labels=[0, 1, 0])
    >>> path.n_nodes, path.n_edges, path.distances()[0, 2]
    (3, 2, np.float64(2.0))
    """

    __slots__ = (
        "__dict__",  # for the cached key and hash only
        "_adjacency",
        "_directed",
        "_domain",
        "_edge_labels",
        "_features",
        "_label_names",
        "_labels",
    )

    def __init__(
        self,
        adjacency: ArrayLike,
        labels: ArrayLike | None = None,
        features: ArrayLike | None = None,
        directed: bool = False,
        *,
        edge_labels: ArrayLike | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(directed, (bool, np.bool_)):
            raise InvalidGraphError(f"directed must be True or False, got {directed!r}")
        matrix = adjacency_matrix(adjacency, bool(directed))
        n = len(matrix)
        self._adjacency = matrix
        self._directed = bool(directed)
        self._labels = label_vector(labels, n)
        self._features = feature_matrix(features, n)
        self._label_names = _checked_names(label_names, int(self._labels.max(initial=0)))
        self._domain: str | None = None
        self._edge_labels = (
            None if edge_labels is None else edge_label_matrix(edge_labels, matrix, bool(directed))
        )

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_edge_labels"):  # the last field set by __init__
            raise AttributeError("a Graph cannot be changed; build a new one")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles are checked and frozen as well
        parts = (self._adjacency, self._labels, self._features, self._directed, self._edge_labels)
        return _rebuild, (*parts, self._label_names, self._domain)

    # -- properties ---------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self._adjacency)

    @property
    def n_edges(self) -> int:
        """Number of edges; of arcs when directed."""
        total = int(self._adjacency.sum())
        return total if self._directed else total // 2

    @property
    def adjacency(self) -> BoolArray:
        """Boolean adjacency matrix (read-only)."""
        return self._adjacency

    @property
    def labels(self) -> IntArray:
        """Integer label of each node (read-only)."""
        return self._labels

    @property
    def features(self) -> BoolArray:
        """Boolean features beyond the label, ``n_nodes`` rows (read-only)."""
        return self._features

    @property
    def n_features(self) -> int:
        """Number of features beyond the label."""
        return int(self._features.shape[1])

    @property
    def directed(self) -> bool:
        """True if edges have a direction."""
        return self._directed

    @property
    def edge_labels(self) -> IntArray | None:
        """Integer edge labels, 0 where there is no edge; ``None`` when edges carry none."""
        return self._edge_labels

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of labels 0, 1, ..., for graphs made by a space with named labels."""
        return self._label_names

    @property
    def domain(self) -> str | None:
        """Name of the `bogrape.domain.Domain` it was made for, if any."""
        return self._domain

    @property
    def _names(self) -> dict[str, Any]:
        """The known names, as JSON-compatible data."""
        known = {"label_names": self._label_names, "domain": self._domain}
        return {key: value for key, value in known.items() if value is not None}

    def with_names(
        self, label_names: Sequence[str] | None = None, domain: str | None = None
    ) -> Graph:
        """The same graph, equal to this one, with other names of labels and another domain.

        >>> Graph([[0, 1], [1, 0]], labels=[0, 1]).with_names(["C", "O"]).label_names
        ('C', 'O')
        """
        if domain is not None and not isinstance(domain, str):
            raise InvalidGraphError(f"domain must be a name, got {domain!r:.100}")
        names = _checked_names(label_names, int(self._labels.max(initial=0)))
        if names == self._label_names and domain == self._domain:
            return self
        made = object.__new__(Graph)  # the arrays are frozen and checked: both may hold them
        for slot in Graph.__slots__[1:]:
            object.__setattr__(made, slot, getattr(self, slot))
        object.__setattr__(made, "_label_names", names)
        object.__setattr__(made, "_domain", domain)
        made.__dict__.update(self.__dict__)  # cached keys, which ignore names
        return made

    def edges(self) -> list[tuple[int, int]]:
        """All edges as ``(u, v)``, with ``u < v`` unless directed."""
        matrix = self._adjacency if self._directed else np.triu(self._adjacency)
        u, v = np.nonzero(matrix)
        return list(zip(u.tolist(), v.tolist(), strict=True))

    def distances(self) -> FloatArray:
        """Lengths of shortest paths; ``inf`` where there is no path (as in scipy)."""
        n = self.n_nodes
        distance = np.full((n, n), np.inf)
        # float32 products run through BLAS, and are exact here
        step = (self._adjacency | np.eye(n, dtype=bool)).astype(np.float32)
        within = np.eye(n, dtype=bool)  # pairs at distance <= length
        for length in range(n):
            fresh = within & np.isinf(distance)
            if not fresh.any():
                break
            distance[fresh] = length
            within = within.astype(np.float32) @ step > 0
        return distance

    # -- sameness -----------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        edge_labels = None if self._edge_labels is None else self._edge_labels.tobytes()
        return (
            self._directed,
            self._adjacency.tobytes(),
            self._labels.tobytes(),
            self._features.shape,
            self._features.tobytes(),
            edge_labels,
        )

    def canonical_key(self) -> str:
        """A text that is equal for two graphs exactly when they are isomorphic.

        Labels, features, edge labels and direction must match too. The order of nodes is found by
        igraph's BLISS, which colours vertices but has no arcs and no edge labels; these become
        extra coloured vertices (see ``docs/decisions/001-canonical-key-by-bliss.md``).
        """
        return self._canonical[0]

    def canonical(self) -> Graph:
        """The representative of this graph's isomorphism class: equal for isomorphic graphs."""
        return self.permuted(self._canonical[1])

    @cached_property
    def _canonical(self) -> tuple[str, list[int]]:
        codes = _node_codes(self)
        order = _canonical_order(self, codes)
        edge_labels = self._edge_labels
        matrix = (self._adjacency if edge_labels is None else edge_labels)[order][:, order]
        cells = matrix.ravel() if self._directed else matrix[_above_diagonal(self.n_nodes)]
        body = (
            np.packbits(cells).tobytes().hex()
            if edge_labels is None
            else ".".join(map(str, cells.tolist()))
        )
        colours = ",".join(codes[v] for v in order)
        kind = f"{'d' if self._directed else 'u'}{'' if edge_labels is None else 'e'}"
        return f"{kind}{self.n_nodes}f{self.n_features}:{colours}:{body}", order

    @cached_property
    def identities(self) -> dict[object, str]:
        """Cached identities other than isomorphism; see `GraphSpace.identity`."""
        return {}

    def permuted(self, order: ArrayLike) -> Graph:
        """The same graph with node ``order[i]`` renamed ``i``."""
        try:
            index = np.asarray(order, dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            index = np.empty(0, dtype=np.int64)
        if index.ndim != 1 or sorted(index.tolist()) != list(range(self.n_nodes)):
            raise InvalidGraphError(
                f"order must be a permutation of 0..{self.n_nodes - 1}, got {order!r:.200}"
            )
        grid = np.ix_(index, index)
        return Graph(
            self._adjacency[grid],
            self._labels[index],
            self._features[index],
            self._directed,
            edge_labels=None if self._edge_labels is None else self._edge_labels[grid],
        ).with_names(self._label_names, self._domain)

    def _repr_html_(self) -> str | None:
        return display.html(self)

    def __repr__(self) -> str:
        parts = [f"n_nodes={self.n_nodes}", f"edges={self.edges()}"]
        if self._labels.any():
            parts.append(f"labels={self._labels.tolist()}")
        if self.n_features:
            parts.append(f"features={self._features.astype(int).tolist()}")
        if self._edge_labels is not None:
            parts.append(f"edge_labels={[int(self._edge_labels[e]) for e in self.edges()]}")
        if self._directed:
            parts.append("directed=True")
        return f"Graph({', '.join(parts)})"

    # -- in and out ---------------------------------------------------------------------------

    @classmethod
    def from_networkx(
        cls, graph: Any, *, ignore: Sequence[str] = (), edge_label: str | None = None
    ) -> Graph:
        """Read a networkx graph; nothing is left out silently.

        Nodes keep their order. Node attribute ``label`` is an integer, ``features`` a sequence of
        0/1; edge attribute ``label`` an integer ``>= 1``. Each must be given for all or for none.
        Any other attribute of a node or an edge is refused, because the graph could not store it;
        only a ``weight`` that is 1 on every edge is ignored.

        Args:
            graph: a networkx ``Graph`` or ``DiGraph``.
            ignore: attributes of nodes or edges to leave out.
            edge_label: the edge attribute to read as edge labels, instead of ``label``.

        >>> import networkx as nx
        >>> pair = nx.Graph([("a", "b", {"weight": 3, "colour": "red"})])
        >>> Graph.from_networkx(pair, edge_label="weight", ignore=["colour"])
        Graph(n_nodes=2, edges=[(0, 1)], edge_labels=[3])
        """
        return _rebuild(*read_networkx(graph, ignore, edge_label))

    def to_networkx(self) -> Any:
        """A networkx ``Graph`` or ``DiGraph`` that `from_networkx` reads back as an equal graph.

        The names of its labels and of its domain are kept in the attribute ``bogrape_names`` of the
        graph, as a JSON text that all file formats can hold.
        """
        import networkx as nx

        out: Any = nx.DiGraph() if self._directed else nx.Graph()
        if self._names:
            out.graph[NAMES] = json.dumps(self._names)
        if self._edge_labels is not None:
            out.graph["edge_labels"] = True  # marks a labelled graph without edges
        for v in range(self.n_nodes):
            attributes: dict[str, Any] = {"label": int(self._labels[v])}
            if self.n_features:
                attributes["features"] = tuple(self._features[v].astype(int).tolist())
            out.add_node(v, **attributes)
        for u, v in self.edges():
            if self._edge_labels is None:
                out.add_edge(u, v)
            else:
                out.add_edge(u, v, label=int(self._edge_labels[u, v]))
        return out

    def to_json(self, *, names: bool = False) -> str:
        """A short JSON text that `from_json` reads back as an equal graph.

        With ``names`` it keeps the names of labels and of the domain as well.
        """
        data: dict[str, Any] = {
            "n_nodes": self.n_nodes,
            "directed": self._directed,
            "edges": self.edges(),
            "labels": self._labels.tolist(),
        }
        if self.n_features:
            data["features"] = self._features.astype(int).tolist()
        if self._edge_labels is not None:
            data["edge_labels"] = [int(self._edge_labels[edge]) for edge in self.edges()]
        if names:
            data |= self._names
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Read what `to_json` wrote; anything else is refused with the reason.

        A text may hold a graph with up to 1,000 nodes.
        """
        return _rebuild(*read_json(text))


def _rebuild(
    adjacency: ArrayLike,
    labels: ArrayLike | None,
    features: ArrayLike | None,
    directed: bool,
    edge_labels: ArrayLike | None,
    label_names: Sequence[str] | None = None,  # pickles of earlier versions have no names
    domain: str | None = None,
) -> Graph:
    made = Graph(adjacency, labels, features, directed, edge_labels=edge_labels)
    return made.with_names(label_names, domain)


def _checked_names(names: Sequence[str] | None, largest: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    texts = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    if not texts or len(names) <= largest:
        raise InvalidGraphError(
            f"label_names must be a string for each of the labels 0..{largest}, got {names!r:.100}"
        )
    return tuple(names)


# -- canonical order --------------------------------------------------------------------------


def _node_codes(graph: Graph) -> list[str]:
    """One string per node with everything that an isomorphism must preserve."""
    labels = graph.labels.tolist()
    if not graph.n_features:
        return [str(label) for label in labels]
    bits = ["".join("1" if bit else "0" for bit in row) for row in graph.features.tolist()]
    return [f"{label}/{row}" for label, row in zip(labels, bits, strict=True)]


@lru_cache(maxsize=128)  # computing them takes as long as the rest of a canonical key
def _above_diagonal(n: int) -> tuple[NDArray[np.intp], ...]:
    return np.triu_indices(n, 1)


def _canonical_order(graph: Graph, codes: list[str]) -> list[int]:
    """Old names of the nodes in canonical order; ``codes`` are those of `_node_codes`."""
    import igraph  # late: a tenth of a second of `import bogrape`

    n = graph.n_nodes
    rank = {code: i for i, code in enumerate(sorted(set(codes)))}
    colours = [rank[code] for code in codes]
    if not graph.directed and graph.edge_labels is None:
        edges = graph.edges()
        total = n
    else:
        # An edge with a label becomes one vertex of a colour of its own; an arc becomes a tail and
        # a head vertex, so that reversing it changes the picture.
        edges, total = [], n
        cells = graph.adjacency if graph.edge_labels is None else graph.edge_labels
        number_of = {int(label): i for i, label in enumerate(np.unique(cells))}
        for u, v in graph.edges():
            number = number_of[int(cells[u, v])]
            colours.append(n + 2 * number)
            if graph.directed:
                colours.append(n + 2 * number + 1)
                edges += [(u, total), (total, total + 1), (total + 1, v)]
                total += 2
            else:
                edges += [(u, total), (total, v)]
                total += 1
    blown_up = igraph.Graph(n=total, edges=edges)
    blown_up.vs["origin"] = range(total)
    # The direction of the permutation depends on igraph's version; vertices that carry their old
    # name do not.
    canonical = blown_up.permute_vertices(blown_up.canonical_permutation(color=colours))
    return [origin for origin in canonical.vs["origin"] if origin < n]
