"""Independent references: slow, literal or somebody else's code, sharing nothing with ``src``."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from decimal import MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np

from bogrape.graph import Graph

# -- graphs: networkx ---------------------------------------------------------------------------


def networkx_graph(graph: Graph) -> Any:
    """Converted edge by edge, without `Graph.to_networkx`; the only attribute is ``mark``."""
    out = nx.DiGraph() if graph.directed else nx.Graph()
    for v in range(graph.n_nodes):
        out.add_node(v, mark=(int(graph.labels[v]), tuple(graph.features[v].tolist())))
    for u, v in itertools.permutations(range(graph.n_nodes), 2):
        if graph.adjacency[u, v]:
            bond = None if graph.edge_labels is None else int(graph.edge_labels[u, v])
            out.add_edge(u, v, mark=bond)
    return out


def are_isomorphic(left: Graph, right: Graph) -> bool:
    """True if the graphs are equal up to their numbering, by networkx's VF2."""

    def kind(graph: Graph) -> tuple[object, ...]:
        return (graph.directed, graph.n_features, graph.edge_labels is None)

    def same(a: dict[str, object], b: dict[str, object]) -> bool:
        return a["mark"] == b["mark"]

    return kind(left) == kind(right) and bool(
        nx.is_isomorphic(networkx_graph(left), networkx_graph(right), same, same)
    )


def distances(graph: Graph) -> dict[tuple[int, int], int]:
    """Lengths of shortest paths between ordered pairs; pairs without a path are absent."""
    found = dict(nx.all_pairs_shortest_path_length(networkx_graph(graph)))
    return {(u, v): length for u, row in found.items() for v, length in row.items()}


def path_counts(graph: Graph) -> Counter[tuple[int, int, int]]:
    """``P_sab`` as a mapping from (s, a, b)."""
    return Counter(
        (s, int(graph.labels[u]), int(graph.labels[v])) for (u, v), s in distances(graph).items()
    )


# -- kernels: the sums of the paper, and GraKel -------------------------------------------------


def quadruple_sum(left: Graph, right: Graph, *, labelled: bool) -> float:
    """Eq. (SP), or (SSP) if not labelled: a sum over u1, v1 of one graph, u2, v2 of the other."""
    here, there = distances(left), distances(right)
    total = 0
    for (u1, v1), s1 in here.items():
        for (u2, v2), s2 in there.items():
            total += s1 == s2 and (
                not labelled
                or (left.labels[u1] == right.labels[u2] and left.labels[v1] == right.labels[v2])
            )
    return float(total) / (left.n_nodes**2 * right.n_nodes**2)


def feature_sum(left: Graph, right: Graph, n_labels: int) -> float:
    """``k_F`` over all pairs of nodes, with M = n_labels + number of further features."""
    total = sum(
        int(left.labels[u] == right.labels[v]) + int((left.features[u] & right.features[v]).sum())
        for u in range(left.n_nodes)
        for v in range(right.n_nodes)
    )
    return total / (left.n_nodes * right.n_nodes * (n_labels + left.n_features))


def kernel_matrix(left: Sequence[Graph], right: Sequence[Graph], name: str) -> np.ndarray:
    """``k_G`` by name, entry by entry."""
    linear = [[quadruple_sum(a, b, labelled=not name.endswith("ssp")) for b in right] for a in left]
    return np.exp(linear) if name.startswith("e") else np.array(linear)


def feature_matrix(left: Sequence[Graph], right: Sequence[Graph], n_labels: int) -> np.ndarray:
    """``k_F``, entry by entry."""
    return np.array([[feature_sum(a, b, n_labels) for b in right] for a in left])


def grakel_shortest_path(graphs: Sequence[Graph]) -> np.ndarray:
    """GraKel's raw ShortestPath Gram matrix: labelled, pairs u = v left out."""
    from grakel import Graph as GrakelGraph
    from grakel.kernels import ShortestPath

    converted = [
        GrakelGraph(g.adjacency.astype(int), node_labels=dict(enumerate(g.labels.tolist())))
        for g in graphs
    ]
    return np.asarray(ShortestPath(normalize=False).fit_transform(converted))


# -- Gaussian process: scikit-learn, and the textbook -------------------------------------------


