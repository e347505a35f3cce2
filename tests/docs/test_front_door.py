"""README, citation, templates and hooks: everything they refer to exists and agrees."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import bogrape
from places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]*))?\)|\]: (\S+)")


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return kept.strip().replace(" ", "-")


def broken_links(page: Path) -> list[str]:
    """Links of a Markdown page to files or headings that do not exist."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "", text)
    bad = []
    for match in LINK.finditer(text):
        path, anchor = match[1] or match[3], match[2]
        if re.match(r"https?:|mailto:|<", path):
            continue
        target = (page.parent / path).resolve()
        if not target.exists():
            bad.append(path)
        elif anchor and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            if anchor not in map(slug, headings):
                bad.append(f"{path}#{anchor}")
    return bad


PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_internal_link_resolves(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](page.md#one) [b](page.md#two) [c](nowhere.md)\n")
    assert broken_links(page) == ["page.md#two", "nowhere.md"]


def test_the_readme_is_short_and_so_are_its_examples() -> None:
    assert len(README.splitlines()) <= 120
    examples = re.findall(r"^```python\n(.*?)^```", README, re.S | re.M)
    assert len(examples) == 3
    for example in examples:
        assert len([line for line in example.splitlines() if line.strip()]) <= 8


def test_the_extras_that_are_documented_exist() -> None:
    pages = [README, *(page.read_text(encoding="utf-8") for page in PAGES)]
    found = re.findall(r"(?:pip install '\.|bogrape)\[([a-z,]+)\]", "\n".join(pages))
    named = set(",".join(found).split(","))
    assert {"molecules", "plots", "dask", "slurm", "postgresql"} <= named
    assert named <= set(PROJECT["optional-dependencies"])


def test_version_and_paper_are_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", changelog, re.M)
    assert releases[0] == ("Unreleased", "")
    assert releases[1] == (PROJECT["version"], str(citation["date-released"]))
    paper = citation["preferred-citation"]
    names = [author["family-names"] for author in paper["authors"]]
    for page in (README, (ROOT / "docs" / "index.md").read_text(encoding="utf-8")):
        assert paper["title"].partition(": ")[2] in " ".join(page.split())
        (authors,) = re.findall(r"author += \{(.*)\},", page)
        assert [name.partition(",")[0] for name in authors.split(" and ")] == names


def test_hooks_run_the_linters_and_templates_have_a_head_and_a_body() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    commands = [hook["entry"].split()[0] for repo in hooks["repos"] for hook in repo["hooks"]]
    assert commands == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]
    for template in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"):
        _, head, body = template.read_text(encoding="utf-8").split("---\n")
        assert {"name", "about"} <= set(yaml.safe_load(head))
        assert body.strip()


def layers(text: str) -> list[str]:
    """Modules of the first list of layers in ``.importlinter``, from the bottom up."""
    listed = text.split("layers =\n", 1)[1].split("\n\n")[0]
    return [part.strip(" ()") for line in reversed(listed.splitlines()) for part in line.split("|")]


def test_contributing_names_layers_in_the_order_that_is_checked() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.split("```text\n", 1)[1].split("```", 1)[0]
    order = layers((ROOT / ".importlinter").read_text(encoding="utf-8"))
    places = [order.index(name) for name in re.findall(r"[a-z_]+", block)]
    assert len(places) > 10
    assert places == sorted(places)


def described(page: str) -> dict[str, set[str] | None]:
    """Modules and names that a page of the reference documents; ``None`` for all members."""
    found: dict[str, set[str] | None] = {}
    parts = re.split(r"^\.\. ", page, flags=re.M)
    for part in parts:
        if match := re.match(r"automodule:: (\S+)", part):
            members = re.search(r":members:(.*)", part)
            listed = members[1].strip() if members else ""
            found[match[1]] = {name.strip() for name in listed.split(",")} if listed else None
        elif match := re.match(r"auto(?:class|function):: (\S+)\.(\w+)", part):
            known = found.setdefault(match[1], set())
            if known is not None:
                known.add(match[2])
    return found


def test_the_reference_describes_every_public_name() -> None:
    home: dict[str, set[str] | None] = {}
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        for module, names in described(page.read_text(encoding="utf-8")).items():
            known = home.get(module, set())
            home[module] = None if names is None or known is None else known | names
    classes: set[Any] = set()
    for module, names in home.items():
        loaded = importlib.import_module(module)
        if names is None:
            names = set(getattr(loaded, "__all__", vars(loaded)))
        assert names <= set(dir(loaded)), (module, names - set(dir(loaded)))
        classes |= {id(getattr(loaded, name)) for name in names}
    for module in ("bogrape", *home):
        loaded = importlib.import_module(module)
        for name in getattr(loaded, "__all__", ()):
            thing = getattr(loaded, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert id(thing) in classes, f"{module}.{name} is in no page of docs/api"
                assert thing.__doc__, f"{module}.{name} has no docstring"


def test_public_functions_of_the_front_page_are_importable() -> None:
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^from bogrape import .*$", text, re.M)
    (imported,) = ast.parse(line).body
    assert isinstance(imported, ast.ImportFrom)
    assert {alias.name for alias in imported.names} <= set(bogrape.__all__)
