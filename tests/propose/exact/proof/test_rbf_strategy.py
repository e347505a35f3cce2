"""Proofs with the kernel ``rbf`` by lines below LCB, against brute force.

In spaces as small as these the engine would list all graphs; here that is disabled.
"""

from __future__ import annotations

import numpy as np
import pytest

from bogrape import LCB, GraphSpace
from bogrape.constraints import NumberOfEdges
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.strategies import rbf as strategies_rbf
from bogrape.propose.exact.proof.strategies.own import OwnHistograms
from bogrape.propose.exact.proof.strategies.rbf import RbfLCB
from exhaustive import DATASETS, assert_optimal, everything, fitted, true_values

SPACES = {
    "labels": GraphSpace(5, labels=2),
    "three labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((2, 4), labels=2),
    "disconnected": GraphSpace(4, labels=2, connected=False),
    "directed": GraphSpace(3, labels=2, directed=True),
    "strongly connected": GraphSpace(3, labels=2, directed=True, connected="strong"),
    "directed and disconnected": GraphSpace(3, labels=2, directed=True, connected=False),
    "features": GraphSpace(4, labels=2, features=1),
    "three labels, disconnected": GraphSpace(3, labels=3, connected=False),
    "sizes and features": GraphSpace((2, 3), labels=2, features=2),
    "rules": GraphSpace(5, labels=2, rules=[NumberOfEdges(4, 7)]),
}
KAPPAS = (0.0, 1.0, 1.96)


@pytest.fixture(autouse=True)
def _no_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies_rbf, "few_graphs", lambda _: False)


def _assert_proved(name: str, seed: int) -> None:
    space = SPACES[name]
    rng = np.random.default_rng(seed)
    kind = DATASETS[seed % len(DATASETS)]
    noise = (1e-6, 1e-3, "fit")[seed % 3]
    gp = fitted(space, "rbf", kind, seed, noise=noise)
    acquisition = LCB(KAPPAS[int(rng.integers(len(KAPPAS)))])
    assert isinstance(choose(Criterion(space, gp.posterior, acquisition)), RbfLCB)
    exclude = []
    if seed % 2:  # the best ones are taken
        graphs = everything(space)
        order = np.argsort(true_values(gp, acquisition, graphs))
        exclude = [graphs[i] for i in order[: int(rng.integers(1, 6))]]
    assert_optimal(space, gp, acquisition, exclude=exclude, seed=seed, n_evaluations=20)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", SPACES)
def test_the_optimum_is_that_of_brute_force(name: str, seed: int) -> None:
    _assert_proved(name, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(6, 26))
@pytest.mark.parametrize("name", SPACES)
def test_the_optimum_is_that_of_brute_force_with_more_seeds(name: str, seed: int) -> None:
    _assert_proved(name, seed)


def test_kernels_that_compare_edge_labels_have_no_strategy() -> None:
    """With edge labels, graphs with equal counts may have different values."""
    space = GraphSpace(4, labels=2, edge_labels=2)
    criterion = Criterion(space, fitted(space, "rbf").posterior, LCB(1.0))
    assert choose(criterion) is None


def test_spaces_with_one_label_have_tables() -> None:
    space = GraphSpace(6)
    criterion = Criterion(space, fitted(space, "rbf").posterior, LCB(1.0))
    assert isinstance(choose(criterion), OwnHistograms)
