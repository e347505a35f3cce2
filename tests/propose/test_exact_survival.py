"""The exact engine under deadlines, Ctrl-C and killed workers: valid bounds, no process left."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bogrape import GraphGP, GraphSpace, propose
from bogrape.acquisition import LCB
from bogrape.encoding import structures
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.piece import Piece
from bogrape.propose.jobs import pool as worker
from exact_cases import solve_piece
from exhaustive import everything, fitted, random_graph, tolerance, true_values
from places import TESTS
from starting import start_workers_with, until, workers_of

linux = pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")


def _hard(n: int = 20, kernel: str = "ssp") -> tuple[GraphSpace, GraphGP]:
    """An instance that is not proved in a few seconds."""
    space = GraphSpace(n, labels=3)
    rng = np.random.default_rng(0)
    graphs = [random_graph(space, n, rng) for _ in range(25)]
    return space, GraphGP(kernel, n_labels=3, restarts=1).fit(graphs, rng.normal(size=25))


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@dataclass
class _Quick:
    """A job that is done in no time."""

    time_limit: float

    def solve(self) -> str:
        return "done"


def _slow_start(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Make workers take this long to start, as on a busy machine."""
    worker.shut_down()
    start_workers_with(monkeypatch, f"import time; time.sleep({seconds})")


