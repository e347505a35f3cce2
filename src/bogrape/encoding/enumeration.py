"""All different graphs of a structure, from the encoding the exact engine uses."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from ortools.sat.python import cp_model

from ..graph import Graph
from .graph_encoding import GraphEncoding
from .structure import Structure


class _Collector(cp_model.CpSolverSolutionCallback):
    """Keeps one graph of each identity."""

    def __init__(self, encoding: GraphEncoding, limit: int | None, known: set[str]) -> None:
        super().__init__()
        self._encoding = encoding
        self._limit = limit
        self._known = known
        self._seen: set[Graph] = set()
        self.found: dict[str, Graph] = {}

    def on_solution_callback(self) -> None:
        graph = self._encoding.decode(self.value)
        if graph in self._seen:
            return
        self._seen.add(graph)
        identity = self._encoding.structure.identity(graph)
        if identity not in self._known:
            self.found.setdefault(identity, graph)
        if self._limit is not None and len(self.found) >= self._limit:
            self.stop_search()


def enumerate_graphs(
    structure: Structure, limit: int | None = None, deadline: float = math.inf
) -> Iterator[Graph]:
    """Every graph of the structure once (`Structure.identity`), by diameter, then identity.

    Graphs come in canonical numbering, unless a rule names nodes and so tells numberings apart.
    With a ``limit`` at most so many are returned, which ones is left open. Past the ``deadline``
    (a `time.monotonic` value) `TimeoutError` is raised.
    """
    left = limit
    known: set[str] = set()  # identities need not keep diameters apart
    for piece in structure.by_diameter():
        if left is not None and left <= 0:
            return
        encoding = GraphEncoding(piece, unique=True)
        collector = _Collector(encoding, left, known)
        solver = cp_model.CpSolver()
        solver.parameters.enumerate_all_solutions = True
        solver.parameters.num_workers = 1
        solver.parameters.catch_sigint_signal = False  # Ctrl-C belongs to Python
        if deadline < math.inf:
            solver.parameters.max_time_in_seconds = max(0.01, deadline - time.monotonic())
        status = solver.solve(encoding.model, collector)
        enough = left is not None and len(collector.found) >= left
        if status not in (cp_model.OPTIMAL, cp_model.INFEASIBLE) and not enough:
            raise TimeoutError(f"graphs were still being listed when time ran out: {piece}")
        known.update(collector.found)
        for key in sorted(collector.found):
            graph = collector.found[key]
            yield graph.canonical() if piece.all_alike else graph
        if left is not None:
            left -= len(collector.found)
