"""Solve a piece by evaluating all of its graphs: any criterion, if they are few enough."""

from __future__ import annotations

import math

from .all_graphs import TooManyGraphs, all_graphs
from .piece import Answer
from .piece_solve import PieceSolve


def solve_by_listing(state: PieceSolve) -> Answer:
    """The best graph of a piece if its graphs are few; otherwise any graph, if none is known.

    Once a graph is known, other methods can bound the piece in a later solve.
    """
    space = state.criterion.space
    try:
        for batch in all_graphs(state.piece.structure, state.deadline):
            inside = batch.select(space.excess(batch) == 0)
            if len(inside):
                state.take_best(inside)
    except TooManyGraphs:
        if state.best_value == math.inf:
            graph = state.graph_with()
            if graph is None:
                return state.settled()
            state.best_graph, state.best_value = graph, state.criterion.of_graph(graph)
        return state.open()
    return state.settled()
