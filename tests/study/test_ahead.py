"""Parallel evaluations: proposals are computed ahead, and no worker waits for long."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bogrape import Graph, GraphSpace, Study, minimize
from bogrape.errors import SearchSpaceExhausted
from bogrape.evaluate import Outcome, ProcessEvaluator
from bogrape.optimize import run
from bogrape.study.planner import Planner
from bogrape.trial import Trial

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no other process proposes there")
SPACE = GraphSpace(n_nodes=6, labels=2)

SLOW = """
import time
from bogrape.study.planner import Planner
from bogrape.trial import Trial
plan = Planner.next
def slowly(planner, trials, *arguments, **named):
    if len(trials) > 3:  # not the rehearsal
        time.sleep({seconds})
    return plan(planner, trials, *arguments, **named)
Planner.next = slowly
"""


def slow_proposals(directory: Path, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the process that computes proposals sleep before each of them."""
    (directory / "sitecustomize.py").write_text(SLOW.format(seconds=seconds), encoding="ascii")
    paths = [str(directory), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def told_study(**options: Any) -> Study:
    """A study whose initial design is evaluated."""
    study = Study(SPACE, method="sample", n_initial=4, **options)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, n_edges(trial.graph))
    return study


def n_edges(graph: Graph) -> float:
    return float(graph.n_edges)


def proposers() -> set[int]:
    """Child processes that compute proposals."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if b"bogrape.study.proposer" in words and parent == os.getpid():
            found.add(int(entry.name))
    return found


def test_a_proposal_computed_ahead_equals_that_of_ask() -> None:
    study, reference = told_study(), told_study()
    with study.ahead() as ahead:
        for _ in range(3):
            assert ahead.start()
            assert ahead.is_busy
            trial = ahead.take("me", None, timeout=60)
            assert trial is not None
            assert not ahead.is_busy
            expected = reference.ask()
            assert (trial.id, trial.graph, trial.seed) == (
                expected.id,
                expected.graph,
                expected.seed,
            )
            assert trial.origin == expected.origin == "proposal"
            assert trial.certificate["value"] == expected.certificate["value"]
            assert (trial.state, trial.worker) == ("pending", "me")
            assert study.trials[trial.id] == trial
            study.tell(trial, n_edges(trial.graph))
            reference.tell(expected, n_edges(expected.graph))
        assert ahead.mean_seconds is not None


def test_graphs_that_need_no_proposal_are_left_to_ask() -> None:
    study = Study(SPACE, method="sample", n_initial=4)
    with study.ahead() as ahead:
        assert not ahead.start()  # the initial design
        study = told_study()
        study.enqueue(SPACE.sample(1, seed=99)[0])
        assert not study.ahead().start()


def test_a_graph_that_another_worker_took_meanwhile_is_not_handed_out() -> None:
    study = told_study()
    other = Study.load(study.storage)
    with study.ahead() as ahead:
        assert ahead.start()
        theirs = other.ask()  # the same graph: both have the same data
        assert ahead.take("me", None, timeout=60) is None
        assert not ahead.is_busy
        assert ahead.start()
        ours = ahead.take("me", None, timeout=60)
    assert ours is not None
    assert ours.graph.canonical_key() != theirs.graph.canonical_key()


def test_errors_of_planning_reach_the_caller() -> None:
    space = GraphSpace(n_nodes=3)
    study = Study(space, method="sample", n_initial=2)
    for _ in range(2):
        trial = study.ask()
        study.tell(trial, n_edges(trial.graph))
    with study.ahead() as ahead:
        assert ahead.start()
        with pytest.raises(SearchSpaceExhausted):
            ahead.take("me", None, timeout=60)
        assert not ahead.is_busy


class Own:
    """An acquisition function defined by the user."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, mean: Any, std: Any, best: float) -> Any:  # noqa: ARG002
        return mean - std


def test_proposals_that_cannot_be_sent_are_computed_in_this_process() -> None:
    unsendable, unknown = Own(lambda: None), Own(None)  # the other process cannot import tests
    for acquisition in (unsendable, unknown):
        study = minimize(
            n_edges,
            SPACE,
            3,
            3,
            method="sample",
            acquisition=acquisition,
            n_parallel=2,
            progress=False,
        )
        assert [trial.state for trial in study.trials] == ["complete"] * 6
        assert "proposal" in {trial.origin for trial in study.trials}


def test_a_process_that_dies_is_replaced_by_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_proposals(tmp_path, 60.0, monkeypatch)
    study = told_study()
    with study.ahead() as ahead:
        assert ahead.start()
        assert ahead._process is not None
        ahead._process.kill()
        assert ahead.take("me", None, timeout=30) is None
        assert not ahead.is_busy
        assert not ahead.start()


class Slots:
    """Evaluations on a clock of our own, which jumps to the next event: each takes 2 s."""

    n_parallel = 3

    def __init__(self) -> None:
        self.now = 0.0
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.running: dict[int, tuple[float, Graph]] = {}

    def submit(self, number: int, graph: Graph) -> None:
        assert len(self.running) < self.n_parallel
        self.running[number] = self.now + 2.0, graph
        self.starts.append(self.now)

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        first = min(end for end, _ in self.running.values())
        self.now = first if timeout is None else max(self.now, min(first, self.now + timeout))
        done = {n: graph for n, (end, graph) in self.running.items() if end <= self.now}
        self.ends += [self.running.pop(number)[0] for number in done]
        return [(n, Outcome("value", n_edges(graph), seconds=2.0)) for n, graph in done.items()]

    def close(self) -> None:
        pass


