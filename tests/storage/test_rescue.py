"""``bogrape rescue``: recovers exactly the trials with matching checksums from a damaged file."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bogrape import GraphSpace, Study, Trial
from bogrape.cli.main import main
from bogrape.errors import StorageError
from bogrape.storage import RescuedStudy, rescue
from places import TESTS

from damage import WAYS

HERE = TESTS
SPACE = GraphSpace(n_nodes=6, labels=2)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 60 trials, some with graphs over several pages, and an earlier copy of it."""
    path = tmp_path_factory.mktemp("rescue") / "study.db"
    study = Study(SPACE, f"sqlite:///{path}", n_initial=60, method="sample", noise=0.01)
    large = GraphSpace(n_nodes=90, labels=2).sample(3, seed=1)
    study.add_all([(graph, 100.0 + i) for i, graph in enumerate(large)])
    for i in range(57):
        trial = study.ask()
        if i % 7:
            study.tell(trial, trial.graph.n_edges + 0.5 * (i % 2))
        if i == 50:
            study.storage.close()  # type: ignore[attr-defined]
            shutil.copy(path, path.with_suffix(".older"))
    study.change(noise="fit")
    study.storage.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "study.db"))


def written(original: Path) -> tuple[Trial, ...]:
    return Study.load(f"sqlite:///{original}").trials


def only(found: list[RescuedStudy]) -> RescuedStudy:
    (study,) = found
    return study


