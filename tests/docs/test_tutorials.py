"""The tutorials run from top to bottom with small numbers; `make docs` runs them as they are."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

TUTORIALS = ROOT / "docs" / "tutorials"
SHORT = {
    "chemist": "BATCH, SECONDS = 3, 1",
    "network": "PROPOSALS, SECONDS = 2, 0.2",
    "nas": "TRAININGS, SECONDS, PARALLEL = 24, 0.1, 2",
    "kernel": "TRAIN, TEST, SECONDS = 15, 10, 0.5",
}
CELL = re.compile(r"^```\{code-cell\}\n(:tags: [^\n]*\n)?(.*?)^```$", re.DOTALL | re.MULTILINE)


def cells(page: Path) -> list[tuple[str, str]]:
    """Tags and code of every cell of a page."""
    return CELL.findall(page.read_text(encoding="utf-8"))


def names_set(code: str) -> set[str]:
    """Names that a cell assigns to."""
    stored = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def test_every_tutorial_is_run() -> None:
    assert {page.stem for page in TUTORIALS.glob("*.md")} == set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_a_tutorial_runs_with_small_numbers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    if name == "chemist":
        pytest.importorskip("rdkit")
    for data in TUTORIALS.glob("*.csv"):
        shutil.copy(data, tmp_path)
    monkeypatch.chdir(tmp_path)
    found = cells(TUTORIALS / f"{name}.md")
    assert sum("parameters" in tags for tags, _ in found) == 1
    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, (tags, code) in enumerate(found):
        if "parameters" in tags:
            assert names_set(code) == names_set(SHORT[name])
            code = SHORT[name]
        exec(compile(code, f"{name}.md, cell {number}", "exec"), scope)
    assert scope["study"].best.value is not None
