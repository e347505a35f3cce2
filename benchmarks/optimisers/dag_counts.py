"""``rbf-dag``: the surrogate `bogrape.dags.DagGP` for directed acyclic graphs, with EI.

It is searched as the package's kernels are: by local search with the evaluations of the plan, or
within the time limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bogrape.acquisition import EI
from bogrape.dags import DagGP
from bogrape.graph import Graph
from bogrape.propose import propose
from bogrape.surrogate import FittedSurrogate

from . import Choice, Settings, register


@dataclass(frozen=True)
class DagCounts:
    """The graph with the largest expected improvement."""

    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,
    ) -> Choice:
        """Fit and propose."""
        space, n_evaluations = self.settings.space, self.settings.n_evaluations
        proposal = propose(
            space,
            FittedSurrogate.fit(DagGP(space), graphs, values),
            EI(),
            "search",
            time_limit if n_evaluations is None else math.inf,
            exclude=graphs,
            seed=seed,
            n_evaluations=n_evaluations,
        )
        return Choice(graph=proposal.graph, value=proposal.value, status=proposal.status)


register("rbf-dag")(DagCounts)
