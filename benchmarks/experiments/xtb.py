"""Molecules by GFN2-xTB: gap and dipole moment in 100 evaluations (not in the paper)."""

from __future__ import annotations

from dataclasses import replace

from ..figures import optimiser_curves
from ..markdown_tables import optimiser_tables
from . import Experiment, Plan, register
from ._optimiser_runs import exploration, run_optimiser

METHODS = ("random", "reg-evol", "graph-ga", "tanimoto-gp", "forest", "tpe", "rbf")
PLAN = Plan(
    problems=tuple(f"xtb-{what}-{n}" for what in ("gap", "dipole") for n in (8, 10, 12)),
    methods=METHODS,
    replications=5,
    n_initial=10,
    n_iterations=90,
    search="local",
)

register(
    Experiment(
        name="xtb",
        title="HOMO–LUMO gap and dipole moment by GFN2-xTB",
        source="not in the paper",
        plan=PLAN,
        short=replace(PLAN, problems=("xtb-gap-8", "xtb-dipole-8"), replications=3, search="weak"),
        quick=Plan(
            problems=("xtb-dipole-8", "xtb-polarisability-8"),
            methods=METHODS,
            replications=1,
            n_initial=4,
            n_iterations=1,
            search="weak",
        ),
        settings=exploration,
        run=run_optimiser,
        tables=optimiser_tables,
        figure=optimiser_curves,
    )
)
