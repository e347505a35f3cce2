"""BoGrape: ``ssp``, ``sp``, ``essp``, ``esp`` with a proof within the time limit (method ``auto``),
and ``ssp-search`` ... by local search alone, so that the worth of the proof can be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.kernels import KERNELS, KernelName
from bogrape.propose import Method, propose

from . import Choice, Settings, register


@dataclass(frozen=True)
class BoGrape:
    """The graph of the whole space with the lowest confidence bound."""

    kernel: KernelName
    method: Method
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
        space = self.settings.space
        gp = GraphGP(self.kernel, n_labels=space.n_labels).fit(graphs, values)
        proposal = propose(
            space,
            gp,
            self.settings.acquisition(len(graphs)),
            self.method,
            time_limit,
            exclude=graphs,
            seed=seed,
        )
        bounded = proposal.status != "heuristic"
        return Choice(
            graph=proposal.graph,
            value=proposal.value,
            bound=proposal.bound if bounded else None,
            gap=proposal.gap if bounded else None,
            status=proposal.status,
        )


for _kernel in KERNELS:
    register(_kernel)(partial(BoGrape, _kernel, "auto"))
    register(f"{_kernel}-search")(partial(BoGrape, _kernel, "search"))
