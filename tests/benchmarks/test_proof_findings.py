"""Sentences about proofs: what was run, at which load, and what is open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.proof_findings import BEFORE, molecule_findings, trajectory_findings


def record(problem: str, method: str, seed: int, **more: Any) -> dict[str, Any]:
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "time_limit": 60.0,
        "status": "optimal",
        "machine": {"load": 2.0},
        **more,
    }


def test_open_instances_are_named() -> None:
    found = trajectory_findings(
        [
            record("gcn-10+5", "rbf-lcb", 0),
            record("gat-10+5", "rbf-lcb", 2, status="time_limit", machine={"load": 9.3}),
        ]
    )
    assert "| rbf | lcb | 2 of 45 | 2 to 9 | `gat-10+5/2` |" in found
    assert "| rbf | ei | 0 of 45 | - | - |" in found


def test_gaps_of_earlier_versions_come_before_those_of_the_newest(tmp_path: Path) -> None:
    assert molecule_findings(tmp_path) == "No results are kept yet."
    now = [
        record("qm7-20", "ssp-lcb", 0, relative_gap=0.59),
        record("qm7-20", "ssp-lcb", 1, relative_gap=0.9),
        record("qm7-10", "esp-lcb", 0, relative_gap=0.0, time_limit=400.0),
    ]
    write(tmp_path / "molecule-proofs.jsonl", now)
    assert molecule_findings(tmp_path).startswith(
        "Limits of a solve: 400 s for esp-lcb; 60 s for ssp-lcb. Load averages: 2."
    )
    assert "|" not in molecule_findings(tmp_path)
    before = [record("qm7-20", "ssp-lcb", 0, relative_gap=gap) for gap in (3.13, 1.34)]
    write(tmp_path / BEFORE, before)
    assert molecule_findings(tmp_path).endswith("| qm7-20 | ssp | lcb | 0 | 313 %, 134 %, 59 % |")


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
