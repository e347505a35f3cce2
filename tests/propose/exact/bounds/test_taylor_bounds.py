"""Boxes of counts: nothing that beats the incumbent is outside, and no bound is too large."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import LCB, GraphSpace
from bogrape.batch import Batch
from bogrape.constraints import LabelCount
from bogrape.encoding import Structure
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds import taylor_bounds
from bogrape.propose.exact.bounds.histogram_boxes import HistogramBoxes, middles
from bogrape.propose.exact.bounds.histogram_table import evaluate
from bogrape.propose.exact.bounds.taylor_bounds import EsspMean, derivative_norms, hull
from bogrape.propose.exact.distances.extremes import plain
from bogrape.propose.exact.distances.histograms import possible_histograms
from bogrape.propose.exact.distances.inequality import AtMost, distances
from bogrape.propose.exact.distances.known import known_of_distances
from bogrape.propose.exact.proof.by_boxes import boxes_of
from bogrape.propose.exact.proof.piece import Piece
from exact_cases import solve_piece
from exhaustive import classes, fitted


def counts_of(graph: Graph, diameter: int) -> np.ndarray:
    distance = graph.distances()[np.triu_indices(graph.n_nodes, 1)]
    return np.array([(distance == s).sum() for s in range(1, diameter + 1)])


def box_of(boxes: HistogramBoxes, h: np.ndarray) -> np.ndarray:
    """The indices of the boxes that hold a row of counts."""
    return np.flatnonzero(((boxes.low <= h) & (h <= boxes.high)).all(axis=1))


@given(
    st.sampled_from([(5, 1), (6, 1), (7, 1), (5, 2)]),
    st.integers(0, 30),
    st.sampled_from([0.0, 1.0, 1.96]),
    st.floats(0.0, 1.0),
)
@settings(max_examples=60, deadline=None)
def test_better_graphs_are_in_a_box_with_a_bound_below_them(
    size: tuple[int, int], seed: int, kappa: float, quantile: float
) -> None:
    n, labels = size
    space = GraphSpace(n, labels=labels)
    objective = Criterion(space, fitted(space, "essp", seed=seed).posterior, LCB(kappa))
    for diameter in range(2, n):
        graphs = [g for g in classes(n, n_labels=labels) if g.distances().max() == diameter]
        values = objective.of_batch(Batch.of(graphs))
        value = float(np.quantile(values, quantile))
        structure = Structure(space.shape(n), "strong", diameter=diameter)
        boxes = boxes_of(solve_piece(Piece(structure), objective, value).state())
        assert boxes is not None
        for graph, own in zip(graphs, values, strict=True):
            holding = box_of(boxes, counts_of(graph, diameter))
            assert len(holding) <= 1
            if own < value:
                assert len(holding) == 1
                assert boxes.bound[holding[0]] <= own + 1e-6 * abs(own)


@pytest.mark.parametrize("n", [9, 12])
def test_bounds_hold_for_all_counts_of_large_boxes(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taylor_bounds, "_MOST_BOXES", 300)  # so that they stay large
    space, diameter = GraphSpace(n), 5
    objective = Criterion(space, fitted(space, "essp", seed=3).posterior, LCB(1.0))
    every = possible_histograms(n, diameter)
    assert every is not None
    rng = np.random.default_rng(0)
    some = every[rng.permutation(len(every))[:3000]]
    values = evaluate(objective, n, False, some, np.full((len(some), 1), n))
    value = float(np.quantile(values, 0.9))
    boxes = boxes_of(solve_piece(Piece(plain(n, diameter)), objective, value).state())
    assert boxes is not None
    assert (boxes.high > boxes.low).any()
    n_inside = 0
    for h, own in zip(some, values, strict=True):
        holding = box_of(boxes, h)
        n_inside += len(holding)
        assert len(holding) == 1 or own >= value
        assert (boxes.bound[holding] <= own).all()
    assert n_inside > 1000


@pytest.mark.parametrize("length", [1e-3, 1e-2, 0.1, 0.5])
def test_the_mean_is_as_close_to_its_tangent_parabola_as_claimed(length: float) -> None:
    space = GraphSpace(8)
    posterior = fitted(space, "essp", seed=1).posterior
    mean = EsspMean.of(posterior, 4)
    rng = np.random.default_rng(0)
    p, step = rng.dirichlet(np.ones(5), 200), length * rng.normal(size=(200, 5))

    def value(q: np.ndarray) -> np.ndarray:
        return np.exp(q @ mean.points.T) @ mean.weights

    gradient, hessian = mean.slope(p)
    linear = np.einsum("bs,bs->b", gradient, step)
    bent = 0.5 * np.einsum("bst,bs,bt->b", hessian, step, step)
    size = np.linalg.norm(step, axis=1)
    far = np.linalg.norm(p, axis=1) + size
    _, third = derivative_norms(far, size)
    off = abs(value(p + step) - value(p) - linear - bent)
    limit = mean.norm * third / 6
    assert (off <= limit + mean.rounding).all()
    if length > 1e-2:  # and the limit is not vacuous
        assert (off > 1e-3 * limit).any()


def test_derivative_norms_are_those_of_the_kernel() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, delta = rng.dirichlet(np.ones(4)), 0.1 * rng.normal(size=4)
        # <D^k phi[delta], D^k phi[delta]> is a coefficient of exp(<q + s delta, q + t delta>)
        a, b = float(q @ delta), float(delta @ delta)
        for k, claimed in zip((1, 3), derivative_norms(*map(np.array, (1.0, b**0.5))), strict=True):
            exact = np.exp(q @ q) * sum(
                comb(k, j) ** 2 * factorial(j) * b**j * a ** (2 * (k - j)) for j in range(k + 1)
            )
            assert float(claimed) ** 2 >= exact


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_points_minima_and_tightened_boxes_agree_with_a_list_of_all_counts(
    data: st.DataObject,
) -> None:
    n, diameter = 6, 3
    every = np.array([h for h in np.ndindex(16, 16, 16) if sum(h) == 15])
    low = np.array(data.draw(st.lists(st.integers(0, 8), min_size=3, max_size=3)))
    width = np.array(data.draw(st.lists(st.integers(0, 12), min_size=3, max_size=3)))
    weights = tuple(data.draw(st.lists(st.integers(-5, 5), min_size=3, max_size=3)))
    box = HistogramBoxes(low[None], (low + width)[None], np.zeros(1))
    known = AtMost.of(known_of_distances(plain(n, diameter), ()), distances(diameter))
    inside = every[((low <= every) & (every <= low + width)).all(axis=1)]
    points = box.histograms(15, 10**6)
    assert points is not None
    assert sorted(map(tuple, points)) == sorted(map(tuple, inside))
    if len(inside):
        assert box.least_weight(weights, 15) == (inside @ np.array(weights)).min()
        middle = middles(box, 15)[0]
        assert middle.sum() == 15
        assert ((low <= middle) & (middle <= low + width)).all()
    allowed = np.all([inside @ weights <= most for weights, most in known], axis=0)
    tight = box.tightened(15, known).histograms(15, 10**6)
    assert tight is not None
    assert set(map(tuple, inside[allowed])) <= set(map(tuple, tight)) <= set(map(tuple, inside))


@given(st.integers(0, 30), st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_the_hull_holds_for_all_counts_in_the_boxes(seed: int, quantile: float) -> None:
    n, diameter = 7, 4
    space = GraphSpace(n)
    posterior = fitted(space, "essp", seed=seed).posterior
    objective = Criterion(space, posterior, LCB(1.0))
    every = possible_histograms(n, diameter)
    assert every is not None
    values = evaluate(objective, n, False, every, np.full((len(every), 1), n))
    value = float(np.quantile(values, quantile))
    boxes = boxes_of(solve_piece(Piece(plain(n, diameter)), objective, value).state())
    assert boxes is not None
    around = hull(boxes, EsspMean.of(posterior, diameter), n)
    assert around
    for weights, most in AtMost.of(around, distances(diameter)):
        assert (every[values < value] @ weights <= most).all()


def test_a_size_without_possible_attributes_is_settled_without_a_warning() -> None:
    """The best value over no attributes is infinite; infinity minus infinity was NaN."""
    space = GraphSpace((4, 5), labels=2, rules=[LabelCount(0, 3), LabelCount(1, 2)])
    objective = Criterion(space, fitted(space, "essp").posterior, LCB(1.0))
    for diameter in (2, 3):
        piece = Piece(Structure(space.shape(4), "strong", rules=space.rules, diameter=diameter))
        answer = solve_piece(piece, objective, 0.5, 20.0).solve()
        assert answer.proved
        assert answer.graph is None
