"""Sentences with numbers: every number comes from the records, and there is none without them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.findings import elsewhere, findings, losses


def record(method: str, seed: int, values: list[float], **more: Any) -> dict[str, Any]:
    return {
        "problem": "gcn-10",
        "method": method,
        "seed": seed,
        "n_initial": 1,
        "n_iterations": len(values) - 1,
        "values": values,
        "n_edges": [20] * len(values),
        "seconds": [1.5] * (len(values) - 1),
        **more,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    proved = {"time_limit": 3.0, "status": ["optimal", "time_limit", "optimal", "optimal"]}
    records = [
        record("ssp", 0, [5.0, 4.0, 3.0, 2.0, 2.0], n_edges=[9, 9, 45, 20, 20], **proved),
        record("ssp", 1, [5.0, 4.0, 4.0, 4.0, 4.0], seconds=[3.0] * 4, **proved),
        record("ssp", 2, [5.0, 1.0, 1.0, 1.0, 1.0], **proved),
        record("wl-evol", 0, [5.0, 3.0, 3.0, 3.0, 3.0]),
        record("wl-evol", 1, [5.0, 3.0, 3.0, 3.0, 3.0]),
        record("wl-evol", 2, [5.0, 1.0, 1.0, 1.0, 1.0]),
    ]
    lines = "".join(json.dumps(item) + "\n" for item in records)
    (tmp_path / "synthetic.jsonl").write_text(lines)
    return tmp_path


def test_numbers_are_those_of_the_records(folder: Path) -> None:
    assert "took 6 s in the median and 12 s at worst, over 3 runs" in findings(folder)
    assert "by problem: ssp 75 %" in findings(folder)
    assert "ssp 1 wins, 1 ties, 1 losses" in losses(folder)
    assert "ssp 17 % and wl-evol 0 %" in losses(folder)  # 2 of 12 proposals


def test_another_record_changes_the_sentence(folder: Path) -> None:
    more = record("ssp", 3, [5.0, 0.0, 0.0, 0.0, 0.0], time_limit=3.0, status=["time_limit"] * 4)
    with open(folder / "synthetic.jsonl", "a") as file:
        file.write(json.dumps(more) + "\n")
    assert "by problem: ssp 56 %" in findings(folder)  # 9 of 16
    assert "over 4 runs" in findings(folder)


def test_without_records_there_is_no_number(tmp_path: Path) -> None:
    assert (
        findings(tmp_path) == losses(tmp_path) == elsewhere(tmp_path) == "No results are kept yet."
    )


def test_architectures_are_compared_over_the_runs_that_all_methods_with_many_runs_have(
    tmp_path: Path,
) -> None:
    ranks = {
        "random": {("nas-cora", 0): 8, ("nas-cora", 1): 2, ("nas-cs", 0): 4, ("nas-cs", 1): 16},
        "rbf-dag": {("nas-cora", 0): 2, ("nas-cs", 0): 8, ("nas-cs", 1): 4},
        "tpe": {("nas-cora", 1): 1},
    }
    lines = [
        json.dumps({"problem": problem, "method": method, "seed": seed, "rank": rank})
        for method, found in ranks.items()
        for (problem, seed), rank in found.items()
    ]
    (tmp_path / "nas.jsonl").write_text("\n".join(lines) + "\n")
    # the cube root of 8 * 4 * 16 is 8, that of 2 * 8 * 4 is 4
    assert "over 3 runs on 2 data sets" in losses(tmp_path)
    assert "random 8 (0) and rbf-dag 4 (1)" in losses(tmp_path)


def test_runs_elsewhere_are_counted_by_problem_and_seed(tmp_path: Path) -> None:
    def run(problem: str, method: str, seed: int, best: float, **more: Any) -> dict[str, Any]:
        return {**record(method, seed, [9.0, best], **more), "problem": problem}

    write(
        tmp_path / "xtb.jsonl",
        [
            *(run("xtb-gap-8", "rbf", seed, 1.0) for seed in (0, 1)),
            *(run("xtb-gap-8", "forest", seed, best) for seed, best in ((0, 1.0), (1, 2.0))),
            *(run("xtb-gap-10", "rbf", seed, 3.0) for seed in (0, 1)),
            *(run("xtb-gap-10", "forest", seed, 2.0) for seed in (0, 1)),
        ],
    )
    write(
        tmp_path / "pmo.jsonl",
        [
            run("pmo-median1", "rbf", 0, -0.5, top_10_auc=0.3),
            run("pmo-median1", "graph-ga", 0, -0.6, top_10_auc=0.2),
        ],
    )
    kilowatts = [math.log(loss) for loss in (200.0, 139.55)]
    write(tmp_path / "grid.jsonl", [record("tpe", 0, kilowatts), record("tpe", 1, [5.3, 5.2])])
    found = elsewhere(tmp_path)
    assert "best mean of all methods on 1 of 2 problems (xtb-gap-8)" in found
    assert "problems and seeds: `forest` 1–1–2." in found
    assert "`rbf` is ahead of `graph-ga` on 1 of 1 tasks" in found
    assert "`tpe` 1 of 2" in found


def test_errors_with_and_without_the_feature_term_are_compared_by_size(tmp_path: Path) -> None:
    errors = {"wl": 0.4, "wl*": 0.1, "ssp-": 0.5, "ssp": 0.6, "rw": 1.0}
    write(
        tmp_path / "kernels.jsonl",
        [{"problem": "qm7-10", "method": m, "seed": 0, "rmse": e} for m, e in errors.items()],
    )
    assert "wl 0.25 to 0.25 and ssp 1.20 to 1.20." in findings(tmp_path)


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
