"""Benefit of the optimum: one surrogate, with searches of increasing strength.

Not in the paper. All methods of a replication have the same problem, initial design and seeds; they
differ in how well they optimise the same acquisition function.
"""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import SEARCHES, Experiment, Plan, register
from ._optimiser_runs import run_optimiser, strength
from .synthetic import PAPER as SYNTHETIC

PLAN = replace(
    SYNTHETIC,
    methods=tuple(
        f"{optimiser}:{search}" for optimiser in ("rbf", "rbf-lcb") for search in SEARCHES
    ),
    time_limit=10.0,
)

register(
    Experiment(
        name="optimum",
        title="the same surrogate with a weak search, local search and the exact engine",
        source="not in the paper",
        plan=PLAN,
        short=replace(PLAN, problems=("gcn-10", "gat-10", "sage-10"), replications=3),
        quick=Plan(
            problems=("gcn-10",),
            methods=("rbf:weak", "rbf:exact"),
            replications=1,
            n_initial=3,
            n_iterations=1,
            time_limit=0.2,
        ),
        settings=strength,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
