"""If EI is too small for a floating-point number, its logarithm decides, from end to end.

The oracle computes expected improvements with hundreds of digits from the public predictions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bogrape import EI, Graph, GraphGP, GraphSpace, Study, propose
from bogrape.errors import EngineError
from bogrape.propose import portfolio
from bogrape.propose.criterion import Criterion
from bogrape.propose.proposal import Proposal, Request
from bogrape.propose.recheck import recheck
from bogrape.propose.values import CERTAIN, LogUnits
from exhaustive import everything, fitted, prove

import oracles

SPACES = {
    "ssp": GraphSpace(5),
    "essp": GraphSpace((3, 5)),
    "sp": GraphSpace(4, labels=2),
    "esp": GraphSpace(4, labels=2),
    "rbf": GraphSpace(4, labels=2),
}
HOPELESS = (1e4, 1e7)  # least improvements, in deviations of the observed values


def _logs(gp: GraphGP, xi: float, graphs: Any) -> np.ndarray:
    """Logarithms of expected improvements in deviations of the observed values."""
    model = gp.posterior.model
    mean, std = model.y_mean + 0.0, model.y_scale
    means, stds = gp.predict(graphs)
    means, stds = (means - mean) / std, stds / std
    goal = model.standard_best - xi
    pairs = zip(means.tolist(), stds.tolist(), strict=True)
    return np.array([oracles.log_expected_improvement(m, s, goal) for m, s in pairs])


@pytest.mark.parametrize("xi", HOPELESS)
@pytest.mark.parametrize("kernel", SPACES)
def test_the_best_graph_is_proposed_even_if_ei_underflows(kernel: str, xi: float) -> None:
    space = SPACES[kernel]
    gp = fitted(space, kernel, seed=1, noise=1e-3)
    scale = gp.posterior.model.y_scale
    graphs = [*everything(space)]
    mean, std = gp.predict(graphs)
    acquisition = EI(xi * scale)
    assert not acquisition(mean, std, gp.posterior.model.best).any()  # all of them are zero
    truth = _logs(gp, xi, graphs)
    proved = prove(space, gp, acquisition)
    objective = Criterion(space, gp.posterior, acquisition)
    searched = portfolio.METHODS["search"](objective, Request(n_evaluations=5_000))
    for found in (proved, searched):
        recheck(found, objective, Request(), "auto" if found is proved else "search")
        index = next(i for i, g in enumerate(graphs) if oracles.are_isomorphic(g, found.graph))
        assert truth[index] == pytest.approx(truth.max(), rel=1e-7)
        assert found.value == 0
        assert found.log_value == pytest.approx(truth[index] + math.log(scale), rel=1e-7)
    assert (proved.status, proved.gap) == ("optimal", 0)
    assert proved.log_value <= proved.log_bound <= proved.log_value * (1 - 1e-6)
    assert (searched.bound, searched.log_bound) == (-math.inf, math.inf)


def test_a_study_with_zero_improvements_proposes_the_largest_logarithm() -> None:
    space = GraphSpace(4, labels=2)
    study = Study(space, kernel="sp", noise=1e-3, n_initial=4, acquisition=EI(300.0), seed=3)
    for trial in study.ask(4):
        study.tell(trial, trial.graph.n_edges + 0.1 * int(trial.graph.labels.sum()))
    trial = study.ask()
    certificate = trial.certificate
    assert certificate["value"] == 0
    assert certificate["status"] == "optimal"
    graphs, values = study.dataset
    taken = {graph.canonical_key() for graph in graphs}
    left = [graph for graph in everything(space) if graph.canonical_key() not in taken]
    mean, std = study.predict(left)
    goal = min(values) - 300.0
    pairs = zip(mean.tolist(), std.tolist(), strict=True)
    truth = np.array([oracles.log_expected_improvement(m, s, goal) for m, s in pairs])
    assert certificate["log_value"] == pytest.approx(truth.max(), rel=1e-6)
    index = next(i for i, g in enumerate(left) if oracles.are_isomorphic(g, trial.graph))
    assert truth[index] == pytest.approx(truth.max(), rel=1e-6)


class _Sure:
    """A surrogate that is certain of everything."""

    def fit(self, graphs: Any, y: Any) -> None:
        """Nothing to learn."""

    def predict(self, graphs: list[Graph]) -> tuple[np.ndarray, np.ndarray]:
        means = np.array([10.0 - graph.n_edges for graph in graphs])
        return means, np.zeros(len(graphs))


def test_certain_graphs_that_are_no_better_can_still_be_proposed() -> None:
    """Their improvement is zero; the best mean comes first."""
    from bogrape.surrogate import FittedSurrogate

    space = GraphSpace(4)
    graphs = list(everything(space))
    model = FittedSurrogate.fit(_Sure(), graphs[:3], [-5.0, -6.0, -7.0])
    for method in ("exact", "search"):
        found = propose(space, model, EI(), method)
        assert found.graph.n_edges == 6
        assert math.isfinite(found.log_value)


def test_deviations_that_are_only_rounding_count_as_the_smallest_one() -> None:
    gp = fitted(SPACES["ssp"], "ssp")
    criterion = Criterion(SPACES["ssp"], gp.posterior, EI())
    mean = np.full(3, 0.5 + gp.posterior.model.standard_best)
    tiny, none, least = criterion.of_prediction(mean, np.array([1e-9, 0.0, CERTAIN]))
    assert tiny == none == least
    assert least == pytest.approx(-oracles.log_expected_improvement(0.5, CERTAIN, 0.0), rel=1e-9)


def test_logarithms_and_values_agree() -> None:
    units = LogUnits(0.0, 20.0)
    assert units.value(-math.log(0.25)) == pytest.approx(-5.0)
    assert units.of_log(units.log(3.0)) == 3.0
    assert math.exp(units.log(3.0)) == pytest.approx(-units.value(3.0))
    assert units.value(1e6) == 0
    assert units.value(-1e6) == -1.7976931348623157e308
    assert units.value(-math.inf) == -math.inf


LIES: dict[str, dict[str, Any]] = {
    "no logarithms": {"log_value": None, "log_bound": None},
    "another logarithm": {"log_value": -700.0},
    "a logarithm of another number": {"value": -1.0},
    "a bound of another number": {"bound": -1.0},
    "a bound below the value": {"log_bound": -1e9, "standard_gap": None},
    "a gap that is none": {"standard_gap": 0.5},
}


@pytest.mark.parametrize("lie", LIES)
def test_false_logarithms_are_caught(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = SPACES["ssp"]
    gp = fitted(space, "ssp", seed=1, noise=1e-3)
    honest = portfolio.METHODS["exact"]

    def liar(objective: Criterion, request: Request) -> Proposal:
        return replace(honest(objective, replace(request, n_evaluations=500)), **LIES[lie])

    monkeypatch.setitem(portfolio.METHODS, "exact", liar)
    with pytest.raises(EngineError, match="please report this"):
        propose(space, gp, EI(1e3 * gp.posterior.model.y_scale), "exact")
