"""Graphs of a large diameter: all of them, each once, by comparison with other lists."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from bogrape.propose.exact.skeletons.elongated import elongated, least_listed
from bogrape.propose.exact.skeletons.store import most_cycles, skeletons_of

# connected graphs with diameters n - 4, n - 3, n - 2 and n - 1, counted by geng and countg
GENG = {
    8: [1027, 125, 12, 1],
    9: [1818, 180, 13, 1],
    10: [2928, 239, 16, 1],
}


@pytest.mark.parametrize("n", GENG)
def test_there_are_as_many_as_geng_lists(n: int) -> None:
    found = elongated(n)
    diameters = (found.histograms > 0).sum(axis=1)
    assert least_listed(n) == n - 4
    assert [int((diameters == d).sum()) for d in range(n - 4, n)] == GENG[n]
    assert len(found) == sum(GENG[n])


def test_they_are_those_of_all_skeletons_of_eight_nodes() -> None:
    every = skeletons_of(8, 7, range(most_cycles(8, 7) + 1))
    far = every.select((every.histograms > 0).sum(axis=1) >= 4)
    found = {tuple(map(int, code)) for code in elongated(8).codes}
    assert found == {tuple(map(int, code)) for code in far.codes}


@pytest.mark.parametrize("n", [1, 7, 13])
def test_other_sizes_are_not_listed(n: int) -> None:
    assert least_listed(n) is None
    assert len(elongated(n)) == 0


def test_no_graph_is_listed_after_the_deadline() -> None:
    with pytest.raises(TimeoutError):
        elongated(12, time.monotonic() - 1.0)
    assert len(elongated(9, math.inf)) == np.sum(GENG[9])
