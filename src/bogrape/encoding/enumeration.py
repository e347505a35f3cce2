"""All graphs of a structure up to isomorphism, from the encoding the exact engine uses."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from ortools.sat.python import cp_model

from ..graph import Graph
from .graph_encoding import GraphEncoding
from .structure import Structure


class _Collector(cp_model.CpSolverSolutionCallback):
    """Keeps one graph of each isomorphism class, in canonical numbering."""

    def __init__(self, encoding: GraphEncoding, limit: int | None) -> None:
        super().__init__()
        self._encoding = encoding
        self._limit = limit
        self._seen: set[Graph] = set()
        self.found: dict[str, Graph] = {}

    def on_solution_callback(self) -> None:
        graph = self._encoding.decode(self.value)
        if graph in self._seen:
            return
        self._seen.add(graph)
        self.found.setdefault(graph.canonical_key(), graph)
        if self._limit is not None and len(self.found) >= self._limit:
            self.stop_search()


def enumerate_graphs(
    structure: Structure, limit: int | None = None, deadline: float = math.inf
) -> Iterator[Graph]:
    """Every graph of the structure once up to isomorphism, sorted by diameter, then canonical key.

    With a ``limit`` at most so many are returned, which ones is left open; so it is past the
    ``deadline`` (a `time.monotonic` value).
    """
    left = limit
    for piece in structure.by_diameter():
        if left is not None and left <= 0:
            return
        encoding = GraphEncoding(piece, unique=True)
        collector = _Collector(encoding, left)
        solver = cp_model.CpSolver()
        solver.parameters.enumerate_all_solutions = True
        solver.parameters.num_workers = 1
        if deadline < math.inf:
            solver.parameters.max_time_in_seconds = max(0.01, deadline - time.monotonic())
        solver.solve(encoding.model, collector)
        for key in sorted(collector.found):
            yield collector.found[key].canonical()
        if left is not None:
            left -= len(collector.found)
