"""Does any graph of a piece beat the incumbent?

Solving a `Task` answers with the best graph that beats the given value, if there is one, and with a
bound that holds for all graphs of the piece that are not excluded.

Integers stand for real numbers here, so near the incumbent the solver may offer graphs that are no
better. Every offer is decoded and its value recomputed; its *counts* are then ruled out and the
search goes on. All graphs with equal counts have equal values, so nothing is lost, except that a
graph offered may be excluded, or break a rule that is checked instead of encoded, while another
with the same counts may be proposed: `_graph_with` looks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from ....acquisition import LCB
from ....batch import Batch
from ....encoding import GraphEncoding
from ....encoding.enumeration import visit_graphs
from ....graph import Graph
from ....machine import solver_megabytes
from ....posterior import WeightPosterior
from ...criterion import Criterion
from ..bounds.boxes import Cover, rows_of
from ..bounds.histogram_table import (
    MOST_ROWS,
    CountTable,
    TooManyCounts,
    at_best_attributes,
    attribute_choices,
    count_table,
)
from ..bounds.integer_lcb import IntegerForm, IntegerLine
from ..bounds.linear_form import count_form
from ..bounds.linear_programs import Lines
from ..bounds.taylor import Mean, cover_counts, has_cover, supporting_rows
from ..distances.count_variables import Row as CountRow
from ..distances.count_variables import bare_counts, count_rows, graph_counts, length_rows
from ..distances.facts import Fact
from ..distances.free_attributes import FreeAttributes, free_attributes
from ..distances.layers import put_heaviest_first
from ..distances.remembered import Rows, is_among
from .all_graphs import TooManyGraphs, all_graphs
from .piece import Answer, Piece, with_room

_HALVED_FIRST = 300  # boxes of counts, before graphs are asked about
_MOST_HALVED = 20_000
_MOST_ATTRIBUTES = 64  # choices that every box of counts is evaluated at


@dataclass
class Task:
    """A piece, and what to beat."""

    piece: Piece
    objective: Criterion
    value: float  # only smaller values are of interest
    excluded: Collection[str]
    known: Collection[tuple[int, ...]]  # counts whose graphs need not be offered
    time_limit: float
    seed: int = 0
    missing: Rows | None = None  # rows of counts known to have no graph
    facts: tuple[Fact, ...] = ()  # what is known of all graphs of this size and diameter
    relaxed: bool = False  # bound the counts alone, without a graph behind them
    deadline: float = field(default=math.inf, init=False)

    def solve(self) -> Answer:
        """Solve the piece within the time limit."""
        self.deadline = time.monotonic() + self.time_limit
        state = _Solve(self)
        try:
            return state.run()
        except _OutOfTime:
            return state.answer(proved=False, bound=-math.inf)

    def cover(self) -> Cover | None:
        """Where counts can beat the value, if the posterior is not linear in them."""
        return _Solve(self).cover()


class _Solve:
    """The state of one solve: the incumbent of the piece, and the counts already dealt with."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.piece = task.piece
        self.objective = task.objective
        kernel = task.objective.posterior.model.kernel
        self.free: FreeAttributes | None = None
        if not kernel.labelled:
            self.free = free_attributes(self.piece.structure)
        self.coordinates = self.piece.coordinates(kernel)
        self.best = Answer(False, -math.inf, None, task.value)
        self.n_solves = 0
        self.missing: Rows | None = None
        self.counts: tuple[int, ...] | None = None
        self.of_interest: list[CountRow] = []  # what counts that beat the incumbent satisfy

    def run(self) -> Answer:
        posterior, acquisition = self.objective.posterior, self.objective.acquisition
        if isinstance(acquisition, LCB):
            if isinstance(posterior, WeightPosterior):
                if not self.task.relaxed and self._nothing_is_heavy_enough():
                    return self.answer(proved=True)
                form = count_form(posterior, self.coordinates)
                return self._run_integers(
                    acquisition.kappa, IntegerForm.of(form, acquisition.kappa)
                )
            if self.piece.composition is not None and self._has_lines:
                return self._run_integers(acquisition.kappa)
        cover = self.cover()
        if cover is not None:
            return self._run_cover(cover)
        if self.task.relaxed:
            return self.answer(proved=False, bound=-math.inf)
        return self._run_table()

    def _nothing_is_heavy_enough(self) -> bool:
        """Whether the weights of a case alone rule it out: far easier to see than the posterior."""
        if self.piece.heaviest is None or self.piece.structure.layers is None:
            return False
        encoding = self._encoding()
        graph_counts(encoding, self.coordinates, self._bare_counts(encoding.model))
        self.n_solves += 1
        return bool(self._solver(clauses=True).solve(encoding.model) == cp_model.INFEASIBLE)

    # -- ESSP: boxes of counts ----------------------------------------------------------------

    def _run_cover(self, cover: Cover) -> Answer:
        if not len(cover):
            return self.answer(proved=True)
        n_pairs, bound = self.coordinates.n_pairs(), float(cover.bound.min())
        if self.task.relaxed:
            self.counts = cover.worst(n_pairs)
            return self.answer(proved=False, bound=bound)
        mean = Mean.of(self.objective.posterior, self.piece.longest)
        hull = supporting_rows(cover, mean, self.piece.structure.shape.n_nodes)
        self.of_interest = [(dict(enumerate(w.tolist())), -math.inf, most) for w, most in hull]
        if self._nothing_is_heavy_enough():
            return self.answer(proved=True)
        paths = cover.points(n_pairs, MOST_ROWS)
        if paths is None:
            return self.answer(proved=False, bound=bound)
        return self._run_table(paths)

    def cover(self) -> Cover | None:
        """Where counts can beat the incumbent, if the posterior is not linear in them.

        Attributes that rules tie to the graph are taken as free here: that bounds them, too.
        """
        structure, objective = self.piece.structure, self.objective
        if not has_cover(structure, objective):
            return None
        free = self.free or FreeAttributes(structure, ())
        choices = attribute_choices(structure.shape, free, _MOST_ATTRIBUTES)
        if choices is None:
            return None
        evaluate = at_best_attributes(objective, structure.shape, choices)
        ranges = list(length_rows(structure, self.task.facts))
        if (heaviest := self.piece.heaviest) is not None:
            weights = dict(enumerate(heaviest.weights, start=1))
            ranges.append((weights, heaviest.least, heaviest.most))
        rows = rows_of(ranges, self.piece.longest)
        return cover_counts(
            structure, rows, self.best.value, objective, evaluate, self.task.deadline
        )

    # -- linear kernels, and lines below the others: weight space in integers -----------------

    def _run_integers(self, kappa: float, exact: IntegerForm | None = None) -> Answer:
        bound, line = -math.inf, None
        if self._has_lines:
            lines = Lines(self.piece.surface(self.objective.posterior, kappa), self._count_rows())
            n_most = _MOST_HALVED if self.task.relaxed else _HALVED_FIRST
            left = lines.branched(with_room(self.best.value), self.task.deadline, n_most)
            bound = left.bound
            if left.box is None:
                return self.answer(proved=True)
            if self.task.relaxed:
                if left.counts is not None:
                    self.counts = tuple(int(c) for c in np.rint(left.counts))
                return self.answer(proved=False, bound=bound)
            self.of_interest = list(left.box.rows())
            line = lines.lowest(left, self.task.deadline)
        if exact is None and line is None:  # out of time
            return self.answer(proved=False, bound=bound)
        encoding = None if self.task.relaxed else self._encoding()
        model: Any = cp_model.CpModel() if encoding is None else encoding.model
        counts = self._bare_counts(model)
        if encoding is not None:
            graph_counts(encoding, self.coordinates, counts)
        # a linear program says much of counts and of labelled pairs, little of bare graphs
        clauses = encoding is not None and self.free is not None
        self._forbid_known(model, counts)
        # the line below LCB is far easier to bound than LCB itself, so it is what is minimised
        forms: list[IntegerForm | IntegerLine] = []
        forms += [IntegerLine.of(line.cost, line.offset)] if line is not None else []
        forms += [exact] if exact is not None else []
        objectives = [form.objective(model, counts) for form in forms]
        model.minimize(objectives[0])
        while True:
            if math.isfinite(self.best.value):
                for form, objective in zip(forms, objectives, strict=True):
                    model.add(objective <= form.at_most(self.best.value))
            solver = self._solver(clauses=clauses)
            self.n_solves += 1
            status = solver.solve(model)
            if status == cp_model.INFEASIBLE:
                return self.answer(proved=True)
            bound = max(bound, forms[0].lower_bound(_objective_bound(solver, status)))
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return self.answer(proved=False, bound=bound)
            found = tuple(int(solver.value(count)) for count in counts)
            if encoding is None:
                self.counts = found
                return self.answer(proved=False, bound=bound)
            self._take(self._decoded(encoding, solver, found), found)
            if status != cp_model.OPTIMAL:
                return self.answer(proved=False, bound=bound)
            self._forbid(model, counts, found)

    @property
    def _has_lines(self) -> bool:
        """Whether linear programs come first: bare graphs have cases instead."""
        if self.free is not None or not math.isfinite(self.best.value):
            return False
        return self.piece.composition is not None or not self.task.relaxed

    # -- any kernel: tables of counts ---------------------------------------------------------

    def _run_table(self, paths: NDArray[np.int64] | None = None) -> Answer:
        structure, facts = self.piece.structure, self.task.facts
        try:
            table = count_table(
                structure, self.coordinates, self.objective, self.free, facts, paths
            )
        except TooManyCounts:
            return self._run_listing()
        if self.free is not None:
            table.alive &= ~is_among(table.counts, self.task.missing)
        while True:
            rows = table.better_than(self.best.value)
            if not len(rows):
                return self.answer(proved=True)
            bound = float(table.values[rows[0]])
            if time.monotonic() > self.task.deadline:
                return self.answer(proved=False, bound=bound)
            encoding = self._encoding()
            model = encoding.model
            counts = self._bare_counts(model)
            graph_counts(encoding, self.coordinates, counts)
            columns = counts[: table.n_columns]
            if columns:
                model.add_allowed_assignments(columns, table.counts[rows].tolist())
            solver = self._solver(clauses=True)  # there is nothing for an LP to bound
            self.n_solves += 1
            status = solver.solve(model)
            if status == cp_model.INFEASIBLE:
                # with attributes the rows speak of rules on them, in a case or a rest of no more
                # than that: only what holds for the whole structure may be kept for later steps
                if self.free is not None and self.piece.heaviest is None:
                    self.missing = table.counts[rows].astype(np.int16)
                return self.answer(proved=True)
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return self.answer(proved=False, bound=bound)
            found = tuple(int(solver.value(column)) for column in columns)
            row = int(rows[np.flatnonzero((table.counts[rows] == found).all(axis=1))[0]])
            self._take_row(table, row, encoding, solver)
            table.drop(row)

    def _take_row(self, table: CountTable, row: int, encoding: GraphEncoding, solver: Any) -> None:
        bare = encoding.decode(solver.value)
        if self.free is None:
            self._take(bare, tuple(map(int, table.counts[row])))
            return
        # all choices of attributes are open: take the best that leads to a graph not excluded
        for sums, value in table.attributes(row):
            if value >= self.best.value:
                return
            counts = (*map(int, table.counts[row]), *map(int, sums))
            self._take(self.free.dress(bare, counts[table.n_columns :]), counts)

    # -- any kernel: all graphs, one by one ---------------------------------------------------

    def _run_listing(self) -> Answer:
        """Look at every graph of the piece, if they are few enough; else for any, if none is known.

        With one known, other bounds can be had when the piece is asked about again.
        """
        try:
            for batch in all_graphs(self.piece.structure, self.task.deadline):
                inside = batch.select(self.objective.space.excess(batch) == 0)
                if len(inside):
                    self._take_best(inside)
        except TooManyGraphs:
            if self.best.value == math.inf:
                graph = self._graph_with()
                if graph is None:
                    return self.answer(proved=True)
                self.best = Answer(False, -math.inf, graph, self.objective.of_graph(graph))
            return self.answer(proved=False, bound=-math.inf)
        return self.answer(proved=True)

    def _take_best(self, batch: Batch) -> None:
        values = self.objective.of_batch(batch)
        for i in np.argsort(values, kind="stable"):
            if not values[i] < self.best.value:
                return
            graph = batch.graph(int(i))
            if self._may_be_proposed(graph):
                self.best = Answer(False, -math.inf, graph, self.objective.of_graph(graph))
                return

    # -- offers -------------------------------------------------------------------------------

    def _take(self, graph: Graph, counts: tuple[int, ...]) -> None:
        """Take in an offered graph, or another one with the same counts if it cannot be had."""
        value = self.objective.of_graph(graph)
        if not value < self.best.value:
            return
        if not self._may_be_proposed(graph):
            other = self._graph_with(counts)
            if other is None:
                return
            graph, value = other, self.objective.of_graph(other)
        self.best = Answer(False, -math.inf, graph, value)

    def _may_be_proposed(self, graph: Graph) -> bool:
        """Whether a graph of the model is not excluded, and obeys the rules the model lacks."""
        if self.objective.space.identity(graph) in self.task.excluded:
            return False
        return self.piece.structure.allows(graph)

    def _graph_with(self, counts: tuple[int, ...] = ()) -> Graph | None:
        """A graph with exactly these counts (or any) that may be proposed, if there is one."""
        encoding = GraphEncoding(self.piece.structure, unique=True)
        model = encoding.model
        rows = count_rows(self.piece.structure, self.coordinates, None)
        variables = bare_counts(model, self.coordinates, rows)
        graph_counts(encoding, self.coordinates, variables)
        for variable, count in zip(variables, counts, strict=bool(counts)):
            model.add(variable == count)
        found: list[Graph] = []

        def enough(graph: Graph) -> bool:
            if self._may_be_proposed(graph):
                found.append(graph)
            return bool(found)

        self.n_solves += 1
        try:
            visit_graphs(encoding, enough, self.task.deadline)
        except TimeoutError:
            raise _OutOfTime from None
        return found[0] if found else None

    # -- solver -------------------------------------------------------------------------------

    def _encoding(self) -> GraphEncoding:
        if self.free is None:
            encoding = GraphEncoding(self.piece.structure)
        else:
            encoding = GraphEncoding(self.free.bare, attributes=False)
        if self.piece.heaviest is not None and encoding.structure.layers is not None:
            put_heaviest_first(encoding, self.piece.heaviest)
        return encoding

    def _bare_counts(self, model: Any) -> list[Any]:
        return bare_counts(model, self.coordinates, self._count_rows())

    def _count_rows(self) -> Iterator[CountRow]:
        """What the counts of all graphs of the piece satisfy, as far as they are of interest."""
        structure, facts = self.piece.structure, self.task.facts
        yield from count_rows(structure, self.coordinates, self.free, facts)
        if (heaviest := self.piece.heaviest) is not None:
            yield dict(enumerate(heaviest.weights)), heaviest.least, heaviest.most
        yield from self.of_interest

    def _decoded(self, encoding: GraphEncoding, solver: Any, counts: tuple[int, ...]) -> Graph:
        graph = encoding.decode(solver.value)
        if self.free is None:
            return graph
        return self.free.dress(graph, counts[len(self.coordinates.paths) :])

    def _forbid_known(self, model: Any, counts: list[Any]) -> None:
        for known in self.task.known:
            if len(known) == len(counts):
                self._forbid(model, counts, known)

    @staticmethod
    def _forbid(model: Any, counts: list[Any], values: tuple[int, ...]) -> None:
        if counts:
            model.add_forbidden_assignments(counts, [values])
        else:
            model.add_bool_or([])  # no counts: there was only this one to offer

    def _solver(self, *, clauses: bool = False) -> Any:
        """A solver for what is left of the time; with ``clauses`` it makes no linear programs."""
        solver = cp_model.CpSolver()
        if clauses:
            solver.parameters.linearization_level = 0
        left = self.task.deadline - time.monotonic()
        solver.parameters.max_time_in_seconds = max(0.01, left)
        solver.parameters.num_workers = 1  # the same answer every time; pieces run side by side
        solver.parameters.random_seed = self.task.seed
        solver.parameters.max_memory_in_mb = solver_megabytes()
        return solver

    def answer(self, *, proved: bool, bound: float = math.inf) -> Answer:
        best = self.best
        if proved:
            return Answer(True, best.value, best.graph, best.value, self.n_solves, self.missing)
        bound = min(bound, best.value)
        return Answer(False, bound, best.graph, best.value, self.n_solves, counts=self.counts)


def _objective_bound(solver: Any, status: Any) -> float:
    """The solver's bound on its objective; minus infinity where it has none to tell.

    A solve that is cut off early reports the status UNKNOWN with a bound of 0, which means nothing.
    """
    bound = float(solver.best_objective_bound)
    told = status in (cp_model.OPTIMAL, cp_model.FEASIBLE) or (
        status == cp_model.UNKNOWN and bound != 0.0
    )
    return bound if told and bound > -1e17 else -math.inf


class _OutOfTime(Exception):
    """The clock cut off a search whose outcome the proof depends on."""
