"""Solve a piece by a table of all its histograms, if values depend on these and attributes only.

The solver is asked for a graph in any row of the table that beats the incumbent; the row that it
finds is evaluated and dropped, and so on. If the table would be too large, all graphs are evaluated
instead.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....arrays import IntArray
from ....encoding import GraphEncoding
from ....encoding.cpsat import has_solution
from ..bounds.histogram_table import HistogramTable, TooManyHistograms, table_of_histograms
from ..distances.count_variables import graph_counts
from .by_listing import solve_by_listing
from .piece import Answer, is_among
from .piece_solve import PieceSolve


def solve_by_histograms(state: PieceSolve, histograms: IntArray | None = None) -> Answer:
    """The best graph of a piece, among these histograms if the others are of no interest."""
    question, structure = state.question, state.piece.structure
    try:
        table = table_of_histograms(
            structure,
            state.coordinates,
            state.criterion,
            state.free,
            question.facts,
            histograms,
        )
    except TooManyHistograms:
        return solve_by_listing(state)
    if state.free is not None:
        table.alive &= ~is_among(table.counts, question.missing)
    while True:
        rows = table.better_than(state.best_value)
        if not len(rows):
            return state.settled()
        bound = float(table.values[rows[0]])
        if time.monotonic() > state.deadline:
            return state.open(bound)
        encoding = state.encoding()
        model = encoding.model
        counts = state.bare_counts(model)
        graph_counts(encoding, state.coordinates, counts)
        columns = counts[: table.n_columns]
        if columns:
            model.add_allowed_assignments(columns, table.counts[rows].tolist())
        solver = state.solver(clauses=True)  # there is nothing for an LP to bound
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            # only results about a whole structure may be kept for later steps: with attributes,
            # rules on these ruled out the rows too, and a case or a rest is only a part
            whole = state.free is not None and state.piece.heaviest is None
            return state.settled(table.counts[rows].astype(np.int16) if whole else None)
        if not has_solution(status):
            return state.open(bound)
        found = tuple(int(solver.value(column)) for column in columns)
        row = int(rows[np.flatnonzero((table.counts[rows] == found).all(axis=1))[0]])
        _take_row(state, table, row, encoding, solver)
        table.drop(row)


def _take_row(
    state: PieceSolve, table: HistogramTable, row: int, encoding: GraphEncoding, solver: Any
) -> None:
    bare = encoding.decode(solver.value)
    if state.free is None:
        state.take(bare, tuple(map(int, table.counts[row])))
        return
    # attributes are free: take the best ones with which the graph is not excluded
    for sums, value in table.attributes(row):
        if value >= state.best_value:
            return
        counts = (*map(int, table.counts[row]), *map(int, sums))
        state.take(state.free.dress(bare, counts[table.n_columns :]), counts)
