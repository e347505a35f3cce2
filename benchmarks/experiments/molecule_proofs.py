"""Proofs on molecules: one solve per instance, kernel and acquisition (not in the paper).

Problems are ``qm7-10``, for example: 30 random molecules of 10 heavy atoms with standard normal
values and noise 1e-6; or instances of `benchmarks.trajectories`, such as ``qm7-10+20``, with fitted
noise. A proof at 10 or 12 atoms begins with the list of skeletons. The list is made before the
solve is timed, since it is stored in files from then on; `skeleton_seconds` is the time it took.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bogrape.encoding import structures
from bogrape.gp import GraphGP
from bogrape.kernels import KernelName
from bogrape.propose import propose
from bogrape.propose.exact.skeletons.node_sums import NodeSums
from bogrape.propose.exact.skeletons.store import skeletons_of
from bogrape.propose.jobs.pool import shut_down
from bogrape.space import GraphSpace

from ..markdown_tables import markdown
from ..records import Record
from ..trajectories import Instance
from ..trajectories import instance as of_trajectory
from . import Experiment, Plan, Task, register
from .trajectory_proofs import certificate, fitted, parts_of

N_OBSERVATIONS = 30
MOST_ATOMS_LISTED = 12
KINDS = {"": "random values", "+": "trajectories"}

PLAN = Plan(
    problems=("qm7-10", "qm9-10", *(f"qm{d}-10+{n}" for n in (5, 20, 50) for d in (7, 9))),
    methods=("ssp-lcb", "essp-lcb", "sp-lcb", "esp-lcb"),
    replications=3,
    time_limit=120.0,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:
    """The limit of a solve."""
    parts_of(method)  # checks it
    return {"time_limit": plan.time_limit}


def instance(problem: str, seed: int) -> Instance:
    """Instance of a trajectory, or random molecules with random values."""
    if "+" in problem:
        return of_trajectory(problem, seed)
    from bogrape.molecules import molecule_space  # late: the other experiments do without RDKit

    data, _, size = problem.partition("-")
    space = molecule_space(data, int(size))
    graphs = space.sample(N_OBSERVATIONS, seed=seed, distinct=True)
    values = np.random.default_rng(seed).normal(size=N_OBSERVATIONS)
    return Instance(f"{problem}/{seed}", space, graphs, values.tolist())


def fit(case: Instance, problem: str, kernel: KernelName) -> GraphGP:
    """The Gaussian process of an instance; its noise is fitted on trajectories only."""
    if "+" in problem:
        return fitted(case, kernel)
    return GraphGP(kernel, space=case.space).fit(case.graphs, case.values)


def run(task: Task) -> dict[str, Any]:
    """One solve, with the processor time of this process and of all workers."""
    case = instance(task.problem, task.seed)
    kernel, acquisition = parts_of(task.method)
    limit: float = task.settings["time_limit"]
    gp = fit(case, task.problem, kernel)
    seconds = _list_skeletons(case.space)
    before = _processor_seconds()
    proposal = propose(case.space, gp, acquisition, "exact", limit, case.graphs, seed=task.seed)
    shut_down()  # so that the workers' time is accounted for
    return {
        **certificate(proposal),
        "skeleton_seconds": seconds,
        "processor_seconds": _processor_seconds() - before,
        "relative_gap": (proposal.value - proposal.bound) / abs(proposal.value),
    }


def _list_skeletons(space: GraphSpace) -> float:
    began = time.process_time()
    if space.n_max <= MOST_ATOMS_LISTED:
        (structure,) = structures([space.shape(space.n_max)], space.connected, space.rules)
        sums = NodeSums.of(structure)
        assert sums is not None  # atoms decide their features
        skeletons_of(space.n_max, sums.most_degree, sums.n_cycles())
    return time.process_time() - began


def _processor_seconds() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """One row per set of molecules, kind of values, kernel and acquisition."""
    header = ["molecules", "observations", "kernel", "acquisition", "proved", "median (s)"]
    header += ["worst (s)", "processor, median (s)", "worst (s)", "median gap", "worst gap"]
    rows = []
    names = sorted({record["problem"].partition("+")[0] for record in records})
    for name in sorted(names, key=lambda name: (int(name.partition("-")[2]), name)):
        for mark, kind in KINDS.items():
            own = [r for r in records if r["problem"].partition("+")[:2] == (name, mark)]
            for method in dict.fromkeys(r["method"] for r in own):
                some = [r for r in own if r["method"] == method]
                proved = [r["status"] == "optimal" for r in some]
                gaps = [_gap(r) for r in some]
                seconds = [r["seconds"] for r in some]
                used = [r["processor_seconds"] for r in some]
                rows.append(
                    [
                        name,
                        kind,
                        *method.split("-"),
                        f"{sum(proved)}/{len(some)}",
                        *(f"{f(seconds):.0f}" for f in (np.median, max)),
                        *(f"{f(used):.0f}" for f in (np.median, max)),
                        *(f"{100 * float(f(gaps)):.0f} %" for f in (np.median, max)),
                    ]
                )
    return markdown(header, rows)


def _gap(record: Record) -> float:
    proved = record["status"] == "optimal"
    return 0.0 if proved else record["relative_gap"]


register(
    Experiment(
        name="molecule-proofs",
        title="proofs on molecules, with random values and on trajectories",
        source="not in the paper",
        page="benchmarks.md",
        plan=PLAN,
        short=replace(PLAN, replications=1),
        quick=Plan(problems=("qm7-6",), methods=("sp-lcb",), replications=1, time_limit=20.0),
        settings=settings,
        run=run,
        tables=tables,
        figure=None,
    )
)
