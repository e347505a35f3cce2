"""Bayesian optimisation of the QM7 and QM9 oracles (the paper's Figures 4 and 11)."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import exploration, run_optimiser

PAPER = Plan(
    problems=tuple(f"{data}-{n}" for n in (10, 15, 20, 25, 30) for data in ("qm7", "qm9")),
    methods=("random", "rw-rand", "wl-rand", "ssp", "sp", "essp", "esp"),
    replications=10,
)

register(
    Experiment(
        name="molecules",
        title="best value so far on networks trained on QM7 and QM9",
        source="Figures 4 (N = 10, 20, 30) and 11 (N = 15, 25)",
        plan=PAPER,
        short=replace(
            PAPER,
            problems=("qm7-10", "qm9-10"),
            replications=3,
            n_iterations=20,
            time_limit=1.0,
        ),
        quick=Plan(
            problems=("qm7-10",),
            methods=("random", "ssp"),
            replications=2,
            n_initial=3,
            n_iterations=1,
            time_limit=0.2,
        ),
        settings=exploration,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
