"""All large pieces get a slow bound, and the worst a second one."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from bogrape import LCB, GraphGP
from bogrape.molecules import molecule_space
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds import view_programs
from bogrape.propose.exact.proof import schedule
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.partition import open_pieces
from bogrape.propose.exact.proof.schedule import Rounds
from bogrape.propose.exact.proof.strategies import linear
from bogrape.propose.local.search import FirstSearch
from bogrape.propose.proposal import Request
from bogrape.propose.values import Elite


def in_turn(jobs, deadline, stop, meanwhile):  # noqa: ARG001
    """As `solve_all`, in this process; the last of several jobs is lost."""
    for index, job in enumerate(jobs):
        yield index, job.solve() if len(jobs) == 1 or index < len(jobs) - 1 else None


def rounds_of(space, value_above_best, monkeypatch):
    """Rounds with all pieces open, and the least value of each diameter."""
    graphs = space.sample(12, seed=0, distinct=True)
    gp = GraphGP("ssp", space=space).fit(graphs, np.random.default_rng(0).normal(size=12))
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    least = {}
    for graph in space.enumerate():
        diameter = int(graph.distances().max())
        least[diameter] = min(least.get(diameter, math.inf), criterion.of_graph(graph))
    value = min(least.values()) + value_above_best
    strategy = choose(criterion)
    left = open_pieces(strategy, value, time.monotonic() + 60)
    request = Request(time_limit=60.0)
    first = FirstSearch(criterion, request)
    first.elite, first.is_over = Elite(frozenset(), value, {}), True
    monkeypatch.setattr(schedule, "solve_all", in_turn)
    return Rounds(strategy, request, first, left), least


def test_all_pieces_are_bounded_and_none_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_LARGE", 4)
    monkeypatch.setattr(view_programs, "_MOST_HALVED", 20)
    monkeypatch.setattr(schedule, "n_workers", lambda: 1)
    rounds, least = rounds_of(molecule_space("qm7", 4), 0.5, monkeypatch)
    before = {item.piece.structure.diameter: item.bound for item in rounds.left}
    items = list(rounds.left)
    assert len(items) > 1
    rounds._bound_slowly()
    after = {item.piece.structure.diameter: item.bound for item in items}
    for diameter, bound in after.items():
        assert before[diameter] <= bound <= max(least[diameter], rounds.best) + 1e-7
    assert any(after[d] > before[d] + 1e-3 for d in after)
    assert max(item.n_slow for item in items) == 2
    # what is no longer open cannot hold anything better
    for item in items:
        if item not in rounds.left:
            assert least[item.piece.structure.diameter] >= rounds.best - 1e-7


def test_small_pieces_have_no_slow_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "BoundSlowly", None)  # an error if it is called
    rounds, _ = rounds_of(molecule_space("qm7", 4), 0.5, monkeypatch)
    rounds._bound_slowly()
    assert {item.n_slow for item in rounds.left} == {0}
