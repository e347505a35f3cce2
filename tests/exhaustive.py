"""Every graph of a small space, by brute force, and the answers that the exact engine must give."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np

from bogrape import GraphGP, GraphSpace
from bogrape.acquisition import EI, LCB
from bogrape.batch import Batch
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import propose_exact
from bogrape.propose.proposal import Proposal, Request

# -- all graphs up to isomorphism ---------------------------------------------------------------


def _numbered(n: int, node_kinds: int, edge_kinds: int, directed: bool) -> np.ndarray:
    """Matrices ``(B, n, n)`` of all numbered graphs: edges off the diagonal, node kinds on it."""
    pairs = (itertools.permutations if directed else itertools.combinations)(range(n), 2)
    cells = list(pairs)
    edges = np.array(list(itertools.product(range(edge_kinds + 1), repeat=len(cells))), dtype=int)
    out = np.zeros((len(edges), n, n), dtype=np.int64)
    for (u, v), column in zip(cells, edges.reshape(len(edges), -1).T, strict=True):
        out[:, u, v] = column
        if not directed:
            out[:, v, u] = column
    kinds = np.array(list(itertools.product(range(node_kinds), repeat=n)))
    out = np.repeat(out, len(kinds), axis=0)
    out[:, np.arange(n), np.arange(n)] = np.tile(kinds, (len(edges), 1))
    return out


def _reach(matrices: np.ndarray, directed: bool) -> np.ndarray:
    """Reachability between nodes, by repeated squaring."""
    n = matrices.shape[1]
    out = (matrices > 0) | np.eye(n, dtype=bool)
    if not directed:
        out = out | out.transpose(0, 2, 1)
    for _ in range(n.bit_length()):
        out = (out.astype(np.uint8) @ out.astype(np.uint8)) > 0
    return out


def _connected(matrices: np.ndarray, how: bool | str) -> np.ndarray:
    if how is False:
        return np.ones(len(matrices), dtype=bool)
    bare = matrices * ~np.eye(matrices.shape[1], dtype=bool)
    return _reach(bare, how == "strong").all(axis=(1, 2))


def _one_each(matrices: np.ndarray) -> np.ndarray:
    """One matrix of each class: that with the smallest code over all renumberings."""
    n = matrices.shape[1]
    base = int(matrices.max(initial=0)) + 1
    assert base ** (n * n) < 2**62
    weights = base ** np.arange(n * n, dtype=np.int64)
    code = best = matrices.reshape(len(matrices), -1) @ weights
    for order in itertools.permutations(range(n)):
        moved = matrices[:, order][:, :, order]
        best = np.minimum(best, moved.reshape(len(matrices), -1) @ weights)
    return matrices[code == best]


@lru_cache(maxsize=100)
def classes(
    n: int,
    *,
    n_labels: int = 1,
    n_features: int = 0,
    n_edge_labels: int = 0,
    directed: bool = False,
    connected: bool | str = True,
) -> tuple[Graph, ...]:
    """One graph of each isomorphism class."""
    if n > 5 and not directed and n_labels == 1 and not n_features and not n_edge_labels:
        atlas = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == n]
        chosen = [g for g in atlas if connected is False or nx.is_connected(g)]
        return tuple(Graph(nx.to_numpy_array(g).astype(bool)) for g in chosen)
    n_kinds = n_labels * 2**n_features
    matrices = _numbered(n, n_kinds, max(1, n_edge_labels), directed)
    matrices = _one_each(matrices[_connected(matrices, connected)])
    out = []
    for matrix in matrices:
        kinds, bonds = matrix.diagonal(), matrix * ~np.eye(n, dtype=bool)
        features = (kinds[:, None] // n_labels >> np.arange(n_features)) & 1
        out.append(
            Graph(
                bonds > 0,
                kinds % n_labels,
                features.astype(bool),
                directed,
                edge_labels=bonds if n_edge_labels else None,
            )
        )
    return tuple(out)


def numberings(graph: Graph) -> Batch:
    """The graph under all numberings of its nodes."""
    return Batch.of([graph.permuted(p) for p in itertools.permutations(range(graph.n_nodes))])


@lru_cache(maxsize=200)
def everything(space: GraphSpace) -> tuple[Graph, ...]:
    """All graphs of a space up to isomorphism, in a numbering that obeys the rules."""
    out = []
    for n in space.sizes:
        for graph in classes(
            n,
            n_labels=space.n_labels,
            n_features=space.n_features,
            n_edge_labels=space.n_edge_labels,
            directed=space.directed,
            connected=space.connected,
        ):
            named = any(rule.nodes() for rule in space.rules)
            batch = numberings(graph) if named else Batch.of([graph])
            excess = sum((rule.excess(batch) for rule in space.rules), np.zeros(len(batch)))
            if (excess == 0).any():
                out.append(batch.graph(int(np.argmin(excess))))
    return tuple(out)


# -- data ---------------------------------------------------------------------------------------

DATASETS = ("random", "few", "sizes", "constant", "outlier", "one label", "repeats")


def dataset(space: GraphSpace, kind: str, seed: int) -> tuple[list[Graph], np.ndarray]:
    """Observations of the space's kind, which may break its rules and have other sizes."""
    rng = np.random.default_rng([seed, DATASETS.index(kind)])
    n_data = 2 if kind == "few" else int(rng.integers(4, 12))
    sizes = list(space.sizes)
    if kind == "sizes":
        sizes = [size for size in (2, 3, 4, 8, 9) if size not in sizes]
    graphs = []
    for _ in range(n_data):
        graphs.append(
            random_graph(space, int(rng.choice(sizes)), rng, one_label=kind == "one label")
        )
    if kind == "repeats":
        graphs[1:3] = [graphs[0], graphs[0]]
    values = rng.normal(size=n_data)
    if kind == "constant":
        values = np.full(n_data, 3.0)
    if kind == "outlier":
        values[0] = 1e5 * rng.choice([-1, 1])
    return graphs, values


