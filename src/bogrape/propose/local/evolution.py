"""Mutation-based search for the best acquisition value: the evolutionary baseline of graph BO.

As in NAS-BOWL (Ru et al., 2021): a population starts from random graphs and the graphs seen so far;
in each generation the best are mutated by one elementary move each, children outside the space are
dropped, and the best survive. It is kept simple on purpose; `search` is the stronger heuristic.
"""

from __future__ import annotations

import time
from itertools import islice

import numpy as np

from ...batch import Batch
from ...errors import SamplingError, SearchSpaceExhausted
from ..criterion import AnyCriterion
from ..proposal import Proposal, Request
from ..values import Elite
from .moves import MoveTable
from .search import find_any

_POPULATION = 50
_GENERATIONS = 20
_PARENTS = 10


def propose_evolve(objective: AnyCriterion, request: Request) -> Proposal:
    """The best graph found by mutation and selection, without a bound."""
    space = objective.space
    elite = Elite(request.excluded, identify=space.identity)
    rng = np.random.default_rng(request.seed)
    for n in space.sizes:
        if time.monotonic() >= request.deadline:
            break
        known = (g for g in reversed(request.exclude) if g.n_nodes == n and space.contains(g))
        start = list(islice(known, _POPULATION // 2))[::-1]
        try:
            seed, size = int(rng.integers(2**31)), _POPULATION - len(start)
            start += space.sample(size, seed=seed, n_nodes=n, deadline=request.deadline)
        except SamplingError as error:
            start += error.graphs  # those found in time
            if not start:
                continue
        moves = MoveTable.of(space, n)
        population = Batch.of(start)
        values = objective.of_batch(population)
        elite.offer(population, values)
        elite.n_evaluations += len(values)
        for _ in range(_GENERATIONS if len(moves) else 0):
            if time.monotonic() >= request.deadline:
                break
            parents = np.argsort(values, kind="stable")[:_PARENTS]
            chosen = rng.choice(parents, _POPULATION)
            mutations = rng.choice(len(moves), _POPULATION, p=moves.weights)
            children = moves.apply(population.select(chosen), mutations, rng)
            children = children.select(space.excess(children) == 0)
            if not len(children):
                continue
            found = objective.of_batch(children)
            elite.offer(children, found)
            elite.n_evaluations += len(found)
            population = population.joined(children)
            values = np.concatenate([values, found])
            best = np.argsort(values, kind="stable")[:_POPULATION]
            population, values = population.select(best), values[best]
    if not elite.ties and request.late and not find_any(objective, elite, request):
        raise request.too_late()
    if not elite.ties:
        raise SearchSpaceExhausted(
            "mutation found no graph of the space that is not excluded; widen the space, or use "
            'method="exact" to learn whether one exists'
        )
    graph = next(iter(elite.ties.values()))
    return objective.proposal(
        graph,
        objective.of_graph(graph),
        seconds=request.seconds,
        method="evolve",
        n_evaluations=elite.n_evaluations,
    )
