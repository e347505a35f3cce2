"""`DagGP` against counts by networkx, formulas in full, and exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from bogrape import EI, Graph, GraphSpace, Study
from bogrape.dags import GROUPS, DagGP
from bogrape.errors import FitError, InvalidInputError

from oracles import networkx_graph

SPACE = GraphSpace((3, 6), labels=3, directed=True, acyclic=True)
TYPICAL = SPACE.sample(300, seed=0)  # what the model is scaled to
GRAPHS = SPACE.sample(30, seed=1, distinct=True)
OTHERS = SPACE.sample(12, seed=2, distinct=True)


def objective(graph: Graph) -> float:
    last = ~graph.adjacency.any(axis=1)
    return float(graph.labels @ np.arange(graph.n_nodes) * 0.1 + graph.labels[last].sum())


Y = np.array([objective(graph) for graph in GRAPHS])


def histograms(graph: Graph) -> dict[str, Counter[Hashable]]:
    """Colours of nodes, node by node."""
    g = networkx_graph(graph)
    out: dict[str, Counter[Hashable]] = {group: Counter() for group in GROUPS}
    for v in g:
        label = int(graph.labels[v])
        before, after = (
            sorted(int(graph.labels[u]) for u in of(v)) for of in (g.predecessors, g.successors)
        )
        into = nx.dag_longest_path_length(g.subgraph({v, *nx.ancestors(g, v)}))
        out_of = nx.dag_longest_path_length(g.subgraph({v, *nx.descendants(g, v)}))
        out["labels"][label] += 1
        out["ends"][label, bool(after)] += 1
        out["levels"][into, out_of] += 1
        out["neighbourhoods"][label, tuple(before), tuple(after)] += 1
    return out


@cache
def parts() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By group, squared distances and inner products of GRAPHS and OTHERS, from vectors."""
    everything = [histograms(graph) for graph in (*GRAPHS, *OTHERS, *TYPICAL)]
    out = {}
    for group in GROUPS:
        columns = sorted(set().union(*(found[group] for found in everything)), key=repr)
        rows = np.array([[found[group][c] for c in columns] for found in everything], dtype=float)
        rows, typical = rows[: -len(TYPICAL)], rows[-len(TYPICAL) :]
        v = np.mean([np.sum((typical - row) ** 2, axis=1) for row in typical])
        centred = rows - typical.mean(axis=0)
        squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
        out[group] = squares / v, centred @ centred.T / (v / 2)
    return out


def covariances(theta: dict[str, float]) -> np.ndarray:
    """Between all of GRAPHS and OTHERS, by the formula of the module."""
    squares = sum(parts()[g][0] / theta[f"length_{g}"] ** 2 for g in GROUPS)
    linear = sum(theta[f"beta_{g}"] * parts()[g][1] for g in GROUPS)
    return np.asarray(theta["alpha"] * np.exp(-0.5 * squares) + linear)


def standardised(y: np.ndarray) -> np.ndarray:
    return (y - y.mean()) / y.std()


def test_predictions_are_those_of_the_formula() -> None:
    gp = DagGP(SPACE, cap=None).fit(GRAPHS, Y)
    theta, n = gp.hyperparameters, len(GRAPHS)
    covariance = covariances(theta)
    known, cross = covariance[:n, :n] + theta["noise"] * np.eye(n), covariance[n:, :n]
    mean = Y.mean() + Y.std() * cross @ np.linalg.solve(known, standardised(Y))
    variance = np.diag(covariance)[n:] - np.einsum(
        "ij,ij->i", cross, np.linalg.solve(known, cross.T).T
    )
    found_mean, found_std = gp.predict(OTHERS)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found_std, Y.std() * np.sqrt(variance), rtol=1e-5, atol=1e-7)


def test_no_hyperparameters_near_the_fitted_ones_have_a_larger_posterior_density() -> None:
    theta = DagGP(SPACE, cap=None).fit(GRAPHS, Y).hyperparameters
    n = len(GRAPHS)

    def density(values: dict[str, float]) -> float:
        covariance = covariances(values)[:n, :n] + values["noise"] * np.eye(n)
        out = multivariate_normal(np.zeros(n), covariance).logpdf(standardised(Y))
        for name, value in values.items():
            mean, deviation = {
                "a": (0.0, 1.0),
                "l": (0.3, 1.0),
                "b": (-np.log(4) - 0.5, 1.5),
                "n": (np.log(1e-3), 2.5),
            }[name[0]]
            out += norm(mean, deviation).logpdf(np.log(value))
        return float(out)

    best = density(theta)
    for name in theta:
        for factor in (0.8, 1.25):
            if name == "noise" and theta["noise"] * factor < 1e-6:
                continue  # beyond the bound
            assert density({**theta, name: theta[name] * factor}) < best + 1e-6, name


