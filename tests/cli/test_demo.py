"""The demo: what it prints, what it draws, and what it does without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bogrape.cli import demo
from bogrape.errors import InvalidInputError
from bogrape.problems import get_problem


@pytest.fixture(autouse=True)
def quick_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_PROPOSAL_SECONDS", 0.1)


def run(output: Path, **options: int) -> tuple[demo.DemoResult, list[str]]:
    lines: list[str] = []
    settings = {"n_iterations": 2, "n_initial": 3, "n_random": 4, **options}
    return demo.run(output, echo=lines.append, progress=False, **settings), lines


def test_the_demo_says_what_it_does_compares_with_random_sampling_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result, lines = run(tmp_path / "demo.png")
    assert lines[0].startswith("BoGrape searches for the graph with the smallest value")
    assert len(result.values) == 5
    assert result.random.shape == (4, 5)
    assert result.best.value == result.values.min()
    rows = {line[:23].strip(): line.split()[-1] for line in lines if line}
    assert rows["initial graphs"] == f"{result.values[:3].min():.4f}"
    assert rows["BoGrape"] == f"{result.values.min():.4f}"
    assert rows["random, mean of 4 runs"] == f"{result.random.min(axis=1).mean():.4f}"
    assert rows["random, best of 4 runs"] == f"{result.random.min():.4f}"
    assert lines[-1] == f"The picture is in {tmp_path / 'demo.png'}"
    picture = (tmp_path / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert 10_000 < len(picture) < 150_000


def test_the_values_are_those_of_the_network_on_graphs_of_its_space(tmp_path: Path) -> None:
    result, _ = run(tmp_path / "demo.png", seed=3)
    problem = get_problem("gcn-10", seed=3)
    problem.space.check(result.best.graph)
    assert result.best.value == problem.objective(result.best.graph)


def test_the_rows_of_the_table_are_aligned() -> None:
    values, random = np.array([3.0, -12.25, 1.0]), np.array([[1.0, 2.0, 3.0], [5.0, 4.0, -100.5]])
    lines = demo.table(values, random, n_initial=1, seconds=2.0)
    assert len({len(line) for line in lines[:6]}) == 1
    assert lines[3].split() == ["BoGrape", "3", "-12.2500"]
    assert lines[-1] == "BoGrape did better than 1 of 2 random runs, in 2 seconds."


def test_a_folder_gets_a_file_named_demo_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result, _ = run(tmp_path / "new" / "folder", n_iterations=1)
    assert result.picture == tmp_path / "new" / "folder" / "demo.png"
    assert result.picture.exists()


def test_without_matplotlib_the_demo_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result, lines = run(tmp_path / "demo.png", n_iterations=1)
    assert result.picture is None
    assert not (tmp_path / "demo.png").exists()
    assert "pip install 'bogrape[plots]'" in lines[-1]


@pytest.mark.parametrize("name", ["no-such-folder/demo.png", "demo.gif"])
def test_a_picture_that_cannot_be_written_is_refused_before_the_work(
    name: str, tmp_path: Path
) -> None:
    lines: list[str] = []
    with pytest.raises(InvalidInputError):
        demo.run(tmp_path / name, echo=lines.append)
    assert lines == []


@pytest.mark.parametrize(
    "options", [{"n_initial": 1}, {"n_random": 0}, {"n_iterations": -1}, {"seed": -1}]
)
def test_invalid_numbers_are_refused(options: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        run(tmp_path / "demo.png", **options)
