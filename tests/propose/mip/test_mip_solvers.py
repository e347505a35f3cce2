"""Optima compared with brute force over networkx's atlas, the exact engine, and other solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bogrape import LCB, GraphGP, GraphSpace, propose
from bogrape.constraints import DegreeRange, DiameterRange, NumberOfEdges, RequiredEdge
from bogrape.errors import InfeasibleSpaceError, InvalidInputError, SearchSpaceExhausted
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.mip import gurobi, propose_mip, scip
from bogrape.propose.mip.build import AcquisitionProgram
from bogrape.propose.mip.options import MipOptions
from bogrape.propose.mip.solution import Limits, SolverFailed
from bogrape.propose.proposal import Request

from mip_cases import atlas, decoded, instance, least, members
from oracles import feature_matrix, kernel_matrix, textbook_posterior

TIGHT = Limits(30.0, tolerance=1e-8)


def assert_solved(objective: Criterion, form: str, limits: Limits) -> tuple[float, float, float]:
    """Recomputed value, claimed value and bound of SCIP's best solution, without a start."""
    encoded = AcquisitionProgram(objective, MipOptions(form=form))  # type: ignore[arg-type]
    solution = scip.solve(encoded.program, limits)
    assert solution.status in ("optimal", "gap_limit")
    graph = decoded(encoded, solution)
    assert objective.space.contains(graph)
    return objective.of_graph(graph), solution.found[0].objective, solution.bound


def brute_force(objective: Criterion) -> float:
    space = objective.space
    if space.directed or space.rules:
        return least(objective, members(space))
    everything = [g for n in space.sizes for g in atlas(n, space.n_labels, bool(space.connected))]
    return least(objective, everything)


WEIGHT_SPACES = [
    (GraphSpace(5), 3),
    (GraphSpace(4, labels=2), 5),
    (GraphSpace(3, labels=3), 4),
    (GraphSpace((2, 4)), 4),
    (GraphSpace((1, 3), labels=2), 4),
    (GraphSpace(4, connected=False), 4),
    (GraphSpace(3, directed=True), 4),
    (GraphSpace(3, directed=True, connected="strong"), 4),
    (GraphSpace((2, 3), directed=True, connected=False), 3),
    (GraphSpace(3, directed=True, acyclic=True, labels=2), 3),
    (GraphSpace(4, rules=[NumberOfEdges(4, 5), RequiredEdge(1, 2)]), 3),
    (GraphSpace((3, 4), labels=2, rules=[DegreeRange(maximum=2), DiameterRange(2)]), 2),
]  # 43 objectives per kernel


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("space", "n_seeds"), WEIGHT_SPACES, ids=lambda x: getattr(x, "describe", str)()[:40]
)
@pytest.mark.parametrize("kernel", ["ssp", "sp"])
def test_weight_form_finds_the_brute_force_optimum(
    space: GraphSpace, n_seeds: int, kernel: str
) -> None:
    for seed in range(n_seeds):
        objective = instance(space, kernel, seed)
        value, claimed, bound = assert_solved(objective, "weight", TIGHT)
        truth = brute_force(objective)
        assert value == pytest.approx(truth, abs=1e-6)
        assert bound <= truth + 1e-6
        assert claimed == pytest.approx(value, abs=1e-3)


FUNCTION_SPACES = [
    (GraphSpace(4), 2),
    (GraphSpace(3, labels=2), 2),
    (GraphSpace((2, 3)), 2),
    (GraphSpace(3, connected=False), 1),
    (GraphSpace(3, directed=True), 2),
]  # 9 objectives per kernel


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("space", "n_seeds"), FUNCTION_SPACES, ids=lambda x: getattr(x, "describe", str)()[:40]
)
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_function_form_finds_the_brute_force_optimum_where_it_is_well_conditioned(
    space: GraphSpace, n_seeds: int, kernel: str
) -> None:
    for seed in range(n_seeds):
        objective = instance(space, kernel, seed, noise=0.05, alpha=1.0, beta=0.5)
        value, claimed, bound = assert_solved(objective, "function", Limits(30.0))
        truth = brute_force(objective)
        assert value == pytest.approx(truth, abs=1e-4)
        assert bound <= truth + 1e-4
        assert claimed == pytest.approx(value, abs=1e-3)


