"""Databases of studies: damaged, foreign, newer or hostile files are refused and left alone."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from bogrape import GraphSpace, Study
from bogrape.errors import InvalidInputError, StorageError, StudyError
from bogrape.storage import open_storage
from bogrape.storage.sql import engines, rows, schema, untouched
from places import TESTS

SPACE = GraphSpace(n_nodes=5, labels=2)
HERE = TESTS


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a study of 30 trials, closed."""
    path = tmp_path_factory.mktemp("storage") / "study.db"
    study = Study(SPACE, f"sqlite:///{path}", n_initial=30, method="sample")
    for _ in range(30):
        trial = study.ask()
        study.tell(trial, float(trial.graph.n_edges))
    study.storage.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copy(original, tmp_path / "study.db"))


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def load(path: Path) -> tuple[Any, ...]:
    return Study.load(url(path)).trials


def change(path: Path, statement: str, *values: Any) -> None:
    """Change the file directly, not through the package."""
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def reseal(path: Path) -> None:
    """Make all checksums match, as a forger would."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    for table, fit in (("trials", rows.row_checksum), ("studies", rows.study_checksum)):
        for row in connection.execute(f"SELECT rowid AS place, * FROM bogrape_{table}").fetchall():
            mend = f"UPDATE bogrape_{table} SET checksum = ? WHERE rowid = ?"
            connection.execute(mend, (fit(dict(row)) or "", row["place"]))
        if table == "trials":
            for study in connection.execute("SELECT id FROM bogrape_studies").fetchall():
                own = "SELECT * FROM bogrape_trials WHERE study = ?"
                digest = rows.digest_of(map(dict, connection.execute(own, (study["id"],))))
                connection.execute("UPDATE bogrape_studies SET digest = ?", (digest,))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def everything_beside(path: Path) -> dict[str, bytes]:
    """Contents of all files in the same folder."""
    return {other.name: other.read_bytes() for other in path.parent.iterdir() if other.is_file()}


def assert_refused_untouched(path: Path, words: str) -> None:
    before = everything_beside(path)
    with pytest.raises(StorageError, match=words):
        load(path)
    gc.collect()  # closes what the error held open
    assert everything_beside(path) == before


# -- files that are not what they should be ---------------------------------------------------


def test_the_copy_is_sound(file: Path) -> None:
    assert len(load(file)) == 30


@pytest.mark.parametrize("part", [0.001, 0.1, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused_untouched(part: float, file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(part * len(content))])
    assert_refused_untouched(file, "damaged|malformed|not a database")


@pytest.mark.parametrize("seed", range(12))
def test_a_file_with_a_block_of_noise_is_refused_untouched_or_read_correctly(
    seed: int, file: Path
) -> None:
    """Noise in unused parts of a page does no harm; anywhere else it must be noticed."""
    import random

    rng = random.Random(seed)
    expected = load(file)
    content = bytearray(file.read_bytes())
    place = rng.randrange(100, len(content) - 64)
    content[place : place + 64] = rng.randbytes(64)
    file.write_bytes(content)
    try:
        found = load(file)
    except StorageError:
        assert file.read_bytes() == content
    else:
        assert found == expected


def test_a_flipped_digit_of_a_value_is_noticed(file: Path) -> None:
    change(file, "UPDATE bogrape_trials SET value = value + 1 WHERE number = 3")
    assert_refused_untouched(
        file, "trial 3 in the database is damaged: its checksum does not match"
    )


@pytest.mark.parametrize(
    "content",
    [b"not a database at all", b"\x00" * 5000, b"SQLite format 3\x00", os.urandom(4096)],
    ids=["text", "zeros", "stub", "noise"],
)
def test_a_file_that_is_not_a_database_is_refused_untouched(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    assert_refused_untouched(path, "not a SQLite database, or is damaged")


def test_the_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE recipes (name TEXT)")
    assert_refused_untouched(path, "of another program")


def test_a_newer_file_is_refused_untouched(file: Path) -> None:
    change(file, "UPDATE bogrape_schema SET version = 7")
    assert_refused_untouched(file, r"schema version 7, .* upgrade bogrape")


def test_a_file_without_its_version_is_refused_untouched(file: Path) -> None:
    change(file, "DELETE FROM bogrape_schema")
    assert_refused_untouched(file, "one version number")


def test_a_directory_and_a_missing_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is not a file"):
        open_storage(url(tmp_path))
    with pytest.raises(StorageError, match="does not exist"):
        open_storage(url(tmp_path / "missing" / "study.db"))


def test_loading_a_missing_study_creates_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no storage"):
        load(tmp_path / "typo.db")
    assert not list(tmp_path.iterdir())


def test_a_graph_too_large_to_be_read_back_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(SPACE, url(tmp_path / "study.db"))
    monkeypatch.setattr(rows, "MAX_TEXT", 1000)
    with pytest.raises(InvalidInputError, match="too large"):
        study.add(GraphSpace(60, labels=2).sample(1)[0], 1.0)
    assert study.trials == ()


def test_an_empty_file_becomes_a_storage(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.touch()
    assert open_storage(url(path)).names() == []


# -- hostile content --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("graph", "[" * 100_000 + "]" * 100_000),
        ("graph", '{"n_nodes": 1e9, "edges": []}'),
        ("graph", '{"n_nodes": 3, "edges": [], "__class__": "os.system"}'),
        ("graph", b"\x80\x04cos\nsystem\n."),
        ("certificate", "[" * 100_000 + "]" * 100_000),
        ("certificate", "[]"),
        ("state", "finished"),
        ("origin", "heaven"),
        ("value", "much"),
        ("value", float("inf")),
        ("value", None),
        ("worker", b"\xff"),
        ("attempts", "many"),
        ("seed", 0.5),
    ],
    ids=lambda v: str(v)[:30],
)
def test_hostile_rows_are_refused_even_with_a_matching_checksum(
    column: str, value: Any, file: Path
) -> None:
    change(file, f"UPDATE bogrape_trials SET {column} = ? WHERE number = 5", value)
    reseal(file)  # bytes have no checksum: any row with them is refused
    assert_refused_untouched(file, "trial 5 in the database is damaged")


@pytest.mark.parametrize("half", [10**7, pytest.param(499_000_000, marks=pytest.mark.deep)])
def test_an_enormous_text_is_refused_before_it_is_read(half: int, file: Path) -> None:
    change(file, f"UPDATE bogrape_trials SET graph = hex(zeroblob({half})) WHERE number = 2")
    assert_refused_untouched(file, "too big")


def test_a_long_text_is_refused_even_with_a_matching_checksum(file: Path) -> None:
    change(file, "UPDATE bogrape_trials SET graph = hex(zeroblob(3000000)) WHERE number = 2")
    reseal(file)
    assert_refused_untouched(file, "holds a graph of 6000000 characters")


@pytest.mark.parametrize("settings", ["{}", "[]", "x", "[" * 100_000, "null", '{"space": {}}'])
def test_hostile_settings_are_refused(settings: str, file: Path) -> None:
    change(file, "UPDATE bogrape_studies SET settings = ?", settings)
    reseal(file)
    with pytest.raises((StorageError, InvalidInputError)):
        load(file)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "study.db",
        "mysql://user:secret@host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory",
        "sqlite:///study.db?journal=off",
        "sqlite:///study.db?mode=ro",
    ],
)
def test_invalid_urls_are_refused_without_showing_passwords(wrong: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_storage(wrong)
    assert "secret" not in str(caught.value)


def test_the_error_for_an_unreachable_server_shows_no_password() -> None:
    with pytest.raises(StorageError) as caught:
        open_storage("postgresql://user:secret@localhost:1/nothing?connect_timeout=2")
    assert "secret" not in str(caught.value)


def test_nothing_in_a_file_is_pickled(file: Path) -> None:
    content = file.read_bytes()
    assert b"\x80\x04" not in content
    source = HERE.parent / "src" / "bogrape"
    for module in ("study", "storage", "cli"):
        for path in (source / module).glob("*.py"):
            if path.name == "ahead.py":
                continue  # pickles for its own child process, not for files
            assert "import pickle" not in path.read_text(encoding="utf-8")


# -- versions ---------------------------------------------------------------------------------


def test_files_of_every_released_schema_open(tmp_path: Path) -> None:
    """For each schema version, tests/data has a script that makes a file of it."""
    scripts = sorted((HERE / "data").glob("schema_v*.sql"))
    assert len(scripts) == schema.SCHEMA_VERSION
    for script in scripts:
        path = tmp_path / f"{script.stem}.db"
        connection = sqlite3.connect(path)
        connection.executescript(script.read_text(encoding="utf-8"))
        connection.close()
        study = Study.load(url(path), "kept")
        assert [trial.state for trial in study.trials][:3] == ["complete", "failed", "pending"]
        assert study.best.value == 6.0
        study.tell(study.ask(worker="me"), 5.0)
        assert study.best.value == 5.0


def test_an_older_file_is_migrated_in_one_transaction(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_column(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE bogrape_studies ADD COLUMN note TEXT"))

    def fail(connection: Connection) -> None:
        add_column(connection)
        raise StorageError("the migration failed")

    expected = load(file)
    version = schema.SCHEMA_VERSION
    monkeypatch.setattr(schema, "SCHEMA_VERSION", version + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", {version: fail})
    with pytest.raises(StorageError, match="the migration failed"):
        load(file)
    monkeypatch.setattr(schema, "MIGRATIONS", {version: add_column})
    assert load(file) == expected
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT version FROM bogrape_schema").fetchall() == [(version + 1,)]
    assert "note" in [row[1] for row in connection.execute("PRAGMA table_info(bogrape_studies)")]
    connection.close()


def test_keys_made_by_another_igraph_are_recomputed(file: Path) -> None:
    change(file, "UPDATE bogrape_studies SET key_version = 'igraph 0.1'")
    change(file, "UPDATE bogrape_trials SET key = 'x' || number")
    reseal(file)
    study = Study.load(url(file))
    keys = {trial.graph.canonical_key() for trial in study.trials}
    assert study.ask().graph.canonical_key() not in keys
    with pytest.raises(StudyError, match="already in the study"):
        study.enqueue(study.trials[3].graph)


def test_processes_with_different_igraphs_do_not_share_a_study(file: Path) -> None:
    study = Study.load(url(file))
    study.ask()
    change(file, "UPDATE bogrape_studies SET key_version = 'igraph 99'")
    reseal(file)
    with pytest.raises(StorageError, match=r"opened with igraph 99 .* one version"):
        study.ask()


# -- sharing ----------------------------------------------------------------------------------


def test_several_studies_can_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    one, two = (Study(SPACE, url(path), name, seed=i) for i, name in enumerate("ab"))
    one.tell(one.ask(), 1.0)
    assert (len(one.trials), len(two.trials)) == (1, 0)
    assert open_storage(url(path)).names() == ["a", "b"]


def test_a_study_created_by_several_processes_at_once_is_created_once(tmp_path: Path) -> None:
    code = (
        "import sys; from bogrape import GraphSpace, Study; "
        "Study(GraphSpace(n_nodes=5, labels=2), sys.argv[1]).ask()"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, url(tmp_path / "study.db")]) for _ in range(3)
    ]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert [trial.id for trial in load(tmp_path / "study.db")] == [0, 1, 2]


def test_threads_may_share_a_file(tmp_path: Path) -> None:
    path = url(tmp_path / "study.db")
    Study(SPACE, path, n_initial=40)

    def work() -> None:
        study = Study.load(path)
        for _ in range(5):
            study.tell(study.ask(), 1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [trial.state for trial in Study.load(path).trials] == ["complete"] * 20


def test_a_locked_file_is_an_error_and_not_a_hang(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.2)
    study = Study.load(url(file))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match=r"locked; another process"):
        study.ask()
    other.execute("ROLLBACK")
    other.close()
    assert study.ask().id == 30


def test_a_file_that_is_locked_while_it_is_opened_is_not_called_damaged(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Study.load(f"{url(file)}?journal=delete").ask()
    gc.collect()
    monkeypatch.setattr(untouched, "BUSY_SECONDS", 0.2)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match=r"cannot be read now \(database is locked\)"):
        load(file)
    other.execute("ROLLBACK")
    other.close()
    assert len(load(file)) == 31


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_the_journal_is_the_requested_one(journal: str, file: Path) -> None:
    study = Study.load(f"{url(file)}?journal={journal}")
    study.ask()
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA journal_mode").fetchone() == (journal,)
    connection.close()


def test_file_systems_of_clusters_get_the_rollback_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = f"/dev/sda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n"
    read: Callable[..., str] = Path.read_text
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda self, *a, **k: mounts if str(self) == "/proc/self/mounts" else read(self, *a, **k),
    )
    assert engines._is_shared(tmp_path / "study.db")
    assert not engines._is_shared(Path("/study.db"))


def test_the_columns_are_plain_text_and_numbers(file: Path) -> None:
    connection = sqlite3.connect(file)
    row = connection.execute("SELECT graph, certificate, value FROM bogrape_trials").fetchone()
    connection.close()
    assert json.loads(row[0])["n_nodes"] == 5
    assert json.loads(row[1]) == {}
    assert isinstance(row[2], float)


def test_a_version_below_the_first_suggests_no_upgrade(file: Path) -> None:
    change(file, "UPDATE bogrape_schema SET version = 0")
    with pytest.raises(StorageError, match="was never released") as caught:
        load(file)
    assert "upgrade" not in str(caught.value)
