"""Bayesian optimisation of random graph neural networks (the paper's Figure 3)."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import exploration, run_optimiser

BASELINES = ("random", "rw-rand", "wl-rand", "wl-evol")
BOGRAPE = ("ssp", "sp", "essp", "esp", "rbf", "rbf-lcb")

PAPER = Plan(
    problems=tuple(f"{network}-{n}" for n in (10, 20) for network in ("gat", "gcn", "sage")),
    methods=(*BASELINES, *BOGRAPE),
    replications=10,
)

register(
    Experiment(
        name="synthetic",
        title="best value so far on random GCN, GAT and GraphSAGE networks",
        source="Figure 3 (synthetic benchmarks, N = 10 and 20)",
        plan=PAPER,
        short=replace(PAPER, replications=3, n_iterations=20, time_limit=1.0),
        quick=Plan(
            problems=("gcn-10",),
            methods=("random", "wl-rand", "ssp"),
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