def test_other_architectures_are_predicted_better_than_by_their_mean() -> None:
    mean, _ = DagGP(SPACE).fit(GRAPHS, Y).predict(OTHERS)
    truth = np.array([objective(graph) for graph in OTHERS])
    assert np.mean((mean - truth) ** 2) < 0.5 * np.mean((Y.mean() - truth) ** 2)


@given(st.randoms(use_true_random=False))
def test_neither_the_numbering_nor_the_batch_matters(random: object) -> None:
    gp = FITTED
    order = list(range(len(OTHERS)))
    random.shuffle(order)  # type: ignore[attr-defined]
    renumbered = []
    for i in order:
        nodes = list(range(OTHERS[i].n_nodes))
        random.shuffle(nodes)  # type: ignore[attr-defined]
        renumbered.append(OTHERS[i].permuted(nodes))
    for one, two in zip(gp.predict(OTHERS), gp.predict(renumbered), strict=True):
        np.testing.assert_allclose(two, one[order], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(gp.predict(OTHERS[:1])[0], gp.predict(OTHERS)[0][:1], rtol=1e-9)


FITTED = DagGP(SPACE).fit(GRAPHS, Y)


def test_how_bad_the_worst_value_is_does_not_matter_with_a_cap() -> None:
    bad, worse = Y.copy(), Y.copy()
    bad[3], worse[3] = 100.0, 1000.0
    np.testing.assert_array_equal(
        DagGP(SPACE).fit(GRAPHS, bad).predict(OTHERS),
        DagGP(SPACE).fit(GRAPHS, worse).predict(OTHERS),
    )
    without = [DagGP(SPACE, cap=None).fit(GRAPHS, y).predict(OTHERS)[0] for y in (bad, worse)]
    assert not np.allclose(*without)


def test_a_value_of_great_noise_has_no_say() -> None:
    noise = np.full(len(Y), np.nan)
    noise[3] = 1e9
    wrong = Y.copy()
    wrong[3] += 1.0
    before, after = (
        DagGP(SPACE, cap=None).fit(GRAPHS, y, noise=noise).predict(OTHERS)[0] for y in (Y, wrong)
    )
    np.testing.assert_allclose(before, after, rtol=1e-3, atol=1e-3)
    deaf = DagGP(SPACE, cap=None).fit(GRAPHS, wrong).predict(OTHERS)[0]
    assert np.abs(deaf - before).max() > 1e-2


def test_in_a_small_space_the_proposal_is_the_best_of_all() -> None:
    space = GraphSpace(4, labels=2, directed=True, acyclic=True)
    study = Study(space, surrogate=DagGP(space), n_initial=6, seed=1)
    for trial in study.ask(6):
        study.tell(trial, objective(trial.graph))
    trial = study.ask()
    assert trial.certificate is not None
    assert trial.certificate["status"] == "optimal"
    observed = [t.graph for t in study.trials if t.value is not None]
    values = [objective(graph) for graph in observed]
    known = {graph.canonical_key() for graph in observed}
    new = [graph for graph in space.enumerate() if graph.canonical_key() not in known]
    mean, std = DagGP(space).fit(observed, values).predict([trial.graph, *new])
    improvement = EI().log(mean, std, best=min(values))
    assert len(new) > 100
    assert improvement[0] == pytest.approx(improvement[1:].max(), rel=1e-6)


def model() -> DagGP:
    return DagGP(SPACE)


def test_a_study_in_a_database_takes_a_function_that_makes_one(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/dags.db"
    study = Study(SPACE, database, surrogate=model, n_initial=3, method="search", time_limit=0.5)
    for trial in study.ask(3):
        study.tell(trial, objective(trial.graph))
    trial = Study.load(database).ask()
    assert trial.certificate is not None
    assert trial.certificate["status"] == "heuristic"


def test_what_it_does_not_read_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="directed graphs, got undirected ones"):
        DagGP(GraphSpace(4, labels=2))
    with pytest.raises(
        InvalidInputError, match="expected a GraphSpace of directed graphs, got int"
    ):
        DagGP(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="cap"):
        DagGP(SPACE, cap=0.0)
    with pytest.raises(FitError, match="no data yet"):
        DagGP(SPACE).predict(OTHERS)
    features = GraphSpace(4, labels=2, features=1, directed=True, acyclic=True)
    with pytest.raises(InvalidInputError, match="labels only, got directed ones with 1 features"):
        DagGP(features).fit(features.sample(3, seed=0), [0.0, 1.0, 2.0])
    cycle = Graph([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [0, 1, 2], None, True)
    with pytest.raises(InvalidInputError, match="acyclic"):
        FITTED.predict([cycle])
    alike = GraphSpace(1, labels=1, directed=True)
    with pytest.raises(InvalidInputError, match="alike"):
        DagGP(alike).fit(alike.sample(2, seed=0), [0.0, 1.0])
