"""Random neighbours of graphs inside a space, for baselines that mutate.

The moves are those of BoGrape's local search (`bogrape.propose.local.moves`): edges are added,
removed and moved, labels are changed and exchanged. So baselines and BoGrape take the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bogrape.batch import Batch
from bogrape.graph import Graph
from bogrape.propose.local.moves import MoveTable
from bogrape.space import GraphSpace

_TRIES = 40  # moves drawn per requested neighbour and round
_ROUNDS = 6
_TRIED_TO_ENTER = 300  # moves tried in each step towards the space
_STEPS_TO_ENTER = 400


def neighbours(
    space: GraphSpace, parents: Sequence[Graph], k: int, rng: np.random.Generator
) -> list[Graph]:
    """Up to k graphs of the space, each a move away from a random parent; fewer if moves fail."""
    out: list[Graph] = []
    for _ in range(_ROUNDS):
        chosen = [parents[int(i)] for i in rng.integers(len(parents), size=_TRIES * k)]
        for n in sorted({graph.n_nodes for graph in chosen}):
            batch = Batch.of([graph for graph in chosen if graph.n_nodes == n])
            moves = MoveTable.of(space, n)
            if not len(moves):
                continue
            changed = moves.apply(batch, moves.draw(len(batch), rng), rng)
            inside = np.flatnonzero(space.excess(changed) == 0)
            out += [space.named(changed.graph(int(i))) for i in inside]
        if len(out) >= k:
            break
    return [out[int(i)] for i in rng.permutation(len(out))[:k]]


def brought_inside(space: GraphSpace, graph: Graph, rng: np.random.Generator) -> Graph | None:
    """A graph of the space near the given one, by steps that reduce its excess; None if stuck."""
    batch = space.derived(Batch.of([graph]))
    moves = MoveTable.of(space, graph.n_nodes)
    wrong = float(space.excess(batch)[0])
    for _ in range(_STEPS_TO_ENTER):
        if wrong == 0:
            return space.named(batch.graph(0))
        owner = np.zeros(_TRIED_TO_ENTER, dtype=np.int64)
        changed = moves.apply(batch, moves.draw(_TRIED_TO_ENTER, rng), rng, owner)
        excess = space.excess(changed)
        best = int(rng.choice(np.flatnonzero(excess == excess.min())))
        if excess[best] <= wrong:
            batch, wrong = changed.select(np.array([best])), float(excess[best])
    return None
