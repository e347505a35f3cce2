"""Ablation of the exploration parameter (the paper's Figure 9)."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import exploration, run_optimiser

PAPER = Plan(problems=("qm7-10",), methods=("ssp:1", "ssp:1.96", "ssp:growing"), replications=10)

register(
    Experiment(
        name="exploration",
        title="three choices of κ = √β_t on QM7, N = 10, SSP",
        source="Figure 9 (appendix)",
        plan=PAPER,
        short=replace(PAPER, replications=3, n_iterations=20, time_limit=1.0),
        quick=replace(PAPER, replications=1, n_initial=3, n_iterations=1, time_limit=0.2),
        settings=exploration,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
