"""Shortened versions of the molecule examples run."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

pytest.importorskip("rdkit")

EXAMPLES = ROOT / "examples" / "molecules"


def main_of(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


def test_a_molecule_is_designed_against_the_oracle(tmp_path: Path) -> None:
    study = main_of("design")(1, 4, str(tmp_path / "design.png"))
    assert len(study.trials) == 5
    assert (tmp_path / "design.png").read_bytes().startswith(b"\x89PNG")


def test_a_laboratory_asks_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    main_of("wet_lab")(1)
    assert "measured" in capsys.readouterr().out


def test_a_scaffold_is_decorated(tmp_path: Path) -> None:
    study = main_of("scaffold")(1, str(tmp_path / "one.svg"))
    assert all(study.space.contains(trial.graph) for trial in study.trials)
    assert "<svg" in (tmp_path / "one.svg").read_text(encoding="utf-8")
