"""Studies where nothing can be written: a read-only disk, another user's folder, an archive."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bogrape import GraphSpace, Study
from bogrape.errors import StorageError
from bogrape.storage.sql import engines
from places import DATA

STUDY_FILE = """
[space]
n_nodes = 5
labels = 2
[search]
n_initial = 6
method = "sample"
"""


@pytest.fixture(params=["wal", "delete", "open log", "left log"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a study file and a study of four trials, in each state of its journal."""
    (tmp_path / "study.toml").write_text(STUDY_FILE, encoding="ascii")
    path = tmp_path / "study.db"
    journal = request.param if request.param in ("wal", "delete") else "wal"
    space = GraphSpace(n_nodes=5, labels=2)
    study = Study(space, f"sqlite:///{path}?journal={journal}", n_initial=6, method="sample")
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, float(trial.graph.n_edges))
    if request.param in ("wal", "delete"):
        study.storage.close()  # type: ignore[attr-defined]
        return tmp_path
    other = tmp_path / "copy"  # as found after a crash, or while another process uses it
    other.mkdir()
    for name in ("study.toml", "study.db", "study.db-wal", "study.db-shm"):
        if request.param == "open log" or name != "study.db-shm":
            shutil.copy(tmp_path / name, other / name)
    study.storage.close()  # type: ignore[attr-defined]
    return other


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_study_that_cannot_be_written_can_be_read_without_a_trace(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "is_writable", lambda _: False)
    before = contents(folder)
    study = Study.load(f"sqlite:///{folder}/study.db")
    assert [trial.state for trial in study.trials] == ["complete"] * 4
    assert study.best.value == min(trial.value for trial in study.trials)  # type: ignore[type-var]
    with pytest.raises(StorageError, match="read-only: the file or its directory"):
        study.add(study.best.graph, 1.0)
    # the shared memory of an open log may be rewritten; nothing else changes
    after = contents(folder)
    assert after.keys() == before.keys()
    assert all(after[name] == before[name] for name in before if not name.endswith("-shm"))


def test_an_older_schema_that_cannot_be_migrated_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = DATA / "schema_v1.sql"
    connection = sqlite3.connect(tmp_path / "study.db")
    connection.executescript(script.read_text(encoding="utf-8"))
    connection.close()
    monkeypatch.setattr(engines, "is_writable", lambda _: False)
    before = contents(tmp_path)
    with pytest.raises(StorageError, match="read-only"):
        Study.load(f"sqlite:///{tmp_path}/study.db", "kept")
    assert contents(tmp_path) == before


def _mounted_read_only(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command while the folder is on a read-only file system."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 99; '
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", mount + command, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def test_commands_that_only_read_work_on_a_read_only_file_system(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which("unshare") is None or _mounted_read_only(folder, "true").returncode != 0:
        pytest.skip("needs the right to mount")
    out = tmp_path_factory.mktemp("out")
    before = contents(folder)
    bogrape = f"{sys.executable} -P -m bogrape.cli"
    done = _mounted_read_only(
        folder,
        f'! touch "$0/x" 2>/dev/null && {bogrape} status "$0/study.toml" --json && '
        f'{bogrape} export "$0/study.toml" {out}/trials.csv && '
        f'{bogrape} report "$0/study.toml" -o {out}/report.html',
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["states"] == {"complete": 4}
    assert len((out / "trials.csv").read_text(encoding="utf-8").splitlines()) == 5
    assert "<html" in (out / "report.html").read_text(encoding="utf-8")
    assert contents(folder) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_study_in_a_folder_without_write_permission_can_be_read(folder: Path) -> None:
    folder.chmod(0o555)
    try:
        assert len(Study.load(f"sqlite:///{folder}/study.db").trials) == 4
    finally:
        folder.chmod(0o755)
