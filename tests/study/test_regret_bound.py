"""The regret bound against brute force over all graphs, and stopping by it."""

from __future__ import annotations

import html
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bogrape import GraphSpace, Study, minimize
from bogrape.acquisition import LCB
from bogrape.constraints import NumberOfEdges
from bogrape.errors import InvalidInputError, StudyError
from bogrape.graph import Graph
from bogrape.report import report_html
from bogrape.report.figures import figures_of
from bogrape.report.regret import regret_in_words
from bogrape.report.survey import Survey

SPACE = GraphSpace(5, labels=2)
KAPPA = 2.262157162798205  # both tails of Student's t with 9 degrees of freedom hold 5 %


def value_of(graph: Graph) -> float:
    return float(graph.n_edges + 0.5 * graph.labels.sum() - 0.3 * np.triu(graph.distances()).sum())


def told_study(n: int = 10, **options: Any) -> Study:
    settings: dict[str, Any] = {
        "kernel": "ssp",
        "noise": 1e-4,
        "n_initial": 3,
        "n_evaluations": 1000,
        "restarts": 1,
        "time_limit": 120,
        **options,
    }
    study = Study(SPACE, **settings)
    for graph in SPACE.sample(n, seed=1, distinct=True):
        study.add(graph, value_of(graph))
    return study


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("kernel", ["ssp", "rbf"])
def test_the_bound_is_the_difference_of_limits_over_all_graphs(kernel: str, direction: str) -> None:
    study = told_study(kernel=kernel, direction=direction)
    sign = study.settings.sign
    mean, std = study.predict(SPACE.enumerate())
    seen, seen_std = study.predict([trial.graph for trial in study.trials])
    found = study.regret_bound(0.95)
    reach = KAPPA * found.widening
    upper, lower = (sign * seen + reach * seen_std).min(), (sign * mean - reach * std).min()
    assert found.status == "optimal"
    assert found.kappa == pytest.approx(KAPPA)
    assert float(found) == pytest.approx(upper - lower, abs=1e-5)
    assert found.value >= upper - lower - 1e-9  # never less, in spite of rounding
    assert found.observed == pytest.approx(sign * upper)
    assert found.space == pytest.approx(sign * lower, abs=1e-5)
    best = study.trials[found.trial].graph
    assert best.canonical_key() in {trial.graph.canonical_key() for trial in study.trials}
    assert f"{found.value:.3g}" in str(found)
    assert "2.26 standard deviations" in found.assumptions
    scale = np.std([trial.value for trial in study.trials])
    assert found.noise == pytest.approx(1e-2 * scale, rel=0.2)  # the root of 1e-4, standardised
    assert "without noise" in found.assumptions


def test_more_confidence_and_more_graphs_at_once_increase_the_bound() -> None:
    study = told_study()
    wide = study.regret_bound(0.95, n_graphs=100)
    assert study.regret_bound(0.5).value < study.regret_bound(0.95).value < wide.value
    assert wide.kappa == pytest.approx(5.2907, abs=1e-3)  # of one tail with 0.00025


def test_in_an_exhausted_space_only_the_uncertainty_of_observed_graphs_remains() -> None:
    space = GraphSpace(4)
    study = Study(space, n_initial=2, noise=1e-6, kernel="ssp", restarts=1, acquisition=LCB(1.0))
    for graph in space.enumerate():
        study.add(graph, float(graph.n_edges))
    found = study.regret_bound()
    mean, std = study.predict(space.enumerate())
    assert found.status == "optimal"
    reach = found.kappa * found.widening
    assert found.value == pytest.approx((mean + reach * std).min() - (mean - reach * std).min())


def test_without_a_proof_the_bound_is_infinite_and_says_so() -> None:
    study = told_study(5)
    found = study.regret_bound(stop=lambda: True)
    if found.status == "heuristic":
        assert found.value == math.inf
        assert "no limit was proved on how much better" in str(found)
        assert found.to_dict()["value"] is None
    else:  # the space is small: the remainder may be settled without any time
        assert found.value >= study.regret_bound().value - 1e-6


