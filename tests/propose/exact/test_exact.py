"""The exact engine against brute force: the optimum, its proof, exclusions, ties and errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bogrape import GraphGP, GraphSpace, propose
from bogrape.acquisition import EI, LCB
from bogrape.constraints import (
    Acyclic,
    CycleRange,
    DegreeRange,
    DiameterRange,
    DisjointPaths,
    FixedLabel,
    ForbiddenAdjacency,
    ForbiddenEdge,
    LabelCount,
    LinearRule,
    MaximumDistance,
    NumberOfEdges,
    RequiredEdge,
    RequiredSubgraph,
    Rule,
    TotalCost,
    TwoConnected,
)
from bogrape.errors import InfeasibleSpaceError, SearchSpaceExhausted
from crossed import crossed
from exhaustive import (
    DATASETS,
    assert_optimal,
    everything,
    fitted,
    prove,
    tolerance,
    true_values,
)
from places import TESTS

from oracles import are_isomorphic

KERNELS = ("ssp", "sp", "essp", "esp")
KAPPAS = (0.0, 1.0, 1.96)

SPACES = {
    "n=1": GraphSpace(1),
    "n=2": GraphSpace(2),
    "n=5": GraphSpace(5),
    "n=6": GraphSpace(6),
    "n=7": GraphSpace(7),
    "n=1..6": GraphSpace((1, 6)),
    "n=3, L=2": GraphSpace(3, labels=2),
    "n=5, L=2": GraphSpace(5, labels=2),
    "n=1..4, L=2": GraphSpace((1, 4), labels=2),
    "n=4, L=3": GraphSpace(4, labels=3),
    "n=4, F=1": GraphSpace(4, features=1),
    "n=1..3, L=2, F=2": GraphSpace((1, 3), labels=2, features=2),
    "n=4, edge labels": GraphSpace(4, edge_labels=2),
    "n=3, L=2, edge labels": GraphSpace(3, labels=2, edge_labels=2),
    "n=5, any": GraphSpace(5, connected=False),
    "n=2..4, L=2, any": GraphSpace((2, 4), labels=2, connected=False),
    "strong n=4": GraphSpace(4, directed=True, connected="strong"),
    "strong n=1..3, L=2": GraphSpace((1, 3), labels=2, directed=True, connected="strong"),
    "weak n=4": GraphSpace(4, directed=True),
    "weak n=3, L=2": GraphSpace(3, labels=2, directed=True),
    "digraphs n=4": GraphSpace(4, directed=True, connected=False),
    "digraphs n=1..3, L=2": GraphSpace((1, 3), labels=2, directed=True, connected=False),
    "digraphs n=3, edge labels": GraphSpace(3, directed=True, connected=False, edge_labels=2),
    "DAG n=4": GraphSpace(4, directed=True, acyclic=True),
    "DAG n=3, L=2": GraphSpace(3, labels=2, directed=True, acyclic=True, connected=False),
    "DAG n=1..4": GraphSpace((1, 4), directed=True, acyclic=True, connected=False),
    "forests n=5": GraphSpace(5, acyclic=True, connected=False),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("name", "kernel", "kappa"), crossed(list(SPACES), KERNELS, KAPPAS, one_in=2)
)
def test_the_answer_is_the_exhaustive_optimum(name: str, kernel: str, kappa: float) -> None:
    assert_optimal(SPACES[name], fitted(SPACES[name], kernel, seed=len(name)), LCB(kappa))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("kind", DATASETS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["n=6", "n=4, L=3"])
def test_the_answer_is_the_exhaustive_optimum_for_any_data(
    name: str, kernel: str, kind: str
) -> None:
    assert_optimal(SPACES[name], fitted(SPACES[name], kernel, kind, seed=7), LCB(1.0))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["random", "constant"])
@pytest.mark.parametrize("name", ["n=1..6", "n=3, L=2", "DAG n=3, L=2"])
def test_expected_improvement_is_proved_too(name: str, kind: str, kernel: str) -> None:
    assert_optimal(SPACES[name], fitted(SPACES[name], kernel, kind, seed=3), EI())


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 100.0, "beta": 0.01},
        {"alpha": 0.01, "beta": 100.0},
        {"feature_kernel": False},
        {"noise": 1.0},
        {"noise": 1e-8},
        {"noise": 1e-6, "alpha": 0.01, "beta": 0.01},
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_extreme_hyperparameters_do_not_mislead_the_proof(
    kernel: str, options: dict[str, Any]
) -> None:
    space = GraphSpace(4, labels=2)
    assert_optimal(space, fitted(space, kernel, seed=5, **options), LCB(1.96))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kappa", [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("kernel", ["ssp", "sp"])
def test_every_kappa_is_supported(kernel: str, kappa: float) -> None:
    space = GraphSpace(4, labels=2)
    assert_optimal(space, fitted(space, kernel, seed=6), LCB(kappa))


# -- rules --------------------------------------------------------------------------------------

UNDIRECTED: list[Rule] = [
    NumberOfEdges(5, 6),
    DegreeRange(2),
    DegreeRange(maximum=2),
    DegreeRange(2, 2, node=1),
    DegreeRange(2, label=1),
    LabelCount(1, 1, 2),
    LabelCount(0, maximum=1),
    FixedLabel(2, 1),
    RequiredEdge(0, 3),
    ForbiddenEdge(1, 2),
    ForbiddenAdjacency(0, 1),
    ForbiddenAdjacency(1, 1),
    RequiredSubgraph([(0, 1), (1, 2)], {0: 1}),
    RequiredSubgraph([(0, 1), (1, 2)], induced=True),
    DiameterRange(2, 3),
    DiameterRange(3),
    CycleRange(1, 1),
    CycleRange(minimum=2),
    Acyclic(),
    LinearRule(edges={(0, 1): 1, (2, 3): -0.5}, labels={(0, 1): 0.25}, minimum=0.5),
    LinearRule(labels={(v, 1): 1.5 for v in range(4)}, maximum=3.1),
    TotalCost({(0, 1): 0.1, (0, 2): 2.5, (2, 3): 1}, 3.6, otherwise=1),
    TwoConnected(),
    TwoConnected("edge"),
    DisjointPaths(0, 2, 2),
    MaximumDistance(1, 2, 1),
]
DIRECTED: list[Rule] = [
    NumberOfEdges(3, 4),
    DegreeRange(1, 1, direction="out"),
    DegreeRange(maximum=1, direction="in", label=0),
    DegreeRange(2, node=0, direction="out"),
    LabelCount(1, 1, 2),
    FixedLabel(0, 1),
    RequiredEdge(2, 0),
    ForbiddenEdge(0, 1),
    ForbiddenAdjacency(0, 1),
    RequiredSubgraph([(0, 1), (1, 2)], {1: 0}, induced=True),
    DiameterRange(maximum=2),
    DiameterRange(minimum=2),
    Acyclic(),
    LinearRule(edges={(0, 1): 1, (1, 0): 2}, labels={(2, 1): -1}, minimum=1, maximum=2),
    TotalCost({(0, 1): 3, (1, 0): 1}, 3, otherwise=1),
    DisjointPaths(2, 0, 2),
    MaximumDistance(0, 2, 2),
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kernel", ["ssp", "sp", "esp"])
@pytest.mark.parametrize("rule", UNDIRECTED, ids=str)
def test_the_optimum_under_a_rule_is_the_exhaustive_one(rule: Rule, kernel: str) -> None:
    space = GraphSpace((3, 4), labels=2, rules=[rule]) if rule.nodes() else None
    space = space or GraphSpace(4, labels=2, rules=[rule])
    assert_optimal(space, fitted(space, kernel, seed=11), LCB(1.0))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kernel", ["ssp", "sp", "esp"])
@pytest.mark.parametrize("rule", DIRECTED, ids=str)
def test_the_optimum_of_digraphs_under_a_rule_is_the_exhaustive_one(
    rule: Rule, kernel: str
) -> None:
    space = GraphSpace(3, labels=2, directed=True, connected=False, rules=[rule])
    assert_optimal(space, fitted(space, kernel, seed=12), LCB(1.0))


RULES_TOGETHER: dict[str, GraphSpace] = {
    "bare rules": GraphSpace(6, rules=[NumberOfEdges(6, 8), DegreeRange(1, 3), DiameterRange(3)]),
    "tree": GraphSpace(7, rules=[CycleRange(0, 0), DegreeRange(maximum=3)]),
    "named and free nodes": GraphSpace(5, rules=[RequiredEdge(0, 1), ForbiddenEdge(2, 3)]),
    "not connected": GraphSpace(5, connected=False, rules=[CycleRange(1, 1), DegreeRange(0, 2)]),
    "no path": GraphSpace(4, connected=False, labels=2, rules=[ForbiddenAdjacency(0, 1)]),
    "features": GraphSpace(3, features=2, rules=[LinearRule(features={(0, 1): 1}, minimum=1)]),
    "sum of features": GraphSpace(
        3,
        labels=2,
        features=1,
        rules=[LinearRule(features={(v, 0): 1 for v in range(3)}, maximum=1)],
    ),
    "sizes": GraphSpace((2, 5), labels=2, rules=[LabelCount(0, 2, 2), ForbiddenAdjacency(0, 0)]),
    "node 4 may be missing": GraphSpace(
        (3, 5), rules=[ForbiddenEdge(0, 4), DegreeRange(2, node=2)]
    ),
    "strong": GraphSpace(
        4, directed=True, connected="strong", rules=[DegreeRange(maximum=1, direction="out")]
    ),
    "rooted DAG": GraphSpace(
        4, directed=True, acyclic=True, rules=[DegreeRange(maximum=0, node=2, direction="in")]
    ),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kernel", ["sp", "essp"])
@pytest.mark.parametrize("name", RULES_TOGETHER)
def test_the_optimum_under_several_rules_is_the_exhaustive_one(name: str, kernel: str) -> None:
    space = RULES_TOGETHER[name]
    assert_optimal(space, fitted(space, kernel, seed=13), LCB(1.96))


def test_the_brute_force_lists_are_not_trivial() -> None:
    for name, space in RULES_TOGETHER.items():
        assert len(everything(space)) >= 2 or name == "strong", name  # only the directed cycle
    for rule in UNDIRECTED:
        full, ruled = GraphSpace(4, labels=2), GraphSpace(4, labels=2, rules=[rule])
        assert 1 <= len(everything(ruled)) < len(everything(full)) + bool(rule.nodes()), rule
    for rule in DIRECTED:
        kind: dict[str, Any] = {"labels": 2, "directed": True, "connected": False}
        full, ruled = GraphSpace(3, **kind), GraphSpace(3, rules=[rule], **kind)
        assert 1 <= len(everything(ruled)) < len(everything(full)) + bool(rule.nodes()), rule


# -- exclusions, batches, pending ---------------------------------------------------------------

EXCLUSION_SPACES = {
    "n=6": GraphSpace(6),
    "n=1..4, L=2": GraphSpace((1, 4), labels=2),
    "weak n=3": GraphSpace(3, labels=2, directed=True),
    "n=3, F=1": GraphSpace(3, labels=2, features=1),
    "named": GraphSpace(4, labels=2, rules=[FixedLabel(0, 1), RequiredEdge(0, 1)]),
    "edge labels": GraphSpace(3, labels=2, edge_labels=2),
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("k", [1, 30])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", EXCLUSION_SPACES)
def test_with_the_best_graphs_excluded_the_next_best_is_found(
    name: str, kernel: str, k: int
) -> None:
    space = EXCLUSION_SPACES[name]
    gp, acquisition = fitted(space, kernel, seed=21), LCB(1.0)
    ranked = _ranked(space, gp, acquisition)
    k = min(k, len(ranked) - 1)
    rng = np.random.default_rng(k)
    renamed = [graph.permuted(rng.permutation(graph.n_nodes)) for graph in ranked[:k]]
    assert_optimal(space, gp, acquisition, exclude=renamed)


def _ranked(space: GraphSpace, gp: GraphGP, acquisition: LCB | EI) -> list[Any]:
    graphs = list(everything(space))
    values = true_values(gp, acquisition, graphs)
    return [graphs[i] for i in np.argsort(values, kind="stable")]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kernel", ["sp", "essp"])
@pytest.mark.parametrize("name", EXCLUSION_SPACES)
def test_the_only_remaining_graph_is_found_wherever_it_is(name: str, kernel: str) -> None:
    space = EXCLUSION_SPACES[name]
    gp, acquisition = fitted(space, kernel, seed=22), LCB(1.0)
    ranked = _ranked(space, gp, acquisition)
    for last in (0, len(ranked) - 1):
        others = ranked[:last] + ranked[last + 1 :]
        proposal = assert_optimal(space, gp, acquisition, exclude=others)
        assert are_isomorphic(proposal.graph, ranked[last])


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kernel", ["ssp", "essp"])
@pytest.mark.parametrize("name", EXCLUSION_SPACES)
def test_when_every_graph_is_excluded_the_space_is_exhausted(name: str, kernel: str) -> None:
    space = EXCLUSION_SPACES[name]
    with pytest.raises(SearchSpaceExhausted):
        prove(space, fitted(space, kernel, seed=23), exclude=list(everything(space)))


@pytest.mark.parametrize("kernel", ["ssp", "essp"])
def test_ties_are_proposed_one_by_one(kernel: str) -> None:
    """Most graphs share their value with others; none is proposed twice, and none is missed."""
    space = GraphSpace(5)
    gp = fitted(space, kernel, seed=24)
    values = np.sort(true_values(gp, LCB(1.0), list(everything(space))))
    taken: list[Any] = []
    found = []
    for _ in everything(space):
        proposal = prove(space, gp, LCB(1.0), exclude=taken)
        assert proposal.status == "optimal"
        taken.append(proposal.graph)
        found.append(proposal.value)
    assert len({graph.canonical_key() for graph in taken}) == 21
    np.testing.assert_allclose(found, values, atol=1e-6, rtol=1e-6)
    with pytest.raises(SearchSpaceExhausted):
        prove(space, gp, LCB(1.0), exclude=taken)


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp"])
def test_several_proposals_are_pairwise_not_isomorphic_and_all_are_proved(kernel: str) -> None:
    space = GraphSpace((2, 4), labels=2)
    gp = fitted(space, kernel, seed=25)
    pending = list(everything(space))[10:12]
    proposals = propose(space, gp, n=4, pending=pending, exclude=pending[:1], seed=3)
    assert isinstance(proposals, list)
    believed = gp.posterior.believe(pending)
    taken = list(pending)
    for proposal in proposals:
        assert proposal.status == "optimal"
        assert not any(are_isomorphic(proposal.graph, other) for other in taken)
        left = [g for g in everything(space) if not any(are_isomorphic(g, t) for t in taken)]
        optimum = _lowest(believed, left)
        assert abs(proposal.value - optimum) <= tolerance(gp, LCB(1.0), optimum)
        believed = believed.believe([proposal.graph])
        taken.append(proposal.graph)


def _lowest(posterior: Any, graphs: list[Any]) -> float:
    from bogrape.counts import count

    mean, std = posterior.mean_std(count(graphs, pairs=True))
    return float((mean - std).min())


def test_more_graphs_than_the_space_has_are_refused() -> None:
    space = GraphSpace(3)
    with pytest.raises(SearchSpaceExhausted):
        propose(space, fitted(space, "ssp"), n=3)


# -- errors -------------------------------------------------------------------------------------


TREE: list[Rule] = [DiameterRange(minimum=4), CycleRange(minimum=1)]  # on 5 nodes: a path
BIPARTITE: list[Rule] = [ForbiddenAdjacency(0, 0), ForbiddenAdjacency(1, 1)]
TRIANGLE = RequiredSubgraph([(0, 1), (1, 2), (0, 2)])


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp"])
def test_exactly_the_rules_that_cannot_hold_together_are_named(kernel: str) -> None:
    guilty: list[Rule] = [*BIPARTITE, TRIANGLE]
    innocent: list[Rule] = [NumberOfEdges(maximum=20), DiameterRange(maximum=4), DegreeRange(1)]
    rules = [innocent[0], guilty[0], *innocent[1:], *guilty[1:]]
    space = GraphSpace(5, labels=2, rules=rules)
    with pytest.raises(InfeasibleSpaceError) as caught:
        prove(space, fitted(space, kernel))
    assert sorted(caught.value.rules) == sorted(rule.name for rule in guilty)
    for rule in guilty:
        assert rule.name in str(caught.value)


def test_the_smallest_of_several_conflicts_is_named() -> None:
    space = GraphSpace(5, labels=2, rules=[*BIPARTITE, TRIANGLE, *TREE, LabelCount(0, 1)])
    with pytest.raises(InfeasibleSpaceError) as caught:
        prove(space, fitted(space, "ssp"))
    assert len(caught.value.rules) == 2
    rules = [rule for rule in space.rules if rule.name in caught.value.rules]
    assert len(rules) == 2
    assert not everything(GraphSpace(5, labels=2, rules=rules))


def test_an_infeasible_space_is_not_called_exhausted() -> None:
    space = GraphSpace(5, rules=TREE)
    with pytest.raises(InfeasibleSpaceError):
        prove(space, fitted(space, "ssp"), exclude=list(everything(GraphSpace(5)))[:3])


# -- the same seed ------------------------------------------------------------------------------

_SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from exhaustive import fitted
from bogrape import GraphSpace, propose
out = []
for space in (GraphSpace(4, labels=2), GraphSpace((2, 3), directed=True, features=1)):
    for kernel in ("sp", "essp"):
        gp = fitted(space, kernel)
        for proposal in propose(space, gp, n=2, seed=5, n_evaluations=20_000):
            out.append([proposal.graph.to_json(), proposal.value, proposal.bound, proposal.status])
print(json.dumps(out))
"""


