"""Custom kernels: proposals are proved where a proof exists, and never called optimal otherwise."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

from bogrape import EI, LCB, GraphGP, GraphSpace, constraints, propose
from bogrape.errors import UnsupportedError
from bogrape.kernels import Kernel
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.strategies.own import OwnHistograms, can_be_sent
from exhaustive import dataset
from own_parts import (
    Edges,
    Gaussian,
    Laplacian,
    Optimist,
    assert_best_of_all,
    uncertain_middle,
)

SMALL = {
    "labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((2, 5)),
    "rules": GraphSpace(5, labels=2, rules=[constraints.NumberOfEdges(0, 6)]),
    "labels tied": GraphSpace(4, labels=2, rules=[constraints.LabelCount(0, 2, 3)]),
    "features": GraphSpace(3, labels=2, features=1),
    "directed": GraphSpace(3, labels=2, directed=True),
    "disconnected": GraphSpace(4, labels=2, connected=False),
}
KERNELS: tuple[Kernel, ...] = (Gaussian(), Laplacian(), Edges())


def fitted(space: GraphSpace, kernel: Any, seed: int = 0) -> GraphGP:
    graphs, y = dataset(space, "random", seed)
    return GraphGP(kernel, noise=1e-3, n_labels=space.n_labels, restarts=2).fit(graphs, y)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("name", SMALL)
def test_in_a_small_space_the_best_of_all_graphs_is_found_and_proved(
    name: str, kernel: Kernel
) -> None:
    space = SMALL[name]
    gp = fitted(space, kernel, 1)
    best = assert_best_of_all(space, gp, LCB(1.0))
    second = assert_best_of_all(space, gp, EI(), exclude=[best.graph])
    assert_best_of_all(space, gp, LCB(2.0), exclude=[best.graph, second.graph])


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("name", SMALL)
def test_many_instances(name: str, kernel: Kernel, seed: int) -> None:
    gp = fitted(SMALL[name], kernel, seed)
    for acquisition in (LCB(0.5), EI(), Optimist(), uncertain_middle):
        assert_best_of_all(SMALL[name], gp, acquisition, seed=seed)


def test_histograms_prove_large_spaces_for_kernels_without_labels_of_paths() -> None:
    space = GraphSpace(9, labels=2)
    gp = fitted(space, Laplacian())
    proposal = propose(space, gp, time_limit=60)
    assert proposal.status == "optimal"
    assert proposal.method != "listing"
    assert gp_value(gp, space.sample(2000, seed=3), LCB(1.0)).min() >= proposal.value - 1e-9


def gp_value(gp: GraphGP, graphs: Any, acquisition: Any) -> np.ndarray:
    mean, std = gp.predict(graphs)
    return np.asarray(acquisition(mean, std, gp.posterior.model.best))


def test_in_a_large_space_nothing_is_called_optimal_without_a_proof() -> None:
    space = GraphSpace(12, labels=4)
    gp = fitted(space, Gaussian())
    proposal = propose(space, gp, time_limit=5)
    assert proposal.status == "time_limit"  # the kernel declares its largest value
    others = gp_value(gp, space.sample(300, seed=1), LCB(1.0))
    assert -math.inf < proposal.bound <= min(proposal.value, others.min())

    class Silent(Gaussian):
        def largest(self) -> None:  # type: ignore[override]
            return None

    untold = propose(space, fitted(space, Silent()), time_limit=5)
    assert (untold.status, untold.bound) == ("heuristic", -math.inf)


def test_a_false_largest_value_is_refused() -> None:
    class Modest(Edges):
        def largest(self) -> float:
            return 1e-3

    space = GraphSpace(5)
    with pytest.raises(ValueError, match=r"between 0 and largest\(\) = 0.001"):
        fitted(space, Modest())


class FlaggedAsSSP(Edges):
    """Has every attribute that SSP has."""

    exponential = False

    def features(self, counts: Any) -> Any:
        return counts.lengths / counts.sizes[:, None] ** 2


def test_the_paper_s_program_refuses_other_kernels() -> None:
    space = GraphSpace(4)
    for kernel in (FlaggedAsSSP(), Gaussian()):
        with pytest.raises(UnsupportedError, match=r"one of the kernels ssp, sp, essp, esp"):
            propose(space, fitted(space, kernel), method="mip", time_limit=10)


def test_proofs_depend_on_the_class_of_a_kernel_and_not_on_its_attributes() -> None:
    space = GraphSpace(4, labels=2)
    criterion = Criterion(space, fitted(space, FlaggedAsSSP()).posterior, LCB(1.0))
    assert type(choose(criterion)) is OwnHistograms
    labelled = Criterion(space, fitted(space, Gaussian()).posterior, LCB(1.0))
    assert choose(labelled) is None
    assert_best_of_all(space, fitted(space, FlaggedAsSSP()), LCB(1.0))


def test_kernels_that_cannot_be_sent_to_workers_stay_in_this_process() -> None:
    class Local(Laplacian):
        pass

    class Holding(Laplacian):
        def __init__(self) -> None:
            self.lock = threading.Lock()

    assert can_be_sent(Laplacian())
    assert can_be_sent(uncertain_middle)
    assert can_be_sent(Local())  # by value
    assert not can_be_sent(Holding())
    lost = type("Lost", (Laplacian,), {"__module__": "no_such_module"})()
    assert not can_be_sent(lost)
    space = GraphSpace(5, labels=2)
    for kernel in (Local(), Holding(), lost):
        assert_best_of_all(space, fitted(space, kernel), EI())


@pytest.mark.parametrize("method", ["search", "sample", "evolve"])
def test_heuristics_stay_heuristics(method: Any) -> None:
    space = GraphSpace(5, labels=2)
    proposal = propose(space, fitted(space, Gaussian()), method=method, time_limit=10)
    assert proposal.status == "heuristic"


def test_batches_believe_with_the_fitted_kernel() -> None:
    space = GraphSpace(5, labels=2)
    gp = fitted(space, Gaussian())
    found = propose(space, gp, n=3, time_limit=30)
    assert isinstance(found, list)
    assert len({p.graph.canonical_key() for p in found}) == 3
    assert all(p.status == "optimal" for p in found)
    after = gp.posterior.believe([found[0].graph])
    assert after.model.kernel == gp.posterior.model.kernel
    assert_best_is(space, after, found[1].value, [found[0].graph])


def assert_best_is(space: GraphSpace, posterior: Any, value: float, exclude: list[Any]) -> None:
    proposal = propose(space, posterior, exclude=exclude, time_limit=30)
    assert proposal.value == pytest.approx(value, abs=1e-9)
