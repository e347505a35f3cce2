"""Studies of several properties: storage, one model per property, and proposals."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Study, minimize
from bogrape.errors import InvalidInputError, ObservationsError, StorageError, StudyError
from bogrape.properties import Gaussian, Goals, Linear, Maximize, hypervolume
from bogrape.storage import rescue
from bogrape.storage.sql import rows, schema
from bogrape.study import InMemoryStorage, Measurement
from places import TESTS

SPACE = GraphSpace(6, labels=2)
PARETO: dict[str, Any] = {"properties": {"edges": "maximize", "path": "minimize"}}
SCORE: dict[str, Any] = {
    "properties": {"edges": Linear(5, 12), "path": Gaussian(4.5, 0.5)},
    "combine": "geometric",
}
QUICK: dict[str, Any] = {"n_initial": 4, "method": "search", "n_evaluations": 600}


def values(graph: Graph) -> dict[str, float]:
    return {"edges": float(graph.n_edges), "path": float(graph.distances().sum()) / 10}


def observed(n: int = 8, storage: Any = None, **settings: Any) -> Study:
    study = Study(SPACE, storage, **{**QUICK, **settings})
    study.add_all([(graph, values(graph)) for graph in SPACE.sample(n, seed=2, distinct=True)])
    return study


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return InMemoryStorage() if request.param == "memory" else f"sqlite:///{tmp_path}/study.db"


# -- telling ----------------------------------------------------------------------------------


def test_told_values_are_kept_after_reopening(storage: Any) -> None:
    study = Study(SPACE, storage, **QUICK, **PARETO)
    trial = study.ask()
    told = study.tell(trial, {"edges": 7, "path": np.float64(4.5)}, noise={"path": 0.25})
    assert (told.state, told.value, told.noise) == ("complete", None, None)
    assert (told.values, told.noises) == ({"edges": 7.0, "path": 4.5}, {"path": 0.25})
    assert study.tell(trial, {"edges": 7}).values == told.values  # again
    again = Study.load(storage)
    assert again.trials == study.trials
    assert again.settings == study.settings
    assert again.dataset.values == [{"edges": 7.0, "path": 4.5}]
    assert again.noise == [{"path": 0.25}]


def test_properties_may_be_told_one_after_another(storage: Any) -> None:
    study = Study(SPACE, storage, **QUICK, **SCORE)
    trial = study.ask()
    half = study.tell(trial, {"edges": 8.0, "path": None})
    assert (half.state, dict(half.values), half.value) == ("complete", {"edges": 8.0}, None)
    with pytest.raises(StudyError, match="measured in full"):
        _ = study.best
    full = study.tell(trial.id, {"path": Measurement(5.0, 0.01)})
    assert full.values == {"edges": 8.0, "path": 5.0}
    assert full.noises == {"path": 0.01}
    expected = ((8 - 5) / 7 * np.exp(-0.5)) ** 0.5
    assert full.value == pytest.approx(expected)
    assert study.best.id == 0
    assert Study.load(storage).best.value == pytest.approx(expected)


def test_other_values_are_refused_and_corrections_are_kept(storage: Any) -> None:
    study = observed(3, storage, **PARETO)
    with pytest.raises(StudyError, match=r"trial 0 already has edges = .*, got 99"):
        study.tell(0, {"edges": 99})
    before = dict(study.trials[0].values)
    fixed = study.correct(0, {"edges": 3.5}, noise={"edges": 0.1}, reason="a typo")
    assert fixed.values == {**before, "edges": 3.5}
    assert fixed.noises == {"edges": 0.1}
    assert fixed.history[0]["values"] == before
    assert fixed.history[0]["because"] == "a typo"
    assert study.correct(0, {"edges": 3.5}) == fixed  # nothing to do
    less = study.correct(0, {"edges": None})
    assert (less.state, dict(less.values), dict(less.noises)) == (
        "complete",
        {"path": before["path"]},
        {},
    )
    gone = study.correct(0, None, reason="mixed up")
    assert (gone.state, gone.reason, dict(gone.values)) == ("failed", "mixed up", {})
    assert len(Study.load(storage).trials[0].history) == 3
    back = study.correct(0, {"path": 4.0})
    assert (back.state, dict(back.values)) == ("complete", {"path": 4.0})
    pending = study.ask()
    with pytest.raises(StudyError, match="nothing to correct"):
        study.correct(pending, {"edges": 1.0})


@pytest.mark.parametrize(
    ("value", "noise", "reason"),
    [
        (3.0, None, "the values of edges, path by name, got 3.0"),
        ({}, None, "at least one of edges, path"),
        ({"edges": None}, None, "at least one of edges, path"),
        ({"edge": 1.0}, None, "unknown property 'edge'"),
        ({"edges": np.nan}, None, "property 'edges'.*finite number"),
        ({"edges": "7"}, None, "property 'edges'.*finite number"),
        ({"edges": 1.0}, 0.1, "the noise of several properties by name"),
        ({"edges": 1.0}, {"path": 0.1}, "property 'path': got noise without a value"),
        ({"edges": 1.0}, {"edges": -0.1}, "noise must be the variance"),
    ],
)
def test_invalid_measurements_are_refused_with_a_reason(
    value: Any, noise: Any, reason: str
) -> None:
    study = Study(SPACE, **QUICK, **PARETO)
    trial = study.ask()
    with pytest.raises(InvalidInputError, match=reason):
        study.tell(trial, value, noise=noise)
    with pytest.raises(InvalidInputError, match=reason):
        study.add(trial.graph, value, noise=noise)
    with pytest.raises(ObservationsError, match=reason):
        study.add_all([(trial.graph, values(trial.graph)), (trial.graph, value, noise)])
    assert [t.state for t in study.trials] == ["pending"]


def test_a_study_of_one_value_takes_no_properties() -> None:
    study = Study(SPACE, n_initial=2)
    with pytest.raises(InvalidInputError, match="got the values of 2 properties"):
        study.tell(study.ask(), {"edges": 1.0, "path": 2.0})  # type: ignore[arg-type]
    with pytest.raises(StudyError, match="needs several properties"):
        _ = study.pareto_front


# -- the front and the score ------------------------------------------------------------------


def test_the_front_is_that_of_all_measured_graphs(storage: Any) -> None:
    study = observed(10, storage, **PARETO)
    study.tell(study.ask(), {"edges": 1000.0})  # not measured in full
    expected = {
        trial.id
        for trial in study.trials[:10]
        if not any(
            other.values["edges"] >= trial.values["edges"]
            and other.values["path"] <= trial.values["path"]
            and other.values != trial.values
            for other in study.trials[:10]
        )
    }
    assert {trial.id for trial in study.pareto_front} == expected
    edges = [trial.values["edges"] for trial in study.pareto_front]
    assert edges == sorted(edges)
    rows_ = [[-t.values["edges"], t.values["path"]] for t in study.trials[:10]]
    assert study.hypervolume({"edges": 0, "path": 10}) == pytest.approx(hypervolume(rows_, [0, 10]))
    with pytest.raises(StudyError, match="needs a reference point"):
        study.hypervolume()
    with pytest.raises(StudyError, match=r"see study\.pareto_front"):
        _ = study.best


def test_repeats_of_a_graph_count_by_their_mean() -> None:
    study = Study(SPACE, **QUICK, **PARETO)
    one, two = SPACE.sample(2, seed=2, distinct=True)
    study.add(one, {"edges": 10.0, "path": 3.0}, noise={"edges": 1.0})
    study.add(one.permuted(range(6)[::-1]), {"edges": 4.0}, noise={"edges": 2.0})
    study.add(two, {"edges": 8.5, "path": 3.0})  # better than 8.0, the weighted mean
    assert [trial.id for trial in study.pareto_front] == [2]


def test_graphs_outside_the_space_are_on_the_front_only_if_there_are_no_others() -> None:
    study = Study(SPACE, **QUICK, **PARETO)
    large = GraphSpace(8, labels=2).sample(1, seed=1)[0]
    study.add(large, {"edges": 20.0, "path": 1.0})
    assert [trial.id for trial in study.pareto_front] == [0]
    study.add(SPACE.sample(1, seed=1)[0], {"edges": 5.0, "path": 3.0})
    assert [trial.id for trial in study.pareto_front] == [1]


def test_changed_weights_change_the_scores_of_existing_trials(storage: Any) -> None:
    study = observed(6, storage, **SCORE)
    before = [trial.value for trial in study.trials]
    study.change(properties={"edges": Linear(5, 12, 9.0), "path": Gaussian(4.5, 0.5)})
    after = [trial.value for trial in study.trials]
    goals = study.settings.goals
    assert goals is not None
    assert after == [goals.score(trial.values) for trial in study.trials]
    assert before != after
    assert [trial.value for trial in Study.load(storage).trials] == after
    study.correct(0, {"edges": 11.0})  # the old score is no longer stored
    assert study.best.value == max(trial.value for trial in study.trials)  # type: ignore[type-var]
    study.change(properties=PARETO["properties"], combine="pareto")
    assert {trial.value for trial in study.trials} == {None}
    with pytest.raises(StudyError, match="a study of one value stays one"):
        study.change(properties=None, combine=None)


# -- proposals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        PARETO,
        {"properties": {**PARETO["properties"], "ones": "minimize"}},
        SCORE,
        {**SCORE, "combine": "mean", "acquisition": LCB(2.0)},
        {"properties": {"edges": Maximize(0.5), "path": "minimize"}, "combine": "sum"},
    ],
    ids=["front", "front-of-three", "geometric", "mean-lcb", "sum"],
)
def test_proposals_are_new_and_have_predictions(settings: dict[str, Any]) -> None:
    def every(graph: Graph) -> dict[str, float]:
        known = {**values(graph), "ones": float(graph.labels.sum())}
        return {name: known[name] for name in settings["properties"]}

    study = Study(SPACE, **QUICK, **settings)
    for _ in range(7):
        trial = study.ask()
        study.tell(trial, every(trial.graph))
    last = study.trials[-1]
    assert last.origin == "proposal"
    assert last.certificate["status"] == "heuristic"
    assert last.certificate["bound"] is None
    assert set(last.predictions) == set(settings["properties"])
    assert all(std >= 0 for _, std in last.predictions.values())
    assert (last.predicted is None) == (study.settings.combine == "pareto")
    assert {name.partition(": ")[0] for name in last.hyperparameters} == set(last.values)
    assert len({trial.graph.canonical_key() for trial in study.trials}) == 7


def test_each_property_has_a_model_fitted_to_the_trials_that_have_it() -> None:
    study = observed(8, **PARETO, noise=1e-4, kernel="sp")
    study.tell(study.ask(), {"edges": 9.0})
    complete = list(study.trials)
    some = SPACE.sample(4, seed=9)
    found = study.predict(some)
    for name in ("edges", "path"):
        known = [trial for trial in complete if name in trial.values]
        assert len(known) == (9 if name == "edges" else 8)
        gp = GraphGP("sp", 1e-4, space=SPACE).fit(
            [trial.graph for trial in known], [trial.values[name] for trial in known]
        )
        np.testing.assert_allclose(found[name], gp.predict(some), rtol=1e-5, atol=1e-6)


def test_the_noise_of_a_property_reaches_its_model() -> None:
    def std(noise: float | None) -> float:
        study = Study(SPACE, **QUICK, **PARETO, noise=1e-4, kernel="sp", alpha=1.0, beta=1.0)
        graphs = SPACE.sample(6, seed=2, distinct=True)
        study.add_all([(g, values(g), None if noise is None else {"path": noise}) for g in graphs])
        predicted = study.predict(graphs[:1])
        assert predicted["edges"][1][0] < 0.1
        return float(predicted["path"][1][0])

    assert std(4.0) > 2 * std(None)


def test_with_too_few_values_for_a_model_a_random_graph_is_proposed() -> None:
    study = Study(SPACE, **{**QUICK, "n_initial": 2}, **PARETO)
    for name in ("edges", "path"):
        trial = study.ask()
        study.tell(trial, {name: values(trial.graph)[name]})
    assert study.ask().origin == "random"
    with pytest.raises(StudyError, match="two values of each of edges, path"):
        study.predict(SPACE.sample(1))


def test_the_same_seed_gives_the_same_graphs_even_after_an_interruption(tmp_path: Path) -> None:
    def run(study: Study, n: int) -> Study:
        for _ in range(n):
            trial = study.ask()
            study.tell(trial, values(trial.graph))
        return study

    whole = run(Study(SPACE, **QUICK, **PARETO, seed=5), 7)
    url = f"sqlite:///{tmp_path}/study.db"
    run(Study(SPACE, url, **QUICK, **PARETO, seed=5), 5)
    rest = run(Study.load(url), 2)
    assert [t.graph for t in rest.trials] == [t.graph for t in whole.trials]


def test_a_batch_has_different_graphs() -> None:
    batch = observed(8, **PARETO).ask(3)
    assert isinstance(batch, list)
    assert len({trial.graph.canonical_key() for trial in batch}) == 3


def test_a_value_far_from_all_others_is_named_with_its_property(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = observed(8, **PARETO)
    study.correct(3, {"path": 1e9})
    with caplog.at_level(logging.WARNING):
        study.ask()
    assert "the value path = 1e+09 of trial 3" in caplog.text


# -- the loop ---------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["inline", "process"])
def test_an_objective_returns_its_properties_by_name(executor: str) -> None:
    study = minimize(
        values,
        SPACE,
        n_iterations=2,
        executor=executor,
        progress=False,
        **QUICK,
        **PARETO,
    )
    assert [dict(t.values) for t in study.trials] == [values(t.graph) for t in study.trials]
    assert len(study.trials) == 6


@pytest.mark.parametrize(
    ("objective", "settings", "reason"),
    [
        (lambda _: {"edge": 1.0}, PARETO, "not a value: unknown property 'edge'"),
        (lambda _: 3.0, PARETO, "not a value: expected the values of edges, path by name"),
        (lambda _: {"edges": np.nan}, PARETO, "not a value: property 'edges'"),
        (lambda _: {}, PARETO, "not a value: .*names of properties"),
        (values, {}, "not a value: .*create the study with a goal for each"),
    ],
)
def test_results_that_do_not_fit_the_study_are_failed_trials(
    objective: Callable[[Graph], Any], settings: dict[str, Any], reason: str
) -> None:
    study = minimize(
        objective, SPACE, n_iterations=0, n_initial=2, progress=False, method="sample", **settings
    )
    assert [trial.state for trial in study.trials] == ["failed", "failed"]
    assert study.trials[0].reason is not None
    import re

    assert re.match(reason, study.trials[0].reason)


def test_a_measurement_carries_the_noise_of_properties() -> None:
    def measure(graph: Graph) -> Any:
        return {"edges": Measurement(graph.n_edges, 0.25), "path": None}

    study = minimize(
        measure, SPACE, n_iterations=0, n_initial=2, progress=False, method="sample", **PARETO
    )
    assert study.noise == [{"edges": 0.25}] * 2


# -- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"combine": "sum"}, "combine belongs to studies of several properties"),
        ({"reference": {"a": 1}}, "reference belongs to studies of several properties"),
        ({**PARETO, "acquisition": "lcb"}, "a Pareto search takes acquisition 'ei'"),
        ({**PARETO, "acquisition": EI(0.1)}, "a Pareto search takes acquisition 'ei'"),
        ({**PARETO, "method": "mip", "acquisition": "ei"}, "method 'mip' is for one value"),
        ({**PARETO, "surrogate": "own_parts:Neighbours"}, "modelled by Gaussian processes"),
        ({"properties": ["edges", "path"]}, "at least two properties"),
    ],
)
def test_incompatible_settings_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        Study(SPACE, **settings)


def test_a_study_is_not_reopened_with_other_properties(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = Study(SPACE, url, **PARETO)
    assert Study(SPACE, url, **PARETO).settings == study.settings
    with pytest.raises(StudyError, match="properties"):
        Study(SPACE, url, properties={"edges": "minimize", "path": "minimize"})


# -- storage ----------------------------------------------------------------------------------


def database(path: Path, version: int) -> str:
    connection = sqlite3.connect(path)
    script = TESTS / "data" / f"schema_v{version}.sql"
    connection.executescript(script.read_text(encoding="utf-8"))
    connection.close()
    return f"sqlite:///{path}"


@pytest.mark.parametrize("version", range(1, 4))
def test_older_files_accept_studies_of_several_properties(version: int, tmp_path: Path) -> None:
    url = database(tmp_path / "study.db", version)
    before = Study.load(url, "kept").trials
    study = Study(SPACE, url, "several", **QUICK, **PARETO)
    study.tell(study.ask(), {"edges": 7.0})
    assert Study.load(url, "several").trials[0].values == {"edges": 7.0}
    assert Study.load(url, "kept").trials == before
    assert all(not trial.values for trial in before)
    connection = sqlite3.connect(tmp_path / "study.db")
    assert connection.execute("SELECT version FROM bogrape_schema").fetchone() == (4,)
    connection.close()


def test_a_stored_file_of_this_schema_is_read_correctly(tmp_path: Path) -> None:
    study = Study.load(database(tmp_path / "study.db", 4), "several")
    assert study.settings.goals == Goals(
        {"qed": "maximize", "sa": "minimize"}, "pareto", {"qed": 0, "sa": 10}
    )
    first, second, third = study.trials
    assert (first.values, first.noises) == ({"qed": 0.75, "sa": 3.0}, {"qed": 0.01})
    assert first.history[0]["values"] == {"qed": 0.5, "sa": 3.0}
    assert (second.state, second.values) == ("complete", {"sa": 2.0})
    assert third.state == "pending"
    assert study.hypervolume() == pytest.approx(0.75 * 7.0)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"values":{},"noises":{}}',
        '{"values":{"edges":"7"},"noises":{}}',
        '{"values":{"edges":7.0},"noises":{"path":1.0}}',
        '{"values":{"edges":7.0},"noises":{"edges":-1.0}}',
        '{"values":{"edges":1e999},"noises":{}}',
        '{"values":{"edges":7.0}}',
    ],
)
def test_hostile_properties_are_refused_even_with_a_matching_checksum(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.db"
    study = Study(SPACE, f"sqlite:///{path}", **QUICK, **PARETO)
    study.tell(study.ask(), {"edges": 7.0})
    study.storage.close()  # type: ignore[attr-defined]
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    connection.execute("UPDATE bogrape_trials SET properties = ?", (text,))
    row = dict(connection.execute("SELECT * FROM bogrape_trials").fetchone())
    row["checksum"] = rows.row_checksum(row)
    connection.execute("UPDATE bogrape_trials SET checksum = ?", (row["checksum"],))
    entry = dict(connection.execute("SELECT * FROM bogrape_studies").fetchone())
    entry["digest"] = rows.digest_of([row])
    connection.execute(
        "UPDATE bogrape_studies SET digest = ?, checksum = ?",
        (entry["digest"], rows.study_checksum(entry)),
    )
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match="trial 0 in the database is damaged"):
        _ = Study.load(f"sqlite:///{path}").trials


def test_a_changed_digit_of_a_property_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = Study(SPACE, f"sqlite:///{path}", **QUICK, **PARETO)
    study.tell(study.ask(), {"edges": 7.0})
    study.storage.close()  # type: ignore[attr-defined]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE bogrape_trials SET properties = replace(properties, '7', '8')")
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match="checksum does not match"):
        Study.load(f"sqlite:///{path}")


def test_properties_can_be_rescued(tmp_path: Path) -> None:
    database(tmp_path / "study.db", 4)
    found = {study.name: study for study in rescue(tmp_path / "study.db")}["several"]
    assert [dict(trial.values) for trial in found.trials] == [
        {"qed": 0.75, "sa": 3.0},
        {"sa": 2.0},
        {},
    ]
    assert found.is_complete


def test_two_processes_that_tell_different_properties_lose_none(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    one = Study(SPACE, url, **QUICK, **PARETO)
    trial = one.ask()
    two = Study.load(url)
    _ = two.trials
    one.tell(trial, {"edges": 7.0})
    two.tell(trial.id, {"path": 4.0})
    assert one.trials[0].values == {"edges": 7.0, "path": 4.0}


def test_the_version_of_the_schema_is_the_one_tested_here() -> None:
    assert schema.SCHEMA_VERSION == 4
