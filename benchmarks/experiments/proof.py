"""Value of a proof: exact proposals compared with local search alone (not in the paper)."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import budget, run_optimiser

PAPER = Plan(
    problems=("gcn-10", "gat-10", "sage-10", "qm7-10"),
    methods=("random", "ssp", "ssp-search", "essp", "essp-search"),
    replications=10,
)

register(
    Experiment(
        name="proof",
        title="proposals with a proof compared with those of local search alone",
        source="not in the paper",
        plan=PAPER,
        short=replace(PAPER, replications=3, n_iterations=20, time_limit=1.0),
        quick=Plan(
            problems=("gcn-10",),
            methods=("random", "ssp", "ssp-search"),
            replications=1,
            n_initial=3,
            n_iterations=1,
            time_limit=0.2,
        ),
        settings=budget,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
