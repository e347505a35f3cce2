"""BoGrape: ``ssp``, ``sp``, ``essp``, ``esp`` as in the paper, ``rbf`` and ``rbf-lcb``.

``ssp-mip`` and ``sp-mip`` solve the paper's formulation with SCIP, which is practical for graphs of
up to six nodes.

The others propose with a proof within the time limit (method ``auto``), or by local search alone if
`Settings.n_evaluations` is set. ``ssp-search`` ... always use local search alone, to show the value
of the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from bogrape.acquisition import EI
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.kernels import KERNELS, KernelName
from bogrape.propose import Method, propose

from . import Choice, Settings, register


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A surrogate, an acquisition function, and the method that optimises it."""

    kernel: KernelName
    noise: float | Literal["fit"] = 1e-6
    improvement: bool = False  # EI, not LCB
    method: Method = "auto"
    cap: float | None = None  # of bad values, see `GraphGP`


@dataclass(frozen=True)
class BoGrape:
    """The graph of the whole space with the best acquisition value."""

    variant: Variant
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
        space, variant = self.settings.space, self.variant
        n_evaluations = self.settings.n_evaluations
        gp = GraphGP(variant.kernel, variant.noise, space=space, cap=variant.cap).fit(
            graphs, values
        )
        proposal = propose(
            space,
            gp,
            EI() if variant.improvement else self.settings.acquisition(len(graphs)),
            variant.method if n_evaluations is None else "search",
            time_limit if n_evaluations is None else math.inf,
            exclude=graphs,
            seed=seed,
            n_evaluations=n_evaluations,
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
    register(_kernel)(partial(BoGrape, Variant(kernel=_kernel)))
    register(f"{_kernel}-search")(partial(BoGrape, Variant(kernel=_kernel, method="search")))
for _kernel in ("ssp", "esp"):  # like rbf: fitted noise and EI
    _own = Variant(kernel=_kernel, noise="fit", improvement=True)
    register(f"{_kernel}-ei")(partial(BoGrape, _own))
for _kernel in ("ssp", "sp"):  # the paper's formulation has no rows for the exponential kernels
    register(f"{_kernel}-mip")(partial(BoGrape, Variant(kernel=_kernel, method="mip")))
register("rbf")(partial(BoGrape, Variant(kernel="rbf", noise="fit", improvement=True)))
register("rbf-lcb")(partial(BoGrape, Variant(kernel="rbf", noise="fit")))
# for objectives with a long tail of bad values
_tail = partial(Variant, noise="fit", cap=3.0)
register("rbf-cap")(partial(BoGrape, _tail(kernel="rbf", improvement=True)))
register("sp-cap")(partial(BoGrape, _tail(kernel="sp")))
