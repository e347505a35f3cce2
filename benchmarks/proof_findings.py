"""What was run of the proofs, at which load, and what is open, computed from their records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .experiments.trajectory_proofs import METHODS, PLAN
from .markdown_tables import markdown
from .records import Record, read

BEFORE = "molecule-proofs-before.jsonl"  # the same solves with earlier versions


def trajectory_findings(records: Sequence[Record]) -> str:
    """Pairs that were run, load averages, and the instances that are open."""
    n_pairs = len(PLAN.problems) * PLAN.replications
    rows = []
    for method in METHODS:
        own = [record for record in records if record["method"] == method]
        if not own:
            rows.append([*method.split("-"), f"0 of {n_pairs}", "-", "-"])
            continue
        left = [f"{r['problem']}/{r['seed']}" for r in own if r["status"] != "optimal"]
        rows.append(
            [
                *method.split("-"),
                f"{len(own)} of {n_pairs}",
                _loads(own),
                ", ".join(f"`{name}`" for name in sorted(left)) or "-",
            ]
        )
    return markdown(["kernel", "acquisition", "instances run", "load", "not proved"], rows)


def _loads(records: Sequence[Record]) -> str:
    loads = [round(r["machine"]["load"]) for r in records if "load" in r["machine"]]
    if not loads:
        return "-"
    return f"{min(loads)} to {max(loads)}" if len(set(loads)) > 1 else str(loads[0])


def molecule_findings(out: Path) -> str:
    """Limits and loads, and gaps of solves that are kept from earlier versions, too, by time."""
    now = read(out / "molecule-proofs.jsonl")
    if not now:
        return "No results are kept yet."
    limits: dict[str, list[str]] = {}
    for method in sorted({record["method"] for record in now}):
        own = sorted({float(r["time_limit"]) for r in now if r["method"] == method})
        limits.setdefault(" or ".join(f"{limit:g} s" for limit in own), []).append(method)
    each = "; ".join(f"{limit} for {', '.join(methods)}" for limit, methods in limits.items())
    text = f"Limits of a solve: {each}. Load averages: {_loads(now)}."
    gaps: dict[tuple[str, str, int], list[float]] = {}
    for record in [*read(out / BEFORE), *now]:
        key = record["problem"], record["method"], record["seed"]
        gaps.setdefault(key, []).append(100 * float(record["relative_gap"]))
    rows = [
        [problem, *method.split("-"), str(seed), ", ".join(f"{gap:.0f} %" for gap in found)]
        for (problem, method, seed), found in sorted(gaps.items())
        if len(found) > 1
    ]
    header = ["molecules", "kernel", "acquisition", "seed", "gaps, the newest version last"]
    return f"{text}\n\n{markdown(header, rows)}" if rows else text
