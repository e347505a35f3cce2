"""Proofs on a real Dask cluster of worker processes have the same certificates as local ones."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

from benchmarks.engine import instance
from bogrape import EI, LCB, GraphSpace, Proposal, Study, propose
from bogrape.errors import InvalidInputError, UnsupportedError, WorkerError
from bogrape.propose.jobs import dask_pool
from bogrape.propose.jobs.dask_pool import DaskPool
from exhaustive import fitted

FAR = 60.0  # seconds


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with (
        # a job that kills two workers is given up
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as found,
    ):
        yield found


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as found:
        found.wait_for_workers(2, timeout=FAR)  # one may have been killed
        yield found


@dataclass
class Do:
    """A job that calls a function."""

    what: Callable[[], Any]
    time_limit: float = 30.0

    def solve(self) -> Any:
        return self.what()


def _never() -> bool:
    return False


def solve(client: Client, *whats: Callable[[], Any], stop: Callable[[], bool] = _never) -> Any:
    jobs = [Do(what) for what in whats]
    return dict(DaskPool(client).solve_all(jobs, time.monotonic() + FAR, stop, _never))


# -- jobs ---------------------------------------------------------------------------------------


def test_jobs_are_done_side_by_side_on_the_cluster(client: Client) -> None:
    dask_workers = set(client.run(os.getpid).values())
    pids = solve(client, *[lambda: (time.sleep(0.2), os.getppid())[1]] * 6)
    assert set(pids.values()) == dask_workers  # each in a process started by one of them


def test_an_exception_of_a_job_is_raised_here(client: Client) -> None:
    def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        solve(client, fail)


def test_a_job_whose_process_dies_has_no_answer_and_its_dask_worker_goes_on(client: Client) -> None:
    before = client.run(os.getpid)
    assert solve(client, lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 7) == {0: None, 1: 7}
    assert client.run(os.getpid) == before


def test_the_job_of_a_killed_dask_worker_is_done_again(client: Client, tmp_path: Path) -> None:
    been_here = tmp_path / "been here"

    def kill_the_first() -> str:
        if not been_here.exists():
            been_here.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(FAR)
        return "done again"

    assert solve(client, kill_the_first, lambda: 7) == {0: "done again", 1: 7}


def test_a_job_that_kills_every_dask_worker_has_no_answer(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def kill() -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(FAR)

    assert solve(client, kill) == {0: None}
    assert "every Dask worker that was given it died" in caplog.text


def test_a_stopped_job_ends_on_the_cluster_too(client: Client) -> None:
    began = time.monotonic()

    def stop() -> bool:
        return time.monotonic() - began > 1.0

    assert solve(client, *[lambda: time.sleep(30.0)] * 2, stop=stop) == {0: None, 1: None}
    assert solve(client, lambda: 1, lambda: 2) == {0: 1, 1: 2}
    assert time.monotonic() - began < 20.0, "the jobs went on"


def test_workers_with_other_code_are_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_pool, "code", lambda: "another version")
    with pytest.raises(WorkerError, match="expected Dask workers with the version of bogrape"):
        solve(client, lambda: 1)


def test_a_closed_client_leaves_all_jobs_without_an_answer(
    cluster: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(cluster)
    client.wait_for_workers(2, timeout=FAR)
    began = time.monotonic()

    def close_soon() -> bool:
        if time.monotonic() - began > 1.0 and client.status == "running":
            client.close()
        return False

    found = solve(client, *[lambda: time.sleep(30.0)] * 4, stop=close_soon)
    assert found == dict.fromkeys(range(4))
    assert caplog.text.count("the Dask client was closed") == 1
    with Client(cluster) as another:
        assert solve(another, lambda: 1, lambda: 2) == {0: 1, 1: 2}
    assert time.monotonic() - began < 20.0, "the jobs went on"


# -- proofs -------------------------------------------------------------------------------------


def same(left: Proposal, right: Proposal) -> None:
    assert left.status == right.status == "optimal"
    assert left.value == pytest.approx(right.value, rel=1e-9)
    assert left.bound == pytest.approx(right.bound, rel=1e-6)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kernel", ["ssp", "essp", "sp", "rbf"])
@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()], ids=["lcb", "ei"])
def test_the_certificate_is_that_of_a_local_proof(
    client: Client, kernel: Any, acquisition: LCB | EI
) -> None:
    n = 7 if "ss" in kernel else 5
    space = GraphSpace(n, labels=1 if kernel == "rbf" else 2)
    gp = fitted(space, kernel)
    here = propose(space, gp, acquisition, time_limit=FAR)
    same(propose(space, gp, acquisition, time_limit=FAR, client=client), here)


def test_molecules_are_settled_by_skeletons_on_the_cluster(client: Client) -> None:
    space, gp, graphs = instance("sp", 5, 0, True)
    here = propose(space, gp, exclude=graphs, time_limit=FAR)
    same(propose(space, gp, exclude=graphs, time_limit=FAR, client=client), here)


def test_a_killed_dask_worker_does_not_change_the_certificate(client: Client) -> None:
    space, gp, graphs = instance("ssp", 10, 0, False)
    here = propose(space, gp, exclude=graphs, time_limit=FAR)
    killed: list[str] = []

    def kill_one_that_works() -> bool:
        busy = {} if killed else {at: jobs for at, jobs in client.processing().items() if jobs}
        for address in list(busy)[:1]:
            killed.append(address)
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        return False

    there = propose(
        space, gp, exclude=graphs, time_limit=FAR, client=client, stop=kill_one_that_works
    )
    assert killed
    same(there, here)


def test_a_client_that_closes_ends_the_proof_with_a_valid_bound(
    cluster: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    space, gp, graphs = instance("ssp", 10, 0, False)
    truth = propose(space, gp, exclude=graphs, time_limit=FAR)
    client = Client(cluster)

    def close_in_the_midst() -> bool:
        if client.status == "running" and any(client.processing().values()):
            client.close()
        return False

    with caplog.at_level(logging.WARNING):
        cut = propose(
            space, gp, exclude=graphs, time_limit=FAR, client=client, stop=close_in_the_midst
        )
    assert "the Dask client was closed" in caplog.text
    assert cut.status == "time_limit"
    assert cut.bound <= truth.value <= cut.value


def test_a_study_gets_the_same_answer_from_a_cluster(client: Client, cluster: LocalCluster) -> None:
    trials = []
    for given in (None, client, cluster.scheduler_address.replace("tcp://", "dask://")):
        study = Study(GraphSpace(5), n_initial=3, kernel="ssp", seed=1)
        for trial in study.ask(3):
            study.tell(trial, float(trial.graph.n_edges))
        trials.append(study.ask(client=given))
        assert study.regret_bound(client=given).status == "optimal"
    assert {trial.certificate["status"] for trial in trials} == {"optimal"}
    assert len({trial.graph for trial in trials}) == 1


# -- errors -------------------------------------------------------------------------------------


def test_without_the_package_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    space = GraphSpace(4)
    with pytest.raises(UnsupportedError, match=r"^[^\n]*pip install 'bogrape\[dask\]'$"):
        propose(space, fitted(space, "ssp"), client="dask://localhost:8786")


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ("dask://", "expected dask://host:port"),
        (8786, "expected client to be a distributed.Client that is not asynchronous"),
    ],
)
def test_a_value_that_is_not_a_client_is_refused(client: Any, message: str) -> None:
    space = GraphSpace(4)
    with pytest.raises(InvalidInputError, match=message):
        propose(space, fitted(space, "ssp"), client=client)


def test_a_closed_client_is_refused(cluster: LocalCluster) -> None:
    client = Client(cluster)
    client.close()
    space = GraphSpace(4)
    with pytest.raises(InvalidInputError, match="but it is closed; try a new one"):
        propose(space, fitted(space, "ssp"), client=client)


def test_methods_without_a_proof_refuse_a_client(client: Client) -> None:
    space = GraphSpace(4)
    with pytest.raises(InvalidInputError, match="applies to methods 'auto' and 'exact' only"):
        propose(space, fitted(space, "ssp"), method="search", client=client)


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ("dask://", "expected dask://host:port"),
        (3, "expected client to be a distributed.Client that is not asynchronous"),
    ],
)
def test_a_study_refuses_what_is_no_client_before_it_hands_anything_out(
    client: Any, message: str
) -> None:
    study = Study(GraphSpace(4), n_initial=3)
    with pytest.raises(InvalidInputError, match=message):
        study.ask(client=client)
    assert not study.trials


def test_a_study_without_proofs_refuses_a_client_before_it_hands_anything_out(
    client: Client,
) -> None:
    study = Study(GraphSpace(4), n_initial=3, method="search")
    with pytest.raises(InvalidInputError, match="methods 'auto' and 'exact' only"):
        study.ask(client=client)
    assert not study.trials
