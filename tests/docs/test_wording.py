"""Texts for users are idiomatic: none of them contains a pattern of translated English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import ROOT

_THINGS = (
    "graph|row|method|problem|node|edge|piece|count|kernel|size|label|proposal|trial|observation"
    "|molecule|case|diameter|composition|transaction|program|iteration|replication|ask"
)
_AMOUNTS = (
    r"\d\w*|[0-9]+ (?:s|ms|MB|GB)|seconds?|minutes?|ms|one|two|values?|rows?|numbers?|squares?"
    "|panel|violin|line|flush|disk|labellings|masses|valences?"
)
PATTERNS = {
    "'a' for 'per'": rf"\b(?:{_AMOUNTS}) an? (?:{_THINGS})\b(?! (?:may|can|is|of|has|takes))",
    "anew": r"\banew\b",
    "so many": r"\bso many\b",
    "held against": r"\bheld against\b",
    "exists already": r"\bexists already\b",
}
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src" / "bogrape" / "web" / "templates").glob("*.html")),
    ROOT / "src" / "bogrape" / "cli" / "example.toml",
]


def prose(text: str) -> str:
    """Text without code blocks, code spans and line breaks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return " ".join(re.sub(r"`[^`\n]*`", "", text).split())


def texts_of(module: Path) -> Iterator[str]:
    """Docstrings, messages and other texts of a module."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "7" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def found(text: str) -> list[str]:
    """Every match of a pattern in a text, with its surroundings."""
    said = prose(text)
    return [
        f"{name}: …{said[max(0, match.start() - 40) : match.end() + 20]}…"
        for name, pattern in PATTERNS.items()
        for match in re.finditer(pattern, said, re.I)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_idiomatic(page: Path) -> None:
    assert found(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("folder", ["src/bogrape", "benchmarks"])
def test_docstrings_and_messages_are_idiomatic(folder: str) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert len(modules) > 40
    bad = {str(m.relative_to(ROOT)): found(". ".join(texts_of(m))) for m in modules}
    assert {name: lines for name, lines in bad.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    [
        "one value a graph",
        "takes 3 s a proposal",
        "starts anew",
        "so many more",
        "0.1 ms a program",
    ],
)
def test_patterns_are_noticed(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    ["one value per graph", "`so many`", "the value of a graph", "seconds a worker may take"],
)
def test_good_words_are_left_alone(text: str) -> None:
    assert found(text) == []
