"""No process that an evaluation has started outlives the program that requested it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bogrape import Graph, Study
from bogrape.evaluate import CommandObjective, ProcessEvaluator, evaluate

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])

# A simulation like those of users: children in the background, in a group and in a session of
# their own (like those of `timeout`, MPI launchers and daemons), and one that outlived its parent.
SIMULATION = """#!/bin/sh
sleep 600 &
setsid sleep 600 &
timeout 600 sleep 600 &
(sleep 600 & exec sleep 600) &
sleep 0.3
echo ready > {ready}
wait
"""
SIMULATION_PROCESSES = 7  # the script, and six that sleep or watch one that does

STUDY = """
name = "test"
storage = "sqlite:///study.db"
[space]
n_nodes = 5
[search]
n_initial = 4
n_iterations = 0
method = "sample"
[objective]
command = "./simulate.sh"
[evaluation]
executor = "{executor}"
n_parallel = {n_parallel}
"""


@pytest.fixture
def simulation(tmp_path: Path) -> tuple[Path, Path]:
    """A program that sleeps, and a file that appears when all its processes have started."""
    program, ready = tmp_path / "simulate.sh", tmp_path / "ready"
    program.write_text(SIMULATION.format(ready=ready), encoding="ascii")
    program.chmod(0o755)
    return program, ready


def running() -> dict[int, int]:
    """The parent of each living process."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "ZX":  # a zombie has ended and only waits to be reaped
                    parents[int(entry.name)] = int(parent)
    return parents


def descendants(root: int) -> set[int]:
    parents = running()
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def cleaned() -> Iterator[set[int]]:
    """Processes to kill after the test, should it fail."""
    pids: set[int] = set()
    yield pids
    for pid in pids & running().keys():
        os.kill(pid, signal.SIGKILL)


def all_gone(pids: Collection[int]) -> bool:
    return not running().keys() & set(pids)


@pytest.mark.parametrize(
    ("number", "executor", "n_parallel"),
    [
        (signal.SIGKILL, "process", 1),
        (signal.SIGKILL, "process", 2),
        (signal.SIGKILL, "inline", 1),
        (signal.SIGHUP, "process", 1),
        (signal.SIGHUP, "inline", 1),
        (signal.SIGTERM, "process", 1),
        (signal.SIGINT, "inline", 1),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_ending_a_run_ends_its_simulations(
    number: signal.Signals,
    executor: str,
    n_parallel: int,
    simulation: tuple[Path, Path],
    tmp_path: Path,
    cleaned: set[int],
) -> None:
    _, ready = simulation
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(executor=executor, n_parallel=n_parallel), encoding="ascii")
    process = subprocess.Popen(
        [sys.executable, "-m", "bogrape.cli", "run", str(study)], stderr=subprocess.DEVNULL
    )
    cleaned.add(process.pid)
    assert wait_until(ready.exists, 60)
    wanted = n_parallel * SIMULATION_PROCESSES
    assert wait_until(lambda: len(descendants(process.pid)) > wanted, 60)
    started = descendants(process.pid)
    cleaned |= started
    process.send_signal(number)
    process.wait(60)
    assert wait_until(lambda: all_gone(started), 5), "simulations outlived the run"
    pending = Study.load(f"sqlite:///{tmp_path}/study.db", "test").trials
    assert {trial.state for trial in pending} == {"pending"}  # to be evaluated again


def test_killing_a_run_ends_stopped_simulations_too(
    simulation: tuple[Path, Path], tmp_path: Path, cleaned: set[int]
) -> None:
    _, ready = simulation
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(executor="process", n_parallel=1), encoding="ascii")
    process = subprocess.Popen(
        [sys.executable, "-m", "bogrape.cli", "run", str(study)], stderr=subprocess.DEVNULL
    )
    cleaned.add(process.pid)
    assert wait_until(ready.exists, 60)
    assert wait_until(lambda: len(descendants(process.pid)) > SIMULATION_PROCESSES, 60)
    started = descendants(process.pid)
    cleaned |= started
    for pid in started:
        os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.wait(60)
    assert wait_until(lambda: all_gone(started), 5), "simulations outlived the run"


def test_an_evaluation_over_its_time_limit_ends_with_all_its_processes(
    simulation: tuple[Path, Path], cleaned: set[int]
) -> None:
    program, ready = simulation
    before = descendants(os.getpid())
    evaluator = ProcessEvaluator(CommandObjective([str(program)]), time_limit=2.0)
    try:
        evaluator.submit(0, PATH)
        assert wait_until(ready.exists, 10)
        started = descendants(os.getpid()) - before
        cleaned |= started
        assert len(started) > SIMULATION_PROCESSES
        ((_, outcome),) = evaluator.wait()
    finally:
        evaluator.close()
    assert outcome.kind == "time limit"
    assert wait_until(lambda: all_gone(started), 5)


def test_a_command_over_its_time_limit_ends_with_all_its_processes(
    simulation: tuple[Path, Path], tmp_path: Path, cleaned: set[int]
) -> None:
    program, _ = simulation
    before = descendants(os.getpid())
    outcome = evaluate(CommandObjective([str(program)], time_limit=1.5), PATH)
    assert "not finished after 1.5 s" in str(outcome.reason)
    left = descendants(os.getpid()) - before
    cleaned |= left
    assert not left
    assert (tmp_path / "ready").exists()


def test_a_process_that_a_command_leaves_behind_does_not_delay_its_value() -> None:
    command = CommandObjective(["sh", "-c", "sleep 600 & echo 4"])
    start = time.monotonic()
    assert evaluate(command, PATH).value == 4.0
    assert time.monotonic() - start < 20


def test_a_command_ends_with_the_exit_code_or_signal_of_its_program() -> None:
    assert "ended with code 3" in str(
        evaluate(CommandObjective(["sh", "-c", "exit 3"]), PATH).reason
    )
    killed = evaluate(CommandObjective(["sh", "-c", "kill -ABRT $$"]), PATH)
    assert f"ended with code {-signal.SIGABRT}" in str(killed.reason)


def test_a_command_outlives_the_thread_that_started_it() -> None:
    """Linux signals children when the *thread* that started them ends."""
    import threading

    evaluator = ProcessEvaluator(CommandObjective(["sh", "-c", "sleep 1; echo 7"]))
    try:
        thread = threading.Thread(target=evaluator.submit, args=(0, PATH))
        thread.start()
        thread.join()
        ((_, outcome),) = evaluator.wait()
    finally:
        evaluator.close()
    assert outcome.value == 7.0