@pytest.mark.deep
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_both_forms_at_four_labelled_and_five_plain_nodes(kernel: str) -> None:
    for space in (GraphSpace(5), GraphSpace(4, labels=2), GraphSpace((2, 4), labels=2)):
        for seed in range(10):
            objective = instance(space, kernel, seed, noise=0.05)
            truth = brute_force(objective)
            for form in ("function", "weight"):
                if form == "function" or not kernel.startswith("e"):
                    value, _, bound = assert_solved(objective, form, Limits(120.0))
                    assert value == pytest.approx(truth, abs=1e-3)
                    assert bound <= truth + 1e-3


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_the_optimum_is_that_of_the_textbook_formulas_over_the_atlas(kernel: str) -> None:
    """Only fit and program are ours; kernels are the paper's sums, graphs are networkx's."""
    space = GraphSpace(4)
    data, y = space.sample(5, seed=2), np.random.default_rng(2).normal(size=5)
    gp = GraphGP(kernel, noise=0.05, alpha=1.0, beta=0.5).fit(data, y)
    queries = atlas(4)

    def covariance(left: list[Graph], right: list[Graph]) -> np.ndarray:
        return kernel_matrix(left, right, kernel) + 0.5 * feature_matrix(left, right, 1)

    own = np.array([covariance([q], [q])[0, 0] for q in queries])
    mean, std = textbook_posterior(covariance(data, data), covariance(queries, data), own, 0.05, y)
    proposal = propose(space, gp, LCB(1.0), method="mip", time_limit=20)
    assert proposal.value == pytest.approx((mean - std).min(), abs=1e-6)
    assert proposal.status == "optimal"


def test_scip_gurobi_and_the_exact_engine_agree() -> None:
    pytest.importorskip("gurobipy")
    n_compared = 0
    for kernel, space in (
        ("ssp", GraphSpace(5)),
        ("ssp", GraphSpace((2, 4), labels=2)),
        ("sp", GraphSpace(4, labels=2)),
        ("essp", GraphSpace(4)),
        ("esp", GraphSpace(3, directed=True)),
    ):
        for seed in range(2):
            noise = 0.05 if kernel.startswith("e") else 1e-6
            objective = instance(space, kernel, seed, noise=noise)
            encoded = AcquisitionProgram(objective, MipOptions())
            limits = TIGHT if encoded.form == "weight" else Limits(30.0)
            try:
                found = gurobi.solve(encoded.program, limits)
            except SolverFailed as error:
                assert error.failure.kind == "size"  # noqa: PT017 (a full licence solves all)
                continue
            value = objective.of_graph(decoded(encoded, found))
            other, _, _ = assert_solved(objective, encoded.form, limits)
            assert value == pytest.approx(other, abs=1e-5)
            assert value == pytest.approx(brute_force(objective), abs=1e-5)
            n_compared += 1
    assert n_compared >= 8
    objective = instance(GraphSpace(5, labels=2), "ssp", 1)
    gp = objective.posterior
    answers = [
        propose(objective.space, gp, objective.acquisition, **how, time_limit=20)  # type: ignore[call-overload]
        for how in ({"method": "exact"}, {"method": "mip"}, {"method": "mip", "solver": "gurobi"})
    ]
    assert all(p.status == "optimal" for p in answers)
    assert np.ptp([p.value for p in answers]) < 1e-6


def test_the_published_form_reports_the_effect_of_its_tolerance() -> None:
    """K⁻¹ of nearly noise-free data: the claim is off, the value is right, the gap stays open."""
    off = []
    for seed in (0, 3):
        objective = instance(GraphSpace(4, labels=2), "essp", seed)
        request = Request(time_limit=20.0, options={"form": "function"})
        proposal = propose_mip(objective, request)
        truth = objective.units.value(brute_force(objective))
        value = objective.units.value(objective.of_graph(proposal.graph))
        assert proposal.value == value >= truth - 1e-6 * proposal.scale
        assert proposal.bound <= truth + 1e-6 * proposal.scale
        if proposal.claimed is None:
            continue  # on a busy machine SCIP may find no solution of its own in time
        off.append(abs(proposal.claimed - proposal.value) / proposal.scale)
        if off[-1] > 0.1:
            assert proposal.status != "optimal"
            assert proposal.gap > 0.01
    assert max(off) > 1e-2


