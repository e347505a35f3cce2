"""Best of k random graphs: the simplest proposer, and a baseline of the paper."""

from __future__ import annotations

import time

import numpy as np

from ..batch import Batch
from .objective import Objective
from .proposal import Proposal
from .request import Request

_SAMPLES = 20  # as in the paper's RW-rand and WL-rand


def propose_sample(objective: Objective, request: Request) -> Proposal:
    """The best acquisition value among random graphs of the space that are not excluded."""
    start = time.monotonic()
    graphs = objective.space.sample(
        _SAMPLES, seed=request.seed, distinct=True, exclude=request.excluded
    )
    values = [float(objective.of_batch(Batch.of([graph]))[0]) for graph in graphs]
    best = int(np.argmin(values))
    seconds = time.monotonic() - start
    return objective.proposal(
        graphs[best],
        values[best],
        seconds=seconds,
        method="sample",
        n_evaluations=len(graphs),
    )
