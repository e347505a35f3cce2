"""docs/rules.md lists every rule, with an example that runs, and is what the script writes."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from bogrape.constraints import RULES
from places import ROOT

PAGE: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "rules_page.py"))
DOCS = ROOT / "docs"
REMEDY = "run: python examples/rules_page.py docs"


def test_every_rule_has_an_example() -> None:
    assert [example.name for example in PAGE["EXAMPLES"]] == list(RULES)


@pytest.mark.parametrize("example", PAGE["EXAMPLES"], ids=lambda example: example.name)
def test_an_example_allows_one_graph_and_refuses_the_other_by_its_rule(example: Any) -> None:
    space = example.make_space()
    allowed, refused = example.graphs()
    assert space.violations(allowed) == []
    (broken,) = space.violations(refused)
    assert broken.startswith(example.name)
    drawn = (DOCS / "rules" / f"{example.name}.svg").read_text(encoding="utf-8")
    assert drawn == example.picture(), REMEDY


def test_the_page_and_its_molecules_are_up_to_date() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    assert [example.name for example in PAGE["MOLECULES"]] == list(molecules.RULES)
    assert (DOCS / "rules.md").read_text(encoding="utf-8") == PAGE["page"](), REMEDY
    for example in PAGE["MOLECULES"]:
        space = example.make_space()
        assert space.violations(molecules.from_smiles(example.allowed, space)) == []
        if example.refused is not None:
            (broken,) = space.violations(molecules.from_smiles(example.refused, space))
            assert broken.startswith(example.name)
        # RDKit's drawings differ slightly between versions, so only check that there is one
        assert "<svg" in (DOCS / "rules" / f"{example.name}.svg").read_text(encoding="utf-8")
