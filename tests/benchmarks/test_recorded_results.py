"""The results kept in ``docs/results``: a run continues them, and the page shows them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.command import main
from benchmarks.experiments import experiment_names, get_experiment
from benchmarks.plain_tables import NO_RESULTS, PLAIN_TABLES
from places import ROOT

RESULTS = ROOT / "docs" / "results"
PAGES = ("results.md", "benchmarks.md", "which-method.md")


def sections(page: str) -> dict[str, str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    pattern = r"^<!-- bench (\S+) -->\n(.*?)^<!-- end -->$"
    return dict(re.findall(pattern, text, flags=re.DOTALL | re.MULTILINE))


SECTIONS = {name: text for page in PAGES for name, text in sections(page).items()}


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_a_section_for_every_experiment_with_results(page: str) -> None:
    shown = {
        name
        for name in experiment_names()
        if get_experiment(name).page == page and (RESULTS / f"{name}.jsonl").exists()
    }
    assert set(sections(page)) - set(PLAIN_TABLES) == shown


@pytest.mark.parametrize("name", sorted(PLAIN_TABLES))
def test_plain_tables_on_the_page_are_those_of_the_recorded_results(name: str) -> None:
    table = PLAIN_TABLES[name](RESULTS)
    # a section without results would be empty, so the page does not have it
    assert SECTIONS.get(name) == (None if table == NO_RESULTS else f"{table}\n")


@pytest.mark.parametrize("name", sorted(set(SECTIONS) - set(PLAIN_TABLES)))
def test_tables_on_the_page_are_those_of_the_recorded_results(name: str) -> None:
    shown = bench("show", name, "--out", RESULTS)
    assert shown.exit_code == 0, shown.output
    assert SECTIONS[name].endswith(shown.output)


def test_a_run_continues_from_the_recorded_results(tmp_path: Path) -> None:
    shutil.copy(RESULTS / "limits.jsonl", tmp_path)
    done = bench(
        *("run", "limits", "--methods", "ssp:0.5,esp:8", "--replications", "1"),
        *("--iterations", "20", "--out", tmp_path),
    )
    assert done.exit_code == 0, done.output
    assert "2 of 2 are done" in done.output
    assert (tmp_path / "limits.jsonl").read_bytes() == (RESULTS / "limits.jsonl").read_bytes()
