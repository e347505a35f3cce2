"""Custom acquisitions: any function of mean, deviation and best value, proved where possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphGP, GraphSpace, constraints, propose
from bogrape.acquisition import check_monotone, is_monotone
from bogrape.errors import InvalidInputError
from bogrape.kernels import KERNELS, KernelName
from bogrape.propose.criterion import Criterion
from exhaustive import dataset, everything
from own_parts import (
    FalselyMonotone,
    Optimist,
    ProbabilityOfImprovement,
    assert_best_of_all,
    uncertain_middle,
)

SMALL = {
    "labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((2, 5)),
    "rules": GraphSpace(5, labels=2, rules=[constraints.NumberOfEdges(0, 6)]),
    "labels tied": GraphSpace(4, labels=2, rules=[constraints.LabelCount(0, 2, 3)]),
    "features": GraphSpace(3, labels=2, features=1),
}
OWN = (ProbabilityOfImprovement(), Optimist(), uncertain_middle)


def fitted(space: GraphSpace, kernel: Any = "ssp", seed: int = 0, **options: Any) -> GraphGP:
    graphs, y = dataset(space, "random", seed)
    options.setdefault("noise", 1e-3)
    return GraphGP(kernel, n_labels=space.n_labels, restarts=1, **options).fit(graphs, y)


@pytest.mark.parametrize("acquisition", OWN, ids=["improvement", "optimist", "middle"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_in_a_small_space_the_best_of_all_graphs_is_found_and_proved(
    kernel: KernelName, acquisition: Any
) -> None:
    for number, space in enumerate(SMALL.values()):
        gp = fitted(space, kernel, number)
        best = assert_best_of_all(space, gp, acquisition)
        if number < 2:
            assert_best_of_all(space, gp, acquisition, exclude=[best.graph])


@pytest.mark.parametrize("seed", range(4))
def test_the_best_composition_need_not_have_a_single_label(seed: int) -> None:
    """LCB and EI prefer equal labels; this function does not, and is proved nevertheless."""

    def mixed(mean: Any, std: Any, best: float) -> Any:  # noqa: ARG001
        return np.asarray((std - 0.6 * reach) ** 2)

    space = GraphSpace(6, labels=3)
    gp = fitted(space, "ssp", seed, alpha=0.01, beta=50.0)
    reach = float(np.max(gp.predict(space.sample(50, seed=0))[1]))
    proposal = assert_best_of_all_sampled(space, gp, mixed)
    numbers = np.bincount(proposal.graph.labels, minlength=3)
    assert numbers.max() < 6


def assert_best_of_all_sampled(space: GraphSpace, gp: GraphGP, acquisition: Any) -> Any:
    """For spaces too large for brute force: proved, and no worse than many random graphs."""
    proposal = propose(space, gp, acquisition, time_limit=60)
    assert proposal.status == "optimal"
    mean, std = gp.predict(space.sample(3000, seed=1))
    assert acquisition(mean, std, gp.posterior.model.best).min() >= proposal.value - 1e-9
    return proposal


@pytest.mark.parametrize("kernel", ["ssp", "essp"])
def test_histograms_prove_spaces_that_cannot_be_listed(kernel: KernelName) -> None:
    space = GraphSpace(9, labels=2)
    gp = fitted(space, kernel, 1)
    for acquisition in OWN:
        assert assert_best_of_all_sampled(space, gp, acquisition).method != "listing"


def test_in_a_large_space_monotone_acquisitions_have_a_bound_and_others_none() -> None:
    space = GraphSpace(12, labels=4)
    gp = fitted(space, "sp")
    optimist = propose(space, gp, Optimist(), time_limit=4)
    assert optimist.status == "time_limit"
    assert -math.inf < optimist.bound < optimist.value
    for acquisition in (ProbabilityOfImprovement(), uncertain_middle):
        other = propose(space, gp, acquisition, time_limit=4)
        assert (other.status, other.bound) == ("heuristic", -math.inf)


@given(st.integers(0, 10_000), st.sampled_from(list(KERNELS)), st.sampled_from(list(SMALL)))
def test_the_bound_of_a_monotone_acquisition_is_below_all_values(
    seed: int, kernel: KernelName, name: str
) -> None:
    space = SMALL[name]
    gp = fitted(space, kernel, seed)
    criterion = Criterion(space, gp.posterior, Optimist())
    bound = criterion.units.value(criterion.weakest_bound())
    mean, std = gp.predict(everything(space))
    assert bound <= Optimist()(mean, std, gp.posterior.model.best).min() + 1e-9


# -- declarations ---------------------------------------------------------------------------------


def test_a_wrong_declaration_of_monotonicity_is_refused() -> None:
    for space in (GraphSpace(4, labels=2), GraphSpace(12, labels=3)):
        for kernel in ("ssp", "sp"):
            with pytest.raises(InvalidInputError, match="declares monotone = True, but its value"):
                propose(space, fitted(space, kernel), FalselyMonotone(), time_limit=3)


def test_a_false_declaration_missed_by_the_check_is_refuted_by_a_graph_below_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Criterion, "check_declared", lambda *_: None)
    for kernel, space in (("ssp", GraphSpace(5, labels=2)), ("sp", GraphSpace(12, labels=3))):
        with pytest.raises(InvalidInputError, match="declare that no value is below"):
            propose(space, fitted(space, kernel), _Backwards(), time_limit=3)


class _Backwards:
    """Falls with the mean and rises with the deviation, but declares the opposite."""

    monotone = True

    def __call__(self, mean: Any, std: Any, best: float) -> Any:  # noqa: ARG002
        return 10.0 * std - mean


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=8),
    st.lists(st.floats(0, 5), min_size=1, max_size=8),
    st.floats(-3, 3),
)
def test_lcb_and_ei_are_monotone_as_they_declare(
    means: list[float], stds: list[float], best: float
) -> None:
    for acquisition in (LCB(0.0), LCB(2.0), EI(), EI(0.5), Optimist()):
        assert is_monotone(acquisition)
        check_monotone(acquisition, np.array(means), np.array(stds), best)
    assert not is_monotone(uncertain_middle)
    assert not is_monotone(ProbabilityOfImprovement())


# -- returned values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda mean, std, best: mean[:, None] + std[:, None] + best, "shape .*, got shape"),
        (lambda mean, std, best: float(mean.sum() + std.sum() + best), r"got shape \(\)"),
        (lambda mean, std, best: mean * np.nan + std + best, "expected a number, got nan for mean"),
        (lambda mean, std, best: -np.inf * np.ones_like(mean + std + best), "got -inf for mean"),
        (lambda mean, std, best: ["good"] * len(mean + std + best), "array of numbers, got list"),
    ],
)
def test_invalid_values_are_refused(function: Any, message: str) -> None:
    space = GraphSpace(4)
    with pytest.raises(InvalidInputError, match=message):
        propose(space, fitted(space), function, time_limit=5)


def test_a_graph_may_be_ruled_out_by_an_infinite_value() -> None:
    space = GraphSpace(5)
    gp = fitted(space, seed=2)
    limit = float(np.median(gp.predict(everything(space))[1]))

    def known_only(mean: Any, std: Any, best: float) -> Any:  # noqa: ARG001
        return np.where(std > limit, np.inf, mean)

    proposal = propose(space, gp, known_only, time_limit=30)
    mean, std = gp.predict(everything(space))
    assert proposal.status == "optimal"
    assert proposal.value == pytest.approx(known_only(mean, std, 0.0).min(), abs=1e-6)
