"""Time per proof of the exact engine, by kernel and size (``make bench-engine``).

Three kinds of instances:

* *Random values*: the space of connected graphs with N nodes and 5 labels, 30 random observations
  of it with standard normal values, and ``LCB(1.0)``. The observed graphs are excluded.
* *Random molecules*: the QM7 space with N heavy atoms and 20 random molecules with the values of
  the QM7 oracle.
* *Trajectories*: the observations of studies (`benchmarks.trajectories`), with LCB and EI; run by
  the experiment ``trajectory-proofs``.

Each instance runs in a process of its own, so that its peak memory (workers included) can be
measured. Results are appended to ``engine.jsonl`` and ``trajectory-proofs.jsonl``, one line per
solve; a stopped run continues where it ended. ``python -m benchmarks fill docs/benchmarks.md``
makes the tables.

Columns of the tables: seconds (median and worst) until the proposal is returned, share proved
optimal, gap when the time limit came first (median and worst, in standard deviations of the
observed values), how often local search alone found the best known value within two seconds and
its worst error, and peak memory. Another table has the instances that SCIP solved too, with the
published formulation and the weight-space one, within the same limit.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bogrape import LCB, GraphGP, GraphSpace, propose
from bogrape.kernels import KernelName

from .checkout import ROOT
from .command import run_missing, tables_of
from .engine_tables import molecule_table, random_table, scip_table
from .experiments import get_experiment
from .records import Record, appending, provenance, rounded

N_LABELS = 5
N_OBSERVATIONS = 30
N_MOLECULES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """Instances of one kind, one per seed."""

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
    # this search also warms up the process; the documents promise its result in two seconds
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
        "scale": proved.scale,
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


def run(cases: Iterable[Case], path: Path) -> list[Record]:
    """Run the instances missing from the file; returns all records of the file."""
    with appending(path) as file:
        done = {
            (r["kernel"], r["n"], r["seed"], r["limit"], "scip" in r, r["molecules"])
            for r in file.records
        }
        for case in cases:
            for seed in range(case.n_seeds):
                key = (case.kernel, case.n, seed, case.limit, case.scip, case.molecules)
                if key not in done:
                    record = _in_a_process(case, seed)
                    file.append({**record, **provenance()})
                    print(_line(record), flush=True)
        return file.records


def _in_a_process(case: Case, seed: int) -> Record:
    command = [sys.executable, "-m", __spec__.name, "--instance"]
    command += [case.kernel, str(case.n), str(seed), str(case.limit)]
    command += ["--scip"] * case.scip + ["--molecules"] * case.molecules
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if output.returncode:
        raise SystemExit(f"{case} seed {seed} failed:\n{output.stderr}")
    record: Record = json.loads(output.stdout.splitlines()[-1])
    return record


def _line(record: Record) -> str:
    what = f"{'QM7 ' if record['molecules'] else ''}{record['kernel']}"
    return (
        f"{what:8} N={record['n']:<3} seed {record['seed']:<3} {record['status']:10} "
        f"{record['seconds']:7.1f} s  gap {record['standard_gap']:.3g} sd"
    )


def chosen(
    cases: Iterable[Case], kernels: Collection[str], sizes: Collection[int], molecules: bool | None
) -> list[Case]:
    """The cases with these kernels and sizes; an empty collection admits all."""
    return [
        case
        for case in cases
        if (not kernels or case.kernel in kernels)
        and (not sizes or case.n in sizes)
        and molecules in (None, case.molecules)
    ]


def prove_trajectories(options: argparse.Namespace) -> None:
    """Run the solves on trajectories that are missing from the results."""
    experiment = get_experiment("trajectory-proofs")
    plan = experiment.quick if options.quick else experiment.plan
    methods = plan.methods
    if options.only:
        methods = tuple(method for method in methods if method.split("-")[0] in options.only)
    plan = replace(
        plan,
        methods=methods,
        replications=min(plan.replications, options.seeds or plan.replications),
        time_limit=min(plan.time_limit, options.limit or plan.time_limit),
    )
    if methods and run_missing(experiment, plan, options.out, jobs=1):
        raise SystemExit("some solves failed; run the same command to try them again")


def main() -> None:
    """Run the benchmark, or one instance of it."""
    parser = argparse.ArgumentParser(description="Measure how long proofs take.")
    parser.add_argument("--quick", action="store_true", help="a minute instead of hours")
    parser.add_argument("--only", nargs="*", help="kernels and sizes to run, e.g. ssp 10 12")
    parser.add_argument("--seeds", type=int, help="at most this many seeds per case")
    parser.add_argument("--limit", type=float, help="at most this many seconds per instance")
    parser.add_argument("--scip", action="store_true", help="with --instance: run SCIP too")
    parser.add_argument(
        "--molecules", action=argparse.BooleanOptionalAction, help="random molecules only, or none"
    )
    parser.add_argument(
        "--trajectories", action=argparse.BooleanOptionalAction, help="trajectories only, or none"
    )
    parser.add_argument("--out", type=Path, default=Path("bench-results"))
    parser.add_argument("--instance", nargs=4, metavar=("KERNEL", "N", "SEED", "LIMIT"))
    options = parser.parse_args()
    if options.instance:
        kernel, n, seed, limit = options.instance
        molecules = bool(options.molecules)
        record = measure(kernel, int(n), int(seed), float(limit), options.scip, molecules)
        print(json.dumps(rounded(record)))
        return
    if not options.trajectories:
        words = options.only or ()
        cases = chosen(
            QUICK if options.quick else FULL,
            {word for word in words if not word.isdigit()},
            {int(word) for word in words if word.isdigit()},
            options.molecules,
        )
        cases = [
            replace(
                case,
                n_seeds=min(case.n_seeds, options.seeds or case.n_seeds),
                limit=min(case.limit, options.limit or case.limit),
            )
            for case in cases
        ]
        records = run(cases, options.out / "engine.jsonl")
        print(f"\nRandom values\n\n{random_table(records)}")
        print(f"\nCompared with SCIP\n\n{scip_table(records)}")
        print(f"\nRandom molecules (QM7)\n\n{molecule_table(records)}")
    if options.trajectories is not False and not options.molecules:
        prove_trajectories(options)
        print(f"\n{tables_of(get_experiment('trajectory-proofs'), options.out)}")


if __name__ == "__main__":
    main()
