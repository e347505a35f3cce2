"""`Proposal`: the graph to try next, and how good it is known to be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from .. import display
from ..graph import Graph

Status = Literal["optimal", "time_limit", "heuristic"]


@dataclass(frozen=True)
class Proposal:
    """The answer of a proposer, with its certificate.

    Attributes:
        graph: the graph to evaluate next; it is in the space and not excluded.
        value: its acquisition value, recomputed in floating point (minimised; for LCB in the
            objective's own units).
        bound: no graph of the space that is not excluded has a lower value than this.
        status: ``optimal`` (the gap is closed), ``time_limit`` (the bound is valid, the gap is
            open: left so by the clock, a gap limit or a solver's tolerance) or ``heuristic`` (no
            bound was sought: ``bound`` is minus infinity).
        seconds: wall-clock time of the whole proposal.
        method: what found it and what proved it, e.g. ``search`` or ``search+cp-sat``.
        n_evaluations: acquisition values computed on the way.
        claimed: the value a solver claimed for its best answer, where it may differ from the truth
            (``method="mip"``); ``value`` is always recomputed.
    """

    graph: Graph
    value: float
    bound: float
    status: Status
    seconds: float
    method: str
    n_evaluations: int = 0
    claimed: float | None = None

    @property
    def gap(self) -> float:
        """``(value - bound) / max(|value|, 1e-9)``; zero when proved optimal."""
        if math.isinf(self.bound):
            return math.inf
        return max(0.0, self.value - self.bound) / max(abs(self.value), 1e-9)

    def _repr_html_(self) -> str | None:
        return display.html(self)
