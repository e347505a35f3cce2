"""One replication of Bayesian optimisation: an initial design, then proposals that are timed.

A replication has one seed. It determines the random parts of the problem (the weights of a random
network; the oracles of molecules have none), the initial design and all random choices of the
optimiser. All optimisers start from the same design, so that they can be compared in pairs; and
since the network changes with the seed, no result depends on a single network.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bogrape.acquisition import LCB
from bogrape.errors import EvaluationFailed
from bogrape.graph import Graph
from bogrape.problems import Problem, get_problem

from .optimisers import get_optimiser

GROWING = "growing"  # the schedule of kappa that grows with the number of proposals
# Recorded attributes of a `Choice` and their names in a record, whose "values" are objectives.
_COLUMNS = {
    "status": "status",
    "value": "acquisition",
    "bound": "bound",
    "gap": "standard_gap",
}


def replicate(
    problem: str,
    optimiser: str,
    seed: int,
    *,
    n_initial: int,
    n_iterations: int,
    time_limit: float = 600.0,
    kappa: float | str = 1.0,
    n_candidates: int = 20,
    n_evaluations: int | None = None,
) -> dict[str, Any]:
    """Run a replication; returns the values in order and the recorded data of each proposal.

    Args:
        problem: name of a problem.
        optimiser: name of an optimiser.
        seed: of everything.
        n_initial: graphs of the initial design.
        n_iterations: proposals.
        time_limit: seconds for one proposal.
        kappa: of the acquisition function; ``growing`` for the paper's schedule in the number of
            proposals made.
        n_candidates: graphs that sampling optimisers choose from.
        n_evaluations: acquisition values that BoGrape computes by local search for one proposal;
            ``None`` for a proof within the time limit.
    """
    posed = get_problem(problem, seed)
    graphs = initial_design(posed, n_initial, seed)
    outcomes = [_outcome(posed, graph) for graph in graphs]
    if all(outcome is None for outcome in outcomes):
        raise EvaluationFailed(
            f"{problem}, seed {seed}: no graph of the initial design has a value; try a larger one"
        )
    values = _filled(outcomes)
    schedule = kappa if isinstance(kappa, (int, float)) else _growing(n_initial)
    chooser = get_optimiser(
        optimiser,
        posed.space,
        kappa=schedule,
        n_candidates=n_candidates,
        n_evaluations=n_evaluations,
    )
    seconds: list[float] = []
    choices = []
    for t in range(n_iterations):
        start = time.perf_counter()
        choice = chooser.next(graphs, values, seed=stream(seed, t + 1), time_limit=time_limit)
        seconds.append(round(time.perf_counter() - start, 3))
        graphs.append(choice.graph)
        outcomes.append(_outcome(posed, choice.graph))
        values = _filled(outcomes)
        choices.append(choice)
    out: dict[str, Any] = {
        "values": values,
        "n_edges": [graph.n_edges for graph in graphs],
        "seconds": seconds,
    }
    failed = [i for i, outcome in enumerate(outcomes) if outcome is None]
    if failed:
        out["failed"] = failed
    for name, recorded in _COLUMNS.items():
        column = [getattr(choice, name) for choice in choices]
        if any(item is not None for item in column):
            out[recorded] = column
    return out


def _outcome(problem: Problem, graph: Graph) -> float | None:
    """The value of a graph; None if its evaluation fails."""
    try:
        return problem.objective(graph)
    except EvaluationFailed:
        return None


def _filled(outcomes: Sequence[float | None]) -> list[float]:
    """Values, with the worst one observed in place of those that are missing.

    All optimisers get the same values, so that a failure costs each of them an evaluation and
    teaches each of them to avoid such graphs.
    """
    worst = max(value for value in outcomes if value is not None)
    return [worst if value is None else value for value in outcomes]


def initial_design(problem: Problem, n: int, seed: int) -> list[Graph]:
    """Random graphs of the space, the same for all optimisers of a replication."""
    return problem.space.sample(n, seed=stream(seed, 0))


def stream(seed: int, step: int) -> int:
    """A separate seed for the design (step 0) and for each proposal."""
    return int(np.random.default_rng([seed, step]).integers(2**31))


def _growing(n_initial: int) -> Any:
    def kappa(n_observations: int) -> float:
        return LCB.growing(n_observations - n_initial).kappa

    return kappa
