"""Final check of every proposal before `propose` returns it.

It relies on nothing but the proposal itself. The graph must be in the space and neither excluded
nor pending, its value is recomputed, and value, bound, status, gap and method must be consistent
with one another and with the request. That no graph is better than the bound cannot be checked
completely, but known graphs can refute a bound that is too high: the neighbours of the proposed
graph, starts that are not excluded, and a few random graphs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NoReturn, get_args

import numpy as np

from ..batch import Batch
from ..errors import BoGrapeError, EngineError, SamplingError
from ..graph import Graph
from .criterion import AnyCriterion, Criterion
from .graph_criterion import GraphCriterion
from .local.moves import MoveTable
from .proposal import Proposal, Request, Status
from .values import RECOMPUTED, LogUnits, room

HEURISTICS = ("search", "sample", "evolve")  # methods that prove nothing

_MOST_WITNESSES = 512  # of each kind
_WITNESS_WORK = 2_000_000  # nodes cubed, over all witnesses of a kind: a few milliseconds
_FEWEST = 16  # with fewer it is not worthwhile
_SAMPLES = 16
_SAMPLE_SECONDS = 0.1
_SOLVERS_OWN = 1e-6  # default tolerance of the solvers of ``mip``


def recheck(proposal: Proposal, objective: AnyCriterion, request: Request, asked: str) -> None:
    """Raise an `EngineError` that names the inconsistency, if there is one.

    Args:
        proposal: the proposal to check.
        objective: the criterion that was minimised.
        request: its request.
        asked: the requested method.
    """
    _Recheck(proposal, objective, request, asked).run()


class _Recheck:
    """The checks of one proposal, in standardised units where numbers are compared."""

    def __init__(
        self, proposal: Proposal, objective: AnyCriterion, request: Request, asked: str
    ) -> None:
        self.proposal = proposal
        self.objective = objective
        self.request = request
        self.asked = asked

    def run(self) -> None:
        if not isinstance(self.proposal, Proposal) or not isinstance(self.proposal.graph, Graph):
            self._broken("a Proposal of a Graph", f"{self.proposal!r:.200}")
        self._check_graph()
        standard = self._check_value()
        self._check_bound()
        self._check_status()
        self._check_gap()
        self._check_method()
        if math.isfinite(self.proposal.bound):
            self._check_witnesses(standard)

    def _broken(self, promise: str, found: str) -> NoReturn:
        raise EngineError(
            f"method {self.asked!r} must return {promise}, but returned {found}; please report this"
        )

    # -- the graph ------------------------------------------------------------------------------

    def _check_graph(self) -> None:
        graph, space = self.proposal.graph, self.objective.space
        try:
            violations = space.violations(graph)
        except BoGrapeError as error:  # not comparable with graphs of the space
            violations = [str(error)]
        if violations:
            self._broken("a graph of the space", f"one that breaks {'; '.join(violations)}")
        if space.identity(graph) in self.request.excluded:
            self._broken("a new graph", "one that is excluded or pending")

    # -- the numbers ----------------------------------------------------------------------------

    def _check_value(self) -> float:
        """Check the value; returns it as computed here, in standardised units."""
        claimed, units = self.proposal.value, self.objective.units
        if isinstance(plain := self.objective.unweighted, GraphCriterion):
            plain.check_numbering([self.proposal.graph])
        standard = self.objective.of_graph(self.proposal.graph)
        value = units.value(standard)
        near = (room(RECOMPUTED, standard) + units.rounding(value)) * units.scale
        if isinstance(units, LogUnits):
            self._check_logs(units, standard)
        elif not (claimed == value or abs(claimed - value) <= near):
            self._broken(f"the value of its graph, {value:.17g}", f"{claimed:.17g}")
        if self.proposal.scale != units.scale:
            self._broken(f"the scale {units.scale:.17g}", f"{self.proposal.scale:.17g}")
        return standard

    def _check_logs(self, units: LogUnits, standard: float) -> None:
        """For EI: check the logarithm of the value, and that both agree with the numbers."""
        proposal = self.proposal
        if proposal.log_value is None or proposal.log_bound is None:
            self._broken("logarithms of value and bound", f"{proposal!r:.300}")
        if not abs(units.of_log(proposal.log_value) - standard) <= room(RECOMPUTED, standard):
            self._broken(
                f"the logarithm of the value of its graph, {units.log(standard):.17g}",
                f"{proposal.log_value:.17g}",
            )
        for number, log in (
            (proposal.value, proposal.log_value),
            (proposal.bound, proposal.log_bound),
        ):
            of_log = units.value(units.of_log(log))
            if not (number == of_log or math.isclose(number, of_log, rel_tol=RECOMPUTED)):
                self._broken(f"minus the number with the logarithm {log:.17g}", f"{number:.17g}")

    def _check_bound(self) -> None:
        value, bound = self.proposal.value, self.proposal.bound
        if not (bound <= value and self._standard_gap >= 0):  # also raised for NaN
            self._broken(f"a bound that is not above the value {value:.17g}", f"{bound:.17g}")

    @property
    def _standard(self) -> tuple[float, float]:
        """Value and bound, as reported."""
        proposal, units = self.proposal, self.objective.units
        if isinstance(units, LogUnits) and proposal.log_value is not None:
            assert proposal.log_bound is not None
            return units.of_log(proposal.log_value), units.of_log(proposal.log_bound)
        return units.standard(proposal.value), units.standard(proposal.bound)

    @property
    def _standard_gap(self) -> float:
        """Difference of value and bound, as reported."""
        if isinstance(self.objective.units, LogUnits):
            value, bound = self._standard
            return value - bound
        value, bound = self.proposal.value, self.proposal.bound
        return (value - bound) / self.objective.units.scale if value != bound else 0.0

    @property
    def _rounding(self) -> float:
        units = self.objective.units
        if isinstance(units, LogUnits):
            return sum(8 * math.ulp(number) for number in self._standard)
        return units.rounding(self.proposal.value) + units.rounding(self.proposal.bound)

    def _tolerance(self, standard: float) -> float:
        """Allowed error of a proved bound: rounding, or the tolerance of a solver."""
        near = room(RECOMPUTED, standard)
        if self.asked == "mip" and isinstance(self.objective, Criterion):
            told = (self.request.options or {}).get("tolerance") or 0.0
            near += self.objective.error_of_solver(max(_SOLVERS_OWN, told))
        return near

    # -- the claims -----------------------------------------------------------------------------

    def _check_status(self) -> None:
        proposal = self.proposal
        if proposal.status not in get_args(Status):
            self._broken(f"one of {', '.join(get_args(Status))}", f"the status {proposal.status!r}")
        if proposal.status == "heuristic":
            if proposal.bound != -math.inf:
                self._broken(
                    "no bound with the status 'heuristic'", f"the bound {proposal.bound:.17g}"
                )
            return
        if self.asked in HEURISTICS:
            self._broken("the status 'heuristic'", repr(proposal.status))
        if proposal.status == "optimal":
            if not math.isfinite(proposal.bound):
                self._broken(
                    "a finite bound with the status 'optimal'", f"the bound {proposal.bound}"
                )
            standard, _ = self._standard
            if self._standard_gap > self._tolerance(standard) + self._rounding:
                self._broken(
                    "a bound that meets the value with the status 'optimal'",
                    f"the value {proposal.value:.17g} and the bound {proposal.bound:.17g}",
                )

    def _check_gap(self) -> None:
        """Check the gap in deviations, which is more accurate than value minus bound."""
        claimed, gap = self.proposal.standard_gap, self._standard_gap
        if claimed is None or claimed == gap or not math.isfinite(self.proposal.value):
            return
        near = room(RECOMPUTED, gap) + self._rounding if math.isfinite(gap) else 0.0
        if not abs(claimed - gap) <= near:
            self._broken(f"the gap between its value and bound, {gap:.17g}", f"{claimed:.17g}")

    def _check_method(self) -> None:
        method = self.proposal.method
        if not isinstance(method, str) or not method:
            self._broken("a non-empty text as its method", repr(method))
        if self.asked in HEURISTICS and method != self.asked:
            self._broken(f"{self.asked!r} as its method", repr(method))
        if self.proposal.status != "heuristic" and method in HEURISTICS:
            self._broken("a method that includes a proof", repr(method))

    # -- witnesses against the bound ------------------------------------------------------------

    def _check_witnesses(self, standard: float) -> None:
        units, space = self.objective.units, self.objective.space
        _, bound = self._standard
        near = self._tolerance(standard) + self._rounding
        for batch in self._witnesses():
            values = np.where(space.excess(batch) == 0, self.objective.of_batch(batch), np.inf)
            for i in np.flatnonzero(values < bound - near):
                graph = batch.graph(int(i))
                if space.contains(graph) and space.identity(graph) not in self.request.excluded:
                    self._broken(
                        "a bound on all graphs that are not excluded",
                        f"the bound {self.proposal.bound:.17g}, although there is a graph of value "
                        f"{units.value(float(values[i])):.17g} ({graph.to_json():.300})",
                    )

    def _witnesses(self) -> Iterator[Batch]:
        """Batches of graphs that are cheap to find, most of them in the space."""
        space, request = self.objective.space, self.request
        n = self.proposal.graph.n_nodes
        rng = np.random.default_rng(request.seed)
        if self._most(n) and len(moves := MoveTable.of(space, n)):
            index = np.arange(len(moves))
            if len(moves) > self._most(n):
                index = rng.choice(index, self._most(n), replace=False)
            start = Batch.of([self.proposal.graph])
            yield moves.apply(start, index, rng, np.zeros(len(index), dtype=np.int64))
        taken = set(map(id, request.exclude))  # starts are taken from these by default
        known = [graph for graph in request.starts if id(graph) not in taken][:_MOST_WITNESSES]
        known = [graph for graph in known if self._most(graph.n_nodes) and space.contains(graph)]
        if all(map(self._most, space.sizes)) and not request.late:
            known += self._sample()
        for size in sorted({graph.n_nodes for graph in known}):
            yield Batch.of([graph for graph in known if graph.n_nodes == size])

    def _sample(self) -> list[Graph]:
        until = time.monotonic() + _SAMPLE_SECONDS
        try:
            return self.objective.space.sample(_SAMPLES, seed=self.request.seed, deadline=until)
        except SamplingError as error:
            return list(error.graphs)  # those found in time

    @staticmethod
    def _most(n: int) -> int:
        """Number of witnesses of a kind with n nodes; 0 if they would take too long."""
        number = min(_MOST_WITNESSES, _WITNESS_WORK // n**3)
        return number if number >= _FEWEST else 0
