"""`Proposal`: the graph to try next, and how good it is known to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .. import display
from ..graph import Graph

Status = Literal["optimal", "time_limit", "heuristic"]


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The answer of a proposer, with its certificate.

    Attributes:
        graph: the graph to evaluate next; it is in the space and not excluded.
        value: its acquisition value, recomputed in floating point (minimised; in the objective's
            own units). For EI that is minus the expected improvement.
        bound: no graph of the space that is not excluded has a lower value than this.
        status: ``optimal`` (proved: the bound meets the value but for rounding, or for the
            tolerance of the solver of ``method="mip"``), ``time_limit`` (the bound is valid, the
            gap is open: left so by the clock, a gap limit or a solver's tolerance) or
            ``heuristic`` (no bound was sought: ``bound`` is minus infinity).
        seconds: wall-clock time of the whole proposal.
        method: what found it and what proved it, e.g. ``search`` or ``search+cp-sat``.
        n_evaluations: acquisition values computed on the way.
        claimed: the value a solver claimed for its best answer, where it may differ from the truth
            (``method="mip"``); ``value`` is always recomputed.
        scale: one standard deviation of the observed values, in the objective's own units (for an
            acquisition function of your own, how far apart its values lie): what the gap is
            measured in.
        standard_gap: ``(value - bound) / scale`` before value and bound were rounded to numbers in
            the objective's own units, which can be coarse: 1e9 +- 1e-3. For EI,
            ``log_bound - log_value``.
        log_value: for EI, the logarithm of the expected improvement: what proposers compare, and
            what tells graphs apart where the improvement is too small for a floating-point number
            and ``value`` is 0. ``None`` for other acquisition functions.
        log_bound: for EI, no graph of the space that is not excluded has a larger logarithm.
    """

    graph: Graph
    value: float
    bound: float
    status: Status
    seconds: float
    method: str
    n_evaluations: int = 0
    claimed: float | None = None
    scale: float = 1.0
    standard_gap: float | None = None
    log_value: float | None = None
    log_bound: float | None = None

    @property
    def gap(self) -> float:
        """By how many standard deviations of the observed values another graph may be better.

        Zero if the status is ``optimal``, infinite without a bound, else ``(value - bound) /
        scale``. For EI it is ``log_bound - log_value`` instead: another graph promises at most
        ``exp(gap)`` times the improvement. It does not depend on the units of the objective.
        """
        if self.status == "optimal":
            return 0.0
        if self.standard_gap is not None:
            return self.standard_gap
        return max(0.0, self.value - self.bound) / self.scale

    def _repr_html_(self) -> str | None:
        return display.html(self)
