"""``auto`` compared with each method, in the same time on real trajectories (not in the paper).

Methods name a method of `propose`, a kernel and an acquisition, such as ``search:rbf-ei``.
``exact`` is another name for ``auto`` and not run. Methods are compared by the value of their
proposals: a proof is worth little if another method finds a better graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.gp import GraphGP
from bogrape.propose import Method, propose
from bogrape.space import GraphSpace

from ..markdown_tables import markdown
from ..records import Record
from ..trajectories import instance
from . import Experiment, Plan, Task, register
from .trajectory_proofs import METHODS as CRITERIA
from .trajectory_proofs import PLAN as PROOFS
from .trajectory_proofs import certificate, fitted, parts_of

WAYS: tuple[Method, ...] = ("auto", "search", "evolve", "sample", "mip")
_WITH_MIP = ("ssp-lcb", "sp-lcb")  # criteria of the paper's program
_LOST = 1e-6  # standard deviations; anything smaller is rounding

PLAN = replace(
    PROOFS,
    methods=tuple(
        f"{way}:{criterion}"
        for criterion in CRITERIA
        for way in WAYS
        if way != "mip" or criterion in _WITH_MIP
    ),
    time_limit=5.0,
)


def settings(plan: Plan, method: str) -> dict[str, Any]:
    """The limit of a proposal, and the noise."""
    way_of(method)  # checks it
    return {"time_limit": plan.time_limit, "noise": "fit"}


def way_of(method: str) -> tuple[Method, str]:
    """The method of `propose`, and the kernel and acquisition, of a method such as auto:rbf-ei."""
    name, _, criterion = method.partition(":")
    for way in get_args(Method):
        if name == way and criterion in CRITERIA:
            return way, criterion
    raise InvalidInputError(
        f"expected a method, a colon, a kernel and an acquisition such as auto:rbf-ei, got {method}"
    )


def run(task: Task) -> dict[str, Any]:
    """One proposal."""
    case = instance(task.problem, task.seed)
    way, criterion = way_of(task.method)
    kernel, acquisition = parts_of(criterion)
    limit: float = task.settings["time_limit"]
    gp = fitted(case, kernel)
    _warm_up()
    try:
        proposal = propose(case.space, gp, acquisition, way, limit, case.graphs, seed=task.seed)
    except UnsupportedError as error:
        return {"status": "unsupported", "reason": str(error)}
    return certificate(proposal)


def _warm_up() -> None:
    """Load the solver and start a worker, so that the measured proposal need not."""
    space = GraphSpace(4)
    graphs = space.sample(3, seed=0, distinct=True)
    propose(space, GraphGP("ssp").fit(graphs, [0.0, 1.0, 2.0]), method="exact", exclude=graphs)


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """Number of best values per method, and how often ``auto`` found a worse one."""
    limits = ", ".join(sorted({f"{record['time_limit']:g}" for record in records}))
    found: dict[tuple[str, str, int], dict[str, Record]] = {}
    for record in records:
        way, criterion = way_of(record["method"])
        if "value" in record:
            found.setdefault((record["problem"], criterion, record["seed"]), {})[way] = record
    rows = []
    for criterion in CRITERIA:
        own = [ways for key, ways in found.items() if key[1] == criterion and "auto" in ways]
        if not own:
            continue
        row = [*criterion.split("-"), str(len(own))]
        for way in WAYS:
            misses = [_misses(ways)[way] for ways in own if way in ways]
            hits = sum(miss <= _LOST for miss in misses)
            row.append(f"{hits}/{len(misses)}" if misses else "-")
        worst = max(_misses(ways)["auto"] for ways in own)
        rows.append([*row, "-" if worst <= _LOST else f"{worst:.2g}"])
    words = (
        f"Limit {limits} s. How often each method found the best value that any of them found, and "
        "by how much `auto` missed it at worst, in standard deviations (sd) of the observed values."
    )
    header = ["kernel", "acquisition", "instances", *WAYS, "worst miss of auto (sd)"]
    return f"{words}\n\n{markdown(header, rows)}"


def _misses(ways: Mapping[str, Record]) -> dict[str, float]:
    """Distance of each method from the best value, in standard deviations."""
    best = min(record["value"] for record in ways.values())
    return {way: (r["value"] - best) / r["scale"] for way, r in ways.items()}


register(
    Experiment(
        name="portfolio",
        title="auto compared with each method, in the same time",
        source="not in the paper",
        page="benchmarks.md",
        plan=PLAN,
        short=replace(PLAN, replications=1, time_limit=2.0),
        quick=Plan(
            problems=("gcn-10+5",),
            methods=("auto:ssp-lcb", "search:ssp-lcb"),
            replications=1,
            time_limit=1.0,
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=None,
    )
)
