"""All distinct graphs of a structure, from the encoding of the exact engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from ortools.sat.python import cp_model

from ..graph import Graph
from .cpsat import new_solver
from .graph_encoding import GraphEncoding
from .structure import Structure


class _Visit(cp_model.CpSolverSolutionCallback):
    """Passes the graph of every solution to ``enough``, until that returns True."""

    def __init__(self, encoding: GraphEncoding, enough: Callable[[Graph], bool]) -> None:
        super().__init__()
        self._encoding = encoding
        self._enough = enough
        self._seen: set[Graph] = set()
        self.stopped = False
        self.error: Exception | None = None

    def on_solution_callback(self) -> None:
        graph = self._encoding.decode(self.value)
        if graph not in self._seen:
            self._seen.add(graph)
            try:
                self.stopped = self._enough(graph)
            except Exception as error:  # from a user's rule; must not reach the solver
                self.stopped, self.error = True, error
            if self.stopped:
                self.stop_search()


def visit_graphs(
    encoding: GraphEncoding, enough: Callable[[Graph], bool], deadline: float = math.inf
) -> None:
    """Pass each graph of a model to ``enough`` once, until it returns True.

    Past the ``deadline`` (a `time.monotonic` value) `TimeoutError` is raised. The encoding should
    be ``unique``; if a rule leaves helper variables open, one graph has many solutions, so each
    graph found is forbidden before the solver looks for the next.
    """
    if encoding.structure.decides_helpers:
        visit = _Visit(encoding, enough)
        solver = _solver(deadline)
        solver.parameters.enumerate_all_solutions = True
        status = solver.solve(encoding.model, visit)
        if visit.error is not None:
            raise visit.error
        _in_time(status, encoding, stopped=visit.stopped)
        return
    while True:
        solver = _solver(deadline)
        if _in_time(solver.solve(encoding.model), encoding) == cp_model.INFEASIBLE:
            return
        graph = encoding.decode(solver.value)
        if enough(graph):
            return
        encoding.forbid(graph)


def _solver(deadline: float) -> Any:
    # no limit on memory: this runs in the caller's process, too, which may be large already
    solver = new_solver(deadline - time.monotonic(), limit_memory=False)
    solver.parameters.catch_sigint_signal = False  # Ctrl-C belongs to Python
    return solver


def _in_time(status: Any, encoding: GraphEncoding, *, stopped: bool = False) -> Any:
    if status not in (cp_model.OPTIMAL, cp_model.INFEASIBLE) and not stopped:
        raise TimeoutError(f"time ran out while graphs were being listed: {encoding.structure}")
    return status


def enumerate_graphs(
    structure: Structure, limit: int | None = None, deadline: float = math.inf
) -> Iterator[Graph]:
    """Every graph of the structure once (`Structure.identity`), by diameter, then identity.

    Graphs come in canonical numbering, unless a rule names nodes and so distinguishes numberings.
    A ``limit`` bounds their number; which ones are returned is unspecified. Past the ``deadline``
    (a `time.monotonic` value) `TimeoutError` is raised.
    """
    left = limit
    known: set[str] = set()  # graphs of different diameters may have the same identity
    for piece in structure.by_diameter():
        if left is not None and left <= 0:
            return
        found: dict[str, Graph] = {}

        def enough(graph: Graph, found: dict[str, Graph] = found, left: int | None = left) -> bool:
            identity = structure.identity(graph)
            if identity not in known and structure.allows(graph):
                found.setdefault(identity, graph)
            return left is not None and len(found) >= left

        visit_graphs(GraphEncoding(piece, unique=True), enough, deadline)
        known.update(found)
        for key in sorted(found):
            yield found[key].canonical() if piece.all_alike else found[key]
        if left is not None:
            left -= len(found)
