"""All graphs of a small structure, in batches: the last resort if nothing else bounds the values.

The solver lists the bare graphs up to isomorphism (`bogrape.encoding.enumeration`); numpy then adds
every choice of labels and features to each. Batches may hold graphs outside the space, because the
listing applies only rules on bare graphs: the caller has to filter them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from ....batch import Batch
from ....constraints.rows import HasFeature, HasLabel
from ....encoding import Structure
from ....encoding.enumeration import enumerate_graphs
from ....graph import Graph

_FEW = 50_000  # graphs, estimated as numbered graphs divided by numberings
_MOST_NODES = 8
_MOST_DRESSES = 100_000  # ways to put labels and features on one graph
_CHUNK = 20_000


class TooManyGraphs(Exception):
    """The graphs cannot be listed in time, or at all."""


def few_graphs(structure: Structure) -> bool:
    """True if enumeration is estimated to be fastest."""
    return log_graphs(structure) < math.log(_FEW)


def log_graphs(structure: Structure) -> float:
    """Logarithm of a rough estimate of the number of graphs; infinite if they cannot be listed."""
    shape = structure.shape
    if shape.n_nodes > _MOST_NODES:
        return math.inf
    n_pairs = shape.n_nodes * (shape.n_nodes - 1) // (1 if shape.directed else 2)
    kinds = math.log(shape.n_labels) + shape.n_features * math.log(2)
    per_pair = math.log(1 + max(1, shape.n_edge_labels))  # no edge, or one of each label
    numbered = n_pairs * per_pair + shape.n_nodes * kinds
    return numbered - math.lgamma(shape.n_nodes + 1)


def all_graphs(structure: Structure, deadline: float) -> Iterator[Batch]:
    """Batches that hold every graph of the structure up to isomorphism, and perhaps more."""
    if structure.shape.n_nodes > _MOST_NODES:
        raise TooManyGraphs
    batches = _dressed_graphs(structure, deadline)
    derived = any(rule.derives_features for rule in structure.rules)
    if derived or not structure.all_alike:
        # derived features have one choice, not 2**bits, and rules that name nodes distinguish
        # isomorphic graphs: list graphs with their attributes
        batches = (Batch.of([graph]) for graph in enumerate_graphs(structure, deadline=deadline))
    try:
        for batch in batches:
            if time.monotonic() > deadline:
                raise TooManyGraphs
            yield batch
    except TimeoutError:
        raise TooManyGraphs from None


def _dressed_graphs(structure: Structure, deadline: float) -> Iterator[Batch]:
    shape = structure.shape
    n_dresses = shape.n_labels**shape.n_nodes * 2 ** (shape.n_nodes * shape.n_features)
    if n_dresses > _MOST_DRESSES:
        raise TooManyGraphs
    labels = np.array(list(product(range(shape.n_labels), repeat=shape.n_nodes)), dtype=np.int64)
    bits = shape.n_nodes * shape.n_features
    features = np.array(list(product((False, True), repeat=bits)), dtype=bool).reshape(
        2**bits, shape.n_nodes, shape.n_features
    )
    for graph in enumerate_graphs(_bare(structure), deadline=deadline):
        for start in range(0, n_dresses, _CHUNK):
            index = np.arange(start, min(start + _CHUNK, n_dresses))
            yield _dressed(graph, labels[index // len(features)], features[index % len(features)])


def _bare(structure: Structure) -> Structure:
    """The structure without attributes, with only those of its rules that do not mention them."""
    kept = []
    for rule in structure.rules:
        if not rule.encoded:
            continue  # it may depend on attributes; the caller checks the complete graphs
        rows = list(rule.rows(structure.shape))
        atoms = [atom for row in rows for atom, _ in (*row.terms, *row.when)]
        if not any(isinstance(atom, (HasLabel, HasFeature)) for atom in atoms):
            kept.append(rule)
    shape = replace(structure.shape, n_labels=1, n_features=0)
    return replace(structure, shape=shape, rules=tuple(kept))


def _dressed(graph: Graph, labels: np.ndarray, features: np.ndarray) -> Batch:
    size = len(labels)
    edge_labels = graph.edge_labels
    return Batch(
        np.repeat(graph.adjacency[None], size, axis=0),
        labels,
        features,
        None if edge_labels is None else np.repeat(edge_labels[None], size, axis=0),
        graph.directed,
    )