def sklearn_process(
    parts: dict[str, np.ndarray],
    amplitudes: dict[str, float],
    bounds: dict[str, tuple[float, float]],
    **options: Any,
) -> Any:
    """A GaussianProcessRegressor whose inputs are row numbers of the given kernel matrices.

    Its covariance is ``sum_i amplitude_i * part_i``; theta is the logarithm of the amplitudes.
    """
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

    class Amplitudes(Kernel):  # type: ignore[misc]
        def __init__(self, alpha: float, beta: float) -> None:
            self.alpha, self.beta = alpha, beta

        @property
        def hyperparameter_alpha(self) -> Any:
            return Hyperparameter("alpha", "numeric", bounds["alpha"])

        @property
        def hyperparameter_beta(self) -> Any:
            return Hyperparameter("beta", "numeric", bounds["beta"])

        def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
            rows = X[:, 0].astype(int)
            columns = rows if Y is None else Y[:, 0].astype(int)
            alpha = self.alpha * parts["alpha"][np.ix_(rows, columns)]
            beta = self.beta * parts["beta"][np.ix_(rows, columns)]
            return (alpha + beta, np.dstack([alpha, beta])) if eval_gradient else alpha + beta

        def diag(self, X: Any) -> Any:
            return np.diag(self(X)).copy()

        def is_stationary(self) -> bool:
            return False

    return GaussianProcessRegressor(Amplitudes(**amplitudes), normalize_y=True, **options)


