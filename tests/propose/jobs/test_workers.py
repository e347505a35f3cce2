"""Workers that cannot start, load or answer stop a proposal at once; those that die do not."""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bogrape import GraphSpace, propose
from bogrape.errors import WorkerError
from bogrape.propose.jobs import pool, worker
from bogrape.propose.mip.program import Program
from bogrape.propose.mip.runner import run
from bogrape.propose.mip.solution import Limits
from exhaustive import fitted
from starting import start_workers_with

FAR = 60.0  # seconds: a silent retry until the time is up would take that long
SOON = 20.0  # seconds, on a busy machine


@pytest.fixture(autouse=True)
def _no_workers_of_other_tests() -> None:
    pool.shut_down()


def _no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")


KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
CANNOT_START: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "import error": (
        lambda patch: start_workers_with(patch, "import a_module_that_is_missing"),
        "exit status 1: .*No module named 'a_module_that_is_missing'",
    ),
    "missing interpreter": (_no_interpreter, r"FileNotFoundError.*/no/such/python"),
    "killed": (lambda patch: start_workers_with(patch, KILLED), "got SIGKILL"),
    "prints": (
        lambda patch: start_workers_with(patch, "print('Welcome to this machine', flush=True)"),
        "something other than messages: b'Welcome to this machine",
    ),
}


@dataclass
class Do:
    """A job that calls a function."""

    what: Callable[[], Any]
    time_limit: float = 30.0

    def solve(self) -> Any:
        return self.what()


def _solve(*whats: Callable[[], Any]) -> dict[int, Any]:
    return dict(pool.solve_all([Do(what) for what in whats], time.monotonic() + FAR))


@pytest.mark.parametrize("cause", CANNOT_START)
def test_a_worker_that_cannot_start_stops_the_proposal_with_the_cause(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, message = CANNOT_START[cause]
    change(monkeypatch)
    monkeypatch.setattr(pool, "_has_started", False)
    space = GraphSpace(5)
    gp = fitted(space, "ssp")
    began = time.monotonic()
    with pytest.raises(WorkerError, match=f"(?s){message}.*; try .*method='search'"):
        propose(space, gp, method="exact", time_limit=FAR)
    assert time.monotonic() - began < SOON


@pytest.mark.parametrize("cause", CANNOT_START)
def test_a_worker_that_cannot_start_stops_the_mip_with_the_cause(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, message = CANNOT_START[cause]
    change(monkeypatch)
    program = Program()
    program.binary("x")
    with pytest.raises(WorkerError, match=f"(?s){message}"):
        run(program, Limits(FAR))


def test_a_worker_killed_at_its_start_costs_one_job_if_others_have_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool, "_has_started", True)
    start_workers_with(monkeypatch, KILLED)
    with caplog.at_level(logging.WARNING):
        assert _solve(lambda: 1) == {0: None}
    assert "died (SIGKILL" in caplog.text


def _explode(pid: int) -> None:
    if pid != os.getpid():
        raise ImportError("cannot be made in another process")


class StaysAtHome:
    """An object that can be pickled but not loaded in another process."""

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        return _explode, (os.getpid(),)


class NeedsTwo(Exception):
    """An exception that pickle cannot rebuild."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def _fail() -> None:
    raise NeedsTwo("salt", "pepper")


def _call_home(_: object = StaysAtHome()) -> None:
    """A job whose default argument cannot be loaded elsewhere."""


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            types.MethodType(_call_home, StaysAtHome()),
            "cannot be loaded there: ImportError: cannot be made in another process",
        ),
        (types.MethodType(_call_home, threading.Lock()), "cannot be sent there: TypeError.*lock"),
        (threading.Lock, "answer cannot be sent back: TypeError.*lock"),
        (StaysAtHome, "cannot be read here: ImportError: cannot be made in another process"),
        (_fail, "failed there: NeedsTwo: salt and pepper"),
        (sys.exit, "failed there: SystemExit"),
    ],
    ids=["class", "lock", "answer", "unreadable", "exception", "exit"],
)
def test_a_task_or_answer_that_cannot_be_sent_is_an_error_with_the_cause(
    what: Callable[[], Any], message: str
) -> None:
    began = time.monotonic()
    with pytest.raises(WorkerError, match=message):
        _solve(what)
    assert time.monotonic() - began < SOON


def test_a_module_that_only_this_process_can_import_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def answer():\n    return 42\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        module = importlib.import_module("only_here")
    with pytest.raises(WorkerError, match=r"cannot be loaded there: .*No module named 'only_here'"):
        _solve(module.answer)


def _die(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_dies_during_its_job_costs_that_job_only(
    number: signal.Signals,
) -> None:
    answers = _solve(lambda: 1, lambda: _die(number), lambda: 3, lambda: 4)
    assert answers == {0: 1, 1: None, 2: 3, 3: 4}


def test_local_functions_are_sent_by_value_and_answers_come_back() -> None:
    factor = 7
    assert _solve(lambda: factor * 6, lambda: factor) == {0: 42, 1: 7}


def test_a_class_that_comes_back_is_the_one_that_was_sent_unchanged() -> None:
    seen: list[int] = []

    class Local:
        def look(self) -> list[int]:
            return seen

    before = Local.look
    thing = Local()
    (answer,) = _solve(lambda: thing).values()
    assert type(answer) is Local
    assert Local.look is before
    assert answer.look() is seen


def test_changes_of_a_class_reach_workers_that_know_it() -> None:
    class Local:
        number = 1

    assert _solve(lambda: Local.number) == {0: 1}
    Local.number = 2
    assert _solve(lambda: Local.number) == {0: 2}


def test_workers_are_reused() -> None:
    first = set(_solve(os.getpid).values())
    assert first == set(_solve(os.getpid).values())
    assert os.getpid() not in first


def test_truncated_messages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    with path.open("wb") as stream:
        worker.write(stream, b"abc")
    whole = path.read_bytes()
    with path.open("rb") as stream:
        assert worker.read(stream) == b"abc"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with path.open("rb") as stream, pytest.raises((EOFError, worker.Garbled)):
            worker.read(stream)


def test_importable_classes_are_sent_by_reference() -> None:
    assert pickle.loads(worker.packed(Do)) is Do
    assert len(worker.packed(Do)) < 100


def test_something_useful_is_done_while_workers_are_busy() -> None:
    steps: list[float] = []

    def meanwhile() -> bool:
        steps.append(time.monotonic())
        time.sleep(0.01)
        return len(steps) < 5

    jobs = [Do(_nap) for _ in range(3)]
    found = dict(pool.solve_all(jobs, time.monotonic() + FAR, lambda: False, meanwhile))
    assert found == {0: "rested", 1: "rested", 2: "rested"}
    assert len(steps) >= 5
    assert steps[4] - steps[0] < 5 * pool._LOOK_EVERY  # at once, one after another


def _nap() -> str:
    time.sleep(0.5)
    return "rested"
