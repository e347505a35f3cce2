"""SCIP on the paper's program, for the table of engines: published form and weight space.

Both get the same start and the same time. The value that SCIP claims is compared with the
recomputed one: with the published form they differ where K⁻¹ amplifies SCIP's tolerance.
"""

from __future__ import annotations

import math
from typing import Any

from bogrape.acquisition import Acquisition
from bogrape.errors import BoGrapeError
from bogrape.gp import GraphGP
from bogrape.kernels import is_linear
from bogrape.propose import propose
from bogrape.space import GraphSpace

FORMS = ("function", "weight")


def scip_columns(
    space: GraphSpace, gp: GraphGP, acquisition: Acquisition, time_limit: float
) -> dict[str, dict[str, Any]]:
    """One entry per form, ``scip published`` and ``scip weight``, of one instance.

    Each holds ``seconds``, ``status``, ``value``, ``bound``, ``standard_gap``, ``claimed`` and
    ``off``, which is ``claimed - value``; or only ``status``, which then says why there is no
    result. Exponential kernels have no weight space.
    """
    columns: dict[str, dict[str, Any]] = {}
    for form in FORMS:
        name = "scip published" if form == "function" else "scip weight"
        if form == "weight" and not is_linear(gp.kernel):
            columns[name] = {"status": "no weight space"}
            continue
        try:
            proposal = propose(
                space,
                gp,
                acquisition,
                method="mip",
                solver="scip",
                time_limit=time_limit,
                options={"form": form},
            )
        except BoGrapeError as error:
            columns[name] = {"status": f"{type(error).__name__}: {error}"}
            continue
        claimed = proposal.claimed
        columns[name] = {
            "seconds": proposal.seconds,
            "status": proposal.status,
            "value": proposal.value,
            "bound": proposal.bound,
            "standard_gap": proposal.gap,
            "claimed": claimed,
            "off": math.nan if claimed is None else claimed - proposal.value,
        }
    return columns
