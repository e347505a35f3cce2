"""The versions that the pages name are those that the project is tested with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "integrations"
CALLED = {  # names in sentences and in pip
    "Optuna": "optuna",
    "optuna-dashboard": "optuna-dashboard",
    "scikit-learn": "scikit-learn",
    "GPyTorch": "gpytorch",
    "BoTorch": "botorch",
    "PyTorch Geometric": "torch-geometric",
    "Ax": "ax-platform",
    "networkx": "networkx",
    "igraph": "igraph",
    "scipy.sparse": "scipy",
    "RDKit": "rdkit",
}


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


@pytest.mark.parametrize("called", CALLED)
def test_pages_name_the_version_that_is_tested(called: str) -> None:
    named = re.escape(called)
    rows = re.compile(rf"^\| {named} \|.*\| (\d[\d.]*\d) \|$", re.MULTILINE)
    sentence = re.compile(rf"[Tt]ested\s+with[^|:;]*?(?<![\w-]){named}\s+(\d[\d.]*\d)")
    found = set()
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        found |= {*rows.findall(text), *sentence.findall(text)}
    assert found == {pinned()[CALLED[called]]}
