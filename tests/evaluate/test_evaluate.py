"""Evaluations end as outcomes, whatever the objective does."""

# ruff: noqa: ARG001  objectives take a graph even if they do not use it

from __future__ import annotations

import ctypes
import faulthandler
import io
import math
import os
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import Graph, GraphSpace, Study, minimize
from bogrape.console import status_line
from bogrape.errors import (
    EvaluationNotStarted,
    InvalidInputError,
    TooManyFailures,
    UnsupportedError,
)
from bogrape.evaluate import (
    CommandObjective,
    FuturesEvaluator,
    InlineEvaluator,
    Outcome,
    ProcessEvaluator,
    evaluate,
    make_evaluator,
)
from bogrape.evaluate.outcome import evaluate_json
from bogrape.optimize import run

SPACE = GraphSpace(n_nodes=4)
PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def n_edges(graph: Graph) -> float:
    return float(graph.n_edges)


def raises(graph: Graph) -> float:
    raise RuntimeError("the flask broke")


def hangs(graph: Graph) -> float:
    time.sleep(600)
    return 0.0


def segfaults(graph: Graph) -> float:
    faulthandler.disable()  # pytest's, which would print a page
    return float(ctypes.string_at(0)[0])


def eats_memory(graph: Graph) -> float:
    return float(sum(bytearray(1 << 31)[:1]))


def exits(graph: Graph) -> float:
    sys.exit(3)


def exits_hard(graph: Graph) -> float:
    os._exit(7)


def naps_or_exits(graph: Graph) -> float:
    time.sleep(0.5 if graph.n_nodes == 2 else 60)
    os._exit(7)


def outcome_of(objective: Callable[[Graph], Any], **limits: float) -> Outcome:
    evaluator = ProcessEvaluator(objective, **limits)  # type: ignore[arg-type]
    try:
        evaluator.submit(5, PATH)
        ((number, outcome),) = evaluator.wait()
    finally:
        evaluator.close()
    assert number == 5
    return outcome


# -- the nine outcomes ------------------------------------------------------------------------


def test_a_value_comes_back() -> None:
    assert outcome_of(n_edges) == Outcome("value", 2.0)


def test_an_exception_is_a_failure_with_its_message() -> None:
    outcome = outcome_of(raises)
    assert outcome.kind == "exception"
    assert outcome.reason == "RuntimeError: the flask broke"


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, None, "1.5", b"2", 1j, True, [1.0], np.ones(1), {}, 10**400],
    ids=str,
)
def test_a_value_that_is_not_a_finite_number_is_a_failure(value: Any) -> None:
    outcome = outcome_of(lambda _: value)
    assert outcome.kind == "not a value"
    assert outcome.reason is not None
    assert "finite number" in outcome.reason


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int64(3), np.array(2.5)], ids=repr)
def test_numbers_of_any_kind_are_values(value: Any) -> None:
    assert evaluate(lambda _: value, PATH) == Outcome("value", float(value))


def test_a_hang_is_killed_within_its_limit_and_two_seconds() -> None:
    start = time.monotonic()
    outcome = outcome_of(hangs, time_limit=0.3)
    assert time.monotonic() - start < 0.3 + 2
    assert outcome.kind == "time limit"


def test_a_hang_is_killed_with_all_the_programs_it_started() -> None:
    def objective(graph: Graph) -> float:
        import subprocess

        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(marker).write_text(str(child.pid), encoding="ascii")
        child.wait()
        return 0.0

    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        marker = f"{directory}/pid"
        assert outcome_of(objective, time_limit=1.0).kind == "time limit"
        grandchild = int(Path(marker).read_text(encoding="ascii"))
    deadline = time.monotonic() + 5
    while _alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(grandchild)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie has ended and only waits to be reaped


def test_a_segmentation_fault_is_a_failure_that_names_the_signal() -> None:
    outcome = outcome_of(segfaults)
    assert outcome.kind == "killed"
    assert outcome.reason is not None
    assert "SIGSEGV" in outcome.reason


def test_running_out_of_memory_is_a_failure() -> None:
    outcome = outcome_of(eats_memory, memory_limit=500e6)
    assert outcome.kind == "memory"


