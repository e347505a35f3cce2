"""How long a proof takes: the exact engine over kernels and sizes (``make bench-engine``).

An instance is a space of connected graphs with N nodes and 5 labels, 30 random observations of it
with standard normal values, and ``LCB(1.0)``; the observed graphs are excluded. Instances of
molecules are the QM7 space with N heavy atoms and 20 random molecules with the values of the QM7
oracle. Each instance runs in a process of its own, so that its peak memory (workers included) can
be told. Results are appended to a file of JSON lines, one per instance; a stopped run goes on where
it was.

Columns: seconds (median and worst) until the proposal is returned, share proved optimal, gap when
the time limit came first (median and worst, in standard deviations of the observed values), how
often local search alone found the best value known within two seconds and how far off it was at
worst, relative to that value, and peak memory. A second table has the instances on which SCIP was
given the published formulation and the weight-space one, with the same limit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bogrape import LCB, GraphGP, GraphSpace, propose
from bogrape.kernels import KernelName

from .checkout import ROOT

N_LABELS = 5
N_OBSERVATIONS = 30
N_MOLECULES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """Some seeds of one kind of instance."""

    kernel: KernelName
    n: int
    n_seeds: int
    limit: float  # seconds
    scip: bool = False  # whether SCIP runs too
    molecules: bool = False


FULL: tuple[Case, ...] = (
    *(Case(kernel=kernel, n=10, n_seeds=20, limit=60.0) for kernel in ("ssp", "essp", "sp")),
    Case(kernel="sp", n=6, n_seeds=5, limit=60.0),
    Case(kernel="sp", n=8, n_seeds=5, limit=120.0),
    Case(kernel="esp", n=6, n_seeds=3, limit=120.0),
    Case(kernel="esp", n=10, n_seeds=3, limit=60.0),
    *(Case(kernel="ssp", n=n, n_seeds=2, limit=60.0, scip=True) for n in (5, 6, 8)),
    *(Case(kernel=kernel, n=12, n_seeds=5, limit=120.0) for kernel in ("ssp", "essp", "sp")),
    *(Case(kernel=kernel, n=15, n_seeds=5, limit=600.0) for kernel in ("sp", "ssp", "essp")),
    *(
        Case(kernel=kernel, n=n, n_seeds=1, limit=600.0)
        for n in (20, 30)
        for kernel in ("sp", "ssp", "essp")
    ),
    *(
        Case(kernel=kernel, n=10, n_seeds=5, limit=60.0, molecules=True)
        for kernel in ("ssp", "sp", "essp", "esp")
    ),
    *(
        Case(kernel=kernel, n=n, n_seeds=2, limit=60.0, molecules=True)
        for n in (20, 30)
        for kernel in ("ssp", "sp", "essp", "esp")
    ),
)
QUICK: tuple[Case, ...] = (
    *(Case(kernel=kernel, n=8, n_seeds=2, limit=20.0) for kernel in ("ssp", "essp", "sp")),
    Case(kernel="ssp", n=5, n_seeds=1, limit=20.0, scip=True),
    Case(kernel="ssp", n=6, n_seeds=1, limit=20.0, molecules=True),
)


def instance(
    kernel: KernelName, n: int, seed: int, molecules: bool = False
) -> tuple[GraphSpace, GraphGP, list[Any]]:
    """The space, the fitted GP and the observed graphs of one instance."""
    if molecules:
        from bogrape.molecules import load_oracle, molecule_space

        space = molecule_space("qm7", n)
        graphs = space.sample(N_MOLECULES, seed=seed, distinct=True)
        values = load_oracle("qm7").predict(graphs)
        return space, GraphGP(kernel, n_labels=space.n_labels).fit(graphs, values), graphs
    space = GraphSpace(n, labels=N_LABELS)
    graphs = space.sample(N_OBSERVATIONS, seed=seed)
    values = np.random.default_rng(seed).normal(size=N_OBSERVATIONS)
    return space, GraphGP(kernel, n_labels=N_LABELS).fit(graphs, values), graphs


def measure(
    kernel: KernelName, n: int, seed: int, limit: float, scip: bool, molecules: bool
) -> dict[str, Any]:
    """Run one instance in this process."""
    space, gp, graphs = instance(kernel, n, seed, molecules)
    # the first search also warms up; two seconds are the promise it is held to
    searched = propose(space, gp, LCB(1.0), "search", 2.0, graphs, seed=seed)
    proved = propose(space, gp, LCB(1.0), "exact", limit, graphs, seed=seed)
    out: dict[str, Any] = {
        "molecules": molecules,
        "kernel": kernel,
        "n": n,
        "seed": seed,
        "limit": limit,
        "status": proved.status,
        "seconds": proved.seconds,
        "value": proved.value,
        "bound": proved.bound,
        "standard_gap": proved.gap,
        "method": proved.method,
        "search_value": searched.value,
        "search_seconds": searched.seconds,
    }
    if scip:
        from .scip_columns import scip_columns

        out["scip"] = scip_columns(space, gp, LCB(1.0), limit)
    from bogrape.propose.jobs.pool import shut_down

    shut_down()  # so that the workers' memory is accounted for
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    out["memory_mb"] = {"self": own / 1024, "largest_worker": workers / 1024}
    return out


def run(cases: Iterable[Case], path: Path) -> None:
    """Run the instances that the file does not have yet."""
    done = {
        (r["kernel"], r["n"], r["seed"], r["limit"], "scip" in r, of_molecules(r))
        for r in load(path)
    }
    for case in cases:
        kernel, n, limit = case.kernel, case.n, case.limit
        what = f"{'QM7 ' if case.molecules else ''}{kernel}"
        for seed in range(case.n_seeds):
            if (kernel, n, seed, limit, case.scip, case.molecules) in done:
                continue
            command = [sys.executable, "-m", __spec__.name, "--instance"]
            command += [kernel, str(n), str(seed), str(limit)]
            command += ["--scip"] * case.scip + ["--molecules"] * case.molecules
            output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if output.returncode:
                raise SystemExit(f"{what} N={n} seed {seed} failed:\n{output.stderr}")
            with path.open("a") as file:
                file.write(output.stdout.splitlines()[-1] + "\n")
            record = json.loads(output.stdout.splitlines()[-1])
            print(
                f"{what:8} N={n:<3} seed {seed:<3} {record['status']:10} "
                f"{record['seconds']:7.1f} s  gap {record['standard_gap']:.3g} sd",
                flush=True,
            )


def of_molecules(record: dict[str, Any]) -> bool:
    """Whether an instance was one of molecules; files from before there were any do not say."""
    return bool(record.get("molecules", False))


def gap_words(records: list[dict[str, Any]]) -> str:
    """Median and worst gap in standard deviations of the observed values (`Proposal.gap`).

    Files from before gaps had this unit hold them relative to the value, as "gap".
    """
    if any("standard_gap" not in record for record in records):
        return "recorded in another unit"
    gaps = [float(record["standard_gap"]) for record in records]
    if len(gaps) < 2:
        return f"{gaps[0]:.2g}" if gaps else "-"
    return f"{statistics.median(gaps):.2g} (worst {max(gaps):.2g})"


def load(path: Path) -> list[dict[str, Any]]:
    """The results in a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(records: list[dict[str, Any]]) -> str:
    """The results as a Markdown table, one row per kernel and size."""
    lines = [
        "| kernel | N | limit (s) | seeds | median (s) | worst (s) | proved "
        "| gap at the limit (sd) | search alone | peak memory (MB) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    cases = sorted({(r["n"], r["kernel"], r["limit"]) for r in records})
    for n, kernel, limit in cases:
        rows = [r for r in records if (r["n"], r["kernel"], r["limit"]) == (n, kernel, limit)]
        seconds = [r["seconds"] for r in rows]
        proved = sum(r["status"] == "optimal" for r in rows)
        gap = gap_words([r for r in rows if r["status"] != "optimal"])
        off = [(r["search_value"] - r["value"]) / max(abs(r["value"]), 1e-9) for r in rows]
        hits = sum(x <= 1e-6 for x in off)
        memory = max(r["memory_mb"]["self"] + 2 * r["memory_mb"]["largest_worker"] for r in rows)
        lines.append(
            f"| {kernel} | {n} | {limit:.0f} | {len(rows)} | {statistics.median(seconds):.1f} "
            f"| {max(seconds):.1f} | {proved}/{len(rows)} | {gap} "
            f"| {hits}/{len(rows)}, worst {100 * max(off):.2g} % off | {memory:.0f} |"
        )
    return "\n".join(lines)


def molecule_table(records: list[dict[str, Any]]) -> str:
    """The instances of molecules as a Markdown table, with values and bounds: values are small."""
    lines = [
        "| kernel | N | limit (s) | seeds | median (s) | proved | value | bound | gap (sd) "
        "| search alone |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for n, kernel, limit in sorted({(r["n"], r["kernel"], r["limit"]) for r in records}):
        rows = [r for r in records if (r["n"], r["kernel"], r["limit"]) == (n, kernel, limit)]
        middle = {
            key: statistics.median(r[key] for r in rows) for key in ("seconds", "value", "bound")
        }
        off = [(r["search_value"] - r["value"]) / max(abs(r["value"]), 1e-9) for r in rows]
        lines.append(
            f"| {kernel} | {n} | {limit:.0f} | {len(rows)} | {middle['seconds']:.0f} "
            f"| {sum(r['status'] == 'optimal' for r in rows)}/{len(rows)} "
            f"| {middle['value']:.2f} | {middle['bound']:.2f} | {gap_words(rows)} "
            f"| {sum(x <= 1e-6 for x in off)}/{len(rows)}, worst {100 * max(off):.2g} % off |"
        )
    return "\n".join(lines)


def scip_table(records: list[dict[str, Any]]) -> str:
    """SCIP beside the exact engine, one row per instance, as a Markdown table."""
    lines = [
        "| kernel | N | seed | limit (s) | exact (s) | SCIP, published form | SCIP, weight space |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in sorted(records, key=lambda r: (r["kernel"], r["n"], r["seed"])):
        if "scip" not in r:
            continue
        cells = []
        for name in ("scip published", "scip weight"):
            column = r["scip"].get(name, {})
            if "seconds" not in column:
                cells.append(str(column.get("status", "-")))
                continue
            cells.append(
                f"{column['seconds']:.1f} s, {column['status']}, gap (sd) {gap_words([column])}, "
                f"claimed off by {column['off']:.1g}"
            )
        lines.append(
            f"| {r['kernel']} | {r['n']} | {r['seed']} | {r['limit']:.0f} | {r['seconds']:.1f} "
            f"({r['status']}) | {cells[0]} | {cells[1]} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark, or one instance of it."""
    parser = argparse.ArgumentParser(description="How long a proof takes.")
    parser.add_argument("--quick", action="store_true", help="a minute instead of hours")
    parser.add_argument("--only", nargs="*", help="kernels and sizes to run, e.g. ssp 10 12")
    parser.add_argument("--seeds", type=int, help="at most this many seeds per case")
    parser.add_argument("--limit", type=float, help="at most this many seconds per instance")
    parser.add_argument("--scip", action="store_true", help="with --instance: run SCIP too")
    parser.add_argument(
        "--molecules", action=argparse.BooleanOptionalAction, help="molecules only, or none"
    )
    parser.add_argument("--output", type=Path, default=Path("bench-engine.jsonl"))
    parser.add_argument("--instance", nargs=4, metavar=("KERNEL", "N", "SEED", "LIMIT"))
    options = parser.parse_args()
    if options.instance:
        kernel, n, seed, limit = options.instance
        molecules = bool(options.molecules)
        record = measure(kernel, int(n), int(seed), float(limit), options.scip, molecules)
        print(json.dumps(record))
        return
    cases = QUICK if options.quick else FULL
    if options.molecules is not None:
        cases = tuple(case for case in cases if case.molecules == options.molecules)
    if options.only:
        kernels = {word for word in options.only if not word.isdigit()}
        sizes = {int(word) for word in options.only if word.isdigit()}
        cases = tuple(
            case
            for case in cases
            if (not kernels or case.kernel in kernels) and (not sizes or case.n in sizes)
        )
    cases = tuple(
        replace(
            case,
            n_seeds=min(case.n_seeds, options.seeds or case.n_seeds),
            limit=min(case.limit, options.limit or case.limit),
        )
        for case in cases
    )
    started = time.monotonic()
    run(cases, options.output)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(
        f"\n{platform.python_implementation()} {platform.python_version()}, {cores} cores, ", end=""
    )
    print(f"{time.monotonic() - started:.0f} s in this run\n")
    records = load(options.output)
    print(table([r for r in records if "scip" not in r and not of_molecules(r)]))
    print()
    print(scip_table(records))
    print("\nMolecules (QM7)\n")
    print(molecule_table([r for r in records if of_molecules(r)]))


if __name__ == "__main__":
    main()
