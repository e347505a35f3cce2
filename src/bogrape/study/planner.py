"""`Planner`: chooses the next graph, given the trials so far. It stores only caches."""

from __future__ import annotations

import heapq
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ..acquisition import LCB
from ..arrays import FloatArray
from ..errors import SamplingError, SearchSpaceExhausted, StudyError
from ..gp import GraphGP
from ..graph import Graph
from ..left_out import FEWEST, Inverse, LeaveOneOut
from ..propose import MOST_STARTS, Proposal, Stage, propose
from ..propose.proposal import Status
from ..space import GraphSpace
from ..success import SuccessModel
from ..surrogate import FittedSurrogate
from ..trial import Origin, Trial, observed
from .certificates import certificate_of, gains_of, success_of
from .design import Design, random_graph
from .failures import FEWEST_FAILURES, FEWEST_SUCCESSES, Failures
from .limits import limits_of
from .models import AnyModel, Models
from .regret import RegretBound, kappa_of
from .replicates import Repeat, best_repeat
from .settings import StudySettings
from .several import front_of

logger = logging.getLogger(__name__)

_LEAST_SECONDS = 0.05  # for a proposal whose time went into the fit
_DESIGN_SHARE = 0.5  # of the limit, at most, to sample the pool of the initial design
_LAST_SECONDS = 0.7  # beyond the limit, to find any graph at all


@dataclass(frozen=True)
class Plan:
    """The next graph and where it comes from."""

    graph: Graph
    origin: Origin
    certificate: Mapping[str, Any] = field(default_factory=dict)
    hyperparameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """Time limit of one plan, and the observer of its progress (see `propose`)."""

    time_limit: float
    stop: Callable[[], bool] | None = None
    watch: Callable[[Stage], None] | None = None
    client: Any = None  # of a Dask cluster


