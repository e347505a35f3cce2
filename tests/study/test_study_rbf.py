"""Studies with the kernel ``rbf``: settings, storage, warm starts, reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import GraphGP, GraphSpace, Study
from bogrape.acquisition import EI
from bogrape.cli.config import read_study_file
from bogrape.kernels import RBF
from bogrape.report.html import report_html
from bogrape.report.survey import Survey
from bogrape.report.words import blind_spot

SPACE = GraphSpace(6, labels=2, edge_labels=2)
OPTIONS: dict[str, Any] = {
    "kernel": "rbf",
    "noise": "fit",
    "acquisition": EI(),
    "method": "sample",  # whose answer does not depend on the clock
    "n_initial": 5,
}


def evaluated(study: Study, n: int) -> Study:
    for _ in range(n):
        trial = study.ask()
        assert trial.graph.edge_labels is not None
        study.tell(trial, float(trial.graph.edge_labels.sum()) + trial.graph.n_edges)
    return study


def test_a_study_proposes_predicts_and_records_length_scales() -> None:
    study = evaluated(Study(SPACE, **OPTIONS), 7)
    last = study.trials[-1]
    assert last.origin == "proposal"
    assert {"alpha", "noise", "length_labels", "length_edge_labels"} <= set(last.hyperparameters)
    mean, std = study.predict(SPACE.sample(3, seed=9))
    assert np.isfinite([mean, std]).all()


def test_a_stored_study_continues_as_if_it_had_not_been_stopped(tmp_path: Path) -> None:
    """Warm starts come from the trials, so they survive."""
    stopped = Study(SPACE, storage=f"sqlite:///{tmp_path}/study.db", **OPTIONS)
    evaluated(stopped, 7)
    reopened = Study.load(f"sqlite:///{tmp_path}/study.db")
    assert reopened.settings.kernel == "rbf"
    evaluated(reopened, 2)
    straight = evaluated(Study(SPACE, **OPTIONS), 9)
    for one, other in zip(reopened.trials, straight.trials, strict=True):
        assert one.graph == other.graph
        assert one.hyperparameters == pytest.approx(other.hyperparameters, rel=1e-9)


def test_a_fit_begins_with_the_hyperparameters_of_the_last_proposal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []
    fit = GraphGP.fit

    def watched(gp: GraphGP, *data: Any, start: Any = None, **options: Any) -> GraphGP:
        seen.append(start)
        return fit(gp, *data, start=start, **options)

    study = evaluated(Study(SPACE, **OPTIONS), 6)
    monkeypatch.setattr(GraphGP, "fit", watched)
    evaluated(study, 1)
    assert seen == [study.trials[5].hyperparameters]


def test_a_kernel_by_name_and_as_an_object_is_the_same_setting() -> None:
    by_name, itself = Study(SPACE, kernel="rbf"), Study(SPACE, kernel=RBF())
    assert by_name.settings == itself.settings


def test_a_study_file_may_choose_rbf(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('[space]\nn_nodes = 5\n[search]\nkernel = "rbf"\nnoise = "fit"\n')
    assert read_study_file(path).settings.kernel == "rbf"


def test_a_report_describes_the_model_and_claims_no_blind_spot() -> None:
    study = Study(SPACE, **OPTIONS)
    graphs = SPACE.sample(30, seed=2, distinct=True)
    study.add_all([(g, float(g.edge_labels.sum())) for g in graphs])  # type: ignore[union-attr]
    survey = Survey(study)
    assert blind_spot(survey) is None
    assert blind_spot(Survey(Study(SPACE, kernel="esp"))) is not None
    assert survey.left_out.knows_something
    said = survey.gp.describe()
    assert "labels of edges" in said
    page = report_html(study)
    assert said.replace("'", "&#x27;") in page
    assert "The model does not see" not in page
    assert any(effect.exchange.kind == "edge label" for effect in survey.effects)


def test_a_report_of_paper_kernels_does_not_mention_length_scales() -> None:
    study = Study(SPACE, kernel="esp", noise="fit")
    graphs = SPACE.sample(20, seed=2, distinct=True)
    study.add_all([(g, float(g.n_edges)) for g in graphs])
    assert "Most important for the prediction" not in report_html(study)


def test_other_settings_in_a_report_include_rbf() -> None:
    study = Study(SPACE, preset="paper")
    rng = np.random.default_rng(0)
    study.add_all([(g, float(rng.normal())) for g in SPACE.sample(8, seed=2, distinct=True)])
    assert {("rbf", 1e-6), ("rbf", "fit")} <= {(s.kernel, s.noise) for s in Survey(study).scores}
