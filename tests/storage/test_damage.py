"""A damaged database is read completely and correctly, or refused and left unchanged."""

from __future__ import annotations

import gc
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bogrape import GraphSpace, Study
from bogrape.errors import StorageError, StudyError

from damage import WAYS


@pytest.fixture(scope="module", params=["wal", "delete"])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 54 trials, and a copy of its file from twelve changes earlier."""
    path = tmp_path_factory.mktemp("damage") / "study.db"
    study = Study(
        GraphSpace(n_nodes=6, labels=2),
        f"sqlite:///{path}?journal={request.param}",
        n_initial=54,
        method="sample",
    )
    for _ in range(48):
        trial = study.ask(worker="me")
        study.tell(trial, float(trial.graph.n_edges))
    study.storage.close()  # type: ignore[attr-defined]
    shutil.copy(path, path.with_suffix(".older"))
    for _ in range(6):
        trial = study.ask(worker="me")
        study.tell(trial, float(trial.graph.n_edges))
    study.storage.close()  # type: ignore[attr-defined]
    return path


def read(path: Path) -> tuple[Any, ...]:
    study = Study.load(f"sqlite:///{path}")
    try:
        return study.settings, study.trials, study.changes, study.best
    finally:
        study.storage.close()  # type: ignore[attr-defined]


def assert_harmless_or_refused(original: Path, folder: Path, way: str, seed: int) -> str:
    """``read`` or ``refused``; fails if other data is read, or if a refused file changes."""
    path = Path(shutil.copy(original, folder / "study.db"))
    shutil.copy(original.with_suffix(".older"), folder / "study.older")
    what = WAYS[way](path, random.Random(seed))
    (folder / "study.older").unlink()
    damaged = path.read_bytes()
    try:
        found = read(path)
    except (StorageError, StudyError):
        gc.collect()
        assert path.read_bytes() == damaged, f"{what}: refused, and changed"
        assert [other.name for other in folder.iterdir()] == ["study.db"], what
        return "refused"
    assert found == read(original), f"{what}: not what was written"
    return "read"


@pytest.mark.thinned(4)
@pytest.mark.parametrize("way", WAYS)
def test_damage_is_harmless_or_refused_untouched(way: str, original: Path, tmp_path: Path) -> None:
    found = [assert_harmless_or_refused(original, _fresh(tmp_path), way, seed) for seed in range(6)]
    assert "refused" in found


@pytest.mark.deep
@pytest.mark.parametrize("way", WAYS)
def test_two_thousand_damaged_files_are_harmless_or_refused_untouched(
    way: str, original: Path, tmp_path: Path
) -> None:
    """125 of each of eight kinds, on files with either journal."""
    found = [
        assert_harmless_or_refused(original, _fresh(tmp_path), way, seed)
        for seed in range(1000, 1125)
    ]
    print(f"{way}: {found.count('read')} read, {found.count('refused')} refused")
    assert found.count("refused") >= 25


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def test_every_bit_of_an_index_matters(original: Path, tmp_path: Path) -> None:
    """A flipped bit in the index of revisions once silently removed 40 of 54 trials."""
    connection = sqlite3.connect(original)
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'bogrape_trials_by_revision'"
    ((page,),) = connection.execute(query).fetchall()
    ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    connection.close()
    content = original.read_bytes()
    expected = read(original)
    rng = random.Random(3)
    refused = 0
    for _ in range(40):
        damaged = bytearray(content)
        place = rng.randrange(8 * (page - 1) * size, 8 * page * size)
        damaged[place // 8] ^= 1 << place % 8
        path = _fresh(tmp_path) / "study.db"
        path.write_bytes(damaged)
        try:
            assert read(path) == expected
        except StorageError:
            refused += 1
            assert path.read_bytes() == damaged
    assert refused > 5
