"""Mistakes can be fixed: values are corrected and settings changed, and both are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import Graph, GraphSpace, Study
from bogrape.constraints import NumberOfEdges
from bogrape.errors import InvalidInputError, StudyError

SPACE = GraphSpace(5, labels=2)


@pytest.fixture(params=["memory", "sqlite"])
def study(request: Any, tmp_path: Path) -> Study:
    storage = None if request.param == "memory" else f"sqlite:///{tmp_path}/study.db"
    made = Study(SPACE, storage, n_initial=4, preset="paper", method="search", time_limit=1)
    for trial in made.ask(4):  # type: ignore[union-attr]
        made.tell(trial, float(trial.graph.n_edges))
    return made


def reopened(study: Study) -> Study:
    return Study.load(study.storage, study.name)


# -- values -----------------------------------------------------------------------------------


def test_a_correction_replaces_the_value_and_keeps_the_old_one_on_record(study: Study) -> None:
    old = study.trials[1].value
    study.correct(1, 2.5, reason="typed 25 instead of 2.5")
    again = study.correct(study.trials[1], 2.25)
    assert reopened(study).trials[1] == again
    assert again.value == 2.25
    assert again.state == "complete"
    assert [entry["value"] for entry in again.history] == [old, 2.5]
    assert again.history[0]["because"] == "typed 25 instead of 2.5"
    assert reopened(study).best == again


def test_the_model_learns_from_the_corrected_value(study: Study) -> None:
    graph = study.trials[0].graph
    before, _ = study.predict([graph])
    study.correct(0, study.trials[0].value + 50.0)  # type: ignore[operator]
    after, _ = study.predict([graph])
    fresh, _ = reopened(study).predict([graph])
    assert after[0] > before[0] + 10
    assert np.allclose(after, fresh)


def test_a_value_can_be_withdrawn_and_given_again(study: Study) -> None:
    old = study.trials[2].value
    gone = study.correct(2, None, reason="contaminated")
    assert (gone.state, gone.value, gone.reason) == ("failed", None, "contaminated")
    assert len(study.dataset.graphs) == 3
    back = study.correct(2, 7.0)
    assert (back.state, back.value, back.reason) == ("complete", 7.0, None)
    assert [entry["value"] for entry in back.history] == [old, None]


def test_a_failure_recorded_by_mistake_can_become_a_value(study: Study) -> None:
    trial = study.ask()
    study.fail(trial, "nothing came out")
    mended = study.correct(trial, 3.0)
    assert (mended.state, mended.value) == ("complete", 3.0)
    assert mended.history[0]["reason"] == "nothing came out"


def test_correcting_to_the_same_value_changes_nothing(study: Study) -> None:
    trial = study.trials[0]
    assert study.correct(0, trial.value) == trial


def test_a_trial_without_a_value_cannot_be_corrected(study: Study) -> None:
    trial = study.ask()
    with pytest.raises(StudyError, match=r"pending and has nothing to correct; .*study\.tell"):
        study.correct(trial, 1.0)
    with pytest.raises(InvalidInputError, match="finite number"):
        study.correct(0, float("inf"))
    assert study.trials[trial.id] == trial


def test_two_corrections_at_once_are_both_recorded(study: Study) -> None:
    other = reopened(study)
    before = other.trials[0]  # the other process has seen the old value
    study.correct(0, 1.5)
    assert not other.storage.update(other.name, before, before)  # and cannot overwrite the new one
    other.correct(0, 2.5)
    assert [entry["value"] for entry in study.trials[0].history] == [before.value, 1.5]


def test_telling_another_value_names_the_ways_to_record_it(study: Study) -> None:
    with pytest.raises(StudyError, match=r"study\.correct\(trial, value\).*study\.add"):
        study.tell(0, 99.0)


# -- settings ---------------------------------------------------------------------------------


def test_settings_that_do_not_alter_the_past_can_be_changed(study: Study) -> None:
    study.change(kernel="sp", noise="fit", time_limit=2.0, acquisition="ei", method="evolve")
    again = reopened(study)
    for one in (study, again):
        assert one.settings.kernel == "sp"
        assert one.settings.noise == "fit"
        assert one.settings.time_limit == 2.0
    (change,) = again.changes
    assert change["from_trial"] == 4
    assert change["changed"]["kernel"] == ["ssp", "sp"]
    assert set(change["changed"]) == {"kernel", "noise", "time_limit", "acquisition", "method"}
    assert study.ask().certificate["method"] == "evolve"


def test_a_change_to_the_same_value_is_not_recorded(study: Study) -> None:
    study.change(kernel="ssp")
    assert study.changes == []


def test_rules_can_be_added_and_old_trials_become_training_data(study: Study) -> None:
    queued = study.enqueue(next(g for g in SPACE.sample(200, seed=8) if g.n_edges > 8))
    study.change(add_rules=[NumberOfEdges(maximum=5)])
    again = reopened(study)
    assert again.space.rules == (NumberOfEdges(maximum=5),)
    assert [bool(t.outside) for t in again.trials] == [t.graph.n_edges > 5 for t in again.trials]
    assert len(again.dataset.graphs) == 4
    for _ in range(3):
        assert again.ask().graph.n_edges <= 5
    assert again.trials[queued.id].state == "failed"
    assert "no longer in the space" in (again.trials[queued.id].reason or "")


def test_another_process_adopts_the_change_at_its_next_ask(study: Study) -> None:
    other = reopened(study)
    study.change(add_rules=[NumberOfEdges(maximum=5)], kernel="sp")
    assert other.ask().graph.n_edges <= 5
    assert other.settings == study.settings


def test_two_changes_at_once_are_both_kept(study: Study) -> None:
    other = reopened(study)
    study.change(kernel="sp")
    other.change(noise="fit")
    final = reopened(study)
    assert (final.settings.kernel, final.settings.noise) == ("sp", "fit")
    assert len(final.changes) == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seed": 3}, "seed cannot be changed"),
        ({"direction": "maximize"}, "direction cannot be changed"),
        ({"colour": 3}, "unknown setting 'colour'"),
        ({"space": GraphSpace(6, labels=2)}, "space .rules can be added"),
        ({"kernel": "rbf2"}, "kernel"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_changes_that_would_rewrite_the_past_are_refused(
    study: Study, wrong: dict[str, Any], words: str
) -> None:
    before = study.settings
    with pytest.raises(InvalidInputError, match=words):
        study.change(**wrong)
    assert study.settings == reopened(study).settings == before
    assert study.changes == []


def test_rules_cannot_be_removed(study: Study) -> None:
    study.change(add_rules=[NumberOfEdges(maximum=5)])
    with pytest.raises(StudyError, match="rules can be added, and nothing else"):
        study.change(space=SPACE)


def test_a_rule_that_leaves_no_graph_is_refused_and_changes_nothing(study: Study) -> None:
    with pytest.raises(InvalidInputError, match="hold together"):
        study.change(add_rules=[NumberOfEdges(maximum=3)])  # five connected nodes need four
    assert study.space == SPACE


def test_the_error_for_other_settings_says_how_to_change_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study(SPACE, url)
    with pytest.raises(StudyError, match=r"kernel.*Study\.load.*change"):
        Study(SPACE, url, kernel="sp")


def test_observations_can_be_moved_to_a_new_study(study: Study) -> None:
    larger = Study(GraphSpace((5, 6), labels=2))
    larger.add_all(zip(*study.dataset, strict=True))
    graphs: list[Graph] = larger.dataset.graphs
    assert graphs == study.dataset.graphs
