"""Cached answers of rules that check one graph at a time.

Local search visits the same graphs repeatedly, and a check in Python, for instance with networkx,
takes longer than all other computations on a graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

import numpy as np

from ..arrays import FloatArray
from ..batch import Batch
from ..graph import Graph

_MOST_RULES = 16
_MOST_ANSWERS = 200_000  # per rule, about 200 bytes each

_answers: OrderedDict[Hashable, dict[Hashable, float]] = OrderedDict()


def excess_of(rule: Hashable, holds: Callable[[Graph], bool], batch: Batch) -> FloatArray:
    """0.0 for each graph for which the rule holds, else 1.0."""
    known = _answers.setdefault(rule, {})
    _answers.move_to_end(rule)
    while len(_answers) > _MOST_RULES:
        _answers.popitem(last=False)
    if len(known) + len(batch) > _MOST_ANSWERS:
        known.clear()
    out = np.empty(len(batch))
    for i in range(len(batch)):
        key = _key(batch, i)
        if key not in known:
            known[key] = 0.0 if holds(batch.graph(i)) else 1.0
        out[i] = known[key]
    return out


def _key(batch: Batch, i: int) -> Hashable:
    labels = None if batch.edge_labels is None else batch.edge_labels[i].tobytes()
    parts = (batch.adjacency[i], batch.labels[i], batch.features[i])
    return (batch.directed, labels, *(part.tobytes() for part in parts))