def cli(*arguments: Any) -> str:
    result = CliRunner().invoke(main, ["rescue", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_an_intact_file_is_recovered_completely(file: Path, original: Path) -> None:
    before = file.read_bytes()
    study = only(rescue(file))
    assert study.trials == written(original)
    assert study.is_complete
    assert study.lost == ()
    assert study.name == "study"
    assert [change["changed"]["noise"] for change in study.changes] == [[0.01, "fit"]]
    assert file.read_bytes() == before


@pytest.mark.parametrize("way", [way for way in WAYS if way != "tamper"])
def test_rescued_trials_are_genuine_and_lost_ones_are_named(
    way: str, file: Path, original: Path
) -> None:
    """Compares a rescue from raw bytes with SQLite's own reading of the sound file."""
    expected = {trial.id: trial for trial in written(original)}
    older = {trial.id: trial for trial in written(original.with_suffix(".older"))}
    rescued = 0
    for seed in range(12):
        shutil.copy(original, file)
        shutil.copy(original.with_suffix(".older"), file.with_suffix(".older"))
        what = WAYS[way](file, random.Random(seed))
        try:
            studies = rescue(file)
        except StorageError:
            continue
        for study in studies:
            assert all(
                trial == expected[trial.id] or trial.graph == older[trial.id].graph
                for trial in study.trials
            ), what
            there = [trial.id for trial in study.trials]
            if study.name is not None:
                assert sorted([*there, *study.lost]) == list(range(60)), what
            if study.is_complete:
                assert study.trials == tuple(expected.values()), what
            rescued += len(there)
    assert rescued > 12 * 60 * (0.3 if way == "truncate" else 0.8)


def test_damaged_indexes_schema_and_header_hide_no_trial(file: Path, original: Path) -> None:
    connection = sqlite3.connect(file)
    query = "SELECT rootpage FROM sqlite_master WHERE type = 'index'"
    pages = [page for (page,) in connection.execute(query)]
    connection.close()
    content = bytearray(file.read_bytes())
    for page in [1, *pages]:
        content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    file.write_bytes(content)
    with pytest.raises(StorageError):
        written(file)
    study = only(rescue(file))
    assert study.trials == written(original)
    assert study.is_complete


def test_a_new_database_continues_the_damaged_one(
    file: Path, original: Path, tmp_path: Path
) -> None:
    connection = sqlite3.connect(file)
    connection.execute("UPDATE bogrape_trials SET value = 7 WHERE number IN (9, 20)")
    connection.execute("DELETE FROM bogrape_trials WHERE number = 30")
    connection.commit()
    connection.close()
    output = cli(file, tmp_path / "new.db")
    assert "study: 57 trials; 3 lost: 9, 20, 30" in output
    study = Study.load(f"sqlite:///{tmp_path}/new.db")
    kept = [trial for trial in written(original) if trial.id not in (9, 20, 30)]
    assert [trial.graph for trial in study.trials] == [trial.graph for trial in kept]
    assert [trial.value for trial in study.trials] == [trial.value for trial in kept]
    assert study.trials[9].details["number_before_rescue"] == 10
    assert "number_before_rescue" not in study.trials[8].details
    assert study.settings.noise == "fit"
    assert len(study.changes) == 1
    study.tell(study.ask(), 3.0)


def test_tables_of_trials_are_written_too(file: Path, tmp_path: Path) -> None:
    assert "all 60 trials, each in its latest version" in cli(file, tmp_path / "trials.jsonl")
    lines = (tmp_path / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(60))
    cli(file, tmp_path / "trials.csv")
    assert len((tmp_path / "trials.csv").read_text(encoding="utf-8").splitlines()) == 61


def test_trials_outlive_the_settings_of_their_study(file: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("UPDATE bogrape_studies SET settings = '{}'")
    connection.commit()
    connection.close()
    study = only(rescue(file))
    assert study.name is study.settings is None
    assert len(study.trials) == 60
    assert not study.is_complete
    result = CliRunner().invoke(main, ["rescue", str(file), str(tmp_path / "new.db")])
    assert result.exit_code == 2
    assert "settings of 1 of 1 studies are lost" in result.output
    assert "name and settings are lost: 60 trials" in cli(file, tmp_path / "trials.jsonl")


def test_nothing_is_overwritten_and_foreign_files_are_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "there.jsonl").write_text("mine", encoding="ascii")
    for arguments, words, code in (
        ((file, tmp_path / "there.jsonl"), "already exists", 2),
        ((HERE / "oracles.py", tmp_path / "x.db"), "no readable trial found", 3),
        ((tmp_path / "missing.db", tmp_path / "x.db"), "cannot be read", 3),
        ((file, tmp_path / "x.txt"), "cannot tell the format", 2),
        ((file, tmp_path / "x.jsonl", "--name", "other"), "no study 'other'", 2),
    ):
        result = CliRunner().invoke(main, ["rescue", *map(str, arguments)])
        assert (result.exit_code, words in result.output) == (code, True), result.output
    assert (tmp_path / "there.jsonl").read_text(encoding="ascii") == "mine"
    assert not (tmp_path / "x.db").exists()


def kept(path: Path) -> RescuedStudy:
    """The study that the files of all schemas contain."""
    return next(study for study in rescue(path) if study.name == "kept")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_files_of_every_schema_can_be_rescued(version: int, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    script = HERE / "data" / f"schema_v{version}.sql"
    connection.executescript(script.read_text(encoding="utf-8"))
    connection.close()
    study = kept(path)
    assert study.lost == ()
    migrated = Study.load(f"sqlite:///{path}", "kept")
    assert study.trials == migrated.trials
    migrated.tell(migrated.ask(worker="me"), 4.0, noise=2.0)
    assert kept(path).trials == migrated.trials


def test_a_file_made_by_version_2_is_rescued_after_its_migration(tmp_path: Path) -> None:
    """Its columns are in a different order from those of a file migrated from version 1."""
    path = tmp_path / "old.db"
    study = Study(SPACE, f"sqlite:///{path}", n_initial=9)
    study.tell(study.ask(), 3.0)
    study.storage.close()  # type: ignore[attr-defined]
    connection = sqlite3.connect(path)
    for column in ("noise", "properties"):
        connection.execute(f"ALTER TABLE bogrape_trials DROP COLUMN {column}")
    connection.execute("UPDATE bogrape_schema SET version = 2")
    connection.commit()
    connection.close()
    migrated = Study.load(f"sqlite:///{path}")
    assert only(rescue(path)).trials == migrated.trials
    migrated.tell(migrated.ask(), 4.0, noise=2.0)
    assert only(rescue(path)).trials == migrated.trials
    assert migrated.trials[1].noise == 2.0


def test_changes_that_are_only_in_the_log_are_rescued(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = Study(SPACE, f"sqlite:///{path}?journal=wal", n_initial=20, method="sample")
    for _ in range(10):
        study.tell(study.ask(), 1.0)
    for end in ("", "-wal"):  # as after a crash
        shutil.copy(f"{path}{end}", tmp_path / f"left.db{end}")
    assert only(rescue(tmp_path / "left.db")).trials == study.trials
