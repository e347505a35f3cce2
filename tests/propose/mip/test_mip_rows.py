"""Rows of rules, counts, kernels and posteriors: each graph satisfies them, with its value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bogrape import LCB, GraphGP, GraphSpace
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
    TotalCost,
    TwoConnected,
)
from bogrape.errors import UnsupportedError
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.mip.attributes import Attributes, WeakConnectivity
from bogrape.propose.mip.build import AcquisitionProgram, encode_paths
from bogrape.propose.mip.counting import Distances
from bogrape.propose.mip.options import MipOptions
from bogrape.propose.mip.program import Program
from bogrape.propose.mip.rules import Rules, Symmetry

from mip_cases import instance, integer_points, members
from oracles import feature_matrix, kernel_matrix, textbook_posterior

SPACES = [
    GraphSpace(4),
    GraphSpace(3, labels=2),
    GraphSpace((2, 4)),
    GraphSpace((1, 3), labels=2),
    GraphSpace((2, 4), connected=False),
    GraphSpace(3, directed=True, connected="strong", labels=2),
    GraphSpace((2, 3), directed=True),
    GraphSpace(3, directed=True, acyclic=True, labels=2),
    GraphSpace((1, 3), directed=True, connected=False),
]
FORMS = [
    ("ssp", "weight"),
    ("sp", "weight"),
    ("ssp", "function"),
    ("sp", "function"),
    ("essp", "function"),
    ("esp", "function"),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda s: s.describe().replace("\n", ";"))
def test_the_lift_of_every_graph_satisfies_all_rows_and_has_the_graph_s_value(
    space: GraphSpace,
) -> None:
    graphs = members(space)
    for kernel, form in FORMS:
        objective = instance(space, kernel, 1, noise=1e-2, alpha=1.3, beta=0.7)
        encoded = AcquisitionProgram(objective, MipOptions(form=form, symmetry=False))
        for graph in graphs[:: max(1, len(graphs) // 12)]:
            values = encoded.lift(graph)
            assert encoded.program.violations(values) == []
            assert encoded.program.value(values) == pytest.approx(
                objective.of_graph(graph), abs=1e-6
            )
            assert encoded.decode(values) == graph


def test_features_and_edge_labels_are_lifted_decoded_and_valued() -> None:
    space = GraphSpace((2, 3), labels=2, features=2, edge_labels=2)
    graphs = space.sample(8, seed=3)
    y = np.arange(8.0)
    for kernel, form in FORMS:
        gp = GraphGP(kernel, noise=1e-2, n_labels=2).fit(graphs, y)
        objective = Criterion(space, gp.posterior, LCB(1.5))
        encoded = AcquisitionProgram(objective, MipOptions(form=form))
        for graph in space.sample(12, seed=4):
            values = encoded.lift(graph)
            broken = encoded.program.violations(values)
            assert all(v.row.startswith("parent") for v in broken)
            assert encoded.program.value(values) == pytest.approx(
                objective.of_graph(graph), abs=1e-6
            )
            assert encoded.decode(values) == graph
            assert encoded.program.violations(encoded.start(graph)) == []


def test_the_lift_of_a_larger_graph_holds_flows_for_its_disjoint_paths() -> None:
    space = GraphSpace(9, rules=[TwoConnected(), TwoConnected("edge"), DisjointPaths(2, 7, 3)])
    encoded = AcquisitionProgram(instance(space, "ssp", 1, noise=1e-2), MipOptions(symmetry=False))
    assert any("flow[" in variable.name for variable in encoded.program.variables)
    for graph in space.sample(10, seed=4):
        assert encoded.program.violations(encoded.lift(graph)) == []


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_rows_of_mean_and_variance_agree_with_the_textbook_on_the_paper_s_sums(kernel: str) -> None:
    space = GraphSpace((2, 4), labels=2)
    data, queries = space.sample(6, seed=0), space.sample(6, seed=1)
    y = np.random.default_rng(0).normal(size=6)
    gp = GraphGP(kernel, noise=1e-2, n_labels=2, alpha=0.7, beta=0.4).fit(data, y)

    def covariance(left: list[Graph], right: list[Graph]) -> np.ndarray:
        return 0.7 * kernel_matrix(left, right, kernel) + 0.4 * feature_matrix(left, right, 2)

    self_covariance = np.array([covariance([q], [q])[0, 0] for q in queries])
    mean, std = textbook_posterior(
        covariance(data, data), covariance(queries, data), self_covariance, 1e-2, y
    )
    forms = ["function"] if kernel.startswith("e") else ["function", "weight"]
    for form in forms:
        objective = Criterion(space, gp.posterior, LCB(1.0))
        encoded = AcquisitionProgram(objective, MipOptions(form=form))  # type: ignore[arg-type]
        for query, mu, sigma in zip(queries, mean, std, strict=True):
            values = encoded.lift(query)
            assert y.mean() + y.std() * values["mu"] == pytest.approx(mu, abs=1e-6)
            assert y.std() * values["sigma"] == pytest.approx(sigma, abs=1e-6)


RULES = [
    [NumberOfEdges(2, 3)],
    [DegreeRange(maximum=2), DegreeRange(minimum=2, label=1)],
    [LabelCount(1, 1, 2), FixedLabel(0, 1)],
    [RequiredEdge(0, 2), ForbiddenEdge(0, 1)],
    [ForbiddenAdjacency(0, 1)],
    [RequiredSubgraph([(0, 1), (1, 2)], {0: 1}, induced=True)],
    [DiameterRange(2, 2)],
    [CycleRange(1, 1)],
    [Acyclic()],
    [LinearRule({(0, 1): 1.5, (1, 2): -1}, {(2, 1): 0.5}, minimum=0.5, maximum=1.5)],
    [TotalCost({(0, 1): 1.5, (1, 2): 1}, maximum=2.5, otherwise=0.5)],
    [TwoConnected()],
    [TwoConnected("edge")],
    [DisjointPaths(0, 1)],
    [MaximumDistance(0, 2, 1)],
]


CASES = [
    (how, rules)
    for how in ("undirected", "sizes", "disconnected", "directed")
    for rules in RULES
    # independent cycles and two-connectedness are notions of undirected graphs
    if how != "directed" or not any(isinstance(rule, (CycleRange, TwoConnected)) for rule in rules)
]


@pytest.mark.parametrize(("how", "rules"), CASES, ids=str)
def test_integer_points_are_exactly_the_graphs_that_satisfy_the_rules(
    how: str, rules: list[object]
) -> None:
    shape = {
        "undirected": {"n_nodes": 4},
        "sizes": {"n_nodes": (2, 4)},
        "disconnected": {"n_nodes": (2, 3), "connected": False},
        "directed": {"n_nodes": 3, "directed": True},
    }[how]
    space = GraphSpace(labels=2, rules=rules, **shape)  # type: ignore[arg-type]
    program, decode, _ = encode(space, symmetry=False)
    found = {decode(point) for point in integer_points(program)}
    assert found == set(members(space))


def encode(space: GraphSpace, *, symmetry: bool):  # type: ignore[no-untyped-def]
    """Everything but counts and posterior, so that whole numbers suffice, for flows too."""
    program = Program()
    gp = GraphGP("ssp").fit([Graph([[0]]), Graph([[0, 1], [1, 0]])], [0.0, 1.0])
    paths = encode_paths(program, Criterion(space, gp.posterior, LCB()), MipOptions())
    attributes = Attributes(program, paths, space)
    if space.directed and space.connected is True:
        WeakConnectivity(program, paths)
    Rules(program, space, paths, attributes, Distances(program, paths))
    ordering = Symmetry(program, space, paths) if symmetry else None
    return program, attributes.decode, ordering


@pytest.mark.parametrize(
    "space",
    [
        GraphSpace((2, 4)),
        GraphSpace(4, connected=False),
        GraphSpace(4, rules=[RequiredEdge(1, 2)]),
        GraphSpace(3, directed=True),
        GraphSpace(3, directed=True, connected="strong"),
        GraphSpace((1, 3), directed=True, connected=False),
    ],
    ids=lambda s: s.describe().replace("\n", ";"),
)
def test_symmetry_rows_keep_a_copy_of_every_graph_and_drop_some(space: GraphSpace) -> None:
    program, decode, ordering = encode(space, symmetry=True)
    kept = {decode(point) for point in integer_points(program)}
    everything = members(space)
    assert {g.canonical_key() for g in kept} == {g.canonical_key() for g in everything}
    assert len(kept) < len(everything)
    assert {ordering.ordered(g) for g in everything} <= kept


def test_a_forbidden_graph_and_its_copies_are_the_only_points_lost() -> None:
    space = GraphSpace((2, 4))
    objective = instance(space, "ssp", 0)
    encoded = AcquisitionProgram(objective, MipOptions(symmetry=False))
    path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    encoded.forbid(path, "excluded")
    for graph in members(space):
        broken = encoded.program.violations(encoded.lift(graph))
        same = graph.canonical_key() == path.canonical_key()
        assert bool(broken) == same
        assert all(v.row.startswith("excluded[") for v in broken)


def test_undirected_counts_take_even_values_only() -> None:
    encoded = AcquisitionProgram(instance(GraphSpace(3), "ssp", 0), MipOptions(form="function"))
    hot = [v.name for v in encoded.program.variables if v.name.startswith("D[1]=")]
    assert hot == [f"D[1]={c}@3" for c in (0, 2, 4, 6)]
    assert not any(v.name.startswith("D[0]=") for v in encoded.program.variables)


def test_the_published_size_factor_is_resolved_for_every_size() -> None:
    """Erratum E3: a path on two of at most four nodes has k_SSP(G, G) = 0.5."""
    objective = instance(GraphSpace((2, 4)), "ssp", 0, feature_kernel=False, alpha=1.0)
    encoded = AcquisitionProgram(objective, MipOptions(form="function"))
    assert encoded.lift(Graph([[0, 1], [1, 0]]))["kxx"] == pytest.approx(0.5)


def test_kernels_and_acquisitions_without_rows_are_refused() -> None:
    from bogrape import EI

    objective = instance(GraphSpace(3), "essp", 0)
    with pytest.raises(UnsupportedError, match='form="function"'):
        AcquisitionProgram(objective, MipOptions(form="weight"))
    improvement = Criterion(objective.space, objective.posterior, EI())
    with pytest.raises(UnsupportedError, match="LCB"):
        AcquisitionProgram(improvement, MipOptions())


def test_row_names_are_those_of_the_docstrings() -> None:
    from bogrape.propose.mip import attributes, counting, paths, posterior, rules, scaled

    documents = "".join(
        part.__doc__ or ""
        for module in (attributes, counting, paths, posterior, rules, scaled)
        for part in (module, *(v for v in vars(module).values() if callable(v)))
    )
    for space, (kernel, form) in itertools.product(SPACES, FORMS):
        program = AcquisitionProgram(
            instance(space, kernel, 0, noise=1e-2), MipOptions(form=form)
        ).program
        names = [row.name for row in (*program.rows, *program.exponentials)]
        for name in {name.split("[")[0] for name in names if not name.startswith("rule[")}:
            assert f"``{name}" in documents, name
