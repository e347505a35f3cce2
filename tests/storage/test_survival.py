"""Nothing acknowledged is lost: kill -9, a full disk, many processes, interruptions at any time."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bogrape import Graph, Study
from places import ROOT, TESTS

from chaos import objective, open_study

CHAOS = TESTS / "chaos.py"
SOURCE = ROOT / "src"


def chaos(command: str, timeout: float = 110.0, **arguments: Any) -> dict[str, Any]:
    """Run a command of chaos.py in a fresh process."""
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(CHAOS), command, json.dumps(arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert "error" not in answer, answer["error"]
    return answer


@pytest.mark.thinned(2)
@pytest.mark.parametrize("part", range(4))
def test_fifty_kills_in_every_phase_lose_nothing_and_change_nothing(
    part: int, tmp_path: Path
) -> None:
    """200 kills in all, 100 in the ordinary tests.

    The graphs are also those of a study that was never interrupted.
    """
    answer = chaos("kills", url=f"sqlite:///{tmp_path}/s.db", n_studies=5, n_kills=10, seed=part)
    assert sum(answer["hit"].values()) == 50
    assert min(answer["hit"].values()) >= 3
    assert answer["acknowledged"] >= 20


def assert_many_kills_lose_nothing(url: str, part: int) -> None:
    """A quarter of all kills of one backend: 1,200, or BOGRAPE_KILLS."""
    n_studies = max(1, int(os.environ.get("BOGRAPE_KILLS", "1200")) // (4 * 15))
    answer = chaos("kills", 3000, url=url, n_studies=n_studies, n_kills=15, seed=100 + part)
    assert sum(answer["hit"].values()) == 15 * n_studies
    print(f"{15 * n_studies} kills: {answer}")


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_twelve_hundred_kills_lose_nothing(journal: str, part: int, tmp_path: Path) -> None:
    assert_many_kills_lose_nothing(f"sqlite:///{tmp_path}/s.db?journal={journal}", part)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
def test_twelve_hundred_kills_lose_nothing_on_a_postgresql_server(
    part: int, postgresql_schema: str
) -> None:
    assert_many_kills_lose_nothing(postgresql_schema, part)


def test_kills_lose_nothing_on_a_postgresql_server(postgresql_schema: str) -> None:
    answer = chaos("kills", url=postgresql_schema, n_studies=2, n_kills=10, seed=5)
    assert sum(answer["hit"].values()) == 20


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_full_disk_loses_nothing_and_the_study_continues_once_there_is_room(
    journal: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    url = f"sqlite:///{path}?journal={journal}"
    answer = chaos("full_disk", url=url, path=str(path), seed=2)
    assert len(answer["errors"]) == 3
    assert all("the change was not made" in words for words in answer["errors"])
    assert answer["lost"] == []
    assert answer["missing"] == 0
    assert answer["graphs"] == answer["trials"] >= 3
    assert answer["same"]


def assert_nothing_lost_in_the_crowd(answer: dict[str, Any]) -> None:
    assert answer["codes"] == [0] * 8
    assert answer["trials"] == answer["complete"] == answer["graphs"] == 200
    assert answer["by_worker"] == [25] * 8
    assert answer["ids"]


def test_eight_processes_share_a_sqlite_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    assert_nothing_lost_in_the_crowd(chaos("crowd", url=url, n_processes=8, n_each=25, seed=1))


def test_eight_processes_share_a_postgresql_server(postgresql_schema: str) -> None:
    assert_nothing_lost_in_the_crowd(
        chaos("crowd", url=postgresql_schema, n_processes=8, n_each=25, seed=1)
    )


def test_a_study_interrupted_at_twenty_random_points_continues_unchanged(tmp_path: Path) -> None:
    n = 12
    reference = open_study(f"sqlite:///{tmp_path}/reference.db", "study", 4)
    graphs = []
    for place in range(n):
        copy_database(tmp_path / "reference.db", tmp_path / f"after{place}.db")
        graphs.append(step(reference))
    rng = random.Random(0)
    for cut in range(20):
        path, place = tmp_path / f"cut{cut}.db", rng.randrange(n)
        copy_database(tmp_path / f"after{place}.db", path)
        if rng.random() < 0.5:
            Study.load(f"sqlite:///{path}").ask(worker="worker")  # and it is never told
        study = Study.load(f"sqlite:///{path}")
        assert [trial.graph for trial in study.trials][:place] == graphs[:place]
        seen = [step(study) for _ in range(place, min(n, place + 3))]
        assert seen == graphs[place : place + 3], f"cut after {place}"


def copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def step(study: Study) -> Graph:
    trial = study.ask(worker="worker")
    study.tell(trial, objective(trial.graph))
    return trial.graph
