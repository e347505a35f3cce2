"""Compared optimisers: they choose new graphs of the space, and the ones they claim to choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.optimisers import get_optimiser, optimiser_names, register
from benchmarks.optimisers.evolution import mutants
from benchmarks.optimisers.sampling import RandomOptimiser, fresh_graphs
from benchmarks.surrogates import get_surrogate
from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.errors import InvalidInputError, SearchSpaceExhausted
from bogrape.problems import get_problem

pytest.importorskip("grakel")

SPACE = GraphSpace(5, labels=2)
GRAPHS = SPACE.sample(12, seed=3, distinct=True)
VALUES = [float(graph.n_edges + graph.labels.sum()) for graph in GRAPHS]
KEYS = {graph.canonical_key() for graph in GRAPHS}


def test_the_papers_optimisers_exist() -> None:
    paper = {"random", "rw-rand", "wl-rand", "wl-evol", "ssp", "sp", "essp", "esp"}
    search = {"ssp-search", "sp-search", "essp-search", "esp-search"}
    assert paper | search | {"rbf", "rbf-lcb"} <= set(optimiser_names())


@pytest.mark.parametrize("name", optimiser_names())
def test_every_optimiser_chooses_a_new_graph_of_the_space(name: str) -> None:
    for package in {"tpe": ("optuna",), "forest": ("sklearn",)}.get(name, ()):
        pytest.importorskip(package)
    space, graphs = SPACE, GRAPHS
    if name == "rbf-dag":  # for directed acyclic graphs alone
        space = GraphSpace(5, labels=2, directed=True, acyclic=True)
        graphs = space.sample(12, seed=3, distinct=True)
    choice = get_optimiser(name, space).next(graphs, VALUES, seed=1, time_limit=0.5)
    assert space.contains(choice.graph)
    assert choice.graph.canonical_key() not in {graph.canonical_key() for graph in graphs}
    without_surrogate = ("random", "reg-evol", "graph-ga", "tpe")
    assert (choice.value is None) == (name in without_surrogate)
    if choice.bound is not None:
        assert choice.value is not None
        assert choice.bound <= choice.value


@pytest.mark.parametrize("name", ["random", "rw-rand", "wl-rand", "wl-evol", "ssp-search"])
def test_the_seed_decides_the_choice(name: str) -> None:
    space = GraphSpace(7, labels=3)
    graphs = space.sample(8, seed=0, distinct=True)
    optimiser = get_optimiser(name, space)
    values = [float(graph.n_edges) for graph in graphs]
    same = [optimiser.next(graphs, values, seed=5, time_limit=20.0) for _ in range(2)]
    assert same[0].graph == same[1].graph
    assert same[0].value == same[1].value


@pytest.mark.parametrize("kernel", ["ssp", "esp"])
def test_bogrape_finds_the_lowest_bound_of_the_whole_space(kernel: str) -> None:
    choice = get_optimiser(kernel, SPACE, kappa=0.7).next(GRAPHS, VALUES, seed=1, time_limit=60.0)
    new = [graph for graph in SPACE.enumerate() if graph.canonical_key() not in KEYS]
    mean, std = GraphGP(kernel, n_labels=2).fit(GRAPHS, VALUES).predict(new)
    assert choice.status == "optimal"
    assert choice.value == pytest.approx(float(np.min(mean - 0.7 * std)), abs=1e-6)


@pytest.mark.parametrize(("name", "acquisition"), [("rbf", EI()), ("rbf-lcb", LCB(0.7))])
def test_rbf_is_fitted_with_noise_and_finds_the_best_graph_of_the_whole_space(
    name: str, acquisition: EI | LCB
) -> None:
    choice = get_optimiser(name, SPACE, kappa=0.7).next(GRAPHS, VALUES, seed=1, time_limit=60.0)
    new = [graph for graph in SPACE.enumerate() if graph.canonical_key() not in KEYS]
    gp = GraphGP("rbf", "fit", space=SPACE).fit(GRAPHS, VALUES)
    values = acquisition(*gp.predict(new), gp.posterior.model.best)
    assert choice.status == "optimal"
    assert choice.value == pytest.approx(float(values.min()), abs=1e-6)


def test_a_number_of_evaluations_replaces_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def spy(*arguments: Any, **named: Any) -> Any:
        seen.append(propose(*arguments, **named))
        return seen[-1]

    monkeypatch.setattr("benchmarks.optimisers.shortest_path.propose", spy)
    space = GraphSpace(8, labels=3)
    graphs = space.sample(8, seed=0, distinct=True)
    values = [float(graph.n_edges) for graph in graphs]
    few, many = (
        get_optimiser("rbf", space, n_evaluations=n).next(graphs, values, seed=5, time_limit=1e-9)
        for n in (2_500, 20_000)
    )
    assert [proposal.method for proposal in seen] == ["search", "search"]
    assert seen[0].n_evaluations < 9_000 < seen[1].n_evaluations < 27_000  # rounds of 4,000
    assert many.value <= few.value
    assert few.status == many.status == "heuristic"


@pytest.mark.parametrize("name", ["rw", "wl"])
def test_best_of_random_is_best_among_its_candidates(name: str) -> None:
    def kappa(n_observations: int) -> float:
        return n_observations / 4.0  # 3 here

    optimiser = get_optimiser(f"{name}-rand", SPACE, kappa=kappa, n_candidates=7)
    choice = optimiser.next(GRAPHS, VALUES, seed=2, time_limit=1.0)
    surrogate = get_surrogate(name).fit(GRAPHS, VALUES)
    candidates = SPACE.sample(7, seed=2, distinct=True, exclude=KEYS)
    mean, std = surrogate.latent(candidates)
    assert choice.value == pytest.approx(float(np.min(mean - 3.0 * std)))
    assert choice.graph in candidates


def test_evolution_beats_random_graphs_and_reports_the_true_confidence_bound() -> None:
    problem = get_problem("gcn-10")
    graphs = problem.space.sample(15, seed=1, distinct=True)
    values = [problem.objective(graph) for graph in graphs]
    choice = get_optimiser("wl-evol", problem.space).next(graphs, values, seed=4, time_limit=1.0)
    surrogate = get_surrogate("wl", 5).fit(graphs, values)
    ((mean,), (std,)) = surrogate.latent([choice.graph])
    assert choice.value == pytest.approx(mean - std)
    means, stds = surrogate.latent(problem.space.sample(200, seed=9))
    assert choice.value < np.min(means - stds)


# -- mutation ---------------------------------------------------------------------------------


def test_mutants_differ_as_often_as_stated() -> None:
    space = GraphSpace(8, labels=4, connected=False)
    (parent,) = space.sample(1, seed=0)
    children = mutants(space, [parent], 2000, np.random.default_rng(0))
    flips = [np.triu(child.adjacency ^ parent.adjacency).sum() for child in children]
    relabelled = [(child.labels != parent.labels).sum() for child in children]
    assert len(children) == 2000
    assert np.mean(flips) == pytest.approx(28 / 8, rel=0.05)
    assert np.mean(relabelled) == pytest.approx(1.0, rel=0.1)
    assert {int(label) for child in children for label in child.labels} == {0, 1, 2, 3}


@pytest.mark.parametrize("name", ["qm7-10", "cell-7", "network-10"])
def test_mutants_obey_the_rules(name: str) -> None:
    if name.startswith("qm"):
        pytest.importorskip("rdkit")
    space = get_problem(name).space
    children = mutants(space, space.sample(10, seed=0), 30, np.random.default_rng(0))
    assert children
    for child in children:
        assert space.violations(child) == []


# -- the end of a space -----------------------------------------------------------------------


def test_the_last_graphs_are_found_and_then_the_space_is_exhausted() -> None:
    space = GraphSpace(4)  # six connected graphs
    every = space.enumerate()
    last = fresh_graphs(space, 20, seed=0, seen=every[:4])
    assert {graph.canonical_key() for graph in last} == {g.canonical_key() for g in every[4:]}
    values = [float(i) for i in range(6)]
    for name in ("random", "wl-rand", "wl-evol", "ssp"):
        optimiser = get_optimiser(name, space)
        with pytest.raises(SearchSpaceExhausted):
            optimiser.next(every, values, seed=0, time_limit=20.0)
        choice = optimiser.next(every[:5], values[:5], seed=0, time_limit=20.0)
        assert choice.graph.canonical_key() == every[5].canonical_key()


# -- the registry -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kappa": -1.0}, "kappa"),
        ({"kappa": "growing"}, "kappa"),
        ({"n_candidates": 0}, "n_candidates"),
        ({"n_evaluations": 0}, "n_evaluations"),
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        get_optimiser("random", SPACE, **wrong)


def test_unknown_and_duplicate_names_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"unknown optimiser 'ranodm'.*wl-evol"):
        get_optimiser("ranodm", SPACE)

    with pytest.raises(InvalidInputError, match="already exists"):
        register("random")(RandomOptimiser)


def test_random_needs_no_observations() -> None:
    choice = get_optimiser("random", SPACE).next([], [], seed=0, time_limit=1.0)
    assert isinstance(choice.graph, Graph)
