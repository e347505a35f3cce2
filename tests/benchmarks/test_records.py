"""Files of results: nothing finished is lost, nothing half written is read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import bogrape
from benchmarks import records
from benchmarks.records import appending, commit, conflicts, provenance, read, rounded
from bogrape.errors import InvalidInputError


def record(seed: int, **more: object) -> dict[str, object]:
    return {"problem": "p", "method": "m", "seed": seed, **more}


def test_appended_records_are_read_back_by_a_later_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    with appending(path) as file:
        assert file.records == []
        file.append(record(0, values=[1.0, 2.5]))
    with appending(path) as file:
        assert [r["seed"] for r in file.records] == [0]
        file.append(record(1))
        assert [r["seed"] for r in file.records] == [0, 1]
    assert read(path) == [record(0, values=[1.0, 2.5]), record(1)]


@pytest.mark.parametrize("torn", ['{"problem":"p","me', '{"problem":"p","method":"m","seed":9}'])
def test_a_torn_last_line_is_ignored_and_then_replaced(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(record(0)) + "\n" + torn)
    assert [r["seed"] for r in read(path)] == [0]
    with appending(path) as file:
        file.append(record(1))
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [0, 1]


def test_a_broken_line_before_the_last_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(record(0)) + "\nnonsense\n" + json.dumps(record(1)) + "\n")
    with pytest.raises(InvalidInputError, match="line 2"):
        read(path)


def test_two_runs_cannot_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with (
        appending(path),
        pytest.raises(InvalidInputError, match="another run"),
        appending(path),
    ):
        pass
    with appending(path):  # the first has ended
        pass


def test_numbers_have_eight_digits_and_are_null_if_not_finite(tmp_path: Path) -> None:
    assert rounded({"a": [math.pi, -math.inf, math.nan], "n": 3, "t": (1e-12 / 3,)}) == {
        "a": [3.1415927, None, None],
        "n": 3,
        "t": [3.3333333e-13],
    }
    path = tmp_path / "results.jsonl"
    with appending(path) as file:
        file.append(record(0, bound=-math.inf))
    assert read(path)[0]["bound"] is None


def test_provenance_names_versions_and_the_size_of_the_machine() -> None:
    found = provenance()
    assert {"python", "numpy", "bogrape"} <= set(found["versions"])
    assert found["machine"]["cores"] >= 1
    assert commit() is None or len(commit() or "") >= 10
    json.dumps(found)


def test_no_commit_is_claimed_for_a_package_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bogrape, "__file__", str(tmp_path / "bogrape" / "__init__.py"))
    assert commit.__wrapped__() is None


def test_without_git_the_environment_names_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_git", lambda *_: None)
    monkeypatch.delenv("BENCHMARKS_COMMIT", raising=False)
    assert commit.__wrapped__() is None
    monkeypatch.setattr(bogrape, "__file__", str(records.ROOT / "src" / "bogrape" / "__init__.py"))
    monkeypatch.setenv("BENCHMARKS_COMMIT", "0123456789")
    assert commit.__wrapped__() == "0123456789"


def test_only_settings_that_differ_are_conflicts() -> None:
    there = [record(0, time_limit=2.0, n_initial=10)]
    assert conflicts(there, ("p", "m", 0), {"time_limit": 1.0, "n_initial": 10}) == ["time_limit"]
    assert conflicts(there, ("p", "m", 0), {"n_initial": 10}) == []
    assert conflicts(there, ("p", "m", 1), {"time_limit": 1.0}) == []