def test_a_model_that_is_not_calibrated_is_reported_and_does_not_stop_a_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    graphs = SPACE.sample(30, seed=2, distinct=True)
    rng = np.random.default_rng(0)

    def study_of_noise() -> Study:
        # noise is set to be tiny, but values are pure noise, of far more graphs than counts
        study = Study(
            SPACE, kernel="ssp", noise=1e-6, alpha=1e-3, beta=1e-3, n_initial=2, n_evaluations=500
        )
        for graph in graphs:
            study.add(graph, float(rng.normal()))
        return study

    study = study_of_noise()
    found = study.regret_bound()
    assert found.calibrated is False
    assert found.widening > 2.0
    assert f"multiplied by {found.widening:.3g}" in found.assumptions
    assert "NOT CALIBRATED" in found.assumptions
    assert "not calibrated" in str(found)
    from bogrape.stopping import Enough

    assert not Enough(study, 1e6).is_reached()
    assert "not stopped" in caplog.text
    said = regret_in_words(Survey(study))
    assert said is not None
    assert found.coverage is not None
    assert f"not calibrated (only {100 * found.coverage:.0f}% of left-out" in said
    assert "do not rely on it" in said
    assert said in html.unescape(report_html(study))  # the words of the page


def test_the_report_says_if_calibration_is_not_known() -> None:
    study = told_study(4)
    study.regret_bound(record=True)
    said = regret_in_words(Survey(study))
    assert said is not None
    assert "Whether the model was calibrated is not known" in said


@pytest.mark.parametrize("coverage", ["most", math.nan, 7.0, None])
def test_a_record_with_an_odd_coverage_is_put_in_words_without_it(coverage: Any) -> None:
    record = {"value": 0.5, "confidence": 0.95, "calibrated": False, "coverage": coverage}
    survey: Any = SimpleNamespace(complete=[SimpleNamespace(details={"regret_bound": record})])
    said = regret_in_words(survey)
    assert said is not None
    assert "The model was not calibrated, so do not rely on it" in said


def test_graphs_outside_the_space_are_neither_best_nor_a_limit() -> None:
    space = GraphSpace(5, labels=2, rules=[NumberOfEdges(minimum=6)])
    study = Study(space, kernel="ssp", noise=1e-4, n_initial=2, n_evaluations=500, restarts=1)
    for graph in SPACE.sample(12, seed=1, distinct=True):
        study.add(graph, value_of(graph))
    found = study.regret_bound()
    assert not study.trials[found.trial].outside
    mean, std = study.predict(space.enumerate())
    assert found.space == pytest.approx((mean - found.kappa * found.widening * std).min(), abs=1e-5)


def test_a_run_stops_once_the_bound_is_small_and_records_the_curve() -> None:
    study = minimize(
        value_of,
        SPACE,
        n_iterations=60,
        n_initial=5,
        kernel="ssp",
        n_evaluations=500,
        restarts=1,
        stop_when=0.05,
        progress=False,
        seed=3,
    )
    assert len(study.trials) < 65
    curve = [
        trial.details["regret_bound"]["value"]
        for trial in study.trials
        if "regret_bound" in trial.details
    ]
    assert len(curve) == len(study.trials) - 4  # from the end of the initial design on
    assert curve[-1] <= 0.05 < min(curve[:-1])
    said = regret_in_words(Survey(study))
    assert said is not None
    assert f"After evaluation {len(study.trials)}, no untried graph" in said
    assert f"{curve[-1]:.3g}" in said
    pytest.importorskip("matplotlib")
    assert study.plot.regret().words == said
    assert "regret" in figures_of(Survey(study))
    best = min(map(value_of, SPACE.enumerate()))
    assert study.best.value is not None
    assert study.best.value - best <= 0.05


def test_a_user_defined_criterion_stops_a_run() -> None:
    study = minimize(
        value_of,
        SPACE,
        n_iterations=20,
        n_initial=3,
        progress=False,
        method="sample",
        stop_when=lambda study: len(study.trials) >= 4,
    )
    assert len(study.trials) == 4


@pytest.mark.parametrize("confidence", [0, 1, 2.0, True, "high", math.nan])
def test_an_invalid_confidence_is_refused(confidence: Any) -> None:
    with pytest.raises(InvalidInputError, match="confidence"):
        told_study(3).regret_bound(confidence)


def test_studies_without_a_regret_bound_say_so() -> None:
    with pytest.raises(StudyError, match="two complete trials"):
        Study(SPACE).regret_bound()
    several = Study(SPACE, properties={"a": "minimize", "b": "maximize"})
    with pytest.raises(StudyError, match="several properties"):
        several.regret_bound()
    with pytest.raises(InvalidInputError, match="stop_when"):
        minimize(value_of, SPACE, stop_when=-1.0)
