"""The state of one solve: the best graph of a piece so far, and the inequalities on its counts.

Integers stand for real numbers in the models of a proof, so near the incumbent the solver may find
graphs that are no better. Every graph is decoded and its value recomputed; its *counts* are then
ruled out and the search goes on. All graphs with equal counts have equal values, so nothing is
lost, with one exception: a graph may be excluded, or break a rule that no model knows, while
another with the same counts may be proposed. `PieceSolve.graph_with` looks for it.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....batch import Batch
from ....encoding import GraphEncoding
from ....encoding.cpsat import new_solver
from ....encoding.enumeration import visit_graphs
from ....graph import Graph
from ...criterion import Criterion
from ..bounds.ei_chords import Chord
from ..distances.coordinates import Position
from ..distances.count_variables import bare_counts, graph_counts
from ..distances.free_attributes import FreeAttributes, free_attributes
from ..distances.inequality import Inequality, distances_by_position
from ..distances.known import known_of_counts
from ..distances.layers import put_heaviest_first
from .piece import Answer, Boxes, Question, SmallHistograms


class OutOfTime(Exception):
    """Time ran out during a search whose outcome the proof depends on."""


class PieceSolve:
    """One solve of a question about a piece: its models, solvers and best graph so far."""

    def __init__(self, question: Question, criterion: Criterion, deadline: float) -> None:
        self.question = question
        self.piece = question.piece
        self.criterion = criterion
        self.deadline = deadline
        self.coordinates = self.piece.coordinates(labelled=criterion.labelled)
        self.free: FreeAttributes | None = None
        if not criterion.labelled:
            self.free = free_attributes(self.piece.structure)
        self.best_graph: Graph | None = None
        self.best_value = question.value
        # inequalities that all counts that beat the incumbent satisfy
        self.of_interest: list[Inequality[Position]] = []
        self.n_solves = 0
        # the LCB and the range of deviations asked about; if None, all graphs by the criterion
        self.chord: Chord | None = None

    def lcb_limit(self, value: float) -> float:
        """Upper limit on LCB for graphs with a smaller value."""
        return value if self.chord is None else self.chord.limit(value)

    def value_of(self, lcb: float) -> float:
        """Lower bound on the value of graphs whose LCB is at least this."""
        return lcb if self.chord is None else self.chord.value(lcb)

    # -- answers ------------------------------------------------------------------------------

    def settled(self, missing: SmallHistograms | None = None) -> Answer:
        """The answer that nothing in the piece beats the best graph, or the value to beat."""
        return Answer(
            proved=True,
            bound=self.best_value,
            graph=self.best_graph,
            value=self.best_value,
            n_solves=self.n_solves,
            missing=missing,
        )

    def open(
        self,
        bound: float = -math.inf,
        best_counts: tuple[int, ...] | None = None,
        boxes: Boxes | None = None,
    ) -> Answer:
        """The answer that some graph may be better, but none is below the bound."""
        return Answer(
            proved=False,
            bound=min(bound, self.best_value),
            graph=self.best_graph,
            value=self.best_value,
            n_solves=self.n_solves,
            counts=best_counts,
            boxes=boxes,
        )

    # -- graphs -------------------------------------------------------------------------------

    def take(self, graph: Graph, counts: tuple[int, ...]) -> None:
        """Record a graph found, or another with the same counts if it may not be proposed."""
        value = self.criterion.of_graph(graph)
        if not value < self.best_value:
            return
        if not self.may_be_proposed(graph):
            other = self.graph_with(counts)
            if other is None:
                return
            graph, value = other, self.criterion.of_graph(other)
        self.best_graph, self.best_value = graph, value

    def take_best(self, batch: Batch, *, of_the_space: bool = True) -> None:
        """Record the best graph of a batch that may be proposed.

        Graphs that do not come from a model of the piece need not be ``of_the_space``.
        """
        values = self.criterion.of_batch(batch)
        for i in np.argsort(values, kind="stable"):
            if not values[i] < self.best_value:
                return
            graph = batch.graph(int(i))
            belongs = of_the_space or self.criterion.space.contains(graph)
            if belongs and self.may_be_proposed(graph):
                self.best_graph, self.best_value = graph, self.criterion.of_graph(graph)
                return

    def may_be_proposed(self, graph: Graph) -> bool:
        """True if a graph of the model is not excluded, and obeys the rules the model lacks."""
        if self.criterion.space.identity(graph) in self.question.excluded:
            return False
        return self.piece.structure.allows(graph)

    def graph_with(self, counts: tuple[int, ...] = ()) -> Graph | None:
        """A graph with these counts (or with any) that may be proposed; ``None`` if none is."""
        structure = self.piece.structure
        encoding = GraphEncoding(structure, unique=True)
        model = encoding.model
        known = known_of_counts(structure, self.coordinates, None)
        variables = bare_counts(model, self.coordinates, known)
        graph_counts(encoding, self.coordinates, variables)
        for variable, count in zip(variables, counts, strict=bool(counts)):
            model.add(variable == count)
        found: list[Graph] = []

        def enough(graph: Graph) -> bool:
            if self.may_be_proposed(graph):
                found.append(graph)
            return bool(found)

        self.n_solves += 1
        try:
            visit_graphs(encoding, enough, self.deadline)
        except TimeoutError:
            raise OutOfTime from None
        return found[0] if found else None

    # -- models -------------------------------------------------------------------------------

    def encoding(self) -> GraphEncoding:
        """A model of the graphs of the piece, bare if their attributes are free."""
        if self.free is None:
            encoding = GraphEncoding(self.piece.structure)
        else:
            encoding = GraphEncoding(self.free.bare, attributes=False)
        if self.piece.heaviest is not None and encoding.structure.layers is not None:
            put_heaviest_first(encoding, self.piece.heaviest)
        return encoding

    def bare_counts(self, model: Any) -> list[Any]:
        """Variables for the counts that obey all known inequalities."""
        return bare_counts(model, self.coordinates, self.inequalities())

    def inequalities(self) -> list[Inequality[Position]]:
        """Inequalities that the counts of all graphs of interest in the piece satisfy."""
        structure, facts = self.piece.structure, self.question.facts
        out = list(known_of_counts(structure, self.coordinates, self.free, facts))
        if (heaviest := self.piece.heaviest) is not None:
            out.append(distances_by_position(heaviest.inequality(), self.coordinates))
        return [*out, *self.of_interest]

    def decoded(self, encoding: GraphEncoding, solver: Any, counts: tuple[int, ...]) -> Graph:
        """The graph of a solver's solution, with these counts."""
        graph = encoding.decode(solver.value)
        if self.free is None:
            return graph
        return self.free.dress(graph, counts[len(self.coordinates.paths) :])

    def solver(self, *, clauses: bool = False) -> Any:
        """A solver for the remaining time; with ``clauses`` it makes no linear programs."""
        self.n_solves += 1
        left = self.deadline - time.monotonic()
        return new_solver(left, seed=self.question.seed, clauses=clauses)

    def nothing_is_heavy_enough(self) -> bool:
        """True if the weights of a case alone rule it out, which is far easier to prove."""
        if self.piece.heaviest is None or self.piece.structure.layers is None:
            return False
        encoding = self.encoding()
        graph_counts(encoding, self.coordinates, self.bare_counts(encoding.model))
        return bool(self.solver(clauses=True).solve(encoding.model) == cp_model.INFEASIBLE)
