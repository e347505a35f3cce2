"""Evaluation on a real Dask scheduler with worker processes, and through submitit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from bogrape import Graph, GraphSpace, Study, minimize
from bogrape.errors import EvaluationNotStarted
from bogrape.evaluate import Outcome, make_evaluator
from bogrape.evaluate.slurm import slurm_evaluator
from bogrape.optimize import run
from places import TESTS

from cluster_objectives import Deadly, HangsOnce, Recorded, broken

SPACE = GraphSpace(n_nodes=5)
PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
HERE = TESTS


def environment() -> dict[str, str]:
    paths = [str(HERE.parent / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    }


class Cluster:
    """A scheduler and workers, each a process of its own, ended by the test."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._directory = directory
        self.file = directory / "scheduler.json"
        self.start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        deadline = time.monotonic() + 60
        while not self.file.exists() or not self.file.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text(encoding="utf-8"))["address"]

    @property
    def url(self) -> str:
        return str(self.address).replace("tcp://", "dask://")

    def start(self, kind: str, *options: str) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file), *options],
            env=environment(),
            cwd=self._directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        self._processes[kind] = process

    def kill_scheduler(self) -> None:
        self._processes["scheduler"].kill()

    def add_worker(self) -> None:
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        self.start("worker", *options)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("dask"), stack)


def wait_for_workers(cluster: Cluster, n: int) -> None:
    from distributed import Client

    with Client(cluster.address) as client:
        client.wait_for_workers(n, timeout=60)


def outcome_of(cluster: Cluster, objective: Callable[[Graph], float]) -> Outcome:
    evaluator = make_evaluator(objective, cluster.url)
    try:
        evaluator.submit(0, PATH)
        ((_, outcome),) = evaluator.wait(90)
    finally:
        evaluator.close()
    return outcome


def test_dask_evaluates_and_a_worker_killed_during_an_evaluation_costs_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.add_worker()
    cluster.add_worker()
    wait_for_workers(cluster, 2)
    killed = []

    def kill_the_first() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError, ValueError):  # not begun, or not yet written
                killed.append(int((tmp_path / "0").read_text(encoding="ascii")))
                os.kill(killed[0], signal.SIGKILL)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=kill_the_first)
    thread.start()
    study = minimize(
        HangsOnce(tmp_path), SPACE, 0, 6, executor=cluster.url, n_parallel=2, progress=False
    )
    thread.join()
    assert killed
    assert [trial.state for trial in study.trials] == ["complete"] * 6
    assert all(trial.value == trial.graph.n_edges for trial in study.trials)
    assert len(os.listdir(tmp_path)) >= 7  # six evaluations and the one that was cut off


def test_a_dask_client_serves_as_executor_and_its_exceptions_are_failures(
    cluster: Cluster, tmp_path: Path
) -> None:
    from distributed import Client

    cluster.add_worker()
    wait_for_workers(cluster, 1)
    with Client(cluster.address) as client:
        study = minimize(Recorded(tmp_path), SPACE, 0, 3, executor=client, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * 3
    outcome = outcome_of(cluster, broken)
    assert outcome == Outcome("exception", reason="ValueError: 3 nodes are no good")


def test_an_evaluation_that_kills_its_dask_workers_is_a_failure(
    cluster: Cluster, tmp_path: Path
) -> None:
    for _ in range(2):
        cluster.add_worker()
    wait_for_workers(cluster, 2)
    outcome = outcome_of(cluster, Deadly(tmp_path))
    assert outcome.kind == "killed"
    assert len(os.listdir(tmp_path)) >= 2


def test_a_dead_dask_scheduler_stops_the_run_and_costs_no_evaluation(
    cluster: Cluster, tmp_path: Path
) -> None:
    from distributed import Client

    cluster.add_worker()
    wait_for_workers(cluster, 1)
    study = Study(SPACE, n_initial=4)
    with Client(cluster.address, timeout=1) as client:
        evaluator = make_evaluator(HangsOnce(tmp_path), client)

        def kill() -> None:
            deadline = time.monotonic() + 60
            while not (tmp_path / "0").exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            cluster.kill_scheduler()

        thread = threading.Thread(target=kill)
        thread.start()
        with pytest.raises(EvaluationNotStarted, match=r"could not be started.*Client"):
            run(study, evaluator, 4, progress=False)
        thread.join()
    assert [trial.state for trial in study.trials] == ["queued"]


def test_submitit_evaluates_in_jobs_and_a_job_that_dies_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitit = pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    # for files of a job that has died, in case the file system is slow
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 1)
    notes = tmp_path / "notes"
    notes.mkdir()
    executor = submitit.LocalExecutor(folder=tmp_path / "jobs")
    study = Study(SPACE, n_initial=3)
    evaluator = make_evaluator(Recorded(notes), executor, n_parallel=2)
    run(study, evaluator, 3, progress=False)
    evaluator.close()
    assert [trial.state for trial in study.trials] == ["complete"] * 3
    assert len(os.listdir(notes)) == 3
    evaluator = slurm_evaluator(Deadly(notes), executor)
    evaluator.submit(0, PATH)
    ((_, outcome),) = evaluator.wait(60)
    assert outcome.kind == "lost"
    assert outcome.reason
