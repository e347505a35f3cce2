"""What pytest runs besides ``tests/``: code blocks of the documents and doctests of ``src``."""

from importlib.util import find_spec

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

# Every ```python block of a document runs, in order, sharing names within the document.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
).pytest()

# Doctests import their module: leave out packages whose extra is not installed.
_NEEDS = {"rdkit": "src/bogrape/molecules/*"}
collect_ignore_glob = [glob for package, glob in _NEEDS.items() if find_spec(package) is None]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the blocks of a document, which share names, on one worker (``--dist loadgroup``)."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
