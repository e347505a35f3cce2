"""Independent truth: slow, literal or somebody else's code, sharing nothing with ``src``."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from bogrape.graph import Graph

# -- graphs: networkx ---------------------------------------------------------------------------


def networkx_graph(graph: Graph) -> Any:
    """Built edge by edge, without `Graph.to_networkx`; all a node or edge carries is ``mark``."""
    out = nx.DiGraph() if graph.directed else nx.Graph()
    for v in range(graph.n_nodes):
        out.add_node(v, mark=(int(graph.labels[v]), tuple(graph.features[v].tolist())))
    for u, v in itertools.permutations(range(graph.n_nodes), 2):
        if graph.adjacency[u, v]:
            bond = None if graph.edge_labels is None else int(graph.edge_labels[u, v])
            out.add_edge(u, v, mark=bond)
    return out


def are_isomorphic(left: Graph, right: Graph) -> bool:
    """Equal up to the names of nodes, by networkx's VF2."""

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
    """Eq. (SP), or (SSP) when not labelled: over u1, v1 of one graph and u2, v2 of the other."""
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
