"""Proofs of EI by way of LCB, against brute force.

In spaces as small as these the engine would list all graphs; here it may not.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from bogrape import EI, GraphSpace
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.strategies import choose, improvement
from bogrape.propose.exact.proof.strategies.improvement import (
    ExponentialLabelledEI,
    LinearLabelledEI,
    RbfEI,
)
from exhaustive import DATASETS, assert_optimal, everything, fitted, true_values

SPACES = {
    "labels": GraphSpace(5, labels=2),
    "three labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((2, 4), labels=2),
    "disconnected": GraphSpace(4, labels=2, connected=False),
    "directed": GraphSpace(3, labels=2, directed=True),
    "strongly connected": GraphSpace(3, labels=2, directed=True, connected="strong"),
    "features": GraphSpace(4, labels=2, features=1),
    "sizes and features": GraphSpace((2, 3), labels=2, features=2),
}
STRATEGIES = {"rbf": RbfEI, "sp": LinearLabelledEI, "esp": ExponentialLabelledEI}
XIS = (0.0, 0.0, 0.3, -0.5, 3.0)  # the last one in deviations: hardly any graph is as good


@pytest.fixture(autouse=True)
def _no_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improvement, "few_graphs", lambda _: False)


def _assert_proved(kernel: str, name: str, seed: int) -> None:
    space = SPACES[name]
    rng = np.random.default_rng(seed)
    noise = (1e-6, 1e-3, "fit")[seed % 3]
    gp = fitted(space, kernel, DATASETS[seed % len(DATASETS)], seed, noise=noise)
    acquisition = EI(float(rng.choice(XIS)) * gp.posterior.model.y_scale)
    criterion = Criterion(space, gp.posterior, acquisition)
    assert type(choose(criterion)) is STRATEGIES[kernel]
    graphs = everything(space)
    exclude = []
    if seed % 2:  # the best ones are taken
        order = np.argsort(true_values(gp, acquisition, graphs))
        exclude = [graphs[i] for i in order[: int(rng.integers(1, 6))]]
    proposal = assert_optimal(
        space, gp, acquisition, exclude=exclude, seed=seed, n_evaluations=20, time_limit=120.0
    )
    taken = {graph.canonical_key() for graph in exclude}
    left = [graph for graph in graphs if graph.canonical_key() not in taken]
    best = min(criterion.of_graph(graph) for graph in left)  # minus log EI, however small
    scale = math.log(gp.posterior.model.y_scale)
    assert scale - proposal.log_value == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kernel", STRATEGIES)
def test_the_optimum_is_that_of_brute_force(kernel: str, name: str, seed: int) -> None:
    _assert_proved(kernel, name, seed + 10 * list(STRATEGIES).index(kernel))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(50, 60))
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kernel", STRATEGIES)
def test_the_optimum_is_that_of_brute_force_again_and_again(
    kernel: str, name: str, seed: int
) -> None:
    _assert_proved(kernel, name, seed)
