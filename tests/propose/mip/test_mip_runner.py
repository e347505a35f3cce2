"""Every solve can be stopped; every failure ends in a clear error or the incumbent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bogrape import GraphGP, GraphSpace, propose
from bogrape.errors import SolverError
from bogrape.propose.mip import gurobi, scip
from bogrape.propose.mip.build import AcquisitionProgram
from bogrape.propose.mip.options import MipOptions
from bogrape.propose.mip.program import Program
from bogrape.propose.mip.runner import run
from bogrape.propose.mip.solution import Limits, SolverFailed
from places import TESTS

from mip_cases import instance


def fake(what: str, seconds: float = 20.0):  # type: ignore[no-untyped-def]
    program = Program()
    program.binary(what)
    return run(program, Limits(seconds), adapter="mip_fakes")


@pytest.fixture(autouse=True)
def _fakes_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def test_what_a_solver_prints_does_not_garble_its_answer() -> None:
    assert fake("print").found[0].objective == 1.0


def test_a_hung_solver_is_killed_at_the_deadline_and_its_best_solution_kept() -> None:
    began = time.monotonic()
    solution = fake("hang", seconds=1.5)
    assert time.monotonic() - began < 1.5 + 2.0
    assert solution.status == "time_limit"
    assert [found.objective for found in solution.found] == [2.0, 3.0]
    assert solution.bound == -7.0


@pytest.mark.parametrize(
    ("what", "kind", "message"),
    [
        ("segfault", "failed", r"crashed \(SIGSEGV: .*last words"),
        ("oom-killed", "memory", "lack of memory; try a smaller space"),
        ("memory", "memory", "out of memory"),
        ("exit", "failed", "exit status 3"),
        ("raise", "failed", "RuntimeError: no idea what to do"),
        ("missing", "missing", "pip install"),
        ("licence", "licence", "install a licence"),
        ("size", "size", "2000 variables and 2000 rows, and 200 variables once a row is quadratic"),
    ],
)
def test_every_failure_is_a_clear_error(what: str, kind: str, message: str) -> None:
    with pytest.raises(SolverError, match=f"(?s){message}") as error:
        fake(what)
    assert error.value.kind == kind


def test_ctrl_c_ends_the_solve_at_once_and_leaves_no_child() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # an earlier CP-SAT solve removes it
    timer = threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fake("hang", seconds=30.0)
    assert time.monotonic() - began < 5.0


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_the_child_ends_when_the_parent_is_killed() -> None:
    code = (
        "from bogrape.propose.mip.program import Program\n"
        "from bogrape.propose.mip.runner import run\n"
        "from bogrape.propose.mip.solution import Limits\n"
        "p = Program(); p.binary('hang'); run(p, Limits(60), adapter='mip_fakes')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        children: list[int] = []
        deadline = time.monotonic() + 20
        while not children and time.monotonic() < deadline:
            time.sleep(0.2)
            children = _children(parent.pid)
        time.sleep(1.0)
        parent.kill()
    assert children
    while any(_runs(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_runs(pid) for pid in children)


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("n", [8, 14])
def test_propose_keeps_its_time_limit_and_returns_the_incumbent_with_a_bound(n: int) -> None:
    space = GraphSpace(n, labels=3)
    graphs = space.sample(10, seed=0)
    gp = GraphGP("sp", n_labels=3).fit(graphs, np.random.default_rng(0).normal(size=10))
    began = time.monotonic()
    proposal = propose(space, gp, method="mip", time_limit=3.0)
    assert time.monotonic() - began < 3.0 + 2.0
    assert proposal.status in ("time_limit", "heuristic")
    assert proposal.bound < proposal.value


def test_a_memory_limit_ends_the_solve() -> None:
    objective = instance(GraphSpace(7), "ssp", 0)
    encoded = AcquisitionProgram(objective, MipOptions())
    start = encoded.program.vector(encoded.start(objective.space.sample(1, seed=1)[0]))
    solution = run(encoded.program, Limits(20.0, memory=5), start)
    assert solution.status == "memory_limit"


def test_a_program_over_the_free_licence_names_the_limit_and_its_size() -> None:
    pytest.importorskip("gurobipy")
    space = GraphSpace(7, labels=2)
    gp = GraphGP("ssp", n_labels=2).fit(space.sample(4, seed=0), [1.0, 2.0, 3.0, 0.0])
    message = None
    try:
        propose(space, gp, method="mip", solver="gurobi", time_limit=10)
    except SolverError as error:
        message = str(error)
    if message is not None:  # a full licence solves it
        assert "200 variables once a row is quadratic" in message
        assert "variables and" in message
        assert 'solver="scip"' in message


def test_missing_solvers_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    program.binary("x")
    for module, name in ((gurobi, "gurobipy"), (scip, "pyscipopt")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(SolverFailed, match=name) as error:
            module.solve(program, Limits())
        assert error.value.failure.kind == "missing"


def test_licence_errors_of_gurobi_are_distinguished() -> None:
    grb = pytest.importorskip("gurobipy")
    program = Program()
    program.binary("x")
    for code, kind in ((10009, "licence"), (10010, "size"), (10001, "memory"), (10003, "failed")):
        failing = grb.GurobiError(code, "refused")
        with pytest.raises(SolverFailed) as error, gurobi._explained(grb, program):
            raise failing
        assert error.value.failure.kind == kind


def test_the_method_loads_no_solver_into_the_calling_process() -> None:
    code = (
        "import sys, numpy as np\n"
        "from bogrape import GraphGP, GraphSpace, propose\n"
        "space = GraphSpace(3); graphs = space.sample(3, seed=0)\n"
        "gp = GraphGP('ssp').fit(graphs, [0.0, 1.0, 2.0])\n"
        "propose(space, gp, method='mip', time_limit=20)\n"
        "print('pyscipopt' in sys.modules or 'gurobipy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