def test_a_worker_that_is_slow_to_start_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It used to be killed when its first job was due, as was the next: nothing was ever proved."""
    _slow_start(monkeypatch, 1.5)
    answers = list(worker.solve_all([_Quick(0.1)], time.monotonic() + 30))
    assert answers == [(0, "done")]


def test_a_worker_that_does_not_start_by_the_deadline_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _slow_start(monkeypatch, 60)
    start = time.monotonic()
    assert list(worker.solve_all([_Quick(0.1)], start + 0.5)) == [(0, None)]
    assert time.monotonic() - start <= 2.5


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_a_deadline_is_kept_and_the_bound_is_valid(kernel: str) -> None:
    space, gp = _hard(20, kernel)
    start = time.monotonic()
    proposal = propose(space, gp, LCB(1.0), method="exact", time_limit=1.0)
    assert time.monotonic() - start <= 3.0
    assert proposal.status in ("time_limit", "optimal")
    assert space.contains(proposal.graph)
    better = propose(space, gp, LCB(1.0), method="search", time_limit=20.0)
    assert proposal.bound <= better.value + tolerance(gp, LCB(1.0), better.value)
    assert proposal.bound <= proposal.value


@pytest.mark.parametrize("time_limit", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp"])
def test_bounds_are_valid_however_early_time_runs_out(kernel: str, time_limit: float) -> None:
    space = GraphSpace(6, labels=2)
    gp = fitted(space, kernel, seed=41)
    rng = np.random.default_rng(1)
    sample = [random_graph(space, 6, rng, one_label=i % 2 == 0) for i in range(400)]
    lowest = float(true_values(gp, LCB(1.0), sample).min())
    proposal = propose(space, gp, LCB(1.0), method="exact", time_limit=time_limit)
    assert proposal.bound <= lowest + tolerance(gp, LCB(1.0), lowest)
    if proposal.status == "optimal":
        assert proposal.value <= lowest + tolerance(gp, LCB(1.0), lowest)


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_a_piece_interrupted_at_any_moment_has_a_valid_bound(kernel: str) -> None:
    """Each part of the space alone, with hardly any time."""
    space = GraphSpace(7, labels=2 if kernel in ("ssp", "essp") else None)
    gp = fitted(space, kernel, seed=42)
    objective = Criterion(space, gp.posterior, LCB(1.0))
    bare = everything(GraphSpace(7))
    values = [objective.of_graph(type(g)(g.adjacency, np.zeros(7, int))) for g in bare]
    structure = structures([space.shape(7)], True, ())[0]
    by_diameter: dict[int, float] = {}
    for graph, value in zip(bare, values, strict=True):
        d = int(graph.distances().max())
        by_diameter[d] = min(by_diameter.get(d, math.inf), float(value))
    for part in structure.by_diameter():
        assert part.diameter is not None
        lowest = by_diameter[part.diameter]
        for limit in (0.0, 0.003, 0.01, 0.03):
            answer = solve_piece(Piece(part), objective, math.inf, limit).solve()
            assert answer.bound <= lowest + 1e-6 * max(1.0, abs(lowest))


def test_a_solve_interrupted_before_it_began_has_no_bound() -> None:
    space, gp = _hard(16)
    objective = Criterion(space, gp.posterior, LCB(1.0))
    structure = structures([space.shape(16)], True, ())[0]
    searched = propose(space, gp, LCB(1.0), method="search", time_limit=5.0)
    lowest = objective.of_graph(searched.graph)
    for part in list(structure.by_diameter())[1:6]:
        answer = solve_piece(Piece(part), objective, lowest + 5.0, 0.05).solve()
        assert not answer.proved
        assert answer.bound < lowest + 5.0 or answer.graph is not None


_RUN = """
import sys
sys.path[:0] = {paths!r}
from test_exact_survival import _hard
from exact_cases import solve_piece
from bogrape import propose
space, gp = _hard(20)
print("ready", flush=True)
propose(space, gp, time_limit=60.0, method="exact")
"""


def _running() -> subprocess.Popen[bytes]:
    script = _RUN.format(paths=[str(TESTS), str(Path(__file__).parent)])
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@linux
def test_ctrl_c_ends_a_proof_at_once_and_leaves_no_worker() -> None:
    process = _running()
    try:
        assert until(lambda: workers_of(process.pid), 40), "no worker was started"
        workers = workers_of(process.pid)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=15)  # of the time limit of 60 s
        assert b"KeyboardInterrupt" in errors
        assert until(lambda: not any(map(_alive, workers)), 10)
    finally:
        process.kill()
        process.wait()


@linux
def test_ctrl_c_during_the_search_ends_it_too() -> None:
    process = _running()
    try:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=15)  # of the time limit of 60 s
        assert b"KeyboardInterrupt" in errors
    finally:
        process.kill()
        process.wait()


@linux
def test_workers_die_with_their_parent() -> None:
    process = _running()
    try:
        assert until(lambda: workers_of(process.pid), 40), "no worker was started"
        time.sleep(0.3)
        workers = workers_of(process.pid)
    finally:
        process.kill()
        process.wait()
    assert workers
    assert until(lambda: not any(map(_alive, workers)), 3)


@linux
def test_stopped_workers_die_with_their_parent() -> None:
    """A stopped process does not read its closed pipe: it has to be woken up."""
    process = _running()
    workers: list[int] = []
    try:
        assert until(lambda: workers_of(process.pid), 40), "no worker was started"
        time.sleep(0.5)
        workers = workers_of(process.pid)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
    finally:
        process.kill()
        process.wait()
    assert workers
    try:
        assert until(lambda: not any(map(_alive, workers)), 5)
    finally:
        for pid in filter(_alive, workers):
            os.kill(pid, signal.SIGKILL)


@linux
def test_bounds_are_valid_when_workers_are_killed_during_a_solve() -> None:
    space, gp = _hard(14)
    assert dict(worker.solve_all([_Quick(5.0)], time.monotonic() + 60)) == {0: "done"}
    stop = threading.Event()
    killed = []

    def killer() -> None:
        while not stop.wait(0.25):
            for pid in workers_of(os.getpid())[:1]:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        proposal = propose(space, gp, LCB(1.0), method="exact", time_limit=3.0)
    finally:
        stop.set()
        thread.join()
    assert killed
    better = propose(space, gp, LCB(1.0), method="search", time_limit=20.0, seed=1)
    assert proposal.bound <= better.value + tolerance(gp, LCB(1.0), better.value)
    assert space.contains(proposal.graph)


@linux
def test_after_workers_were_killed_the_next_proof_starts_new_ones() -> None:
    space = GraphSpace(5)
    gp = fitted(space, "essp", seed=43)
    propose(space, gp, method="exact")
    for pid in workers_of(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    values = true_values(gp, LCB(1.0), list(everything(space)))
    proposal = propose(space, gp, method="exact")
    assert proposal.status == "optimal"
    assert abs(proposal.value - values.min()) <= tolerance(gp, LCB(1.0), float(values.min()))


class Hang:
    """A job that never ends by itself."""

    time_limit = 0.2

    def solve(self) -> None:
        """Sleep through every deadline."""
        time.sleep(60)


class Fail:
    """A job that raises."""

    time_limit = 5.0

    def solve(self) -> None:
        """Raise."""
        raise ZeroDivisionError("as asked")


def test_a_job_that_hangs_is_killed_and_has_no_answer() -> None:
    start = time.monotonic()
    answers = dict(worker.solve_all([Hang(), Hang(), Hang()], time.monotonic() + 0.5))
    assert answers == {0: None, 1: None, 2: None}
    assert time.monotonic() - start <= 2.5


def test_an_error_of_a_job_is_raised_by_the_parent() -> None:
    with pytest.raises(ZeroDivisionError, match="as asked"):
        list(worker.solve_all([Fail()], time.monotonic() + 20))
