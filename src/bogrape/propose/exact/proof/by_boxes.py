"""Solve a piece by boxes of histograms, each with a bound; the remaining ones are listed."""

from __future__ import annotations

from ..bounds.histogram_boxes import HistogramBoxes
from ..bounds.histogram_table import MOST_HISTOGRAMS, at_best_attributes, attribute_choices
from ..bounds.taylor_bounds import EsspMean, boxes_of_interest, has_boxes, hull
from ..distances.free_attributes import FreeAttributes
from ..distances.inequality import distances_by_position
from ..distances.known import known_of_distances
from .by_histograms import solve_by_histograms
from .piece import Answer
from .piece_solve import PieceSolve

_MOST_ATTRIBUTES = 64  # choices at which every box of counts is evaluated


def boxes_of(state: PieceSolve) -> HistogramBoxes | None:
    """Boxes with all histograms that can beat the incumbent, if the piece has such bounds.

    Attributes that rules tie to the graph are treated as free here, which relaxes the problem.
    """
    structure, criterion = state.piece.structure, state.criterion
    if not has_boxes(structure, criterion):
        return None
    free = state.free or FreeAttributes(structure, ())
    choices = attribute_choices(structure.shape, free, _MOST_ATTRIBUTES)
    if choices is None:
        return None
    evaluate = at_best_attributes(criterion, structure.shape, choices)
    known = list(known_of_distances(structure, state.question.facts))
    if state.piece.heaviest is not None:
        known.append(state.piece.heaviest.inequality())
    return boxes_of_interest(
        structure, known, state.best_value, criterion, evaluate, state.deadline
    )


def solve_by_boxes(state: PieceSolve, boxes: HistogramBoxes) -> Answer:
    """The best graph of a piece, given boxes with all histograms of interest."""
    if not len(boxes):
        return state.settled()
    n_pairs, bound = state.coordinates.n_pairs(), float(boxes.bound.min())
    if state.question.relaxed:
        return state.open(bound, boxes.most_promising(n_pairs))
    mean = EsspMean.of(state.criterion.posterior, state.piece.longest)
    around = hull(boxes, mean, state.piece.structure.shape.n_nodes)
    state.of_interest = [distances_by_position(known, state.coordinates) for known in around]
    if state.nothing_is_heavy_enough():
        return state.settled()
    histograms = boxes.histograms(n_pairs, MOST_HISTOGRAMS)
    if histograms is None:
        return state.open(bound)
    return solve_by_histograms(state, histograms)
