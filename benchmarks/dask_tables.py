"""The table of proofs on Dask, from the results of `benchmarks.dask_proofs`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .markdown_tables import markdown
from .records import Record

FILE = "dask-proofs.jsonl"
KINDS = ("one worker", "two workers", "two, one killed")


def table(records: Sequence[Record]) -> str:
    """One row per instance, then the median speed-up."""
    found = {(r["problem"], r["seed"], r["limit"], r["method"]): r for r in records}
    rows, speedups, cpu = [], [], []
    for problem, seed, limit in sorted({(r["problem"], r["seed"], r["limit"]) for r in records}):
        one, two, less = (found.get((problem, seed, limit, kind)) for kind in KINDS)
        both = [r for r in (one, two, less) if r is not None]
        ratio = None
        if one and two and one["status"] == two["status"] == "optimal":
            ratio = one["seconds"] / two["seconds"]
            speedups.append(ratio)
            if one.get("worker_cpu") and two.get("worker_cpu"):
                cpu.append(max(one["worker_cpu"]) / max(two["worker_cpu"]))
        tolerance = 1e-5 * max(1.0, abs(both[0]["value"]))
        proved = [r for r in both if r["status"] == "optimal"]
        spread = max(r["value"] for r in proved) - min(r["value"] for r in proved) if proved else 0
        rows.append(
            [
                problem,
                str(seed),
                f"{limit:.0f}",
                f"{min(map(_load, both)):.0f} to {max(map(_load, both)):.0f}",
                *(_seconds(r) for r in (one, two)),
                "-" if ratio is None else f"{ratio:.2f}",
                _busiest(one),
                _busiest(two),
                _seconds(less),
                "yes" if spread <= tolerance else "NO",
            ]
        )
    header = [
        "instance",
        "seed",
        "limit (s)",
        "load",
        "one worker (s)",
        "two workers (s)",
        "speed-up",
    ]
    header += ["processor seconds of one worker", "of the busier of two"]
    header += ["two, one killed (s)", "same value"]
    words = f"\n\nMedian speed-up: {median(speedups):.2f}; processor seconds: {median(cpu):.2f}."
    words = words if speedups and cpu else ""
    return markdown(header, rows) + words


def _load(record: Record) -> float:
    return float(record["machine"]["load"])


def _busiest(record: Record | None) -> str:
    cpu = [] if record is None else record.get("worker_cpu", [])
    return f"{max(cpu):.0f}" if cpu else "-"


def _seconds(record: Record | None) -> str:
    if record is None:
        return "-"
    return f"{record['seconds']:.0f}" + ("" if record["status"] == "optimal" else " (open)")
