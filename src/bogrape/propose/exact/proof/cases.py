"""A piece falls into cases: the layers around the node that weighs most.

Near its best counts LCB is all but linear, ``LCB(h) ~ c - w . h`` with the gradient for weights.
Take the node with the largest ``W(v) = sum_s w_s l_s(v)`` for node 0 (see `layers.py` beside).
What beats the incumbent has a large ``w . h``, so node 0 is heavy, and few layers are that heavy.

The weights may be any: integers near the gradient are taken. How large ``w . h`` must be is then a
question about counts alone, answered exactly: the smallest one of all counts that obey what is true
of all graphs and beat the incumbent; or of all boxes that can hold such counts.

Where there are many layers, the most promising are split off. What is left has a smaller ``w . h``
and so a better bound; it is split again when its turn comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from ortools.sat.python import cp_model

from ....acquisition import LCB
from ....posterior import WeightPosterior
from ..bounds.boxes import FloatArray
from ..bounds.integer_lcb import IntegerForm
from ..bounds.linear_form import count_form
from ..bounds.taylor import Mean, whole_numbers
from ..distances.count_variables import bare_counts
from ..distances.free_attributes import free_attributes
from ..distances.known import known_of_counts
from ..distances.layers import Heaviest, cases
from .piece import Piece
from .piece_solve import Task


def has_cases(piece: Piece) -> bool:
    """Whether a piece, of a kernel without labels, has cases to fall into."""
    structure = piece.structure
    if structure.diameter is None or structure.diameter < 3:
        return False
    return structure.layers is None and structure.all_alike


@dataclass
class SplitTask:
    """Find the cases of a piece that a graph better than the incumbent can be in."""

    task: Task
    counts: tuple[int, ...]  # the best ones, with no graph behind them
    n_most: int  # cases to split off
    time_limit: float

    def solve(self) -> list[Piece] | None:
        """The most promising cases and the rest, if any; ``None`` if nothing can be split off."""
        piece, h = self.task.piece, np.array(self.counts[: self.task.piece.longest])
        structure = piece.structure
        if piece.heaviest is not None:  # a rest: what was split off is known by its weights
            weights, most = piece.heaviest.weights, piece.heaviest.most
        else:
            weights = whole_numbers(-self._gradient()[: len(h)])
            most = self._n_pairs * max(weights)
        least = self._least(weights, most)
        if least is None:
            return None
        heaviest = Heaviest(weights, least, most)
        listed, rest = cases(structure.shape.n_nodes, piece.longest, heaviest, self.n_most)
        if not listed and rest is not None and rest.most >= h @ np.array(weights):
            return None
        out = [
            replace(piece, structure=replace(structure, layers=layers), heaviest=case)
            for layers, case in listed
        ]
        return out if rest is None else [*out, replace(piece, heaviest=rest)]

    @property
    def _n_pairs(self) -> int:
        n = self.task.piece.structure.shape.n_nodes
        return n * (n - 1) // 2

    def _gradient(self) -> FloatArray:
        """The derivative of LCB, or of the mean alone, by the counts."""
        posterior, acquisition = self.task.objective.posterior, self.task.objective.acquisition
        assert isinstance(acquisition, LCB)
        counts, longest = np.array(self.counts), self.task.piece.longest
        if isinstance(posterior, WeightPosterior):
            form = count_form(posterior, self.task.piece.coordinates(posterior.model.kernel))
            spread = form.R @ counts + form.r0
            length = max(float(np.linalg.norm(spread)), 1e-300)
            return np.asarray(form.w - acquisition.kappa * (spread @ form.R) / length)
        n = self.task.piece.structure.shape.n_nodes
        return np.asarray(Mean.of(posterior, longest).gradient(n, counts[None, :longest])[0])

    def _least(self, weights: tuple[int, ...], most: int) -> int | None:
        """The smallest ``w . h <= most`` of counts that can beat the incumbent."""
        task, piece = self.task, self.task.piece
        posterior, acquisition = task.objective.posterior, task.objective.acquisition
        assert isinstance(acquisition, LCB)
        if not isinstance(posterior, WeightPosterior):
            cover = task.cover()
            return None if cover is None else cover.least(weights, self._n_pairs)
        form = count_form(posterior, piece.coordinates(posterior.model.kernel))
        model = cp_model.CpModel()
        free = free_attributes(piece.structure)
        known = known_of_counts(piece.structure, form.coordinates, free, task.facts)
        counts = bare_counts(model, form.coordinates, known)
        if math.isfinite(task.value):
            integers = IntegerForm.of(form, acquisition.kappa)
            model.add(integers.objective(model, counts) <= integers.at_most(task.value))
        total = cp_model.LinearExpr.weighted_sum(counts[: piece.longest], list(weights))
        model.add(total <= most)
        model.minimize(total)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = task.seed
        solver.parameters.max_time_in_seconds = self.time_limit
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return most + 1
        return round(solver.objective_value) if status == cp_model.OPTIMAL else None
