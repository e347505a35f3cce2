"""Replacing ``y`` by ``a y + b`` changes nothing but the units of the answer.

The optimum is found by brute force, in standardised units: y is standardised with fractions, and
the posterior follows the textbook, with kernel matrices computed as quadruple sums.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import GraphGP, GraphSpace, propose
from bogrape.acquisition import EI, LCB
from bogrape.errors import EngineError
from bogrape.graph import Graph
from bogrape.propose import portfolio
from bogrape.propose.criterion import Criterion
from bogrape.propose.proposal import Proposal
from bogrape.propose.values import Units
from exhaustive import everything, fitted, prove, random_graph

import oracles

SPACES = {
    "ssp": GraphSpace(5),
    "essp": GraphSpace(5),
    "sp": GraphSpace(4, labels=2),
    "esp": GraphSpace(4, labels=2),
}
ACQUISITIONS = [LCB(0.0), LCB(1.0), LCB(4.0), EI(), EI(0.3)]
kernels = pytest.mark.parametrize("kernel", SPACES)
acquisitions = pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=str)


@cache
def _data(kernel: str, seed: int) -> tuple[list[Graph], np.ndarray]:
    space, rng = SPACES[kernel], np.random.default_rng(seed)
    n = space.n_max
    return [random_graph(space, n, rng) for _ in range(7)], rng.normal(size=7)


def _asked(
    kernel: str, acquisition: LCB | EI, scale: float = 1.0, offset: float = 0.0, seed: int = 0
) -> tuple[GraphGP, np.ndarray, Proposal]:
    """A proposal for data in other units, with ``xi`` in the same units."""
    space, (graphs, y) = SPACES[kernel], _data(kernel, seed)
    values = scale * y + offset
    gp = GraphGP(kernel, noise=1e-4, n_labels=space.n_labels, restarts=1).fit(graphs, values)
    if isinstance(acquisition, EI):
        acquisition = EI(scale * acquisition.xi)
    return gp, values, prove(space, gp, acquisition, n_evaluations=2_000)


@cache
def _matrices(kernel: str, seed: int) -> tuple[np.ndarray, ...]:
    """Kernel matrices of data and all graphs of the space, without amplitudes."""
    space, (data, _) = SPACES[kernel], _data(kernel, seed)
    graphs = everything(space)
    parts = []
    for left in (data, graphs):
        parts.append(oracles.kernel_matrix(left, data, kernel))
        parts.append(oracles.feature_matrix(left, data, space.n_labels))
    own = [oracles.kernel_matrix([g], [g], kernel)[0, 0] for g in graphs]
    own_nodes = [oracles.feature_matrix([g], [g], space.n_labels)[0, 0] for g in graphs]
    return (*parts, np.array(own), np.array(own_nodes))


def _standard_values(
    kernel: str, acquisition: LCB | EI, gp: GraphGP, values: np.ndarray, scale: float, seed: int
) -> np.ndarray:
    """The textbook acquisition value of every graph of the space, standardised."""
    y, _, deviation = oracles.exact_standardisation(values)
    own = gp.hyperparameters
    K_g, K_f, k_g, k_f, k_gg, k_ff = _matrices(kernel, seed)
    mean, std = oracles.textbook_posterior(
        own["alpha"] * K_g + own["beta"] * K_f,
        own["alpha"] * k_g + own["beta"] * k_f,
        own["alpha"] * k_gg + own["beta"] * k_ff,
        own["noise"],
        y,
    )
    if isinstance(acquisition, EI):
        acquisition = EI(scale * acquisition.xi / deviation)
    return acquisition(mean, std, float(y.min()))


def assert_optimal_in_deviations(
    kernel: str, acquisition: LCB | EI, scale: float, offset: float = 0.0, seed: int = 0
) -> Proposal:
    """The proposal is the optimum by brute force, compared in deviations and not in units."""
    gp, values, proposal = _asked(kernel, acquisition, scale, offset, seed)
    truth = _standard_values(kernel, acquisition, gp, values, scale, seed)
    graphs = everything(SPACES[kernel])
    index = next(i for i, g in enumerate(graphs) if oracles.are_isomorphic(g, proposal.graph))
    assert proposal.status == "optimal"
    assert proposal.gap == 0
    assert truth[index] <= truth.min() + 1e-6
    _, mean, deviation = oracles.exact_standardisation(values)
    if isinstance(acquisition, EI):
        mean = mean * 0
    assert math.isclose(proposal.scale, deviation, rel_tol=1e-9)
    digits = 4 * math.ulp(float(abs(mean)) + deviation)
    for number, room in ((proposal.value, 1e-6), (proposal.bound, 2e-6)):
        expected = float(mean) + deviation * truth[index]
        assert abs(number - expected) <= room * deviation * max(1, abs(truth[index])) + digits
    assert proposal.bound <= proposal.value
    return proposal


@acquisitions
@kernels
def test_a_power_of_two_changes_nothing_but_the_scale_bit_by_bit(
    kernel: str, acquisition: LCB | EI
) -> None:
    _, _, base = _asked(kernel, acquisition)
    for power in (-1000, -50, 13, 50, 900):
        _, _, other = _asked(kernel, acquisition, math.ldexp(1.0, power))
        assert other.graph == base.graph
        assert other.value == math.ldexp(base.value, power)
        assert other.bound == math.ldexp(base.bound, power)
        assert (other.status, other.gap, other.method) == (base.status, base.gap, base.method)
        assert other.n_evaluations == base.n_evaluations


@acquisitions
@kernels
def test_a_power_of_ten_changes_nothing_but_units(kernel: str, acquisition: LCB | EI) -> None:
    _, _, base = _asked(kernel, acquisition)
    for scale in (1e-15, 1e-12, 1e-3, 1e6, 1e15):
        other = assert_optimal_in_deviations(kernel, acquisition, scale)
        assert other.graph == base.graph
        assert math.isclose(other.value, scale * base.value, rel_tol=1e-9)


@acquisitions
@kernels
def test_an_offset_changes_nothing_but_units(kernel: str, acquisition: LCB | EI) -> None:
    for scale, deviations in ((1.0, 1e6), (0.01, -1e8), (1e-15, 1e9), (1e15, -1e9)):
        assert_optimal_in_deviations(kernel, acquisition, scale, scale * deviations)


@settings(max_examples=15)
@given(
    st.sampled_from(sorted(SPACES)),
    st.floats(0, 5).map(LCB) | st.floats(-0.5, 1).map(EI),
    st.floats(-15, 15),
    st.just(0.0) | st.floats(-9, 9),
    st.booleans(),
    st.integers(0, 50),
)
def test_units_do_not_change_the_answer(
    kernel: str, acquisition: LCB | EI, power: float, far: float, below: bool, seed: int
) -> None:
    scale = 10.0**power
    offset = (-scale if below else scale) * 10.0**far if far else 0.0
    assert_optimal_in_deviations(kernel, acquisition, scale, offset, seed)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("method", ["search", "evolve", "mip"])
@pytest.mark.parametrize(("scale", "offset"), [(2.0**-50, 0.0), (2.0**40, 0.0), (0.01, -1e6)])
def test_other_methods_do_not_depend_on_units_either(
    method: str, scale: float, offset: float
) -> None:
    space, (graphs, y) = SPACES["sp"], _data("sp", 0)
    answers = []
    for values in (y, scale * y + offset):
        gp = GraphGP("sp", noise=1e-4, n_labels=2, alpha=1.0, beta=1.0).fit(graphs, values)
        answers.append(propose(space, gp, LCB(1.0), method=method, time_limit=30))
    base, other = answers
    assert other.status == base.status
    assert other.gap == pytest.approx(base.gap, abs=1e-6)
    near = 1e-6 * scale + 4 * math.ulp(offset)
    assert other.value == pytest.approx(scale * base.value + offset, abs=near)
    if not offset:
        assert other.graph == base.graph


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (0.01, -1e6), (1e-12, 0.0)])
def test_an_interrupted_proof_is_reported_as_such_in_all_units(scale: float, offset: float) -> None:
    """With an offset of 1e8 deviations it used to be called optimal, with a bound ten away."""
    space = GraphSpace(20, labels=3)
    rng = np.random.default_rng(0)
    graphs = [random_graph(space, 20, rng) for _ in range(25)]
    values = scale * rng.normal(size=25) + offset
    gp = GraphGP("ssp", n_labels=3, restarts=1).fit(graphs, values)
    proposal = propose(space, gp, LCB(1.0), method="exact", time_limit=1.0)
    assert proposal.status == "time_limit"
    assert 0.01 < proposal.gap < 10
    assert proposal.bound < proposal.value
    apart = (proposal.value - proposal.bound) / proposal.scale
    assert proposal.gap == pytest.approx(apart, abs=4 * math.ulp(offset) / scale + 1e-9)


class _Unitless:
    """Minus the probability of improvement: an acquisition whose values have no units."""

    def __call__(self, mean: Any, std: Any, best: float) -> Any:
        from scipy.special import ndtr

        return -ndtr((best - mean) / std)


class _Mean:
    def __call__(self, mean: Any, std: Any, best: float) -> Any:  # noqa: ARG002
        return mean


@pytest.mark.thinned(3)
@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])
@pytest.mark.parametrize("acquisition", [_Unitless(), _Mean()], ids=["probability", "mean"])
def test_an_acquisition_of_your_own_may_have_any_units(acquisition: Any, scale: float) -> None:
    space, (graphs, y) = SPACES["ssp"], _data("ssp", 3)
    answers = []
    for values in (y, scale * y):
        gp = GraphGP("ssp", noise=1e-4, restarts=1).fit(graphs, values)
        proposal = propose(space, gp, acquisition, time_limit=30)
        mean, std = gp.predict(everything(space))
        best = acquisition(mean, std, float(values.min())).min()
        assert proposal.value == pytest.approx(best, rel=1e-9)
        answers.append(proposal.graph)
    assert answers[0] == answers[1]


class _InfiniteWhereObserved:
    """Like an acquisition that divides by a deviation of zero at observed graphs."""

    def __init__(self, everywhere: bool) -> None:
        self._known = 1e9 if everywhere else 0.05

    def __call__(self, mean: Any, std: Any, best: float) -> Any:  # noqa: ARG002
        return np.where(std < self._known * std.max(), np.inf, mean)


@pytest.mark.parametrize("everywhere", [False, True])
def test_an_acquisition_of_your_own_may_be_infinite_at_observed_graphs(everywhere: bool) -> None:
    space, (graphs, y) = SPACES["ssp"], _data("ssp", 3)
    gp = GraphGP("ssp", noise=1e-4, restarts=1).fit(graphs, y)
    objective = Criterion(space, gp.posterior, _InfiniteWhereObserved(everywhere))
    assert math.isfinite(objective.units.scale)
    assert objective.units.scale > 0
    values = [objective.of_graph(graph) for graph in everything(space)]
    assert not np.isnan(values).any()


def test_the_gap_of_a_proposal_made_by_hand() -> None:
    edge = Graph([[0, 1], [1, 0]])

    def made(bound: float, status: Any, **rest: float) -> Proposal:
        known = {"graph": edge, "value": 3.0, "seconds": 1.0, "method": "search"}
        return Proposal(**known, bound=bound, status=status, **rest)

    assert made(1.0, "time_limit", scale=4.0).gap == 0.5
    assert made(3.0 - 1e-7, "optimal").gap == 0.0
    assert made(-math.inf, "heuristic").gap == math.inf


def test_values_beyond_the_largest_number_are_that_number() -> None:
    units = Units(-1.5e308, 1e308)
    assert units.value(-2.0) == -1.7976931348623157e308
    assert units.value(-math.inf) == -math.inf
    assert units.value(1.0) == pytest.approx(-5e307)


@pytest.mark.parametrize("wrong", [{"value": 1e-3}, {"bound": 1e-3}], ids=str)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_wrong_value_or_bound_is_caught_in_all_units(
    wrong: dict[str, float], scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is off by a thousandth of a deviation."""
    space = SPACES["ssp"]

    def broken(objective: Criterion, request: Any) -> Proposal:  # noqa: ARG001
        graph = everything(space)[0]
        value = objective.of_graph(graph)
        found = {"value": value, "bound": value}
        found = {name: number + wrong.get(name, 0.0) for name, number in found.items()}
        return objective.proposal(graph, **found, status="optimal", seconds=0.0, method="broken")

    monkeypatch.setitem(portfolio.METHODS, "search", broken)
    graphs, y = _data("ssp", 0)
    gp = GraphGP("ssp", restarts=1).fit(graphs, scale * y)
    with pytest.raises(EngineError, match="please report this"):
        propose(space, gp, method="search")


@pytest.mark.parametrize("kind", ["outlier", "constant"])
def test_a_proved_optimum_has_no_gap_for_any_data(kind: str) -> None:
    space = SPACES["sp"]
    proposal = propose(space, fitted(space, "sp", kind), method="exact", time_limit=60)
    assert proposal.status == "optimal"
    assert proposal.gap == 0
