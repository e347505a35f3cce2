"""`Planner`: from the trials so far to the next graph. It stores nothing but caches."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ..errors import SamplingError
from ..gp import GraphGP
from ..graph import Graph
from ..propose import Proposal, propose
from .design import Design, random_graph
from .settings import StudySettings
from .trial import Origin, Trial, observed

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """The next graph and where it comes from."""

    graph: Graph
    origin: Origin
    certificate: Mapping[str, Any] = field(default_factory=dict)
    hyperparameters: Mapping[str, float] = field(default_factory=dict)


@final
class Planner:
    """Initial design, then proposals. The same trials and seed give the same plan."""

    def __init__(self, settings: StudySettings) -> None:
        self._settings = settings
        self._design: Design | None = None
        self._fitted: tuple[tuple[int, ...], GraphGP, float] | None = None

    def next(self, trials: Sequence[Trial], seed: int, rank: int = 0) -> Plan:
        """What to try after these trials; from the initial design, the one at this rank."""
        settings = self._settings
        complete = [trial for trial in trials if trial.state == "complete"]
        if sum(trial.state != "failed" for trial in trials) < settings.n_initial:
            graph = self._initial([trial.graph for trial in trials], rank)
            if graph is not None:
                return Plan(graph, "initial")
        if len(complete) < 2:
            return Plan(random_graph(settings.space, seed, _keys(trials)), "random")
        gp, fit_seconds = self._fit(complete)
        step = sum(trial.origin == "proposal" for trial in trials)
        try:
            proposal = propose(
                settings.space,
                gp,
                acquisition=settings.acquisition_at(step),
                method=settings.method,
                time_limit=settings.time_limit,
                exclude=[trial.graph for trial in trials if trial.is_finished],
                pending=[trial.graph for trial in trials if not trial.is_finished],
                seed=seed,
            )
        except SamplingError as error:  # too few graphs are left to choose among: take any
            logger.info("%s", error)
            return Plan(random_graph(settings.space, seed, _keys(trials)), "random")
        certificate = {**_certificate(proposal, settings.sign), "fit_seconds": fit_seconds}
        return Plan(proposal.graph, "proposal", certificate, gp.hyperparameters)

    def must_propose(self, trials: Sequence[Trial]) -> bool:
        """Whether the next graph after these trials takes a fit and a proposal."""
        states = [trial.state for trial in trials]
        designed = len(states) - states.count("failed") >= self._settings.n_initial
        return designed and "queued" not in states and states.count("complete") >= 2

    def _initial(self, present: list[Graph], rank: int) -> Graph | None:
        if self._design is None:
            settings = self._settings
            self._design = Design(
                settings.space, settings.kernel, settings.n_initial, settings.seed
            )
        return self._design.next(present, rank)

    def _fit(self, complete: Sequence[Trial]) -> tuple[GraphGP, float]:
        """The Gaussian process of these observations; kept until there are new ones."""
        ids = tuple(trial.id for trial in complete)
        if self._fitted is None or self._fitted[0] != ids:
            start = time.monotonic()
            settings = self._settings
            gp = GraphGP(
                kernel=settings.kernel,
                noise=settings.noise,
                n_labels=settings.space.n_labels,
                seed=settings.seed,
            )
            y = settings.sign * np.array(observed(complete))
            gp.fit([trial.graph for trial in complete], y)
            self._fitted = ids, gp, time.monotonic() - start
        return self._fitted[1], self._fitted[2]


def _keys(trials: Sequence[Trial]) -> set[str]:
    return {trial.graph.canonical_key() for trial in trials}


def _certificate(proposal: Proposal, sign: float) -> dict[str, Any]:
    """What is known about the proposal, in the user's units and as JSON can hold it."""
    return {
        "value": sign * proposal.value,
        "bound": sign * proposal.bound if np.isfinite(proposal.bound) else None,
        "gap": float(proposal.gap) if np.isfinite(proposal.gap) else None,
        "status": proposal.status,
        "seconds": proposal.seconds,
        "method": proposal.method,
        "n_evaluations": proposal.n_evaluations,
    }