class Planned:
    """Proposals on that clock: each takes 0.4 s, while other things happen."""

    mean_seconds: float | None = None

    def __init__(self, study: Study, slots: Slots) -> None:
        self.study, self.slots = study, slots
        self.ready: float | None = None

    def __enter__(self) -> Planned:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def warm_up(self) -> None:
        pass

    @property
    def is_busy(self) -> bool:
        return self.ready is not None

    def start(self) -> bool:
        if self.study._asking.planner.must_propose(list(self.study.trials)):
            self.ready = self.slots.now + 0.4
        return self.is_busy

    def take(self, worker: str, most: int, timeout: float) -> Trial | None:
        assert self.ready is not None
        self.slots.now = max(self.slots.now, min(self.ready, self.slots.now + timeout))
        if self.slots.now < self.ready:
            return None
        self.ready, self.mean_seconds = None, 0.4
        held = sum(t.state == "pending" for t in self.study.trials)
        asked = self.study.ask(held + 1, worker=worker, most=most)
        assert isinstance(asked, list)
        return asked[-1]


def test_slots_are_filled_and_values_told_while_a_proposal_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evaluations of 2 s in three slots: one becomes free every 0.7 s. A proposal takes 0.4 s.

    Without proposals made ahead, a slot would be empty for 0.4 s or more after each evaluation.
    """
    n_initial, n_trials = 4, 15
    study = Study(SPACE, method="sample", n_initial=n_initial)
    slots = Slots()
    planned, told, tell = Planned(study, slots), [], study.tell

    def watched(*arguments: Any, **named: Any) -> Trial:
        told.append(slots.now)
        return tell(*arguments, **named)

    monkeypatch.setattr(study, "ahead", lambda: planned)
    monkeypatch.setattr(study, "tell", watched)
    run(study, slots, n_trials, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * n_trials
    assert sum(trial.origin == "proposal" for trial in study.trials) == n_trials - n_initial
    assert told == slots.ends == sorted(slots.ends)  # at once
    # The k-th evaluation to end frees the slot of the one that is started three after it.
    gaps = [start - end for start, end in zip(slots.starts[3:], slots.ends, strict=False)]
    assert len(gaps) == n_trials - 3
    assert max(gaps[-7:]) == pytest.approx(0.0, abs=1e-9)
    assert max(gaps[:-7]) > 0.4  # before the time of a proposal was known


def test_all_proposals_of_a_parallel_run_are_computed_by_the_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_proposals(tmp_path, 0.2, monkeypatch)
    here: list[int] = []
    plan = Planner.next

    def watched(planner: Planner, trials: Any, *arguments: Any, **named: Any) -> Any:
        here.append(len(trials))
        return plan(planner, trials, *arguments, **named)

    monkeypatch.setattr(Planner, "next", watched)

    def naps(graph: Graph) -> float:
        time.sleep(0.5)
        return n_edges(graph)

    n_initial, n_iterations = 4, 6
    study = minimize(
        naps,
        SPACE,
        n_iterations,
        n_initial,
        method="sample",
        executor="process",
        n_parallel=3,
        progress=False,
    )
    trials = study.trials
    assert [trial.state for trial in trials] == ["complete"] * (n_initial + n_iterations)
    assert len({trial.graph.canonical_key() for trial in trials}) == len(trials)
    assert sum(trial.origin == "proposal" for trial in trials) >= n_iterations - 1
    assert max(here) < n_initial
    assert all((trial.evaluation_seconds or 0) >= 0.5 for trial in trials)


def test_quick_proposals_are_not_made_ahead_so_that_they_use_all_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each proposal uses every evaluation except those still running."""
    known: list[int] = []

    def naps(graph: Graph) -> float:
        time.sleep(0.5)
        return n_edges(graph)

    study = Study(SPACE, method="sample", n_initial=3)
    evaluator = ProcessEvaluator(naps, n_parallel=2)
    reserve = study._asking.reserve

    def watched(*arguments: Any) -> Any:
        known.append(sum(not trial.is_finished for trial in study.trials))
        return reserve(*arguments)

    study._asking.reserve = watched  # type: ignore[method-assign]
    monkeypatch.setattr("bogrape.optimize._NOTICEABLE", 100.0)  # any proposal counts as quick
    run(study, evaluator, 8, progress=False)
    assert max(known) <= 1


def test_seconds_are_those_of_the_function_however_long_proposing_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Planner.next

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.8)
        return plan(*arguments)

    monkeypatch.setattr(Planner, "next", slowly)

    def naps(graph: Graph) -> float:
        time.sleep(0.2)
        return n_edges(graph)

    study = minimize(naps, SPACE, 0, 4, executor="process", n_parallel=2, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * 4
    assert all(0.2 <= (trial.evaluation_seconds or 0) < 0.7 for trial in study.trials)


def test_no_evaluation_is_started_beyond_the_budget(tmp_path: Path) -> None:
    options: Any = {"method": "sample", "n_initial": 3, "storage": f"sqlite:///{tmp_path}/s.db"}
    study = Study(SPACE, **options)
    evaluator = ProcessEvaluator(n_edges, n_parallel=3)
    run(study, evaluator, 9, progress=False, n_evaluations=5)
    assert [trial.state for trial in study.trials] == ["complete"] * 5
    run(study, evaluator, 9, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * 9


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_ctrl_c_while_a_proposal_is_computed_is_prompt_and_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_proposals(tmp_path, 60.0, monkeypatch)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    study = told_study()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 3.0)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run(study, ProcessEvaluator(n_edges, n_parallel=2), 8, progress=False)
        assert time.monotonic() - start < 6.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not proposers()
    assert [trial.state for trial in study.trials] == ["complete"] * 4