def test_being_killed_from_outside_is_a_failure() -> None:
    outcome = outcome_of(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert outcome.kind == "killed"
    assert "SIGKILL" in str(outcome.reason)


def test_sys_exit_is_a_failure() -> None:
    assert outcome_of(exits).kind == "exit"
    assert evaluate(exits, PATH).kind == "exit"


def test_ending_the_process_without_an_answer_is_a_failure() -> None:
    outcome = outcome_of(exits_hard)
    assert outcome.kind == "exit"
    assert "7" in str(outcome.reason)


def test_an_exception_that_cannot_be_printed_is_still_a_failure() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    def objective(graph: Graph) -> float:
        raise Odd

    assert evaluate(objective, PATH).kind == "exception"


def test_ctrl_c_in_this_process_is_not_swallowed() -> None:
    def objective(graph: Graph) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(objective, PATH)


def test_spawned_processes_work_too() -> None:
    evaluator = ProcessEvaluator(Graph.canonical_key, start_method="spawn")
    try:
        evaluator.submit(0, PATH)
        ((_, outcome),) = evaluator.wait()
    finally:
        evaluator.close()
    assert outcome.kind == "not a value"  # a string


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"kind": "x", "value": 1, "reason": null}'])
def test_an_answer_that_cannot_be_read_is_a_lost_evaluation(text: str) -> None:
    assert Outcome.from_json(text).kind == "lost"


# -- the evaluation loop ----------------------------------------------------------------------


def test_failures_do_not_stop_a_study_and_their_graphs_are_not_proposed_again() -> None:
    def objective(graph: Graph) -> float:
        if graph.n_edges == 4:
            raise RuntimeError("four edges are too many")
        return float(graph.n_edges)

    study = minimize(
        objective, GraphSpace(n_nodes=5), 6, 6, method="sample", progress=False, seed=3
    )
    states = [trial.state for trial in study.trials]
    assert len(states) == 12
    assert {"complete", "failed"} == set(states)
    assert len({trial.graph.canonical_key() for trial in study.trials}) == 12
    failed = next(trial for trial in study.trials if trial.state == "failed")
    assert failed.reason == "exception: RuntimeError: four edges are too many"


def test_a_study_stops_with_an_explanation_when_most_evaluations_fail() -> None:
    study = Study(GraphSpace(n_nodes=6))
    with pytest.raises(TooManyFailures, match=r"10 of the last 10 .* the flask broke"):
        run(study, InlineEvaluator(raises), 40, progress=False)
    assert [trial.state for trial in study.trials] == ["failed"] * 10
    run(study, InlineEvaluator(n_edges), 12, progress=False)  # it continues once that is fixed
    assert [trial.state for trial in study.trials][10:] == ["complete"] * 2


def test_a_failed_evaluation_is_tried_again_as_often_as_configured() -> None:
    tries: dict[str, int] = {}

    def fails_once(graph: Graph) -> float:
        key = graph.canonical_key()
        tries[key] = tries.get(key, 0) + 1
        if tries[key] == 1:
            raise RuntimeError("a hiccup")
        return float(graph.n_edges)

    study = Study(GraphSpace(n_nodes=5), n_initial=4, retries=1)
    run(study, InlineEvaluator(fails_once), 4, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * 4
    assert set(tries.values()) == {2}
    assert {trial.attempts for trial in study.trials} == {2}


def test_evaluations_run_at_the_same_time_and_are_refilled_as_they_finish() -> None:
    def naps(graph: Graph) -> float:
        time.sleep(0.3)
        return float(graph.n_edges)

    start = time.monotonic()
    study = minimize(
        naps, GraphSpace(n_nodes=5), 0, 8, executor="process", n_parallel=4, progress=False
    )
    assert [trial.state for trial in study.trials] == ["complete"] * 8
    assert time.monotonic() - start < 8 * 0.3


def test_a_hanging_objective_costs_its_trials_and_not_the_study() -> None:
    def objective(graph: Graph) -> float:
        return hangs(graph) if graph.n_edges == 3 else float(graph.n_edges)

    study = minimize(
        objective,
        GraphSpace(n_nodes=4),
        0,
        5,
        n_parallel=2,
        evaluation_time_limit=0.5,
        progress=False,
    )
    states = {trial.graph.n_edges: trial.state for trial in study.trials}
    assert states.pop(3) == "failed"
    assert set(states.values()) == {"complete"}


def test_ctrl_c_leaves_a_study_that_can_be_continued(tmp_path: Path) -> None:
    options: Any = {
        "storage": f"sqlite:///{tmp_path}/study.db",
        "method": "sample",
        "progress": False,
    }
    seen: list[Graph] = []

    def objective(graph: Graph) -> float:
        seen.append(graph)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return float(graph.n_edges)

    space = GraphSpace(n_nodes=5)
    with pytest.raises(KeyboardInterrupt):
        minimize(objective, space, 2, 4, **options)
    study = minimize(objective, space, 2, 4, **options)
    assert [trial.state for trial in study.trials] == ["complete"] * 6
    assert seen[3] == seen[4]  # evaluated again, as the same trial
    reference = minimize(n_edges, space, 2, 4, method="sample", progress=False)
    assert [trial.graph for trial in study.trials] == [trial.graph for trial in reference.trials]


@pytest.mark.parametrize("progress", [True, False])
def test_failures_are_summed_up_at_the_end(
    progress: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(graph: Graph) -> float:
        if graph.n_edges == 4:
            raise RuntimeError("four edges are too many")
        return n_edges(graph)

    study = minimize(
        objective, GraphSpace(n_nodes=5), 0, 12, method="sample", progress=progress, seed=3
    )
    n_failed = sum(trial.state == "failed" for trial in study.trials)
    assert n_failed >= 2
    (record,) = (r for r in caplog.records if "failed" in r.getMessage())
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        f"{n_failed} of 12 evaluations failed; most frequent reason ({n_failed} times): "
        "exception: RuntimeError: four edges are too many"
    )


def test_a_run_without_failures_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    minimize(n_edges, GraphSpace(n_nodes=5), 1, 4, method="sample", progress=False)
    assert not caplog.records


def test_a_terminal_gets_a_progress_bar_with_best_value_gap_and_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    space = GraphSpace(n_nodes=5, labels=2)
    study = minimize(n_edges, space, 2, 4, method="sample", name="edges")
    shown = terminal.getvalue()
    assert "edges: 100%" in shown
    for word in (f"best {study.best.value:g}", "gap ", "fit ", "propose ", "evaluate "):
        assert word in shown


def test_without_a_terminal_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "bogrape"):
        minimize(n_edges, GraphSpace(n_nodes=5), 1, 4, method="sample")
    lines = [record.getMessage() for record in caplog.records if "trial" in record.getMessage()]
    assert len(lines) == 5
    assert lines[-1].startswith("study: 5/5  trial 4: ")
    assert "(best 4" in lines[-1]