@final
class Planner:
    """Initial design, then proposals. The same trials and seed give the same plan.

    With ``within``, only graphs of that part of the study's space are planned. The model, and the
    observations to improve on, are those of the whole space.
    """

    def __init__(self, settings: StudySettings, within: GraphSpace | None = None) -> None:
        self.settings = settings
        self.space = settings.space if within is None else within
        self._design: Design | None = None
        self.models = Models(settings)
        self._failures = Failures(settings)

    def next(
        self, trials: Sequence[Trial], seed: int, rank: int = 0, effort: Effort | None = None
    ) -> Plan:
        """The next graph after these trials; from the initial design, the one at this rank."""
        return self.several(trials, seed, rank, effort)[0]

    def several(
        self,
        trials: Sequence[Trial],
        seed: int,
        rank: int = 0,
        effort: Effort | None = None,
        n: int = 1,
    ) -> list[Plan]:
        """The next graphs, up to ``n`` at once; only one if no proposal is needed to find it."""
        settings = self.settings
        effort = effort or Effort(settings.time_limit)
        deadline = time.monotonic() + effort.time_limit
        complete = [trial for trial in trials if trial.state == "complete"]
        if sum(trial.state != "failed" for trial in trials) < settings.n_initial:
            try:
                graph = self._initial([trial.graph for trial in trials], rank, deadline)
            except SamplingError as error:
                if not error.out_of_time:
                    raise
                return [self._random(trials, seed, deadline)]
            if graph is not None:
                return [Plan(graph, "initial")]
        if not self.models.can_model(complete):
            return [self._random(trials, seed, deadline)]
        fit_began = time.monotonic()
        model = self.models.of(complete)
        success = self._failures.model(trials)
        fit_seconds = time.monotonic() - fit_began
        step = sum(trial.origin == "proposal" for trial in trials)
        try:
            found = propose(
                self.space,
                model if success is None else self._failures.believed(model, trials),
                n=n,
                acquisition=settings.acquisition_at(step),
                method=settings.method,
                solver=settings.solver,
                options=settings.options,
                chances=() if success is None else (success,),
                time_limit=max(_LEAST_SECONDS, deadline - time.monotonic()),
                exclude=[trial.graph for trial in trials if trial.is_finished],
                pending=[trial.graph for trial in trials if not trial.is_finished],
                starts=self._starts(trials),
                n_evaluations=settings.n_evaluations,
                seed=seed,
                stop=effort.stop,
                watch=effort.watch,
                client=effort.client,
            )
        except (SamplingError, SearchSpaceExhausted) as error:
            final = isinstance(error, SearchSpaceExhausted) or error.out_of_time
            stopped = effort.stop is not None and effort.stop()
            found = list(error.proposals)
            if not found and (final or stopped):
                raise
            if not found:  # too few graphs are left to choose among: take any
                logger.debug("%s", error)
                return [self._random(trials, seed, deadline)]
        n_used = max((len(gp.used) for gp in self.models.gps(model)), default=len(complete))
        hyperparameters, plans = self.models.hyperparameters(model), list[Plan]()
        proposals = [found] if isinstance(found, Proposal) else found
        repeat = self._repeat(model, trials, complete, proposals[0].graph, success)
        known = {**self.models.suspicious_ids(model, complete), "n_observations": len(complete)}
        predictions = self.models.predictions(model, [proposal.graph for proposal in proposals])
        for proposal, prediction in zip(proposals, predictions, strict=True):
            certificate = {
                **certificate_of(proposal, settings.sign),
                **success_of(success, proposal.graph),
                **(gains_of(repeat) if not plans else {}),
                **prediction,
                **known,
                "fit_seconds": 0.0 if plans else fit_seconds,
                "n_used": n_used,
            }
            plans.append(Plan(proposal.graph, "proposal", certificate, hyperparameters))
        if repeat is not None and repeat.is_better:  # instead of the first
            graph = complete[repeat.position].graph
            (prediction,) = self.models.predictions(model, [graph])
            again = {**gains_of(repeat), **prediction, **known, "fit_seconds": fit_seconds}
            plans[0] = Plan(graph, "repeat", {**again, "n_used": n_used}, hyperparameters)
        return plans

    def _repeat(
        self,
        model: AnyModel,
        trials: Sequence[Trial],
        complete: Sequence[Trial],
        graph: Graph,
        success: SuccessModel | None,
    ) -> Repeat | None:
        """Value of measuring one of these graphs again, except those under evaluation."""
        if not self.settings.replicates or not isinstance(model, GraphGP):
            return None
        identify = self.settings.space.identity
        taken = {identify(trial.graph) for trial in trials if not trial.is_finished}
        candidates = []
        for trial, inside in zip(complete, self.models.are_inside(complete), strict=True):
            key = identify(trial.graph)
            candidates.append(inside and key not in taken and self.space.contains(trial.graph))
            taken.add(key)
        noises = [trial.noise for trial in complete if trial.noise]
        known = float(np.median(noises)) if noises else 0.0
        chance = 1.0 if success is None else float(success.probability([graph])[0])
        return best_repeat(model, graph, candidates, known_noise=known, success=chance)

    def _starts(self, trials: Sequence[Trial]) -> list[Graph] | None:
        """Starts of local search: the best and the latest trials; ``None`` if all may be used."""
        if len(trials) <= MOST_STARTS:
            return None
        half, sign = MOST_STARTS // 2, self.settings.sign
        if (goals := self.settings.goals) is not None and goals.is_pareto:
            front = front_of(goals, trials, self.settings.space.identity)
            chosen = {trial.id: trial.graph for trial, _ in front[:half]}
            return list({**chosen, **{t.id: t.graph for t in trials[-half:]}}.values())
        known = ((sign * t.value, t.id, t) for t in trials if t.value is not None)
        best = [trial for _, _, trial in heapq.nsmallest(half, known)]
        chosen = {trial.id: trial.graph for trial in (*best, *trials[-half:])}
        return list(chosen.values())

    def _identities(self, trials: Sequence[Trial]) -> set[str]:
        return {self.settings.space.identity(trial.graph) for trial in trials}

    def must_propose(self, trials: Sequence[Trial]) -> bool:
        """True if the next graph after these trials requires a fit and a proposal."""
        states = [trial.state for trial in trials]
        designed = len(states) - states.count("failed") >= self.settings.n_initial
        complete = [trial for trial in trials if trial.state == "complete"]
        return designed and "queued" not in states and self.models.can_model(complete)

    def _initial(self, present: list[Graph], rank: int, deadline: float) -> Graph | None:
        if self._design is None:
            settings, now = self.settings, time.monotonic()
            until = now + _DESIGN_SHARE * (deadline - now)
            self._design = Design(
                self.space, settings.kernel, settings.n_initial, settings.seed, until
            )
        return self._design.next(present, rank)

    def _random(self, trials: Sequence[Trial], seed: int, deadline: float) -> Plan:
        """Any new graph; after the deadline, one that can be found quickly."""
        until = max(deadline, time.monotonic() + _LAST_SECONDS)
        identities = self._identities(trials)
        return Plan(random_graph(self.space, seed, identities, until), "random")

    def predict_success(self, trials: Sequence[Trial], graphs: Sequence[Graph]) -> FloatArray:
        """The probability that each graph can be evaluated."""
        model = self._failures.model(trials)
        if model is None:
            outcomes = [trial.succeeded for trial in trials]
            raise StudyError(
                f"a probability of success needs {FEWEST_FAILURES} failed evaluations, "
                f"{FEWEST_SUCCESSES} successful ones and failures='learn'; the study has "
                f"{outcomes.count(False)} and {outcomes.count(True)}, with "
                f"failures={self.settings.failures!r}"
            )
        return model.probability(graphs)

    def regret_bound(
        self,
        trials: Sequence[Trial],
        confidence: float,
        n_graphs: int,
        effort: Effort,
    ) -> RegretBound:
        """Bound on the improvement of any graph of the space on the best observed graph."""
        settings = self.settings
        kappa_of(confidence, n_graphs)  # refuses what is no confidence
        if settings.goals is not None:
            raise StudyError(
                "a regret bound is defined for a single value, and this study has several "
                "properties; study.hypervolume measures the progress of a front"
            )
        complete = [trial for trial in trials if trial.state == "complete"]
        inside = np.flatnonzero(self.models.are_inside(complete))
        if len(complete) < 2 or not len(inside):
            raise StudyError(
                "a regret bound needs two complete trials, one of them in the space; the study "
                f"has {len(complete)}, {len(inside)} of them in the space: tell more values"
            )
        deadline = time.monotonic() + effort.time_limit
        model = self.models.single(complete)
        n_used, left_out = None, None
        if isinstance(model, GraphGP):
            n_used = len(model.used)
            if n_used >= FEWEST:
                left_out = LeaveOneOut.of(Inverse(model.posterior.model))
        kappa = kappa_of(confidence, n_graphs, n_used)
        widening = 1.0 if left_out is None else left_out.widening
        values = settings.sign * np.array(observed(complete))
        keys = [settings.space.identity(trial.graph) for trial in complete]
        limits = limits_of(model, complete, values, keys, kappa * widening)
        best = int(inside[limits.upper[inside].argmin()])
        bound, status = self._least_lcb(model, trials, kappa * widening, deadline, effort)
        bound -= kappa * widening * limits.beyond  # sqrt(std^2 + beyond^2) <= std + beyond
        upper, space = float(limits.upper[best]), min(float(limits.lower[inside].min()), bound)
        return RegretBound(
            value=upper - space,
            confidence=float(confidence),
            kappa=kappa,
            widening=widening,
            trial=complete[best].id,
            observed=settings.sign * upper,
            space=settings.sign * space,
            status=status,
            n_observations=len(complete),
            coverage=None if left_out is None else left_out.inside,
            calibrated=None if left_out is None else not left_out.too_narrow,
            noise=_noise_of(model),
            noise_of=limits.noise_of,
        )

    def _least_lcb(
        self,
        model: GraphGP | FittedSurrogate,
        trials: Sequence[Trial],
        kappa: float,
        deadline: float,
        effort: Effort,
    ) -> tuple[float, Status]:
        """A proved bound on the lower limits of all graphs that can still be evaluated."""
        settings = self.settings
        tried = [trial.graph for trial in trials if trial.is_finished]
        try:
            proposal = propose(
                settings.space,
                model,
                acquisition=LCB(kappa),
                method="mip" if settings.method == "mip" else "auto",
                solver=settings.solver,
                options=settings.options,
                time_limit=max(_LEAST_SECONDS, deadline - time.monotonic()),
                exclude=tried,
                starts=self._starts(trials),
                n_evaluations=settings.n_evaluations,
                seed=settings.seed,
                stop=effort.stop,
                watch=effort.watch,
                client=effort.client,
            )
        except SearchSpaceExhausted:
            return math.inf, "optimal"  # there are no graphs besides the observed ones
        except SamplingError:  # no graph was found in time: there may be some
            return -math.inf, "heuristic"
        return float(proposal.bound), proposal.status


def _noise_of(model: GraphGP | FittedSurrogate) -> float | None:
    """Standard deviation of the noise that all observations share, in the user's units."""
    if not isinstance(model, GraphGP):
        return None
    return float(np.sqrt(model.hyperparameters["noise"]) * model.posterior.model.y_scale)
