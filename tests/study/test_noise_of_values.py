"""Studies whose values come with their noise: telling, storage, import, and the model."""

from __future__ import annotations

import json
import logging
import math
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bogrape import Graph, GraphGP, GraphSpace, Study, minimize
from bogrape.cli.main import main
from bogrape.errors import InvalidInputError, ObservationsError, StorageError, StudyError
from bogrape.evaluate.command import CommandError, CommandObjective
from bogrape.evaluate.outcome import Outcome, evaluate
from bogrape.study import Measurement
from places import DATA

SPACE = GraphSpace(n_nodes=5, labels=2)


def told(storage: str | None = None, **settings: Any) -> Study:
    """A study with four values, of which two came with their noise."""
    study = Study(SPACE, storage, n_initial=4, method="sample", kernel="ssp", **settings)
    for i, noise in enumerate((0.25, None, 0.0, math.nan)):
        trial = study.ask()
        study.tell(trial, float(i), noise=noise)
    return study


def assert_as_told(study: Study) -> None:
    assert [trial.noise for trial in study.trials] == [0.25, None, 0.0, None]
    np.testing.assert_array_equal(study.noise, [0.25, math.nan, 0.0, math.nan])


def test_noise_is_kept_in_memory_and_in_a_file(tmp_path: Path) -> None:
    assert_as_told(told())
    url = f"sqlite:///{tmp_path}/study.db"
    assert_as_told(told(url))
    assert_as_told(Study.load(url))


def test_noise_is_kept_on_a_postgresql_server(postgresql_schema: str) -> None:
    told(postgresql_schema)
    assert_as_told(Study.load(postgresql_schema))


@pytest.mark.parametrize("version", [1, 2])
def test_files_without_noise_are_migrated_and_accept_noise(version: int, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript((DATA / f"schema_v{version}.sql").read_text(encoding="utf-8"))
    connection.close()
    url = f"sqlite:///{tmp_path}/old.db"
    study = Study.load(url, "kept")
    assert np.isnan(study.noise).all()
    before = study.trials
    study.tell(study.ask(worker="me"), 5.0, noise=0.5)
    again = Study.load(url, "kept")
    assert again.trials[0] == before[0]
    assert [trial.noise for trial in again.trials if trial.value == 5.0] == [0.5]


def test_noise_changed_in_the_file_is_noticed(tmp_path: Path) -> None:
    told(f"sqlite:///{tmp_path}/study.db").storage.close()  # type: ignore[attr-defined]
    connection = sqlite3.connect(tmp_path / "study.db")
    connection.execute("UPDATE bogrape_trials SET noise = 0.01 WHERE number = 0")
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match="checksum"):
        _ = Study.load(f"sqlite:///{tmp_path}/study.db").trials


def test_the_model_of_a_study_is_that_of_its_values_and_their_noise() -> None:
    study = told(noise=0.01)
    gp = GraphGP("ssp", noise=0.01, space=SPACE).fit(*study.dataset, noise=study.noise)
    queries = SPACE.sample(8, seed=3)
    np.testing.assert_array_equal(study.predict(queries), gp.predict(queries))
    study.correct(0, 0.0, noise=25.0)  # the same value, far less accurate
    again = GraphGP("ssp", noise=0.01, space=SPACE).fit(*study.dataset, noise=study.noise)
    np.testing.assert_array_equal(study.predict(queries), again.predict(queries))
    assert not np.allclose(again.predict(queries), gp.predict(queries))


def test_telling_the_same_again_changes_nothing_and_other_noise_is_refused() -> None:
    study = told()
    assert study.tell(0, 0.0, noise=0.25) == study.trials[0]
    assert study.tell(0, 0.0) == study.trials[0]
    with pytest.raises(
        StudyError, match=r"already has the value 0\.0 with noise 0\.25, got 0\.0 with noise 0\.5"
    ):
        study.tell(0, 0.0, noise=0.5)


def test_corrections_keep_the_noise_unless_they_give_another() -> None:
    study = told()
    assert study.correct(0, 3.0).noise == 0.25
    assert study.correct(0, 3.0, noise=0.5).noise == 0.5
    assert study.correct(0, 3.0, noise=math.nan).noise is None
    assert study.correct(0, None).noise is None
    before = [(entry["value"], entry.get("noise")) for entry in study.trials[0].history]
    assert before == [(0.0, 0.25), (3.0, 0.25), (3.0, 0.5), (3.0, None)]


def test_observations_keep_their_noise_when_moved_to_another_study() -> None:
    study, graphs = told(), SPACE.sample(3, seed=5)
    study.add(graphs[0], 1.5, noise=0.125)
    study.add_all([(graphs[1], 2.0), (graphs[2], 3.0, 0.5), (graphs[0], 1.0, None)])
    noise = study.noise
    np.testing.assert_array_equal(noise[4:], [0.125, math.nan, 0.5, math.nan])
    new = Study(SPACE)
    new.add_all(zip(*study.dataset, study.noise, strict=True))
    np.testing.assert_array_equal(new.noise, noise)


def test_accurate_values_of_a_repeated_graph_have_more_weight() -> None:
    study, (one, other) = Study(SPACE), SPACE.sample(2, seed=5, distinct=True)
    study.add_all([(one, 0.0, 100.0), (one, 4.0, 1.0), (other, 3.0, 1.0)])
    assert study.best.graph == other  # 400 / 101 against 3; the plain mean of the first is 2
    study.add(other, 5.0)  # of unknown noise: a plain mean of 4 against 3.96
    assert study.best.graph == one


