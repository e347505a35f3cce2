"""The state of one solve: the best graph of a piece so far, and the counts already dealt with.

Integers stand for real numbers in the models of a proof, so near the incumbent the solver may offer
graphs that are no better. Every offer is decoded and its value recomputed; its *counts* are then
ruled out and the search goes on. All graphs with equal counts have equal values, so nothing is
lost, except that a graph offered may be excluded, or break a rule that no model knows, while
another with the same counts may be proposed: `PieceSolve.graph_with` looks.
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
    """The clock cut off a search whose outcome the proof depends on."""


class PieceSolve:
    """A question about a piece under way: what is known of the answer, and a solver to ask."""

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
        # what counts that beat the incumbent satisfy
        self.of_interest: list[Inequality[Position]] = []
        self.n_solves = 0
        # which graphs are asked about, and by which LCB; all, by the criterion itself, without one
        self.chord: Chord | None = None

    def lcb_limit(self, value: float) -> float:
        """Upper limit of LCB for graphs with a smaller value."""
        return value if self.chord is None else self.chord.limit(value)

    def value_of(self, lcb: float) -> float:
        """The value that graphs have at least whose LCB is at least this."""
        return lcb if self.chord is None else self.chord.value(lcb)

    # -- answers ------------------------------------------------------------------------------

    def settled(self, missing: SmallHistograms | None = None) -> Answer:
        """Nothing in the piece beats the best graph, and the value it had to beat."""
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
        """Something may, but nothing below the bound."""
        return Answer(
            proved=False,
            bound=min(bound, self.best_value),
            graph=self.best_graph,
            value=self.best_value,
            n_solves=self.n_solves,
            counts=best_counts,
            boxes=boxes,
        )

    # -- offers -------------------------------------------------------------------------------

    def take(self, graph: Graph, counts: tuple[int, ...]) -> None:
        """Take in an offered graph, or another with the same counts if it may not be proposed."""
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
        """Take in the best graph of a batch that may be proposed.

        Graphs that do not come from a model of the piece may not even be ``of_the_space``.
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
        """A graph with exactly these counts (or any) that may be proposed, if there is one."""
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
        """A model of the graphs of the piece, bare if their attributes can be chosen apart."""
        if self.free is None:
            encoding = GraphEncoding(self.piece.structure)
        else:
            encoding = GraphEncoding(self.free.bare, attributes=False)
        if self.piece.heaviest is not None and encoding.structure.layers is not None:
            put_heaviest_first(encoding, self.piece.heaviest)
        return encoding

    def bare_counts(self, model: Any) -> list[Any]:
        """Variables for the counts, which obey all that is known of them."""
        return bare_counts(model, self.coordinates, self.inequalities())

    def inequalities(self) -> list[Inequality[Position]]:
        """Inequalities that the counts of all graphs of interest in the piece satisfy."""
        structure, facts = self.piece.structure, self.question.facts
        out = list(known_of_counts(structure, self.coordinates, self.free, facts))
        if (heaviest := self.piece.heaviest) is not None:
            out.append(distances_by_position(heaviest.inequality(), self.coordinates))
        return [*out, *self.of_interest]

    def decoded(self, encoding: GraphEncoding, solver: Any, counts: tuple[int, ...]) -> Graph:
        """The graph a solver offers, with these counts."""
        graph = encoding.decode(solver.value)
        if self.free is None:
            return graph
        return self.free.dress(graph, counts[len(self.coordinates.paths) :])

    def solver(self, *, clauses: bool = False) -> Any:
        """A solver for what is left of the time; with ``clauses`` it makes no linear programs."""
        self.n_solves += 1
        left = self.deadline - time.monotonic()
        return new_solver(left, seed=self.question.seed, clauses=clauses)

    def nothing_is_heavy_enough(self) -> bool:
        """True if the weights of a case alone rule it out: far easier to see than the posterior."""
        if self.piece.heaviest is None or self.piece.structure.layers is None:
            return False
        encoding = self.encoding()
        graph_counts(encoding, self.coordinates, self.bare_counts(encoding.model))
        return bool(self.solver(clauses=True).solve(encoding.model) == cp_model.INFEASIBLE)
