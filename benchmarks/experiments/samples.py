"""Ablation of the number of samples baselines choose from (the paper's Figure 7)."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import candidates, run_optimiser

PAPER = Plan(
    problems=("qm7-30", "qm9-30"),
    methods=(
        *("random", "rw-rand:20", "rw-rand:100", "wl-rand:20", "wl-rand:100"),
        *("ssp", "sp", "essp", "esp"),
    ),
    replications=10,
)

register(
    Experiment(
        name="samples",
        title="baselines that choose among 20 or 100 random molecules, N = 30",
        source="Figure 7 (appendix)",
        plan=PAPER,
        short=replace(PAPER, replications=3, n_iterations=20, time_limit=1.0),
        quick=Plan(
            problems=("qm7-30",),
            methods=("wl-rand:2", "wl-rand:4", "ssp"),
            replications=1,
            n_initial=3,
            n_iterations=1,
            time_limit=0.2,
        ),
        settings=candidates,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
