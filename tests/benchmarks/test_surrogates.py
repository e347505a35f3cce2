"""Surrogates: kernels agree with GraKel and plain Python, the process with scikit-learn."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

from benchmarks.surrogates import get_surrogate, surrogate_names
from benchmarks.surrogates.gram_gp import BOUNDS, GramGP
from benchmarks.surrogates.kernels import (
    KERNEL_NAMES,
    RW_DECAYS,
    RW_STEPS,
    WL_ROUNDS,
    kernel_variants,
    to_grakel,
)
from bogrape import Graph, GraphGP, GraphSpace
from bogrape.errors import FitError, InvalidInputError

pytest.importorskip("grakel")

SPACE = GraphSpace((4, 6), labels=3)
GRAPHS = SPACE.sample(14, seed=1)
SEEN, NEW = GRAPHS[:9], GRAPHS[9:]
ONE_LABEL = GraphSpace((5, 8)).sample(6, seed=4)
DIRECTED = GraphSpace(5, labels=2, directed=True).sample(6, seed=2)


def normalised(raw: np.ndarray) -> np.ndarray:
    own = np.sqrt(np.diag(raw))
    return raw / np.outer(own, own)


# -- kernels ----------------------------------------------------------------------------------


def naive_wl(graphs: Sequence[Graph], rounds: int) -> np.ndarray:
    """Nested tuples instead of compressed labels; one histogram over all rounds."""
    histograms = []
    for graph in graphs:
        colours: list[object] = [int(label) for label in graph.labels]
        histogram = Counter((0, repr(colour)) for colour in colours)
        for r in range(1, rounds + 1):
            colours = [
                (colours[v], sorted(repr(colours[u]) for u in np.flatnonzero(graph.adjacency[v])))
                for v in range(graph.n_nodes)
            ]
            histogram.update((r, repr(colour)) for colour in colours)
        histograms.append(histogram)
    return np.array([[sum(a[c] * b[c] for c in a) for b in histograms] for a in histograms])


def naive_wloa(graphs: Sequence[Graph], rounds: int) -> np.ndarray:
    """Histogram intersection over the same colours."""
    raw = np.zeros((len(graphs), len(graphs)))
    for i, left in enumerate(graphs):
        for j, right in enumerate(graphs):
            for r in range(rounds + 1):
                a, b = (naive_colours(graph, r) for graph in (left, right))
                raw[i, j] += sum(min(a[c], b[c]) for c in a)
    return raw


def naive_colours(graph: Graph, rounds: int) -> Counter[str]:
    colours = [str(label) for label in graph.labels]
    for _ in range(rounds):
        colours = [
            colours[v] + str(sorted(colours[u] for u in np.flatnonzero(graph.adjacency[v])))
            for v in range(graph.n_nodes)
        ]
    return Counter(colours)


@pytest.mark.parametrize("graphs", [GRAPHS, DIRECTED], ids=["undirected", "directed"])
@pytest.mark.parametrize(("name", "naive"), [("wl", naive_wl), ("wloa", naive_wloa)])
def test_weisfeiler_lehman_kernels_equal_plain_python(
    name: str, naive: Callable[[Sequence[Graph], int], np.ndarray], graphs: list[Graph]
) -> None:
    seen, new = graphs[:4], graphs[4:]
    for rounds, kernel in zip(WL_ROUNDS, kernel_variants(name, seen), strict=True):
        expected = normalised(naive(graphs, rounds))
        np.testing.assert_allclose(kernel.gram, expected[:4, :4], atol=1e-12)
        np.testing.assert_allclose(kernel.cross(new), expected[4:, :4], atol=1e-12)


@pytest.mark.parametrize("graphs", [GRAPHS[:6], DIRECTED], ids=["undirected", "directed"])
def test_random_walks_equal_grakels(graphs: list[Graph]) -> None:
    from grakel.kernels import RandomWalkLabeled

    seen, new = graphs[:4], graphs[4:]
    parameters = [(decay, steps) for decay in RW_DECAYS for steps in RW_STEPS]
    for (decay, steps), kernel in zip(parameters, kernel_variants("rw", seen), strict=True):
        theirs = RandomWalkLabeled(lamda=decay, p=steps, normalize=True)
        expected = theirs.fit_transform(to_grakel(graphs))
        np.testing.assert_allclose(kernel.gram, expected[:4, :4], rtol=1e-9)
        np.testing.assert_allclose(kernel.cross(new), expected[4:, :4], rtol=1e-9)


@pytest.mark.parametrize("graphs", [GRAPHS[:6], ONE_LABEL], ids=["labels", "one label"])
def test_subgraph_matching_equals_grakels(graphs: list[Graph]) -> None:
    from grakel.kernels import SubgraphMatching

    expected = SubgraphMatching(k=5, normalize=True).fit_transform(to_grakel(graphs))
    (kernel,) = kernel_variants("sm", graphs[:4])
    np.testing.assert_allclose(kernel.gram, expected[:4, :4], rtol=1e-9)
    np.testing.assert_allclose(kernel.cross(graphs[4:]), expected[4:, :4], rtol=1e-9)


@pytest.mark.parametrize("graphs", [GRAPHS[:4], DIRECTED[:4]], ids=["undirected", "directed"])
def test_subgraph_matching_counts_bijections_of_connected_subgraphs(graphs: list[Graph]) -> None:
    raw = np.zeros((4, 4))
    for (i, left), (j, right) in product(enumerate(graphs), repeat=2):
        for size in range(1, 6):
            for us in combinations(range(left.n_nodes), size):
                if not nx.is_connected(left.to_networkx().to_undirected().subgraph(us)):
                    continue
                for vs in permutations(range(right.n_nodes), size):
                    raw[i, j] += (left.labels[list(us)] == right.labels[list(vs)]).all() and (
                        left.adjacency[np.ix_(us, us)] == right.adjacency[np.ix_(vs, vs)]
                    ).all()
    np.testing.assert_allclose(kernel_variants("sm", graphs)[0].gram, normalised(raw), rtol=1e-9)


def test_subgraph_matching_refuses_graphs_it_cannot_encode() -> None:
    for graph in (Graph([[0, 1], [1, 0]], labels=[0, 64]), Graph(np.zeros((63, 63)))):
        with pytest.raises(InvalidInputError, match="up to 62 nodes and labels below 64"):
            kernel_variants("sm", [graph])


def test_subgraph_matching_of_edges_by_hand() -> None:
    # Two nodes joined, equal labels: 2 x 2 matched nodes, and 2 matched pairs of nodes.
    pair = Graph([[0, 1], [1, 0]], labels=[0, 0])
    apart = Graph([[0, 1], [1, 0]], labels=[0, 1])
    (kernel,) = kernel_variants("sm", [pair, apart])
    # apart with itself: 2 nodes, 1 pair; with pair: 2 nodes, no pair
    cross = 2 / np.sqrt((4 + 2) * (2 + 1))
    np.testing.assert_allclose(kernel.gram, [[1, cross], [cross, 1]])


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_kernels_are_normalised_and_positive_semidefinite(name: str) -> None:
    for kernel in kernel_variants(name, GRAPHS):
        np.testing.assert_allclose(np.diag(kernel.gram), 1.0)
        np.testing.assert_allclose(kernel.gram, kernel.gram.T)
        assert np.linalg.eigvalsh(kernel.gram)[0] > -1e-9
        np.testing.assert_allclose(kernel.cross(GRAPHS), kernel.gram, atol=1e-12)


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="rw, sm, wl, wloa"):
        kernel_variants("wlo", SEEN)


def test_without_grakel_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "grakel"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "grakel", None)
    with pytest.raises(InvalidInputError, match="pip install"):
        kernel_variants("wl", SEEN)


# -- the Gaussian process on Gram matrices ----------------------------------------------------


def random_gram(n: int, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    factors = np.random.default_rng(seed).normal(size=(n, rank))
    return factors @ factors.T / rank, factors / np.sqrt(rank)


def test_a_fit_with_one_kernel_agrees_with_scikit_learn() -> None:
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    kernels = gaussian_process.kernels
    gram, factors = random_gram(30, rank=40, seed=0)
    y = 5.0 + 2.0 * factors[:20] @ np.random.default_rng(1).normal(size=40)
    theirs = gaussian_process.GaussianProcessRegressor(
        kernels.ConstantKernel(1.0, BOUNDS)
        * kernels.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed"),
        alpha=1e-6,
        normalize_y=True,
        n_restarts_optimizer=2,
        random_state=0,
    ).fit(factors[:20], y)
    ours = GramGP.fit([gram[:20, :20]], y)
    assert ours.log_likelihood == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-6)
    mean, std = ours.mean_std([gram[20:, :20]], [np.diag(gram)[20:]])
    their_mean, their_std = theirs.predict(factors[20:], return_std=True)
    np.testing.assert_allclose(mean, their_mean, rtol=1e-5)
    np.testing.assert_allclose(std, their_std, rtol=1e-4)


def test_two_amplitudes_are_the_likeliest_of_a_fine_grid() -> None:
    from scipy.stats import multivariate_normal

    first, factors = random_gram(15, rank=3, seed=2)
    second, _ = random_gram(15, rank=20, seed=3)
    noise = np.random.default_rng(4).multivariate_normal(np.zeros(15), 0.3 * second)
    y = 4.0 * factors @ [1.0, -2.0, 0.5] + noise
    gp = GramGP.fit([first, second], y)
    standard = (y - y.mean()) / y.std()

    def likelihood(a: float, b: float) -> float:
        covariance = a * first + b * second + 1e-6 * np.eye(15)
        return float(multivariate_normal.logpdf(standard, np.zeros(15), covariance))

    assert gp.log_likelihood == pytest.approx(likelihood(*gp.amplitudes))
    axis = np.geomspace(*BOUNDS, 41)
    assert gp.log_likelihood > max(likelihood(a, b) for a in axis for b in axis) - 1e-9


def test_gram_matrices_that_do_not_fit_the_values_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="square Gram"):
        GramGP.fit([np.eye(3)], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="finite"):
        GramGP.fit([np.eye(2)], [1.0, np.nan])


def test_equal_values_are_predicted_everywhere() -> None:
    gp = GramGP.fit([np.eye(3)], [2.0, 2.0, 2.0])
    mean, _ = gp.mean_std([np.zeros((1, 3))], [np.ones(1)])
    np.testing.assert_allclose(mean, 2.0)


# -- surrogates -------------------------------------------------------------------------------

VALUES = np.array([graph.n_edges + 0.3 * graph.labels.sum() for graph in GRAPHS])


@pytest.mark.parametrize("name", surrogate_names())
def test_every_surrogate_predicts_observations_with_their_noise(name: str) -> None:
    surrogate = get_surrogate(name, n_labels=3).fit(SEEN, VALUES[:9])
    mean, std = surrogate.predict(NEW)
    latent_mean, latent = surrogate.latent(NEW)
    np.testing.assert_allclose(mean, latent_mean)
    np.testing.assert_allclose(std**2 - latent**2, 1e-6 * VALUES[:9].var(), rtol=1e-3)


@pytest.mark.parametrize("name", [*KERNEL_NAMES, "wl*"])
def test_surrogates_interpolate_their_observations_and_are_uncertain_elsewhere(name: str) -> None:
    distinct = GraphSpace(6, labels=3).sample(12, seed=0, distinct=True)
    values = [float(graph.n_edges) for graph in distinct]
    surrogate = get_surrogate(name, n_labels=3).fit(distinct[:8], values[:8])
    mean, std = surrogate.latent(distinct[:8])
    np.testing.assert_allclose(mean, values[:8], atol=0.05)
    assert std.max() < 0.1 < surrogate.latent(distinct[8:])[1].max()


def test_the_likeliest_variant_of_a_kernel_is_kept() -> None:
    likelihoods = [
        GramGP.fit([kernel.gram], VALUES[:9]).log_likelihood
        for kernel in kernel_variants("wl", SEEN)
    ]
    surrogate = get_surrogate("wl").fit(SEEN, VALUES[:9])
    best = kernel_variants("wl", SEEN)[int(np.argmax(likelihoods))]
    gp = GramGP.fit([best.gram], VALUES[:9])
    expected = gp.mean_std([best.cross(NEW)], [np.ones(len(NEW))])
    np.testing.assert_allclose(surrogate.latent(NEW), expected)
    assert len({round(value, 6) for value in likelihoods}) > 1


def test_a_star_adds_the_feature_kernel_of_the_paper() -> None:
    star = get_surrogate("sm*", n_labels=3).fit(SEEN, VALUES[:9])
    (kernel,) = kernel_variants("sm", SEEN)

    def features(graphs: Sequence[Graph]) -> np.ndarray:
        shares = np.array([np.bincount(g.labels, minlength=3) / g.n_nodes for g in graphs])
        return (
            shares
            @ np.array([np.bincount(g.labels, minlength=3) / g.n_nodes for g in [*SEEN, *NEW]]).T
            / 3
        )

    everything = features([*SEEN, *NEW])
    gp = GramGP.fit([kernel.gram, everything[:9, :9]], VALUES[:9])
    expected = gp.mean_std(
        [kernel.cross(NEW), everything[9:, :9]], [np.ones(len(NEW)), np.diag(everything)[9:]]
    )
    np.testing.assert_allclose(star.latent(NEW), expected, rtol=1e-6)


def test_shortest_path_surrogates_are_bograpes_with_and_without_the_feature_term() -> None:
    for name, feature_kernel in [("ssp", True), ("ssp-", False)]:
        expected = GraphGP("ssp", feature_kernel=feature_kernel).fit(SEEN, VALUES[:9]).predict(NEW)
        np.testing.assert_allclose(get_surrogate(name).fit(SEEN, VALUES[:9]).latent(NEW), expected)


def test_names_and_order_of_use_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="unknown surrogate 'wl-'"):
        get_surrogate("wl-")
    for name in ("wl", "ssp"):
        with pytest.raises(FitError, match="no data yet"):
            get_surrogate(name).predict(SEEN)
