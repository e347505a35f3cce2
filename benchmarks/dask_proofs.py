"""Time of a proof on one Dask worker, on two, and on two of which one is killed halfway.

    python -m benchmarks.dask_proofs [--kernel ssp] [--nodes 15] [--seeds 0 1] [--out docs/results]

The instances are those of `benchmarks.engine` with random values. Every worker is a process with
one thread, kept by a nanny, and starts before the clock does. Runs that are already in the results
are skipped. Other programs take processor time, too: measure on a quiet machine, or compare the
processor seconds of the busiest worker, which are recorded as well.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path
from typing import Any

from bogrape import LCB, GraphSpace, Proposal, propose

from .checkout import ROOT
from .dask_tables import FILE, KINDS, table
from .engine import instance
from .records import Record, appending, provenance

KILL_AFTER = 10.0  # seconds after the proof began
LIMIT = 200.0
_STARTING = 60.0


def run(kind: str, kernel: str, n: int, seed: int, limit: float) -> Record:
    """One proof on a cluster of its own."""
    from distributed import Client, LocalCluster

    kernel_name: Any = kernel
    space, gp, graphs = instance(kernel_name, n, seed, False)
    n_workers = 1 if kind == "one worker" else 2
    make: Any = LocalCluster  # untyped
    connect: Any = Client
    with (
        make(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        connect(cluster) as client,
    ):
        client.wait_for_workers(n_workers, timeout=_STARTING)
        _warm_up(client)
        began, killed = time.monotonic(), list[float]()

        def kill_one() -> bool:
            late = time.monotonic() - began > KILL_AFTER
            if kind == "two, one killed" and late and not killed:
                busy = [address for address, jobs in client.processing().items() if jobs]
                for address in busy[:1]:
                    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
                    killed.append(time.monotonic() - began)
            return False

        before, own = client.run(_cpu_seconds), time.process_time()
        proposal = propose(
            space, gp, LCB(1.0), "exact", limit, graphs, seed=seed, client=client, stop=kill_one
        )
        own = time.process_time() - own
        after = client.run(_cpu_seconds)
    assert isinstance(proposal, Proposal)
    return {
        "problem": f"{kernel}-{n}",
        "method": kind,
        "seed": seed,
        "limit": limit,
        "seconds": proposal.seconds,
        "status": proposal.status,
        "value": proposal.value,
        "bound": proposal.bound,
        "killed_after": killed[0] if killed else None,
        "client_cpu": own,
        "worker_cpu": [after[at] - before[at] for at in after if at in before],
    }


def _cpu_seconds() -> float:
    """Processor seconds of a Dask worker and the processes it has started."""
    import psutil  # comes with distributed

    process = psutil.Process()
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return float(sum(time.user + time.system for time in times))


def _warm_up(client: Any) -> None:
    space = GraphSpace(7)
    graphs = space.sample(5, seed=0, distinct=True)
    from bogrape import GraphGP

    propose(space, GraphGP("ssp").fit(graphs, [1.0, 0.0, 2.0, 1.5, 0.5]), client=client)


def main() -> None:
    """Run the proofs missing from the results, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kernel", default="ssp")
    parser.add_argument("--nodes", type=int, default=15)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    given = parser.parse_args()
    with appending(given.out / FILE) as file:
        done = {(r["problem"], r["seed"], r["limit"], r["method"]) for r in file.records}
        for seed in given.seeds:
            for kind in given.kinds:
                if (f"{given.kernel}-{given.nodes}", seed, given.limit, kind) not in done:
                    record = run(kind, given.kernel, given.nodes, seed, given.limit)
                    file.append({**record, **provenance()})
                    print(kind, seed, record["status"], round(record["seconds"], 1), flush=True)
        print(table(file.records))


if __name__ == "__main__":
    main()
