"""docs/ask-path.md shows the actual path of one ask() through the package."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest

from places import ROOT

DOCS = ROOT / "docs"
SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "ask_path.py"))
REMEDY = "run: python docs/ask_path.py"


def saved(side: str) -> list[Any]:
    traces = json.loads((DOCS / "results" / "ask-path.json").read_text(encoding="utf-8"))
    return [SCRIPT["Call"](**call) for call in traces[side]]


def test_the_page_and_its_pictures_are_those_of_the_traces() -> None:
    before, after = saved("before"), saved("after")
    assert (DOCS / "ask-path.md").read_text(encoding="utf-8") == SCRIPT["page"](before, after)
    for calls, name in ((before, "ask-path-before.svg"), (after, "ask-path.svg")):
        picture = (DOCS / name).read_text(encoding="utf-8")
        assert all(f">{call.callee}<" in picture for call in calls)


def test_every_file_but_the_first_is_reached_from_one_that_was_reached_before() -> None:
    for side in ("before", "after"):
        reached: list[str] = []
        for call in SCRIPT["hops"](saved(side)).values():
            assert call.caller in reached if reached else call.caller == ""
            assert call.reason
            reached.append(call.callee)
        assert reached[0] == "study/study.py"


@pytest.mark.deep
def test_an_ask_takes_the_path_that_is_drawn() -> None:
    now = SCRIPT["hops"](SCRIPT["traced"](ROOT / "src"))
    assert set(now) == set(SCRIPT["hops"](saved("after"))), REMEDY