def random_graph(
    space: GraphSpace, n: int, rng: np.random.Generator, *, one_label: bool = False
) -> Graph:
    """A random graph of the kind of a space: density, labels and features at random."""
    matrix = rng.random((n, n)) < rng.uniform(0.1, 0.9)
    order = rng.permutation(n)
    matrix[order[:-1], order[1:]] = True  # connected, as the graphs of a study are
    np.fill_diagonal(matrix, False)
    if not space.directed:
        matrix = matrix | matrix.T
    bonds = None
    if space.n_edge_labels:
        drawn = rng.integers(1, space.n_edge_labels + 1, (n, n))
        bonds = np.where(matrix, drawn if space.directed else np.maximum(drawn, drawn.T), 0)
    labels = rng.integers(0, 1 if one_label else space.n_labels, n)
    features = rng.random((n, space.n_features)) < 0.5
    return Graph(matrix, labels, features, space.directed, edge_labels=bonds)


def fitted(
    space: GraphSpace, kernel: str, kind: str = "random", seed: int = 0, **options: Any
) -> GraphGP:
    """A GP fitted to a `dataset`."""
    graphs, values = dataset(space, kind, seed)
    options.setdefault("restarts", 1)
    return GraphGP(kernel, n_labels=space.n_labels, **options).fit(graphs, values)


# -- the check ----------------------------------------------------------------------------------


def prove(
    space: GraphSpace,
    gp: GraphGP,
    acquisition: LCB | EI | None = None,
    *,
    exclude: Sequence[Graph] = (),
    seed: int = 0,
    time_limit: float = 60.0,
    n_evaluations: int = 200,
) -> Proposal:
    """The exact engine after hardly any local search, so that the proof has work to do."""
    objective = Criterion(space, gp.posterior, acquisition or LCB(1.0))
    return propose_exact(
        objective,
        Request(list(exclude), time_limit=time_limit, seed=seed, n_evaluations=n_evaluations),
    )


def true_values(gp: GraphGP, acquisition: LCB | EI, graphs: Sequence[Graph]) -> np.ndarray:
    """Acquisition values through the public `predict`."""
    mean, std = gp.predict(graphs)
    return acquisition(mean, std, gp.posterior.model.best)


def tolerance(gp: GraphGP, acquisition: LCB | EI, value: float) -> float:
    """1e-6 standard deviations of the data, relative for large values, plus rounding errors."""
    model = gp.posterior.model
    offset = 0.0 if isinstance(acquisition, EI) else model.y_mean
    standard = (value - offset) / model.y_scale
    digits = 8 * (math.ulp(value) + math.ulp(model.y_mean))
    return 1e-6 * model.y_scale * max(1.0, abs(standard)) + digits


def assert_optimal(
    space: GraphSpace,
    gp: GraphGP,
    acquisition: LCB | EI | None = None,
    *,
    exclude: Sequence[Graph] = (),
    **options: Any,
) -> Proposal:
    """Assert that the engine proves the exhaustive optimum, with a valid bound; returns it."""
    acquisition = acquisition or LCB(1.0)
    taken = {graph.canonical_key() for graph in exclude}
    candidates = [graph for graph in everything(space) if graph.canonical_key() not in taken]
    assert candidates, "nothing to find: not an instance of this check"
    values = true_values(gp, acquisition, candidates)
    optimum = float(values.min())
    proposal = prove(space, gp, acquisition, exclude=exclude, **options)
    near = tolerance(gp, acquisition, optimum)
    assert proposal.status == "optimal"
    assert proposal.gap == 0
    assert abs(proposal.value - optimum) <= near
    assert optimum - 2 * near <= proposal.bound <= optimum + 1e-3 * near
    assert proposal.bound <= proposal.value
    assert space.contains(proposal.graph)
    key = proposal.graph.canonical_key()
    assert key not in taken
    assert key in {graph.canonical_key() for graph in candidates}
    again = float(true_values(gp, acquisition, [proposal.graph])[0])
    assert abs(again - proposal.value) <= 1e-3 * near
    return proposal
