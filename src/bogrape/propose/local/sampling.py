"""Best of k random graphs: the simplest proposer, and a baseline of the paper."""

from __future__ import annotations

import numpy as np

from ...batch import Batch
from ...errors import SamplingError
from ...graph import Graph
from ..criterion import AnyCriterion
from ..proposal import Proposal, Request
from ..values import Elite
from .search import find_any

_SAMPLES = 20  # as in the paper's RW-rand and WL-rand


def propose_sample(objective: AnyCriterion, request: Request) -> Proposal:
    """The graph with the best value among random graphs of the space, excluded ones left out."""
    try:
        graphs = objective.space.sample(
            _SAMPLES,
            seed=request.seed,
            distinct=True,
            exclude=request.excluded,
            deadline=request.deadline,
        )
    except SamplingError as error:
        if not error.out_of_time:
            raise
        graphs = list(error.graphs) or _one_graph(objective, request)
    values = [float(objective.of_batch(Batch.of([graph]))[0]) for graph in graphs]
    best = int(np.argmin(values))
    return objective.proposal(
        graphs[best],
        values[best],
        seconds=request.seconds,
        method="sample",
        n_evaluations=len(graphs),
    )


def _one_graph(objective: AnyCriterion, request: Request) -> list[Graph]:
    """A single graph, if there was no time for several."""
    elite = Elite(request.excluded, identify=objective.space.identity)
    if not find_any(objective, elite, request) or not elite.ties:
        raise request.too_late()
    return list(elite.ties.values())