def textbook_posterior(
    K: np.ndarray, k: np.ndarray, k_self: np.ndarray, noise: float, y: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation by plain solves, in the units of y; zero mean after centring."""
    values = np.asarray(y, dtype=float)
    centre, scale = values.mean(), values.std() or 1.0
    solved = np.linalg.solve(K + noise * np.eye(len(K)), np.c_[(values - centre) / scale, k.T])
    variance = k_self - np.einsum("ij,ji->i", k, solved[:, 1:])
    return centre + scale * (k @ solved[:, 0]), scale * np.sqrt(np.maximum(variance, 0.0))


def exact_standardisation(values: Sequence[float]) -> tuple[np.ndarray, Fraction, float]:
    """Standardised values, their mean and their deviation, computed with fractions."""
    exact = [Fraction(float(value)) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    largest = max(abs(value - mean) for value in exact)
    if not largest:
        return np.zeros(len(exact)), mean, 1.0
    shares = [float((value - mean) / largest) for value in exact]  # a root needs a float
    root = math.sqrt(math.fsum(share**2 for share in shares) / len(shares))
    return np.array(shares) / root, mean, float(largest * Fraction(root))


# -- rules: networkx ----------------------------------------------------------------------------


def rule_holds(rule: Any, graph: Graph) -> bool:
    """The meaning of a rule by its documentation, decided by networkx."""
    return bool(_RULES[type(rule).__name__](rule, graph, _facts(graph)[0]))


def _in_range(rule: Any, value: float) -> bool:
    low = -np.inf if rule.minimum is None else rule.minimum
    high = np.inf if rule.maximum is None else rule.maximum
    return bool(low <= value <= high)


def _degrees_hold(rule: Any, graph: Graph, g: Any) -> bool:
    degree = {"in": "in_degree", "out": "out_degree", None: "degree"}[rule.direction]
    return all(
        _in_range(rule, value)
        for v, value in getattr(g, degree)()
        if rule.node in (None, v) and rule.label in (None, graph.labels[v])
    )


def _no_adjacency(rule: Any, graph: Graph, g: Any) -> bool:
    forbidden = {rule.label_a, rule.label_b}
    return all({int(graph.labels[u]), int(graph.labels[v])} != forbidden for u, v in g.edges)


def _subgraph_there(rule: Any, graph: Graph, g: Any) -> bool:
    named = {v for e in rule.edges for v in e} | {v for v, _ in rule.labels}
    if not named <= set(g):
        return False
    wanted = g.__class__(list(rule.edges))
    wanted.add_nodes_from(named)
    part = g.subgraph(named)
    right = all(graph.labels[v] == label for v, label in rule.labels)
    missing = [e for e in wanted.edges if not part.has_edge(*e)]
    extra = [e for e in part.edges if not wanted.has_edge(*e)]
    return right and not missing and not (rule.induced and extra)


def _diameter(graph: Graph) -> float:
    length = _facts(graph)[1]
    return max(length.get(pair, np.inf) for pair in np.ndindex((graph.n_nodes,) * 2))


def _linear_sum(rule: Any, graph: Graph, g: Any) -> Any:
    terms = [(g.has_edge(u, v), c) for (u, v), c in rule.edges]
    terms += [(v in g and graph.labels[v] == label, c) for (v, label), c in rule.labels]
    terms += [(v in g and graph.features[v, m], c) for (v, m), c in rule.features]
    return sum((Fraction(str(c)) for there, c in terms if there), Fraction(0))


def _total_cost(rule: Any, graph: Graph, g: Any) -> Fraction:
    costs = {pair: Fraction(str(cost)) for pair, cost in rule.costs}
    if not graph.directed:
        costs |= {(v, u): cost for (u, v), cost in costs.items()}
    prices = dict(rule.edge_labels)
    usual = Fraction(str(rule.otherwise or 0)) if rule.costs else Fraction(1)
    spent = Fraction(0)
    for u, v, mark in g.edges(data="mark"):
        spent += costs.get((u, v), usual) * Fraction(str(prices[mark] if prices else 1))
    return spent


def _edits(rule: Any, graph: Graph, g: Any) -> float:
    """Number of edges, labels and bits that differ, marks of edges included."""
    given = rule.graph
    if given.n_nodes != graph.n_nodes:
        return np.inf

    def marks(of: Any) -> dict[Any, Any]:
        key = tuple if graph.directed else frozenset
        return {key((u, v)): mark for u, v, mark in of.edges(data="mark")}

    theirs, ours = marks(_facts(given)[0]), marks(g)
    out = sum(theirs.get(e, "none") != ours.get(e, "none") for e in {*theirs, *ours})
    out += sum(a != b for a, b in zip(given.labels, graph.labels, strict=True))
    return out + (rule.count_features and int((given.features != graph.features).sum()))


def _linear_holds(rule: Any, graph: Graph, g: Any) -> bool:
    value = _linear_sum(rule, graph, g)
    above = rule.minimum is None or value >= Fraction(str(rule.minimum))
    return above and (rule.maximum is None or value <= Fraction(str(rule.maximum)))


_RULES: dict[str, Any] = {
    "NumberOfEdges": lambda rule, _, g: _in_range(rule, g.number_of_edges()),
    "DegreeRange": _degrees_hold,
    "LabelCount": lambda rule, graph, _: _in_range(rule, list(graph.labels).count(rule.label)),
    "FixedLabel": lambda rule, graph, g: rule.node in g and graph.labels[rule.node] == rule.label,
    "RequiredEdge": lambda rule, _, g: g.has_edge(rule.u, rule.v),
    "ForbiddenEdge": lambda rule, _, g: not g.has_edge(rule.u, rule.v),
    "ForbiddenAdjacency": _no_adjacency,
    "RequiredSubgraph": _subgraph_there,
    "DiameterRange": lambda rule, graph, _: _in_range(rule, _diameter(graph)),
    "CycleRange": lambda rule, _, g: _in_range(rule, len(nx.cycle_basis(g))),
    "Acyclic": lambda _, graph, g: (
        nx.is_directed_acyclic_graph(g) if graph.directed else nx.is_forest(g)
    ),
    "LinearRule": _linear_holds,
    "TotalCost": lambda rule, graph, g: _total_cost(rule, graph, g) <= Fraction(str(rule.maximum)),
    "TwoConnected": lambda rule, _, g: (
        nx.is_biconnected(g) if rule.kind == "node" else nx.is_k_edge_connected(g, 2)
    ),
    "DisjointPaths": lambda rule, _, g: (
        {rule.u, rule.v} <= set(g) and nx.edge_connectivity(g, rule.u, rule.v) >= rule.minimum
    ),
    "MaximumDistance": lambda rule, graph, _: (
        _facts(graph)[1].get((rule.u, rule.v), np.inf) <= rule.maximum
    ),
    "EditDistance": lambda rule, graph, g: _edits(rule, graph, g) <= rule.maximum,
}


def is_connected(graph: Graph, how: bool | str) -> bool:
    """``how`` as in `GraphSpace`: True, False or "strong"."""
    g = _facts(graph)[0]
    if how == "strong":
        return bool(nx.is_strongly_connected(g))
    return how is False or bool(nx.is_weakly_connected(g) if graph.directed else nx.is_connected(g))


def rows_hold(rows: Sequence[Any], graph: Graph) -> bool:
    """True if the graph and some values of the helpers satisfy all rows."""
    g, length = _facts(graph)
    atoms = {atom for row in rows for atom, _ in (*row.terms, *row.when)}
    helpers = sorted((atom for atom in atoms if type(atom).__name__ == "Aux"), key=str)
    value = {atom: _atom(atom, graph, g, length) for atom in atoms if atom not in helpers}
    for bits in itertools.product((False, True), repeat=len(helpers)):
        value.update(zip(helpers, bits, strict=True))
        if all(_row_holds(row, value) for row in rows):
            return True
    return False


@lru_cache(maxsize=10_000)
def _facts(graph: Graph) -> tuple[Any, dict[tuple[int, int], int]]:
    return networkx_graph(graph), distances(graph)


def _row_holds(row: Any, value: dict[Any, bool]) -> bool:
    if any(value[atom] != wanted for atom, wanted in row.when):
        return True
    return bool(row.low <= sum(c * value[atom] for atom, c in row.terms) <= row.high)


def _atom(atom: Any, graph: Graph, g: Any, length: dict[tuple[int, int], int]) -> bool:
    kind = type(atom).__name__
    if kind == "Edge":
        assert graph.directed or atom.u < atom.v
        return bool(g.has_edge(atom.u, atom.v))
    if kind == "HasLabel":
        return bool(graph.labels[atom.v] == atom.label)
    if kind == "HasFeature":
        return bool(graph.features[atom.v, atom.feature])
    if kind == "EdgeLabel":
        return bool(graph.edge_labels[atom.u, atom.v] == atom.k)
    assert kind == "Within"
    assert graph.directed or atom.u < atom.v
    return length.get((atom.u, atom.v), np.inf) <= atom.s


@lru_cache(maxsize=20)
def all_graphs(n: int, *, n_labels: int = 1, directed: bool = False) -> list[Graph]:
    """Every adjacency matrix on n nodes with every labelling."""
    pairs = (itertools.permutations if directed else itertools.combinations)(range(n), 2)
    cells = list(pairs)
    out = []
    for bits in itertools.product((0, 1), repeat=len(cells)):
        matrix = np.zeros((n, n), dtype=int)
        for (u, v), bit in zip(cells, bits, strict=True):
            matrix[u, v] = bit
            if not directed:
                matrix[v, u] = bit
        for labels in itertools.product(range(n_labels), repeat=n):
            out.append(Graph(matrix, labels, directed=directed))
    return out


# -- acquisition: hundreds of digits ------------------------------------------------------------


def log_expected_improvement(mean: float, std: float, goal: float) -> float:
    """Logarithm of the expected improvement below a goal, for the exact values of the floats."""
    with localcontext() as context:
        context.prec, context.Emin = 500, MIN_EMIN
        gain, spread = Decimal(goal) - Decimal(mean), Decimal(std)
        return float((spread * _h(gain / spread)).ln())


def _h(u: Decimal) -> Decimal:
    """``phi(u) + u Phi(u)``, by its power series, or by its asymptotic one for u < -30."""
    if u > 0:
        return u + _h(-u)
    pi = Decimal(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
    )
    density = (-u * u / 2).exp() / (2 * pi).sqrt()
    if u < -30:  # the smallest term is exp(-450) of the first
        total, term = Decimal(0), Decimal(1)
        for k in range(1, 40):
            term *= -Decimal(2 * k - 1) / (u * u)
            total -= term
        return density * total
    total, term, k = Decimal(0), u, 1
    while abs(term) > Decimal(10) ** -480:
        total += term
        term *= u * u / (2 * k + 1)
        k += 1
    return density + u * (Decimal("0.5") + density * total)
