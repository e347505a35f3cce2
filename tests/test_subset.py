"""The observations that a model is fitted to when there are too many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import GraphSpace
from bogrape.counts import Counts, count
from bogrape.subset import _coordinates, _spread, representative

GRAPHS = GraphSpace((4, 7), labels=3).sample(200, seed=0)


def values(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n).round(1)  # with ties


def counts(n: int) -> Counts:
    return count(GRAPHS[:n], 3, pairs=False)


@settings(max_examples=60)
@given(st.integers(4, 60), st.integers(5, 200), st.integers(0, 99), st.data())
def test_chosen_observations_include_the_best_the_latest_and_the_best_to_beat(
    n: int, n_all: int, seed: int, data: st.DataObject
) -> None:
    y = values(n_all, seed)
    to_beat = np.array(data.draw(st.lists(st.booleans(), min_size=n_all, max_size=n_all)))
    chosen = representative(counts(n_all), y, n, to_beat)
    assert len(chosen) == len(set(chosen.tolist())) == min(n, n_all)
    assert chosen.tolist() == sorted(chosen.tolist())
    assert set(np.argsort(y, kind="stable")[: n // 4]) <= set(chosen)
    assert set(range(max(0, n_all - n // 4), n_all)) <= set(chosen)
    if to_beat.any():
        assert y[to_beat].min() == y[chosen[to_beat[chosen]]].min()


def test_all_are_taken_when_there_are_few() -> None:
    assert representative(counts(10), values(10, 0), 10).tolist() == list(range(10))


@given(st.integers(0, 99))
@settings(max_examples=20)
def test_each_point_that_fills_the_space_is_the_farthest_from_all_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, (30, 3)).astype(float)
    taken = [points[i] for i in (0, 1)]
    for i in _spread(points, np.array(taken), 12):
        distances = [min(float(((p - q) ** 2).sum()) for q in taken) for p in points]
        assert distances[i] == max(distances)
        taken.append(points[i])


def test_points_that_coincide_are_taken_once_each() -> None:
    assert sorted(_spread(np.zeros((5, 2)), np.zeros((1, 2)), 5)) == [0, 1, 2, 3, 4]


def test_chosen_observations_leave_smaller_gaps_than_random_ones() -> None:
    points = _coordinates(counts(200))
    y = values(200, 1)

    def widest_gap(chosen: np.ndarray) -> float:
        squares = ((points[:, None] - points[None, chosen]) ** 2).sum(axis=2)
        return float(squares.min(axis=1).max())

    rng = np.random.default_rng(0)
    random = [widest_gap(rng.permutation(200)[:40]) for _ in range(20)]
    assert widest_gap(representative(counts(200), y, 40)) < min(random)


@pytest.mark.parametrize("n", [40, 41, 43])
def test_equal_observations_give_equal_choices(n: int) -> None:
    first = representative(counts(200), values(200, 2), n)
    assert (first == representative(counts(200), values(200, 2), n)).all()
