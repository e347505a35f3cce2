"""All names in the glossary exist."""

from __future__ import annotations

import re
from pathlib import Path

import bogrape

PACKAGE = Path(bogrape.__file__).parent
NOTATION = Path(__file__).parents[1] / "docs" / "notation.md"


def glossary() -> dict[str, list[str]]:
    """Names in the code, for each term."""
    text = NOTATION.read_text(encoding="utf-8").split("## Glossary")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    return {term.strip(): re.findall(r"`([^`]+)`", code) for term, _, code in rows}


def test_every_name_of_the_glossary_is_in_the_code() -> None:
    files = {file.relative_to(PACKAGE).as_posix(): file for file in PACKAGE.rglob("*.py")}
    source = "\n".join(file.read_text(encoding="utf-8") for file in files.values())
    assert len(glossary()) > 25
    for term, names in glossary().items():
        assert names, term
        for name in names:
            if name.endswith(".py"):
                assert any(path.endswith(name) for path in files), (term, name)
            else:
                last = re.escape(name.split(".")[-1])
                defined = rf"^\s*(class|def) {last}\b|^\s+{last}: |^{last} = "
                assert re.search(defined, source, flags=re.MULTILINE), (term, name)