@pytest.mark.parametrize("noise", [-1.0, math.inf, "0.1", True, [0.1]])
def test_noise_that_is_not_a_variance_is_refused_and_changes_nothing(noise: Any) -> None:
    study = Study(SPACE)
    trial, graph = study.ask(), SPACE.sample(1, seed=5)[0]
    with pytest.raises(InvalidInputError, match="variance of the value"):
        study.tell(trial, 1.0, noise=noise)
    with pytest.raises(InvalidInputError, match="variance of the value"):
        study.add(graph, 1.0, noise=noise)
    with pytest.raises(ObservationsError, match="variance of the value"):
        study.add_all([(graph, 1.0, noise)])
    assert [trial.state for trial in study.trials] == ["pending"]


# -- objectives -------------------------------------------------------------------------------


def measured(graph: Graph) -> Measurement:
    return Measurement(float(graph.n_edges), noise=0.5)


@pytest.mark.parametrize("executor", [None, "process"])
def test_an_objective_may_return_the_noise_of_its_value(executor: str | None) -> None:
    study = minimize(
        measured, SPACE, n_iterations=0, n_initial=3, executor=executor, progress=False
    )
    assert [trial.noise for trial in study.trials] == [0.5] * 3
    assert [trial.value for trial in study.trials] == [t.graph.n_edges for t in study.trials]


def test_an_invalid_measurement_is_an_outcome_without_a_value() -> None:
    graph = SPACE.sample(1)[0]
    for wrong in (Measurement(math.nan, 0.1), Measurement(1.0, -0.1), (1.0, 0.1)):
        assert evaluate(lambda _, wrong=wrong: wrong, graph).kind == "not a value"
    outcome = evaluate(measured, graph)
    assert Outcome.from_json(outcome.to_json()) == outcome
    assert outcome.noise == 0.5


def test_a_program_may_print_the_noise_after_the_value() -> None:
    def prints(text: str) -> Any:
        return CommandObjective([sys.executable, "-S", "-c", f"print({text!r})"])(
            SPACE.sample(1)[0]
        )

    assert prints("-1.5") == -1.5
    assert prints("-1.5 0.25") == Measurement(-1.5, 0.25)
    for wrong in ("1 2 3", "1 m", ""):
        with pytest.raises(CommandError, match="a value and its noise"):
            prints(wrong)


class Remembers:
    """A surrogate that takes noise and predicts the mean of all values."""

    seen: list[Any] = []  # noqa: RUF012

    def fit(self, graphs: Sequence[Graph], y: np.ndarray, noise: Any = None) -> None:  # noqa: ARG002
        self.mean = float(y.mean())
        Remembers.seen.append(noise)

    def predict(self, graphs: Sequence[Graph]) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(graphs), self.mean), np.ones(len(graphs))


class Ignores(Remembers):
    """A surrogate that does not take noise."""

    def fit(self, graphs: Sequence[Graph], y: np.ndarray) -> None:  # type: ignore[override]
        super().fit(graphs, y)


def test_a_user_defined_surrogate_is_given_the_noise_if_it_takes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Remembers.seen.clear()
    told(surrogate=Remembers).ask()
    np.testing.assert_array_equal(Remembers.seen[0], [0.25, math.nan, 0.0, math.nan])
    with caplog.at_level(logging.WARNING):
        told(surrogate=Ignores).ask()
    assert "Ignores ignores the known noise" in caplog.text


# -- command line -----------------------------------------------------------------------------

STUDY = """
storage = "sqlite:///study.db"
[space]
n_nodes = 5
labels = 2
[search]
method = "sample"
[objective]
command = "true"
"""


def call(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_command_line_tells_corrects_exports_and_imports_noise(
    tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY, encoding="utf-8")
    call("ask", file, "-n", 2)
    assert "noise 0.25" in call("tell", file, 0, "-1.5", "--noise", 0.25)
    call("tell", file, 1, 2.5)
    corrected = json.loads(call("correct", file, 0, "-1.25", "--noise", 0.5, "--json"))
    assert (corrected["value"], corrected["noise"]) == (-1.25, 0.5)
    exported = tmp_path / f"trials.{kind}"
    call("export", file, exported)
    other = tmp_path / "other.toml"
    other.write_text(STUDY.replace("study.db", "other.db"), encoding="utf-8")
    assert "(noise 0.5)" in call("import", other, exported, "--preview")
    call("import", other, exported)
    study = Study.load(f"sqlite:///{tmp_path}/other.db")
    assert [(trial.value, trial.noise) for trial in study.trials] == [(-1.25, 0.5), (2.5, None)]


def test_the_column_of_noise_may_have_another_name(tmp_path: Path) -> None:
    file, table = tmp_path / "study.toml", tmp_path / "known.csv"
    file.write_text(STUDY, encoding="utf-8")
    cell = SPACE.sample(1)[0].to_json().replace('"', '""')
    table.write_text(f'graph,value,variance\n"{cell}",1.0,0.5\n"{cell}",2.0,\n', encoding="utf-8")
    call("import", file, table, "--noise-column", "variance")
    study = Study.load(f"sqlite:///{tmp_path}/study.db")
    assert [trial.noise for trial in study.trials] == [0.5, None]
    result = CliRunner().invoke(main, ["import", str(file), str(table), "--noise-column", "sd"])
    assert result.exit_code == 2
    assert "expected a column 'sd' of noise" in result.output + result.stderr
