"""The paper's formulation as the method of a study: SCIP against the exact engine, N ≤ 6."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import budget, run_optimiser

PLAN = Plan(
    problems=("small-gcn-5", "small-gat-5", "small-sage-5", "order-degree-6-3"),
    methods=("random", "ssp-mip", "ssp", "sp-mip", "sp"),
    replications=5,
    n_initial=5,
    n_iterations=20,
    time_limit=60.0,
)

register(
    Experiment(
        name="formulation",
        title="studies with the paper's formulation on SCIP and with the exact engine",
        source="(MIP-SP-plus) and the acquisition programs, as a method of a study",
        plan=PLAN,
        short=replace(PLAN, replications=2, n_iterations=5, time_limit=10.0),
        quick=Plan(
            problems=("small-gcn-5",),
            methods=("random", "ssp-mip", "ssp"),
            replications=1,
            n_initial=3,
            n_iterations=1,
            time_limit=2.0,
        ),
        settings=budget,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