def test_the_same_seed_gives_the_same_answer_in_every_process() -> None:
    script = _SCRIPT.format(tests=str(TESTS))
    answers = []
    for salt in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True
        )
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    assert {row[3] for row in answers[0]} == {"optimal"}
    assert len(answers[0]) == 8


# -- deep tests ---------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SPACES)
def test_the_answer_is_the_exhaustive_optimum_on_many_instances(
    name: str, kernel: str, seed: int
) -> None:
    space = SPACES[name]
    for kind in DATASETS:
        gp = fitted(space, kernel, kind, 100 + seed)
        for acquisition in (LCB(0.0), LCB(1.0), LCB(1.96), LCB(4.0), EI(), EI(0.3)):
            assert_optimal(space, gp, acquisition)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kernel", KERNELS)
def test_random_rules_do_not_mislead_the_proof(kernel: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        directed = bool(rng.integers(2))
        pool = DIRECTED if directed else UNDIRECTED
        rules = [pool[i] for i in rng.choice(len(pool), int(rng.integers(2, 4)), replace=False)]
        try:
            space = GraphSpace(
                (2, 4) if not directed else (1, 3),
                labels=2,
                directed=directed,
                connected=bool(rng.integers(2)),
                rules=rules,
            )
        except ValueError:
            continue
        gp = fitted(space, kernel, seed=seed)
        candidates = everything(space)
        if not candidates:
            with pytest.raises(InfeasibleSpaceError):
                prove(space, gp)
            continue
        assert_optimal(space, gp, LCB(float(rng.choice(KAPPAS))))
        k = int(rng.integers(0, len(candidates)))
        assert_optimal(space, gp, exclude=_ranked(space, gp, LCB(1.0))[:k])