def test_the_published_form_proves_nothing_if_it_is_ill_conditioned() -> None:
    """One graph observed three times: SCIP lost the better of two graphs, at any tolerance."""
    space = GraphSpace(1, features=1, directed=True, connected=False)
    bare, dressed = Graph([[0]], None, [[0]], True), Graph([[0]], None, [[1]], True)
    triangle = Graph(1 - np.eye(3), None, [[1], [0], [1]], True)
    graphs, y = [bare, bare, triangle, bare], [0.26, -1.14, -1.13, -0.23]
    gp = GraphGP("esp", alpha=0.5, beta=0.77).fit(graphs, y)
    objective = Criterion(space, gp.posterior, LCB(1.96))
    assert objective.of_graph(dressed) < objective.of_graph(bare) - 1
    for options in ({"warm_start": 0}, {}):
        proposal = propose(space, gp, LCB(1.96), method="mip", time_limit=20, options=options)
        assert proposal.status == "heuristic"
        assert proposal.bound == -math.inf
    assert proposal.graph == dressed


def test_exclusions_are_honoured_up_to_isomorphism_until_no_graph_remains() -> None:
    space = GraphSpace(4)
    objective = instance(space, "ssp", 0, n_data=3)
    order = sorted(atlas(4), key=objective.of_graph)
    taken: list[Graph] = []
    values = []
    for _ in order:
        request = Request(taken, time_limit=20.0, options={"warm_start": 0})
        proposal = propose_mip(objective, request)
        assert proposal.status == "optimal"
        taken.append(proposal.graph)
        values.append(proposal.value)
    assert len({g.canonical_key() for g in taken}) == len(order) == 6
    expected = [objective.units.value(objective.of_graph(graph)) for graph in order]
    assert values == pytest.approx(expected, abs=1e-6)
    with pytest.raises(SearchSpaceExhausted, match="every graph"):
        propose_mip(objective, Request(taken, time_limit=20.0, options={"warm_start": 0}))


def test_infeasible_rules_are_named() -> None:
    space = GraphSpace(4, rules=[DiameterRange(3), DegreeRange(minimum=2)])
    gp = GraphGP("ssp").fit(GraphSpace(4).sample(4, seed=0), [1.0, 2.0, 0.0, 1.0])
    with pytest.raises(InfeasibleSpaceError, match="DegreeRange") as error:
        propose(space, gp, method="mip", time_limit=5, options={"warm_start": 0})
    assert "DiameterRange(minimum=3)" in error.value.rules


def test_propose_accepts_solvers_forms_and_gaps_and_writes_the_program(tmp_path) -> None:  # type: ignore[no-untyped-def]
    space = GraphSpace(4, labels=2)
    graphs = space.sample(6, seed=0)
    gp = GraphGP("sp", n_labels=2).fit(graphs, np.arange(6.0))
    path = tmp_path / "program.lp"
    first = propose(space, gp, method="mip", time_limit=20, options={"write": str(path)})
    assert path.read_text().startswith("\\ written by bogrape")
    assert first.method == "search+scip"
    loose = propose(space, gp, method="mip", time_limit=20, options={"gap": 5.0, "symmetry": False})
    assert loose.bound <= first.value <= loose.value + 1e-9
    assert math.isfinite(loose.bound)
    assert (loose.status == "optimal") == (loose.gap == 0) == (loose.value - loose.bound < 1e-3)
    both = propose(space, gp, method="mip", time_limit=20, n=2)
    assert isinstance(both, list)
    assert len({p.graph.canonical_key() for p in both}) == 2
    with pytest.raises(InvalidInputError, match="scip, gurobi"):
        propose(space, gp, method="mip", solver="cplex")
    with pytest.raises(InvalidInputError, match="unknown option 'from'"):
        propose(space, gp, method="mip", options={"from": "weight"})


def test_a_start_is_accepted_and_kept() -> None:
    objective = instance(GraphSpace(6), "ssp", 1)
    encoded = AcquisitionProgram(objective, MipOptions())
    graph = objective.space.sample(1, seed=5)[0]
    start = encoded.program.vector(encoded.start(graph))
    for solver in (scip, gurobi):
        solution = solver.solve(encoded.program, Limits(0.05), start)
        assert solution.found
        assert solution.found[0].objective <= objective.of_graph(graph) + 1e-6
