"""Asking for several graphs: one time limit, visible progress, Ctrl-C returns the best."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from bogrape import GraphSpace, Study, console, propose
from bogrape.constraints import NumberOfEdges
from bogrape.errors import InvalidInputError
from bogrape.gp import GraphGP
from bogrape.propose import Stage
from bogrape.study import TrialList, planner
from starting import until, workers_of

HARD = GraphSpace(18, labels=5)  # a proof for SP takes seconds


def known(space: GraphSpace, n: int = 12, **options: Any) -> Study:
    study = Study(space, n_initial=2, **options)
    study.add_all(
        [(g, float((i * 7) % 5)) for i, g in enumerate(space.sample(n, seed=1, distinct=True))]
    )
    return study


def test_one_time_limit_holds_for_the_whole_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []

    def slow(*args: Any, time_limit: float, **options: Any) -> Any:
        shares.append(time_limit)
        time.sleep(min(time_limit, 0.1))
        return propose(*args, **{**options, "method": "search"}, time_limit=0.1)

    monkeypatch.setattr(planner, "propose", slow)
    study = known(GraphSpace(6, labels=2), time_limit=60.0)
    study.ask(4, time_limit=2.0)
    assert len(shares) == 4
    assert 0 < shares[0] <= 0.5  # a quarter of the limit, less what the fit took
    assert all(share <= 2.0 for share in shares)
    shares.clear()
    known(GraphSpace(6, labels=2), time_limit=2.0).ask(4)  # the study's own limit, shared out
    assert 0 < shares[0] <= 0.5


@pytest.mark.parametrize("wrong", [0, -1.0, "x", True, float("nan")])
def test_a_time_limit_must_be_a_number_of_seconds(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="time_limit to be a number of seconds > 0"):
        known(GraphSpace(5)).ask(time_limit=wrong)


def test_a_batch_is_a_list_that_notebooks_can_show() -> None:
    batch = known(GraphSpace(6, labels=2), method="search").ask(3, time_limit=2)
    assert isinstance(batch, TrialList)
    assert len(batch) == 3


def test_an_incomplete_batch_gives_a_reason(caplog: pytest.LogCaptureFixture) -> None:
    study = Study(GraphSpace(4, rules=[NumberOfEdges(maximum=3)]), n_initial=2, time_limit=5)
    with caplog.at_level(logging.WARNING, "bogrape"):
        batch = study.ask(10)
    assert len(batch) == 2  # type: ignore[arg-type]  # a path and a star
    assert "found only 2 of 10 graphs" in caplog.text


# -- stopping ---------------------------------------------------------------------------------


def test_a_stopped_proof_gives_the_candidate_with_a_valid_bound() -> None:
    graphs, y = known(HARD).dataset
    gp = GraphGP("sp", n_labels=5).fit(graphs, y)
    stages: list[Stage] = []
    found = propose(HARD, gp, time_limit=60, watch=stages.append, stop=lambda: bool(stages))
    assert stages[0].step == "search"  # the search is done, and nothing is proved
    assert found.value == pytest.approx(stages[0].value)
    assert HARD.contains(found.graph)
    assert found.bound < found.value
    assert found.status == "time_limit"
    assert propose(HARD, gp, time_limit=60).value >= found.bound


def test_a_stopped_search_gives_the_best_so_far() -> None:
    graphs, y = known(HARD).dataset
    gp = GraphGP("sp", n_labels=5).fit(graphs, y)
    looks = iter([False] * 3)
    short = propose(HARD, gp, method="search", time_limit=60, stop=lambda: next(looks, True))
    whole = propose(HARD, gp, method="search", time_limit=60)
    assert HARD.contains(short.graph)
    assert short.n_evaluations < whole.n_evaluations
    assert short.value >= whole.value


def test_a_stopped_batch_contains_what_was_found() -> None:
    study = known(HARD, kernel="sp")
    calls = iter([False] * 40)
    batch = study.ask(5, time_limit=30, stop=lambda: next(calls, True))
    assert 1 <= len(batch) < 5  # type: ignore[arg-type]
    assert all(trial.state == "pending" for trial in batch)  # type: ignore[union-attr]


_SCRIPT = """
import sys, time
from bogrape import GraphSpace, Study
space = GraphSpace(18, labels=5)
study = Study(space, n_initial=2, kernel="sp", time_limit=120)
study.add_all([(g, float((i * 7) % 5)) for i, g in enumerate(space.sample(12, seed=1))])
print("ready", flush=True)
start = time.monotonic()
try:
    batch = study.ask(3)
    print("returned", len(batch), time.monotonic() - start < 60, flush=True)
    time.sleep(float(sys.argv[1]))  # the user's own work
except KeyboardInterrupt:
    print("raised", flush=True)
"""


def interrupted(times: int) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, "0" if times == 1 else "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    until(lambda: workers_of(child.pid), 30.0)  # there is a candidate, and a proof under way
    time.sleep(0.5)
    for i in range(times):
        time.sleep(1.0 if i else 0.0)
        child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=90)
    assert out, error
    return out.splitlines()


def test_ctrl_c_returns_what_has_been_found() -> None:
    (line,) = interrupted(1)
    assert line.startswith("returned")
    assert line.endswith("True")


def test_a_second_ctrl_c_interrupts_the_program() -> None:
    assert interrupted(2)[-1] == "raised"  # in the same call, or after it


# -- progress ---------------------------------------------------------------------------------


def test_a_proof_can_be_watched() -> None:
    space = GraphSpace(7, labels=3)
    study = known(space)
    graphs, y = study.dataset
    stages: list[Stage] = []
    gp = GraphGP("sp", n_labels=3).fit(graphs, y)
    found = propose(space, gp, time_limit=20, watch=stages.append)
    assert stages[0].step == "search"
    assert any(stage.step == "proof" for stage in stages)
    values = [stage.value for stage in stages]
    assert values == sorted(values, reverse=True)
    assert all(stage.bound <= stage.value for stage in stages)
    assert values[-1] >= found.value - 1e-9


def test_quick_answers_show_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    known(GraphSpace(5), method="search", time_limit=1).ask()
    assert capsys.readouterr().err == ""


def test_progress_is_shown_while_waiting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bogrape.study.asking._DELAY", 0.0)
    study = known(GraphSpace(7, labels=3), kernel="sp")
    study.ask(2, time_limit=6)
    shown = capsys.readouterr().err
    assert "study, suggestions: 0/2  found a candidate" in shown
    assert "2/2" in shown
    study.ask(1, time_limit=3, progress=False)
    assert capsys.readouterr().err == ""


def test_quick_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    line = console.status_line("work", 3, delay=60.0)
    line.show(0, "thinking")
    line.show(3, "done")
    line.close()
    assert screen.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    line = console.status_line("work", 3)
    line.show(0, "thinking")
    line.show(3, "done")
    line.close()
    assert "work: 100%" in screen.getvalue()
    assert "done" in screen.getvalue()


def test_a_log_gets_every_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bogrape"):
        line = console.status_line("work", 3)
        line.show(1, "one")
        line.show(2, "two")
        line.close()
    assert [record.message for record in caplog.records] == ["work: 1/3  one", "work: 2/3  two"]
