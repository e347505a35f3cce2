"""Proofs on real trajectories: one solve per instance, kernel and acquisition (not in the paper).

Problems are those of `benchmarks.trajectories`, such as ``gcn-10+20``: the observations of a study
after 20 proposals. Methods name a kernel and an acquisition, such as ``esp-lcb``; noise is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bogrape.acquisition import EI, LCB, Acquisition
from bogrape.errors import InvalidInputError
from bogrape.gp import GraphGP
from bogrape.kernels import KernelName
from bogrape.propose import Proposal, propose

from ..markdown_tables import markdown
from ..records import Record
from ..trajectories import N_PROPOSALS, N_SEEDS, PROBLEMS, Instance, instance
from . import Experiment, Plan, Task, register

KERNELS: tuple[KernelName, ...] = ("ssp", "essp", "sp", "esp", "rbf")
ACQUISITIONS: dict[str, Acquisition] = {"lcb": LCB(1.0), "ei": EI()}
METHODS = tuple(f"{kernel}-{name}" for kernel in KERNELS for name in ACQUISITIONS)
_MOLECULES = ("qm7-", "qm9-")

PLAN = Plan(
    problems=tuple(f"{problem}+{n}" for problem in PROBLEMS for n in N_PROPOSALS),
    methods=METHODS,
    replications=N_SEEDS,
    time_limit=60.0,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:
    """The limit of a solve, and the noise."""
    parts_of(method)  # checks it
    return {"time_limit": plan.time_limit, "noise": "fit"}


def parts_of(method: str) -> tuple[KernelName, Acquisition]:
    """The kernel and the acquisition of a method."""
    for kernel in KERNELS:
        for name, acquisition in ACQUISITIONS.items():
            if method == f"{kernel}-{name}":
                return kernel, acquisition
    raise InvalidInputError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")


def fitted(case: Instance, kernel: KernelName) -> GraphGP:
    """The Gaussian process of an instance."""
    return GraphGP(kernel, "fit", space=case.space).fit(case.graphs, case.values)


def run(task: Task) -> dict[str, Any]:
    """One solve."""
    case = instance(task.problem, task.seed)
    kernel, acquisition = parts_of(task.method)
    limit: float = task.settings["time_limit"]
    gp = fitted(case, kernel)
    proposal = propose(case.space, gp, acquisition, "exact", limit, case.graphs, seed=task.seed)
    return certificate(proposal)


def certificate(proposal: Proposal) -> dict[str, Any]:
    """Recorded quantities of a proposal."""
    return {
        "status": proposal.status,
        "value": proposal.value,
        "bound": proposal.bound,
        "standard_gap": proposal.gap,
        "scale": proposal.scale,
        "seconds": proposal.seconds,
        "found_by": proposal.method,
        "n_evaluations": proposal.n_evaluations,
    }


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """One table for graphs and one for molecules; one row per kernel and acquisition."""
    limits = ", ".join(sorted({f"{record['time_limit']:g}" for record in records}))
    parts = [
        f'Limit {limits} s. "Proved" counts instances after {_listed(N_PROPOSALS)} proposals and '
        "all together; gaps are those of instances that were not proved, in standard deviations "
        "(sd) of the observed values."
    ]
    groups = {
        "Trajectories on random networks (10 nodes, 5 labels)": False,
        "Trajectories on molecules (QM7 and QM9, 10 atoms)": True,
    }
    for title, molecules in groups.items():
        own = [r for r in records if r["problem"].startswith(_MOLECULES) == molecules]
        if own:
            parts += [f"{title}:", _table(own)]
    return "\n\n".join(parts)


def _table(records: Sequence[Record]) -> str:
    header = ["kernel", "acquisition", *(f"proved, {n}" for n in N_PROPOSALS), "proved"]
    header += ["median (s)", "worst (s)", "median gap (sd)", "worst gap (sd)"]
    rows = []
    for method in METHODS:
        own = [record for record in records if record["method"] == method]
        if not own:
            continue
        after = [[r for r in own if r["problem"].endswith(f"+{n}")] for n in N_PROPOSALS]
        seconds = [record["seconds"] for record in own]
        rows.append(
            [
                *method.split("-"),
                *map(_proved, after),
                _proved(own),
                f"{np.median(seconds):.1f}",
                f"{max(seconds):.1f}",
                *_gaps([record for record in own if record["status"] != "optimal"]),
            ]
        )
    return markdown(header, rows)


def _proved(records: Sequence[Record]) -> str:
    if not records:
        return "-"
    return f"{sum(record['status'] == 'optimal' for record in records)}/{len(records)}"


def _gaps(records: Sequence[Record]) -> tuple[str, str]:
    """Median and worst gap; those without a bound count as infinite."""
    if not records:
        return "-", "-"
    gaps = [r["standard_gap"] if r["standard_gap"] is not None else np.inf for r in records]
    return _gap(float(np.median(gaps))), _gap(max(gaps))


def _gap(gap: float) -> str:
    return "no bound" if np.isinf(gap) else f"{gap:.2g}"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


register(
    Experiment(
        name="trajectory-proofs",
        title="proofs on observations taken from studies",
        source="not in the paper",
        page="benchmarks.md",
        plan=PLAN,
        short=replace(PLAN, replications=1, time_limit=20.0),
        quick=Plan(
            problems=("gcn-10+5",), methods=("ssp-lcb", "rbf-ei"), replications=1, time_limit=2.0
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=None,
    )
)
