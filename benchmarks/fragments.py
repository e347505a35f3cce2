"""Counts of fragments: the features of the Tanimoto process and the random forest.

For a molecule, Morgan's fragments of radius up to 3; for any other graph, labels and, for each pair
of labels and each distance, the number of pairs of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bogrape.arrays import FloatArray
from bogrape.counts import count
from bogrape.graph import Graph
from bogrape.space import GraphSpace

Fragments = Mapping[int, int]
_FOLDED = 1024  # columns of a table for the forest


def fragments(space: GraphSpace, graphs: Sequence[Graph]) -> list[Fragments]:
    """The counts of each graph, keyed by fragment; every fragment has a number."""
    if space.domain is not None and space.domain.name == "molecules":
        from bogrape.molecules.fingerprints import morgan_counts

        return [morgan_counts(graph) for graph in graphs]
    counted = count(list(graphs), space.n_labels, pairs=True)
    assert counted.pairs is not None
    table = counted.pairs.reshape(len(graphs), -1)
    # the number of a length and two labels does not depend on how many lengths occur here
    return [{int(at): int(own[at]) for at in np.flatnonzero(own)} for own in table]


def min_max(left: Sequence[Fragments], right: Sequence[Fragments]) -> FloatArray:
    """The MinMax (Tanimoto) kernel: sum of smaller counts over sum of larger ones.

    >>> min_max([{1: 2, 2: 1}], [{1: 1}, {1: 2, 2: 1}, {}])
    array([[0.33333333, 1.        , 0.        ]])
    """
    names = sorted({name for some in (*left, *right) for name in some})
    place = {name: i for i, name in enumerate(names)}
    a, b = _table(left, place), _table(right, place)
    smaller = np.array([np.minimum(row, b).sum(axis=1) for row in a]).reshape(len(a), len(b))
    total = a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :] - smaller
    shared = np.divide(smaller, total, out=np.ones_like(smaller), where=total > 0)
    return np.asarray(shared)


def _table(counts: Sequence[Fragments], place: Mapping[int, int]) -> FloatArray:
    out = np.zeros((len(counts), len(place)))
    for row, own in enumerate(counts):
        for name, number in own.items():
            out[row, place[name]] = number
    return out


def folded(counts: Sequence[Fragments]) -> FloatArray:
    """A table with a fixed number of columns; fragments that share one are added up."""
    out = np.zeros((len(counts), _FOLDED))
    for row, own in enumerate(counts):
        for name, number in own.items():
            out[row, name % _FOLDED] += number
    return out
