"""Suggestions under extra rules or near a graph, against brute force over all edits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bogrape import Graph, GraphSpace, Study
from bogrape.acquisition import EI, LCB
from bogrape.constraints import (
    DegreeRange,
    EditDistance,
    LabelCount,
    NumberOfEdges,
    RequiredEdge,
    Rule,
    rule_from_dict,
)
from bogrape.errors import InvalidInputError, InvalidSpaceError, SearchSpaceExhausted

from oracles import is_connected

RULES: list[list[Rule]] = [
    [],
    [NumberOfEdges(maximum=6)],
    [LabelCount(1, 1, 3)],
    [DegreeRange(1, 3)],
]


def edited(graph: Graph, edits: int) -> list[Graph]:
    """All graphs within this number of edits, of edges or of the two labels."""
    n = graph.n_nodes
    places: list[Any] = [*itertools.combinations(range(n), 2), *range(n)]
    out = []
    for k in range(edits + 1):
        for some in itertools.combinations(places, k):
            matrix, labels = graph.adjacency.copy(), graph.labels.copy()
            for place in some:
                if isinstance(place, int):
                    labels[place] = 1 - labels[place]
                else:
                    u, v = place
                    matrix[u, v] = matrix[v, u] = not matrix[u, v]
            out.append(Graph(matrix, labels))
    return out


def told_study(seed: int, n: int, rules: list[Rule], kernel: str, direction: str) -> Study:
    """A study with values of seven graphs of its space."""
    rng = np.random.default_rng(seed)
    study = Study(
        GraphSpace(n, labels=2, rules=rules),
        kernel=kernel,  # type: ignore[arg-type]
        noise=1e-4,
        acquisition=LCB(1.0),
        n_initial=2,
        n_evaluations=2000,
        restarts=1,
        direction=direction,  # type: ignore[arg-type]
        time_limit=120,
        seed=seed,
    )
    for graph in study.space.sample(7, seed=seed, distinct=True):
        study.add(graph, float(graph.n_edges - 2 * graph.labels.sum() + rng.normal()))
    return study


def assert_near_is_the_best_of_all(seed: int) -> None:
    """The suggestion near an observed graph is proved optimal and the best by brute force."""
    rng = np.random.default_rng([seed, 1])
    n, edits = int(rng.integers(4, 6)), int(rng.integers(1, 4))
    kernel = ("ssp", "rbf", "sp", "essp", "esp")[seed % 5]
    direction = ("minimize", "maximize")[seed // 5 % 2]
    study = told_study(seed, n, RULES[seed % len(RULES)], kernel, direction)
    near = study.trials[int(rng.integers(7))].graph
    known = {trial.graph.canonical_key() for trial in study.trials}
    left = {
        graph.canonical_key(): graph
        for graph in edited(near, edits)
        if is_connected(graph, True)
        and graph.canonical_key() not in known
        and all(rule.holds(graph) for rule in study.space.rules)
    }
    if not left:
        with pytest.raises(SearchSpaceExhausted, match="rules of this suggestion"):
            study.ask(near=near, edits=edits)
        return
    mean, std = study.predict(list(left.values()))
    sign = study.settings.sign
    best = (sign * mean - std).min()
    trial = study.ask(near=near, edits=edits, progress=False)
    assert trial.certificate["status"] == "optimal"
    assert sign * trial.certificate["value"] == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert sign * trial.certificate["bound"] <= best + 1e-7
    assert trial.graph.canonical_key() in left
    assert any(graph == trial.graph for graph in edited(near, edits))  # numbered like the given one


@pytest.mark.parametrize("seed", range(8))
def test_a_suggestion_near_a_graph_is_the_best_that_brute_force_finds(seed: int) -> None:
    assert_near_is_the_best_of_all(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(8, 108))
def test_a_hundred_suggestions_near_a_graph_are_the_best_that_brute_force_finds(seed: int) -> None:
    assert_near_is_the_best_of_all(seed)


def test_suggestions_under_rules_are_the_best_that_satisfy_them() -> None:
    study = told_study(3, 4, [], "ssp", "minimize")
    known = {trial.graph.canonical_key() for trial in study.trials}
    pinned = [LabelCount(1, 2, 2), NumberOfEdges(4, 4)]
    left = [
        graph
        for graph in study.space.enumerate()
        if graph.canonical_key() not in known and graph.n_edges == 4 and graph.labels.sum() == 2
    ]
    mean, std = study.predict(left)
    trial = study.ask(rules=pinned, progress=False)
    assert trial.certificate["value"] == pytest.approx((mean - std).min(), rel=1e-6)
    assert trial.graph.canonical_key() in {graph.canonical_key() for graph in left}
    assert study.space.rules == ()  # the study has not changed


def test_all_graphs_of_a_batch_are_near_and_different() -> None:
    study = told_study(5, 5, [], "ssp", "minimize")
    near = study.best
    trials = study.ask(4, near=near, edits=1, progress=False)
    assert isinstance(trials, list)
    allowed = {graph.canonical_key() for graph in edited(near.graph, 1)}
    known = {trial.graph.canonical_key() for trial in study.trials[:7]}
    keys = [trial.graph.canonical_key() for trial in trials]
    assert len(set(keys)) == 4
    assert set(keys) <= allowed - known


def test_a_trial_remembers_the_rules_it_was_asked_under(tmp_path: Any) -> None:
    study = Study(GraphSpace(4, labels=("C", "O")), f"sqlite:///{tmp_path}/s.db", n_initial=2)
    square = Graph([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    rules = [NumberOfEdges(maximum=4), LabelCount("O", 1)]
    trial = study.ask(rules=rules, near=square, edits=2)
    study.tell(trial, 1.0)
    free = study.ask()
    again = Study.load(f"sqlite:///{tmp_path}/s.db").trials
    found = [rule_from_dict(data) for data in again[trial.id].asked_under]
    assert found == [*rules, EditDistance(square, 2)]
    assert again[free.id].asked_under == ()
    assert trial.graph.n_edges <= 4
    assert (trial.graph.labels == 1).any()


def test_a_queued_graph_is_handed_out_only_if_it_satisfies_the_rules() -> None:
    study = Study(GraphSpace(4), n_initial=2)
    star = Graph([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    waiting = study.enqueue(star)
    mine = study.ask(worker="ann", rules=[NumberOfEdges(minimum=4)])
    assert mine.graph.n_edges >= 4
    assert study.ask(worker="ann", rules=[NumberOfEdges(maximum=3)]).id == waiting.id
    assert study.ask(worker="ann", rules=[NumberOfEdges(minimum=4)]).id == mine.id


def test_contradictions_are_named_and_reserve_nothing() -> None:
    study = Study(GraphSpace(4, rules=[NumberOfEdges(maximum=3)]))
    with pytest.raises(InvalidSpaceError, match=r"NumberOfEdges\(maximum=3\) and .*minimum=4"):
        study.ask(rules=[NumberOfEdges(minimum=4)])
    triangle = Graph([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(InvalidSpaceError, match="4 nodes, got EditDistance"):
        study.ask(near=triangle, edits=1)
    assert study.trials == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"near": Graph([[0]])}, "near without edits"),
        ({"edits": 2}, "edits without near"),
        ({"near": "best", "edits": 2}, "near must be a Graph or a Trial, got str"),
        ({"near": Graph([[0]]), "edits": -1}, "integer >= 0"),
        ({"rules": 5}, "rules must be a list"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Study(GraphSpace(4)).ask(**options)


def test_a_rule_that_decides_identity_belongs_to_the_space() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    qm7 = molecules.molecule_space(("C", "N"), n_atoms=3)
    study = Study(qm7.with_rules([]))
    with pytest.raises(InvalidInputError, match="which graphs are the same"):
        study.ask(rules=[molecules.Valence((4, 3))])


def test_the_value_to_improve_on_is_that_of_the_whole_space() -> None:
    """Under EI, a rule for one suggestion restricts the choice, not the best value so far."""
    study = Study(GraphSpace(5), n_initial=2, noise=1e-4, kernel="ssp", restarts=1, clip=None)
    observed = study.space.sample(12, seed=0, distinct=True)
    for graph in observed:
        study.add(graph, float(graph.n_edges))
    assert study.best.graph.n_edges == 4
    trial = study.ask(rules=[NumberOfEdges(minimum=7)], progress=False)
    assert trial.graph.n_edges >= 7
    assert trial.predicted is not None
    mean, std = trial.predicted
    best = study.predict(observed)[0].min()
    log_value = float(EI().log(np.array([mean]), np.array([std]), best)[0])
    assert trial.certificate["log_value"] == pytest.approx(log_value, rel=0.05)


def test_rules_that_name_nodes_share_the_numbering_of_the_given_graph() -> None:
    study = Study(GraphSpace(4, rules=[RequiredEdge(0, 1)]), n_initial=2)
    path = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    trial = study.ask(near=path, edits=2)
    assert trial.graph.adjacency[0, 1]
