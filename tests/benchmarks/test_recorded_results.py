"""The results kept in ``docs/results``: a run continues them, and the page shows them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.command import main
from benchmarks.experiments import experiment_names
from places import ROOT

RESULTS = ROOT / "docs" / "results"
SECTIONS = dict(
    re.findall(
        r"^<!-- bench (\S+) -->\n(.*?)^<!-- end -->$",
        (ROOT / "docs" / "results.md").read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
)


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_the_page_has_a_section_for_every_experiment() -> None:
    assert set(SECTIONS) == set(experiment_names())


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_tables_on_the_page_are_those_of_the_recorded_results(name: str) -> None:
    shown = bench("show", name, "--out", RESULTS)
    assert shown.exit_code == 0, shown.output
    assert SECTIONS[name].endswith(shown.output)


def test_a_run_goes_on_from_the_recorded_results(tmp_path: Path) -> None:
    shutil.copy(RESULTS / "limits.jsonl", tmp_path)
    done = bench(
        *("run", "limits", "--methods", "ssp:0.5,esp:8", "--replications", "1"),
        *("--iterations", "20", "--out", tmp_path),
    )
    assert done.exit_code == 0, done.output
    assert "2 of 2 are there" in done.output
    assert (tmp_path / "limits.jsonl").read_bytes() == (RESULTS / "limits.jsonl").read_bytes()