def test_a_script_without_terminal_and_logging_prints_a_line_per_second_and_the_last(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    minimize(n_edges, GraphSpace(n_nodes=5), 1, 4, method="sample", name="edges")
    first, last = capsys.readouterr().err.splitlines()  # at most one per second
    assert first.startswith("edges: 1/5  trial 0: ")
    assert last.startswith("edges: 5/5  trial 4: ")
    assert "(best 4" in last
    unhurried = partial(status_line, pause=0.0)
    monkeypatch.setattr("bogrape.optimize.status_line", unhurried)
    minimize(n_edges, GraphSpace(n_nodes=5), 1, 4, method="sample", name="edges")
    assert len(capsys.readouterr().err.splitlines()) == 5
    minimize(n_edges, GraphSpace(n_nodes=5), 1, 4, method="sample", progress=False)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_one_line_and_updates_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            assert raw
            shown.append(data["text/plain"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert display_id
        handle = Handle()
        handle.update(data, raw)
        return handle

    class Shell:
        kernel = object()

    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = Shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    minimize(n_edges, GraphSpace(n_nodes=5), 1, 4, method="sample", name="edges")
    assert len(shown) == 5
    assert shown[-1].startswith("edges: 5/5  trial 4: ")
    assert "(best 4" in shown[-1]
    assert capsys.readouterr().err == ""


def test_info_lines_are_about_trials_only(caplog: pytest.LogCaptureFixture) -> None:
    """INFO shows the progress of a study, not how proposals are found."""
    with caplog.at_level("INFO"):
        minimize(n_edges, GraphSpace(n_nodes=7, labels=2), 1, 4, time_limit=5.0)
    assert caplog.records
    assert all("trial" in record.getMessage() for record in caplog.records)


def test_an_exhausted_space_ends_the_run() -> None:
    study = minimize(n_edges, GraphSpace(n_nodes=3), 20, 2, method="sample", progress=False)
    assert len(study.trials) == 2  # the path and the triangle


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_of_the_standard_library_evaluate(pool: Any) -> None:
    with pool(2) as executor:
        study = minimize(
            n_edges, GraphSpace(n_nodes=5), 0, 6, executor=executor, n_parallel=2, progress=False
        )
    assert all(trial.value == trial.graph.n_edges for trial in study.trials)
    assert len(study.trials) == 6


def test_an_evaluation_that_breaks_its_pool_is_lost_and_the_next_is_not_started() -> None:
    with ProcessPoolExecutor(1) as executor:
        evaluator = FuturesEvaluator(exits_hard, executor.submit, 1)
        for number, kind in enumerate(["lost", "not started"]):
            evaluator.submit(number, PATH)
            ((_, outcome),) = evaluator.wait()
            assert outcome.kind == kind
            assert "BrokenProcessPool" in str(outcome.reason)


def test_if_a_pool_with_two_evaluations_breaks_neither_is_blamed() -> None:
    with ProcessPoolExecutor(2) as executor:
        evaluator = FuturesEvaluator(naps_or_exits, executor.submit, 2)
        evaluator.submit(0, PATH)
        evaluator.submit(1, Graph([[0, 1], [1, 0]]))
        outcomes = dict(evaluator.wait())
        outcomes.update(evaluator.wait())
    assert {outcome.kind for outcome in outcomes.values()} == {"not started"}


def test_an_executor_that_cannot_kill_gives_up_in_time() -> None:
    with ThreadPoolExecutor(1) as executor:
        evaluator = FuturesEvaluator(lambda _: time.sleep(1.0), executor.submit, 1, time_limit=0.1)
        evaluator.submit(0, PATH)
        start = time.monotonic()
        ((_, outcome),) = evaluator.wait()
        assert outcome.kind == "time limit"
        assert time.monotonic() - start < 0.9


def test_waiting_ends_at_its_timeout() -> None:
    evaluator = ProcessEvaluator(hangs)
    try:
        assert evaluator.wait() == []
        evaluator.submit(0, PATH)
        assert evaluator.wait(0.1) == []
    finally:
        evaluator.close()


# -- programs as objectives -------------------------------------------------------------------


def test_a_program_reads_the_graph_and_prints_its_value() -> None:
    code = "import json, sys; print('thinking'); print(len(json.load(sys.stdin)['edges']))"
    assert CommandObjective([sys.executable, "-c", code])(PATH) == 2.0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('much')", "a value and its noise variance, got 'much'"),
        ("pass", "must be a number"),
        ("import sys; sys.exit('no flask')", "ended with code 1: no flask"),
        ("import time; time.sleep(600)", "not finished after 0.5 s"),
    ],
)
def test_the_failure_of_a_program_is_explained(code: str, words: str) -> None:
    limit = 0.5 if "sleep" in code else 60.0
    outcome = evaluate(CommandObjective([sys.executable, "-c", code], time_limit=limit), PATH)
    assert outcome.kind == "exception"
    assert words in str(outcome.reason)


def test_a_program_that_cannot_be_started_counts_as_not_started(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo 1", encoding="ascii")
    astray = tmp_path / "astray"
    astray.write_text("#!/no/such/interpreter", encoding="ascii")
    astray.chmod(0o755)
    for command in (
        *(["no-such-program"], [str(plain)], [str(astray)], [str(tmp_path)]),
        *(["sh", "-c", "no-such-program"], ["env", "no-such-program"], ["sh", "-c", str(plain)]),
    ):
        for outcome in (
            evaluate(CommandObjective(command), PATH),
            outcome_of(CommandObjective(command)),
        ):
            assert outcome.kind == "not started", command
            assert repr(command[0]) in str(outcome.reason)
    assert (
        evaluate(CommandObjective("true", directory="/no/such/place"), PATH).kind == "not started"
    )


def test_an_empty_command_is_refused() -> None:
    for command in ("", "'unclosed", []):
        with pytest.raises(InvalidInputError):
            CommandObjective(command)


# -- what was not started -----------------------------------------------------------------------


def test_a_process_that_cannot_be_started_counts_as_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluator = ProcessEvaluator(n_edges)

    def refuse(*_: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(evaluator._context.Process, "start", refuse)  # type: ignore[attr-defined]
    evaluator.submit(3, PATH)
    ((number, outcome),) = evaluator.wait()
    assert (number, outcome.kind) == (3, "not started")
    assert "Resource temporarily unavailable" in str(outcome.reason)
    assert evaluator.wait() == []


def test_an_objective_that_cannot_be_sent_to_its_process_counts_as_not_started() -> None:
    lock = threading.Lock()
    evaluator = ProcessEvaluator(lambda _: float(lock.locked()), start_method="spawn")
    evaluator.submit(0, PATH)
    ((_, outcome),) = evaluator.wait()
    assert outcome.kind == "not started"
    assert "pickle" in str(outcome.reason)


def test_a_pool_that_was_shut_down_evaluates_nothing() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    evaluator = FuturesEvaluator(n_edges, pool.submit)
    evaluator.submit(0, PATH)
    ((_, outcome),) = evaluator.wait()
    assert outcome.kind == "not started"
    assert "shutdown" in str(outcome.reason)


@pytest.mark.parametrize("n_parallel", [1, 3])
def test_a_mistyped_command_stops_the_run_with_its_cause_and_costs_no_evaluation(
    n_parallel: int, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = Study(GraphSpace(n_nodes=5), url, n_initial=4)
    wrong = ProcessEvaluator(CommandObjective("simulte"), n_parallel)
    with pytest.raises(EvaluationNotStarted, match="'simulte': No such file"):
        run(study, wrong, 4, progress=False)
    wrong.close()
    assert len(study.trials) <= n_parallel
    assert {trial.state for trial in study.trials} <= {"queued", "pending"}
    study = run(Study.load(url), ProcessEvaluator(n_edges, n_parallel), 4, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * 4


def test_a_hiccup_of_the_infrastructure_costs_no_trial_and_no_retry(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[Graph] = []

    def objective(graph: Graph) -> float:
        calls.append(graph)
        if len(calls) in (2, 3, 6):
            raise EvaluationNotStarted("the licence server does not answer")
        if len(calls) == 4:
            raise RuntimeError("the flask broke")  # after two that do not count
        return n_edges(graph)

    study = Study(GraphSpace(n_nodes=5), n_initial=4, retries=1)
    run(study, InlineEvaluator(objective), 4, progress=False, n_evaluations=5)
    assert [trial.state for trial in study.trials] == ["complete"] * 4
    assert calls[1] == calls[2] == calls[3] == calls[4]
    assert "3 evaluations could not be started and were tried again" in caplog.text
    assert "the licence server does not answer" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_a_memory_limit_above_that_of_the_system_is_reduced_to_it() -> None:
    code = """
import resource
from bogrape import Graph
from bogrape.evaluate import ProcessEvaluator
hard = 64 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
evaluator = ProcessEvaluator(lambda graph: float(resource.getrlimit(resource.RLIMIT_AS)[0] / hard),
                             memory_limit=1e15)
evaluator.submit(0, Graph([[0, 1], [1, 0]]))
print(evaluator.wait()[0][1].value)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["1.0"]


# -- seconds ----------------------------------------------------------------------------------


def test_an_outcome_records_how_long_the_objective_ran() -> None:
    def naps(graph: Graph) -> float:
        time.sleep(0.3)
        return n_edges(graph)

    def naps_and_fails(graph: Graph) -> float:
        naps(graph)
        raise RuntimeError

    def naps_and_dies(graph: Graph) -> float:
        naps(graph)
        os._exit(3)

    for objective in (naps, naps_and_fails):
        assert 0.3 <= (evaluate(objective, PATH).seconds or 0) < 1.5
        assert 0.3 <= (outcome_of(objective).seconds or 0) < 1.5
        answer = Outcome.from_json(evaluate_json(objective, PATH.to_json()))
        assert 0.3 <= (answer.seconds or 0) < 1.5
    assert 0.3 <= (outcome_of(naps_and_dies).seconds or 0) < 1.5
    assert 0.5 <= (outcome_of(hangs, time_limit=0.5).seconds or 0) < 1.5


# -- choosing an evaluator --------------------------------------------------------------------


def test_the_executor_argument_chooses_the_evaluator() -> None:
    assert isinstance(make_evaluator(n_edges), InlineEvaluator)
    assert isinstance(make_evaluator(n_edges, n_parallel=2), ProcessEvaluator)
    assert isinstance(make_evaluator(n_edges, time_limit=5.0), ProcessEvaluator)
    own = InlineEvaluator(n_edges)
    assert make_evaluator(n_edges, own) is own


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"executor": "cloud"}, InvalidInputError),
        ({"executor": 7}, InvalidInputError),
        ({"executor": "dask://"}, InvalidInputError),
        ({"n_parallel": 0}, InvalidInputError),
        ({"time_limit": -1.0}, InvalidInputError),
        ({"time_limit": math.nan}, InvalidInputError),
        ({"memory_limit": "4GB"}, InvalidInputError),
        ({"executor": "inline", "n_parallel": 2}, UnsupportedError),
        ({"executor": "slurm", "memory_limit": 1e9}, UnsupportedError),
    ],
)
def test_a_wrong_executor_or_limit_is_refused(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make_evaluator(n_edges, **arguments)


def test_an_objective_that_is_not_a_function_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="function of a graph"):
        make_evaluator(3)  # type: ignore[arg-type]


def test_futures_of_an_executor_that_is_gone_are_not_waited_for() -> None:
    """A client that gave up on its scheduler may leave futures pending for ever."""
    left: Future[str] = Future()
    evaluator = FuturesEvaluator(n_edges, lambda *_: left, is_lost=lambda: True)
    evaluator.submit(3, GraphSpace(n_nodes=3).sample(1)[0])
    ((number, outcome),) = evaluator.wait()
    assert (number, outcome.kind, outcome.is_started) == (3, "not started", False)
